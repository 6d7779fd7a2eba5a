"""The schema of histories: the types of keys and values, by function and type of the operation.

An observation is identified by its key, as in ``observe quorum``.  If an operation failed, or its outcome is
unknown, its value is usually that of its invocation, or none.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from operator import or_
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from checkers.history import replicas, requested
from checkers.history.bounds import partitions_problem
from checkers.history.changing_topics import (
    RecordAppended,
    RecordRequested,
    RecordsFetched,
    TopicById,
    TopicConfigured,
    TopicCreated,
    TopicRequested,
)
from checkers.history.commits import Committing, GroupFound, GroupRequested
from checkers.history.consistency import (
    all_or_nothing,
    filled,
    of_its_partition,
    paired,
    perhaps_paired,
    requested_or_answered,
    transaction_paired,
)
from checkers.history.courses import (
    AWAIT,
    CHOOSE,
    MOVES,
    PERFORM,
    ChoiceMade,
    ChoiceRequested,
    ConditionAwaited,
    ConditionSeen,
    OperationPerformed,
    OperationRequested,
    ScriptEnded,
    ScriptPlanned,
)
from checkers.history.faults import FaultRecorded, GambitBegan, GambitEnded, PlannedFault
from checkers.history.fields import Offset, Partition, RecordValue
from checkers.history.group_offsets import (
    Joining,
    OffsetCommitted,
    OffsetsDeleted,
    OffsetsFetched,
    OffsetsWanted,
)
from checkers.history.logged import (
    CLEANED,
    ELECTED,
    EPOCH_BEGUN,
    INSTANCE_REFUSED,
    ISR_SHRUNK,
    LOADED,
    LOG_CUT,
    LOG_LACKING,
    METADATA_TRUNCATED,
    NODE_LOG,
    QUORUM_VIEW,
    TRUNCATED,
    VOTE,
    ElectedLogged,
    EpochBegun,
    FindingLogged,
    InstanceRefused,
    IsrShrunk,
    LogCut,
    LogLacking,
    LogLoaded,
    LogsCleaned,
    LogTruncated,
    MetadataTruncated,
    QuorumViewLogged,
    vote_logged,
)
from checkers.history.observed import (
    COMMITS,
    ENDS,
    FEATURES,
    LEADING,
    NODE,
    OFFSETS,
    PARTITIONS,
    PRODUCERS,
    REASSIGNMENTS,
    STARTS,
    CommitsLeft,
    CommitsSeen,
    CoordinatorsSeen,
    EndsSeen,
    FeaturesSeen,
    LeaderEpochsSeen,
    LeadingSeen,
    NodeSeen,
    OffsetsSeen,
    PartitionsSeen,
    ProducersSeen,
    ReassignmentsSeen,
    StartsSeen,
    TopicConfigsSeen,
)
from checkers.history.operations import FAIL, INFO, INVOKE, OK, Operation, OperationType
from checkers.history.phases import PHASE
from checkers.history.polls import FinalRead, FinalReadPart, FinalReadRequested, GroupPollRequested, Polled
from checkers.history.quorum import QUORUM, QUORUM_STATE, QuorumStateSeen, quorum_seen
from checkers.history.recoveries import RecoveryAwaited, RecoveryRecorded
from checkers.history.runner import (
    END,
    FAILURE,
    OPENED,
    START,
    HarnessFailed,
    JournalEnded,
    JournalOpened,
    StartSeen,
)
from checkers.history.sends import Answered, AnsweredRun, Sent, SentRun, UnansweredRun
from checkers.history.setup import SETUP, Setup
from checkers.history.share_states import SHARE_STATES, ShareStatesSeen, share_states_problem
from checkers.history.shares import (
    Acknowledged,
    Acknowledging,
    DeadLetters,
    DeadLettersRequested,
    SharePolled,
    SharePollRequested,
    StartAltered,
    StartsDeleted,
    acknowledged_problem,
    polled_problem,
)
from checkers.history.streams import (
    OutputRead,
    OutputRequested,
    PartitionEnd,
    StreamsEnding,
    StreamsMember,
    StreamsReported,
)
from checkers.history.transaction_states import TRANSACTION_STATES, StatesSeen, states_problem
from checkers.history.transactions import (
    PRODUCER_CLOSED,
    CoordinatorRequested,
    LeaderRequested,
    MarkerAnswered,
    ProducerClosed,
    ProducerDescribed,
    ProducerInitialised,
    ProducerRequested,
    ScriptPlayed,
    TransactionDescribed,
    Txn,
)

_Rule = Callable[[Any], str | None]
"""Function from a value to the expectation that it violates, or None."""
_UNCHECKED: object = Any
"""Any JSON value."""


class Shape(msgspec.Struct, frozen=True, dict=True):
    """Types of a key and a value, and a rule for conditions that types can't express.

    Attributes:
        key: type of the key.
        value: type of the value.
        rule: a further condition; None if types are enough.
    """

    key: object
    value: object
    rule: _Rule | None = None

    @cached_property
    def fields(self) -> Any:
        """Combined type of key and value: msgspec compiles a struct once, but a union at each use."""
        return msgspec.defstruct("Fields", [("key", self.key), ("value", self.value)])

    def has_all(self, operations: list[Operation]) -> bool:
        """Whether all of some operations have this shape."""
        try:
            fields = msgspec.convert(operations, list[self.fields], from_attributes=True)  # type: ignore[name-defined]  # a type made at run time
        except msgspec.ValidationError:
            return False
        return self.rule is None or not any(self.rule(each.value) for each in fields)


def _few_partitions(value: Setup) -> str | None:
    return partitions_problem(value.topics)


def _of_quorum(value: object) -> str | None:
    return _refusal_of(quorum_seen, value)


def _of_vote(value: object) -> str | None:
    return _refusal_of(vote_logged, value)


def _refusal_of(read: Callable[[object], object], value: object) -> str | None:
    try:
        read(value)
    except msgspec.ValidationError as error:
        return str(error)
    return None


Shapes = dict[tuple[str, OperationType], Shape]


def _request(
    f: str,
    key: object,
    asked: object,
    answered: object,
    otherwise: object = UNSET,
    *,
    rule: _Rule | None = None,
) -> Shapes:
    """Shapes of an operation with an invocation and a completion.

    Args:
        f: its function.
        key: type of its key.
        asked: type of the invocation's value.
        answered: type of the value if it happened.
        otherwise: type of the value if it failed or is unknown; by default the invocation's type, or none.
        rule: rule for the value if it happened, as in `Shape`.
    """
    perhaps = None if asked is None else or_(asked, None)
    shape = Shape(key, perhaps if otherwise is UNSET else otherwise)
    return {
        (f, INVOKE): Shape(key, asked),
        (f, OK): Shape(key, answered, rule),
        (f, FAIL): shape,
        (f, INFO): shape,
    }


def _administered(f: str, key: object, asked: type[requested.AdminRequested]) -> Shapes:
    return _request(f, key, asked, requested.ENDED[asked])


def _observed(key: str, value: object, rule: _Rule | None = None) -> Shapes:
    return {(f"observe {key}", OK): Shape(str, value, rule)}


_Offsets = list[tuple[Partition, Offset]]
_AskedOrAnswered = list[RecordValue] | UnansweredRun | None
_CLIENTS: Shapes = {
    **_request("send", str, Sent | SentRun, Answered | AnsweredRun, rule=filled),
    ("send", FAIL): Shape(str, _AskedOrAnswered, requested_or_answered),
    ("send", INFO): Shape(str, _AskedOrAnswered, requested_or_answered),
    **_request("assign", str, _Offsets, _Offsets),
    **_request("poll", str, GroupPollRequested, Polled, rule=paired),
    ("txn", INVOKE): Shape(_UNCHECKED, Txn, transaction_paired),
    ("txn", OK): Shape(_UNCHECKED, Txn, transaction_paired),
    ("txn", FAIL): Shape(_UNCHECKED, Txn | None, perhaps_paired),
    ("txn", INFO): Shape(_UNCHECKED, Txn | None, perhaps_paired),
    **_request("final-read", str, FinalReadRequested, FinalRead, rule=of_its_partition),
    ("final-read", FAIL): Shape(str, FinalReadPart, all_or_nothing),
    ("final-read", INFO): Shape(str, FinalReadPart, all_or_nothing),
    **_request("commit", str, Committing, Committing | None),
    **_request("delete-group", str, None, None),
    **_request("committed-offsets", str, GroupRequested, GroupFound),
    **_request("share-poll", str, SharePollRequested, SharePolled, rule=polled_problem),
    **_request("acknowledge", str, Acknowledging, Acknowledged, rule=acknowledged_problem),
    ("acknowledge", INVOKE): Shape(str, Acknowledging, acknowledged_problem),
    **_request("share-offsets", str, GroupRequested, GroupFound),
    **_request("dead-letters", str, DeadLettersRequested, DeadLetters),
    **_request("streams-status", str, StreamsMember, StreamsReported),
    **_request("end-member", str, StreamsEnding, StreamsEnding),
    **_request("read-output", str, OutputRequested, OutputRead),
    **_request("list-end", str, OutputRequested, PartitionEnd),
    **_request("alter-share-offsets", str, StartAltered, StartAltered),
    **_request("delete-share-offsets", str, StartsDeleted, StartsDeleted),
    **_request("delete-records", str, _Offsets, _Offsets | None),
    **_request("write", str, _UNCHECKED, _UNCHECKED),
    **_request("read", str, None, _UNCHECKED),
    **_request("cas", _UNCHECKED, tuple[RecordValue, RecordValue], _UNCHECKED, _UNCHECKED),
    **_request("acquire", _UNCHECKED, _UNCHECKED, _UNCHECKED),
    **_request("release", _UNCHECKED, _UNCHECKED, _UNCHECKED),
    **_request("commit-offset", str, OffsetCommitted, OffsetCommitted),
    **_request("delete-offsets", str, OffsetsDeleted, OffsetsDeleted),
    **_request("fetch-offsets", str, OffsetsWanted, OffsetsFetched),
    **_request("join-group", str, Joining, Joining),
    **_request("leave-group", str, Joining, Joining),
    **_request("create-topic", str, TopicRequested, TopicCreated),
    **_request("configure-topic", str, TopicConfigured, TopicConfigured),
    **_request("delete-topic", str, None, None),
    **_request("list-topics", str, None, list[tuple[str, str | None]]),
    **_request("append-record", str, RecordRequested, RecordAppended),
    **_request("fetch-records", str, TopicById, RecordsFetched),
    **_request("init-transactions", str, ProducerRequested, ProducerInitialised),
    (PRODUCER_CLOSED, OK): Shape(str, ProducerClosed),
    **_request("describe-transaction", str, CoordinatorRequested, TransactionDescribed),
    **_request("describe-producer", str, LeaderRequested, ProducerDescribed),
    **_request("abort-transaction", str, LeaderRequested, MarkerAnswered),
    **_request("control", str, ScriptPlayed, ScriptPlayed),
}
"""Operations of clients, and of scripts of single requests."""
_NEMESIS: Shapes = {
    **_request("inject", str, PlannedFault, FaultRecorded, FaultRecorded | None),
    **_request("heal", str, PlannedFault, FaultRecorded, FaultRecorded | None),
    **_request("gambit", str, GambitBegan, GambitEnded, GambitEnded),
    **_request(CHOOSE, str, ChoiceRequested, ChoiceMade),
    **_request(AWAIT, str, ConditionAwaited, ConditionSeen),
    **_request(PERFORM, str, OperationRequested, OperationPerformed),
    **_request(MOVES, None, ScriptPlanned, ScriptEnded),
    **_request("configure", str, requested.NodeConfigured, requested.NodeConfigured | None),
}
"""Operations of faults, gambits, and moves of scripts."""
_ADMIN: Shapes = {
    **_administered("elect-leaders", Literal["preferred", "unclean"], requested.ElectionRequested),
    **_administered("alter-reassignments", None, requested.ReassignmentRequested),
    **_administered("add-voter", int, requested.VoterOffered),
    **_administered("remove-voter", int, requested.VoterRequested),
    **_administered("update-feature", str, requested.FeatureRequested),
    **_administered("alter-topic", str, requested.TopicAltered),
    **_administered("alter-brokers", str, requested.BrokersAltered),
    **_administered("alter-broker", int, requested.BrokerAltered),
    **_administered("alter-group", str, requested.GroupAltered),
    **_administered("unregister-broker", int, requested.BrokerUnregistered),
    **_administered("unregister-controller", int, requested.ControllerUnregistered),
    **_administered("late-heartbeat", int, requested.HeartbeatSent),
    # A client of the workload also creates partitions, and records no code.
    **_request("create-partitions", str, requested.PartitionsAdded, requested.PartitionsAdded),
}
"""Operations of administrators: their requests to the cluster."""
_RUNNER: Shapes = {
    (SETUP, OK): Shape(_UNCHECKED, Setup, _few_partitions),
    (START, OK): Shape(str, StartSeen),
    (PHASE, OK): Shape(str, _UNCHECKED),
    (OPENED, OK): Shape(str, JournalOpened),
    (END, OK): Shape(_UNCHECKED, JournalEnded),
    (FAILURE, OK): Shape(str, HarnessFailed),
    **_request(
        "recover", str | None, RecoveryAwaited | None, RecoveryRecorded | None, RecoveryRecorded | None
    ),
}
"""Functions of the runner."""
_OBSERVED: Shapes = {
    **_observed(QUORUM, _UNCHECKED, _of_quorum),
    **_observed(QUORUM_STATE, QuorumStateSeen),
    **_observed(PARTITIONS, PartitionsSeen),
    **_observed(REASSIGNMENTS, ReassignmentsSeen),
    **_observed(FEATURES, FeaturesSeen),
    **_observed(OFFSETS, OffsetsSeen),
    **_observed(LEADING, LeadingSeen),
    **_observed(STARTS, StartsSeen),
    **_observed(ENDS, EndsSeen),
    **_observed(COMMITS, CommitsSeen),
    **_observed("commits-left", CommitsLeft),
    **_observed(TRANSACTION_STATES, StatesSeen, states_problem),
    **_observed(SHARE_STATES, ShareStatesSeen, share_states_problem),
    **_observed(NODE, NodeSeen),
    **_observed("topic-configs", TopicConfigsSeen),
    **_observed("coordinators", CoordinatorsSeen),
    **_observed("leader-epochs", LeaderEpochsSeen),
    **_observed(PRODUCERS, ProducersSeen),
    **_observed(replicas.FOLDERS, replicas.FoldersSeen),
    **_observed(replicas.ABORTED, replicas.AbortedSeen),
    **_observed(replicas.REPLICA, replicas.ReplicaSeen, replicas.columns_problem),
    **_observed(replicas.METADATA_LOG, replicas.MetadataLogSeen, replicas.columns_problem),
    **_observed(NODE_LOG, FindingLogged),
    **_observed(LOG_LACKING, LogLacking),
    **_observed(VOTE, _UNCHECKED, _of_vote),
    **_observed(ELECTED, ElectedLogged),
    **_observed(QUORUM_VIEW, QuorumViewLogged),
    **_observed(METADATA_TRUNCATED, MetadataTruncated),
    **_observed(LOADED, LogLoaded),
    **_observed(ISR_SHRUNK, IsrShrunk),
    **_observed(TRUNCATED, LogTruncated),
    **_observed(LOG_CUT, LogCut),
    **_observed(CLEANED, LogsCleaned),
    **_observed(EPOCH_BEGUN, EpochBegun),
    **_observed(INSTANCE_REFUSED, InstanceRefused),
}
"""Observations during the run, and data gathered at the end."""
SHAPES: Mapping[tuple[str, OperationType], Shape] = _CLIENTS | _NEMESIS | _ADMIN | _RUNNER | _OBSERVED
"""The shape of every operation, by its type and function (for an observation, ``observe`` and its key)."""
