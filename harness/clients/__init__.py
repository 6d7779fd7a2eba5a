"""Two client libraries behind one small interface, and what their errors mean."""

from checkers.history.polls import Isolation
from harness.clients.interface import (
    ClientFailedError,
    ClientKind,
    ConsumerOptions,
    LogConsumer,
    LogProducer,
    Message,
    ProducerOptions,
    ReadError,
    Record,
    Sent,
)

__all__ = [
    "ClientFailedError",
    "ClientKind",
    "ConsumerOptions",
    "Isolation",
    "LogConsumer",
    "LogProducer",
    "Message",
    "ProducerOptions",
    "ReadError",
    "Record",
    "Sent",
]
