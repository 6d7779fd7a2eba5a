"""Three client libraries behind one small interface, and the meaning of their errors."""

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
