"""Shapes for verdicts, kinds of faults, outcomes and anomalies; they can be read without colour."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeGuard

from markupsafe import Markup

from results.report.drawing import svg

_STROKE = re.compile(r"M(?:[MLHVACQZ]|[ ,]?-?(?:\d(?:\.\d)?|\.\d)(?![\d.]))+", re.ASCII)
"""A path that is allowed as a glyph: only absolute commands, and numbers below 10."""
_CHARACTERS_MAX = 120
_FAULTS = {
    "partition": "M-5 0H-1.6M1.6 0H5M-1.6 -4.5V4.5M1.6 -4.5V4.5",
    "packet-loss": "M-5 0H-3.2M-1 0H1M3.2 0H5M-2.1 -3.4V3.4M2.1 -3.4V3.4",
    "lost-answers": "M4.6 0H-3.4M-.4 -3L-3.4 0L-.4 3M-4.6 -4.4V4.4",
    "held-requests": "M-4.6 0H3.4M.4 -3L3.4 0L.4 3M4.6 -4.4V4.4",
    "held-reports": "M-4.6 0H3.4M.4 -3L3.4 0L.4 3M4.6 -4.4V4.4M-4.6 -4.4V4.4",
    "kill": "M-3.8 -3.8L3.8 3.8M3.8 -3.8L-3.8 3.8",
    "pause": "M-2.4 -4.2V4.2M2.4 -4.2V4.2",
    "torn-write": "M-3.8 -3.8L3.8 3.8M3.8 -3.8L.6 -.6M-.6 .6L-3.8 3.8",
    "stop": "M-3.6 -3.6H3.6V3.6H-3.6Z",
    "wipe-disk": "M-4.4 0A4.4 4.4 0 1 0 4.4 0A4.4 4.4 0 1 0 -4.4 0Z",
    "power-loss": "M1.2 -4.8L-3 .8H0L-1.2 4.8L3 -.8H0Z",
    "dead-disk": "M-4.4 0A4.4 4.4 0 1 0 4.4 0A4.4 4.4 0 1 0 -4.4 0ZM-3.1 3.1L3.1 -3.1",
}
"""Glyphs by kind of fault, used if the history has no glyph for the fault."""
_FAULT_OTHER = "M0 -4.5L4.5 0L0 4.5L-4.5 0Z"
_VERDICTS = {
    "valid": ("M12 1a11 11 0 1 0 .01 0Z", "M6.5 12.5l3.8 3.8 7.2-8"),
    "invalid": ("M7.5 1h9L23 7.5v9L16.5 23h-9L1 16.5v-9Z", "M8 8l8 8M16 8l-8 8"),
    "unknown": ("M12 1.5L23.5 22H.5Z", "M9.6 11a2.4 2.2 0 1 1 3.4 2q-1 .6-1 2M12 18.2v.6"),
    "not exercised": ("M12 1a11 11 0 1 0 .01 0Z", "M7 12h10"),
}
_OUTCOMES = {
    "info": "M0 -3.4L3.2 2.6H-3.2Z",
    "fail": "M-2.6 -2.6L2.6 2.6M2.6 -2.6L-2.6 2.6",
}
_CHECKS = {"met": "M2 6.5l2.8 2.8L10 3", "unmet": "M2.5 2.5l7 7M9.5 2.5l-7 7"}


def fault(kind: str, x: float, y: float, recorded: str | None = None) -> Markup:
    """A fault, 10 units across.

    Args:
        kind: kind of the fault.
        x: horizontal position of its centre.
        y: vertical position of its centre.
        recorded: the path in the history; ignored if it is not a path, or too long or too large.
    """
    place = f"translate({svg.number(x)} {svg.number(y)})" if x or y else None
    path = recorded if _is_glyph(recorded) else _FAULTS.get(kind, _FAULT_OTHER)
    return svg.element("path", d=path, transform=place, class_="fault-glyph")


def _is_glyph(recorded: str | None) -> TypeGuard[str]:
    return (
        recorded is not None and len(recorded) <= _CHARACTERS_MAX and _STROKE.fullmatch(recorded) is not None
    )


@lru_cache(maxsize=64)
def fault_icon(kind: str, recorded: str | None = None) -> Markup:
    """`fault`, for use in a line of text."""
    return svg.element(
        "svg",
        fault(kind, 0, 0, recorded),
        class_="icon",
        viewBox="-6 -6 12 12",
        width=12,
        height=12,
        aria_hidden="true",
    )


@lru_cache(maxsize=64)
def verdict(validity: str, size: int) -> Markup:
    """A circle with a tick or a dash, an octagon with a cross, or a triangle with a question mark."""
    outline, sign = _VERDICTS[validity]
    return svg.element(
        "svg",
        svg.element("path", d=outline, class_="outline"),
        svg.element("path", d=sign, class_="sign"),
        class_=f"verdict-glyph {validity.replace(' ', '-')}",
        viewBox="0 0 24 24",
        width=size,
        height=size,
        aria_hidden="true",
    )


def outcome(kind: str, x: float, y: float) -> Markup:
    """The outcome of a send: a dot, a triangle or a cross."""
    if kind == "ok":
        return svg.element("circle", cx=x, cy=y, r=2.0, class_="ok-dot")
    return svg.element("use", href=f"#{kind}", x=x, y=y, class_=f"mark-{kind}")


def definitions() -> Markup:
    """SVG definitions that `outcome`, `outcomes` and the templates use; each page needs them once."""
    shapes = (svg.element("path", d=path, id=kind) for kind, path in (_OUTCOMES | _CHECKS).items())
    return svg.EMPTY.join((*shapes, *(_marker(kind) for kind in _OUTCOMES)))


def _marker(kind: str) -> Markup:
    shape = svg.element("use", href=f"#{kind}", class_=f"mark-{kind}")
    units = {"markerUnits": "userSpaceOnUse"}
    return svg.element("marker", shape, id=f"at-{kind}", overflow="visible", **units)


def outcomes(kind: str, points: Sequence[tuple[float, float]]) -> Markup:
    """The outcomes of many sends, as one path: a dot, a triangle or a cross at each point.

    Args:
        kind: the outcome.
        points: positions (x, y), in the order of x.
    """
    if not points:
        return svg.EMPTY
    name, end = ("dots", "h0") if kind == "ok" else (f"marks marks-{kind}", "")
    return svg.element("path", d=f"M{_steps(points, end)[1:]}", class_=name)


def _steps(points: Iterable[tuple[float, float]], end: str) -> str:
    """A path through the points, relative to the previous point, rounded to hundredths."""
    steps = []
    x = y = 0
    for point in points:
        at_x, at_y = round(point[0] * 100), round(point[1] * 10) * 10
        down = svg.number((at_y - y) / 100)
        between = "" if down.startswith("-") else " "
        steps.append(f"m{svg.number((at_x - x) / 100)}{between}{down}{end}")
        x, y = at_x, at_y
    return "".join(steps)


def anomaly(*, illegal: bool, x: float, y: float) -> Markup:
    """A filled diamond for a broken guarantee, a ring for a legal anomaly."""
    if not illegal:
        return svg.element("circle", cx=x, cy=y, r=4.2, class_="anomaly-legal")
    place = f"translate({svg.number(x)} {svg.number(y)})" if x or y else None
    return svg.element("path", d="M0 -6L6 0L0 6L-6 0Z", transform=place, class_="anomaly-illegal")


@lru_cache(maxsize=64)
def anomaly_icon(*, illegal: bool) -> Markup:
    """`anomaly`, for use in a line of text."""
    return svg.element(
        "svg",
        anomaly(illegal=illegal, x=0, y=0),
        class_="icon",
        viewBox="-7 -7 14 14",
        width=14,
        height=14,
        aria_hidden="true",
    )
