"""Draws a cycle as one self-contained SVG: transactions in a column, and arrows with signs and reasons.

An arrow from a transaction to the next one goes straight down, with its reason at its side.  Any other arrow,
such as the one that closes the cycle, goes around on the left, and its reason is below the column.  So texts
do not overlap boxes, arrows or other texts, for any number of transactions.
"""

from collections.abc import Mapping
from html import escape
from typing import NamedTuple

import msgspec

from checkers.transactional.transactions.proofs.judging import DrawnCycle

SHOWN = 12
"""Number of transactions that a drawing shows; a longer cycle is shortened, with a note."""
TEXT_CHARACTERS = 84
"""Longest text in a box, and of a reason; a tooltip shows longer texts completely."""
AROUND_SHOWN = 6
"""Number of arrows around the column that a drawing shows."""

_BOX_WIDTH = 700
_BOX_HEIGHT = 44
_GAP = 38
_MARGIN = 12
_LANE = 22
_LINE = 18
_HEAD_LENGTH = 9
_HEAD_WIDTH = 4
_COLOURS = {"ww": "#c0392b", "wr": "#1f6fb2", "rw": "#8e44ad", "process": "#6b7280", "rt": "#3f7d3f"}


class _Arc(NamedTuple):
    """An arrow between two boxes that are shown."""

    source: int
    target: int
    sign: str
    reason: str

    @property
    def text(self) -> str:
        """The arrow as text."""
        because = f": {self.reason}" if self.reason else ""
        return f"T{self.source + 1} {self.sign} T{self.target + 1}{because}"


def draw_cycle(cycle: DrawnCycle | Mapping[str, object], *, standalone: bool = True) -> str:
    """Draw one cycle.

    Args:
        cycle: a result of `judging.drawn_of`, or an entry of the figure ``cycles``.
        standalone: whether it is a separate file; inside an HTML page it needs no namespace.

    Returns:
        An SVG element without external references, and without ids or styles, so that a page may have
            several.  All texts are escaped and of bounded length.  A page may set colours for ``rect``,
            ``text`` and the classes of the signs.
    """
    drawn = cycle if isinstance(cycle, DrawnCycle) else msgspec.convert(cycle, DrawnCycle)
    nodes = drawn.nodes[:SHOWN]
    down, around = _arcs(drawn, len(nodes))
    left = _MARGIN + _LANE * (len(around) + 1)
    bottom = _MARGIN + len(nodes) * (_BOX_HEIGHT + _GAP) - _GAP
    parts = [_down(arc, left) for arc in down]
    parts += [_around(arc, left, number) for number, arc in enumerate(around)]
    parts += [_box(left, _top(number), number, text) for number, text in enumerate(nodes)]
    more = len(drawn.nodes) - SHOWN
    below = [_below(arc, left, bottom + _LINE * (number + 1)) for number, arc in enumerate(around)]
    if more > 0:
        y = bottom + _LINE * (len(below) + 1)
        below.append(f'<text x="{left}" y="{y}" font-size="11">and {more} transactions more</text>')
    parts += below
    width, height = left + _BOX_WIDTH + _MARGIN, bottom + _LINE * len(below) + _MARGIN
    space = 'xmlns="http://www.w3.org/2000/svg" ' if standalone else ""
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    head = [
        f'<svg {space}{size} role="group" font-family="monospace" font-size="12">',
        f"<title>{escape(drawn.id)}: {len(drawn.nodes)} transactions in a circle</title>",
    ]
    return "\n".join([*head, *parts, "</svg>", ""])


def _arcs(drawn: DrawnCycle, shown: int) -> tuple[list[_Arc], list[_Arc]]:
    """Arrows to the next box, and arrows that go around, the longest ones outside."""
    reasons = [*drawn.reasons, *[""] * len(drawn.arcs)]
    arcs = [
        _Arc(source, target, sign, reason)
        for (source, target, sign), reason in zip(drawn.arcs, reasons, strict=False)
        if source < shown and target < shown
    ]
    down: dict[int, _Arc] = {}
    for arc in arcs:
        if arc.target == arc.source + 1:
            down.setdefault(arc.source, arc)  # a walk can use the same arrow twice: there is room for one
    others = [arc for arc in arcs if arc is not down.get(arc.source)]
    others.sort(key=lambda arc: abs(arc.source - arc.target))
    return list(down.values()), others[:AROUND_SHOWN]


def _top(number: int) -> int:
    return _MARGIN + number * (_BOX_HEIGHT + _GAP)


def _box(x: int, y: int, number: int, text: str) -> str:
    return (
        f'<g><rect x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="6" fill="#ffffff" '
        f'stroke="#333333"/>{_whole(text)}'
        f'<text x="{x + 8}" y="{y + 17}" font-weight="bold">T{number + 1}</text>'
        f'<text x="{x + 8}" y="{y + 35}" font-size="11">{escape(_cut(text))}</text></g>'
    )


def _down(arc: _Arc, left: int) -> str:
    """An arrow to the next box, with its sign and its reason at its side."""
    x, y = left + 40, _top(arc.source) + _BOX_HEIGHT
    line = f"M{x},{y} V{y + _GAP}"
    label = _reason(arc.sign, arc.reason, left, y + _GAP // 2 + 4)
    return _arrow(
        arc, line, f"{x},{y + _GAP}", ((-_HEAD_WIDTH, -_HEAD_LENGTH), (_HEAD_WIDTH, -_HEAD_LENGTH)), label
    )


def _around(arc: _Arc, left: int, number: int) -> str:
    """An arrow on the left of the column, in a separate lane."""
    # Two arrows at one box are attached at different points, one above the other.
    begin = _top(arc.source) + _BOX_HEIGHT - 8 - number * 2
    end = _top(arc.target) + 12 + number * 2
    x = left - _LANE * (number + 1)
    line = f"M{left},{begin} H{x} V{end} H{left}"
    return _arrow(
        arc, line, f"{left},{end}", ((-_HEAD_LENGTH, -_HEAD_WIDTH), (-_HEAD_LENGTH, _HEAD_WIDTH)), ""
    )


def _arrow(arc: _Arc, line: str, tip: str, sides: tuple[tuple[int, int], tuple[int, int]], label: str) -> str:
    """A line and its head, drawn without a marker, which would need an id; a tooltip has the whole reason."""
    x, y = map(int, tip.split(","))
    points = " ".join([tip, *(f"{x + dx},{y + dy}" for dx, dy in sides)])
    dash = ' stroke-dasharray="5 4"' if arc.sign in {"process", "rt"} else ""
    return (
        f'<g class="{arc.sign}" color="{_COLOURS[arc.sign]}" fill="currentColor">'
        f"<title>{escape(arc.text)}</title>"
        f'<path d="{line}" fill="none" stroke="currentColor" stroke-width="1.6"{dash}/>'
        f'<polygon points="{points}"/>{label}</g>'
    )


def _below(arc: _Arc, left: int, y: int) -> str:
    """The reason of an arrow around the column."""
    between = f"T{arc.source + 1} to T{arc.target + 1}"
    text = f"{between}: {arc.reason}" if arc.reason else between
    return (
        f'<g class="{arc.sign}" color="{_COLOURS[arc.sign]}" fill="currentColor">'
        f"{_whole(text)}{_reason(arc.sign, text, left, y)}</g>"
    )


def _reason(sign: str, text: str, left: int, y: int) -> str:
    """A sign, with a reason next to it."""
    return (
        f'<text x="{left + 52}" y="{y}">{sign}</text>'
        f'<text x="{left + 116}" y="{y}" font-size="11">{escape(_cut(text))}</text>'
    )


def _whole(text: str) -> str:
    return f"<title>{escape(text)}</title>" if len(text) > TEXT_CHARACTERS else ""


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CHARACTERS else f"{text[: TEXT_CHARACTERS - 1]}…"
