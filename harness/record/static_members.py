"""Which static members of groups are away, so that a gambit can act while one is."""

import threading

from harness.record.events import StaticMemberSeen

Away = dict[tuple[str, str], int]
"""Group and instance id of each member that is away, and how many times it has left so far."""


class StaticMembers:
    """What the load reported about static members; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leaves: dict[tuple[str, str], int] = {}
        self._away: set[tuple[str, str]] = set()

    def hear(self, seen: StaticMemberSeen) -> None:
        """Note that a member is away, or that it is not."""
        member = seen.group, seen.instance
        with self._lock:
            self._leaves[member] = self._leaves.get(member, 0) + seen.away
            if seen.away:
                self._away.add(member)
            else:
                self._away.discard(member)

    @property
    def groups(self) -> frozenset[str]:
        """Ids of the groups that have static members."""
        with self._lock:
            return frozenset(group for group, _ in self._leaves)

    def away(self) -> Away:
        """The members that are away."""
        with self._lock:
            return {member: self._leaves[member] for member in sorted(self._away)}
