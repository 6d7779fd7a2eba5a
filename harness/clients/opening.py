"""Opens clients of every kind; the only module that imports all implementations."""

from threading import Event

from harness.clients.confluent import ConfluentConsumer, ConfluentProducer
from harness.clients.interface import (
    ClientKind,
    ConsumerOptions,
    LogConsumer,
    LogProducer,
    NotOfferedError,
    ProducerOptions,
)
from harness.clients.java.process import JavaProcess, StartProcess, needed
from harness.clients.java.remote import (
    RemoteConsumer,
    RemoteGroupConsumer,
    RemoteProducer,
    RemoteShareAdmin,
    RemoteShareConsumer,
    RemoteStreams,
    RemoteTransactionalProducer,
)
from harness.clients.kafka_python import KafkaPythonConsumer, KafkaPythonProducer
from harness.clients.share import ShareAdmin, ShareAdminOptions, ShareConsumer, ShareOptions
from harness.clients.streams import StreamsMember, StreamsOptions
from harness.clients.transactional import (
    GroupConsumer,
    GroupOptions,
    TransactionalOptions,
    TransactionalProducer,
)
from harness.clients.transactional_confluent import ConfluentGroupConsumer, ConfluentTransactionalProducer
from harness.clients.transactional_kafka_python import (
    KafkaPythonGroupConsumer,
    KafkaPythonTransactionalProducer,
)


def open_producer(kind: ClientKind, options: ProducerOptions, java: JavaProcess | None = None) -> LogProducer:
    """A producer of this library.

    Args:
        kind: the library.
        options: how it behaves.
        java: the process of this version of kafka-clients, if the load has one.

    Raises:
        ClientFailedError: it could not be made; nothing was sent.
        NotOfferedError: kafka-clients without a process.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonProducer(options)
        case ClientKind.CONFLUENT:
            return ConfluentProducer(options)
        case ClientKind.JAVA | ClientKind.OTHER_JAVA:
            return RemoteProducer(needed(java), options)


def open_consumer(kind: ClientKind, options: ConsumerOptions, java: JavaProcess | None = None) -> LogConsumer:
    """A consumer of this library; arguments as those of `open_producer`.

    Raises:
        ClientFailedError: it could not be made; nothing was read.
        NotOfferedError: kafka-clients without a process.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonConsumer(options)
        case ClientKind.CONFLUENT:
            return ConfluentConsumer(options)
        case ClientKind.JAVA | ClientKind.OTHER_JAVA:
            return RemoteConsumer(needed(java), options)


def open_transactional(
    kind: ClientKind, options: TransactionalOptions, java: JavaProcess | None = None
) -> TransactionalProducer:
    """A transactional producer of this library, not initialised; arguments as those of `open_producer`.

    Raises:
        ClientFailedError: it could not be made; nothing was sent.
        NotOfferedError: kafka-clients without a process.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonTransactionalProducer(options)
        case ClientKind.CONFLUENT:
            return ConfluentTransactionalProducer(options)
        case ClientKind.JAVA | ClientKind.OTHER_JAVA:
            return RemoteTransactionalProducer(needed(java), options)


def open_member(kind: ClientKind, options: GroupOptions, java: JavaProcess | None = None) -> GroupConsumer:
    """A member of a group that commits its offsets in transactions; arguments as those of `open_producer`.

    Raises:
        ClientFailedError: it could not be made; nothing was read.
        NotOfferedError: kafka-clients without a process.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonGroupConsumer(options)
        case ClientKind.CONFLUENT:
            return ConfluentGroupConsumer(options)
        case ClientKind.JAVA | ClientKind.OTHER_JAVA:
            return RemoteGroupConsumer(needed(java), options)


def open_share_consumer(options: ShareOptions, java: JavaProcess | None) -> ShareConsumer:
    """A member of a share group, which only kafka-clients has.

    Raises:
        ClientFailedError: it could not be made; nothing was read.
        NotOfferedError: there is no process of kafka-clients.
    """
    return RemoteShareConsumer(needed(java), options)


def open_share_admin(options: ShareAdminOptions, java: JavaProcess | None) -> ShareAdmin:
    """An administrator of share groups, which only kafka-clients has.

    Raises:
        ClientFailedError: it could not be made; nothing was asked.
        NotOfferedError: there is no process of kafka-clients.
    """
    return RemoteShareAdmin(needed(java), options)


def open_streams(options: StreamsOptions, start: StartProcess | None, cancelled: Event) -> StreamsMember:
    """A member of an application of Kafka Streams, in a process of its own.

    Args:
        options: how it behaves; its name is that of the process.
        start: starts processes.
        cancelled: when set, the start of the process is no longer awaited.

    Raises:
        StartCancelledError: the start is no longer awaited.
        ClientFailedError: it could not be made.
        NotOfferedError: the load has no such members.
    """
    if start is None:
        raise NotOfferedError("members of Kafka Streams without what starts their processes")
    return RemoteStreams(start(options.member, cancelled), options)
