"""Clients made by kind: the one place that knows every implementation."""

from harness.clients.confluent import ConfluentConsumer, ConfluentProducer
from harness.clients.interface import (
    ClientKind,
    ConsumerOptions,
    LogConsumer,
    LogProducer,
    ProducerOptions,
)
from harness.clients.kafka_python import KafkaPythonConsumer, KafkaPythonProducer


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
