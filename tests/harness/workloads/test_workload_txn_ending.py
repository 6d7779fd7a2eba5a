"""Before everything is read, the coordinator has the time to abort what nobody ended."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from checkers.history.polls import Isolation
from harness.clients import ClientFailedError, ClientKind, Message, ReadError
from harness.record.journal import Clock, Journals
from harness.vocabulary import LogWorkload, TxnWorkload, Workload
from harness.workloads import txn_ending
from harness.workloads.context import WorkloadContext
from harness.workloads.txn_ending import await_ended
from tests.harness.fakes.log import FakeLog, raise_if
from tests.harness.waiting import StandingTime


class OpenTransactions(FakeLog):
    """A log in whose partition 1 a transaction is open until it was looked at so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__(3)
        self.looks = looks
        self.asked: list[tuple[Isolation, tuple[int, ...]]] = []

    def consumer(self, kind: ClientKind, topic: str, isolation: Isolation) -> "Ends":
        assert topic == "txn-0"
        self._make(f"{kind} {isolation}")
        return Ends(self, isolation)


class Ends:
    """Knows how far an isolation level sees."""

    def __init__(self, log: OpenTransactions, isolation: Isolation) -> None:
        self._log = log
        self._isolation = isolation

    def offsets(self, partitions: Sequence[int], timeout_s: float) -> dict[int, tuple[int, int]]:
        assert timeout_s > 0
        raise_if(self._log.on_offsets())
        self._log.asked.append((self._isolation, tuple(partitions)))
        open_still = self._isolation is Isolation.READ_COMMITTED and self._log.looks > 0
        if self._isolation is Isolation.READ_COMMITTED:
            self._log.looks -= 1
        return {partition: (0, 5 if open_still and partition == 1 else 9) for partition in partitions}

    def assign(self, positions: Mapping[int, int]) -> None:
        raise AssertionError(positions)

    def poll(self, max_wait_s: float) -> list[Message]:
        raise AssertionError(max_wait_s)

    def position(self, partition: int) -> int | None:
        raise AssertionError(partition)

    def close(self, timeout_s: float) -> None:
        assert timeout_s > 0
        self._log.close()


Wait = Callable[..., frozenset[tuple[str, int]]]


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> StandingTime:
    made = StandingTime()
    monkeypatch.setattr(txn_ending, "time", made)
    return made


@pytest.fixture
def wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, standing: StandingTime) -> Iterator[Wait]:
    monkeypatch.setattr(txn_ending, "_PAUSE_S", 0.005)
    journals = Journals(tmp_path, "run", Clock())

    def waited(
        log: FakeLog,
        bound_s: float = 5.0,
        missing: frozenset[tuple[str, int]] = frozenset(),
        workload: Workload | None = None,
    ) -> frozenset[tuple[str, int]]:
        context = WorkloadContext(workload or TxnWorkload(partitions=3), journals, log)
        return await_ended(context, standing.monotonic() + bound_s, missing)

    yield waited
    journals.close()


def test_only_what_is_still_open_is_looked_at_again(wait: Wait) -> None:
    log = OpenTransactions(2)
    assert wait(log) == frozenset()
    assert [partitions for _, partitions in log.asked] == [(0, 1, 2)] * 2 + [(1,)] * 4
    assert log.closed == len(log.made)


def never_ending(standing: StandingTime) -> OpenTransactions:
    """A second goes by with every look."""
    log = OpenTransactions(10**9)
    log.on_offsets = lambda: standing.go_on(0.5)
    return log


def test_a_transaction_that_never_ends_is_returned_at_the_timeout(wait: Wait, standing: StandingTime) -> None:
    began = standing.monotonic()
    assert wait(never_ending(standing), 5.0) == {("txn-0", 1)}
    assert standing.monotonic() - began == 5.0


def test_the_wait_ends_when_the_coordinator_must_have_acted(wait: Wait, standing: StandingTime) -> None:
    workload = TxnWorkload(partitions=3, transaction_timeout_ms=10_000)
    assert workload.transactions_end_ms == 40_000
    began = standing.monotonic()
    assert wait(never_ending(standing), 300.0, workload=workload) == {("txn-0", 1)}
    assert standing.monotonic() - began == 40.0


def test_partitions_without_a_leader_are_not_asked(wait: Wait) -> None:
    log = OpenTransactions(0)
    missing = frozenset({("txn-0", 0), ("txn-0", 2)})
    assert wait(log, missing=missing) == frozenset()
    assert {partitions for _, partitions in log.asked} == {(1,)}


def test_errors_are_met_by_asking_again(wait: Wait) -> None:
    log = OpenTransactions(0)
    errors: list[Exception] = [ReadError("cut")]
    log.on_offsets = lambda: errors.pop() if errors else None
    made: list[Exception] = [ClientFailedError("gone")]
    log.on_make = lambda _what: made.pop() if made else None
    assert wait(log) == frozenset()
    assert log.closed == len(log.made)


def test_workloads_without_transactions_do_not_wait(wait: Wait) -> None:
    log = FakeLog(3)
    assert wait(log, workload=LogWorkload(partitions=3)) == frozenset()
    assert log.made == []
