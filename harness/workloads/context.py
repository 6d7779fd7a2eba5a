"""The objects that all parts of a workload share: workload, journals, addresses, and clients."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from itertools import chain
from threading import Event
from typing import Generic, Protocol, TypeVar

import msgspec

from checkers.history.polls import Isolation
from harness.clients.administrator import Administrator, AdministratorOptions
from harness.clients.administrator_opening import open_administrator
from harness.clients.group import GroupMember, MemberOptions
from harness.clients.group_opening import join_group
from harness.clients.interface import (
    EMBEDDED,
    ClientKind,
    ConsumerOptions,
    LogConsumer,
    LogProducer,
    ProducerOptions,
    ProducerRecord,
)
from harness.clients.java.process import JavaProcess, StartProcess
from harness.clients.opening import (
    open_consumer,
    open_member,
    open_producer,
    open_share_admin,
    open_share_consumer,
    open_streams,
    open_transactional,
)
from harness.clients.share import ShareAdmin, ShareAdminOptions, ShareConsumer, ShareOptions
from harness.clients.streams import StreamsMember, StreamsOptions
from harness.clients.transactional import (
    GroupConsumer,
    GroupOptions,
    TopicRecord,
    TransactionalOptions,
    TransactionalProducer,
)
from harness.kafka.sizes import TopicSizes
from harness.record.journal import Journals, Recorder
from harness.vocabulary import (
    CopyWorkload,
    GroupsWorkload,
    LogWorkload,
    OffsetsWorkload,
    ShareWorkload,
    StreamsWorkload,
    Workload,
)
from harness.workloads.deletions import DeletionListeners
from harness.workloads.highest_offsets import HighestOffsets
from harness.workloads.values import ValueCodec

DELIVERY_MS = 2_500
REQUEST_MS = 2_000
"""A record's outcome is recorded after 2.5 s, so that each producer invokes at least once during a fault of
five seconds even if nothing is acknowledged.  The final read finds records that expired too early.
"""
FINAL_WORKERS = 4
"""Worker numbers that are reserved for the workload's own workers in the phase final-read, at least."""


Address = tuple[str, int]
W_co = TypeVar("W_co", bound=Workload, covariant=True)


class Clients(Protocol):
    """Makes clients for the workload's topics."""

    def producer(self, kind: ClientKind, topic: str, *, durable: bool = False) -> LogProducer:
        """A producer with the workload's settings; if `durable`, always with acks=all and idempotence.

        Raises:
            ClientFailedError: it could not be made.
        """
        ...

    def consumer(self, kind: ClientKind, topic: str, isolation: Isolation) -> LogConsumer:
        """A consumer of assigned partitions.

        Raises:
            ClientFailedError: it could not be made.
        """
        ...

    def transactional(self, kind: ClientKind, options: TransactionalOptions) -> TransactionalProducer:
        """A transactional producer.

        Raises:
            ClientFailedError: it could not be made.
        """
        ...

    def member(self, kind: ClientKind, options: MemberOptions) -> GroupMember:
        """A member of a consumer group that commits its own offsets.

        Raises:
            ClientFailedError: it could not be made.
        """
        ...

    def copier(self, kind: ClientKind, options: GroupOptions) -> GroupConsumer:
        """A member of a group that commits its offsets in transactions.

        Raises:
            ClientFailedError: it could not be made.
        """
        ...

    def administrator(self, kind: ClientKind, options: AdministratorOptions) -> Administrator:
        """An administrator.

        Raises:
            ClientFailedError: it could not be made.
        """
        ...

    def share_consumer(self, options: ShareOptions) -> ShareConsumer:
        """A member of a share group.

        Raises:
            ClientFailedError: it could not be made.
        """
        ...

    def share_admin(self, options: ShareAdminOptions) -> ShareAdmin:
        """An administrator of share groups.

        Raises:
            ClientFailedError: it could not be made.
        """
        ...

    def streams_member(self, options: StreamsOptions, cancelled: Event) -> StreamsMember:
        """A member of an application of Kafka Streams, in a process of its own that starts now.

        Raises:
            StartCancelledError: its start is no longer wanted.
            ClientFailedError: it could not be made.
        """
        ...


class KafkaClients:
    """`Clients` of a real cluster.

    Args:
        bootstrap: ``host:port`` of every broker's CLIENT listener.
        acks: acks of the producers.
        idempotent: whether producers are idempotent.
        pipelined: whether producers have several batches in flight.
        java: the process of each version of kafka-clients that any client uses.
        streams: starts a process for a member of an application of Kafka Streams.
    """

    def __init__(
        self,
        bootstrap: tuple[str, ...],
        acks: str = "all",
        *,
        idempotent: bool = True,
        pipelined: bool = False,
        java: Mapping[ClientKind, JavaProcess] | None = None,
        streams: StartProcess | None = None,
    ) -> None:
        self._streams = streams
        self._bootstrap = bootstrap
        self._acks = acks
        self._idempotent = idempotent
        self._pipelined = pipelined
        self._java = java or {}

    def producer(self, kind: ClientKind, topic: str, *, durable: bool = False) -> LogProducer:
        """As promised by `Clients.producer`."""
        options = ProducerOptions(
            self._bootstrap,
            topic,
            "all" if durable else self._acks,
            durable or self._idempotent,
            pipelined=self._pipelined and not durable,
            delivery_ms=DELIVERY_MS,
            request_ms=REQUEST_MS,
        )
        return open_producer(kind, options, self._java.get(kind))

    def consumer(self, kind: ClientKind, topic: str, isolation: Isolation) -> LogConsumer:
        """As promised by `Clients.consumer`."""
        options = ConsumerOptions(self._bootstrap, topic, isolation, request_ms=REQUEST_MS)
        return open_consumer(kind, options, self._java.get(kind))

    def transactional(self, kind: ClientKind, options: TransactionalOptions) -> TransactionalProducer:
        """As promised by `Clients.transactional`."""
        return open_transactional(kind, options, self._java.get(kind))

    def member(self, kind: ClientKind, options: MemberOptions) -> GroupMember:
        """As promised by `Clients.member`."""
        return join_group(kind, options, self._java.get(kind))

    def copier(self, kind: ClientKind, options: GroupOptions) -> GroupConsumer:
        """As promised by `Clients.copier`."""
        return open_member(kind, options, self._java.get(kind))

    def administrator(self, kind: ClientKind, options: AdministratorOptions) -> Administrator:
        """As promised by `Clients.administrator`."""
        return open_administrator(kind, options, self._java.get(kind))

    def share_consumer(self, options: ShareOptions) -> ShareConsumer:
        """As promised by `ShareClients.share_consumer`."""
        return open_share_consumer(options, self._java.get(ClientKind.JAVA))

    def share_admin(self, options: ShareAdminOptions) -> ShareAdmin:
        """As promised by `ShareClients.share_admin`."""
        return open_share_admin(options, self._java.get(ClientKind.JAVA))

    def streams_member(self, options: StreamsOptions, cancelled: Event) -> StreamsMember:
        """As promised by `Clients.streams_member`."""
        return open_streams(options, self._streams, cancelled)


class Holds(Protocol):
    """Delays single connections at a broker, as a recorded fault."""

    def host_of(self, broker: int) -> str:
        """Address of a broker, by its node id."""
        ...

    def hold(
        self, fault: str, broker: int, source_port: int, send: Callable[[], None]
    ) -> AbstractContextManager[None]:
        """As promised by `harness.faults.hold.ConnectionHolds.hold`."""
        ...

    def hold_broker(
        self, fault: str, broker: int, sender: int, send: Callable[[], None]
    ) -> AbstractContextManager[None]:
        """As promised by `harness.faults.hold.ConnectionHolds.hold_broker`."""
        ...


def clients_for(
    workload: Workload,
    bootstrap: tuple[str, ...],
    java: Mapping[ClientKind, JavaProcess] | None = None,
    streams: StartProcess | None = None,
) -> KafkaClients:
    """Clients whose producers have the workload's settings, or safe settings if it has none."""
    if isinstance(workload, LogWorkload):
        return KafkaClients(
            bootstrap,
            workload.acks,
            idempotent=workload.idempotent,
            pipelined=workload.pipelined,
            java=java,
            streams=streams,
        )
    return KafkaClients(bootstrap, java=java)


class WorkloadContext(msgspec.Struct, Generic[W_co], frozen=True):
    """One run of a workload.

    Attributes:
        workload: kind and size of the load.
        journals: the run's journals, with its id and clock.
        clients: makes clients for records without transactions.
        bootstrap: ``host:port`` of every broker's CLIENT listener, for other kinds of clients.
        brokers: every broker's OBSERVE listener, which faults of clients' connections do not affect.
        holds: delays connections, for workloads that are scripts; None if that is not possible.
        controllers: every controller's CONTROLLER listener.
        sizes: known numbers of partitions, including added ones.
        deletions: gets acknowledged deletions of records.
        highest: highest offsets that members of share groups received.
    """

    workload: W_co
    journals: Journals
    clients: Clients
    bootstrap: tuple[str, ...] = ()
    brokers: tuple[Address, ...] = ()
    holds: Holds | None = None
    controllers: tuple[Address, ...] = ()
    sizes: TopicSizes = msgspec.field(default_factory=TopicSizes)
    deletions: DeletionListeners = msgspec.field(default_factory=DeletionListeners)
    highest: HighestOffsets = msgspec.field(default_factory=HighestOffsets)

    def partitions_of(self, topic: str) -> range:
        """Numbers of the partitions of a topic of the workload, including added partitions."""
        return range(max(self.workload.partitions, self.sizes.of(topic)))

    @property
    def libraries(self) -> tuple[ClientKind, ...]:
        """Libraries of the load's clients, in turn."""
        return libraries_of(self.workload)

    @property
    def topic(self) -> str:
        """The workload's first topic, which exists."""
        return self.workload.topics[0].name

    @property
    def topics(self) -> tuple[str, ...]:
        """All topics of the workload; they exist."""
        return tuple(topic.name for topic in self.workload.topics)

    @property
    def codec(self) -> ValueCodec:
        """Values of this run."""
        return ValueCodec(self.journals.run)

    @property
    def probe(self) -> int:
        """Worker number of the write probe; then come the final readers and the workload's final workers."""
        return self.workload.processes

    @property
    def first_final_worker(self) -> int:
        """Number of the first of the workload's own workers in the phase final-read."""
        return self.probe + 1 + len(self.final_readers)

    @property
    def final_readers(self) -> tuple[tuple[ClientKind, Isolation], ...]:
        """Client libraries and isolation levels of the final readers."""
        return final_readers_of(self.workload)

    @property
    def workers(self) -> int:
        """Number of all workers: the load's processes, the write probe, the final readers and workers.

        A retired process's successor has so much higher a number.
        """
        return workers_of(self.workload)

    def record(self, partition: int, value: int) -> ProducerRecord:
        """The record with a value, and with the key that the workload defines for it."""
        key = self.workload.key_of(value)
        encoded = None if key is None else str(key).encode()
        return ProducerRecord(partition, self.codec.encode(value), encoded, self.workload.is_tombstone(value))

    def topic_record(self, topic: str, partition: int, value: int) -> TopicRecord:
        """The same record of a topic, for a transaction."""
        return TopicRecord(topic, *self.record(partition, value))

    def recorder(self, number: int, role: str | None = None) -> Recorder:
        """The recorder of worker `number`, with a separate journal that states its role."""
        return Recorder(self.journals.open(f"worker-{number}", role), number, self.workers)


def workers_of(workload: Workload) -> int:
    """Number of all workers of a workload; see `WorkloadContext.workers`."""
    return workload.processes + 1 + len(final_readers_of(workload)) + _final_workers_of(workload)


def _final_workers_of(workload: Workload) -> int:
    """Worker numbers of the phase final-read; a higher one is that of a retired process's successor."""
    needed = 0
    if isinstance(workload, OffsetsWorkload):
        needed = len(workload.libraries) + 1
    if isinstance(workload, GroupsWorkload | ShareWorkload):
        needed = len(workload.groups)
    return max(FINAL_WORKERS, needed)


def libraries_of(workload: Workload) -> tuple[ClientKind, ...]:
    """Libraries of a workload's clients, in turn; see `WorkloadContext.libraries`."""
    if isinstance(workload, LogWorkload | OffsetsWorkload):
        return tuple(ClientKind(name) for name in workload.libraries)
    return EMBEDDED


def uses(workload: Workload, kind: ClientKind) -> bool:
    """Whether a load, or its final read, has clients of a library, members of Kafka Streams included."""
    of_streams = isinstance(workload, StreamsWorkload) and kind is ClientKind.JAVA
    return of_streams or has_clients(workload, kind)


def has_clients(workload: Workload, kind: ClientKind) -> bool:
    """The same without members of Kafka Streams, which have processes of their own."""
    named = workload.member_libraries if isinstance(workload, GroupsWorkload) else {}
    members = chain.from_iterable(named.values())
    copiers = workload.copiers if isinstance(workload, CopyWorkload) else ()
    return kind in (*libraries_of(workload), *members, *copiers, *workload.final_clients)


def final_readers_of(workload: Workload) -> tuple[tuple[ClientKind, Isolation], ...]:
    """Client and isolation level of each final reader; see `WorkloadContext.final_readers`."""
    return tuple((ClientKind(name), isolation) for name in workload.final_clients for isolation in Isolation)


LogContext = WorkloadContext[LogWorkload]
