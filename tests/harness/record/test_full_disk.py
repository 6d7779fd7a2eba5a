"""A disk that is really full: what was recorded stays, what can't be written is reported."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.operations import OperationType
from checkers.history.reading import read_history
from harness import cli
from harness.errors import KrucibleError
from harness.record.journal import Clock, JournalError, Journals, Recorder
from harness.record.ledger import (
    LEDGER_FILE,
    FaultPlanned,
    FaultUndone,
    Ledger,
    Undo,
    pending_undos,
    read_ledger,
)
from results.store.runs import RunUnreadableError, load_verdict, save_verdict

CUT = FaultPlanned(fault="f1", undo=(Undo(action="remove-chain", node="n1", chain="KRUCIBLE-f1"),))
NO_SPACE = "No space left on device"


class SmallDisk:
    """A file system of 256 KiB of our own."""

    def __init__(self, place: Path) -> None:
        self.runs = place
        self.folder = place / "smoke" / "partition" / "20261120T215657Z-7"
        self.folder.mkdir(parents=True)

    def fill(self, but: int = 0) -> None:
        """Leave `but` bytes free."""
        filler = self.runs / "filler"
        with filler.open("wb", buffering=0) as file:
            for size in (1 << 12, 1):
                while _takes(file.fileno(), size):
                    pass
        if but:
            os.truncate(filler, filler.stat().st_size - but)

    def free(self) -> None:
        (self.runs / "filler").unlink()


def _takes(descriptor: int, size: int) -> bool:
    try:
        return os.write(descriptor, b"x" * size) == size
    except OSError:
        return False


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A tmpfs; needs the right to mount one."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "krucible-test", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def recorded(disk: SmallDisk) -> dict[str, bytes]:
    """A short history in the run's folder, and its bytes."""
    journals = Journals(disk.folder, "9f2c61d0", Clock())
    recorder = Recorder(journals.open("nemesis"), "nemesis")
    spec: Any = {"kind": "pause", "spec": {"kind": "pause"}}
    with recorder.operation("inject", "f1", spec) as outcome:
        outcome.ok(spec | {"targets": ["n1"], "cut": [], "resolved_by": "role", "probe": {"paused": True}})
    journals.close()
    return history_of(disk)


def history_of(disk: SmallDisk) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in disk.folder.glob("history*")}


def test_a_journal_keeps_what_it_had_and_what_it_has_can_be_read(disk: SmallDisk) -> None:
    journals = Journals(disk.folder, "9f2c61d0", Clock())
    recorder = Recorder(journals.open("runner"), "runner")
    disk.fill(but=4096)
    written: list[str] = []

    def write_on() -> None:
        while True:
            text = f"{len(written):>500}"
            recorder.observe("phase", text)
            written.append(text)

    with pytest.raises(JournalError, match="can't be written") as raised:
        write_on()
    assert raised.value.got == NO_SPACE
    assert "free space" in raised.value.next_step
    disk.free()
    with pytest.raises(JournalError):  # a line after a cut one would not be a line
        recorder.observe("phase", "later")
    journals.close()

    history = read_history(disk.folder)
    assert [operation.key for operation in history.operations] == written
    assert all(operation.type is OperationType.OK for operation in history.operations)
    assert len(history.damage) <= 1


def test_a_ledger_that_was_cut_short_goes_on_where_there_is_room_again(disk: SmallDisk) -> None:
    ledger = Ledger(disk.folder)
    ledger.write(CUT)
    disk.fill(but=4096)
    later = FaultPlanned(fault="f2", undo=CUT.undo * 20)

    def write_on() -> None:
        while True:
            ledger.write(later)

    with pytest.raises(KrucibleError, match="no fault may be injected") as raised:
        write_on()
    assert NO_SPACE in raised.value.got
    assert CUT in pending_undos(read_ledger(disk.folder))
    ledger.close()

    disk.free()
    ledger = Ledger(disk.folder)
    ledger.write(FaultUndone(fault="f1"))
    ledger.write(FaultUndone(fault="f2"))
    ledger.close()
    assert pending_undos(read_ledger(disk.folder)) == ()
    assert (disk.folder / LEDGER_FILE).read_bytes().endswith(b"}\n")


def test_a_verdict_is_written_whole_or_the_old_one_stays(
    disk: SmallDisk, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(disk)
    assert cli.invoke(["check", str(disk.folder), "--runs", str(disk.runs)]) == 2
    capsys.readouterr()
    before = load_verdict(disk.folder)
    disk.fill()
    with pytest.raises(OSError, match=NO_SPACE):
        save_verdict(disk.folder, msgspec.structs.replace(before, reasons=("x" * 9000,)))
    assert load_verdict(disk.folder) == before
    assert not list(disk.folder.glob(".*"))


@pytest.mark.parametrize("command", ["check", "report"])
def test_the_command_reports_the_full_disk_and_does_not_change_the_history(
    disk: SmallDisk, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    before = recorded(disk)
    disk.fill()
    assert cli.invoke([command, str(disk.folder), "--runs", str(disk.runs)]) == 3
    stderr = capsys.readouterr().err
    assert NO_SPACE in stderr
    assert re.search(r"next: +(make room|free space)", stderr)
    assert "Traceback" not in stderr
    assert "defect" not in stderr
    assert history_of(disk) == before
    with pytest.raises(RunUnreadableError, match="missing"):
        load_verdict(disk.folder)

    disk.free()
    assert cli.invoke(["check", str(disk.folder), "--runs", str(disk.runs)]) == 2
    assert history_of(disk) == before
