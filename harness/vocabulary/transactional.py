"""Workloads with transactions: random ones, exactly-once copying, scripts, and a compacted topic."""

from enum import StrEnum

from harness.vocabulary.ranges import Count, Duration, Milliseconds, Positive, Share
from harness.vocabulary.workloads import JAVA_CLIENT, LogWorkload, WorkloadTopic, has_java


class Script(StrEnum):
    """The script of a scripted workload."""

    HANGING_TRANSACTION = "hanging-transaction"
    """A Produce that arrives after its transaction was aborted (KAFKA-14402)."""
    DELAYED_END_TXN = "delayed-end-txn"
    """An EndTxn(commit) that arrives in the next transaction (KAFKA-17754)."""
    TIMED_OUT_PRODUCER = "timed-out-producer"
    """A Produce that is appended after its transaction timed out (KAFKA-19690)."""
    LATE_COMMIT = "late-commit"
    """An EndTxn(commit) that arrives after its transaction timed out (KAFKA-20785)."""
    OLDER_EPOCH = "older-epoch"
    """An InitProducerId that raises an old epoch, during a transaction of the newest instance (KIP-360)."""
    DELETED_OFFSETS = "deleted-offsets"
    """A deletion of the topic of committed offsets, which groups use again (KAFKA-19274)."""


class ScriptedTransactions(LogWorkload, frozen=True, tag="scripted-transactions"):
    """The log workload, and a script whose requests are sent one by one: transactions, or groups' offsets.

    Attributes:
        script: the script.
        transaction_version: the protocol version of its requests, 1 or 2 (KIP-890).
    """

    partitions: Positive = 2
    producers: Count = 2
    consumers: Count = 1
    script: Script = Script.HANGING_TRANSACTION
    transaction_version: Positive = 1

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """One topic for the load, and one that only the script uses."""
        return (WorkloadTopic("log-0"), WorkloadTopic("txn-0", loaded=False))

    @property
    def controls(self) -> tuple[str, ...]:
        """The name of the only control, which is the script."""
        return (self.script.value,)

    @property
    def processes(self) -> int:
        """Producers, consumers, and the script's two transactional producers."""
        return self.producers + self.consumers + 2


class TransactionalWorkload(LogWorkload, frozen=True, tag="transactional"):
    """Common fields of workloads with transactional producers; `rate` counts sends outside of transactions.

    Attributes:
        transactors: concurrent transactional producers.
        transaction_timeout_ms: time after which the coordinator aborts a transaction that was not ended.
        old_epochs_interval_ms: mean time between batches with an old epoch of an idempotent producer; leaders
            must refuse them.  0: there are none.
    """

    rate: Positive = 10
    producers: Count = 3
    consumers: Count = 4
    batch: Positive = 8
    transactors: Count = 4
    transaction_timeout_ms: Duration = 10_000
    old_epochs_interval_ms: Milliseconds = 3_000

    @property
    def transactions_end_ms(self) -> int:
        """The timeout, plus the time in which the coordinator notices it and writes the markers."""
        return self.transaction_timeout_ms + 30_000

    @property
    def first_transactor(self) -> int:
        """Number of the first transactional process, after producers and consumers."""
        return self.producers + self.consumers


class DrawnTransactions(TransactionalWorkload, frozen=True):
    """Common fields of workloads whose transactors draw the content of each transaction.

    The transactors' client libraries are those of `libraries`, in turn.

    Attributes:
        transaction_rate: transactions per second, of all transactors together.
        commit_share: share of the transactions that are to be committed, 0 to 1; the others are aborted.
        fencing_interval_ms: mean time between instances that take over another instance's transactional id.
    """

    transaction_rate: Positive = 30
    commit_share: Share = 0.8
    fencing_interval_ms: Duration = 1_500


class TxnWorkload(DrawnTransactions, frozen=True, tag="txn"):
    """Transactions over several partitions, some aborted on purpose, and instances that fence each other.

    Attributes:
        lapsing_interval_ms: mean time between transactions that are kept open past their timeout.
        lapsing_timeout_ms: time after which the coordinator aborts these transactions.
    """

    transactors: Positive = 4
    lapsing_interval_ms: Duration = 1_500
    lapsing_timeout_ms: Duration = 2_500

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """The one topic that it needs."""
        return (WorkloadTopic("txn-0"),)

    @property
    def processes(self) -> int:
        """Producers, consumers, transactors, one each for fencing, timeouts, describing and old epochs."""
        return self.first_transactor + self.transactors + 4


class GroupProtocol(StrEnum):
    """The protocol of a group, as in the config ``group.protocol`` of its members."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    """The protocol of KIP-848."""


class CopyWorkload(TransactionalWorkload, frozen=True, tag="copy"):
    """Members of one group copy a topic to another exactly once; they commit offsets in their transactions.

    Attributes:
        group: id of the group; its members use the client libraries of `libraries`, in turn.
        protocol: the group's protocol; with KIP-848's, all its members use kafka-clients.
        poll_records_max: maximum number of records that one transaction copies.
        lapsing: how many members, the last ones, sometimes keep a transaction open past its timeout.
        lapsing_interval_ms: mean time between such transactions of one member.
        lapsing_timeout_ms: time after which the coordinator aborts transactions of these members.
    """

    transactors: Count = 3
    group: str = "copy-0"
    protocol: GroupProtocol = GroupProtocol.CLASSIC
    poll_records_max: Positive = 40
    lapsing: Count = 2
    lapsing_interval_ms: Duration = 10_000
    lapsing_timeout_ms: Duration = 3_000

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """The source topic and the destination topic."""
        return (WorkloadTopic("copy-in"), WorkloadTopic("copy-out"))

    @property
    def modern(self) -> bool:
        """Whether the group uses KIP-848's protocol."""
        return self.protocol is GroupProtocol.CONSUMER

    @property
    def copiers(self) -> tuple[str, ...]:
        """Client libraries of the members, in turn."""
        return (JAVA_CLIENT,) if self.modern else self.libraries

    @property
    def needs_java(self) -> bool:
        """Whether the load, its group, or its final read, have clients of kafka-clients."""
        return super().needs_java or has_java(self.copiers)

    @property
    def versions_min(self) -> str:
        """The first version with KIP-848's protocol, if the group uses it: before, it was a preview."""
        return "4.0.0" if self.modern else super().versions_min

    @property
    def processes(self) -> int:
        """Producers, consumers, members that copy, and one process that sends with old epochs."""
        return self.first_transactor + self.transactors + 1


class CompactedWorkload(DrawnTransactions, frozen=True, tag="compacted"):
    """The log workload with keys, on a topic that is compacted while it is written.

    A producer writes some keys several times, and then never again.  If compaction handles a key wrongly that
    is written again, the next record soon hides it; the last record of a key shows it until the end.
    Transactors write the same keys more slowly, so that theirs are the last records of most of these keys.
    Many transactions are aborted; then the last record of the key is the one before.

    Attributes:
        keys: number of keys; a record's key is its value modulo this number.
        active_keys: how many consecutive keys a producer writes in one round.  After each round the first
            quarter of them is not written until all other keys have been written.
        tombstones: the records of every n-th round are tombstones; 0: no tombstones.
    """

    partitions: Positive = 3
    rate: Positive = 150
    producers: Count = 4
    consumers: Count = 2
    batch: Positive = 4
    transactors: Count = 0
    transaction_timeout_ms: Duration = 4_000
    old_epochs_interval_ms: Milliseconds = 0
    transaction_rate: Count = 24
    commit_share: Share = 0.65
    fencing_interval_ms: Milliseconds = 3_000
    keys: Positive = 8_000
    active_keys: Positive = 160
    tombstones: Count = 6

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """One topic, whose segments are rolled and cleaned within seconds.

        A replica that is out of sync for longer than ``delete.retention.ms`` may miss the marker that ends a
        transaction.  With transactions this time is longer than most faults.
        """
        config = {
            "cleanup.policy": "compact",
            "segment.ms": "2000",
            "segment.bytes": "1048576",
            "min.cleanable.dirty.ratio": "0.01",
            "max.compaction.lag.ms": "4000",
            "delete.retention.ms": "20000" if self.transactors else "3000",
            "file.delete.delay.ms": "1000",
        }
        return (WorkloadTopic("compacted-0", config),)

    @property
    def processes(self) -> int:
        """Producers, consumers, transactors, and one for fencing if there are transactors."""
        return self.first_transactor + self.transactors + (self.transactors > 0)

    @property
    def transactions_end_ms(self) -> int:
        """As of all workloads with transactions; 0 without transactors."""
        return super().transactions_end_ms if self.transactors else 0

    def key_of(self, value: int) -> int:
        """The value modulo `keys`."""
        return value % self.keys

    def is_tombstone(self, value: int) -> bool:
        """Whether the record that carries a value marks its key as deleted."""
        return self.tombstones > 0 and (value // self.keys + 1) % self.tombstones == 0

    def is_resting(self, value: int) -> bool:
        """Whether the value's key is outside the keys of its round."""
        begin = value // self.keys * (self.active_keys // 4)
        return (value - begin) % self.keys >= self.active_keys
