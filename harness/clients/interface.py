"""The interface of a Kafka client, as small as the workloads allow."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec

from checkers.history.operations import OperationType
from checkers.history.polls import Isolation


class ClientKind(StrEnum):
    """The client library; several are used, so that a client's bug is not mistaken for a broker's."""

    KAFKA_PYTHON = "kafka-python"
    CONFLUENT = "confluent-kafka"
    JAVA = "kafka-clients"
    OTHER_JAVA = "kafka-clients-other"
    """kafka-clients of the version that the workload names, in a JVM of its own."""


EMBEDDED = (ClientKind.KAFKA_PYTHON, ClientKind.CONFLUENT)
"""The libraries in the harness's own process; they offer every kind of client, on every host."""
JAVA_KINDS = (ClientKind.JAVA, ClientKind.OTHER_JAVA)
"""kafka-clients, each version in a process with a JVM."""


VALUE_HEADER = "value"
"""Name of the header with the value of a tombstone, because a tombstone itself has no value."""


class ProducerRecord(NamedTuple):
    """A record to send; a tombstone has its value in a header instead."""

    partition: int
    value: bytes
    key: bytes | None = None
    tombstone: bool = False

    @property
    def content(self) -> bytes | None:
        """The value that is sent."""
        return None if self.tombstone else self.value

    @property
    def headers(self) -> list[tuple[str, bytes]]:
        """The headers that are sent."""
        return [(VALUE_HEADER, self.value)] if self.tombstone else []


def carried(content: bytes | None, headers: Iterable[tuple[str, bytes | None]] | None) -> bytes | None:
    """The value of a record that was read; for a tombstone, the value in its header."""
    if content is not None:
        return content
    return next((value for name, value in headers or () if name == VALUE_HEADER), None)


class SendResult(NamedTuple):
    """The result for one record: ok, fail or info; its offset if acknowledged, an error if not ok."""

    outcome: OperationType
    offset: int | None = None
    error: str | None = None


class Message(NamedTuple):
    """A record that a consumer received."""

    partition: int
    offset: int
    value: bytes | None


class ClientFailedError(Exception):
    """A client could not be made, so nothing was sent or read, or it was not closed within its bound."""


class NotOfferedError(Exception):
    """A library has no such client, or kafka-clients has no process: an error in the plan of the load."""


class ReadError(Exception):
    """A read failed; it lost no record, and the next read begins where the last one ended.

    Attributes:
        out_of_range: partitions whose position the broker no longer has; reading must begin elsewhere.
    """

    def __init__(self, text: str, out_of_range: Iterable[int] = ()) -> None:
        super().__init__(text)
        self.out_of_range = frozenset(out_of_range)


class ProducerOptions(msgspec.Struct, frozen=True):
    """How a producer behaves; it never sends an expired record again.

    Attributes:
        bootstrap: ``host:port`` of every broker.
        topic: the topic that it sends to.
        acks: ``all``, ``1`` or ``0``.
        idempotent: whether it is idempotent; only then the library retries.
        delivery_ms: time after which a record's outcome is reported, whatever it is.
        request_ms: how long one request may take.
        connect_ms: how long finding the cluster may take when the client is made.
        pipelined: whether each record is a separate batch, with up to five in flight to one partition.  This
            can only be set for librdkafka; kafka-clients always may do it, kafka-python never does.
    """

    bootstrap: tuple[str, ...]
    topic: str
    acks: str = "all"
    idempotent: bool = True
    delivery_ms: int = 12_000
    request_ms: int = 5_000
    connect_ms: int = 5_000
    pipelined: bool = False


class ConsumerOptions(msgspec.Struct, frozen=True):
    """How a consumer behaves: assigned partitions, explicit offsets, no commits, no resets.

    Attributes:
        bootstrap: ``host:port`` of every broker.
        topic: the topic that it reads.
        isolation: its isolation level.
        request_ms: how long one request may take.
        connect_ms: how long finding the cluster may take when the client is made.
        poll_records_max: maximum number of records that one poll returns.
    """

    bootstrap: tuple[str, ...]
    topic: str
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    request_ms: int = 5_000
    connect_ms: int = 5_000
    poll_records_max: int = 500


class LogProducer(Protocol):
    """Sends batches; used by one thread."""

    def send(self, batch: Sequence[ProducerRecord]) -> list[SendResult]:
        """Send all records at once and wait for every outcome, in the order of the batch; never raises.

        Returns within the delivery timeout and a second.
        """
        ...

    def close(self, timeout_s: float) -> None:
        """Close it, in any state of the cluster.

        Raises:
            ClientFailedError: it did not end within `timeout_s`.
        """
        ...


class LogConsumer(Protocol):
    """Reads assigned partitions from explicit offsets; used by one thread."""

    def assign(self, positions: Mapping[int, int]) -> None:
        """Read these partitions from these offsets on; replaces the previous assignment.

        Raises:
            ReadError: the library refuses.
        """
        ...

    def poll(self, max_wait_s: float) -> list[Message]:
        """The next records in the order returned, at most as many as the options allow; may be empty.

        Raises:
            ReadError: the library reported an error.
        """
        ...

    def position(self, partition: int) -> int | None:
        """The offset up to which all records of this partition were returned or skipped.

        Control records, and aborted records at ``read_committed``, are skipped.  None if the library does not
        know the position yet.

        Raises:
            ReadError: the library reported an error.
        """
        ...

    def offsets(self, partitions: Sequence[int], timeout_s: float) -> dict[int, tuple[int, int]]:
        """First and end offset of each partition at this isolation level.

        Raises:
            ReadError: not all of them were answered in time.
        """
        ...

    def close(self, timeout_s: float) -> None:
        """Close it, in any state of the cluster.

        Raises:
            ClientFailedError: it did not end within `timeout_s`.
        """
        ...
