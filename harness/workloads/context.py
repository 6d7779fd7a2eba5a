"""What the parts of the log workload share: who they are, where they write to, how they get clients."""

from typing import Protocol

import msgspec

from harness.clients.interface import (
    ClientKind,
    ConsumerOptions,
    Isolation,
    LogConsumer,
    LogProducer,
    ProducerOptions,
)
from harness.clients.opening import open_consumer, open_producer
from harness.journal import Journals
from harness.vocabulary import LogWorkload
from harness.workloads.values import ValueCodec

DELIVERY_MS = 2_500
REQUEST_MS = 2_000
"""A record's fate is reported after 2.5 s, so that each producer invokes at least once during a fault of five
seconds even where nothing is acknowledged; what was given up too early is found by the final read."""
FINAL_READERS = tuple((kind, isolation) for kind in ClientKind for isolation in Isolation)


class Clients(Protocol):
    """Makes clients for the workload's topic."""

    def producer(self, kind: ClientKind, *, durable: bool = False) -> LogProducer:
        """A producer as the workload asks for; `durable`: with acks=all and idempotence in any case.

        Raises:
            ClientFailedError: it could not be made.
        """
        ...

    def consumer(self, kind: ClientKind, isolation: Isolation) -> LogConsumer:
        """A consumer.

        Raises:
            ClientFailedError: it could not be made.
        """
        ...


class KafkaClients:
    """`Clients` of a real cluster.

    Args:
        bootstrap: ``host:port`` of every broker's CLIENT listener.
        topic: the workload's topic.
        workload: acks and idempotence.
    """

    def __init__(self, bootstrap: tuple[str, ...], topic: str, workload: LogWorkload) -> None:
        self._producers = ProducerOptions(
            bootstrap,
            topic,
            workload.acks,
            workload.idempotent,
            delivery_ms=DELIVERY_MS,
            request_ms=REQUEST_MS,
        )
        self._consumers = ConsumerOptions(bootstrap, topic, request_ms=REQUEST_MS)

    def producer(self, kind: ClientKind, *, durable: bool = False) -> LogProducer:
        """See `Clients.producer`."""
        options = self._producers
        if durable:
            options = msgspec.structs.replace(options, acks="all", idempotent=True)
        return open_producer(kind, options)

    def consumer(self, kind: ClientKind, isolation: Isolation) -> LogConsumer:
        """See `Clients.consumer`."""
        return open_consumer(kind, msgspec.structs.replace(self._consumers, isolation=isolation))


class LogContext(msgspec.Struct, frozen=True):
    """One run of the log workload.

    Attributes:
        workload: how much of what.
        topic: the topic; it exists.
        journals: where to write, with the run's id and clock.
        clients: how to get clients.
    """

    workload: LogWorkload
    topic: str
    journals: Journals
    clients: Clients

    @property
    def codec(self) -> ValueCodec:
        """Values of this run."""
        return ValueCodec(self.journals.run)

    @property
    def probe(self) -> int:
        """Worker number of the write probe."""
        return self.workload.producers + self.workload.consumers

    @property
    def workers(self) -> int:
        """Number of all workers: producers, consumers, the write probe and the final readers.

        A retired process's successor has so much higher a number.
        """
        return workers_of(self.workload)


def workers_of(workload: LogWorkload) -> int:
    """Number of all workers of a workload; see `LogContext.workers`."""
    return workload.producers + workload.consumers + 1 + len(FINAL_READERS)
