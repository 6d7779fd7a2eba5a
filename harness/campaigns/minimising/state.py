"""The state of a minimisation, stored next to its invalid run after every run."""

import fcntl
import hashlib
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from harness.campaigns.minimising.evidence import ReproductionOutcome
from harness.errors import KrucibleError, disk_errors_named
from harness.plan.digest import digest_of
from harness.plan.writing import write_scenario
from harness.vocabulary.scenario import Scenario
from results.store.runs import RunUnreadableError, load_record, save_record

FOLDER = "minimised"
STATE_FILE = "state.json"
_LOCK_FILE = "lock"
RESULT_FILE = "scenario.py"
CANDIDATES = "candidates"
_FORMER_DIGITS = 8


class Tried(msgspec.Struct, frozen=True):
    """One run that was made.

    Attributes:
        key: digest of the scenario that was run; if an earlier version of krucible made it, of its source.
        outcome: its result with regard to the anomaly.
        folder: the run's folder.
        confirming: whether it was made after the search, to measure the rate of the chosen scenario.
        took_s: how long it took, in seconds; 0 if an earlier version of krucible made it.
    """

    key: str
    outcome: ReproductionOutcome
    folder: str
    confirming: bool = False
    took_s: int = 0


class MinimisationState(msgspec.Struct, frozen=True):
    """The runs of a minimisation of one run for one anomaly.

    Attributes:
        run: id of the run.
        wanted: the anomaly.
        tried: every run, in order.
    """

    run: str
    wanted: str
    tried: tuple[Tried, ...] = ()


class MinimisationFile:
    """The state of a minimisation on disk.

    Args:
        run_folder: folder of the run that is made smaller.
        run: its id.
        wanted: the anomaly that must return.

    Attributes:
        folder: the files of this minimisation.

    Raises:
        KrucibleError: the stored state can't be read, or belongs to another run.
    """

    def __init__(self, run_folder: Path, run: str, wanted: str) -> None:
        self.folder = run_folder / FOLDER / wanted
        self._path = self.folder / STATE_FILE
        self.state = MinimisationState(run, wanted)
        if self._path.exists():
            self.state = self._read()

    def outcomes(self, scenario: Scenario, *, confirming: bool = False) -> list[ReproductionOutcome]:
        """The outcomes of a scenario's runs, in order."""
        keys = {digest_of(scenario), _former_key_of(scenario)}
        return [
            each.outcome for each in self.state.tried if each.key in keys and each.confirming is confirming
        ]

    def add(self, tried: Tried) -> None:
        """Store one more run."""
        self.state = msgspec.structs.replace(self.state, tried=(*self.state.tried, tried))
        with disk_errors_named():
            self.folder.mkdir(parents=True, exist_ok=True)
            save_record(self._path, self.state)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Prevent other processes from minimising the same run for the same anomaly meanwhile.

        Each process writes the whole state, so the last one would drop the runs of the other.

        Raises:
            KrucibleError: another process already minimises it.
        """
        with disk_errors_named():
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / _LOCK_FILE).open("w")
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the lock ends with the process
            except BlockingIOError:
                raise KrucibleError(
                    "another process is minimising this run",
                    got=f"{self.folder / _LOCK_FILE} is locked",
                    expected=f"one process that minimises {self.state.run} for {self.state.wanted}",
                    where=str(self.folder),
                    next_step="wait for it, or end it with Ctrl-C and continue with the same command",
                ) from None
            if self._path.exists():
                self.state = self._read()
            yield

    def _read(self) -> MinimisationState:
        try:
            state = load_record(self._path, MinimisationState)
        except RunUnreadableError as error:
            raise self._refused(str(error)) from error
        if (state.run, state.wanted) != (self.state.run, self.state.wanted):
            raise self._refused(f"it is of run {state.run}, for {state.wanted}")
        return state

    def _refused(self, got: str) -> KrucibleError:
        return KrucibleError(
            "what the minimisation has done so far can't be used",
            got=got,
            expected=f"the runs that were made to minimise {self.state.run} for {self.state.wanted}",
            where=str(self._path),
            next_step=f"repair it, or start again: rm {shlex.quote(str(self._path))}",
        )


def _former_key_of(scenario: Scenario) -> str:
    """The key that earlier versions of krucible gave a scenario; a new name of a type changes it."""
    return hashlib.sha256(write_scenario(scenario, "").encode()).hexdigest()[:_FORMER_DIGITS]
