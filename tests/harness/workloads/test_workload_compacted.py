"""The compacted workload: some of its producers write the same keys in transactions, and abort many."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkers.history.operations import Operation, OperationType
from harness.clients import ClientKind
from harness.clients.transactional import TransactionalOptions, TransactionalProducer
from harness.record.journal import Clock, Journals
from harness.vocabulary import CompactedWorkload
from harness.workloads import txn
from harness.workloads.compacted import compacted_workers
from harness.workloads.context import WorkloadContext
from harness.workloads.opening import implementation_of
from harness.workloads.producing import ProducerWorker
from harness.workloads.txn import Drawing, FencingWorker, TransactionWorker
from harness.workloads.worker import join_all
from tests.harness.fakes.log import FakeLog
from tests.harness.fakes.transactions import FakeCoordinator
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, wait_until

INVOKE = OperationType.INVOKE
WORKLOAD = CompactedWorkload(
    keys=40, active_keys=20, tombstones=3, transactors=2, transaction_rate=400, fencing_interval_ms=20
)


class Bench:
    """A fake coordinator and log, and the context of the workload."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.coordinator = FakeCoordinator()
        self.journals = Journals(folder, "run", Clock())

    def context(self, workload: CompactedWorkload = WORKLOAD) -> WorkloadContext[CompactedWorkload]:
        return WorkloadContext(workload, self.journals, FakeLog(3), ("localhost:1",))

    def ended(self) -> list[Operation]:
        return [each for each in recorded(self.folder) if each.f == "txn" and each.type is not INVOKE]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(txn, "_REMAKE_PAUSE_S", 0.005)
    monkeypatch.setattr(txn, "_OPEN_S", (0.0, 0.002))
    made = Bench(tmp_path)
    yield made
    made.journals.close()


def test_transactors_write_records_with_keys_and_tombstones_and_abort_some(bench: Bench) -> None:
    made = compacted_workers(bench.context(), bench.coordinator.make)
    workers = [each for each in made if isinstance(each, TransactionWorker | FencingWorker)]
    assert len(workers) == WORKLOAD.transactors + 1
    for worker in workers:
        worker.start()
    wait_until(lambda: len(bench.coordinator.records) > 200)
    for worker in workers:
        worker.stopping.set()
    assert join_all(workers, BOUND_S) == []
    sent = [record for record, _ in bench.coordinator.records]
    for record in sent:
        value = int(record.value.split(b":")[1])
        assert record.key == str(value % WORKLOAD.keys).encode()
        assert record.tombstone is WORKLOAD.is_tombstone(value)
        assert not WORKLOAD.is_resting(value)
    assert {record.tombstone for record in sent} == {True, False}
    assert {each.value["end"] for each in bench.ended()} == {"commit", "abort"}
    assert {each.value["client"] for each in bench.ended()} == {"kafka-python", "confluent-kafka"}


def test_without_transactors_the_load_is_that_of_the_log(bench: Bench) -> None:
    workload = CompactedWorkload()
    made = compacted_workers(bench.context(workload))
    assert not any(isinstance(each, TransactionWorker | FencingWorker) for each in made)
    assert sum(isinstance(each, ProducerWorker) for each in made) == workload.producers
    assert (workload.processes, workload.transactions_end_ms) == (6, 0)
    assert workload.topics[0].config["delete.retention.ms"] == "3000"


def test_transactors_have_numbers_after_consumers_and_before_the_write_probe(bench: Bench) -> None:
    workload = CompactedWorkload(transactors=4)
    context = bench.context(workload)
    made = compacted_workers(context, bench.coordinator.make)
    assert len(made) == workload.processes == context.probe == 11
    assert workload.transactions_end_ms == workload.transaction_timeout_ms + 30_000
    assert workload.topics[0].config["delete.retention.ms"] == "20000"


def test_the_clients_of_the_context_are_used_if_no_others_are_given(bench: Bench) -> None:
    made = compacted_workers(bench.context(CompactedWorkload(transactors=1)))
    assert sum(isinstance(each, TransactionWorker) for each in made) == 1
    assert implementation_of(CompactedWorkload()).workers is compacted_workers


def test_a_seed_draws_the_same_transactions(bench: Bench) -> None:
    one, other = (Drawing(bench.context(), 7) for _ in range(2))
    drawn = [one.intent() for _ in range(60)]
    assert drawn == [other.intent() for _ in range(60)]
    assert 10 < sum(not intent.commits for intent in drawn) < 40


def test_making_a_producer_asks_for_the_timeout_of_the_load(bench: Bench) -> None:
    asked: list[TransactionalOptions] = []

    def make(kind: ClientKind, options: TransactionalOptions) -> TransactionalProducer:
        asked.append(options)
        return bench.coordinator.make(kind, options)

    workers = [
        each for each in compacted_workers(bench.context(), make) if isinstance(each, TransactionWorker)
    ]
    for worker in workers:
        worker.start()
    wait_until(lambda: len(asked) >= len(workers))
    for worker in workers:
        worker.stopping.set()
    assert join_all(workers, BOUND_S) == []
    assert {each.transaction_timeout_ms for each in asked} == {WORKLOAD.transaction_timeout_ms}
