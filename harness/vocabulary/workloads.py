"""Workloads: the kind of load, its amount, and the topics that it needs."""

from collections.abc import Iterable
from itertools import chain

import msgspec

from harness.vocabulary.ranges import Count, Duration, Milliseconds, Positive, Share


class WorkloadTopic(msgspec.Struct, frozen=True):
    """A topic that a run creates for its workload.

    Attributes:
        name: its name.
        config: topic configs in addition to ``min.insync.replicas``.
        loaded: whether the load itself writes records to every partition of it.
        read: whether the final readers read it.  The harness writes no record to other topics, because no
            reader would show what became of it: only brokers write there.
    """

    name: str
    config: dict[str, str] = {}
    loaded: bool = True
    read: bool = True


OLDEST_VERSION = "3.5.0"
"""The oldest Kafka that any scenario runs on."""
JAVA_CLIENT = "kafka-clients"
"""Name of the client library that needs Java on the host."""
OTHER_JAVA_CLIENT = "kafka-clients-other"
"""Name of the same library in the version that a workload names."""


def has_java(libraries: Iterable[str]) -> bool:
    """Whether kafka-clients is among client libraries, in any version."""
    return any(name in {JAVA_CLIENT, OTHER_JAVA_CLIENT} for name in libraries)


class Workload(msgspec.Struct, frozen=True, tag_field="kind", tag="none"):
    """Common fields of all workloads; the tag of a subclass is its name in histories.

    Attributes:
        partitions: number of partitions of each topic.
        replication_factor: number of replicas of each partition, at most the number of brokers.
        assignments: for scripts, ids of the brokers of each partition, from partition 0, the preferred leader
            first; they replace the two fields above.
        min_insync_replicas: Kafka's ``min.insync.replicas`` of the topics.
        rate: operations per second, of all processes together.
        final_clients: client libraries that read all records at the end, at both isolation levels.
        java_version: version of the library ``kafka-clients-other``; None: no client uses it.  The library
            ``kafka-clients`` has the run's version.
    """

    partitions: Positive = 6
    replication_factor: Positive = 3
    assignments: tuple[tuple[int, ...], ...] = ()
    min_insync_replicas: Positive = 2
    rate: Positive = 200
    final_clients: tuple[str, ...] = ("kafka-python", "confluent-kafka")
    java_version: str | None = None

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """The topics that it needs; faults of a partition's leader use the first one."""
        raise NotImplementedError

    @property
    def unread(self) -> frozenset[str]:
        """Names of the topics that only brokers write to, and that the final readers leave out."""
        return frozenset(topic.name for topic in self.topics if not topic.read)

    @property
    def processes(self) -> int:
        """The number of concurrent processes of the load, which are numbered from 0."""
        raise NotImplementedError

    @property
    def transactions_end_ms(self) -> int:
        """Time after which the coordinator has aborted all open transactions; 0 without transactions."""
        return 0

    @property
    def needs_java(self) -> bool:
        """Whether the load, or its final read, has clients of kafka-clients."""
        return has_java(self.final_clients)

    @property
    def versions_min(self) -> str:
        """The oldest Kafka version that any node may have at any time, also before and during an upgrade."""
        return OLDEST_VERSION

    @property
    def controls(self) -> tuple[str, ...]:
        """Names of the ``control`` operations that each of its runs must have."""
        return ()

    def key_of(self, value: int) -> int | None:
        """The key of the record with this value; None if records have no keys."""
        del value
        return None

    def is_tombstone(self, value: int) -> bool:
        """Whether the record with this value marks its key as deleted; False if records have no keys."""
        del value
        return False

    def is_resting(self, value: int) -> bool:
        """Whether producers skip this value because its key is not written at that time."""
        del value
        return False


class LogWorkload(Workload, frozen=True, tag="log"):
    """Producers and consumers of unique values over many partitions; `rate` counts send operations.

    Attributes:
        producers: concurrent producer processes.
        consumers: concurrent consumer processes.
        libraries: client libraries of these processes, in turn; ``kafka-clients`` needs Java on the host.
        acks: ``all``, ``1`` or ``0``.
        idempotent: whether producers are idempotent (only with acks=all).
        batch: records per send operation.
        pipelined: whether the records of a send go to one partition, each in a separate batch, with up to
            five batches in flight; then all producers use confluent-kafka.
        subscribed: how many of the consumers, the last ones, subscribe, each in a separate group.
        deletions_interval_ms: mean time between deletions of the oldest records of a partition; 0: never.
        config: configs of its topic.
    """

    producers: Count = 4
    consumers: Count = 2
    subscribed: Count = 0
    acks: str = "all"
    idempotent: bool = True
    batch: Positive = 4
    pipelined: bool = False
    deletions_interval_ms: Milliseconds = 0
    config: dict[str, str] = {}
    libraries: tuple[str, ...] = ("kafka-python", "confluent-kafka")

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """The one topic that it needs."""
        return (WorkloadTopic("log-0", self.config),)

    @property
    def needs_java(self) -> bool:
        """Whether the load, or its final read, has clients of kafka-clients."""
        return has_java((*self.libraries, *self.final_clients))

    @property
    def processes(self) -> int:
        """Producers, then consumers, then the process that deletes records."""
        return self.producers + self.consumers + (self.deletions_interval_ms > 0)


class BulkWorkload(Workload, frozen=True, tag="bulk"):
    """Producers at full speed, each a separate OS process; `rate` counts records per second.

    Attributes:
        writers: OS processes that produce, all of them with confluent-kafka.
        batch: records per send operation, consecutive values to one partition.
    """

    rate: Positive = 60_000
    writers: Positive = 2
    batch: Positive = 500
    final_clients: tuple[str, ...] = ("confluent-kafka",)
    """kafka-python would take minutes."""

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """The one topic that it needs."""
        return (WorkloadTopic("bulk-0"),)

    @property
    def processes(self) -> int:
        """One process for each partition, so that each partition can have an outstanding batch."""
        return self.partitions


class OffsetsWorkload(Workload, frozen=True, tag="offsets"):
    """Committed offsets as registers, one for each group and partition; `rate` counts commits and fetches.

    Attributes:
        groups: number of groups, spread over the partitions of ``__consumer_offsets``.
        clients: concurrent processes that commit and fetch.
        libraries: client libraries of these processes, in turn; ``kafka-clients`` needs Java on the host.
        erasing_interval_ms: mean time between commits and deletions of offsets of other groups.
        emptied_interval_ms: mean time between further groups that a member of KIP-848's protocol leaves and
            a member of the classic one joins then; 0: never.  Brokers need Kafka 4.0.
        patience_ms: how long a client of kafka-python waits for an answer; the others wait for 2.5 s.
    """

    partitions: Positive = 3
    rate: Positive = 90
    groups: Count = 4
    clients: Count = 12
    erasing_interval_ms: Duration = 120
    emptied_interval_ms: Milliseconds = 0
    patience_ms: Duration = 2_500
    libraries: tuple[str, ...] = ("kafka-python", "confluent-kafka")

    @property
    def needs_java(self) -> bool:
        """Whether the load, or its final read, has clients of kafka-clients."""
        return has_java((*self.libraries, *self.final_clients))

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """The topic whose offsets are committed; its records are not used."""
        return (WorkloadTopic("offsets-0", loaded=False),)

    @property
    def versions_min(self) -> str:
        """The first version with KIP-848's protocol, if members use it."""
        return "4.0.0" if self.emptied_interval_ms else super().versions_min

    @property
    def processes(self) -> int:
        """The clients, one process that deletes offsets, and one that joins and leaves groups."""
        return self.clients + 1 + (self.emptied_interval_ms > 0)


class MetadataWorkload(Workload, frozen=True, tag="metadata"):
    """Topic configs as registers, and topics that are created and deleted; `rate` counts register operations.

    Attributes:
        clients: concurrent processes that alter and describe configs; every second one uses confluent-kafka.
        creators: concurrent processes that create and delete topics; every second one uses confluent-kafka.
        viewers: concurrent processes that send requests to one broker after the other.
        topic_rate: topics created or deleted per second, by all creators together.
        topics_kept: how many topics each creator keeps before it deletes the oldest.
        recreated_share: share of the deleted topics that are created again with the same name, 0 to 1.
        configured_share: share of the created topics that get a config of their own, 0 to 1.
    """

    partitions: Positive = 2
    rate: Positive = 50
    clients: Count = 12
    creators: Count = 3
    viewers: Count = 2
    topic_rate: Positive = 4
    topics_kept: Count = 3
    recreated_share: Share = 0.5
    configured_share: Share = 0.0

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """The topics whose configs are altered; their records are not used."""
        return (WorkloadTopic("config-0", loaded=False), WorkloadTopic("config-1", loaded=False))

    @property
    def processes(self) -> int:
        """Clients, creators, then viewers."""
        return self.clients + self.creators + self.viewers


class GroupsWorkload(LogWorkload, frozen=True, tag="groups"):
    """The log workload, and groups that read the same topic and commit offsets, each with one client library.

    Members leave and come back, or stall for longer than their group waits, and then try to commit.

    Attributes:
        groups: ids of the groups, each ``group-`` followed by the name of its members' library unless this
            is in `member_libraries`.
        member_libraries: client libraries of the members of single groups, in turn; the last member, which
            drains the group, uses the first one.  The members of other groups use one library: kafka-python
            in the first of the groups, confluent-kafka in the second, and so on.
        modern: groups that use KIP-848's protocol; no member may use kafka-python, and `session_ms` is
            configured on the brokers.
        mixed: groups whose members use either protocol, which each member draws whenever it joins; no member
            may use kafka-python, and brokers must be configured as for `modern`.
        static: groups whose members are static (KIP-345): a member that comes back has its old instance id.
            The last member, which drains the group, has the first one's.
        instances: how many members of each modern group, the first ones, are static as well.  These also
            leave for a few seconds from time to time.
        assignors: server-side assignors, one of which a member of KIP-848's protocol draws whenever it joins.
        offered: eager client-side assignors that each classic member of a mixed group offers, in an order
            that it draws whenever it joins; a classic group uses one that all members offer.
        patterns: how many members of each of these groups, the last ones, subscribe by a regular expression
            whenever they use that protocol; the coordinator evaluates it.
        members: number of members of each group.
        session_ms: time without a heartbeat after which a group removes a member.
        poll_interval_ms: time without a poll after which a group removes a member.
        churn_interval_ms: mean time between members that leave or stall, of all members together.
    """

    rate: Positive = 16
    producers: Count = 3
    consumers: Count = 3
    batch: Positive = 8
    subscribed: Count = 1
    groups: tuple[str, ...] = ("group-kafka-python", "group-confluent-kafka")
    member_libraries: dict[str, tuple[str, ...]] = {}
    modern: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    instances: Count = 0
    assignors: tuple[str, ...] = ("range",)
    offered: tuple[str, ...] = ("range",)
    patterns: Count = 0
    members: Count = 3
    session_ms: Duration = 6_000
    poll_interval_ms: Milliseconds = 7_000
    churn_interval_ms: Duration = 4_000

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """The one topic that it needs."""
        return (WorkloadTopic("groups-0"),)

    @property
    def needs_java(self) -> bool:
        """Whether the load, its groups, or its final read, have clients of kafka-clients."""
        return super().needs_java or has_java(chain.from_iterable(self.member_libraries.values()))

    @property
    def versions_min(self) -> str:
        """The first version with KIP-848's protocol, if any group uses it: before, it was a preview."""
        return "4.0.0" if self.modern or self.mixed else super().versions_min

    @property
    def first_member(self) -> int:
        """Process number of the first member, after producers and consumers."""
        return self.producers + self.consumers

    @property
    def processes(self) -> int:
        """Producers, consumers, then the members of one group after the other."""
        return self.first_member + self.members * len(self.groups)
