"""Scripts that fail: the control says so, and what they had begun is ended."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checkers.history.operations import Operation, OperationType
from checkers.history.reading import read_history
from checkers.history.transactions import ScriptPlayed
from harness.record.journal import Clock, Journals
from harness.vocabulary import Script, ScriptedTransactions
from harness.workloads import scripted
from harness.workloads.context import WorkloadContext, clients_for
from harness.workloads.script import ScriptError
from harness.workloads.scripted import ScriptWorker

WORKLOAD = ScriptedTransactions(script=Script.DELAYED_END_TXN)


class FakeScriptClient:
    """Counts how often it was told to end what was begun."""

    def __init__(self, fails: bool) -> None:  # noqa: FBT001 - one question, asked by name of the test
        self.abandoned = 0
        self._fails = fails

    def abandon(self) -> None:
        self.abandoned += 1
        if self._fails:
            raise ScriptError("InitProducerId was answered [42]")


def played(
    folder: Path, monkeypatch: pytest.MonkeyPatch, play: Any, *, fails: bool = False
) -> tuple[ScriptWorker, FakeScriptClient, Operation]:
    client = FakeScriptClient(fails)
    monkeypatch.setattr(scripted, "_LEAD_S", 0.0)
    monkeypatch.setattr(scripted, "ScriptClient", lambda _context, _cleanup: client)
    monkeypatch.setattr(scripted, "SCRIPTS", {Script.DELAYED_END_TXN: play})
    journals = Journals(folder, "run", Clock())
    worker = ScriptWorker(WorkloadContext(WORKLOAD, journals, clients_for(WORKLOAD, ())))
    worker.work()
    journals.close()
    return worker, client, read_history(folder).operations[-1]


def failing(_stagehand: Any, _worker: ScriptWorker) -> ScriptPlayed:
    raise ScriptError("EndTxn was answered [90]")


def test_a_script_that_is_played_tells_what_brokers_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, client, control = played(tmp_path, monkeypatch, lambda *_: ScriptPlayed(1, late_end_error=90))
    assert (control.f, control.key, control.type) == ("control", "delayed-end-txn", OperationType.OK)
    assert control.value == {"transaction_version": 1, "late_end_error": 90}
    assert client.abandoned == 0


def test_a_script_that_fails_is_told_and_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, client, control = played(tmp_path, monkeypatch, failing)
    assert (control.type, control.error) == (OperationType.INFO, "ScriptError: EndTxn was answered [90]")
    assert (client.abandoned, worker.complaints) == (1, [])


def test_what_could_not_be_ended_is_complained_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, _, control = played(tmp_path, monkeypatch, failing, fails=True)
    assert control.type is OperationType.INFO
    assert worker.complaints == ["script: InitProducerId was answered [42]"]


def test_a_defect_of_a_script_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyError):
        played(tmp_path, monkeypatch, lambda *_: SimpleNamespace().__dict__["no such step"])
