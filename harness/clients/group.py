"""The interface of a group member that commits its own offsets.

In the classic protocol a member joins and is assigned partitions by its group's leader.  Its commits have its
id and its group's generation, by which the coordinator fences removed members.  In KIP-848's protocol the
coordinator assigns, and the member's own epoch replaces the generation.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from checkers.history.polls import Membership
from harness.clients.administrator import AdminAnswer
from harness.clients.interface import Message


class Assigned(NamedTuple):
    """A new assignment: partition to the offset where reading begins, and the membership."""

    starts: Mapping[int, int]
    membership: Membership | None


class PolledRecords(NamedTuple):
    """The result of one poll: records in their order, and their assignment if it is new.

    `membership` is set if the member's membership changed without a new assignment.
    """

    messages: list[Message]
    assigned: Assigned | None = None
    membership: Membership | None = None


class MemberOptions(msgspec.Struct, frozen=True):
    """Options of a member; it has eager rebalances in the classic protocol, read_uncommitted, no auto-commit.

    Attributes:
        bootstrap: ``host:port`` of every broker.
        group: the group's id.
        topic: the topic that it subscribes to.
        session_ms: time without a heartbeat after which the group removes it.
        poll_interval_ms: time without a poll after which the group removes it; this is also how long a
            rebalance waits for a member.
        heartbeat_ms: time between heartbeats.
        request_ms: how long one request may take.
        connect_ms: how long finding the cluster may take when the client is made.
        commit_ms: time after which a commit returns, whatever its outcome.
        poll_records_max: maximum number of records that one poll returns.
        modern: whether it uses KIP-848's protocol, in which brokers set the length of a session.
        assignors: names of assignors, its favourite first.  A classic member offers all of them; all must be
            eager.  A member of KIP-848's protocol requests the first one from the coordinator.
        pattern: whether a member of KIP-848's protocol subscribes by a regular expression that only the topic
            matches; ignored in the classic protocol, in which clients evaluate it.
        instance: its ``group.instance.id``, with which it is a static member (KIP-345); None: it is dynamic.
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
    assignors: tuple[str, ...] = ("range",)
    pattern: bool = False
    instance: str | None = None


class GroupMember(Protocol):
    """A member of a group; used by one thread.

    With every new assignment it fetches the group's committed offsets and begins there, or at offset 0 of
    partitions without a committed offset.
    """

    @property
    def owned(self) -> frozenset[int]:
        """Partitions that were assigned to it and not revoked since."""
        ...

    def poll(self, max_wait_s: float) -> PolledRecords:
        """The next records, all of one assignment; rebalances happen only within this call.

        Raises:
            ReadError: the library reported an error, or the committed offsets could not be read.
        """
        ...

    def commit(self, offsets: Mapping[int, int]) -> AdminAnswer:
        """Commit the offsets of the next records to read, by partition; never raises.

        The outcome is ``fail`` only if the commit certainly did not happen and never will.
        """
        ...

    def close(self, timeout_s: float) -> None:
        """Leave the group and close it, in any state of the cluster.

        Raises:
            ClientFailedError: it did not end within `timeout_s`.
        """
        ...
