"""Workloads with transactions: drawn ones, copying, and scripted ones."""

from enum import StrEnum

from harness.vocabulary.workloads import LogWorkload, WorkloadTopic


class Script(StrEnum):
    """What a scripted workload plays."""

    HANGING_TRANSACTION = "hanging-transaction"
    """A Produce that arrives after its transaction was aborted (KAFKA-14402)."""
    DELAYED_END_TXN = "delayed-end-txn"
    """An EndTxn(commit) that arrives in the next transaction (KAFKA-17754)."""


class ScriptedTransactions(LogWorkload, frozen=True, tag="scripted-transactions"):
    """The log workload, and transactions that are sent request by request, one of which is delayed.

    Attributes:
        script: the script.
        transaction_version: the protocol version of its requests, 1 or 2 (KIP-890).
    """

    partitions: int = 2
    producers: int = 2
    consumers: int = 1
    script: Script = Script.HANGING_TRANSACTION
    transaction_version: int = 1

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """One for the load, one for the script alone."""
        return (WorkloadTopic("log-0"), WorkloadTopic("txn-0", loaded=False))

    @property
    def controls(self) -> tuple[str, ...]:
        """Names of the controls: the script alone."""
        return (self.script.value,)

    @property
    def processes(self) -> int:
        """Producers, consumers, and the script's two transactional producers."""
        return self.producers + self.consumers + 2


class TransactionalWorkload(LogWorkload, frozen=True, tag="transactional"):
    """What workloads with transactional producers share; `rate` counts the sends outside of transactions.

    Attributes:
        transactors: concurrent transactional producers.
        transaction_timeout_ms: after so long the coordinator aborts what nobody ended.
        old_epochs_interval_ms: mean time between batches of an old epoch of an idempotent producer, which
            leaders must refuse.
    """

    rate: int = 10
    producers: int = 3
    consumers: int = 4
    batch: int = 8
    transactors: int = 4
    transaction_timeout_ms: int = 10_000
    old_epochs_interval_ms: int = 3_000

    @property
    def transactions_end_ms(self) -> int:
        """The timeout, and what the coordinator needs to notice and to write markers."""
        return self.transaction_timeout_ms + 30_000

    @property
    def first_transactor(self) -> int:
        """Number of the first transactional process, after producers and consumers."""
        return self.producers + self.consumers


class TxnWorkload(TransactionalWorkload, frozen=True, tag="txn"):
    """Transactions over several partitions, some aborted on purpose, and instances that fence each other.

    The transactors' client libraries are those of `libraries`, in turn.

    Attributes:
        transaction_rate: transactions a second, of all transactors together.
        fencing_interval_ms: mean time between instances that take over another one's transactional id.
        lapsing_interval_ms: mean time between transactions that are not ended in time.
        lapsing_timeout_ms: time after which the coordinator aborts those.
    """

    transaction_rate: int = 30
    fencing_interval_ms: int = 1_500
    lapsing_interval_ms: int = 1_500
    lapsing_timeout_ms: int = 2_500

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """The one topic that it needs."""
        return (WorkloadTopic("txn-0"),)

    @property
    def processes(self) -> int:
        """Producers, consumers, transactors, one each that fences, lapses, describes, sends in old epochs."""
        return self.first_transactor + self.transactors + 4


class CopyWorkload(TransactionalWorkload, frozen=True, tag="copy"):
    """Members of one group that copy a topic to another, exactly once, their offsets in the transactions.

    Attributes:
        group: id of the group; every second member is confluent-kafka's.
        poll_records_max: records copied by one transaction at most.
        lapsing: how many members, the last ones, sometimes keep a transaction open past its timeout.
        lapsing_interval_ms: mean time between those of one member.
        lapsing_timeout_ms: time after which the coordinator aborts transactions of these members.
    """

    transactors: int = 3
    group: str = "copy-0"
    poll_records_max: int = 40
    lapsing: int = 2
    lapsing_interval_ms: int = 10_000
    lapsing_timeout_ms: int = 3_000

    @property
    def topics(self) -> tuple[WorkloadTopic, ...]:
        """What is copied, and where to."""
        return (WorkloadTopic("copy-in"), WorkloadTopic("copy-out"))

    @property
    def processes(self) -> int:
        """Producers, consumers, those that copy, and one that sends in old epochs."""
        return self.first_transactor + self.transactors + 1
