"""The runs of a store for the browser; only runs that changed are read again."""

import os
import stat
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from checkers.history.identity import IDENTITY_FILE
from checkers.verdict.verdict import Validity
from results.failures.signatures import signatures_in
from results.run.causes import cause_lines, causes_of
from results.run.measures import MEASURES_FILE, load_measures
from results.serve.new_failures import Signed, new_signatures
from results.store.runs import (
    VERDICT_FILE,
    RunSummary,
    StoreError,
    followed,
    load_verdict,
    run_folders,
    summarise_folder,
)

READ = (IDENTITY_FILE, VERDICT_FILE, MEASURES_FILE)
"""Files of a run that a listing reads."""
BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of a file in `READ`; a larger file is not read."""
NAME_CHARACTERS_MAX = 200
"""Maximum length of a name (scenario, version, anomaly); a longer one is cut."""
KINDS_MAX = 100
CAUSES_MAX = 3
"""Maximum number of causes of an invalid run with their own line."""
UNJUDGED = "unjudged"
_Stamp = tuple[int, int, int, int] | None


class ListedRun(NamedTuple):
    """One run of a listing.

    Attributes:
        place: path of its folder in the store, with slashes.
        name: name of its folder, which begins with the time.
        summary: data from its identity and its verdict.
        faults: number of injected faults by kind; None if unknown.
        operations: number of operations in its history; None if unknown.
        duration_ms: time from its start to its last operation; None if unknown.
        causes: for an invalid run, one line for each illegal cause; the last line counts the rest.
        legal: for an invalid run, number of legal anomalies by id; None for other runs.
        signatures: for an invalid run, the signatures of its illegal anomalies.
    """

    place: str
    name: str
    summary: RunSummary
    faults: dict[str, int] | None
    operations: int | None
    duration_ms: int | None
    causes: tuple[str, ...] = ()
    legal: dict[str, int] | None = None
    signatures: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """The validity of the verdict, or `UNJUDGED`."""
        return self.summary.validity.value if self.summary.validity else UNJUDGED


class RunListing:
    """All runs at or below a folder; each call of `entries` reads the runs that changed.

    Attributes:
        root: the folder to which places are relative; the parent folder if the given one is a run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = followed(folder)
        is_run = next(run_folders(self._folder), None) == self._folder
        self.root = self._folder.parent if is_run else self._folder
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[tuple[_Stamp, ...], ListedRun]] = {}

    def entries(self) -> tuple[ListedRun, ...]:
        """All runs, newest first."""
        with self._lock:
            self._known = {folder: self._fresh(folder) for folder in run_folders(self._folder)}
            found = [entry for _, entry in self._known.values()]
        return tuple(sorted(found, key=lambda entry: (entry.name, entry.place), reverse=True))

    def find(self, place: str) -> ListedRun | None:
        """The current state of the run at a place; None if there is none."""
        return next((entry for entry in self.entries() if entry.place == place), None)

    def _fresh(self, folder: Path) -> tuple[tuple[_Stamp, ...], ListedRun]:
        stamps = tuple(_stamp(folder / name) for name in READ)
        known = self._known.get(folder)
        return known if known is not None and known[0] == stamps else (stamps, _read(self.root, folder))


def new_in(entries: Iterable[ListedRun]) -> dict[str, tuple[str, ...]]:
    """By place, signatures that no earlier run of the store has; runs with a seeded bug are left out."""
    return new_signatures(
        Signed(entry.place, entry.name, entry.signatures)
        for entry in entries
        if entry.summary.validity is not None and not entry.summary.seeded_bug
    )


def _stamp(path: Path) -> _Stamp:
    """A value that changes with the file; None if the file does not exist."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode


def _read(root: Path, folder: Path) -> ListedRun:
    strange = [problem for name in READ if (problem := _strange(folder / name))]
    summary = _unread(root, folder, strange) if strange else summarise_folder(root, folder)
    faults = operations = duration_ms = None
    if not strange:
        try:
            measures = load_measures(folder)
        except StoreError as error:
            if summary.validity is not None:
                summary = msgspec.structs.replace(summary, problems=(*summary.problems, str(error)))
        else:
            kinds = [fault.kind for fault in measures.faults]
            faults = {_short(kind): kinds.count(kind) for kind in sorted(set(kinds))[:KINDS_MAX]}
            operations, duration_ms = measures.operations, measures.duration_ms
    place = folder.relative_to(root).as_posix()
    entry = ListedRun(place, folder.name, _shortened(summary), faults, operations, duration_ms)
    return entry if strange else _with_causes(entry, folder)


def _with_causes(entry: ListedRun, folder: Path) -> ListedRun:
    """Add the causes from the verdict of an invalid run; other runs are not read again."""
    if entry.summary.validity is not Validity.INVALID and not entry.summary.illegal:
        return entry
    try:
        verdict = load_verdict(folder)
    except StoreError as error:  # the file was replaced after it was summarised
        problems = (*entry.summary.problems, str(error))
        return entry._replace(summary=msgspec.structs.replace(entry.summary, problems=problems))
    causes, legal = causes_of(verdict), Counter[str]()
    for cause in causes:
        legal.update({} if cause.illegal else dict(cause.kinds))
    lines = tuple(map(_short, cause_lines([cause for cause in causes if cause.illegal], CAUSES_MAX)))
    return entry._replace(
        causes=lines,
        legal={_short(name): legal[name] for name in sorted(legal)[:KINDS_MAX]},
        signatures=tuple(
            f"{one.checker}/{one.anomaly}: {one.words}" for one in signatures_in(verdict)[:KINDS_MAX]
        ),
    )


def _shortened(run: RunSummary) -> RunSummary:
    """Limit the size of a summary."""
    return msgspec.structs.replace(
        run,
        scenario=_short(run.scenario),
        kafka_version=_short(run.kafka_version),
        began_at=_short(run.began_at),
        anomalies={_short(name): count for name, count in list(run.anomalies.items())[:KINDS_MAX]},
        illegal=tuple(_short(name) for name in run.illegal[:KINDS_MAX]),
        replay_of=_short(run.replay_of),
        seeded_bug=_short(run.seeded_bug),
    )


def _short(name: str) -> str:
    return name[:NAME_CHARACTERS_MAX]


def _strange(path: Path) -> str | None:
    """Why a file must not be opened (a link, a pipe, too large); None if it may be."""
    found = _stamp(path)
    if found is None:
        return None
    if not stat.S_ISREG(found[3]):
        return f"{path.name} is not a plain file, so it was not read"
    if found[1] > BYTES_MAX:
        return f"{path.name} has {found[1]:,} bytes, more than the {BYTES_MAX:,} that are read"
    return None


def _unread(root: Path, folder: Path, problems: list[str]) -> RunSummary:
    scenario = folder.parent.relative_to(root).as_posix()
    return RunSummary(folder=folder, scenario=scenario, problems=tuple(problems))


def outcomes() -> tuple[str, ...]:
    """All values of `ListedRun.outcome`, worst first."""
    return (Validity.INVALID.value, Validity.UNKNOWN.value, Validity.VALID.value, UNJUDGED)
