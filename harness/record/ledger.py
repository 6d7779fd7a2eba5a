"""The ledger: each fault and the steps that undo it are on disk before the fault is injected.

It is one file in the run's folder with one JSON object per line.  Each line is synced before the fault is
injected, so that `krucible heal` can clean up after a harness that was killed with SIGKILL.
"""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from harness.errors import KrucibleError
from harness.record.ownership import Owner

LEDGER_FILE = "ledger.jsonl"


class Undo(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step that undoes a fault: remove a chain of the packet filter, unpause a process, or start it."""

    action: Literal["remove-chain", "unpause", "start"]
    node: str
    chain: str = ""


class RunOpened(msgspec.Struct, frozen=True, tag_field="entry", tag="run"):
    """The first entry: the owner of this cluster."""

    run: str
    owner: Owner
    kept: bool = False


class FaultPlanned(msgspec.Struct, frozen=True, tag_field="entry", tag="fault"):
    """A fault that is about to be injected, and the steps that undo it."""

    fault: str
    undo: tuple[Undo, ...]


class FaultUndone(msgspec.Struct, frozen=True, tag_field="entry", tag="undone"):
    """A fault was healed."""

    fault: str


class RunRemoved(msgspec.Struct, frozen=True, tag_field="entry", tag="removed"):
    """All containers and networks of the run were removed."""


Entry = RunOpened | FaultPlanned | FaultUndone | RunRemoved


class Ledger:
    """The writer; one per run."""

    def __init__(self, folder: Path) -> None:
        path = folder / LEDGER_FILE
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._where = str(path)
        # A writer that was killed, or whose disk was full, may have left an incomplete line.
        size = os.fstat(self._file).st_size
        self._gap = b"\n" if size and os.pread(self._file, 1, size - 1) != b"\n" else b""

    def write(self, entry: Entry) -> None:
        """Append an entry and sync it; safe to be called by several threads.

        Raises:
            KrucibleError: if the disk can't be written; then nothing may be injected.
        """
        try:
            with self._lock:
                line = self._gap + msgspec.json.encode(entry) + b"\n"
                while line:  # a disk that is nearly full writes a part, then raises
                    line = line[os.write(self._file, line) :]
                    self._gap = b"\n" if line else b""
                os.fsync(self._file)
        except OSError as error:
            raise KrucibleError(
                "the ledger can't be written, so no fault may be injected",
                got=str(error),
                where=self._where,
                next_step="make room on the disk, then krucible heal",
            ) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_ledger(folder: Path) -> tuple[Entry, ...]:
    """All complete entries; an incomplete entry is ignored, because its fault was never injected."""
    path = folder / LEDGER_FILE
    return tuple(_whole(path.read_bytes())) if path.exists() else ()


def _whole(data: bytes) -> Iterator[Entry]:
    decoder = msgspec.json.Decoder(Entry)
    for line in data.split(b"\n")[:-1]:
        try:
            yield decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue


def pending_undos(entries: tuple[Entry, ...]) -> tuple[FaultPlanned, ...]:
    """Faults that were planned and not undone, newest first."""
    undone = {entry.fault for entry in entries if isinstance(entry, FaultUndone)}
    planned = [entry for entry in entries if isinstance(entry, FaultPlanned)]
    return tuple(entry for entry in reversed(planned) if entry.fault not in undone)
