"""The drawing of a cycle: whole, self-contained, escaped, of bounded size."""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import msgspec

from checkers.transactional.transactions import draw_cycle
from checkers.transactional.transactions.proofs.drawing import AROUND_SHOWN, SHOWN, TEXT_CHARACTERS
from checkers.transactional.transactions.proofs.judging import DrawnCycle
from tests.checkers.transactional.transactions.transaction_histories import lists

SVG = "{http://www.w3.org/2000/svg}"


def ring(count: int, text: str = "{append x 1}") -> DrawnCycle:
    return DrawnCycle("G0", (text,) * count, tuple((n, (n + 1) % count, "ww") for n in range(count)))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - our own text


def test_a_drawing_shows_transactions_and_signs() -> None:
    result = lists("0 > ax1 ay1\n 1 > rx ry\n 0 < ax1 ay1\n 1 < rx1 ry")
    shown = texts(draw_cycle(result.figures["cycles"][0]))
    assert {"T1", "T2", "wr", "rw", "{append x 1, append y 1}"} <= set(shown)


def test_texts_are_escaped_and_cut() -> None:
    svg = draw_cycle(ring(2, '<script>"&' + "x" * 100))
    (first, *_) = [text for text in texts(svg) if text.startswith("<script>")]
    assert len(first) == TEXT_CHARACTERS
    assert "<script>" not in svg


def test_nothing_external() -> None:
    svg = draw_cycle(ring(3))
    assert "href" not in svg
    assert svg.count("http") == 1


def test_several_drawings_can_share_a_page() -> None:
    """No ids that would be there twice, and no namespace, which HTML has no use for."""
    svg = draw_cycle(ring(3), standalone=False)
    assert not [name for element in ET.fromstring(svg).iter() for name in element.attrib if name == "id"]  # noqa: S314 - our own text
    assert "http" not in svg


def test_every_arc_ends_in_a_head_at_the_edge_of_a_box() -> None:
    svg = ET.fromstring(draw_cycle(ring(5), standalone=False))  # noqa: S314 - our own text
    boxes = [
        (
            float(box.attrib["x"]),
            float(box.attrib["y"]),
            float(box.attrib["width"]),
            float(box.attrib["height"]),
        )
        for box in svg.iter("rect")
    ]
    tips = [tuple(map(float, head.attrib["points"].split()[0].split(","))) for head in svg.iter("polygon")]
    assert len(tips) == 5
    for tip_x, tip_y in tips:
        assert any(
            x - 0.2 <= tip_x <= x + wide + 0.2
            and y - 0.2 <= tip_y <= y + high + 0.2
            and min(abs(tip_x - x), abs(tip_x - x - wide), abs(tip_y - y), abs(tip_y - y - high)) < 0.2
            for x, y, wide, high in boxes
        )


def test_every_arrow_shows_its_reason_in_text_and_to_a_pointer() -> None:
    result = lists("0 > ax1 ry\n 1 > ay1 rx\n 0 < ax1 ry\n 1 < ay1 rx\n 2 rx1 ry1")
    (cycle,) = result.figures["cycles"]
    (anomaly,) = result.anomalies
    assert len(cycle["reasons"]) == len(cycle["arcs"]) == 2
    svg = draw_cycle(cycle)
    titles = [element.text for element in ET.fromstring(svg).iter(f"{SVG}title")]  # noqa: S314 - our own text
    for (source, target, sign), reason in zip(cycle["arcs"], cycle["reasons"], strict=True):
        assert any(f"T{source + 1} < T{target + 1}, because {reason}" in line for line in anomaly.explanation)
        assert f"T{source + 1} {sign} T{target + 1}: {reason}" in titles
        assert any(reason in text for text in texts(svg))


def test_a_long_reason_is_cut_in_the_drawing_and_whole_for_a_pointer() -> None:
    long = "T1 was complete " + "long " * 30 + "before T2 began"
    svg = draw_cycle(msgspec.structs.replace(ring(2), reasons=(long, long)))
    assert all(len(text) <= TEXT_CHARACTERS for text in texts(svg))
    assert svg.count(f"{long}</title>") == 3


def test_verdicts_of_earlier_versions_have_no_reasons() -> None:
    assert "T1 to T1" not in draw_cycle(ring(2))
    assert "T2 to T1" in texts(draw_cycle(ring(2)))
    assert "T1 ww T2</title>" in draw_cycle(ring(2))


def test_no_box_or_text_meets_another_one() -> None:
    svg = ET.fromstring(draw_cycle(ring(SHOWN), standalone=False))  # noqa: S314 - our own text
    tops = sorted(float(box.attrib["y"]) for box in svg.iter("rect"))
    assert all(below - above > 44 for above, below in pairwise(tops))
    places = [(float(text.attrib["x"]), float(text.attrib["y"])) for text in svg.iter("text")]
    assert len(places) == len(set(places))
    lines: dict[float, list[tuple[float, str]]] = {}
    for text in svg.iter("text"):
        lines.setdefault(float(text.attrib["y"]), []).append((float(text.attrib["x"]), text.text or ""))
    for line in lines.values():
        for (x, label), (next_x, _) in pairwise(sorted(line)):
            assert x + len(label) * 7.3 <= next_x


def test_arrows_that_go_around_are_few_and_apart() -> None:
    arcs = (*tuple((0, target, "rt") for target in range(2, 12)), (0, 1, "ww"), (11, 0, "process"))
    svg = draw_cycle(DrawnCycle("G1c", ("{}",) * 12, arcs))
    assert svg.count("<polygon") == AROUND_SHOWN + 1
    lanes = re.findall(r'd="M\d+,\d+ H(\d+) V', svg)
    assert len(lanes) == len(set(lanes)) == AROUND_SHOWN


def test_the_second_arrow_to_the_next_box_goes_around() -> None:
    arcs = ((0, 1, "ww"), (1, 0, "wr"), (0, 1, "rw"), (1, 2, "ww"), (2, 0, "rw"))
    svg = draw_cycle(DrawnCycle("G-nonadjacent", ("{}",) * 3, arcs))
    assert svg.count("<polygon") == len(arcs)
    places = re.findall(r'<text (x="\d+" y="\d+")', svg)
    assert len(places) == len(set(places))


def test_a_cycle_is_drawn_with_the_witness_of_its_anomaly() -> None:
    result = lists("0 > ax1 ry\n 1 > ay1 rx\n 0 < ax1 ry\n 1 < ay1 rx\n 2 rx1 ry1")
    assert [cycle["witness"] for cycle in result.figures["cycles"]] == [[0, 1, 2, 3]]
    assert [anomaly.witness for anomaly in result.anomalies] == [(0, 1, 2, 3)]


def test_a_long_cycle_is_cut_and_reported_as_such() -> None:
    svg = draw_cycle(ring(100))
    assert "and 88 transactions more" in texts(svg)
    assert svg.count("<rect") == SHOWN
    assert len(svg) < 20_000


def test_the_same_cycle_gives_the_same_drawing() -> None:
    assert draw_cycle(ring(5)) == draw_cycle(ring(5))
