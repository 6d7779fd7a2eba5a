"""Charts of pairs: every pair is there, at its place, described in words, and at home on any screen."""

import re
import xml.etree.ElementTree as ET

import msgspec
import pytest

from results.qualification import QualificationRole
from results.qualification.compared import Comparisons, Durations
from results.qualification.comparing import compare
from results.qualification.comparison_sections import pair_ids
from results.qualification.dots import PAIRS_MAX, chart_text, paired_dots
from tests.results.qualified import run

HOSTILE = "<script>alert(1)</script>"


def kill(*gaps: tuple[int, int], scenario: str = "exploratory/chaos") -> Durations:
    """The comparison of pairs: the candidate's gap and the baseline's."""
    runs = [
        run(role, seed, gaps={"kill": gap}, scenario=scenario)
        for seed, pair in enumerate(gaps, start=1)
        for role, gap in zip((QualificationRole.CANDIDATE, QualificationRole.BASELINE), pair, strict=True)
    ]
    return compare(runs).durations[0]


def drawn(one: Durations, targets: bool = True) -> ET.Element:  # noqa: FBT001, FBT002 - read at a glance
    text = paired_dots(one, pair_ids(Comparisons((one,))) if targets else {})
    return ET.fromstring(text)  # noqa: S314 - what this module drew itself


def of_class(chart: ET.Element, name: str) -> list[ET.Element]:
    return [each for each in chart.iter() if each.get("class") == name]


def place(text: str | None) -> float:
    assert text is not None
    return float(text.removesuffix("%"))


def test_each_pair_is_a_ring_and_a_dot_with_its_figures() -> None:
    chart = drawn(kill((9_000, 5_000), (2_000, 4_000)))
    mine, other = of_class(chart, "candidate"), of_class(chart, "baseline")
    assert [place(each.get("cx")) for each in mine] == [86.6, 20.8]
    assert [place(each.get("cx")) for each in other] == [49.0, 39.6]
    titles = [each.text or "" for each in chart.iter("title")]
    assert [title for title in titles if title.startswith("seed")] == [
        "seed 1: candidate 9.0 s, baseline 5.0 s",
        "seed 2: candidate 2.0 s, baseline 4.0 s",
    ]
    assert [each.get("href") for each in chart.iter("a")] == ["#pair-1", "#pair-2"]
    assert not list(drawn(kill((1, 2)), targets=False).iter("a"))


def test_medians_and_the_interval_are_marked() -> None:
    pairs = [(gap + 4_000, gap) for gap in range(3_000, 4_000, 100)]
    chart = drawn(kill(*pairs))
    assert len(of_class(chart, "median candidate")) == len(of_class(chart, "median baseline")) == 1
    (interval,) = of_class(chart, "interval")
    (shifted,) = of_class(chart, "shift")
    ends = place(interval.get("x1")), place(interval.get("x2"))
    assert ends[0] <= place(shifted.get("x1")) <= ends[1]
    assert place(shifted.get("x1")) == place(of_class(chart, "median candidate")[0].get("x1"))


def test_with_too_few_pairs_there_is_no_interval() -> None:
    one = kill((9_000, 5_000))
    assert not of_class(drawn(one), "interval")
    assert chart_text(one).endswith(
        "medians 9.0 s (candidate) and 5.0 s (baseline), shift +4,000 ms, no interval"
    )


@pytest.mark.parametrize("pairs", [PAIRS_MAX, PAIRS_MAX + 1])
def test_of_very_many_pairs_a_scenario_has_one_row(pairs: int) -> None:
    chart = drawn(kill(*[(4_000 + n, 3_000) for n in range(pairs)]))
    assert len(of_class(chart, "candidate")) == (pairs if pairs <= PAIRS_MAX else 1)
    if pairs > PAIRS_MAX:
        titles = [each.text for each in chart.iter("title")]
        assert "medians of 61 pairs: candidate 4.0 s, baseline 3.0 s" in titles


@pytest.mark.parametrize(
    ("most", "label"), [(0, "1 ms"), (900, "1.0 s"), (1_001, "1.2 s"), (31_000, "40.0 s")]
)
def test_the_axis_ends_at_a_round_figure(most: int, label: str) -> None:
    texts = [each.text for each in drawn(kill((most, 0))).iter("text")]
    assert label in texts
    assert "0" in texts


def test_nothing_lies_outside_whatever_the_width() -> None:
    one = kill(*[(100, 9_900)] * 8)
    one = msgspec.structs.replace(one, low_ms=-90_000, high_ms=90_000)
    text = str(paired_dots(one, {}))
    assert 'width="100%"' in text
    assert "viewBox" not in text, "texts would shrink on a narrow screen"
    assert all(0 <= float(each) <= 100 for each in re.findall(r'"(-?[0-9.]+)%"', text))


def test_names_from_runs_stay_text() -> None:
    text = str(paired_dots(kill((1, 2), scenario=HOSTILE), {}))
    assert "<script" not in text
    assert "&lt;script&gt;" in text
