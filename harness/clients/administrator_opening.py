"""Opens an administrator's client of either library."""

from collections.abc import Callable

from harness.clients.administrator import Administrator, AdministratorOptions
from harness.clients.administrator_confluent import ConfluentAdministrator
from harness.clients.administrator_kafka_python import KafkaPythonAdministrator
from harness.clients.interface import ClientKind, NotOfferedError

Make = Callable[[ClientKind, AdministratorOptions], Administrator]


def open_administrator(kind: ClientKind, options: AdministratorOptions) -> Administrator:
    """An administrator of this library.

    Raises:
        ClientFailedError: it could not be made; no request was sent.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonAdministrator(options)
        case ClientKind.CONFLUENT:
            return ConfluentAdministrator(options)
        case ClientKind.JAVA:
            raise NotOfferedError(kind)
