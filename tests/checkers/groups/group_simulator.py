"""Simulates a group, its coordinator and its members, and coordinators with known defects.

A correct coordinator refuses commits of every generation but the current one and keeps those that it
acknowledged.  Members poll, commit, crash, leave, stall and commit too late; commits may be lost on their
way, be applied without an answer, or be applied late.  Without a defect every history is valid.
"""

import random
from dataclasses import dataclass, field
from typing import NamedTuple

from checkers.history.operations import History
from tests.checkers.groups.group_histories import FAIL, GROUP, INFO, OK, GroupStory

PARTITIONS = 3
MEMBERS = 3
STRIDE = 100
"""A retired process's successor has so much higher a number."""


class Defects(NamedTuple):
    """What goes wrong, each with the probability of one half where it can."""

    no_fencing: bool = False
    loses_commits: bool = False
    skips: bool = False
    two_owners: bool = False


@dataclass
class Member:
    """One member: its process, the generation it knows, where it reads, and what it has not committed."""

    process: int
    generation: int = 0
    positions: dict[int, int] = field(default_factory=dict)
    pending: dict[int, int] = field(default_factory=dict)
    evicted: bool = False


class Late(NamedTuple):
    """A commit that may still arrive: of which generation, of what."""

    generation: int
    offsets: dict[int, int]


class Simulation:
    """A group and its history.

    Args:
        seed: of every choice.
        steps: how many of them.
        defects: what goes wrong.
    """

    def __init__(self, seed: int, steps: int, defects: Defects | None = None) -> None:
        self._random = random.Random(seed)
        self._steps = steps
        self._defects = defects or Defects()
        self.story = GroupStory()
        self._ends = dict.fromkeys(range(PARTITIONS), 0)
        self._committed: dict[int, int] = {}
        self._generation = 0
        self._members = [Member(process) for process in range(MEMBERS)]
        self._late: list[Late] = []
        self.harmed = 0
        """How often a defect did something that a correct coordinator or member would not have done."""
        self.zombies = 0
        """How many commits of generations that were over were acknowledged."""

    def history(self) -> History:
        """Simulate a whole run; returns its history."""
        self.story.setup(GROUP, kind="log")
        self._rebalance()
        for _ in range(self._steps):
            self._step()
        self._drain()
        return self.story.history()

    def _step(self) -> None:
        for partition in self._ends:
            self._ends[partition] += self._random.randrange(3)
        if self._late and self._random.random() < 0.3:
            self._arrive(self._late.pop(self._random.randrange(len(self._late))))
        member = self._random.choice(self._members)
        act = self._random.random()
        if act < 0.45:
            self._poll(member)
        elif act < 0.85:
            self._commit(member)
        elif act < 0.95:
            self._rebalance(without=member)
        else:
            self._rebalance()

    def _rebalance(self, without: Member | None = None) -> None:
        """A new generation; a member that stalls is not in it, and does not know."""
        self._generation += 1
        rejoining = [member for member in self._members if member is not without]
        self._random.shuffle(rejoining)
        for index, member in enumerate(rejoining):
            mine = [p for p in range(PARTITIONS) if p % len(rejoining) == index]
            if self._defects.two_owners and self._random.random() < 0.5:
                self.harmed += 0 not in mine
                mine = sorted({*mine, 0})
            self._assign(member, mine)
        if without is not None:
            without.evicted = True

    def _assign(self, member: Member, mine: list[int]) -> None:
        member.evicted, member.generation, member.pending = False, self._generation, {}
        starts = {p: self._start(p) for p in mine}
        member.positions = dict(starts)
        self.story.assigned(member.process, member.generation, starts, self._records(member))

    def _start(self, partition: int) -> int:
        start = self._committed.get(partition, 0)
        if self._defects.skips and start + 3 < self._ends[partition] and self._random.random() < 0.5:
            self.harmed += 1
            return start + 2
        return start

    def _records(self, member: Member) -> dict[int, range]:
        """What one poll returns."""
        given = {}
        for partition, position in member.positions.items():
            until = self._random.randint(position, max(position, self._ends[partition]))
            if until > position:
                given[partition] = range(position, until)
                member.positions[partition] = member.pending[partition] = until
        return given

    def _poll(self, member: Member) -> None:
        if not member.evicted:
            self.story.polled(member.process, self._records(member))

    def _commit(self, member: Member) -> None:
        offsets, member.pending = member.pending, {}
        if not offsets:
            return
        self.story.begins_commit(member.process, offsets)
        fate = self._random.random()
        late = Late(member.generation, offsets)
        if fate < 0.15:  # the request, or its answer, is lost; or it arrives later
            if self._random.random() < 0.5:
                self._accepts(late)
            elif self._random.random() < 0.5:
                self._late.append(late)
            self.story.ends_commit(member.process, offsets, INFO)
            self._retire(member)
        elif self._accepts(late):
            self.zombies += late.generation != self._generation
            self.story.ends_commit(member.process, offsets, OK)
        else:
            self.story.ends_commit(member.process, offsets, FAIL)

    def _arrive(self, late: Late) -> None:
        self._accepts(late)

    def _accepts(self, commit: Late) -> bool:
        """What the coordinator does with a commit; whether it answers that it is done."""
        fenced = commit.generation != self._generation
        if fenced and not (self._defects.no_fencing and self._random.random() < 0.5):
            return False
        self.harmed += fenced
        if self._defects.loses_commits and self._random.random() < 0.5:
            self.harmed += 1
            return True
        self._committed |= commit.offsets
        return True

    def _retire(self, member: Member) -> None:
        """A process that got no answer goes on as another one, as a new member."""
        at = self._members.index(member)
        self._members[at] = Member(member.process + STRIDE)
        self._rebalance()

    def _drain(self) -> None:
        """The last member reads everything and commits."""
        self._late.clear()
        self.story.recovers()
        self._generation += 1
        last = Member(50)
        self._assign(last, list(range(PARTITIONS)))
        while any(last.positions[p] < end for p, end in self._ends.items()):
            self._poll(last)
        for partition, end in self._ends.items():
            self.story.reads(range(end), partition=partition)
