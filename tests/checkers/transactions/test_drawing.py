"""The drawing of a cycle: whole, self-contained, escaped, of bounded size."""

from xml.etree import ElementTree as ET

from checkers.transactions import draw_cycle
from checkers.transactions.drawing import SHOWN
from checkers.transactions.judging import Drawn
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


def test_a_long_cycle_is_cut_and_says_so() -> None:
    svg = draw_cycle(ring(100))
    assert "and 88 transactions more" in texts(svg)
    assert svg.count("<rect") == SHOWN
    assert len(svg) < 20_000


def test_the_same_cycle_gives_the_same_drawing() -> None:
    assert draw_cycle(ring(5)) == draw_cycle(ring(5))
