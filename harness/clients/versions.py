"""Versions of the client libraries."""

from importlib import metadata

from harness.clients.interface import JAVA_KINDS, ClientKind


def version_of(kind: ClientKind, kafka_version: str, java_version: str | None = None) -> str:
    """The version of a library that a run uses; kafka-clients has the run's version of Kafka.

    Args:
        kind: the library.
        kafka_version: the run's version of Kafka.
        java_version: the other version of kafka-clients that the workload names; None: it names none.
    """
    if kind is ClientKind.OTHER_JAVA and java_version is not None:
        return java_version
    return kafka_version if kind in JAVA_KINDS else metadata.version(kind)
