"""Draws a cycle: one self-contained SVG, transactions in a ring, arcs with their signs."""

import math
from collections.abc import Mapping
from html import escape
from typing import Any

import msgspec

from checkers.transactional.transactions.judging import Drawn

SHOWN = 12
"""Transactions that a drawing shows; a longer cycle is cut, and says so."""
TEXT_CHARACTERS = 48
"""Longest text in a box."""

_BOX_WIDTH = 340
_BOX_HEIGHT = 44
_MARGIN = 16
_HEAD_LENGTH = 10
_HEAD_WIDTH = 4
_COLOURS = {"ww": "#c0392b", "wr": "#1f6fb2", "rw": "#8e44ad", "process": "#6b7280", "rt": "#3f7d3f"}


def draw_cycle(cycle: Drawn | Mapping[str, Any], *, standalone: bool = True) -> str:
    """Draw one cycle.

    Args:
        cycle: as `judging.drawn_of` makes it, or an entry of the figure ``cycles``.
        standalone: whether it is a file of its own; a page of HTML needs no namespace.

    Returns:
        An SVG element with nothing external, and no ids or styles that a page with several would confuse; all
        texts are escaped and of bounded length.  A page may give ``rect``, ``text`` and what is of the class
        of a sign colours of its own.
    """
    drawn = cycle if isinstance(cycle, Drawn) else msgspec.convert(cycle, Drawn)
    nodes = drawn.nodes[:SHOWN]
    places = _places(len(nodes))
    width = max(x for x, _ in places) + _BOX_WIDTH / 2 + _MARGIN
    height = max(y for _, y in places) + _BOX_HEIGHT / 2 + _MARGIN + 24
    space = 'xmlns="http://www.w3.org/2000/svg" ' if standalone else ""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    parts = [
        f'<svg {space}{size} role="img" font-family="monospace" font-size="12">',
        f"<title>{escape(drawn.id)}: {len(drawn.nodes)} transactions in a circle</title>",
    ]
    parts += [
        _arc(places[source], places[target], sign)
        for source, target, sign in drawn.arcs
        if source < len(nodes) and target < len(nodes)
    ]
    parts += [
        _box(place, number, text) for number, (place, text) in enumerate(zip(places, nodes, strict=True))
    ]
    if len(drawn.nodes) > SHOWN:
        rest = len(drawn.nodes) - SHOWN
        parts.append(f'<text x="{_MARGIN}" y="{height - 8:.0f}">and {rest} transactions more</text>')
    return "\n".join([*parts, "</svg>", ""])


def _places(count: int) -> list[tuple[float, float]]:
    """Centres of the boxes, clockwise from the top; far enough apart for arcs and their signs."""
    radius_x = _BOX_WIDTH * 0.75 if count > 2 else 0.0  # noqa: PLR2004 - two stand one above the other
    radius_y = max(80.0, count * _BOX_HEIGHT * 0.55)
    left, top = radius_x + _BOX_WIDTH / 2 + _MARGIN, radius_y + _BOX_HEIGHT / 2 + _MARGIN
    angles = (2 * math.pi * place / count - math.pi / 2 for place in range(count))
    return [(left + radius_x * math.cos(angle), top + radius_y * math.sin(angle)) for angle in angles]


def _box(place: tuple[float, float], number: int, text: str) -> str:
    x, y = place[0] - _BOX_WIDTH / 2, place[1] - _BOX_HEIGHT / 2
    cut = text if len(text) <= TEXT_CHARACTERS else f"{text[: TEXT_CHARACTERS - 1]}…"
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="6" fill="#ffffff" '
        f'stroke="#333333"/><text x="{x + 8:.1f}" y="{y + 17:.1f}" font-weight="bold">T{number + 1}</text>'
        f'<text x="{x + 8:.1f}" y="{y + 35:.1f}" font-size="11">{escape(cut)}</text>'
    )


def _arc(source: tuple[float, float], target: tuple[float, float], sign: str) -> str:
    """A bent arrow, so that two in opposite directions stand apart."""
    (x1, y1), (x2, y2) = _edge(source, target), _edge(target, source)
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    bend = 26.0
    bent_x = (x1 + x2) / 2 - (y2 - y1) / length * bend
    bent_y = (y1 + y2) / 2 + (x2 - x1) / length * bend
    dash = ' stroke-dasharray="5 4"' if sign in {"process", "rt"} else ""
    return (
        f'<g class="{sign}" color="{_COLOURS[sign]}" fill="currentColor">'
        f'<path d="M{x1:.1f},{y1:.1f} Q{bent_x:.1f},{bent_y:.1f} {x2:.1f},{y2:.1f}" fill="none" '
        f'stroke="currentColor" stroke-width="1.6"{dash}/>{_head((bent_x, bent_y), (x2, y2))}'
        f'<text x="{bent_x:.1f}" y="{bent_y:.1f}" text-anchor="middle">{sign}</text></g>'
    )


def _head(bent: tuple[float, float], tip: tuple[float, float]) -> str:
    """The arrow's head: drawn, as a marker would need an id."""
    dx, dy = tip[0] - bent[0], tip[1] - bent[1]
    length = math.hypot(dx, dy) or 1.0
    dx, dy = dx / length, dy / length
    x, y = tip[0] - dx * _HEAD_LENGTH, tip[1] - dy * _HEAD_LENGTH
    sides = ((x - dy * _HEAD_WIDTH, y + dx * _HEAD_WIDTH), (x + dy * _HEAD_WIDTH, y - dx * _HEAD_WIDTH))
    return f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in (tip, *sides))}"/>'


def _edge(inner: tuple[float, float], outer: tuple[float, float]) -> tuple[float, float]:
    """Where the line from the centre of one box to another's leaves the first."""
    dx, dy = outer[0] - inner[0], outer[1] - inner[1]
    scale = min(
        _BOX_WIDTH / 2 / abs(dx) if dx else math.inf,
        _BOX_HEIGHT / 2 / abs(dy) if dy else math.inf,
        1.0,
    )
    return inner[0] + dx * scale, inner[1] + dy * scale
