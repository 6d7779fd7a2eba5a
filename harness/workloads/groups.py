"""The groups workload: members of consumer groups join, leave, stall, and commit offsets."""

import random
import time
from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec

from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from checkers.history.units import MS_PER_S
from harness.clients.administrator import AdminAnswer
from harness.clients.group import GroupMember, MemberOptions
from harness.clients.group_opening import Join
from harness.clients.group_outdated import commit_as, reset_offsets
from harness.clients.interface import EMBEDDED, ClientKind
from harness.record.events import StaticMemberSeen
from harness.vocabulary import GroupsWorkload
from harness.workloads.consuming import POLL_PAUSE_S
from harness.workloads.context import REQUEST_MS, WorkloadContext
from harness.workloads.groups_member import Former, Membered

GHOST_SHARE = 0.5
"""Share of members that still commit with their old membership after they left or changed generation."""
COMMIT_SHARE = 0.7
"""Share of polls after which offsets are committed; after the others they are committed later."""
MODERN_SHARE = 0.5
"""Share of members of mixed groups that use KIP-848's protocol."""
EARLY_INTERVAL_S = 5.0
"""Mean time between a member's commits with a future generation."""
RESET_INTERVAL_S = 5.0
"""Mean time between requests of a member's process, sent as a non-member, to reset its group's offsets."""
_TO_COME = (1_000, 10_000)
"""By how much the future generation exceeds the member's: the group can't have reached it meanwhile."""
_STALL_S = (0.5, 4.0)
"""How long a member stalls in addition to the time that its group waits."""

AWAY_INTERVAL_S = 6.0
"""Mean time between two times away of a static member of a modern group."""
AWAY_S = (2.0, 4.0)
"""How long it stays away: less than its session of 6 s, and long enough for a change of the coordinator."""

GroupsContext = WorkloadContext[GroupsWorkload]
Reset = Callable[[MemberOptions, Mapping[int, int]], AdminAnswer]
"""Sets a group's offsets, as `harness.clients.group_outdated.reset_offsets` does."""
CommitAs = Callable[[MemberOptions, Membership, Mapping[int, int]], AdminAnswer]
"""Commits for a former member, as `harness.clients.group_outdated.commit_as` does."""


class Churn(StrEnum):
    """What a member does in addition to reading."""

    LEAVE = "leave"
    """It leaves its group and returns as a new member."""
    STALL = "stall"
    """It does nothing for so long that its group continues without it, and then commits its offsets."""


CHURNS = tuple(Churn)
"""The actions from which a member draws."""


def kind_of(workload: GroupsWorkload, group: int, place: int = 0) -> ClientKind:
    """Library of a member, by its group's index and its place in the group."""
    named = workload.member_libraries.get(workload.groups[group])
    return ClientKind(named[place % len(named)]) if named else EMBEDDED[group % len(EMBEDDED)]


def options_of(context: GroupsContext, group: int, place: int = 0) -> MemberOptions:
    """How a member behaves, by the group's index and the member's place in the group."""
    workload = context.workload
    name = workload.groups[group]
    modern = name in workload.modern or name in workload.mixed
    static = name in workload.static or (name in workload.modern and place < workload.instances)
    return MemberOptions(
        context.bootstrap,
        name,
        context.topic,
        session_ms=workload.session_ms,
        poll_interval_ms=workload.poll_interval_ms,
        request_ms=REQUEST_MS,
        modern=modern,
        assignors=workload.assignors if modern else ("range",),
        pattern=modern and place >= workload.members - workload.patterns,
        instance=f"{name}-{place}" if static else None,
    )


class MemberWorker(Membered):
    """A member that reads and commits until stopped, and from time to time leaves or stalls.

    Those that `GroupsWorkload.instances` makes static also stay away from time to time.
    """

    def __init__(
        self,
        context: GroupsContext,
        index: int,
        join: Join,
        commit_late: CommitAs = commit_as,
        reset: Reset = reset_offsets,
    ) -> None:
        workload = context.workload
        number = workload.first_member + index
        group, place = divmod(index, workload.members)
        kind = kind_of(workload, group, place)
        super().__init__(context, number, kind, options_of(context, group, place), join)
        self._workload = workload
        self._commit_late = commit_late
        self._random = random.Random(workload.first_member + index)
        self._next_churn_s = time.monotonic() + self._until_churn_s()
        self._random_early = random.Random(f"early {number}")
        self._next_early_s = time.monotonic() + self._until_early_s()
        self._reset_by = reset
        self._random_resets = random.Random(f"reset {number}")
        self._random_protocols = random.Random(f"protocol {number}")
        self._random_assignors = random.Random(f"assignor {number}")
        self._next_reset_s = time.monotonic() + self._until_reset_s()
        self._goes_away = self.group in workload.modern and place < workload.instances
        self._random_away = random.Random(f"away {number}")
        self._next_away_s = time.monotonic() + self._until_away_s()

    def work(self) -> None:
        """Read and commit."""
        if self._goes_away:
            self._announce(away=False)
        try:
            while not self.stopping.is_set():
                member = self.joined()
                if member is not None and not self._turn(member):
                    self.leave()
                self.stopping.wait(POLL_PAUSE_S)
        finally:
            self.leave()

    def joined(self) -> GroupMember | None:
        """The member; each new one draws its assignors, and in a mixed group its protocol."""
        if self._member is None and (self.options.modern or self.group in self._workload.mixed):
            self.options = self._drawn()
        return super().joined()

    def _drawn(self) -> MemberOptions:
        """Options of a new member of a group with KIP-848's protocol, or with both protocols."""
        workload = self._workload
        mixed = self.group in workload.mixed
        modern = not mixed or self._random_protocols.random() < MODERN_SHARE
        among = workload.assignors if modern else workload.offered
        assignors = tuple(self._random_assignors.sample(among, len(among)))
        return msgspec.structs.replace(self.options, modern=modern, assignors=assignors)

    def _turn(self, member: GroupMember) -> bool:
        """Poll once, then commit or churn; returns whether this member may continue."""
        if not self.poll_once(member) or not self._repeated() or not self._anticipated() or not self._reset():
            return False
        if self._goes_away and self.pending and time.monotonic() >= self._next_away_s:
            self._stay_away()
            return False
        if self.pending and time.monotonic() >= self._next_churn_s:
            self._next_churn_s = time.monotonic() + self._until_churn_s()
            return self._churn(self._random.choice(CHURNS))
        if self._random.random() < COMMIT_SHARE:
            return self.commit_once(member.commit) is not OperationType.INFO
        return True

    def _churn(self, churn: Churn) -> bool:
        """Leave or stall, then perhaps commit late; returns whether the member may continue."""
        membership = self.membership
        if churn is Churn.LEAVE:
            self.leave()
            return self._random.random() >= GHOST_SHARE or self._committed_late(membership)
        waits_ms = max(self._workload.session_ms, self._workload.poll_interval_ms)
        self.stopping.wait(waits_ms / MS_PER_S + self._random.uniform(*_STALL_S))
        return self._committed_late(membership)

    def _stay_away(self) -> None:
        """Leave for a while: the group keeps the place of a static member until its session ends (KIP-345).

        The run hears of it, so that a gambit may give the group another coordinator meanwhile.
        """
        if self.leave():
            self._announce(away=True)
            self.stopping.wait(self._random_away.uniform(*AWAY_S))
            self._announce(away=False)
        self._next_away_s = time.monotonic() + self._until_away_s()

    def _announce(self, *, away: bool) -> None:
        self._context.journals.announce(StaticMemberSeen(self.group, str(self.options.instance), away))

    def _committed_late(self, membership: Membership | None) -> bool:
        """Commit pending offsets with the old membership; returns whether the outcome is known."""
        offsets, self.pending = self.pending, {}
        return membership is None or not offsets or self._sent_late(Former(membership, offsets))

    def _repeated(self) -> bool:
        """In a new generation, commit with the previous one; returns whether the outcome is known."""
        former, self.former = self.former, None
        return former is None or self._random.random() >= GHOST_SHARE or self._sent_late(former)

    def _anticipated(self) -> bool:
        """Sometimes commit with a future generation; returns whether the outcome is known."""
        now = self.membership
        if now is None or not self.positions or time.monotonic() < self._next_early_s:
            return True
        self._next_early_s = time.monotonic() + self._until_early_s()
        to_come = now._replace(generation=now.generation + self._random_early.randint(*_TO_COME))
        return self._sent_late(Former(to_come, self.positions))

    def _reset(self) -> bool:
        """Sometimes set the group's offsets back; returns whether the outcome is known.

        Kafka accepts this only if the group has no members.  Then the group reads earlier records again.
        """
        if not self.positions or time.monotonic() < self._next_reset_s:
            return True
        self._next_reset_s = time.monotonic() + self._until_reset_s()
        offsets = {p: self._random_resets.randint(0, offset) for p, offset in self.positions.items()}

        def commit(offsets: Mapping[int, int]) -> AdminAnswer:
            return self._reset_by(self.options, offsets)

        return self.reset(offsets, commit) is not OperationType.INFO

    def _until_reset_s(self) -> float:
        return self._random_resets.expovariate(1.0 / RESET_INTERVAL_S)

    def _until_away_s(self) -> float:
        return self._random_away.expovariate(1.0 / AWAY_INTERVAL_S)

    def _until_early_s(self) -> float:
        return self._random_early.expovariate(1.0 / EARLY_INTERVAL_S)

    def _sent_late(self, former: Former) -> bool:
        """Commit with a membership that the member does not have; returns whether the outcome is known."""

        def commit(offsets: Mapping[int, int]) -> AdminAnswer:
            return self._commit_late(self.options, former.membership, offsets)

        return self.committed(former.positions, former.membership, commit) is not OperationType.INFO

    def _until_churn_s(self) -> float:
        members = self._workload.members * len(self._workload.groups)
        mean_s = self._workload.churn_interval_ms * members / MS_PER_S
        return self._random.expovariate(1.0 / mean_s)
