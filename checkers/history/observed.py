"""The types of what observers report: answers of brokers, and the contents of their disks.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from checkers.history.fields import LARGEST, Offset, Partition
from checkers.history.operations import Decoded, History, Operation

PARTITIONS, OFFSETS, LEADING, STARTS = "partitions", "offsets", "leading", "starts"
ENDS, COMMITS, REASSIGNMENTS, FEATURES = "ends", "commits", "reassignments", "features"
"""Keys of observations that are repeated during a run, in addition to those of the quorum."""
NODE = "node"
"""Key of observations of nodes' containers, made on change."""


class Observation(msgspec.Struct, frozen=True):
    """An observation, and when it began, in nanoseconds of the history's clock."""

    began_ns: int


def began_ns(operation: Operation) -> int:
    """When an observer began an observation, nanoseconds of the history's clock.

    Raises:
        msgspec.ValidationError: it is not as docs/histories.md says.
    """
    return msgspec.convert(operation.value, Observation).began_ns


class PartitionAnswer(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One partition as a broker reports it.

    Attributes:
        partition: its number.
        leader: id of the leader; -1 if there is none.
        leader_epoch: number of the leadership.
        replicas: ids of the replicas, the preferred leader first.
        isr: ids of the in-sync replicas.
        elr: ids of the eligible leader replicas (KIP-966); None if the broker does not report them.
    """

    partition: Partition
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None


class PartitionsSeen(Observation, frozen=True):
    """Leaders and in-sync replicas as one broker reported them."""

    began_ns: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    topics: dict[str, tuple[PartitionAnswer, ...]]


OngoingListed = tuple[str, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Topic and partition, ids of all replicas, ids of added replicas, and ids of removed replicas."""


class ReassignmentsSeen(Observation, frozen=True, kw_only=True):
    """The ongoing reassignments, as reported by a broker, which asks the controller.

    Attributes:
        node: name of the broker.
        ongoing: all ongoing reassignments.
    """

    node: str = ""
    ongoing: list[OngoingListed]


class FeaturesSeen(Observation, frozen=True, kw_only=True):
    """One node's answer to ApiVersions about features (KIP-584).

    Attributes:
        epoch: offset in the metadata log up to which the levels are those of the log; -1 if the node does not
            know the levels.
        levels: finalized levels by name; a feature that is off is not among them.
        supported: lowest and highest level that the node supports, by name.
    """

    epoch: Annotated[int, msgspec.Meta(ge=-1, le=LARGEST)]
    levels: dict[str, int]
    supported: dict[str, tuple[int, int]]


class OffsetsRequested(StrEnum):
    """The kind of offset that ListOffsets requests."""

    LATEST = "latest"
    """The end for read_uncommitted readers: the high watermark."""
    STABLE = "stable"
    """The end for read_committed readers: the last stable offset."""
    EARLIEST = "earliest"
    """The start of the log."""
    NEWEST = "newest"
    """The record with the largest timestamp (KIP-734)."""
    SINCE = "since"
    """The first record with a timestamp that is not lower than the requested one."""


class ListedOffset(NamedTuple):
    """A leader's answer about one partition.

    Attributes:
        partition: its number.
        leader_epoch: epoch in which the broker leads it.
        offset: the requested offset; -1 if there is none.
        timestamp_ms: timestamp of the record at the offset; -1 if the answer is not about a record.
    """

    partition: Partition
    leader_epoch: int
    offset: Annotated[int, msgspec.Meta(ge=-1, le=LARGEST)]
    timestamp_ms: int


class OffsetsSeen(Observation, frozen=True):
    """A broker's answer to one ListOffsets request about partitions that it leads.

    Attributes:
        what: what was requested.
        since_ms: the timestamp that was requested, if one was.
        wall_ms: the host's wall clock at `began_ns`, milliseconds.
        topics: the answers by topic; the partitions that it refused are left out.
    """

    began_ns: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    what: OffsetsRequested
    since_ms: int | None
    wall_ms: Annotated[int, msgspec.Meta(ge=0, le=2**42)]
    topics: dict[str, list[ListedOffset]]


class StartsSeen(Observation, frozen=True):
    """Start offsets of a broker's own logs: rows of partition, Kafka's error code, offset."""

    began_ns: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    topics: dict[str, list[tuple[Partition, int, Annotated[int, msgspec.Meta(ge=-1, le=LARGEST)]]]]


class LeadingSeen(Observation, frozen=True):
    """A broker's answer as a leader: rows of partition, leader and its epoch by its metadata, error."""

    began_ns: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    asked_ns: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    topics: dict[str, list[tuple[Partition, int, int, int]]]


class EndsSeen(Observation, frozen=True):
    """Ends of replicas' logs on the brokers' disks: rows of partition and end, by node and topic."""

    began_ns: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    nodes: dict[str, dict[str, list[tuple[Partition, Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]]]]]


CommitWritten = tuple[Offset, str, str, Partition, Offset]
"""A record: offset in the log, group, topic, partition, committed offset."""
LeaderEpoch = Annotated[int, msgspec.Meta(ge=-1, lt=2**31)]
CommitsStretch = tuple[Partition, LeaderEpoch, Offset, Offset, LeaderEpoch | None, list[CommitWritten] | None]
"""Partition of the offsets topic, leader epoch, start, end, epoch of the record before, and records."""
OffsetDeleted = tuple[Partition, LeaderEpoch, Offset, str, str, Partition]
"""Partition of the offsets topic, leader epoch, offset in the log; group, topic, partition."""
Transacted = tuple[
    Partition, LeaderEpoch, Offset, int, Literal["data", "commit", "abort"], list[CommitWritten] | None
]
"""Partition of the offsets topic, leader epoch, first offset, producer id, kind, and records."""


Held = tuple[str, Partition, int | None]
"""Topic id and partition that a member has, and the epoch in which it was assigned (KIP-1251), if stored."""


class GroupWritten(NamedTuple):
    """A record of a group.

    Attributes:
        partition: partition of the offsets topic.
        leader_epoch: leader epoch in which it was appended.
        offset: offset in the log.
        what: whose epoch it is, that of a classic group being its generation; `subscription` for that of a
            member; `unreadable` if the record could not be decoded, and the rest is empty.
        group: id of the group.
        member: id of the member; empty for a group and for its target assignment.
        epoch: the epoch, 0 for a subscription, which has none; None if the record deletes it.
        held: what the member has, including what it still has to revoke.
    """

    partition: Partition
    leader_epoch: LeaderEpoch
    offset: Offset
    what: Literal["classic", "group", "subscription", "target", "member", "unreadable"]
    group: str
    member: str
    epoch: int | None
    held: list[Held]


class CommitsSeen(Observation, frozen=True):
    """Commits of groups in the brokers' logs: ranges that were read for the first time.

    Older runs did not report deletions and transactions, nor groups' records.
    """

    began_ns: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    stretches: list[CommitsStretch]
    deleted: list[OffsetDeleted] | None = None
    transactional: list[Transacted] | None = None
    groups: list[GroupWritten] | UnsetType = UNSET


class CommitsUnread(Observation, frozen=True):
    """The recorded value for a replica of the offsets topic that could not be read.

    Attributes:
        partition: its number.
        end: the offset after the last whole batch.
        epoch: leader epoch of that batch; -1 if there is none.
        error: why nothing is reported.
    """

    partition: Partition
    end: Literal[0] = 0
    epoch: Literal[-1] = -1
    error: str | None = None


class CommitsLeft(Observation, frozen=True):
    """The offsets with records in one replica of the offsets topic at the end, on one node's disk.

    Attributes:
        began_ns: when reading began.
        partition: its number.
        end: the offset after the last whole batch.
        epoch: leader epoch of that batch; -1 if there is none.
        log_start: first offset that the node still serves.
        active: base offset of the last segment.
        left: ranges of offsets that all have a record, as first offset and offset after the last.
        error: why the records could not be read.
    """

    began_ns: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    partition: Partition
    end: Offset = 0
    epoch: LeaderEpoch = -1
    log_start: Offset = 0
    active: Offset = 0
    left: list[tuple[Offset, Offset]] = []
    error: str | None = None


class TopicConfigsSeen(msgspec.Struct, frozen=True):
    """The topic configs that one broker reported.

    Attributes:
        began_ns: when it was asked.
        topics: by topic, its own configs and their values.
    """

    began_ns: int
    topics: dict[str, dict[str, str]]


class CoordinatorsSeen(msgspec.Struct, frozen=True):
    """The value of an observation ``coordinators``; fields that a broker did not report are None.

    Attributes:
        began_ns: when the broker was asked, nanoseconds of the history's clock.
        groups: ids of the groups that it coordinates.
        transactional_ids: the transactional ids that it coordinates.
    """

    began_ns: int
    groups: tuple[str, ...] | None = None
    transactional_ids: tuple[str, ...] | None = None


PRODUCERS = "producers"
EVIDENCE_PRODUCERS = "producers"


class KnownProducer(NamedTuple):
    """A producer in a broker's answer.

    Attributes:
        id: its producer id.
        epoch: the last epoch that the broker knows.
        sequence: sequence number of the last record in that epoch; -1 if there is none.
    """

    id: Annotated[int, msgspec.Meta(ge=-1, le=LARGEST)]
    epoch: Annotated[int, msgspec.Meta(ge=-1, le=LARGEST)]
    sequence: Annotated[int, msgspec.Meta(ge=-1, le=LARGEST)]


class PartitionProducers(NamedTuple):
    """The producers that a broker knows in its replica of a partition.

    Attributes:
        partition: number of the partition.
        error: Kafka's error code; brokers without a replica return one.
        known: the producers, by id; empty with an error.
    """

    partition: Partition
    error: int
    known: list[KnownProducer]


class ProducersSeen(Observation, frozen=True):
    """A broker's answer to DescribeProducers (KIP-664), by topic."""

    began_ns: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    topics: dict[str, list[PartitionProducers]]


Entries = list[tuple[int, int]]
"""Epochs and their first offsets, ascending."""


class LeaderEpochsSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The leader-epoch checkpoint of one replica.

    Attributes:
        began_ns: when reading began.
        node: name of the replica's node.
        topic: its topic.
        partition: its number.
        directory_id: id of its log directory; None if it can't be read.
        entries: entries of the checkpoint.
    """

    began_ns: int = 0
    node: str = ""
    topic: str
    partition: int
    directory_id: str | None = None
    entries: Entries


class NodeSeen(msgspec.Struct, frozen=True):
    """State of a node's container, as Docker reported it.

    Attributes:
        status: the status, such as ``running``, ``paused`` or ``exited``.
        exit_code: exit code of its last process.
        oom: whether the kernel killed it for lack of memory; None if not recorded.
        started_at: when its process was started, ISO 8601.
    """

    status: str
    exit_code: int | None = None
    oom: bool | None = None
    started_at: str | None = None

    @property
    def running(self) -> bool:
        """Whether its process is running and not paused."""
        return self.status == "running"

    @property
    def exited(self) -> bool:
        """Whether its process has ended."""
        return self.status == "exited"

    @property
    def alive(self) -> bool:
        """Whether it has a process that was started and has not ended.

        A paused process is alive too.
        """
        return self.status not in {"created", "exited"}


def nodes_seen(history: History, node: str) -> list[Decoded[NodeSeen]]:
    """All reported states of a node's container.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return [seen for seen in history.seen(NODE, NodeSeen) if seen.operation.node == node]
