"""The interface of members of an application of Kafka Streams that counts records by key."""

from typing import NamedTuple, Protocol

import msgspec

NOT_STARTED = "NOT_STARTED"
"""The state of a member whose client has not been made."""
RUNNING = "RUNNING"
"""The state of a member that has its tasks."""


class StreamsOptions(msgspec.Struct, frozen=True):
    """How a member behaves.

    Attributes:
        bootstrap: ``host:port`` of every broker.
        application: id of the application, and of its group.
        member: name of the member in the output.
        source: the topic that it reads.
        target: the topic that it writes.
        request_ms: how long one request may take.
        transaction_timeout_ms: time after which the coordinator aborts a transaction that was not ended.
    """

    bootstrap: tuple[str, ...]
    application: str
    member: str
    source: str
    target: str
    request_ms: int
    transaction_timeout_ms: int


class StreamsStatus(NamedTuple):
    """What a member reports about itself.

    Attributes:
        state: the state of its client, as Kafka Streams names it.
        processed: number of records that it has processed, also in transactions that were aborted.
        error: the last exception that ended one of its threads, which was replaced; None if there is none.
    """

    state: str
    processed: int
    error: str | None = None


class StreamsMember(Protocol):
    """A member in a process of its own; used by one thread."""

    def status(self) -> StreamsStatus:
        """What it reports about itself.

        Raises:
            ReadError: it did not answer in time.
        """
        ...

    def kill(self) -> None:
        """End its process at once (SIGKILL); its transaction stays open."""
        ...

    def close(self, timeout_s: float) -> None:
        """Let it commit and leave its group, and end its process; no answer in time ends that by SIGKILL.

        Raises:
            ClientFailedError: it did not end by itself within `timeout_s`.
        """
        ...
