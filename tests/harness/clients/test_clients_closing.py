"""librdkafka's members leave their groups before the library's `close`, which can hang in a callback."""

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from checkers.history.operations import OperationType
from harness.clients import group_confluent, transactional_confluent
from harness.clients.bounded import within
from harness.clients.confluent_groups import Subscription
from harness.clients.group import GroupMember, MemberOptions
from harness.clients.group_confluent import ConfluentMember
from harness.clients.group_modern import ModernMember
from harness.clients.interface import ClientFailedError
from harness.clients.transactional import GroupConsumer, GroupOptions, TransactionalOptions, TransactionError
from harness.clients.transactional_confluent import ConfluentGroupConsumer, ConfluentTransactionalProducer
from tests.harness.fakes import modern_broker
from tests.harness.fakes.group_broker import COMMIT, FETCH_OFFSETS, HEARTBEAT, JOIN, LEAVE, FakeGroupBroker
from tests.harness.fakes.modern_broker import FakeModernBroker
from tests.harness.waiting import BOUND_S, wait_until

REBALANCE_IN_PROGRESS = 27
REQUESTS = ("assign", "unassign", "incremental_assign", "incremental_unassign", "consumer_group_metadata")
KINDS = ("classic", "modern", "copying")

Member = GroupMember | GroupConsumer


class Watched(Consumer):
    """Notes its calls: requests as they are made, commits as they return, `close` as it begins and ends."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.calls: list[str] = []
        for name in (*REQUESTS, "unsubscribe"):
            setattr(self, name, self._noting(name))

    def _noting(self, name: str) -> Callable[..., Any]:
        def noting(*args: Any) -> Any:
            self.calls.append(name)
            return getattr(Consumer, name)(self, *args)

        return noting

    def commit(self, **offsets: Any) -> Any:
        answered = super().commit(**offsets)
        self.calls.append("committed")
        return answered

    def close(self) -> None:
        self.calls.append("close")
        super().close()
        self.calls.append("closed")


@pytest.fixture(autouse=True)
def _watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_confluent, "Consumer", Watched)
    monkeypatch.setattr(transactional_confluent, "Consumer", Watched)


class Bench:
    """A broker that notes the keys of requests about groups, and how a member of each kind is made."""

    def __init__(self, kind: str, stack: ExitStack) -> None:
        self.kind = kind
        self.broker = stack.enter_context(FakeModernBroker() if kind == "modern" else FakeGroupBroker())
        self.broker.records = [[b"a", b"b", b"c"], [b"d"]]
        self.broker.offsets = {0: 1}
        self.asked: list[int] = []
        for key in (FETCH_OFFSETS, JOIN, HEARTBEAT, LEAVE, modern_broker.HEARTBEAT):
            if key in self.broker.answers:
                self.broker.answers[key] = self._noting(key, self.broker.answers[key])

    def _noting(self, key: int, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def noting(request: Any) -> Any:
            self.asked.append(key)
            return answer(request)

        return noting

    def member(self, request_ms: int = 30_000, commit_ms: int = 30_000, instance: str | None = None) -> Any:
        at = (self.broker.bootstrap,)
        if self.kind == "copying":
            return ConfluentGroupConsumer(
                GroupOptions(at, "group-0", "log-0", session_ms=6_000, request_ms=request_ms)
            )
        made = ModernMember if self.kind == "modern" else ConfluentMember
        return made(
            MemberOptions(
                at,
                "group-0",
                "log-0",
                heartbeat_ms=100,
                request_ms=request_ms,
                commit_ms=commit_ms,
                modern=self.kind == "modern",
                instance=instance,
            )
        )

    def assigned(self) -> bool:
        """Whether the assignment has reached the member: it sends heartbeats as one that has it."""
        if isinstance(self.broker, FakeModernBroker):
            return any(one.member_epoch > 0 for one in self.broker.heartbeats)
        return HEARTBEAT in self.asked

    @property
    def left(self) -> int:
        if isinstance(self.broker, FakeModernBroker):
            return sum(one.member_epoch == -1 for one in self.broker.heartbeats)
        return self.broker.left


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def bench(kind: str) -> Iterator[Bench]:
    with ExitStack() as stack:
        yield Bench(kind, stack)


def calls(member: Any) -> list[str]:
    noted: list[str] = member._consumer.calls
    return noted


def has_read(member: Any) -> bool:
    returned = member.poll(0.1)
    return bool(getattr(returned, "messages", returned))


def closed(bench: Bench, member: Any) -> list[str]:
    """Close it; the calls that its consumer got."""
    calls(member).clear()
    bench.asked.clear()
    member.close(BOUND_S)
    return calls(member)


def requests_of_close(noted: list[str]) -> list[str]:
    return noted[noted.index("close") + 1 : noted.index("closed")]


def test_an_assignment_that_waits_is_declined_before_the_library_closes(bench: Bench) -> None:
    member = bench.member()
    wait_until(bench.assigned)
    noted = closed(bench, member)
    assert requests_of_close(noted) == []
    if bench.kind != "modern":  # whose heartbeats may be ahead of its assignment
        assert "assign" in noted
        assert FETCH_OFFSETS not in bench.asked
    assert bench.left == 1


def test_a_member_hands_its_partitions_back_before_the_library_closes(bench: Bench) -> None:
    member = bench.member()
    wait_until(lambda: has_read(member))
    noted = closed(bench, member)
    assert "incremental_unassign" in noted if bench.kind == "modern" else "unassign" in noted
    assert requests_of_close(noted) == []
    assert bench.left == 1


@pytest.mark.parametrize("kind", ["classic"])
@pytest.mark.parametrize("has_polled", [True, False])
def test_a_static_member_of_a_classic_group_keeps_its_place(bench: Bench, *, has_polled: bool) -> None:
    member = bench.member(instance="member-1")
    wait_until(bench.assigned if not has_polled else lambda: has_read(member))
    noted = closed(bench, member)
    assert "unsubscribe" not in noted
    assert LEAVE not in bench.asked
    assert bench.left == 0
    assert set(requests_of_close(noted)) <= {"unassign"}, "the library revokes its partitions"
    if not has_polled:
        assert "assign" in noted


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classic", "copying"])
def test_a_rebalance_that_does_not_end_holds_up_no_close(bench: Bench) -> None:
    member = bench.member(request_ms=1_500)
    wait_until(lambda: has_read(member))
    bench.broker.errors |= {JOIN: None, HEARTBEAT: REBALANCE_IN_PROGRESS}
    bench.asked.clear()

    def joins_again() -> bool:
        member.poll(0.1)
        return JOIN in bench.asked

    wait_until(joins_again)
    assert requests_of_close(closed(bench, member)) == []
    assert bench.left == 1


@pytest.mark.slow
def test_a_coordinator_that_does_not_answer_holds_up_no_close(bench: Bench) -> None:
    member = bench.member(request_ms=1_500)
    wait_until(lambda: has_read(member))
    bench.broker.errors |= {LEAVE: None}
    assert requests_of_close(closed(bench, member)) == []


@pytest.mark.parametrize("kind", ["classic", "modern"])
def test_a_member_leaves_only_when_its_commit_has_returned(bench: Bench) -> None:
    member = bench.member(commit_ms=200)
    wait_until(lambda: has_read(member))
    answered, released = bench.broker.answers[COMMIT], threading.Event()
    bench.broker.answers[COMMIT] = lambda request: answered(request) if released.wait(BOUND_S) else None
    assert member.commit({0: 2}).outcome is OperationType.INFO
    calls(member).clear()
    with pytest.raises(ClientFailedError, match="did not end within"):
        member.close(0.3)
    assert calls(member) == []
    released.set()
    wait_until(lambda: "closed" in calls(member))
    assert calls(member)[0] == "committed"
    assert bench.left == 1


class Unwilling:
    """A consumer whose rebalances never end, or whose requests are refused."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.closed = 0

    def subscribe(self, _topics: list[str], **_callbacks: Any) -> None:
        pass

    def unsubscribe(self) -> None:
        if self.error is not None:
            raise self.error

    def poll(self, _wait_s: float) -> None:
        self.unsubscribe()

    def consumer_group_metadata(self) -> bytes:
        return b"CGMDv2:\7\0\0\0group-0\0m-1\0\1"

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("error", [None, KafkaException(KafkaError(KafkaError._FATAL))])
def test_a_member_that_can_not_leave_is_closed_nevertheless(error: Exception | None) -> None:
    consumer = Unwilling(error)
    within(BOUND_S, "the end", subscription(consumer).close)
    assert consumer.closed == 1


def test_what_goes_wrong_before_the_library_closes_is_raised() -> None:
    consumer = Unwilling(RuntimeError("Consumer closed"))
    with pytest.raises(RuntimeError):
        subscription(consumer).close()
    assert consumer.closed == 1


def subscription(consumer: Unwilling) -> Subscription:
    def never(*_rebalance: object) -> None:
        raise AssertionError

    return Subscription(consumer, "log-0", on_assign=never, on_revoke=never, decline=never)  # type: ignore[arg-type]


class _Failing:
    """A client whose call fails, as librdkafka's do."""

    def call(self, timeout_s: float) -> None:
        raise RuntimeError(timeout_s)


@pytest.mark.slow
def test_a_client_whose_call_failed_does_not_outlive_its_owner() -> None:
    """A transactional producer of librdkafka that lives on raises its epoch late, and fences the next one."""
    client = _Failing()
    alive = weakref.ref(client)
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(ClientFailedError, match="RuntimeError"):
            within(1.0, "a call", partial(client.call, 0.5))
        del client
        assert alive() is None
    finally:
        gc.enable()


def _threads() -> int:
    """Threads of this process, those of libraries too."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


@pytest.mark.slow
def test_a_producer_of_librdkafka_that_had_an_error_ends_when_it_is_closed() -> None:
    """Its threads would send requests for a transactional id that a later producer has."""
    gc.collect()
    gc.disable()
    try:
        before = _threads()
        options = TransactionalOptions(("127.0.0.1:1",), "t", transaction_timeout_ms=10_000)
        producer = ConfluentTransactionalProducer(options)
        with pytest.raises(TransactionError):
            producer.initialise(0.1)
        producer.close(BOUND_S)
        wait_until(lambda: _threads() <= before)
    finally:
        gc.enable()
