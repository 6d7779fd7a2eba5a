"""The ends of partitions' logs according to the logs of nodes, in the time of the history."""

from typing import TypeVar

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
)
from checkers.history.operations import History, Operation

SLACK_NS = 2_000_000_000
"""Largest difference between a line's time and the history's clock, whose start is known in whole seconds."""


class Loaded(LogLoaded, frozen=True, kw_only=True):
    """A log that a node loaded, and where and when the node logged that.

    Attributes:
        index: the observation's place in the history.
        node: whose log it is in.
        time_ns: when, on the history's clock; uncertain by `SLACK_NS`.
    """

    index: int = 0
    node: str = ""
    time_ns: int = 0

    @property
    def name(self) -> PartitionName:
        """The partition of the log."""
        return PartitionName(self.topic, self.partition)


class Shrunk(IsrShrunk, frozen=True, kw_only=True):
    """An ISR that shrank, and where and when the leader logged that; attributes as in `Loaded`."""

    index: int = 0
    node: str = ""
    time_ns: int = 0

    @property
    def name(self) -> PartitionName:
        """The partition of the ISR."""
        return PartitionName(self.topic, self.partition)


class Truncated(LogTruncated, frozen=True, kw_only=True):
    """A log that was truncated below its high watermark; attributes as in `Loaded`."""

    index: int = 0
    node: str = ""
    time_ns: int = 0

    @property
    def name(self) -> PartitionName:
        """The partition of the log."""
        return PartitionName(self.topic, self.partition)


class Cut(LogCut, frozen=True, kw_only=True):
    """A log from which a follower removed records; attributes as in `Loaded`."""

    index: int = 0
    node: str = ""
    time_ns: int = 0

    @property
    def name(self) -> PartitionName:
        """The partition of the log."""
        return PartitionName(self.topic, self.partition)


_L = TypeVar("_L", Loaded, Shrunk, Truncated, Cut)


def loaded_logs(history: History) -> list[Loaded]:
    """Every log that a node loaded when it started.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _lines(history, LOADED, Loaded)


def shrunk_isrs(history: History) -> list[Shrunk]:
    """Every ISR that a leader shrank because replicas had fallen behind.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _lines(history, ISR_SHRUNK, Shrunk)


def truncated_logs(history: History) -> list[Truncated]:
    """Every log that a follower truncated below its high watermark.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _lines(history, TRUNCATED, Truncated)


def cut_logs(history: History) -> list[Cut]:
    """Every log from which a follower removed records; runs of older versions of krucible have none.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _lines(history, LOG_CUT, Cut)


def _lines(history: History, key: str, kind: type[_L]) -> list[_L]:
    return [_placed(history, o, msgspec.convert(o.value, kind)) for o in history.observed(key)]


def _placed(history: History, observation: Operation, told: _L) -> _L:
    logged_ns = logged_at_ns(history, told.at)
    time_ns = observation.time_ns if logged_ns is None else logged_ns
    return msgspec.structs.replace(
        told, index=observation.index, node=observation.node or "", time_ns=time_ns
    )
