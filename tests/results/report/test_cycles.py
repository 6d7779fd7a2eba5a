"""Anomalies that are cycles come with their drawings: the right ones, few, harmless, and apart."""

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from checkers.transactional.transactions.proofs.judging import DrawnCycle
from checkers.verdict.verdict import Anomaly, CheckerResult, Validity, Verdict, result_of
from results.report import render_report
from results.report.cards.cards import Card, Cards, Variant, cards_of
from results.report.cards.witness import witnessed
from results.report.size_limits import PAGE_BYTES_MAX, STEPS
from tests.checkers.transactional.transactions.transaction_histories import history_of, lists

SKEWED = """
    0 > ax1 ry
    1 > ay1 rx
    0 < ax1 ry
    1 < ay1 rx
    2 rx1 ry1
    3 > az1 rw
    4 > aw1 rz
    3 < az1 rw
    4 < aw1 rz
    5 rz1 rw1
"""
"""Two write skews on keys of their own."""


def verdict_of(*results: CheckerResult) -> Verdict:
    return Verdict(Validity.INVALID, results)


def ring(size: int, text: str = "{append x 1}", first: int = 0, identity: str = "G2-item") -> DrawnCycle:
    arcs = tuple((number, (number + 1) % size, "rw") for number in range(size))
    return DrawnCycle(identity, (text,) * size, arcs, (first, first + 1))


def cyclic(*cycles: DrawnCycle, **figures: Any) -> CheckerResult:
    """A result with an anomaly for each cycle."""
    found = [Anomaly(each.id, "s", "g", "s", witness=each.witness) for each in cycles]
    decoded = msgspec.json.decode(msgspec.json.encode(cycles))
    return result_of("transactions", found, figures={"cycles": decoded, **figures})


def found_in(result: CheckerResult, step: int = 0) -> Cards:
    return cards_of(verdict_of(result), witnessed(history_of(SKEWED), ()), STEPS[step])


def each_of(found: Iterable[Card]) -> list[Card | Variant]:
    """Witnesses, each followed by the other anomalies of its cause."""
    each: list[Card | Variant] = []
    for finding in found:
        each += [finding, *finding.variants]
    return each


def svgs(page: str) -> list[ET.Element]:
    drawn = re.findall(r'<div class="scroll cycle".*?(<svg .*?</svg>)', page, re.DOTALL)
    return [ET.fromstring(svg) for svg in drawn]  # noqa: S314 - our own text


def test_every_cycle_stands_beside_its_own_anomaly() -> None:
    result = lists(SKEWED)
    stored = msgspec.json.decode(msgspec.json.encode(result), type=CheckerResult)
    found = found_in(stored)
    assert [one.id for one in each_of(found.illegal)] == ["G2-item", "G2-item"]
    assert [sorted(set(re.findall(r"append (\w)", str(f.drawing)))) for f in each_of(found.illegal)] == [
        ["x", "y"],
        ["w", "z"],
    ]
    assert found.cycles_left_out == 0


def test_a_drawing_is_part_of_its_section() -> None:
    page = render_report(history_of(SKEWED), verdict_of(lists(SKEWED)))
    (section,) = re.findall(r"<article class=\"anomaly.*?</article>", page, re.DOTALL)
    assert "Other anomalies of this cause: 1<" in section
    assert len(svgs(section)) == 2
    for svg in svgs(section):
        assert {"T1", "T2", "rw"} <= {element.text for element in svg.iter("text")}
    assert "of these cycles" not in page


def test_what_is_no_cycle_is_not_drawn_as_one() -> None:
    found = found_in(cyclic(ring(2), anomalies=3))
    plain = Anomaly("lost-write", "s", "g", "s", witness=(0, 1))
    both = verdict_of(result_of("log", [plain]), cyclic(ring(2)))
    other = cards_of(both, witnessed(history_of(SKEWED), ()), STEPS[0])
    assert [finding.circular for finding in found.all] == [True]
    assert {finding.id: finding.circular for finding in other.all} == {"lost-write": False, "G2-item": True}
    assert {f.id: 'class="drawn"' in str(f.drawing) for f in other.all} == {
        "lost-write": True,
        "G2-item": False,
    }


@pytest.mark.parametrize("step", range(len(STEPS)))
def test_a_handful_is_drawn_and_the_rest_counted(step: int) -> None:
    some = [ring(3, first=2 * number, identity=f"G-{number}") for number in range(20)]
    found = found_in(cyclic(*some), step)
    shown = each_of(found.all)
    drawn = [one for one in shown if one.drawing is not None]
    assert drawn == shown[: STEPS[step].cycles]
    assert found.cycles_left_out == len(shown) - len(drawn)
    assert len(shown) + found.all[0].variants_left_out == 20
    assert f"{20 - STEPS[0].cycles} of these cycles are not drawn." in render_report(
        history_of(SKEWED), verdict_of(cyclic(*some))
    )


def test_illegal_cycles_are_drawn_before_legal_ones() -> None:
    result = cyclic(*(ring(2, first=number, identity=f"G-{number}") for number in range(10)))
    mixed = [
        msgspec.structs.replace(anomaly, illegal=number >= 7)
        for number, anomaly in enumerate(result.anomalies)
    ]
    found = found_in(msgspec.structs.replace(result, anomalies=tuple(mixed)))
    assert [one.drawing is None for one in each_of(found.illegal)] == [False] * 3
    assert [one.drawing is None for one in each_of(found.legal)] == [False] * 3 + [True] * 4


class Ids(HTMLParser):
    """Every id of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"img", "b"}
        self.ids += [str(value) for name, value in attrs if name == "id"]


@pytest.mark.parametrize(
    "text",
    [
        '</svg></div><script>alert(1)</script>"><img src=x onerror=alert(1)>',
        "escape \x1b[2J nul \x00 turned \u202e lone \ud800",
        "<b>" * 300_000,
        "&amp;" * 300_000,
    ],
    ids=range(4),
)
def test_hostile_transactions_stay_text_in_a_small_page(text: str) -> None:
    cycles = [
        msgspec.structs.replace(ring(2_000, identity=f"G-{number}"), nodes=(text,) * 2_000)
        for number in range(10)
    ]
    found = [Anomaly(each.id, "s", "g", "s", witness=each.witness) for each in cycles]
    figures = {"cycles": [msgspec.structs.asdict(each) for each in cycles]}
    page = render_report(history_of(SKEWED), verdict_of(result_of("transactions", found, figures=figures)))
    ids = Ids(page).ids
    assert len(ids) == len(set(ids))
    assert page.count("<script>") == 1
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\ud800-\udfff]", page)
    assert len(page.encode()) <= PAGE_BYTES_MAX * 3 / 4
    assert len(svgs(page)) == STEPS[0].cycles


def test_a_drawing_asks_nothing_of_any_network_and_needs_no_style_of_its_own() -> None:
    drawn = str(found_in(cyclic(ring(3))).illegal[0].drawing)
    assert not re.search(r"http|href|url\(|style=| id=|<style", drawn)


def test_drawings_take_the_colours_of_the_page() -> None:
    page = render_report(history_of(SKEWED), verdict_of(lists(SKEWED)))
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    for part in (" svg", " rect", " .ww", " .wr", " .rw", " .process", " .rt"):
        assert re.search(rf"\.cycle{re.escape(part)} {{[^}}]*var\(--", style), part


@pytest.mark.parametrize(
    "figure",
    ["none", [{"id": "G2-item"}], [{"id": "G2-item", "nodes": ["a"], "arcs": [[0, 0, "rw"]]}]],
    ids=["other", "lacking", "older"],
)
def test_cycles_of_another_krucible_are_not_drawn(figure: Any) -> None:
    result = msgspec.structs.replace(cyclic(ring(2)), figures={"cycles": figure})
    found = found_in(result)
    assert [finding.circular for finding in found.all] == [False]
    assert found.cycles_left_out == 0
