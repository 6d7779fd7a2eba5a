"""The drawing of a cycle: whole, self-contained, escaped, of bounded size."""

from xml.etree import ElementTree as ET

from checkers.transactional.transactions import draw_cycle
from checkers.transactional.transactions.drawing import SHOWN
from checkers.transactional.transactions.judging import Drawn
from tests.checkers.transactions.transaction_histories import lists

SVG = "{http://www.w3.org/2000/svg}"


def ring(count: int, text: str = "{append x 1}") -> Drawn:
    return Drawn("G0", (text,) * count, tuple((n, (n + 1) % count, "ww") for n in range(count)))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - our own text


def test_a_drawing_shows_transactions_and_signs() -> None:
    result = lists("0 > ax1 ay1\n 1 > rx ry\n 0 < ax1 ay1\n 1 < rx1 ry")
    shown = texts(draw_cycle(result.figures["cycles"][0]))
    assert {"T1", "T2", "wr", "rw", "{append x 1, append y 1}"} <= set(shown)


def test_texts_are_escaped_and_cut() -> None:
    svg = draw_cycle(ring(2, '<script>"&' + "x" * 100))
    (first, *_) = [text for text in texts(svg) if text.startswith("<script>")]
    assert len(first) == 48
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


def test_a_cycle_is_told_with_the_witness_of_its_anomaly() -> None:
    result = lists("0 > ax1 ry\n 1 > ay1 rx\n 0 < ax1 ry\n 1 < ay1 rx\n 2 rx1 ry1")
    assert [cycle["witness"] for cycle in result.figures["cycles"]] == [[0, 1, 2, 3]]
    assert [anomaly.witness for anomaly in result.anomalies] == [(0, 1, 2, 3)]


def test_a_long_cycle_is_cut_and_says_so() -> None:
    svg = draw_cycle(ring(100))
    assert "and 88 transactions more" in texts(svg)
    assert svg.count("<rect") == SHOWN
    assert len(svg) < 20_000


def test_the_same_cycle_gives_the_same_drawing() -> None:
    assert draw_cycle(ring(5)) == draw_cycle(ring(5))
