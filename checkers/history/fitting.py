"""Whether keys and values of operations have the shapes that checkers rely on, per function and type."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Literal, NamedTuple

import msgspec

from checkers.history import requested
from checkers.history.bounds import partitions_problem
from checkers.history.commits import Committing, GroupAsked, GroupFound
from checkers.history.faults import GambitEnded, PlannedFault
from checkers.history.fields import Offset, Partition
from checkers.history.observed import (
    CommitsLeft,
    CommitsSeen,
    CoordinatorsSeen,
    EndsSeen,
    LeaderEpochsSeen,
    LeadingSeen,
    NodeSeen,
    OffsetsSeen,
    PartitionsSeen,
    StartsSeen,
    TopicConfigsSeen,
)
from checkers.history.operations import Operation, OperationType
from checkers.history.polls import FinalRead, FinalReadAsked, FinalReadPart, GroupPollAsked, Polled
from checkers.history.replicas import FoldersSeen, MetadataLogSeen, ReplicaSeen, columns_problem
from checkers.history.runner import END, OPENED, START, JournalEnded, JournalOpened, StartSeen
from checkers.history.sends import Answered, AnsweredRun, Sent, SentRun, UnansweredRun
from checkers.history.setup import Setup
from checkers.history.transactions import Txn, TxnPoll, TxnSend


class Shape(msgspec.Struct, frozen=True, dict=True):
    """Types of a key and a value, and what types cannot say of the value.

    Attributes:
        key: type of the key.
        value: type of the value.
        rule: takes the value, tells what was expected of it and is not so, or None; None where types say all.
    """

    key: object
    value: object
    rule: Callable[[Any], str | None] | None = None

    @cached_property
    def fields(self) -> Any:
        """Type of both: what a struct asks for msgspec learns once, what a union asks for each time."""
        return msgspec.defstruct("Fields", [("key", self.key), ("value", self.value)])

    def has_all(self, operations: list[Operation]) -> bool:
        """Whether some operations all have this shape."""
        try:
            fields = msgspec.convert(operations, list[self.fields], from_attributes=True)  # type: ignore[name-defined]
        except msgspec.ValidationError:
            return False
        return self.rule is None or not any(self.rule(each.value) for each in fields)


class Misfit(NamedTuple):
    """Which field of an operation does not have its shape, and how."""

    field: str
    problem: str


def misfit_of(operation: Operation) -> Misfit | None:
    """Find the first field of an operation that does not have its shape; None if all have."""
    shape = _SHAPES.get(_name_of(operation))
    if shape is None:
        return None
    try:
        fields = msgspec.convert(operation, shape.fields, from_attributes=True)
    except msgspec.ValidationError:
        key, value = _problem_of(operation.key, shape.key), _problem_of(operation.value, shape.value)
        return Misfit("value", str(value)) if key is None else Misfit("key", key)
    problem = None if shape.rule is None else shape.rule(fields.value)
    return None if problem is None else Misfit("value", problem)


def all_fit(operations: Iterable[Operation]) -> bool:
    """Whether `misfit_of` finds nothing in any of some operations; asked of many at once it costs half."""
    alike: dict[tuple[str, OperationType], list[Operation]] = {}
    for operation in operations:
        alike.setdefault(_name_of(operation), []).append(operation)
    return all(_SHAPES[name].has_all(some) for name, some in alike.items() if name in _SHAPES)


def _name_of(operation: Operation) -> tuple[str, OperationType]:
    """By which name the shape of an operation is known."""
    name = f"observe {operation.key}" if operation.f == "observe" else operation.f
    return name, operation.type


def _problem_of(value: object, kind: object) -> str | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def _all_or_nothing(value: FinalReadPart) -> str | None:
    told = [limit is not None for limit in (value.start, value.end, value.position)]
    if all(told) or not (any(told) or value.records):
        return _of_its_partition(value)
    return "Expected start, end and position, or none of them and no records"


def _of_its_partition(value: FinalRead | FinalReadPart) -> str | None:
    if any(partition != value.partition for partition, _, _ in value.records):
        return f"Expected records of partition {value.partition} alone"
    return _paired(value)


def _paired(value: Polled | FinalRead | FinalReadPart | TxnPoll) -> str | None:
    if all(len(offsets) == len(values) for _, offsets, values in value.records):
        return None
    return "Expected as many values as offsets"


def _asked_or_answered(value: list[Any] | UnansweredRun | None) -> str | None:
    if value is None or isinstance(value, UnansweredRun):
        return None
    pairs = all(isinstance(entry, list) and len(entry) == len(("partition", "value")) for entry in value)
    return _problem_of(value, Sent if pairs else Answered)


def _filled(value: list[Any] | AnsweredRun) -> str | None:
    if isinstance(value, list) or sum(count for _, count in value.offsets) == value.count:
        return None
    return f"Expected stretches of {value.count} records together"


def _transaction_paired(value: Txn) -> str | None:
    if any(len(offsets) != len(values) for _, _, offsets, values in value.consumed):
        return "Expected as many values as offsets"
    answers = sum(isinstance(mop, TxnSend) for mop in value.mops)
    if value.consumed and answers != sum(len(offsets) for _, _, offsets, _ in value.consumed):
        return "Expected one send for each record consumed"
    polls = (mop for mop in value.mops if isinstance(mop, TxnPoll))
    return next(filter(None, map(_paired, polls)), None)


def _few_partitions(value: Setup) -> str | None:
    return partitions_problem(value.topics)


def _perhaps_paired(value: Txn | None) -> str | None:
    return None if value is None else _transaction_paired(value)


_Type = OperationType
_SHAPES: dict[tuple[str, OperationType], Shape] = {
    ("send", _Type.INVOKE): Shape(str, Sent | SentRun),
    ("send", _Type.OK): Shape(str, Answered | AnsweredRun, _filled),
    ("send", _Type.FAIL): Shape(str, list[Any] | UnansweredRun | None, _asked_or_answered),
    ("send", _Type.INFO): Shape(str, list[Any] | UnansweredRun | None, _asked_or_answered),
    ("txn", _Type.INVOKE): Shape(Any, Txn, _transaction_paired),
    ("txn", _Type.OK): Shape(Any, Txn, _transaction_paired),
    ("txn", _Type.FAIL): Shape(Any, Txn | None, _perhaps_paired),
    ("txn", _Type.INFO): Shape(Any, Txn | None, _perhaps_paired),
    ("assign", _Type.OK): Shape(str, list[tuple[Partition, Offset]]),
    ("poll", _Type.INVOKE): Shape(str, GroupPollAsked),
    ("poll", _Type.OK): Shape(str, Polled, _paired),
    ("final-read", _Type.INVOKE): Shape(str, FinalReadAsked),
    ("final-read", _Type.OK): Shape(str, FinalRead, _of_its_partition),
    ("final-read", _Type.INFO): Shape(str, FinalReadPart, _all_or_nothing),
    ("commit", _Type.INVOKE): Shape(str, Committing),
    ("delete-group", _Type.INVOKE): Shape(str, None),
    ("committed-offsets", _Type.INVOKE): Shape(str, GroupAsked),
    ("committed-offsets", _Type.OK): Shape(str, GroupFound),
    ("delete-records", _Type.INVOKE): Shape(str, list[tuple[Partition, Offset]]),
    ("elect-leaders", _Type.INVOKE): Shape(Literal["preferred", "unclean"], requested.ElectionAsked),
    ("elect-leaders", _Type.OK): Shape(Literal["preferred", "unclean"], requested.PartitionsAnswered),
    ("alter-reassignments", _Type.INVOKE): Shape(None, requested.ReassignmentAsked),
    ("alter-reassignments", _Type.OK): Shape(None, requested.PartitionsAnswered),
    ("alter-topic", _Type.INVOKE): Shape(str, requested.TopicAltered),
    ("create-partitions", _Type.INVOKE): Shape(str, requested.PartitionsAdded),
    ("late-heartbeat", _Type.INVOKE): Shape(int, requested.HeartbeatSent),
    ("configure", _Type.INVOKE): Shape(str, requested.NodeConfigured),
    ("write", _Type.INVOKE): Shape(str, Any),
    ("read", _Type.INVOKE): Shape(str, None),
    ("setup", _Type.OK): Shape(Any, Setup, _few_partitions),
    (START, _Type.OK): Shape(str, StartSeen),
    ("phase", _Type.OK): Shape(str, Any),
    (OPENED, _Type.OK): Shape(str, JournalOpened),
    (END, _Type.OK): Shape(Any, JournalEnded),
    ("inject", _Type.INVOKE): Shape(str, PlannedFault),
    ("heal", _Type.INVOKE): Shape(str, PlannedFault),
    ("gambit", _Type.OK): Shape(str, GambitEnded),
    ("gambit", _Type.INFO): Shape(str, GambitEnded),
    ("gambit", _Type.FAIL): Shape(str, GambitEnded),
    ("observe node", _Type.OK): Shape(str, NodeSeen),
    ("observe partitions", _Type.OK): Shape(str, PartitionsSeen),
    ("observe offsets", _Type.OK): Shape(str, OffsetsSeen),
    ("observe leading", _Type.OK): Shape(str, LeadingSeen),
    ("observe starts", _Type.OK): Shape(str, StartsSeen),
    ("observe ends", _Type.OK): Shape(str, EndsSeen),
    ("observe commits", _Type.OK): Shape(str, CommitsSeen),
    ("observe commits-left", _Type.OK): Shape(str, CommitsLeft),
    ("observe topic-configs", _Type.OK): Shape(str, TopicConfigsSeen),
    ("observe coordinators", _Type.OK): Shape(str, CoordinatorsSeen),
    ("observe leader-epochs", _Type.OK): Shape(str, LeaderEpochsSeen),
    ("observe folders", _Type.OK): Shape(str, FoldersSeen),
    ("observe replica", _Type.OK): Shape(str, ReplicaSeen, columns_problem),
    ("observe metadata-log", _Type.OK): Shape(str, MetadataLogSeen, columns_problem),
}
