"""The interface of a transactional producer (KIP-98)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from checkers.history.operations import OperationType
from harness.clients.interface import Message, ProducerRecord, SendResult


class TransactionError(Exception):
    """A step of a transaction failed.

    Attributes:
        outcome: ``fail`` if the step certainly did not happen, ``info`` if it may have.
    """

    def __init__(self, text: str, outcome: OperationType = OperationType.INFO) -> None:
        super().__init__(text)
        self.outcome = outcome


class TransactionalOptions(msgspec.Struct, frozen=True):
    """How a transactional producer behaves.

    Attributes:
        bootstrap: ``host:port`` of every broker.
        transactional_id: its transactional id; a later instance with the same id fences it.
        transaction_timeout_ms: time after which the coordinator aborts a transaction that was not ended.
        delivery_ms: time after which a record's outcome is reported, whatever it is.
        request_ms: how long one request may take.
        connect_ms: how long finding the cluster may take when the client is made.
    """

    bootstrap: tuple[str, ...]
    transactional_id: str
    transaction_timeout_ms: int
    delivery_ms: int = 2_500
    request_ms: int = 2_000
    connect_ms: int = 2_500


class Identity(NamedTuple):
    """Producer id and epoch from the coordinator; None if the library does not report them."""

    producer_id: int | None = None
    epoch: int | None = None


class TopicRecord(NamedTuple):
    """A record to send within a transaction; a tombstone has its value in a header instead."""

    topic: str
    partition: int
    value: bytes
    key: bytes | None = None
    tombstone: bool = False

    @property
    def sent(self) -> ProducerRecord:
        """The record without its topic."""
        return ProducerRecord(*self[1:])


class GroupOffsets(NamedTuple):
    """The offsets at which a group continues once the transaction is committed.

    Attributes:
        group: id of the group.
        topic: the topic that it reads.
        positions: partition to the offset of the next record to read.
        membership: the library's object for the member and its generation, by which KIP-447 fences.
    """

    group: str
    topic: str
    positions: Mapping[int, int]
    membership: object


class TransactionalProducer(Protocol):
    """One instance of a transactional producer; used by one thread, and no longer after any error."""

    def initialise(self, timeout_s: float) -> Identity:
        """Fence every older instance with the same id, end its transaction, and become ready.

        Raises:
            TransactionError: this failed.
        """
        ...

    def begin(self) -> int | None:
        """Begin a transaction; no request is sent.

        Returns:
            The version of the transaction's protocol, 1 or 2 (KIP-890); None if the library does not report
            it.

        Raises:
            TransactionError: the library refuses.
        """
        ...

    def send(self, batch: Sequence[TopicRecord]) -> list[SendResult]:
        """Send records and wait for every outcome, ok or info, in the order of the batch; never raises."""
        ...

    def send_offsets(self, offsets: GroupOffsets, timeout_s: float) -> None:
        """Commit a group's offsets within the transaction.

        Raises:
            TransactionError: it was not acknowledged.
        """
        ...

    def commit(self, timeout_s: float) -> None:
        """Commit the transaction.

        Raises:
            TransactionError: it was not acknowledged; with outcome ``fail`` it certainly is not committed.
        """
        ...

    def abort(self, timeout_s: float) -> None:
        """Abort the transaction.

        Raises:
            TransactionError: it was not acknowledged.
        """
        ...

    def close(self, timeout_s: float) -> None:
        """Close it, in any state of the cluster; an open transaction stays open.

        Raises:
            ClientFailedError: it did not end within `timeout_s`.
        """
        ...


class GroupConsumer(Protocol):
    """A member of a group that commits its offsets in transactions; used by one thread."""

    def poll(self, max_wait_s: float) -> list[Message]:
        """The next committed records; rebalances happen only within this call.

        Raises:
            ReadError: the library reported an error.
        """
        ...

    def rewind(self, positions: Mapping[int, int]) -> None:
        """Read these partitions again from these offsets on.

        Raises:
            ReadError: the library refuses, for example if it no longer owns one of them.
        """
        ...

    def membership(self) -> object:
        """The value of `GroupOffsets.membership` for the records of the last poll.

        Raises:
            ReadError: the library reported an error.
        """
        ...

    def close(self, timeout_s: float) -> None:
        """Leave the group and close it, in any state of the cluster.

        Raises:
            ClientFailedError: it did not end within `timeout_s`.
        """
        ...


class GroupOptions(msgspec.Struct, frozen=True):
    """Options of a group's member; it has read_committed, no auto-commit, and eager classic assignments.

    Attributes:
        bootstrap: ``host:port`` of every broker.
        group: the group's id.
        topic: the topic that it subscribes to.
        poll_records_max: maximum number of records that one poll returns.
        session_ms: time without a heartbeat after which the group removes it.
        poll_interval_ms: time without a poll after which the group removes it; this is also how long a
            rebalance waits for a member.
        request_ms: how long one request may take.
        connect_ms: how long finding the cluster may take when the client is made.
        modern: whether it uses KIP-848's protocol, in which brokers set the length of a session; only
            kafka-clients offers this.
    """

    bootstrap: tuple[str, ...]
    group: str
    topic: str
    poll_records_max: int = 10
    session_ms: int = 6_000
    poll_interval_ms: int = 10_000
    request_ms: int = 2_000
    connect_ms: int = 2_500
    modern: bool = False
