"""A share partition as KIP-932 describes it, with members that poll and acknowledge; it can have defects."""

import random
from dataclasses import dataclass, field
from typing import Any

from checkers.history.operations import FAIL, INFO, INVOKE, OK, History, OperationType
from tests.checkers.share_groups.share_histories import GROUP, TOPIC, ShareStory

RECORDS = 40
BATCH = 6
LIMIT = 3
_TRANSACTOR = 100
HARM = 0.4
"""How likely a defect shows itself where it can."""


@dataclass(frozen=True, slots=True)
class Defects:
    """What this broker does wrong."""

    forgets_accepts: bool = False
    forgets_counts: bool = False
    gives_twice: bool = False
    skips: bool = False
    ignores_limit: bool = False
    goes_back: bool = False
    gives_aborted: bool = False
    gives_open: bool = False


@dataclass(slots=True)
class Record:
    """State of a record: who holds it, one member if all is well; whether it is archived; its count."""

    owners: set[int] = field(default_factory=set)
    done: bool = False
    count: int = 0


@dataclass(slots=True)
class Member:
    """A member: what it asked for, has buffered, and has to acknowledge."""

    number: int
    prefetches: bool
    asked: dict[str, object] | None = None
    buffered: list[tuple[int, int]] = field(default_factory=list)
    given: list[int] = field(default_factory=list)


class Simulation:
    """Runs members in a random order; `harmed` counts how often a defect made a difference.

    Args:
        seed: of everything random.
        steps: how many there are before the group is drained.
        defects: of the broker.
        transactions: whether half of the records are sent in transactions, and the group has read_committed.
    """

    def __init__(
        self, seed: int, steps: int, defects: Defects | None = None, *, transactions: bool = False
    ) -> None:
        self._random = random.Random(seed)
        self._defects = defects or Defects()
        self.harmed = 0
        self._story = ShareStory()
        self._records = [Record() for _ in range(RECORDS)]
        self._start = 0
        self._members = [Member(number, prefetches=number == 0) for number in range(4)]
        self._open: dict[int, dict[str, Any]] = {}
        self._aborted: set[int] = set()
        self._story.setup(GROUP, limit=LIMIT, committed=[GROUP] if transactions else [])
        within = [offset for offset in range(RECORDS) if transactions and offset % 4 > 1]
        self._story.sends(*(offset for offset in range(RECORDS) if offset not in within))
        for first in within[::2]:
            process = _TRANSACTOR + first
            self._open[first] = self._story.begins_transaction(first, first + 1, process=process)
        for _ in range(steps):
            self._step(self._random.choice(self._members))
        self._drain()

    def history(self) -> History:
        """Everything that happened."""
        return self._story.history()

    def _step(self, member: Member) -> None:
        chance = self._random.random()
        if member.asked is None and member.given:
            self._acknowledge(member)
        elif member.asked is None and chance < 0.1:
            self._open_again(member)
        elif member.asked is None:
            member.asked = self._story.begins_poll(member.number, prefetches=member.prefetches)
        else:
            self._answer(member, empty=chance < 0.2)
        if self._random.random() < 0.1:
            self._expire(self._random.choice(self._members))
        if self._random.random() < 0.05:
            self._tell_start()
        if self._open and self._random.random() < 0.2:
            self._end_transaction()

    def _end_transaction(self) -> None:
        """End one of the open transactions; nobody may learn how."""
        first = self._random.choice(list(self._open))
        offsets, asked = (first, first + 1), self._open.pop(first)
        kind = self._random.choice((OK, OK, FAIL, FAIL, INFO))
        if kind is FAIL or (kind is INFO and self._random.random() < 0.5):
            self._aborted.update(offsets)
        self._story.ends_transaction(asked, *offsets, kind=kind, process=_TRANSACTOR + first)

    def _answer(self, member: Member, *, empty: bool = False) -> None:
        """End a poll: with what was fetched by now, or with nothing, so that a later poll returns it."""
        if not member.buffered:
            member.buffered = self._acquire(member)
        given = {} if empty else dict(member.buffered)
        assert member.asked is not None
        self._story.ends_poll(member.number, member.asked, given)
        member.asked = None
        if given:
            member.given = list(given)
            member.buffered = self._acquire(member) if member.prefetches else []

    def _acquire(self, member: Member) -> list[tuple[int, int]]:
        """Acquire some records that are available; offsets and delivery counts."""
        found: list[tuple[int, int]] = []
        stable = min(self._open, default=RECORDS) if self._harmless("gives_open") else RECORDS
        for offset in range(self._start, stable):
            record = self._records[offset]
            if offset in self._aborted and not record.owners and self._harmless("gives_aborted"):
                record.done = True
            free = not record.owners or (record.count < LIMIT and not self._harmless("gives_twice"))
            if record.done or not free or len(found) == BATCH:
                continue
            if not self._harmless("skips"):
                record.done = True
                continue
            record.owners.add(member.number)
            record.count += 1
            found.append((offset, record.count))
        return found

    def _acknowledge(self, member: Member) -> None:
        offsets, member.given = member.given, []
        kind = self._random.choices(("accept", "release", "reject"), (6, 5, 1))[0]
        asked = self._story.member(member.number)
        acknowledgements = [[0, offsets, [kind] * len(offsets)]]
        asked |= {"acknowledgements": acknowledgements}
        self._story.add(member.number, INVOKE, "acknowledge", TOPIC, asked)
        held = all(member.number in self._records[offset].owners for offset in offsets)
        arrives = self._random.random() < 0.9
        if held and arrives:
            self._settle(member.number, offsets, kind)
        outcome: OperationType = OK if arrives and self._random.random() < 0.9 else INFO
        answer = asked | ({"refused": [] if held else [[0, "InvalidRecordState"]]} if outcome is OK else {})
        self._story.add(member.number, outcome, "acknowledge", TOPIC, answer)
        if outcome is not OK:
            self._open_again(member)

    def _settle(self, member: int, offsets: list[int], kind: str) -> None:
        for offset in offsets:
            record = self._records[offset]
            if kind == "release":
                self._release(record, member)
                record.count -= not self._harmless("forgets_counts")
            else:
                record.owners.discard(member)
                record.done = self._harmless("forgets_accepts")
        self._move_start()

    def _release(self, record: Record, member: int) -> None:
        """A try is over without a result."""
        record.owners.discard(member)
        if record.count >= LIMIT and self._harmless("ignores_limit"):
            record.done = True

    def _move_start(self) -> None:
        while self._start < RECORDS and self._records[self._start].done:
            self._start += 1

    def _expire(self, member: Member) -> None:
        """The locks of a member end."""
        for record in self._records:
            if member.number in record.owners:
                self._release(record, member.number)
        self._move_start()

    def _open_again(self, member: Member) -> None:
        """A member closes, which gives back what it holds, and opens again."""
        for record in self._records:
            if member.number in record.owners:
                record.owners.discard(member.number)
                record.count -= 1
        member.buffered, member.given = [], []
        self._story.opens(member.number)

    def _tell_start(self) -> None:
        self._story.starts(self._start, self._random.choice((OK, OK, FAIL)))
        if self._start and not self._harmless("goes_back"):
            self._start -= 1
            self._records[self._start] = Record()

    def _harmless(self, defect: str) -> bool:
        """Whether a defect is not there, or does nothing this time."""
        harmful = getattr(self._defects, defect) and self._random.random() < HARM
        self.harmed += harmful
        return not harmful

    def _drain(self) -> None:
        """A last member accepts what is left; then the end is asked for and read."""
        for member in self._members:
            if member.asked is not None:
                self._answer(member)
            self._open_again(member)
        while self._open:
            self._end_transaction()
        last = 9
        for _ in range(5 * RECORDS):
            left = self._acquire(Member(last, prefetches=False))
            if not left:
                break
            self._story.polls(last, dict(left))
            self._story.acknowledges(last, [offset for offset, _ in left])
            self._settle(last, [offset for offset, _ in left], "accept")
        self._story.starts(self._start)
        self._story.lists(*range(RECORDS))
        stable = (offset for offset in range(RECORDS) if offset not in self._aborted)
        self._story.lists(*stable, isolation="read_committed", end=RECORDS)
