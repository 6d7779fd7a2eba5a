"""Opens clients of every kind; the only module that knows all implementations."""

from harness.clients.confluent import ConfluentConsumer, ConfluentProducer
from harness.clients.interface import (
    ClientKind,
    ConsumerOptions,
    LogConsumer,
    LogProducer,
    ProducerOptions,
)
from harness.clients.kafka_python import KafkaPythonConsumer, KafkaPythonProducer
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


def open_producer(kind: ClientKind, options: ProducerOptions) -> LogProducer:
    """A producer of this library.

    Raises:
        ClientFailedError: it could not be made; nothing was sent.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonProducer(options)
        case ClientKind.CONFLUENT:
            return ConfluentProducer(options)


def open_consumer(kind: ClientKind, options: ConsumerOptions) -> LogConsumer:
    """A consumer of this library.

    Raises:
        ClientFailedError: it could not be made; nothing was read.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonConsumer(options)
        case ClientKind.CONFLUENT:
            return ConfluentConsumer(options)


def open_transactional(kind: ClientKind, options: TransactionalOptions) -> TransactionalProducer:
    """A transactional producer of this library, not initialised.

    Raises:
        ClientFailedError: it could not be made; nothing was sent.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonTransactionalProducer(options)
        case ClientKind.CONFLUENT:
            return ConfluentTransactionalProducer(options)


def open_member(kind: ClientKind, options: GroupOptions) -> GroupConsumer:
    """A member of a group that commits its offsets in transactions.

    Raises:
        ClientFailedError: it could not be made; nothing was read.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonGroupConsumer(options)
        case ClientKind.CONFLUENT:
            return ConfluentGroupConsumer(options)
