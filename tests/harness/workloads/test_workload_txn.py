"""Transactions keep their books: a history has no more of one than is known."""

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checkers.history.operations import Operation, OperationType
from checkers.history.reading import read_history
from harness.clients import ClientFailedError, ClientKind, transactional_confluent
from harness.clients.opening import open_transactional
from harness.clients.transactional import TransactionalOptions, TransactionalProducer, TransactionError
from harness.record.journal import Clock, Journals
from harness.vocabulary import TxnWorkload
from harness.workloads import txn, txn_transactor
from harness.workloads.context import WorkloadContext
from harness.workloads.txn import FencingWorker, TransactionWorker, TxnContext, txn_workers
from harness.workloads.txn_transactor import Intent, Staff, Transactor, TxnRecord
from harness.workloads.worker import join_all
from tests.harness.fakes.log import FakeLog
from tests.harness.fakes.transactions import FakeCoordinator, Hook
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
WORKLOAD = TxnWorkload(partitions=4, transactors=2, transaction_rate=400, fencing_interval_ms=10)
TWO = Intent((TxnRecord("txn-0", 1, 5_000_000_001), TxnRecord("txn-0", 3, 5_000_000_002)))


class Bench:
    """A fake coordinator, and what the workers record of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.coordinator = FakeCoordinator()
        self.journals = Journals(folder, "run", Clock())
        self.context: TxnContext = WorkloadContext(WORKLOAD, self.journals, FakeLog(4), ("localhost:1",))
        self.dismissed = 0
        self.closes = True
        self.handled: BaseException | None = None

    def transactor(self, number: int = 7) -> Transactor:
        staff = Staff(self.context.recorder(number), threading.Event(), self._dismiss)
        return Transactor(self.context, staff, ClientKind.CONFLUENT, "txn-0", self.coordinator.make)

    def _dismiss(self, client: object) -> bool:
        self.dismissed += client is not None
        self.handled = sys.exception()
        return self.closes

    def operations(self, f: str | None = None) -> list[Operation]:
        return [operation for operation in recorded(self.folder) if f in (None, operation.f)]

    def ended(self, f: str = "txn") -> Operation:
        return self.operations(f)[-1]

    def run(self, workers: list[TransactionWorker | FencingWorker], enough: Callable[[], bool]) -> None:
        for worker in workers:
            worker.start()
        wait_until(enough)
        for worker in workers:
            worker.stopping.set()
        assert join_all(workers, BOUND_S) == []


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(txn, "_REMAKE_PAUSE_S", 0.005)
    monkeypatch.setattr(txn, "_OPEN_S", (0.0, 0.002))
    made = Bench(tmp_path)
    yield made
    made.journals.close()


def always(error: Exception) -> Hook:
    return lambda _name: error


def test_a_committed_transaction_has_offsets_and_its_end(bench: Bench) -> None:
    transactor = bench.transactor()
    assert transactor.initialise()
    assert transactor.carry_out(TWO)
    begun, ended = bench.operations("txn")
    mops = [["send", "txn-0", 1, 5_000_000_001], ["send", "txn-0", 3, 5_000_000_002]]
    assert (begun.type, begun.key) == (INVOKE, "txn-0")
    assert begun.value == {"client": "confluent-kafka", "end": "commit", "mops": mops}
    assert (ended.type, ended.value["ended"], ended.error) == (OK, "commit", None)
    assert ended.value["mops"] == [[*mops[0], 0], [*mops[1], 1]]
    assert bench.coordinator.committed == [b"run:5000000001", b"run:5000000002"]
    assert transactor.ready


@pytest.mark.parametrize("commits", [True, False])
def test_the_end_was_asked_for_after_a_time_between_the_records_and_the_answer(
    bench: Bench, *, commits: bool
) -> None:
    transactor = bench.transactor()
    transactor.initialise()
    transactor.carry_out(TWO._replace(commits=commits, pause_s=0.01))
    begun, ended = bench.operations("txn")
    assert begun.time_ns + 10_000_000 <= ended.value["ending_ns"] <= ended.time_ns
    assert "ending_ns" not in begun.value


def test_what_is_left_to_send_is_sent_after_the_time_that_it_stays_open(bench: Bench) -> None:
    sent: list[int] = []
    bench.coordinator.on_send = lambda _name: sent.append(time.monotonic_ns())
    transactor = bench.transactor()
    transactor.initialise()
    assert transactor.carry_out(TWO._replace(pause_s=0.01, late=1))
    first, second = sent
    assert second >= first + 10_000_000
    assert [mop[4] for mop in bench.ended().value["mops"]] == [0, 1]
    assert bench.coordinator.committed == [b"run:5000000001", b"run:5000000002"]


def test_of_one_that_is_refused_nothing_more_is_sent(bench: Bench) -> None:
    bench.coordinator.on_send = always(TransactionError("refused"))
    transactor = bench.transactor()
    transactor.initialise()
    assert not transactor.carry_out(TWO._replace(late=1))
    assert [mop[4] for mop in bench.ended().value["mops"]] == [None, None]
    assert (bench.ended().type, bench.coordinator.records) == (FAIL, [])


def test_a_zombie_whose_late_records_are_refused_does_not_commit(bench: Bench) -> None:
    errors: list[Exception | None] = [None, TransactionError("fenced")]
    bench.coordinator.on_send = lambda _name: errors.pop(0)
    transactor = bench.transactor()
    transactor.initialise()
    assert not transactor.carry_out(TWO._replace(late=1))
    ended = bench.ended()
    assert (ended.type, ended.error, ended.value["ended"]) == (FAIL, "fenced", "abort")
    assert [mop[4] for mop in ended.value["mops"]] == [0, None]
    assert bench.coordinator.committed == []


def test_a_timeout_of_its_own_is_asked_for_and_recorded(bench: Bench) -> None:
    asked: list[int] = []

    def make(kind: ClientKind, options: TransactionalOptions) -> TransactionalProducer:
        asked.append(options.transaction_timeout_ms)
        return bench.coordinator.make(kind, options)

    staff = Staff(bench.context.recorder(7), threading.Event(), lambda _: True)
    own = Transactor(bench.context, staff, ClientKind.CONFLUENT, "txn-0", make, timeout_ms=300)
    usual = Transactor(bench.context, staff, ClientKind.CONFLUENT, "txn-1", make)
    assert own.initialise()
    assert usual.initialise()
    assert asked == [300, WORKLOAD.transaction_timeout_ms]
    timeouts = [o.value.get("timeout_ms") for o in bench.operations("init-transactions")]
    assert timeouts == [300, 300, None, None]


def test_an_initialisation_has_the_producers_id_and_epoch(bench: Bench) -> None:
    assert bench.transactor().initialise()
    begun, ended = bench.operations("init-transactions")
    assert (begun.type, begun.value) == (INVOKE, {"client": "confluent-kafka"})
    assert (ended.type, ended.value) == (OK, {"client": "confluent-kafka", "producer_id": 7, "epoch": 1})


def test_a_client_that_can_not_be_made_has_sent_nothing(bench: Bench) -> None:
    bench.coordinator.on_make = always(ClientFailedError("gone"))
    assert not bench.transactor().initialise()
    assert bench.ended("init-transactions").type is FAIL


def test_an_initialisation_without_an_answer_may_have_fenced_others(bench: Bench) -> None:
    bench.coordinator.on_initialise = always(TransactionError("no answer"))
    transactor = bench.transactor()
    assert not transactor.initialise()
    assert not transactor.ready
    assert (bench.ended("init-transactions").type, bench.dismissed) == (INFO, 1)


@pytest.mark.parametrize("closes", [True, False])
def test_the_close_of_an_instance_is_recorded(bench: Bench, *, closes: bool) -> None:
    bench.closes = closes
    transactor = bench.transactor()
    transactor.initialise()
    transactor.give_up()
    transactor.give_up()
    (closed,) = bench.operations("producer-closed")
    assert (closed.process, closed.type, closed.key) == (7, OK, "txn-0")
    assert closed.value == {"client": "confluent-kafka", "ended": closes}


@pytest.mark.parametrize("step", ["initialise", "commit"])
def test_an_instance_is_closed_when_its_error_is_no_longer_kept(bench: Bench, step: str) -> None:
    """An error that is being handled refers to what it passed through, and librdkafka's producers to none."""
    setattr(bench.coordinator, f"on_{step}", always(TransactionError("no answer")))
    transactor = bench.transactor()
    if transactor.initialise():
        transactor.carry_out(TWO)
    assert (bench.dismissed, bench.handled) == (1, None)
    ended, closed = bench.operations()[-2:]
    assert (ended.type, closed.f) == (INFO, "producer-closed")
    assert (ended.process, closed.process) == (7, 7 + bench.context.workers)


def test_a_producer_of_librdkafka_ends_whose_initialisation_failed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No broker answers; what only Python's collector would find is kept."""
    monkeypatch.setattr(txn_transactor, "STEP_S", 0.05)
    monkeypatch.setattr(transactional_confluent, "_GRACE_S", BOUND_S)
    worker = TransactionWorker(bench.context, 1, open_transactional)
    gc.collect()
    gc.disable()
    try:
        bench.run([worker], lambda: len(bench.operations("producer-closed")) >= 2)
    finally:
        gc.enable()
    assert {each.value["ended"] for each in bench.operations("producer-closed")} == {True}
    bench.journals.close()
    assert len(read_history(bench.folder).of("producer-closed")) >= 2


def test_an_abort_on_purpose_fails_and_the_instance_goes_on(bench: Bench) -> None:
    transactor = bench.transactor()
    transactor.initialise()
    assert transactor.carry_out(TWO._replace(commits=False))
    ended = bench.ended()
    assert (ended.type, ended.value["end"], ended.value["ended"]) == (FAIL, "abort", "abort")
    assert ended.error is None
    assert transactor.ready
    assert bench.coordinator.committed == []


def test_a_transaction_that_did_not_begin_sent_nothing(bench: Bench) -> None:
    transactor = bench.transactor()
    transactor.initialise()
    bench.coordinator.on_begin = always(TransactionError("refused"))
    assert not transactor.carry_out(TWO)
    ended = bench.ended()
    assert (ended.type, ended.value["ended"], ended.value["ending_ns"]) == (FAIL, None, None)
    assert all(len(mop) == len(("send", "topic", "partition", "value")) for mop in ended.value["mops"])
    assert bench.coordinator.records == []
    assert not transactor.ready


def test_what_was_not_acknowledged_is_aborted_and_the_instance_given_up(bench: Bench) -> None:
    transactor = bench.transactor()
    transactor.initialise()
    bench.coordinator.on_send = always(TransactionError("too late"))
    assert not transactor.carry_out(TWO)
    ended = bench.ended()
    assert (ended.type, ended.value["ended"], ended.error) == (FAIL, "abort", "too late")
    assert [mop[4] for mop in ended.value["mops"]] == [None, None]
    assert (transactor.ready, bench.dismissed) == (False, 1)


@pytest.mark.parametrize("commits", [True, False])
def test_what_nobody_asked_to_commit_is_not_committed_whatever_becomes_of_the_abort(
    bench: Bench, *, commits: bool
) -> None:
    transactor = bench.transactor()
    transactor.initialise()
    if commits:
        bench.coordinator.on_send = always(TransactionError("too late"))
    bench.coordinator.on_abort = always(TransactionError("no answer"))
    assert not transactor.carry_out(TWO._replace(commits=commits))
    ended = bench.ended()
    assert (ended.type, ended.value["ended"]) == (FAIL, None)
    assert "its commit was never asked for; abort: no answer" in (ended.error or "")


@pytest.mark.parametrize("outcome", [FAIL, INFO])
def test_a_commit_is_as_uncertain_as_its_error(bench: Bench, outcome: OperationType) -> None:
    transactor = bench.transactor()
    transactor.initialise()
    bench.coordinator.on_commit = always(TransactionError("fenced", outcome))
    assert not transactor.carry_out(TWO)
    assert (bench.ended().type, bench.ended().value["ended"]) == (outcome, None)
    assert not transactor.ready


def test_after_doubt_the_process_retires(bench: Bench) -> None:
    transactor = bench.transactor()
    bench.coordinator.on_commit = always(TransactionError("no answer"))
    transactor.initialise()
    transactor.carry_out(TWO)
    transactor.initialise()
    processes = [o.process for o in bench.operations() if o.type is INVOKE]
    assert processes == [7, 7, 7 + bench.context.workers]


def test_without_an_instance_there_is_no_transaction(bench: Bench) -> None:
    with pytest.raises(RuntimeError, match="not initialised"):
        bench.transactor().carry_out(TWO)


def test_transactors_and_the_one_that_fences_them_share_names(bench: Bench) -> None:
    workers: list[TransactionWorker | FencingWorker] = [
        *(TransactionWorker(bench.context, index, bench.coordinator.make) for index in range(2)),
        FencingWorker(bench.context, bench.coordinator.make),
    ]

    def enough() -> bool:
        done = bench.operations("txn")
        fenced = {o.process % bench.context.workers for o in done if o.error == "fenced"}
        ends = {o.value["ended"] for o in done if o.type in (OK, FAIL)}
        return len(fenced) >= 2 and ends == {"commit", "abort", None}

    bench.run(workers, enough)
    done = bench.operations("txn")
    assert {operation.key for operation in done} == {"txn-0", "txn-1"}
    assert {o.value["ended"] for o in done if o.type is OK} == {"commit"}
    assert {o.value["ended"] for o in done if o.type is FAIL} >= {"abort", None}
    assert bench.coordinator.closed == bench.coordinator.made


def test_a_transactor_tries_again_until_it_is_initialised(bench: Bench) -> None:
    errors = [TransactionError("no answer"), TransactionError("no answer")]
    bench.coordinator.on_initialise = lambda _name: errors.pop() if errors else None
    worker = TransactionWorker(bench.context, 0, bench.coordinator.make)
    bench.run([worker], lambda: any(o.type is OK for o in bench.operations("txn")))
    assert [o.type for o in bench.operations("init-transactions") if o.type is not INVOKE][:3] == [
        INFO,
        INFO,
        OK,
    ]


def test_a_name_that_can_not_be_taken_over_is_left_alone(bench: Bench) -> None:
    bench.coordinator.on_initialise = always(TransactionError("no answer"))
    worker = FencingWorker(bench.context, bench.coordinator.make)
    bench.run([worker], lambda: len(bench.operations("init-transactions")) >= 4)
    assert bench.operations("txn") == []


def test_what_is_drawn_is_within_its_bounds_and_the_same_each_time(bench: Bench) -> None:
    intents = [txn.Drawing(bench.context, 8).intent() for _ in range(2)]
    assert intents[0] == intents[1]
    drawing = txn.Drawing(bench.context, 8)
    drawn = [drawing.intent() for _ in range(500)]
    values = [send.value for intent in drawn for send in intent.sends]
    assert len(set(values)) == len(values)
    assert {len(intent.sends) for intent in drawn} == {1, 2, 3, 4}
    assert {len({send.partition for send in intent.sends}) for intent in drawn} == {1, 2, 3}
    assert 0.7 < sum(intent.commits for intent in drawn) / 500 < 0.9
    assert any(intent.pause_s for intent in drawn)


def test_the_workload_numbers_its_workers_after_producers_and_consumers(bench: Bench) -> None:
    workers = txn_workers(bench.context, bench.coordinator.make)
    assert len(workers) + 1 == WORKLOAD.processes == 3 + 4 + 2 + 1 + 2 + 1
    names = sorted(path.name for path in bench.folder.glob("history-worker-*.jsonl"))
    assert names == sorted(f"history-worker-{number}.jsonl" for number in range(13))
