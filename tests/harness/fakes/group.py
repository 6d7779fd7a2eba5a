"""A consumer group in memory whose members and coordinator go wrong as the test decides."""

import threading
from collections.abc import Callable, Mapping, Sequence

from checkers.history.operations import OperationType
from checkers.history.polls import Isolation, Membership
from harness.clients.administrator import AdminAnswer
from harness.clients.group import Assigned, GroupMember, MemberOptions, PolledRecords
from harness.clients.interface import ClientKind, LogConsumer, LogProducer, Message
from tests.harness.fakes.log import FakeConsumer, FakeLog, FakeProducer, raise_if

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
BATCH = 5


class FakeGroupLog(FakeLog):
    """A log whose topic has any name."""

    def producer(self, kind: ClientKind, topic: str, *, durable: bool = False) -> LogProducer:
        self._make(f"{kind} {topic} producer {durable}")
        return FakeProducer(self)

    def consumer(self, kind: ClientKind, topic: str, isolation: Isolation) -> LogConsumer:
        self._make(f"{kind} {topic} {isolation}")
        return FakeConsumer(self)


class FakeGroup:
    """Every member is the only one of its generation and owns every partition; each joining begins another.

    Attributes:
        log: what there is to read.
        committed: offsets, by partition.
        generation: the current one.
        joined: options of every member that was made.
        refused: late commits, each with the membership that it named.
        closed: how many members were closed.
        named: the group's id, where it is not named for its library.
        names_members: whether members learn who they are.
        late: how many late commits were sent.
        resets: offsets that somebody who was no member asked for.
        removals: how often the group's deletion was asked for.
    """

    def __init__(self, log: FakeGroupLog) -> None:
        self.log = log
        self.committed: dict[int, int] = {}
        self.generation = 0
        self.joined: list[MemberOptions] = []
        self.refused: list[Membership] = []
        self.closed = 0
        self.names_members = True
        self.named: str | None = None
        self.late = 0
        self.resets: list[Mapping[int, int]] = []
        self.removals = 0
        self.on_reset: Callable[[], AdminAnswer] = lambda: AdminAnswer(FAIL, error="error 25")
        self.lock = threading.Lock()
        self.on_join: Callable[[], Exception | None] = lambda: None
        self.on_poll: Callable[[], Exception | None] = lambda: None
        self.on_commit: Callable[[Mapping[int, int]], AdminAnswer | None] = lambda _offsets: None
        self.rebalances: Callable[[], bool] = lambda: False
        self.revokes: Callable[[], bool] = lambda: False
        self.moves_on: Callable[[], bool] = lambda: False

    def join(self, kind: ClientKind, options: MemberOptions) -> GroupMember:
        assert options.group == (self.named or f"group-{kind}")
        raise_if(self.on_join())
        with self.lock:
            self.joined.append(options)
        return FakeMember(self)

    def commit_as(
        self, options: MemberOptions, membership: Membership, offsets: Mapping[int, int]
    ) -> AdminAnswer:
        assert options.topic == "groups-0"
        self.late += 1
        return self.commit(membership, offsets)

    def reset(self, options: MemberOptions, offsets: Mapping[int, int]) -> AdminAnswer:
        assert options.topic == "groups-0"
        self.resets.append(offsets)
        return self.on_reset()

    def remove(self, options: MemberOptions) -> AdminAnswer:
        assert options.group == (self.named or options.group)
        self.removals += 1
        return AdminAnswer(FAIL, error="error 68")

    def commit(self, membership: Membership, offsets: Mapping[int, int]) -> AdminAnswer:
        assert offsets
        with self.lock:
            if membership.generation != self.generation:
                self.refused.append(membership)
                return AdminAnswer(FAIL, error="error 22")
            self.committed |= offsets
        return AdminAnswer(OK)


class FakeMember:
    """Joins at its first poll."""

    def __init__(self, group: FakeGroup) -> None:
        self._group = group
        self._membership: Membership | None = None
        self._positions: dict[int, int] = {}
        self.owned: frozenset[int] = frozenset()

    def poll(self, max_wait_s: float) -> PolledRecords:
        assert max_wait_s > 0
        raise_if(self._group.on_poll())
        assigned = None
        if self._membership is None or self._group.rebalances():
            assigned = self._join()
        messages = self._messages()
        if self._group.revokes():
            self.owned = frozenset()
        return PolledRecords(messages, assigned, self._moved_on())

    def _moved_on(self) -> Membership | None:
        if self._membership is None or not self._group.moves_on():
            return None
        with self._group.lock:
            self._group.generation += 1
            self._membership = self._membership._replace(generation=self._group.generation)
        return self._membership

    def commit(self, offsets: Mapping[int, int]) -> AdminAnswer:
        assert self._membership is not None
        return self._group.on_commit(offsets) or self._group.commit(self._membership, offsets)

    def close(self, timeout_s: float) -> None:
        assert timeout_s > 0
        with self._group.lock:
            self._group.closed += 1
            self._group.generation += 1

    def _join(self) -> Assigned:
        group = self._group
        with group.lock:
            group.generation += 1
            name = f"member-{group.generation}" if self._membership is None else self._membership.member
            self._membership = Membership(name, group.generation)
            self._positions = {p: group.committed.get(p, 0) for p in range(len(group.log.partitions))}
        self.owned = frozenset(self._positions)
        return Assigned(dict(self._positions), self._membership if group.names_members else None)

    def _messages(self) -> list[Message]:
        found: list[Message] = []
        with self._group.log.lock:
            for partition, position in self._positions.items():
                values: Sequence[bytes | None] = self._group.log.partitions[partition]
                some = values[position : position + BATCH]
                found += [Message(partition, position + i, value) for i, value in enumerate(some)]
                self._positions[partition] += len(some)
        return found
