"""The table of node logs; lines that differ only in numbers and ids are one row."""

import re
from collections.abc import Iterable

import msgspec

from checkers.evidence.node_logs import HARMLESS, moment, ns_between
from checkers.history.units import NS_PER_S
from results.markup.cleaning import clean
from results.report.size_limits import DisplayLimits
from results.run.observation import NotableLine, Observed

_LEVELS = ("FATAL", "ERROR", "WARN")
_NUMBERS = re.compile(r"(?<![\w-])(?=[\w-]*\d)[\w-]{16,}|@[0-9a-f]+|\d+")
"""The variable parts of lines from the same log statement: (long) ids, addresses, numbers.

An id is matched only at the start of a word, so that a long word does not take quadratic time.
"""


class LogRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a node's log, and why it is harmless if that is known.

    Attributes:
        seconds: time on the run's clock; empty if the line has no time.
        text: the line without its time and level.
        alike: number of other lines of the node that differ only in numbers and ids.
        until: time of the last one of those.
    """

    node: str
    line: int
    at: str
    seconds: str
    level: str
    text: str
    harmless: str
    alike: int
    until: str


class LogTable(msgspec.Struct, frozen=True):
    """Lines of node logs, most severe first, and the number of lines that are left out."""

    rows: tuple[LogRow, ...]
    left_out: int
    notes: tuple[str, ...]


def log_table(observed: Observed, limits: DisplayLimits, began_at: str = "") -> LogTable:
    """The table of the lines that nodes logged.

    Args:
        observed: the observations of the history.
        limits: upper bounds of what is shown.
        began_at: when the run began (ISO 8601); converts times of lines to the run's clock.
    """
    lines = [line for line in observed.logs if line.line is not None]
    groups = sorted(_groups(lines), key=_rank)
    shown = groups[: limits.rows]
    notes = tuple(
        clean(f"{line.node}: {line.text}", limits.cell) for line in observed.logs if line.line is None
    )
    rows = tuple(_row(group, limits, began_at) for group in shown)
    return LogTable(rows, len(lines) - sum(len(group) for group in shown), notes[: limits.rows])


def _groups(lines: Iterable[NotableLine]) -> list[list[NotableLine]]:
    """Groups of lines of a node and level that differ only in numbers and ids, in the order of time."""
    groups: dict[tuple[str, str, str], list[NotableLine]] = {}
    for line in sorted(lines, key=lambda line: line.at):
        groups.setdefault((line.node, line.level, _NUMBERS.sub("0", _message(line))), []).append(line)
    return list(groups.values())


def _rank(group: list[NotableLine]) -> tuple[bool, int, str]:
    first = group[0]
    gravity = _LEVELS.index(first.level) if first.level in _LEVELS else len(_LEVELS)
    return bool(_harmless(first)), gravity, first.at


def _row(group: list[NotableLine], limits: DisplayLimits, began_at: str) -> LogRow:
    first, last = group[0], group[-1]
    return LogRow(
        node=clean(first.node, 40),
        line=first.line or 0,
        at=clean(first.at, 40),
        seconds=_seconds(first.at, began_at),
        level=clean(first.level, 12),
        text=clean(_message(first), limits.text),
        harmless=_harmless(first),
        alike=len(group) - 1,
        until=clean(last.at, 40),
    )


def _message(line: NotableLine) -> str:
    return line.text.removeprefix(line.at).lstrip().removeprefix(line.level).lstrip()


def _harmless(line: NotableLine) -> str:
    return next((known.reason for known in HARMLESS if known.text.search(line.text)), "")


def _seconds(at: str, began_at: str) -> str:
    begun, then = moment(began_at), moment(at)
    return "" if begun is None or then is None else f"{ns_between(begun, then) / NS_PER_S:.3f}"
