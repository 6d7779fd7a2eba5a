"""The interface of an administrator's client: committed offsets, configs and topics."""

from typing import Any, NamedTuple, Protocol

import msgspec

from checkers.history.operations import OperationType


class AdminAnswer(NamedTuple):
    """The result of one request: ok, fail or info, with a value if ok, and an error otherwise."""

    outcome: OperationType
    value: Any = None
    error: str | None = None


class AdministratorOptions(msgspec.Struct, frozen=True):
    """How an administrator's client behaves.

    Attributes:
        bootstrap: ``host:port`` of every broker.
        request_ms: how long one request may take.
        connect_ms: how long finding the cluster may take when the client is made.
        operation_ms: time after which a call returns, whatever its outcome.
    """

    bootstrap: tuple[str, ...]
    request_ms: int = 2_000
    connect_ms: int = 2_500
    operation_ms: int = 2_500


class Administrator(Protocol):
    """Sends one request at a time; used by one thread; no call raises, all return within `operation_ms`.

    A request that only reads ends with ``fail`` if it fails, because nothing was read.
    """

    @property
    def spent(self) -> bool:
        """Whether it can no longer be used after an error, and must be closed."""
        ...

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> AdminAnswer:
        """OffsetCommit by a client that is not a member of the group (generation -1)."""
        ...

    def committed_offset(self, group: str, topic: str, partition: int) -> AdminAnswer:
        """OffsetFetch; the value is the offset, None where nothing is committed."""
        ...

    def alter_config(self, topic: str, key: str, value: int) -> AdminAnswer:
        """IncrementalAlterConfigs of one number of a topic."""
        ...

    def config(self, topic: str, key: str) -> AdminAnswer:
        """DescribeConfigs; the value is the number, or None if the config is not set for the topic."""
        ...

    def create_topic(self, topic: str, partitions: int, replication_factor: int) -> AdminAnswer:
        """CreateTopics; the value is the topic's id, None if the library does not report it."""
        ...

    def delete_topic(self, topic: str) -> AdminAnswer:
        """DeleteTopics, by name."""
        ...

    def close(self, timeout_s: float) -> None:
        """Close it, in any state of the cluster.

        Raises:
            ClientFailedError: it did not end within `timeout_s`.
        """
        ...
