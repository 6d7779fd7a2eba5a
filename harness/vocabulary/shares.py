"""The workload of share groups."""

from harness.vocabulary.ranges import Count, Duration, Milliseconds, Positive, Share
from harness.vocabulary.transactional import DrawnTransactions
from harness.vocabulary.workloads import JAVA_CLIENT, WorkloadTopic


class ShareWorkload(DrawnTransactions, frozen=True, tag="shares"):
    """The log workload, and share groups (KIP-932) whose members acknowledge each record.

    Members accept most records, release or reject some, hold some for longer than their locks, and leave.
    They can also renew locks (KIP-1222), and so hold records for longer than one lock.
    Only kafka-clients has members of share groups; brokers need Kafka 4.2.

    Attributes:
        groups: ids of the share groups.
        members: members of each group.
        delivery_limit: how often a record is delivered at most; the topology's config must have it too.
        lock_ms: how long a member may hold a record; the topology's config must have it too.
        session_ms: time without a heartbeat after which a group removes a member; the topology's config must
            have it too.
        poll_records_max: how many records a poll returns at most.
        request_ms: how long members wait for an answer (``request.timeout.ms``).
        committed: those of `groups` that get records of committed transactions only
            (``share.isolation.level=read_committed``).
        alter_interval_ms: mean time between two breaks in which the members of a group have left and its
            start offsets are set or deleted; 0: there are none.
        renew_share: share of polls after which a member renews its locks, each time before they end.
        dead_letters: whether each group has a dead-letter queue (KIP-1191), a topic that is read at the end.
    """

    partitions: Positive = 3
    rate: Positive = 12
    producers: Count = 3
    consumers: Count = 0
    batch: Positive = 8
    transactors: Count = 0
    transaction_timeout_ms: Duration = 4_000
    old_epochs_interval_ms: Milliseconds = 0
    transaction_rate: Count = 12
    commit_share: Share = 0.65
    fencing_interval_ms: Milliseconds = 3_000
    libraries: tuple[str, ...] = ("kafka-python", "confluent-kafka", JAVA_CLIENT)
    groups: tuple[str, ...] = ("share-0",)
    members: Count = 4
    delivery_limit: Positive = 5
    lock_ms: Duration = 4_000
    session_ms: Duration = 6_000
    poll_records_max: Positive = 20
    request_ms: Duration = 2_000
    committed: tuple[str, ...] = ()
    alter_interval_ms: Milliseconds = 0
    renew_share: Share = 0.0
    dead_letters: bool = False

    @property
    def versions_min(self) -> str:
        """The first version with share groups, which were a preview before, or with dead-letter queues."""
        return "4.4.0" if self.dead_letters else "4.2.0"

    @property
    def broker_config(self) -> dict[str, str]:
        """Properties that brokers must have: records are judged by them, and the group is drained by them.

        By default a member that could not leave keeps its partitions for 45 s, and as long again after each
        move of the group's coordinator.
        """
        return {
            "group.share.delivery.count.limit": str(self.delivery_limit),
            "group.share.min.record.lock.duration.ms": "1000",
            "group.share.record.lock.duration.ms": str(self.lock_ms),
            "group.share.min.session.timeout.ms": "1000",
            "group.share.session.timeout.ms": str(self.session_ms),
            "group.share.min.heartbeat.interval.ms": "1000",
            "group.share.heartbeat.interval.ms": "1500",
        }

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """The topic that the groups read, and the dead-letter queue of each group."""
        config = {"errors.deadletterqueue.group.enable": "true"}
        queues = self.groups if self.dead_letters else ()
        letters = (
            WorkloadTopic(dead_letter_topic(group), config, loaded=False, read=False) for group in queues
        )
        return (WorkloadTopic("shares-0"), *letters)

    @property
    def first_member(self) -> int:
        """Number of the first member, after producers, consumers, transactors and one that fences these."""
        return self.first_transactor + self.transactors + (self.transactors > 0)

    @property
    def first_altering(self) -> int:
        """Number of the first process that alters start offsets, one for each group, if there are any."""
        return self.first_member + self.members * len(self.groups)

    @property
    def processes(self) -> int:
        """Producers, consumers, transactors, the members of each group, those that alter start offsets."""
        return self.first_altering + len(self.groups) * (self.alter_interval_ms > 0)

    @property
    def transactions_end_ms(self) -> int:
        """As of all workloads with transactions; 0 without transactors."""
        return super().transactions_end_ms if self.transactors else 0


def dead_letter_topic(group: str) -> str:
    """Name of the dead-letter queue of a share group; it has the prefix that brokers require by default."""
    return f"dlq.{group}"
