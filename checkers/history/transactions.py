"""The types of transactions, of requests of their producers and administrators, and of brokers' answers.

The fields are those of docs/histories.md, as in `checkers.history.fields`.  Writers use `TxnRequested` and
`TxnEnded`.  Readers get a `Txn` from either, and from histories of other harnesses.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from checkers.history.fields import LARGEST, Offset, Partition, RecordValue, written
from checkers.history.operations import Operation
from checkers.history.polls import Isolation, Records

PRODUCER_CLOSED = "producer-closed"
"""Function of the record that an instance of a transactional producer was closed."""
TxnEnd = Literal["commit", "abort"]
Consumed = list[tuple[str, Partition, list[Offset], list[RecordValue]]]
"""Topic, partition, offsets and values of each run of records that a transaction consumed."""
_Time = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]


class TxnSendRequested(msgspec.Struct, frozen=True, array_like=True, tag="send"):
    """A record that a transaction should send, or did not send."""

    topic: str
    partition: Partition
    value: RecordValue


class TxnSend(TxnSendRequested, frozen=True, array_like=True, tag="send"):
    """A record that a transaction sent; its offset is None if it was not acknowledged."""

    offset: Offset | None = None


class TxnOffsets(msgspec.Struct, frozen=True, array_like=True, tag="offsets"):
    """Offsets that a transaction commits for a group."""

    group: str
    topic: str
    offsets: list[tuple[Partition, Offset]]


class TxnPoll(msgspec.Struct, frozen=True, array_like=True, tag="poll"):
    """Records that a transaction polls."""

    topic: str
    records: Records


class TxnRequested(msgspec.Struct, frozen=True, kw_only=True):
    """The planned operations of a transaction.

    Attributes:
        client: name of the library, or ``raw`` for single requests.
        end: the intended end.
        mops: micro-operations, in order.
        consumed: the input records of the transaction; unset if there are none.
    """

    client: str
    end: TxnEnd
    mops: list[TxnSendRequested | TxnOffsets]
    consumed: Consumed | UnsetType = UNSET


class TxnEnded(TxnRequested, frozen=True, kw_only=True):
    """The operations that a transaction performed; sent records are micro-operations `TxnSend`.

    Attributes:
        ended: the end that the coordinator acknowledged; None if it acknowledged none.
        ending_ns: a time before which neither commit nor abort was requested; None if neither was requested.
        sent_ns: a time by which every record was answered or had expired.
        coordinator: id of the broker that added its partitions.
        leaders: partition, as text, to the id of the broker to which its records were sent.
        version: version of the client's protocol in this transaction, 1 or 2 (KIP-890); unset if the library
            does not report it, and in older runs.
    """

    ended: TxnEnd | None
    ending_ns: int | UnsetType | None = UNSET
    sent_ns: int | UnsetType = UNSET
    coordinator: int | UnsetType = UNSET
    leaders: dict[str, int] | UnsetType = UNSET
    version: int | UnsetType = UNSET


class Txn(msgspec.Struct, frozen=True):
    """A transaction as it is read: the plan in an invocation, and the result in a completion."""

    client: str
    mops: list[TxnSend | TxnOffsets | TxnPoll]
    consumed: Consumed = []
    isolation: Isolation = Isolation.READ_COMMITTED
    assigned: list[tuple[Partition, Offset]] | None = None
    ending_ns: _Time | None = None


class TxnSent(msgspec.Struct, frozen=True):
    """The completion of a transaction that was sent request by request; fields as in `TxnEnded`."""

    mops: list[TxnSend | TxnOffsets]
    sent_ns: int
    coordinator: int
    ending_ns: int | None = None
    leaders: dict[str, int] = {}


class ProducerRequested(msgspec.Struct, frozen=True, kw_only=True):
    """The client that initialises a transactional id.

    Attributes:
        client: as in `TxnRequested`.
        timeout_ms: timeout of its transactions; unset if it is that of the workload.
        raises: producer id and epoch of an instance that asks to raise its own epoch (KIP-360); unset for a
            new instance.
    """

    client: str
    timeout_ms: int | UnsetType = UNSET
    raises: tuple[int, int] | UnsetType = UNSET


class ProducerInitialised(ProducerRequested, frozen=True, kw_only=True):
    """The producer that the coordinator assigned; None if the library does not report it."""

    producer_id: int | None = written(None)
    epoch: int | None = written(None)


class ProducerClosed(msgspec.Struct, frozen=True):
    """An instance of a transactional producer that was closed.

    Attributes:
        client: as in `TxnRequested`.
        ended: whether it has ended, so that it sends nothing after this operation.
    """

    client: str
    ended: bool


class CoordinatorRequested(msgspec.Struct, frozen=True):
    """A producer whose transaction should be described, and the id of the broker that is asked."""

    producer_id: int
    epoch: int
    to: int


class TransactionDescribed(CoordinatorRequested, frozen=True):
    """A coordinator's description: state, producer, and topic and number of each partition."""

    state: str
    told_id: int
    told_epoch: int
    partitions: list[tuple[str, int]]


class LeaderRequested(msgspec.Struct, frozen=True):
    """A producer about which a partition's leader is asked, and the id of that broker."""

    producer_id: int
    epoch: int
    partition: int
    to: int


class ProducerDescribed(LeaderRequested, frozen=True):
    """A leader's description of a producer.

    Attributes:
        known: whether it knows the producer.
        told_epoch: the producer's epoch.
        start_offset: start of the producer's open transaction; -1 if none is open.
    """

    known: bool
    told_epoch: int
    start_offset: int


class MarkerAnswered(LeaderRequested, frozen=True):
    """Kafka's error code for the abort marker that the leader should append."""

    code: int


class ScriptPlayed(msgspec.Struct, frozen=True):
    """The protocol of a script of single requests, and brokers' answers at the relevant steps.

    Attributes:
        transaction_version: the protocol of its transactions.
        late_produce_error: Kafka's error code for a Produce request after the end; unset if there is none.
        late_end_error: Kafka's error code for an EndTxn request after the next transaction began; unset if
            there is none.
        timed_out_errors: Kafka's error codes for a Produce request of a producer whose transaction had timed
            out: of the partition that the transaction had a record in, and of one that it had none in; unset
            if there is none.
        late_commit_error: Kafka's error code for an EndTxn request that commits a transaction which had timed
            out; unset if there is none.
        newer_by: how many epochs the coordinator was ahead of that request before the request arrived; unset
            if there is none.
        older_epoch_errors: Kafka's error codes for InitProducerId with the epoch of an older instance, while
            the newest instance has no transaction, and during one; unset if there is none.
        newest_commit_error: Kafka's error code for the end of that transaction; unset if there is none.
        moved_groups: how many groups have another coordinator since the topic of committed offsets was
            deleted; unset if there are none.
    """

    transaction_version: int
    late_produce_error: int | UnsetType = UNSET
    late_end_error: int | UnsetType = UNSET
    timed_out_errors: tuple[int, int] | UnsetType = UNSET
    late_commit_error: int | UnsetType = UNSET
    newer_by: int | UnsetType = UNSET
    older_epoch_errors: tuple[int, int] | UnsetType = UNSET
    newest_commit_error: int | UnsetType = UNSET
    moved_groups: int | UnsetType = UNSET


def sends_of(transaction: Operation) -> list[list[Any]]:
    """The sends of a transaction: ``send``, topic, partition, value and, once completed, the offset."""
    return [mop for mop in transaction.value["mops"] if mop[0] == "send"]


def polls_of(transaction: Operation) -> list[list[Any]]:
    """The polls of a transaction: lists of ``poll``, topic and records."""
    return [mop for mop in transaction.value["mops"] if mop[0] == "poll"]
