"""The interface of a group member that commits its own offsets.

The classic protocol: a member joins, is assigned partitions by its group's leader, and whatever it commits
carries its id and its group's generation, by which the coordinator fences those that it continued without.
KIP-848's: the coordinator assigns, and the member's own epoch stands for the generation.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from harness.clients.administrator import Answer
from harness.clients.interface import Message


class Membership(NamedTuple):
    """Who a member is to its group's coordinator."""

    member: str
    generation: int


class Assigned(NamedTuple):
    """A new assignment: where reading begins, partition to offset, and who the member is in it."""

    starts: Mapping[int, int]
    membership: Membership | None


class Gathered(NamedTuple):
    """What one poll returned: records in their order, and the assignment that they begin, if it is new.

    `membership` is who the member is from now on, where that changed without a new assignment.
    """

    messages: list[Message]
    assigned: Assigned | None = None
    membership: Membership | None = None


class MemberOptions(msgspec.Struct, frozen=True):
    """How a member behaves: the range assignor, eager rebalances, read_uncommitted, commits by nobody else.

    Attributes:
        bootstrap: ``host:port`` of every broker.
        group: the group's id.
        topic: what it subscribes to.
        session_ms: after so long without a heartbeat the group continues without it.
        poll_interval_ms: after so long without a poll likewise; a rebalance waits no longer for anybody.
        heartbeat_ms: between heartbeats.
        request_ms: how long one request may take.
        connect_ms: how long finding the cluster may take when the client is made.
        commit_ms: after so long a commit returns, whatever has become of it.
        poll_records_max: how many records one poll returns at most.
        modern: whether it is of KIP-848's protocol, in which brokers say how long a session is.
    """

    bootstrap: tuple[str, ...]
    group: str
    topic: str
    session_ms: int = 6_000
    poll_interval_ms: int = 7_000
    heartbeat_ms: int = 500
    request_ms: int = 2_000
    connect_ms: int = 2_500
    commit_ms: int = 2_500
    poll_records_max: int = 200
    modern: bool = False


class GroupMember(Protocol):
    """A member of a group; used by one thread.

    With every new assignment it asks for the group's committed offsets and begins there, or at offset 0 of
    partitions where none is committed.
    """

    @property
    def owned(self) -> frozenset[int]:
        """Partitions that it was assigned and that were not revoked since."""
        ...

    def poll(self, max_wait_s: float) -> Gathered:
        """The next records, all of one assignment; rebalances happen in here alone.

        Raises:
            ReadError: the library reported an error, or the committed offsets could not be read.
        """
        ...

    def commit(self, offsets: Mapping[int, int]) -> Answer:
        """Commit where the group is to continue, partition to offset; never raises.

        ``fail`` only if it certainly did not happen and never will.
        """
        ...

    def close(self, timeout_s: float) -> None:
        """Leave the group and close it, whatever state the cluster is in.

        Raises:
            ClientFailedError: it did not end within `timeout_s`.
        """
        ...
