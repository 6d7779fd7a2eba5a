"""Orders to hosts and their reports: one folder of the shared store for each command.

A host writes a note when it begins a run, and a report when the run has ended.  There is one report for each
run: a process with the same order finds the report and does nothing.
"""

import hashlib
import os
import secrets
from pathlib import Path
from typing import TypeVar

import msgspec

from harness.errors import disk_errors_named
from harness.plan.planning import RunOptions
from results.store.runs import load_record, save_record

FOLDER = "hosts"
"""Folder of the store with a folder for each command that made runs on hosts."""
PROOF_FILE = "proof"
"""File in the folder of a command that a host reads to prove that it has the same store."""
_Record = TypeVar("_Record", bound=msgspec.Struct)
_WISH = "wish"
_GO_ON, _STOP = "go on", "stop"


class Site(msgspec.Struct, frozen=True):
    """The place of runs on a host, and the store that they are moved to.

    Attributes:
        store: the shared store.
        scratch: the folder for runs on the host.
        slots: number of clusters at once on the host.
    """

    store: Path
    scratch: Path
    slots: int

    @property
    def slot_numbers(self) -> range:
        """The numbers of all slots, from 1."""
        return range(1, self.slots + 1)

    def scratch_of(self, slot: int) -> Path:
        """The folder on the host for runs in one of its slots; separate for each shared store."""
        store = hashlib.sha256(str(self.store).encode()).hexdigest()[:10]
        return self.scratch / f"slot-{slot}" / store


class Order(msgspec.Struct, frozen=True):
    """An order to a host to make one run.

    Attributes:
        number: number of the order, from 1.
        options: options of the run, as for a command.
        place: the folder of this command in the shared store.
        site: the places on the host.
        machines: machines that were checked and fulfil all requirements.
    """

    number: int
    options: RunOptions
    place: Path
    site: Site
    machines: tuple[str, ...]


class Begun(msgspec.Struct, frozen=True):
    """The beginning of a run on a host.

    Attributes:
        host: the host's name.
        folder: the run's folder on that host.
        began_at: the time, ISO 8601 in UTC.
    """

    host: str
    folder: str
    began_at: str


class Report(msgspec.Struct, frozen=True):
    """How a run ended.

    Attributes:
        host: the host that made the run.
        folder: the run's folder in the store; empty if there is none.
        text: the last lines of the run.
        failure: the reason why the harness failed; empty if it did not.
        interrupted: whether it was ended early, and does not count as done.
    """

    host: str
    folder: str = ""
    text: str = ""
    failure: str = ""
    interrupted: bool = False


def encode(record: msgspec.Struct) -> bytes:
    """Encode a record for a host, or for the driver."""
    return msgspec.json.encode(record, enc_hook=str)


def decode(data: bytes, kind: type[_Record]) -> _Record:
    """The inverse of `encode`."""
    return msgspec.json.decode(data, type=kind, dec_hook=lambda of, text: of(text))


class ReportFolder:
    """The folder of a command, to which hosts write their reports.

    Args:
        place: the folder.
    """

    def __init__(self, place: Path) -> None:
        self.place = place

    @classmethod
    def opened(cls, store: Path) -> "ReportFolder":
        """Create the folder in a store.

        Raises:
            KrucibleError: it can't be made.
        """
        place = store / FOLDER / secrets.token_hex(5)
        with disk_errors_named():
            place.mkdir(parents=True)
            (place / PROOF_FILE).write_text(secrets.token_hex(16))
            (place / _WISH).write_text(_GO_ON)
        return cls(place)

    @property
    def store(self) -> Path:
        """The store that it is in."""
        return self.place.parent.parent

    def log(self, number: int) -> Path:
        """File with the output of a run."""
        return self.place / f"{number}.log"

    def begin(self, number: int, begun: Begun) -> None:
        """Write a note that a run began."""
        save_record(self.place / f"{number}-begun-{secrets.token_hex(4)}.json", begun)

    def begun(self, number: int) -> list[Begun]:
        """All notes that a run began, in order."""
        notes = [load_record(path, Begun) for path in self.place.glob(f"{number}-begun-*.json")]
        return sorted(notes, key=lambda note: note.began_at)

    def report(self, number: int) -> Report | None:
        """The report of a run; None if it has not ended."""
        path = self._report(number)
        return load_record(path, Report) if path.exists() else None

    def end(self, number: int, report: Report) -> bool:
        """Write a report; returns whether it is the first one; later ones do not count."""
        draft = save_record(self.place / f".{number}-{secrets.token_hex(4)}.json", report)
        try:
            os.link(draft, self._report(number))
        except FileExistsError:
            return False
        finally:
            draft.unlink()
        return True

    def stop(self) -> None:
        """Order every run of the command to end early."""
        with disk_errors_named():
            # The file exists from the beginning: over a network, a host may see a new file late.
            (self.place / _WISH).write_text(_STOP)

    @property
    def stopped(self) -> bool:
        """Whether runs are to end early."""
        return (self.place / _WISH).read_text() == _STOP

    @property
    def proof(self) -> str:
        """The content of the file that proves that a store is the same."""
        return (self.place / PROOF_FILE).read_text()

    def _report(self, number: int) -> Path:
        return self.place / f"{number}.json"
