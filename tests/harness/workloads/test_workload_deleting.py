"""Deletions of records keep their books: what was asked for, and whether it is known to be done."""

from pathlib import Path
from typing import Any

import pytest

from checkers.history.operations import OperationType
from harness.clients import ClientFailedError
from harness.record.journal import Clock, Journals
from harness.vocabulary import LogWorkload
from harness.workloads.context import LogContext, WorkloadContext
from harness.workloads.deleting import DeletingWorker, Deletions, delete_records
from harness.workloads.log import log_workers
from harness.workloads.worker import join_all
from tests.harness.fakes.log import FakeLog
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, wait_until

OK, INFO, INVOKE = OperationType.OK, OperationType.INFO, OperationType.INVOKE
WORKLOAD = LogWorkload(partitions=1, producers=1, consumers=1, deletions_interval_ms=5)


@pytest.fixture
def log() -> FakeLog:
    return FakeLog(1)


def context_of(folder: Path, log: FakeLog) -> LogContext:
    return WorkloadContext(WORKLOAD, Journals(folder, "run", Clock()), log, ("localhost:1",))


def filled(log: FakeLog, monkeypatch: pytest.MonkeyPatch, first: int, end: int) -> None:
    """A partition that begins and ends there, whoever asks."""
    made = log.consumer

    def consumer(*about: Any) -> object:
        client = made(*about)
        monkeypatch.setattr(client, "offsets", lambda _partitions, _timeout_s: {0: (first, end)})
        return client

    monkeypatch.setattr(log, "consumer", consumer)


def test_a_tenth_to_four_tenths_of_the_oldest_records_go(
    tmp_path: Path, log: FakeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(log, monkeypatch, 100, 1100)
    asked: list[tuple[str, int, int]] = []
    worker = DeletingWorker(context_of(tmp_path, log), 2, lambda _, *where: asked.append(where))
    worker.start()
    wait_until(lambda: len(asked) > 3)
    worker.stopping.set()
    assert join_all([worker], BOUND_S) == []
    assert all(
        topic == "log-0" and partition == 0 and 200 <= below <= 500 for topic, partition, below in asked
    )
    begun, ended = recorded(tmp_path)[:2]
    assert (begun.type, begun.f, begun.key, begun.value) == (
        INVOKE,
        "delete-records",
        "log-0",
        [[0, asked[0][2]]],
    )
    assert (ended.type, ended.value) == (OK, begun.value)


def test_who_listens_hears_of_what_was_acknowledged(
    tmp_path: Path, log: FakeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(log, monkeypatch, 0, 1000)
    context = context_of(tmp_path, log)
    heard = context.deletions.heard()

    def refuse(*_: object) -> None:
        raise ClientFailedError("no answer")

    DeletingWorker(context, 2, refuse).do_once()
    assert heard.empty()
    DeletingWorker(context, 3, lambda *_: None).do_once()
    assert heard.get_nowait() == ("log-0", 0)


def test_what_was_not_acknowledged_may_be_done(
    tmp_path: Path, log: FakeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(log, monkeypatch, 0, 1000)

    def refuse(*_: object) -> None:
        raise ClientFailedError("no answer")

    DeletingWorker(context_of(tmp_path, log), 2, refuse).do_once()
    assert [one.type for one in recorded(tmp_path)] == [INVOKE, INFO]


@pytest.mark.parametrize("end", [0, 1])
def test_where_there_is_nothing_nothing_is_deleted(
    tmp_path: Path, log: FakeLog, monkeypatch: pytest.MonkeyPatch, end: int
) -> None:
    filled(log, monkeypatch, 0, end)
    DeletingWorker(context_of(tmp_path, log), 2).do_once()
    assert recorded(tmp_path) == []


def test_without_an_answer_nothing_is_deleted(
    tmp_path: Path, log: FakeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def consumer(*_: object) -> object:
        raise ClientFailedError("no broker")

    monkeypatch.setattr(log, "consumer", consumer)
    DeletingWorker(context_of(tmp_path, log), 2).do_once()
    assert recorded(tmp_path) == []


def test_a_script_has_records_of_one_partition_deleted(
    tmp_path: Path, log: FakeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(log, monkeypatch, 100, 1100)
    asked: list[tuple[str, int, int]] = []
    context = context_of(tmp_path, log)
    deletions = Deletions(context, lambda _, *where: asked.append(where))
    assert [*tmp_path.glob("*deleter*")] == [], "who deletes nothing has no journal"
    for share in (0.5, 0.25):
        one = deletions.one(("log-0", 0), share)
        one.start()
        assert join_all([one], BOUND_S) == []
    context.journals.close()
    assert asked == [("log-0", 0, 600), ("log-0", 0, 350)]
    operations = [(o.process, o.f, o.type, o.key, o.value) for o in recorded(tmp_path, "deleter-alone")]
    assert operations == [
        ("deleter-alone", "delete-records", kind, "log-0", [[0, below]])
        for below in (600, 350)
        for kind in (INVOKE, OK)
    ]


def test_one_process_more_where_records_are_deleted(tmp_path: Path, log: FakeLog) -> None:
    assert WORKLOAD.processes == 3
    assert [worker.name for worker in log_workers(context_of(tmp_path, log))][2:] == ["deleting-2"]
    assert LogWorkload().processes == 6


def test_no_broker_is_no_answer() -> None:
    with pytest.raises(ClientFailedError):
        delete_records(("localhost:1",), "log-0", 0, 1)
