"""The shapes that keys and values of operations must have, per function and type, for checkers to read them.

The fields are those of docs/histories.md.  Fields that no checker reads are not asked for, and unknown ones
are passed over, so that a newer journal of the same format version stays readable.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from checkers.history import Operation, OperationType

LARGEST = 2**62
"""Largest time, offset or position that is believed, so that sums of two still fit 64 bits."""

Offset = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Partition = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
SendOutcome = Literal["ok", "fail", "info"]
Isolation = Literal["read_uncommitted", "read_committed"]

Sent = list[tuple[Partition, Any]]
Answered = list[tuple[Partition, Any, Offset | None, SendOutcome]]
Records = list[tuple[Partition, list[Offset], list[Any]]]


class PollAsked(msgspec.Struct, frozen=True):
    """Who polls, and at which isolation."""

    client: str
    isolation: Isolation


class Polled(PollAsked, frozen=True):
    """What a poll returned."""

    records: Records


class FinalReadAsked(PollAsked, frozen=True):
    """Who reads which partition to its end."""

    partition: Partition


class FinalReadPart(FinalReadAsked, frozen=True):
    """What a final read returned before it gave up; without a position it told nothing."""

    start: Offset | None = None
    end: Offset | None = None
    position: Offset | None = None
    records: Records = []


class FinalRead(FinalReadAsked, frozen=True):
    """What a whole final read returned."""

    start: Offset
    end: Offset
    position: Offset
    records: Records


class Topic(msgspec.Struct, frozen=True):
    """A topic that the run created; its config is what overrides the cluster's."""

    name: str
    partitions: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    config: dict[str, Any] = {}


class Workload(msgspec.Struct, frozen=True):
    """How the producers were configured; Kafka's own defaults (KIP-679) where the history is silent.

    Attributes:
        acks: what they wait for.
        idempotent: whether they are idempotent.
        consumers: how many consumers poll beside them; none where the history is silent.
    """

    acks: str | int = "all"
    idempotent: bool = True
    consumers: int = 0


class Setup(msgspec.Struct, frozen=True):
    """What the run was made of, as far as the log checker reads it."""

    kafka_version: str = ""
    topics: tuple[Topic, ...] = ()
    config: dict[str, Any] = {}
    workload: Workload = Workload()


PartitionState = tuple[Partition, int, int, list[int], list[int], list[int] | None]


class PartitionsSeen(msgspec.Struct, frozen=True):
    """Leaders and in-sync replicas as one broker told them."""

    began_ns: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    topics: dict[str, list[PartitionState]]


class Fault(msgspec.Struct, frozen=True):
    """A fault that is about to be injected or healed."""

    kind: str


class Shape(msgspec.Struct, frozen=True):
    """Types of a key and a value, and what types cannot say of the value.

    Attributes:
        key: type of the key.
        value: type of the value.
        rule: takes the value, tells what was expected of it and is not so, or None.
    """

    key: Any
    value: Any
    rule: Callable[[Any], str | None] = lambda _: None


class Misfit(NamedTuple):
    """Which field of an operation does not have its shape, and how."""

    field: str
    problem: str


def misfit_of(operation: Operation) -> Misfit | None:
    """Find the first field of an operation that does not have its shape; None if all have."""
    shape = _SHAPES.get((_name_of(operation), operation.type))
    if shape is None:
        return None
    try:
        msgspec.convert(operation.key, shape.key)
    except msgspec.ValidationError as error:
        return Misfit("key", str(error))
    try:
        value = msgspec.convert(operation.value, shape.value)
    except msgspec.ValidationError as error:
        return Misfit("value", str(error))
    problem = shape.rule(value)
    return None if problem is None else Misfit("value", problem)


def is_observation(operation: Operation) -> bool:
    """Whether an operation stands alone, without an invocation."""
    return operation.f in {"observe", "setup", "phase"}


def is_answered(value: Any) -> bool:
    """Whether a send's completion tells the outcome of each record, not only what had been asked."""
    return bool(value) and len(value[0]) == len(("partition", "value", "offset", "outcome"))


def _name_of(operation: Operation) -> str:
    return f"observe {operation.key}" if operation.f == "observe" else operation.f


def _all_or_nothing(value: FinalReadPart) -> str | None:
    told = [limit is not None for limit in (value.start, value.end, value.position)]
    if all(told) or not (any(told) or value.records):
        return _of_its_partition(value)
    return "Expected start, end and position, or none of them and no records"


def _of_its_partition(value: FinalRead | FinalReadPart) -> str | None:
    if any(partition != value.partition for partition, _, _ in value.records):
        return f"Expected records of partition {value.partition} alone"
    return _paired(value)


def _paired(value: Polled | FinalRead | FinalReadPart) -> str | None:
    if all(len(offsets) == len(values) for _, offsets, values in value.records):
        return None
    return "Expected as many values as offsets"


def _asked_or_answered(value: list[Any] | None) -> str | None:
    if value is None:
        return None
    try:
        msgspec.convert(value, Sent if all(map(_is_pair, value)) else Answered)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) == len(("partition", "value"))


_Type = OperationType
_SHAPES: dict[tuple[str, OperationType], Shape] = {
    ("send", _Type.INVOKE): Shape(str, Sent),
    ("send", _Type.OK): Shape(str, Answered),
    ("send", _Type.FAIL): Shape(str, list[Any] | None, _asked_or_answered),
    ("send", _Type.INFO): Shape(str, list[Any] | None, _asked_or_answered),
    ("assign", _Type.OK): Shape(str, list[tuple[Partition, Offset]]),
    ("poll", _Type.INVOKE): Shape(str, PollAsked),
    ("poll", _Type.OK): Shape(str, Polled, _paired),
    ("final-read", _Type.INVOKE): Shape(str, FinalReadAsked),
    ("final-read", _Type.OK): Shape(str, FinalRead, _of_its_partition),
    ("final-read", _Type.INFO): Shape(str, FinalReadPart, _all_or_nothing),
    ("setup", _Type.OK): Shape(Any, Setup),
    ("phase", _Type.OK): Shape(str, Any),
    ("inject", _Type.INVOKE): Shape(str, Fault),
    ("heal", _Type.INVOKE): Shape(str, Fault),
    ("observe partitions", _Type.OK): Shape(Any, PartitionsSeen),
}
