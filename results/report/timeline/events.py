"""Lanes of phases, faults and anomalies."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from results.markup.cleaning import clean
from results.report.cards.cards import Card
from results.report.drawing import glyphs, svg
from results.report.drawing.frame import GUTTER, PLOT, Frame, TimelineLane, width_of
from results.report.reading.spans import left_out_text
from results.report.size_limits import DisplayLimits
from results.run.observation import FaultSeen, Observed
from results.run.text import at_seconds

_ROW = 21.0
_BAR = 17.0
_MARK_ROW = 14.0
_MARK_WIDTH = 12.0
_MARK_ROWS_MAX = 4
_FAULT_ROWS_MAX = 8


def phases(observed: Observed, frame: Frame, limits: DisplayLimits) -> TimelineLane | None:
    """The start of each phase; a name is left out if it would overlap the next one."""
    shown = observed.phases[: limits.segments]
    if not shown:
        return None
    ends = [time_ns for _, time_ns in observed.phases[1:]] + [frame.end_ns]
    body = svg.group(_phase(frame, *phase, end) for phase, end in zip(shown, ends, strict=False))
    left_out = len(observed.phases) - len(shown)
    return TimelineLane("Phases", left_out_text(left_out, "latest", "drawn") if left_out else "", 16, body)


def _phase(frame: Frame, name: str, begin_ns: int, end_ns: int) -> Markup:
    x, width = frame.span(begin_ns, end_ns)
    text = clean(name, 24)
    label = svg.text(x + 4, 11, text, class_="small") if width_of(text) < width else svg.EMPTY
    hint = svg.title(f"{text}, from {at_seconds(begin_ns)}")
    bar = svg.element("rect", hint, **frame.bar(begin_ns, end_ns), height=15, class_="phase")
    edge = svg.element("line", x1=x, x2=x, y1=0, y2=15, class_="phase-edge")
    return bar + edge + label


def fault_rows(faults: Iterable[FaultSeen], frame: Frame) -> list[tuple[FaultSeen, int]]:
    """Attempted faults, each with a row on which no other fault is in force at that time."""
    free: list[float] = []
    placed = []
    for fault in faults:
        if not fault.attempted:
            continue
        begin, end = _extent(fault, frame)
        row = next((row for row, until in enumerate(free) if until <= begin), len(free))
        free[row : row + 1] = [end]
        placed.append((fault, row))
    return placed


def faults(observed: Observed, frame: Frame, limits: DisplayLimits) -> TimelineLane | None:
    """One bar per fault: pale while it is injected or healed, full while it is proven to be in force."""
    every = fault_rows(observed.faults, frame)
    placed = [(fault, row) for fault, row in every if row < _FAULT_ROWS_MAX][: limits.segments]
    if not placed:
        return None
    body = svg.group(_fault(fault, row * _ROW, frame) for fault, row in placed)
    note = "kind and targets; dashed if no probe confirmed the fault"
    if len(every) > len(placed):
        note += f"; {len(every) - len(placed):,} more are in the table"
    if (unshaded := len(every) - limits.segments) > 0:
        note += f"; {left_out_text(unshaded, 'latest', 'shaded through the lanes')}"
    return TimelineLane("Faults", note, _ROW * (1 + max(row for _, row in placed)), body)


def _extent(fault: FaultSeen, frame: Frame) -> tuple[float, float]:
    """Positions (x) of the start and end of a fault; the end includes the label."""
    x, width = frame.span(fault.invoked_ns, fault.healed_ns or frame.end_ns)
    return x, x + max(width, width_of(fault.label) + 24)


def _fault(fault: FaultSeen, y: float, frame: Frame) -> Markup:
    x, width = frame.span(fault.invoked_ns, fault.healed_ns or frame.end_ns)
    label = fault.label
    unproven = "" if fault.effective_ns is not None else " unproven"
    hint = svg.title(f"{label}: {_when(fault)}")
    place = frame.bar(fault.invoked_ns, fault.healed_ns or frame.end_ns)
    outer = svg.element("rect", **place, y=y, height=_BAR, rx=2, class_=f"fault{unproven}")
    parts = [hint, outer, _in_force(fault, y, frame)]
    inside = width_of(label) + 22 < width
    at = x if inside or x + width_of(label) + 24 < GUTTER + PLOT else x - width_of(label) - 26
    after = width if at == x and not inside else 0
    parts.append(glyphs.fault(fault.kind, at + after + 10, y + _BAR / 2, fault.glyph))
    parts.append(svg.text(at + after + 19, y + 12.5, label, class_="fault-label"))
    return svg.group(parts)


def _in_force(fault: FaultSeen, y: float, frame: Frame) -> Markup:
    if fault.effective_ns is None:
        return svg.EMPTY
    place = frame.bar(fault.effective_ns, fault.heal_invoked_ns or frame.end_ns)
    return svg.element("rect", **place, y=y, height=_BAR, rx=2, class_="fault-held")


def _when(fault: FaultSeen) -> str:
    proven = "not proven" if fault.effective_ns is None else f"proven at {at_seconds(fault.effective_ns)}"
    healed = "never healed" if fault.healed_ns is None else f"healed at {at_seconds(fault.healed_ns)}"
    return f"begun at {at_seconds(fault.invoked_ns)}, {proven}, {healed}"


def anomalies(found: Sequence[Card], frame: Frame) -> TimelineLane | None:
    """A mark for each card that has a time, with a link to it."""
    timed = sorted((f for f in found if f.time_ns is not None), key=lambda f: f.time_ns or 0)
    if not timed:
        return None
    ends = [float("-inf")] * _MARK_ROWS_MAX
    marks = []
    for card in timed:
        x = frame.x(card.time_ns or 0)
        row = next((row for row, end in enumerate(ends) if end <= x), _MARK_ROWS_MAX - 1)
        ends[row] = x + _MARK_WIDTH
        marks.append(_mark(card, frame, (row + 0.5) * _MARK_ROW))
    rows = sum(end > float("-inf") for end in ends)
    note = "diamond: broken guarantee; ring: legal here; each is a link to its section"
    return TimelineLane("Anomalies", note, rows * _MARK_ROW, svg.group(marks))


def _mark(card: Card, frame: Frame, y: float) -> Markup:
    time_ns = card.time_ns or 0
    hint = svg.title(f"{card.id} at {frame.at(time_ns)}: {card.summary}")
    shape = glyphs.anomaly(illegal=card.illegal, x=frame.x(time_ns), y=y)
    return svg.element("a", hint, shape, href=f"#{card.anchor}")
