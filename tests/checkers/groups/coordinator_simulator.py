"""Simulates the coordinator of a group of KIP-848's protocol, what it writes to its log, and defects of it.

Members join, leave, go away for a while, send heartbeats by which they move towards the target assignment,
and commit, also in epochs that they had before.  The coordinator moves to other brokers: then records that
were not replicated may be lost, and what is written goes on in a later leader epoch.
"""

import random
from dataclasses import dataclass, field
from typing import NamedTuple

from checkers.history.operations import History
from tests.checkers.groups.group_histories import FAIL, GROUP, OK, GroupStory
from tests.checkers.groups.logged_histories import Held, Record, committed, group, member, target, wrote

PARTITIONS = range(4)
AWAY = -2


class Defects(NamedTuple):
    """What goes wrong, each with the probability of one half where it can."""

    assigns_early: bool = False
    forgets_epochs: bool = False
    no_fencing: bool = False


@dataclass
class State:
    """What a coordinator knows."""

    epoch: int = 0
    target_epoch: int = 0
    target: dict[int, int] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    held: dict[int, Held] = field(default_factory=dict)
    revoking: dict[int, Held] = field(default_factory=dict)

    def copy(self) -> "State":
        """A copy that changes by itself."""
        return State(
            self.epoch,
            self.target_epoch,
            dict(self.target),
            dict(self.epochs),
            {number: dict(some) for number, some in self.held.items()},
            {number: dict(some) for number, some in self.revoking.items()},
        )


class Coordinating:
    """A group and its history.

    Attributes:
        harmed: how often a defect had an effect.
    """

    def __init__(self, seed: int, steps: int, defects: Defects | None = None) -> None:
        self.harmed = 0
        self._random = random.Random(seed)
        self._defects = defects or Defects()
        self._story = GroupStory()
        self._story.setup("another", modern=(GROUP,))
        self._state = State()
        self._log: list[Record] = []
        self._saved: list[tuple[int, State]] = [(0, State())]
        self._written = 0
        self._leader_epoch, self._before = 0, -1
        self._next = 1
        self._offset = 0
        self._begun: list[tuple[int, int]] = []
        moves = [self._join, self._go, self._move, *[self._commit] * 2, *[self._beat] * 3]
        for _ in range(steps):
            self._random.choice(moves)()
            self._saved.append((len(self._log), self._state.copy()))
        self._flush()

    def history(self) -> History:
        """The history of all operations so far."""
        return self._story.history()

    def _join(self) -> None:
        if len(self._state.epochs) < 3:
            self._state.epochs[self._next] = 0
            self._state.held[self._next], self._state.revoking[self._next] = {}, {}
            self._next += 1
            self._rebalance()

    def _go(self) -> None:
        """A member is removed, or a static one leaves for a while."""
        number = self._any()
        if number is None:
            return
        if self._random.random() < 0.3:
            self._state.epochs[number], self._state.revoking[number] = AWAY, {}
            self._tell(number)
            return
        del self._state.epochs[number], self._state.held[number], self._state.revoking[number]
        self._log.append(member(number, None))
        self._rebalance()

    def _rebalance(self) -> None:
        state = self._state
        state.epoch += 1
        if self._defects.forgets_epochs and state.epoch > 2 and self._random.random() < 0.5:
            state.epoch -= 1
            self.harmed += 1
        self._log.append(group(state.epoch))
        if state.epochs and state.epoch > state.target_epoch:
            state.target_epoch = state.epoch
            state.target = {p: self._random.choice(list(state.epochs)) for p in PARTITIONS}
            self._log.append(target(state.epoch))

    def _beat(self) -> None:
        """A member that has revoked what it must moves on to the target assignment, as far as it can."""
        number, state = self._any(), self._state
        if number is None or state.epochs[number] == AWAY:
            return
        wanted = {p for p, owner in state.target.items() if owner == number}
        mine = state.held[number]
        if not state.revoking[number] and mine.keys() - wanted:
            state.revoking[number] = {p: mine.pop(p) for p in mine.keys() - wanted}
        else:
            state.revoking[number] = {}
            for partition in wanted - mine.keys():
                taken = any(
                    partition in state.held[o] or partition in state.revoking[o] for o in state.epochs
                )
                if taken and not (self._defects.assigns_early and self._random.random() < 0.5):
                    continue
                self.harmed += taken
                mine[partition] = state.target_epoch
            state.epochs[number] = state.target_epoch
        self._tell(number)

    def _tell(self, number: int) -> None:
        state = self._state
        self._log.append(member(number, state.epochs[number], state.held[number] | state.revoking[number]))

    def _commit(self) -> None:
        """Somebody commits in an epoch that it has, had, or never had; perhaps it is no member any more."""
        number = self._random.randint(max(1, self._next - 4), self._next)
        now = self._state.epochs.get(number, -1)
        epoch = self._random.choice([max(now, 0), self._random.randint(0, self._state.epoch + 1)])
        partition = self._random.choice(PARTITIONS)
        had = self._state.held.get(number, {}) | self._state.revoking.get(number, {})
        since = had.get(partition)
        accepted = number in self._state.epochs and (
            epoch == now or (since is not None and since <= epoch < now)
        )
        if not accepted and self._defects.no_fencing and self._random.random() < 0.5:
            accepted = True
            self.harmed += self._state.epoch > 0
        self._offset += 1
        self._story.members[number] = (f"member-{number}", epoch)
        self._story.commits(number, {partition: self._offset}, OK if accepted else FAIL)
        if accepted:
            self._log.append(committed(partition, self._offset))

    def _move(self) -> None:
        """The coordinator moves; what no other broker has is in the log of the former one alone."""
        self._flush()
        kept, state = self._saved[-1]
        if self._random.random() < 0.3:
            # Nothing that was acknowledged is lost: no commit is among it.
            unsafe = max((at for at, row in enumerate(self._log) if row[0] == "commit"), default=-1)
            kept, state = self._random.choice(
                [each for each in self._saved if each[0] > unsafe] or [(kept, state)]
            )
        if kept:
            self._saved = [each for each in self._saved if each[0] <= kept]
            self._state, self._log = state.copy(), self._log[:kept]
            self._before, self._leader_epoch = self._epoch_at(kept), self._leader_epoch + 1
            self._written = kept

    def _flush(self) -> None:
        """Everything that was written in this leader epoch is read."""
        rows = self._log[self._written :]
        if rows:
            before = -1 if not self._written else self._before
            wrote(self._story, *rows, first=self._written, epoch=self._leader_epoch, before=before)
            self._begun.append((self._written, self._leader_epoch))
            self._written, self._before = len(self._log), self._leader_epoch

    def _epoch_at(self, kept: int) -> int:
        """Leader epoch of the last record that is kept."""
        self._begun = [each for each in self._begun if each[0] < kept]
        return self._begun[-1][1]

    def _any(self) -> int | None:
        return self._random.choice(list(self._state.epochs)) if self._state.epochs else None
