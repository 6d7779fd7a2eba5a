"""The lane of the operations of each process: short ones as a thin line, long and unknown ones as bars."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from results.markup.cleaning import clean
from results.report.drawing import glyphs, svg
from results.report.drawing.frame import ROW_NAME_MAX, Frame, TimelineLane, label_in, row, row_name
from results.report.reading.calls import OUTCOMES, CallColumns
from results.report.size_limits import DisplayLimits

_ROW = 12.0
_LONG = 4.0
"""Minimum width of an operation that is drawn as a bar."""
_GAP = 0.8
"""Shortest pause that is drawn."""
_NARROW = 2.0
"""Calls of one kind below this width and distance would overlap and are drawn as one."""
_GROUP = 6.0
"""Maximum width of a group of such calls."""
_NAMES_MAX = 6
_DRAWN_ELSEWHERE = ("observer", "runner", "nemesis")
Positions = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Track(NamedTuple):
    """Processes that share a row: each began after the previous one had ended, as successors do."""

    processes: tuple[int | str, ...]
    calls: Positions


def operations(calls: CallColumns, frame: Frame, limits: DisplayLimits) -> TimelineLane | None:
    """A row for each process and its successors; after an unknown outcome a client gets a new number."""
    found = list(tracks(calls))
    if not found:
        return None
    shown = found[: limits.processes]
    body = svg.group(
        row([svg.title(_track_text(track)), *_row(track, calls, frame, limits)], number * _ROW)
        for number, track in enumerate(shown)
    )
    note = "by process; line: short; bar: long; triangle: unknown; cross: failed"
    if len(found) > len(shown):
        note += f"; {len(found) - len(shown):,} rows more are not shown"
    return TimelineLane("Operations", note, len(shown) * _ROW, body)


def tracks(calls: CallColumns) -> Iterator[Track]:
    """Rows: named processes first, then clients by number; a successor is in the row of its client."""
    order = np.argsort(calls.process, kind="stable")
    bounds = np.searchsorted(calls.process[order], np.arange(len(calls.processes) + 1))
    own = {
        process: order[bounds[code] : bounds[code + 1]]
        for code, process in enumerate(calls.processes)
        if bounds[code] < bounds[code + 1] and not str(process).startswith(_DRAWN_ELSEWHERE)
    }
    for name in sorted(process for process in own if isinstance(process, str)):
        yield Track((name,), own[name])
    clients = sorted(process for process in own if isinstance(process, int))
    for members in _packed(clients, own, calls):
        yield Track(tuple(members), np.concatenate([own[member] for member in members]))


def _packed(clients: Iterable[int], own: dict[int | str, Positions], calls: CallColumns) -> list[list[int]]:
    """Rows of clients; each client is in the first row that is free when it begins."""
    rows: list[list[int]] = []
    free_ns: list[int] = []
    for client in clients:
        began_ns, ended_ns = calls.began_ns[own[client]].min(), calls.ended_ns[own[client]].max()
        row = next((row for row, until_ns in enumerate(free_ns) if until_ns <= began_ns), len(rows))
        if row == len(rows):
            rows.append([])
            free_ns.append(0)
        rows[row].append(client)
        free_ns[row] = int(ended_ns)
    return rows


def _row(track: Track, calls: CallColumns, frame: Frame, limits: DisplayLimits) -> list[Markup]:
    left, right = frame.places(calls.began_ns[track.calls]), frame.places(calls.ended_ns[track.calls])
    odd = calls.outcome[track.calls] != OUTCOMES.index("ok")
    apart = (right - left >= _LONG) | odd
    longest = np.argsort(-(right - left) - 1e6 * odd, kind="stable")
    bars = longest[apart[longest]][: limits.segments]
    thin = np.setdiff1d(np.arange(left.size), bars)
    name = clean(str(track.processes[0]), ROW_NAME_MAX)
    timely = bars[np.argsort(left[bars], kind="stable")]
    gathered = _gathered(calls, track.calls[timely].tolist(), frame)
    line = _line(left[thin], right[thin], _ROW / 2)
    return [row_name(name, 8.5), line, *(_bar(calls, group, frame) for group in gathered)]


def _gathered(calls: CallColumns, bars: Iterable[int], frame: Frame) -> list[list[int]]:
    """Bars in the order of their start; narrow bars of one kind close to each other are one group."""
    groups: list[list[int]] = []
    for at in bars:
        if groups and _alike(calls, groups[-1], at, frame):
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


def _alike(calls: CallColumns, group: Sequence[int], at: int, frame: Frame) -> bool:
    first, last = group[0], group[-1]
    begin, end = frame.x(int(calls.began_ns[at])), frame.x(int(calls.ended_ns[at]))
    before_begin, before_end = frame.x(int(calls.began_ns[last])), frame.x(int(calls.ended_ns[last]))
    narrow = max(end - begin, before_end - before_begin) < _NARROW
    close = begin - before_begin < _NARROW and end - frame.x(int(calls.began_ns[first])) < _GROUP
    alike = calls.f[at] == calls.f[last] and calls.outcome[at] == calls.outcome[last]
    return bool(narrow and close and alike and calls.process[at] == calls.process[last])


def _track_text(track: Track) -> str:
    processes = ", then ".join(clean(str(process), 30) for process in track.processes[:_NAMES_MAX])
    more = len(track.processes) - _NAMES_MAX
    return f"process {processes}" + (f" and {more:,} more" if more > 0 else "")


def _line(left: Floats, right: Floats, y: float) -> Markup:
    """Time spans with operations in progress; adjacent ones are joined."""
    if not left.size:
        return svg.EMPTY
    order = np.argsort(left)
    begins, ends = left[order], np.maximum.accumulate(right[order])
    first = np.concatenate([[True], begins[1:] > ends[:-1] + _GAP])
    last = np.concatenate([first[1:], [True]])
    spans = zip(begins[first].tolist(), ends[last].tolist(), strict=True)
    path = "".join(f"M{svg.number(x)} {svg.number(y)}h{svg.number(max(end - x, 0.7))}" for x, end in spans)
    return svg.element("path", d=path, class_="busy")


def _bar(calls: CallColumns, group: Sequence[int], frame: Frame) -> Markup:
    """One call, or a group of calls with their number."""
    at = group[0]
    outcome = OUTCOMES[int(calls.outcome[at])]
    began_ns, ended_ns = int(calls.began_ns[at]), int(calls.ended_ns[group].max())
    x, width = frame.span(began_ns, ended_ns)
    name = clean(calls.names[int(calls.f[at])], 30)
    if len(group) > 1:
        name = f"{len(group)} {name}"
    process = clean(str(calls.processes[int(calls.process[at])]), 30)
    hint = svg.title(f"{name}, process {process} {frame.from_to(began_ns, ended_ns)}: {outcome}")
    bar = svg.element("rect", hint, **frame.bar(began_ns, ended_ns), class_=f"call {outcome}")
    bar += label_in(name, x, 9, width)
    if outcome in ("info", "fail"):
        bar += glyphs.outcome(outcome, x + width, _ROW / 2)
    return bar
