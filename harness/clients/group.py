"""The interface of a group member that commits its own offsets.

In the classic protocol a member joins and is assigned partitions by its group's leader.  Its commits have its
id and its group's generation, by which the coordinator fences removed members.  In KIP-848's protocol the
coordinator assigns, and the member's own epoch replaces the generation.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from harness.clients.administrator import AdminAnswer
from harness.clients.interface import Message


class Membership(NamedTuple):
    """Who a member is to its group's coordinator."""

    member: str
    generation: int


class Assigned(NamedTuple):
    """A new assignment: where reading begins, partition to offset, and who the member is in it."""

    starts: Mapping[int, int]
    membership: Membership | None


class PolledRecords(NamedTuple):
    """What one poll returned: records in their order, and the assignment that they begin, if it is new.

    `membership` is who the member is from now on, where that changed without a new assignment.
    """

    messages: list[Message]
    assigned: Assigned | None = None
    membership: Membership | None = None


class MemberOptions(msgspec.Struct, frozen=True):
    """Options of a member; it has the range assignor, eager rebalances, read_uncommitted, no auto-commit.

    Attributes:
        bootstrap: ``host:port`` of every broker.
        group: the group's id.
        topic: what it subscribes to.
        session_ms: time without a heartbeat after which the group removes it.
        poll_interval_ms: time without a poll after which the group removes it; a rebalance waits no longer
            for a member.
        heartbeat_ms: time between heartbeats.
        request_ms: how long one request may take.
        connect_ms: how long finding the cluster may take when the client is made.
        commit_ms: time after which a commit returns, whatever its outcome.
        poll_records_max: how many records one poll returns at most.
        modern: whether it uses KIP-848's protocol, in which brokers set the length of a session.
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

    def poll(self, max_wait_s: float) -> PolledRecords:
        """The next records, all of one assignment; rebalances happen in here alone.

        Raises:
            ReadError: the library reported an error, or the committed offsets could not be read.
        """
        ...

    def commit(self, offsets: Mapping[int, int]) -> AdminAnswer:
        """Commit where the group is to continue, partition to offset; never raises.

        ``fail`` only if it certainly did not happen and never will.
        """
        ...

    def close(self, timeout_s: float) -> None:
        """Leave the group and close it, in any state of the cluster.

        Raises:
            ClientFailedError: it did not end within `timeout_s`.
        """
        ...
