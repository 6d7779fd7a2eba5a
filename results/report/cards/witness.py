"""Draws the operations of a witness over time, with the faults in force."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np
from markupsafe import Markup

from checkers.history.operations import History
from results.markup.cleaning import clean
from results.report.drawing import glyphs, svg
from results.report.drawing.frame import GUTTER, PLOT, ROW_NAME_MAX, WIDTH, Frame, row_name, width_of
from results.report.reading.calls import NONE, OPEN, OUTCOMES, CallColumns, calls_of
from results.report.reading.history_files import HistoryFile
from results.report.reading.words import value_text
from results.run.observation import FaultSeen

_ROW = 19.0
_BAR = 11.0
_AXIS = 20.0
_FAULT = 15.0
_FAULTS_MAX = 40
_GLYPH = 17.0
"""Space for the glyph of a fault, left of its name."""
_LABEL_CHARACTER = 6.4
"""Width of a character of a call's label (fixed-width font)."""
_MARGIN = 0.04
_NARROWEST_NS = 1_000_000
_LABEL_MAX = 60


class Witnessed(msgspec.Struct, frozen=True):
    """Source of the drawings: the calls of a history, by the index of either end, and its faults.

    Attributes:
        file: the file that holds the history; None for a run.
    """

    history: History
    calls: CallColumns
    faults: tuple[FaultSeen, ...]
    file: HistoryFile | None = None

    @property
    def timed(self) -> bool:
        """Whether the history has times."""
        return self.file is None or self.file.timed

    def line(self, index: int) -> int | None:
        """The line of an operation in the file; None for a run."""
        lines = () if self.file is None else self.file.lines
        return lines[index] if index < len(lines) else None


def witnessed(history: History, faults: Sequence[FaultSeen], file: HistoryFile | None = None) -> Witnessed:
    """Prepare a history for drawings of its witnesses."""
    attempted = tuple(fault for fault in faults if fault.attempted)
    return Witnessed(history, calls_of(history), attempted, file)


def draw_witness(seen: Witnessed, indices: Iterable[int], time_ns: int | None) -> Markup:
    """A row for each call of a witness, in the order of their start; empty without calls.

    Args:
        seen: the history.
        indices: indices of the operations; an invocation and its completion are one call.
        time_ns: when the anomaly became visible; marked if the drawing includes that time.
    """
    calls = seen.calls
    wanted = np.array(
        [index for index in indices if 0 <= index < len(seen.history.operations)], dtype=np.int64
    )
    found = np.flatnonzero(np.isin(calls.completed, wanted) | np.isin(calls.invoked, wanted))
    if not found.size:
        return svg.EMPTY
    rows = found[np.argsort(calls.began_ns[found], kind="stable")]
    frame = _frame(int(calls.began_ns[rows].min()), int(calls.ended_ns[rows].max()), time_ns, seen)
    faults = [f for f in seen.faults if _overlaps(f, frame)]
    levels = _levels(faults[:_FAULTS_MAX], frame)
    top = (max(levels, default=-1) + 1 + (len(faults) > _FAULTS_MAX)) * _FAULT + 3
    height = top + rows.size * _ROW
    parts = [_fault(f, level * _FAULT, height, frame) for f, level in zip(faults, levels, strict=False)]
    if len(faults) > _FAULTS_MAX:
        more = f"and {len(faults) - _FAULTS_MAX:,} more faults"
        parts.append(svg.text(GUTTER + _GLYPH, top - 7, more, class_="fault-label"))
    parts += [_axis(frame, height), _moment(time_ns, height, frame), _order(rows, calls, frame, top)]
    parts += [_call(seen, int(at), top + number * _ROW, frame) for number, at in enumerate(rows)]
    return svg.element(
        "svg",
        *parts,
        class_="drawn",
        role="img",
        aria_label="The operations of the witness over time",
        viewBox=f"0 0 {svg.number(WIDTH)} {svg.number(height + _AXIS)}",
    )


def _frame(begin_ns: int, end_ns: int, time_ns: int | None, seen: Witnessed) -> Frame:
    """From the first start to the last end, with a margin; includes the anomaly if it is close."""
    length = max(end_ns - begin_ns, _NARROWEST_NS)
    if time_ns is not None and begin_ns - length <= time_ns <= end_ns + length:
        begin_ns, end_ns = min(begin_ns, time_ns), max(end_ns, time_ns)
    room = int(max(end_ns - begin_ns, _NARROWEST_NS) * _MARGIN)
    return Frame(max(begin_ns - room, 0), end_ns + room + 1, seen.timed)


def _overlaps(fault: FaultSeen, frame: Frame) -> bool:
    healed_ns = frame.end_ns if fault.healed_ns is None else fault.healed_ns
    return fault.invoked_ns < frame.end_ns and healed_ns > frame.begin_ns


def _levels(faults: Sequence[FaultSeen], frame: Frame) -> list[int]:
    """The row of each fault: the first one in which its bar and name overlap no other."""
    ends: list[float] = []
    levels = []
    for fault in faults:
        x, width, at = _placed(fault, frame)
        level = next((n for n, end in enumerate(ends) if end < min(x, at)), len(ends))
        ends[level:] = [max(x + width, at + _GLYPH + width_of(fault.label) + 4), *ends[level + 1 :]]
        levels.append(level)
    return levels


class _FaultPlace(NamedTuple):
    """Position and width of a fault's bar, and position of its glyph and name, all within the drawing."""

    x: float
    width: float
    label_x: float


def _placed(fault: FaultSeen, frame: Frame) -> _FaultPlace:
    x, width = frame.span(fault.invoked_ns, fault.healed_ns or frame.end_ns)
    return _FaultPlace(x, width, max(min(x, GUTTER + PLOT - width_of(fault.label) - 20), GUTTER))


def _fault(fault: FaultSeen, y: float, height: float, frame: Frame) -> Markup:
    x, width, at = _placed(fault, frame)
    window = svg.element("rect", x=x, y=0, width=width, height=height, class_="window drawn-window")
    bar = svg.element("rect", x=x, y=y + 1, width=width, height=_FAULT - 2, class_="fault")
    glyph = glyphs.fault(fault.kind, at + 8, y + 7, fault.glyph)
    return svg.group([window, bar, glyph, svg.text(at + _GLYPH, y + 11, fault.label, class_="fault-label")])


def _axis(frame: Frame, y: float) -> Markup:
    parts = [svg.element("line", x1=GUTTER, x2=GUTTER + PLOT, y1=y, y2=y, class_="axis")]
    for x, label in frame.ticks():
        parts.append(svg.element("line", x1=x, x2=x, y1=0, y2=y + 3, class_="grid"))
        tick = f"{label} s" if frame.timed else label
        parts.append(svg.text(x, y + 14, tick, class_="tick", text_anchor="middle"))
    return svg.group(parts)


def _moment(time_ns: int | None, height: float, frame: Frame) -> Markup:
    if time_ns is None or not frame.begin_ns <= time_ns <= frame.end_ns:
        return svg.EMPTY
    x = frame.x(time_ns)
    return svg.element("line", x1=x, x2=x, y1=0, y2=height, class_="anomaly-line")


def _order(
    rows: np.ndarray[tuple[int], np.dtype[np.int64]], calls: CallColumns, frame: Frame, top: float
) -> Markup:
    """An arrow from each call to the next one, if it ended before the next one began."""
    arrows = []
    for number, (one, next_one) in enumerate(pairwise(rows.tolist())):
        if calls.outcome[one] == OPEN or calls.ended_ns[one] >= calls.began_ns[next_one]:
            continue
        begin, end = frame.x(int(calls.ended_ns[one])), frame.x(int(calls.began_ns[next_one]))
        y = top + number * _ROW + _ROW / 2
        below = y + _ROW - _BAR / 2
        path = f"M{svg.number(begin)} {svg.number(y)}v{svg.number(_ROW / 2)}"
        path += f"H{svg.number(end)}V{svg.number(below)}"
        head = f"M{svg.number(end - 2.5)} {svg.number(below - 3.5)}l2.5 3.5 2.5 -3.5"
        arrows.append(svg.element("path", d=path + head, class_="then"))
    return svg.group(arrows)


def _call(seen: Witnessed, at: int, y: float, frame: Frame) -> Markup:
    calls = seen.calls
    outcome = OUTCOMES[int(calls.outcome[at])]
    x, width = frame.span(int(calls.began_ns[at]), int(calls.ended_ns[at]))
    bar = svg.element("rect", x=x, y=y + 4, width=width, height=_BAR, rx=1.5, class_=f"call {outcome}")
    sign = glyphs.outcome(outcome, x + width, y + 9.5) if outcome in ("info", "fail") else svg.EMPTY
    operation_text = _operation_text(seen, at, outcome)
    begin = _label_at(x, width, len(operation_text) * _LABEL_CHARACTER)
    inside = x <= begin and begin + len(operation_text) * _LABEL_CHARACTER <= x + width
    label = svg.text(begin, y + 13.5, operation_text, class_=f"told in-{outcome}" if inside else "told")
    return svg.group([row_name(_who(seen, at), y + 13.5), bar, sign, label])


def _label_at(x: float, width: float, wide: float) -> float:
    """Position of a label: after the bar, else before it, else over its start, never outside."""
    if x + width + wide + 10 < GUTTER + PLOT:
        return x + width + 7
    return x - 6 - wide if x - 6 - wide > GUTTER else max(min(x + 4, GUTTER + PLOT - wide), GUTTER)


def _operation_text(seen: Witnessed, at: int, outcome: str) -> str:
    """Operation, key, outcome, and the indices of both ends."""
    calls = seen.calls
    ends = [str(index) for index in (int(calls.invoked[at]), int(calls.completed[at])) if index != NONE]
    operation = seen.history.operations[int(ends[0])]
    key = _cut(value_text(operation.key, _LABEL_MAX), 24)
    ended = "never ended" if outcome == "open" else outcome
    return f"{_cut(clean(operation.f, _LABEL_MAX), 24)} {key} {ended} ({' to '.join(ends)})"


def _who(seen: Witnessed, at: int) -> str:
    """The process; for an observer, the node that it asked."""
    index = max(int(seen.calls.invoked[at]), int(seen.calls.completed[at]))
    operation = seen.history.operations[index]
    named = isinstance(operation.process, str) and operation.process.startswith("observer")
    who = operation.node if named and operation.node else operation.process
    return _cut(clean(str(who), _LABEL_MAX), ROW_NAME_MAX)


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
