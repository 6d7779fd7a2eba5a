"""The ends of partitions' logs according to the logs of nodes, in the time of the history."""

from typing import Generic, TypeVar

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.node_logs import logged_at_ns
from checkers.history.logged import (
    ISR_SHRUNK,
    LOADED,
    LOG_CUT,
    TRUNCATED,
    IsrShrunk,
    LogCut,
    LogLoaded,
    LogTruncated,
    PartitionLine,
)
from checkers.history.operations import History, Operation

SLACK_NS = 2_000_000_000
"""Largest difference between a line's time and the history's clock, whose start is known in whole seconds."""


_L = TypeVar("_L", bound=PartitionLine)


class Placed(msgspec.Struct, Generic[_L], frozen=True):
    """A line about a partition's log, and where and when a node logged it.

    Attributes:
        logged: what the line says.
        index: the observation's place in the history.
        node: whose log it is in.
        time_ns: when, on the history's clock; uncertain by `SLACK_NS`.
    """

    logged: _L
    index: int
    node: str
    time_ns: int

    @property
    def name(self) -> PartitionName:
        """The partition of the log."""
        return PartitionName(self.logged.topic, self.logged.partition)

    @property
    def cited(self) -> str:
        """Where the line is, as the beginning of a sentence."""
        return f"Line {self.logged.line} of {self.node}'s log, at {self.logged.at}"


def loaded_logs(history: History) -> list[Placed[LogLoaded]]:
    """Every log that a node loaded when it started.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _lines(history, LOADED, LogLoaded)


def shrunk_isrs(history: History) -> list[Placed[IsrShrunk]]:
    """Every ISR that a leader shrank because replicas had fallen behind.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _lines(history, ISR_SHRUNK, IsrShrunk)


def truncated_logs(history: History) -> list[Placed[LogTruncated]]:
    """Every log that a follower truncated below its high watermark.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _lines(history, TRUNCATED, LogTruncated)


def cut_logs(history: History) -> list[Placed[LogCut]]:
    """Every log from which a follower removed records; runs of older versions of krucible have none.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _lines(history, LOG_CUT, LogCut)


def _lines(history: History, key: str, kind: type[_L]) -> list[Placed[_L]]:
    return [_placed(history, o, msgspec.convert(o.value, kind)) for o in history.observed(key)]


def _placed(history: History, observation: Operation, logged: _L) -> Placed[_L]:
    logged_ns = logged_at_ns(history, logged.at)
    time_ns = observation.time_ns if logged_ns is None else logged_ns
    return Placed(logged, observation.index, observation.node or "", time_ns)
