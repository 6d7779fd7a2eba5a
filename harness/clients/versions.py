"""Versions of the client libraries."""

from importlib import metadata

from harness.clients.interface import ClientKind


def version_of(kind: ClientKind, kafka_version: str) -> str:
    """The version of a library that a run uses; kafka-clients has the run's version of Kafka."""
    return kafka_version if kind is ClientKind.JAVA else metadata.version(kind)
