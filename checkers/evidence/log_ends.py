"""The ends of partitions' logs according to the logs of nodes, in the time of the history."""

from typing import TypeVar

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.node_logs import moment, ns_between
from checkers.history.operations import History, Operation

SLACK_NS = 2_000_000_000
"""How far the time of a line may lie beside the history's clock, whose beginning is told in whole seconds."""


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a node's log.

    Attributes:
        line: its number.
        at: wall-clock time.
        topic: of the partition.
        partition: its number.
        index: the observation's place in the history.
        node: whose log it stands in.
        time_ns: when, on the history's clock; uncertain by `SLACK_NS`.
    """

    line: int
    at: str
    topic: str
    partition: int
    index: int = 0
    node: str = ""
    time_ns: int = 0

    @property
    def name(self) -> PartitionName:
        """The partition that the log is of."""
        return PartitionName(self.topic, self.partition)


class Loaded(_Line, frozen=True, kw_only=True):
    """A log that a node found on its disk as it started, after recovery: where it ended."""

    end: int


class Shrunk(_Line, frozen=True, kw_only=True):
    """An ISR that its leader takes replicas from: its mark and end, and id and end of those that lag."""

    isr: tuple[int, ...]
    high_watermark: int
    end: int
    out: tuple[tuple[int, int], ...]


_L = TypeVar("_L", Loaded, Shrunk)


def loaded_logs(history: History) -> list[Loaded]:
    """Every log that a node loaded as it started.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _lines(history, "loaded", Loaded)


def shrunk_isrs(history: History) -> list[Shrunk]:
    """Every ISR that a leader took replicas from that lagged.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _lines(history, "isr-shrunk", Shrunk)


def _lines(history: History, key: str, kind: type[_L]) -> list[_L]:
    return [_placed(history, o, msgspec.convert(o.value, kind)) for o in history.observed(key)]


def _placed(history: History, observation: Operation, told: _L) -> _L:
    began_at, at = moment(history.began_at), moment(told.at)
    time_ns = observation.time_ns if began_at is None or at is None else ns_between(began_at, at)
    return msgspec.structs.replace(
        told, index=observation.index, node=observation.node or "", time_ns=time_ns
    )
