"""The lane of what each process did: short operations as a thin line, long and doubtful ones as bars."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from results.cleaning import clean
from results.report import glyphs, svg
from results.report.calls import OUTCOMES, Calls
from results.report.frame import Frame, Lane, at_seconds, label_in, row_name
from results.report.limits import Limits

_ROW = 12.0
_BAR = 9.0
_LONG = 4.0
"""Width from which an operation is a bar of its own."""
_GAP = 0.8
"""Shortest pause that is drawn."""
_NAMES_TOLD = 6
_NAME_MAX = 8
_DRAWN_ELSEWHERE = ("observer", "runner", "nemesis")
Positions = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Track(NamedTuple):
    """Processes that share a row because one began after the other had ended, as successors do."""

    processes: tuple[int | str, ...]
    calls: Positions


def operations(calls: Calls, frame: Frame, limits: Limits) -> Lane | None:
    """A row for each process and its successors; a client's number goes up when an outcome is unknown."""
    found = list(tracks(calls))
    if not found:
        return None
    shown = found[: limits.processes]
    body = svg.group(_row(track, calls, number * _ROW, frame, limits) for number, track in enumerate(shown))
    note = "by process; lines: short ones, bars: long ones; a triangle is unknown, a cross failed"
    if len(found) > len(shown):
        note += f"; {len(found) - len(shown):,} rows more are not shown"
    return Lane("Operations", note, len(shown) * _ROW, body)


def tracks(calls: Calls) -> Iterator[Track]:
    """Rows: those with a name first, then clients by number; a client's successor takes its row."""
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


def _packed(clients: Iterable[int], own: dict[int | str, Positions], calls: Calls) -> list[list[int]]:
    """Clients on rows, each on the first that is free from when it begins."""
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


def _row(track: Track, calls: Calls, y: float, frame: Frame, limits: Limits) -> Markup:
    left, right = frame.places(calls.began_ns[track.calls]), frame.places(calls.ended_ns[track.calls])
    odd = calls.outcome[track.calls] != OUTCOMES.index("ok")
    apart = (right - left >= _LONG) | odd
    longest = np.argsort(-(right - left) - 1e6 * odd, kind="stable")
    bars = longest[apart[longest]][: limits.segments]
    thin = np.setdiff1d(np.arange(left.size), bars)
    name = clean(str(track.processes[0]), _NAME_MAX)
    parts = [row_name(name, y + 8.5), _line(left[thin], right[thin], y + _ROW / 2)]
    parts += [_bar(calls, int(track.calls[at]), y, frame) for at in np.sort(bars)]
    return svg.group([svg.title(_told(track)), *parts])


def _told(track: Track) -> str:
    told = ", then ".join(clean(str(process), 30) for process in track.processes[:_NAMES_TOLD])
    more = len(track.processes) - _NAMES_TOLD
    return f"process {told}" + (f" and {more:,} more" if more > 0 else "")


def _line(left: Floats, right: Floats, y: float) -> Markup:
    """Times in which something went on, those that touch as one."""
    if not left.size:
        return svg.EMPTY
    order = np.argsort(left)
    begins, ends = left[order], np.maximum.accumulate(right[order])
    first = np.concatenate([[True], begins[1:] > ends[:-1] + _GAP])
    last = np.concatenate([first[1:], [True]])
    spans = zip(begins[first].tolist(), ends[last].tolist(), strict=True)
    path = "".join(f"M{svg.number(x)} {svg.number(y)}h{svg.number(max(end - x, 0.7))}" for x, end in spans)
    return svg.element("path", d=path, class_="busy")


def _bar(calls: Calls, at: int, y: float, frame: Frame) -> Markup:
    outcome = OUTCOMES[int(calls.outcome[at])]
    began_ns, ended_ns = int(calls.began_ns[at]), int(calls.ended_ns[at])
    x, width = frame.span(began_ns, ended_ns)
    name = clean(calls.names[int(calls.f[at])], 30)
    when = f"from {at_seconds(began_ns)} to {at_seconds(ended_ns)}"
    hint = svg.title(
        f"{name} of process {clean(str(calls.processes[int(calls.process[at])]), 30)} {when}: {outcome}"
    )
    bar = svg.element("rect", x=x, y=y + 1.5, width=width, height=_BAR, class_=f"call {outcome}")
    sign = svg.EMPTY
    if outcome in ("info", "fail"):
        sign = glyphs.outcome(outcome, x + width, y + _ROW / 2)
    return svg.group([hint, bar, label_in(name, x, y + 9, width), sign])
