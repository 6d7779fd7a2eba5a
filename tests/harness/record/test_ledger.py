"""The ledger knows what was not undone, whatever moment the harness died at."""

import os
from pathlib import Path

import pytest

from harness.errors import KrucibleError
from harness.record.ledger import (
    LEDGER_FILE,
    FaultPlanned,
    FaultUndone,
    Ledger,
    RunOpened,
    RunRemoved,
    Undo,
    pending_undos,
    read_ledger,
)
from harness.record.ownership import Owner, owner_from_label, start_ticks_of, this_process

CUT = FaultPlanned(fault="f1", undo=(Undo(action="remove-chain", node="n1", chain="KRUCIBLE-f1"),))
PAUSE = FaultPlanned(fault="f2", undo=(Undo(action="unpause", node="n2"),))


def written(folder: Path) -> Ledger:
    ledger = Ledger(folder)
    ledger.write(RunOpened(run="abc", owner=this_process(os.getpid())))
    ledger.write(CUT)
    ledger.write(PAUSE)
    return ledger


def test_what_was_not_undone_is_pending_newest_first(tmp_path: Path) -> None:
    ledger = written(tmp_path)
    assert pending_undos(read_ledger(tmp_path)) == (PAUSE, CUT)

    ledger.write(FaultUndone(fault="f2"))
    ledger.write(RunRemoved())
    ledger.close()
    assert pending_undos(read_ledger(tmp_path)) == (CUT,)


def test_an_entry_cut_short_was_never_acted_upon(tmp_path: Path) -> None:
    written(tmp_path).close()
    path = tmp_path / LEDGER_FILE
    path.write_bytes(path.read_bytes()[:-5])

    assert pending_undos(read_ledger(tmp_path)) == (CUT,)


def test_no_ledger_means_nothing_to_undo(tmp_path: Path) -> None:
    assert read_ledger(tmp_path) == ()


def test_a_full_disk_forbids_the_fault(tmp_path: Path) -> None:
    (tmp_path / LEDGER_FILE).symlink_to("/dev/full")
    ledger = Ledger(tmp_path)

    with pytest.raises(KrucibleError, match="no fault may be injected"):
        ledger.write(CUT)
    ledger.close()


def test_an_owner_is_alive_only_as_the_very_same_process() -> None:
    me = this_process(os.getpid())

    assert me.is_alive
    assert owner_from_label(me.label()) == me
    assert not Owner(pid=me.pid, start_ticks=me.start_ticks + 1).is_alive


def test_process_zero_does_not_exist() -> None:
    assert start_ticks_of(0) is None
    with pytest.raises(ProcessLookupError):
        this_process(0)
