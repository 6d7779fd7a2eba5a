"""Finds stored runs by their options, made by any command."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from checkers.history.identity import RunIdentity
from checkers.history.phases import PHASE, Phase
from checkers.verdict.verdict import Validity
from harness.campaigns.sensitivity.identity import bug_digest, is_script_of
from harness.errors import disk_errors_named
from harness.plan.digest import digest_of
from harness.plan.schedule import decode
from harness.record.deaths import is_noted
from harness.record.folder import SCHEDULE_FILE
from harness.seeded_bugs.catalogue import seeded_bugs
from harness.seeded_bugs.seeding import SCRIPT_FILE
from results.sensitivity.outcomes import Origin
from results.store.judges import load_judge
from results.store.runs import RunUnreadableError, load_identity, load_verdict, run_folders

RUNNER_JOURNAL = "history-runner.jsonl"
_OVER = f'"f":"{PHASE}","key":"{Phase.DONE}"'.encode()
"""Bytes in the runner's journal if the run reached its end; the journal of an interrupted run lacks them."""
_DIGITS = 12


class StoredRun(NamedTuple):
    """A run that was judged.

    Attributes:
        folder: folder of the run.
        identity: identity of the run.
        origin: digests that show whether it has the same bug and faults as another run.  A digest is empty if
            it can't be determined, or if the bug's file has changed since.
    """

    folder: Path
    identity: RunIdentity
    origin: Origin


class StoredRuns:
    """The runs of a store without replays; each is read once.

    Args:
        root: the store.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[Path, RunIdentity] = {}
        self._judged: dict[Path, StoredRun] = {}

    def look(self) -> None:
        """Read the runs that are new in the store."""
        for folder in run_folders(self._root):
            identity = self._known.get(folder) or _identity(folder)
            if identity is not None:
                self._known[folder] = identity

    def of(self, command: str) -> Iterator[StoredRun]:
        """The runs of one command, oldest first."""
        return self._chosen(lambda identity: identity.reproduce == command)

    def with_bug(self, name: str) -> Iterator[StoredRun]:
        """The runs with a bug, oldest first."""
        return self._chosen(lambda identity: identity.seeded_bug == name)

    def _chosen(self, wanted: Callable[[RunIdentity], bool]) -> Iterator[StoredRun]:
        for folder, identity in sorted(self._known.items(), key=lambda item: (item[0].name, item[0])):
            if wanted(identity) and (folder in self._judged or _over(folder)):
                if folder not in self._judged:
                    self._judged[folder] = StoredRun(folder, identity, _origin(folder, identity))
                yield self._judged[folder]


def _identity(folder: Path) -> RunIdentity | None:
    """The stored run in a folder; None for a replay, and if it can't be read."""
    try:
        identity = load_identity(folder)
    except RunUnreadableError:
        return None
    return None if identity.replay_of else identity


def _over(folder: Path) -> bool:
    """Whether a run reached its verdict, and was not interrupted before.

    A run whose harness died counts too, because the next run with its bug and faults would die as well.
    """
    try:
        verdict = load_verdict(folder)
    except RunUnreadableError:
        return False
    undecided = verdict.validity is Validity.UNKNOWN and not is_noted(folder)
    return not undecided or _OVER in _bytes(folder / RUNNER_JOURNAL)


def _origin(folder: Path, identity: RunIdentity) -> Origin:
    bug = seeded_bugs().get(identity.seeded_bug)
    script = _bytes(folder / SCRIPT_FILE).decode(errors="replace")
    version = identity.kafka_version
    jars = identity.image.checksums.get("jars", "") if identity.image else ""
    return Origin(
        bug=bug_digest(bug, version) if bug is not None and is_script_of(script, bug, version) else "",
        schedule=_schedule(folder),
        kafka=jars[:_DIGITS],
        commit=identity.krucible_commit,
        began_at=identity.began_at,
        judged_by=load_judge(folder).commit,
    )


def _schedule(folder: Path) -> str:
    """Digest of a run's plan; empty if the current vocabulary can't express it."""
    try:
        return digest_of(decode(_bytes(folder / SCHEDULE_FILE)))
    except msgspec.DecodeError:
        return ""


def _bytes(file: Path) -> bytes:
    """The content of a run's file; empty if there is no such file."""
    with disk_errors_named():
        return file.read_bytes() if file.is_file() else b""
