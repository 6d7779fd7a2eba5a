"""Messages between a client in the run's process and the JVM's; pickled, because both run the same code."""

from typing import Any, NamedTuple

from harness.clients.administrator import AdministratorOptions
from harness.clients.group import MemberOptions
from harness.clients.interface import ConsumerOptions, ProducerOptions
from harness.clients.share import ShareAdminOptions, ShareOptions
from harness.clients.streams import StreamsOptions
from harness.clients.transactional import GroupOptions, TransactionalOptions

Options = (
    ProducerOptions
    | ConsumerOptions
    | TransactionalOptions
    | MemberOptions
    | GroupOptions
    | ShareOptions
    | ShareAdminOptions
    | StreamsOptions
    | AdministratorOptions
)


class ClientCall(NamedTuple):
    """A method of a client, and its arguments; the first message of a connection has the client's options."""

    method: str
    arguments: tuple[Any, ...]


class Returned(NamedTuple):
    """A method returned this."""

    value: Any


class Raised(NamedTuple):
    """A method raised this."""

    error: Exception


Answer = Returned | Raised
