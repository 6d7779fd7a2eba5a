"""Healing what a killed harness left, whatever became of its folder and disk."""

import os
from pathlib import Path
from typing import Any

import pytest

from harness.cluster import leftovers as of_engine
from harness.cluster.containers import FOLDER_LABEL, KEPT_LABEL, OWNER_LABEL
from harness.cluster.leftovers import Leftover, leftovers
from harness.cluster.logs import SavedLogs
from harness.errors import EngineError, KrucibleError, UsageError
from harness.record.ledger import (
    LEDGER_FILE,
    FaultPlanned,
    Ledger,
    RunOpened,
    Undo,
    pending_undos,
    read_ledger,
)
from harness.record.ownership import Owner, this_process
from harness.run import healing
from harness.run.healing import heal, heal_after

DEAD = Owner(1, 1)
"""The first process of a host was not started one tick after its boot."""
PAUSE = FaultPlanned(fault="f1", undo=(Undo(action="unpause", node="n1"),))
CUT = FaultPlanned(fault="f2", undo=(Undo(action="remove-chain", node="n1", chain="KRUCIBLE-f2"),))


KILL = FaultPlanned(fault="f3", undo=(Undo(action="start", node="n1"),))


class Node:
    """A node's containers that remember what was done to them."""

    has_namespace = True

    def __init__(self, *, refuses: bool) -> None:
        self.refuses = refuses
        self.done: list[str] = []

    def unpause(self) -> None:
        if self.refuses:
            raise EngineError("refused", got="no such container")
        self.done.append("unpaused")

    def enter_holder(self, command: str) -> str:
        self.done.append(command)
        return ""


class Engine:
    """What `heal` sees of the engine and of one run that is left over."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self.removed: list[str] = []
        self.node = Node(refuses=False)
        self.described: str | None = "abc"
        self.leftover = Leftover(run="abc", folder=folder, live=False, kept=False)
        monkeypatch.setattr(healing, "leftovers", lambda _: (self.leftover,))
        monkeypatch.setattr(healing, "find_cluster", self._find)
        monkeypatch.setattr(healing, "remove_run", self._remove_run)
        monkeypatch.setattr(healing, "RunContainers", self._containers)

    def heal(self, *named: str) -> str:
        lines: list[str] = []
        heal(self, named, lines.append)  # type: ignore[arg-type]
        return "\n".join(lines)

    def _find(self, *_: object) -> Any:
        if self.described is None:
            raise KrucibleError("this folder describes no cluster")
        engine = self

        class Cluster:
            containers = {"n1": engine.node}  # noqa: RUF012 - a stand-in
            nodes = ()
            addresses: dict[str, str] = {}  # noqa: RUF012
            images: dict[str, str] = {}  # noqa: RUF012
            version = "4.3.1"
            description = type("Description", (), {"run": engine.described})

        return Cluster()

    def _remove_run(self, _client: object, run: str, folder: Path) -> None:
        self.removed.append(f"{run} and the disks in {folder.name}")

    def _containers(self, _client: object, run: str) -> Any:
        return type("Containers", (), {"remove": lambda _: self.removed.append(run), "nodes": lambda _: {}})()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Engine:
    folder = tmp_path / "run"
    folder.mkdir()
    ledger = Ledger(folder)
    ledger.write(RunOpened(run="abc", owner=Owner(1, 1)))
    ledger.write(PAUSE)
    ledger.write(CUT)
    ledger.close()
    return Engine(monkeypatch, folder)


def test_faults_are_undone_newest_first_then_everything_goes(engine: Engine) -> None:
    output = engine.heal()
    assert "KRUCIBLE-f2" in engine.node.done[0]
    assert engine.node.done[1:] == ["unpaused"]
    assert engine.removed == ["abc and the disks in run"]
    assert "its history stays" in output
    assert pending_undos(read_ledger(engine.folder)) == ()


def test_a_node_that_is_down_is_not_started_before_it_is_removed(engine: Engine) -> None:
    ledger = Ledger(engine.folder)
    ledger.write(KILL)
    ledger.close()
    text = engine.heal()
    assert "f3 ends with its nodes, which are removed" in text
    assert "undid f3" not in text
    assert "undid f1" in text
    assert pending_undos(read_ledger(engine.folder)) == ()


def test_a_step_back_that_fails_keeps_nothing_alive(engine: Engine) -> None:
    engine.node.refuses = True
    assert "f1 could not be undone (no such container)" in engine.heal()
    assert engine.removed == ["abc and the disks in run"]
    assert pending_undos(read_ledger(engine.folder)) == (PAUSE,)


def test_a_ledger_that_takes_nothing_keeps_nothing_alive(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = engine.folder / LEDGER_FILE

    def remove_and_break_the_disk(*_: object) -> None:
        engine.removed.append("abc")
        ledger.unlink()
        ledger.mkdir()

    monkeypatch.setattr(healing, "remove_run", remove_and_break_the_disk)
    assert "healed, but its ledger could not be written: Is a directory" in engine.heal()
    assert engine.removed == ["abc"]


def test_without_its_folder_the_containers_go_all_the_same(engine: Engine) -> None:
    (engine.folder / LEDGER_FILE).unlink()
    engine.folder.rmdir()
    engine.described = None
    assert "does not describe it" in engine.heal()
    assert engine.removed == ["abc"]
    assert not engine.folder.exists()


@pytest.mark.parametrize("error", [EngineError("refused", got="no such container"), OSError("disk full")])
def test_logs_that_can_not_be_saved_are_reported_and_keep_nothing_alive(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(healing, "save_logs", fail)
    assert f"run abc: logs of its nodes could not be saved: {error}" in engine.heal()
    assert engine.removed == ["abc and the disks in run"]


def test_one_log_that_can_not_be_fetched_is_reported(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = SavedLogs({"n1": b""}, {"n2": EngineError("refused", got="no such container")})
    monkeypatch.setattr(healing, "save_logs", lambda *_: lost)
    assert "run abc: the log of n2 could not be fetched: refused: no such container" in engine.heal()


def test_a_damaged_description_does_not_save_the_disks(engine: Engine) -> None:
    engine.described = None
    engine.heal()
    assert engine.removed == ["abc and the disks in run"]


def test_a_folder_that_another_run_took_over_is_left_alone(engine: Engine) -> None:
    engine.described = "other"
    (engine.folder / LEDGER_FILE).unlink()
    engine.heal()
    assert engine.removed == ["abc"]
    assert engine.node.done == []


@pytest.mark.parametrize(
    ("live", "kept", "expected"), [(True, False, "its harness is running"), (False, True, "it was kept")]
)
def test_what_is_alive_or_kept_stays_unless_named(
    engine: Engine, *, live: bool, kept: bool, expected: str
) -> None:
    engine.leftover = Leftover(run="abc", folder=engine.folder, live=live, kept=kept)
    assert expected in engine.heal()
    assert engine.removed == []
    engine.heal("abc")
    assert engine.removed == ["abc and the disks in run"]


def test_a_name_that_fits_nothing_is_refused_before_anything_is_touched(engine: Engine) -> None:
    with pytest.raises(UsageError, match="no run nope"):
        engine.heal("abc", "nope")
    assert engine.removed == []


def after(engine: Engine, owner: Owner) -> tuple[Leftover, ...]:
    return heal_after(engine, owner, [engine.folder], lambda _line: None)  # type: ignore[arg-type]


def test_what_a_process_left_is_healed_by_what_the_engine_knows_of_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = {FOLDER_LABEL: str(engine.folder), OWNER_LABEL: DEAD.label(), KEPT_LABEL: "false"}
    others = labels | {OWNER_LABEL: this_process(os.getpid()).label()}
    monkeypatch.setattr(of_engine, "labelled_runs", lambda _: {"abc": labels, "def": others})
    monkeypatch.setattr(healing, "leftovers", leftovers)
    assert [left.run for left in after(engine, DEAD)] == ["abc"]
    assert engine.removed == ["abc and the disks in run"]
    assert pending_undos(read_ledger(engine.folder)) == ()
    assert engine.node.done[1:] == ["unpaused"]


def test_disks_are_removed_of_which_only_the_ledger_knows(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(healing, "leftovers", lambda *_: ())
    assert after(engine, Owner(2, 2)) == ()
    assert [left.run for left in after(engine, DEAD)] == ["abc"]
    assert after(engine, DEAD) == (), "the ledger has no such disk any more"
    (engine.folder / LEDGER_FILE).unlink()
    (engine.folder / LEDGER_FILE).mkdir()
    assert after(engine, DEAD) == (), "nobody knows whose it is"
    assert engine.removed == ["abc and the disks in run"]


def test_what_a_process_was_to_keep_stays(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Leftover(run="abc", folder=engine.folder, live=False, kept=True)
    monkeypatch.setattr(healing, "leftovers", lambda *_: (kept,))
    assert after(engine, DEAD) == ()
    assert engine.removed == []
