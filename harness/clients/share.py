"""The interface of clients of share groups (KIP-932): members that acknowledge records, administrators."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from checkers.history.shares import AcknowledgeType


class ShareOptions(msgspec.Struct, frozen=True):
    """How a member of a share group behaves: it acknowledges explicitly and does not prefetch.

    Attributes:
        bootstrap: ``host:port`` of every broker.
        group: id of its share group.
        topic: what it subscribes to.
        request_ms: how long one request may take.
        poll_records_max: how many records one poll returns at most.
    """

    bootstrap: tuple[str, ...]
    group: str
    topic: str
    request_ms: int
    poll_records_max: int


class ShareAdminOptions(msgspec.Struct, frozen=True):
    """How an administrator of share groups behaves: where it asks, and how long one request may take."""

    bootstrap: tuple[str, ...]
    request_ms: int


class SharedRecord(NamedTuple):
    """A record that a member received.

    Attributes:
        partition: number of its partition.
        offset: its offset.
        value: its value.
        delivery_count: how often the group has delivered it.
        renewed: whether the member received it before, and the client returns it again because its lock was
            renewed.
    """

    partition: int
    offset: int
    value: bytes | None
    delivery_count: int
    renewed: bool = False


Acknowledgement = tuple[int, int, AcknowledgeType]
"""Partition, offset and type."""


class ShareConsumer(Protocol):
    """A member of a share group; used by one thread."""

    def poll(self, max_wait_s: float) -> list[SharedRecord]:
        """Wait for records; all of an earlier poll must have been acknowledged.

        After renewals it returns only the records whose locks were renewed, if there are some.

        Raises:
            ReadError: it failed.
        """
        ...

    def acknowledge(self, told: Sequence[Acknowledgement]) -> dict[int, str]:
        """Acknowledge records of the last poll, and wait for the answers.

        Returns:
            The partitions whose acknowledgements are not confirmed, with the error.

        Raises:
            ReadError: nothing is known of any of them.
        """
        ...

    def close(self, timeout_s: float) -> None:
        """Close it; what it holds becomes available, at once or when its locks end.

        Raises:
            ClientFailedError: it did not end in time.
        """
        ...


class ShareAdmin(Protocol):
    """An administrator of share groups; used by one thread."""

    def configure(self, group: str, configs: Mapping[str, str]) -> None:
        """Set configs of a group (IncrementalAlterConfigs).

        Raises:
            ReadError: they may not be set.
        """
        ...

    def starts(self, group: str, topic: str, partitions: Sequence[int]) -> dict[int, int | None]:
        """Start offsets of share partitions; None where there is none yet.

        Raises:
            ReadError: there was no answer.
        """
        ...

    def close(self, timeout_s: float) -> None:
        """Close it.

        Raises:
            ClientFailedError: it did not end in time.
        """
        ...
