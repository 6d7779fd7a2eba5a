"""The history: every operation, fault and observation of one run, in the order of time.

The format is documented field by field in docs/histories.md; the words are Jepsen's.  An operation
begins with an ``invoke`` and is completed by the same process with ``ok`` (it happened), ``fail`` (it
did not happen) or ``info`` (unknown; the process is then retired).  Observations are single ``ok``
operations without an invocation.
"""

from enum import StrEnum
from typing import Any

import msgspec

FORMAT_VERSION = 1
"""Version of the journal format; a reader refuses what it does not know."""


class OperationType(StrEnum):
    """How far an operation has come."""

    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Operation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a history.

    Attributes:
        index: position in its journal file, and after merging in the whole history, from 0.
        time_ns: host's CLOCK_MONOTONIC since the run began, nanoseconds.
        process: a worker's number, or the name of a singleton such as ``nemesis`` or ``runner``.
        type: invoke, ok, fail or info.
        f: what was done: ``send``, ``poll``, ``inject``, ``observe`` and so on.
        key: what it was done to; its shape depends on ``f``.
        value: arguments (invoke) or result (completion); its shape depends on ``f``.
        error: for fail and info, what went wrong, in the client's words.
        node: name of the node that was asked or acted upon, where there is exactly one.
    """

    index: int
    time_ns: int
    process: int | str
    type: OperationType
    f: str
    key: Any = None
    value: Any = None
    error: str | None = None
    node: str | None = None


class JournalHeader(msgspec.Struct, frozen=True):
    """First line of every journal file.

    Attributes:
        krucible_history: format version.
        run: the run's id, also carried in every record that the run writes.
        journal: name of this journal, unique in the run, e.g. ``worker-3``.
        began_at: wall-clock time of the run's beginning, ISO 8601 in UTC.
    """

    krucible_history: int
    run: str
    journal: str
    began_at: str


class History(msgspec.Struct, frozen=True):
    """All operations of one run, merged and indexed.

    Attributes:
        run: the run's id.
        began_at: wall-clock time of the run's beginning, ISO 8601 in UTC.
        operations: sorted by ``(time_ns, journal, index)``; ``index`` is the position here.
        damage: what could not be read (a line cut short at the end of a journal), one text each; a
            damaged history can be judged invalid or unknown, never valid.
    """

    run: str
    began_at: str
    operations: tuple[Operation, ...]
    damage: tuple[str, ...] = ()
