"""Three client libraries behind one small interface, and what their errors mean."""

from checkers.history.polls import Isolation
from harness.clients.interface import (
    EMBEDDED,
    ClientFailedError,
    ClientKind,
    ConsumerOptions,
    LogConsumer,
    LogProducer,
    Message,
    NotOfferedError,
    ProducerOptions,
    ProducerRecord,
    ReadError,
    SendResult,
)

__all__ = [
    "EMBEDDED",
    "ClientFailedError",
    "ClientKind",
    "ConsumerOptions",
    "Isolation",
    "LogConsumer",
    "LogProducer",
    "Message",
    "NotOfferedError",
    "ProducerOptions",
    "ProducerRecord",
    "ReadError",
    "SendResult",
]
