"""The history: every operation, fault and observation of one run, in the order of time.

The format is documented field by field in docs/histories.md; the terms are Jepsen's.  An operation begins
with an ``invoke`` and is completed by the same process with ``ok`` (it happened), ``fail`` (it did not
happen) or ``info`` (unknown; the process is then retired).  Observations are single ``ok`` operations without
an invocation.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cached_property, wraps
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

_T = TypeVar("_T")

FORMAT_VERSION = 2
"""Version of the written journal format: each journal has an end, and the runner's lists all."""
READABLE_VERSIONS = frozenset({1, FORMAT_VERSION})
"""Versions that are read; others are refused."""


class OperationType(StrEnum):
    """The stage of an operation."""

    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


INVOKE: Final = OperationType.INVOKE
"""These constants avoid the lookup of an enumeration's member, which takes ten times as long."""
OK: Final = OperationType.OK
FAIL: Final = OperationType.FAIL
INFO: Final = OperationType.INFO


class Operation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a history.

    Attributes:
        index: position in its journal file, and after merging in the whole history, from 0.
        time_ns: host's CLOCK_MONOTONIC since the run began, nanoseconds.
        process: a worker's number, or the name of a singleton such as ``nemesis`` or ``runner``.
        type: invoke, ok, fail or info.
        f: function: ``send``, ``poll``, ``inject``, ``observe`` and so on.
        key: object of the operation; its shape depends on ``f``.
        value: arguments (invoke) or result (completion); its shape depends on ``f``.
        error: for fail and info, the client's error.
        node: name of the node that was asked or changed, if there is exactly one.
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


class Decoded(NamedTuple, Generic[_T]):
    """An operation, and its value decoded to a struct."""

    operation: Operation
    value: _T


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


class History(msgspec.Struct, frozen=True, dict=True):
    """All operations of one run, merged and indexed.

    Equality, copies, pickles and JSON use only the fields, not what `once` caches.

    Attributes:
        run: the run's id.
        began_at: wall-clock time of the run's beginning, ISO 8601 in UTC.
        operations: sorted by ``(time_ns, journal, index)``; ``index`` is the position here.
        damage: parts that could not be read (a line cut short at the end of a journal), one text each; a
            damaged history can be judged invalid or unknown, never valid.
        lacking: names of the journals that were lost or cut off; `checkers.history.sources` uses them.
    """

    run: str
    began_at: str
    operations: tuple[Operation, ...]
    damage: tuple[str, ...] = ()
    lacking: frozenset[str] = frozenset()

    @cached_property
    def _kept(self) -> dict[Any, Any]:
        """Cached results of functions that are computed `once`."""
        return {}

    @cached_property
    def _by_f(self) -> dict[str, list[Operation]]:
        found: dict[str, list[Operation]] = {}
        for operation in self.operations:
            found.setdefault(operation.f, []).append(operation)
        return found

    @cached_property
    def _by_observed(self) -> dict[str, list[Operation]]:
        found: dict[str, list[Operation]] = {}
        for operation in self.of("observe"):
            found.setdefault(str(operation.key), []).append(operation)
        return found

    def of(self, f: str) -> Sequence[Operation]:
        """All operations of one function, in order; computed once and cached."""
        return self._by_f.get(f, ())

    def observed(self, key: str) -> Sequence[Operation]:
        """All observations of one key, in order."""
        return self._by_observed.get(key, ())

    def seen(self, key: str, struct: type[_T]) -> Sequence[Decoded[_T]]:
        """All observations of one key with their values, in order; decoded once and cached.

        Raises:
            msgspec.ValidationError: a value is not as docs/histories.md says.
        """
        known = self._kept.get((key, struct))
        if known is None:
            known = [Decoded(each, msgspec.convert(each.value, struct)) for each in self.observed(key)]
            self._kept[key, struct] = known
        observations: list[Decoded[_T]] = known
        return observations


def once(make: Callable[[History], _T]) -> Callable[[History], _T]:
    """Let a function of a history compute once for each history, because several checkers need its result.

    The result is stored with the history and freed with it.  It must not be changed, and should not refer to
    the history, because both would then be kept until a garbage collection.  Errors are not stored: the
    function is computed again each time.  Two threads may both compute the result, and get equal ones.
    """

    @wraps(make)
    def kept(history: History) -> _T:
        known: dict[Any, _T] = history._kept  # noqa: SLF001 - it is kept there for this function alone
        if make not in known:
            known[make] = make(history)
        return known[make]

    return kept
