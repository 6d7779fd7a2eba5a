"""Opens an administrator's client of every library."""

from collections.abc import Callable

from harness.clients.administrator import Administrator, AdministratorOptions
from harness.clients.administrator_confluent import ConfluentAdministrator
from harness.clients.administrator_kafka_python import KafkaPythonAdministrator
from harness.clients.interface import ClientKind
from harness.clients.java.process import JavaProcess, needed
from harness.clients.java.remote import RemoteAdministrator

Make = Callable[[ClientKind, AdministratorOptions], Administrator]
"""Makes administrators, as `harness.workloads.context.Clients.administrator` does."""


def open_administrator(
    kind: ClientKind, options: AdministratorOptions, java: JavaProcess | None = None
) -> Administrator:
    """An administrator of this library; arguments as those of `harness.clients.opening.open_producer`.

    Raises:
        ClientFailedError: it could not be made; no request was sent.
        NotOfferedError: kafka-clients without a process.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonAdministrator(options)
        case ClientKind.CONFLUENT:
            return ConfluentAdministrator(options)
        case ClientKind.JAVA | ClientKind.OTHER_JAVA:
            return RemoteAdministrator(needed(java), options)
