"""Start offsets of share groups are set and deleted while all members have left, and nothing is left open."""

import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from checkers.history.fitting import misfit_of
from checkers.history.operations import Operation, OperationType
from harness.clients.administrator_errors import classify_start
from harness.record.journal import Clock, Journals
from harness.vocabulary import ShareWorkload
from harness.workloads import shares, shares_altering
from harness.workloads.context import WorkloadContext
from harness.workloads.shares import ShareContext, ShareMember
from harness.workloads.shares_altering import AlteringWorker
from harness.workloads.shares_break import Break
from harness.workloads.shares_drain import share_workers
from harness.workloads.worker import join_all
from tests.harness.fakes.share import FakeShareLog
from tests.harness.fakes.share_coordinator import ShareCoordinator
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
WORKLOAD = ShareWorkload(partitions=2, members=2, session_ms=1_000, alter_interval_ms=10)
GROUP, TOPIC = "share-0", "shares-0"
SET, DELETED = "alter-share-offsets", "delete-share-offsets"
RECEIVED = 50


class Bench:
    """A coordinator, a group that has received records, and the history."""

    def __init__(self, folder: Path, broker: ShareCoordinator) -> None:
        self.folder = folder
        self.broker = broker
        host, port = broker.address
        self.journals = Journals(folder, "run", Clock())
        self.context: ShareContext = WorkloadContext(
            WORKLOAD, self.journals, FakeShareLog(2), (f"{host}:{port}",)
        )
        broker.on_change = self.receives
        self.receives()

    def receives(self) -> None:
        """The group has received records again."""
        for partition in (0, 1):
            self.context.highest.received(GROUP, partition, RECEIVED)

    def alters(self, requests: int) -> list[Operation]:
        """Let the worker make so many requests, with no members; what was recorded."""
        worker = AlteringWorker(self.context, 0, Break(0))
        worker.start()
        wait_until(lambda: len(self.broker.changes) >= requests)
        worker.stopping.set()
        assert join_all([worker], BOUND_S) == []
        return self.operations()

    def operations(self) -> list[Operation]:
        found = [o for o in recorded(self.folder) if o.f in (SET, DELETED)]
        assert all(misfit_of(operation) is None for operation in found)
        return found


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(shares_altering, "_AGAIN_PAUSE_S", 0.001)
    monkeypatch.setattr(shares_altering, "DELETE_SHARE", 0.0)
    monkeypatch.setattr(shares, "POLL_PAUSE_S", 0.001)
    monkeypatch.setattr(shares, "_REMAKE_PAUSE_S", 0.001)
    with ShareCoordinator() as broker:
        made = Bench(tmp_path, broker)
        yield made
        made.journals.close()


def test_start_offsets_are_set_at_or_below_what_the_group_received_next(bench: Bench) -> None:
    found = bench.alters(8)
    assert {o.f for o in found} == {SET}
    assert {(o.process, o.key) for o in found} == {(WORKLOAD.first_altering, GROUP)}
    assert {group for group, _, _ in bench.broker.changes} == {GROUP}
    done = [o for o in found if o.type is OK]
    assert {(o.value["topic"], o.value["to"], o.value["code"]) for o in done} == {(TOPIC, 1, 0)}
    assert [(o.value["partition"], o.value["offset"]) for o in done][:8] == [
        where for _, _, where in bench.broker.changes if where
    ][:8]
    assert {o.value["partition"] for o in done} == {0, 1}
    assert all(0 <= o.value["offset"] <= RECEIVED + 1 for o in done)
    turns = [o.value["turn"] for o in done]
    assert turns == sorted(turns)
    assert turns[0] == 1


def test_the_group_has_then_received_what_is_below(bench: Bench) -> None:
    bench.broker.on_change = lambda: None
    last = {o.value["partition"]: o.value["offset"] for o in bench.alters(1) if o.type is OK}
    assert last
    assert {p: bench.context.highest.of(GROUP, p) for p in last} == {p: at - 1 for p, at in last.items()}


def test_start_offsets_are_deleted_while_the_group_is_near_the_beginning(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares_altering, "DELETE_SHARE", 1.0)
    bench.broker.on_change = lambda: None
    done = [o for o in bench.alters(3) if o.type is OK]
    assert {o.f for o in done} == {DELETED}
    assert done[0].value == {"topic": TOPIC, "turn": 1, "to": 1, "code": 0}
    assert [bench.context.highest.of(GROUP, p) for p in (0, 1)] == [-1, -1]


@pytest.mark.parametrize(
    ("codes", "kind", "code"),
    [
        ((68, 0), FAIL, 68),
        ((0, 3), FAIL, 3),
        ((16, 0), INFO, 16),
        ((0, 14), INFO, 14),
        (None, INFO, None),
    ],
)
def test_every_answer_has_an_outcome_and_the_request_is_repeated(
    bench: Bench, codes: tuple[int, int] | None, kind: OperationType, code: int | None
) -> None:
    bench.broker.codes = [codes]
    asked, first, again, second, *_ = bench.alters(2)
    assert (asked.type, first.type, second.type) == (INVOKE, kind, OK)
    assert first.value.get("code") == code
    assert again.value == asked.value


def test_an_answer_about_nothing_or_too_much_has_no_known_outcome(bench: Bench) -> None:
    bench.broker.results = 2
    first = next(o for o in bench.alters(1) if o.type is not INVOKE)
    assert first.type is INFO
    assert first.error == "the answer has 2 results, expected 1"


def test_nothing_is_recorded_without_a_known_coordinator(bench: Bench) -> None:
    bench.broker.node = 7
    worker = AlteringWorker(bench.context, 0, Break(0))
    worker.start()
    worker.join(0.2)
    worker.stopping.set()
    assert join_all([worker], BOUND_S) == []
    assert (bench.broker.changes, bench.operations()) == ([], [])


@pytest.mark.parametrize("code", [3, 24, 29, 30, 68, 69])
def test_only_refusals_before_the_first_append_certainly_changed_nothing(code: int) -> None:
    assert classify_start(code)[0] is FAIL


@pytest.mark.parametrize("code", [-1, 7, 14, 15, 16, 42, 56])
def test_all_other_errors_may_stand_for_a_change(code: int) -> None:
    assert classify_start(code)[0] is INFO


def test_all_members_have_left_while_start_offsets_are_changed(bench: Bench) -> None:
    log = FakeShareLog(2)
    log.partitions = [[f"run:{p}{n:03}".encode() for n in range(9)] for p in (1, 2)]
    context = msgspec.structs.replace(bench.context, clients=log)
    break_ = Break(2)
    members = [ShareMember(context, index, break_) for index in (0, 1)]
    altering = AlteringWorker(context, 0, break_)
    joined: list[int] = []

    def changing() -> None:
        bench.receives()
        joined.append(sum(member._consumer is not None for member in members))

    bench.broker.on_change = changing
    for worker in (*members, altering):
        worker.start()
    wait_until(lambda: len(joined) >= 3)
    for worker in (*members, altering):
        worker.stopping.set()
    assert join_all([*members, altering], BOUND_S) == []
    assert {*joined} == {0}
    assert log.closed == len(log.made)
    # They return after each break.
    assert len(log.options) > 2


def test_a_break_waits_for_every_member_or_until_it_is_stopped() -> None:
    break_, stopping = Break(1), threading.Event()
    stopping.set()
    assert not break_.call(stopping)
    assert break_.is_called
    break_.rest(stopping)
    break_.end()
    assert not break_.is_called


def test_a_load_has_one_such_worker_for_each_group_if_it_is_asked_for(bench: Bench) -> None:
    workload = msgspec.structs.replace(WORKLOAD, groups=("share-0", "share-1"))
    context = msgspec.structs.replace(bench.context, workload=workload)
    workers = share_workers(context)
    numbers = [w._recorder.process for w in workers if isinstance(w, AlteringWorker)]
    assert numbers == [workload.first_altering, workload.first_altering + 1]
    assert numbers[-1] == workload.processes - 1
    assert all(w.ends_first for w in workers if isinstance(w, AlteringWorker))


def test_by_default_no_start_offset_is_changed() -> None:
    assert ShareWorkload().processes == ShareWorkload().first_altering
