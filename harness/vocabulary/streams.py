"""The workload of an application of Kafka Streams."""

from harness.vocabulary.ranges import Count, Duration, Positive
from harness.vocabulary.workloads import LogWorkload, WorkloadTopic


class StreamsWorkload(LogWorkload, frozen=True, tag="streams"):
    """The log workload with keys, and an application of Kafka Streams that counts the records of each key.

    The members of the application are of a streams group (KIP-1071) and process exactly once
    (``exactly_once_v2``).  Each has a JVM of its own.  The workload closes and kills members at random.  Each
    record of the output names the record of the input that it stands for, and has the count of that record's
    key in that partition.  The counts are in memory, and in a changelog.

    Attributes:
        application: id of the application, and of its group.
        members: members that work at the same time.
        counters: number of keys; a record's key is its value modulo this number.
        life_min_ms: shortest time that a member works before it is closed or killed.
        life_max_ms: longest time.
        transaction_timeout_ms: time after which the coordinator aborts a transaction that was not ended.
        session_ms: time without a heartbeat after which the group removes a member; the topology's config
            must have it too.
    """

    partitions: Positive = 4
    rate: Positive = 12
    producers: Count = 4
    consumers: Count = 1
    application: str = "streams-0"
    members: Positive = 3
    counters: Positive = 40
    life_min_ms: Duration = 10_000
    life_max_ms: Duration = 25_000
    transaction_timeout_ms: Duration = 6_000
    session_ms: Duration = 6_000

    @property
    def needs_java(self) -> bool:
        """Kafka Streams is a library in Java."""
        return True

    @property
    def versions_min(self) -> str:
        """The first version in which streams groups were no preview."""
        return "4.2.0"

    @property
    def broker_config(self) -> dict[str, str]:
        """Properties that brokers must have: by default a killed member keeps its tasks for 45 s."""
        return {
            "group.streams.min.session.timeout.ms": "1000",
            "group.streams.session.timeout.ms": str(self.session_ms),
            "group.streams.min.heartbeat.interval.ms": "1000",
            "group.streams.heartbeat.interval.ms": "1500",
            "group.streams.initial.rebalance.delay.ms": "1000",
        }

    @property
    def output(self) -> str:
        """Name of the topic that the application writes."""
        return "streams-out"

    @property
    def changelog(self) -> str:
        """Name of the topic with the changes of the counts, as Kafka Streams names it."""
        return f"{self.application}-counts-changelog"

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """The input, the output and the changelog; only the application writes to the last two.

        The changelog is not compacted, so that its replicas must have the same batches.  Kafka Streams uses a
        changelog that exists.
        """
        return (
            WorkloadTopic("streams-in"),
            WorkloadTopic(self.output, loaded=False, read=False),
            WorkloadTopic(self.changelog, loaded=False, read=False),
        )

    @property
    def first_member(self) -> int:
        """Number of the first member, after producers and consumers."""
        return self.producers + self.consumers

    @property
    def processes(self) -> int:
        """Producers, consumers, and members."""
        return self.first_member + self.members

    def key_of(self, value: int) -> int:
        """The value modulo `counters`."""
        return value % self.counters
