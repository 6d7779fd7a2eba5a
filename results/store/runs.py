"""The run store: finds, lists and reads what runs left under ``runs/<scenario>/<UTC time>-<seed>/``.

Runs are made by the harness, which also keeps the links ``runs/latest`` and ``runs/<scenario>/latest``, and
the folders of clusters that no run started, ``runs/clusters/<id>/``, which are no runs.  A run may have been
killed at any moment, so every file may be missing or cut short: a listing reports that instead of failing.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from checkers.history.identity import IDENTITY_FILE, RunIdentity, decode_identity
from checkers.verdict.verdict import Validity, Verdict
from results.markup.cleaning import clean
from results.repeats.flakes import Comparable, comparable
from results.store.commands import command_to_list, store_option
from results.store.naming import is_run_name, runs_meant, seed_in

VERDICT_FILE = "verdict.json"
REPORT_FILE = "report.html"
LATEST = "latest"
LEDGER_FILE = "ledger.jsonl"
"""The first file in the folder of a cluster, started by a run or by hand."""
_Record = TypeVar("_Record", bound=msgspec.Struct)
_DEPTH_MAX = 8
_NAME_MAX = 200
_PATH_MAX = 4_096
_CHOICES_MAX = 8


class StoreError(Exception):
    """A run, or one of its files, can't be read; the message says what, where and what to do next."""


class RunNotFoundError(StoreError):
    """No run in the store has that name."""


class RunAmbiguousError(RunNotFoundError):
    """Several runs have the short name."""


class RunUnreadableError(StoreError):
    """A run's file is missing, cut short or not what it should be."""


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a listing.

    Attributes:
        folder: the run's folder.
        scenario: its scenario, from the identity or else from its place in the store.
        kafka_version: empty if the identity can't be read.
        seed: None if neither the identity nor the folder's name has it.
        began_at: ISO 8601 in UTC; empty if the identity can't be read.
        validity: None if there is no readable verdict.
        as_expected: None if nothing was expected or nothing was judged.
        anomalies: exact number per id, over all checkers.
        illegal: those ids of which at least one breaks a promise.
        replay_of: id of the run that it replays, runs again or makes smaller; empty if there is none.
        seeded_bug: name of the bug that was put into Kafka; empty if it ran as it was released.
        comparable: data that show whether it should have another run's verdict; None if the identity can't be
            read.
        problems: what could not be read, one sentence each; empty for a whole run.
    """

    folder: Path
    scenario: str
    kafka_version: str = ""
    seed: int | None = None
    began_at: str = ""
    validity: Validity | None = None
    as_expected: bool | None = None
    anomalies: dict[str, int] = {}
    illegal: tuple[str, ...] = ()
    replay_of: str = ""
    seeded_bug: str = ""
    comparable: Comparable | None = None
    problems: tuple[str, ...] = ()


def list_runs(root: Path) -> tuple[RunSummary, ...]:
    """All runs under a store's root, newest first; half-written and corrupt ones among them."""
    summaries = [summarise_folder(root, folder) for folder in run_folders(root)]
    return tuple(sorted(summaries, key=lambda run: (run.folder.name, str(run.folder)), reverse=True))


def summarise_folder(root: Path, folder: Path) -> RunSummary:
    """The line of one run's folder in a listing; never fails."""
    problems: list[str] = []
    identity: RunIdentity | None = None
    verdict: Verdict | None = None
    try:
        identity = load_identity(folder)
    except StoreError as error:
        problems.append(str(error))
    try:
        verdict = load_verdict(folder)
    except StoreError as error:
        problems.append(str(error))
    return RunSummary(
        folder=folder,
        scenario=identity.scenario if identity else _place(root, folder),
        kafka_version=identity.kafka_version if identity else "",
        seed=identity.seed if identity else seed_in(folder.name),
        began_at=identity.began_at if identity else "",
        validity=verdict.validity if verdict else None,
        as_expected=verdict.as_expected if verdict else None,
        anomalies=anomaly_counts(verdict) if verdict else {},
        illegal=illegal_ids(verdict) if verdict else (),
        replay_of=identity.replay_of if identity else "",
        seeded_bug=identity.seeded_bug if identity else "",
        comparable=comparable(identity, verdict.validity.value if verdict else "") if identity else None,
        problems=tuple(problems),
    )


def run_folders(folder: Path, depth: int = _DEPTH_MAX) -> Iterator[Path]:
    """Run folders at or below a folder; links are not followed, nor runs and clusters searched for runs.

    A folder that a user named may be a link to a run: see `followed`.
    What has a name that begins with a dot is on its way from another host.
    """
    if _is_run(folder) and not folder.is_symlink():
        yield folder
    elif depth > 0 and not _has_ledger(folder):
        for child in _subfolders(folder):
            yield from run_folders(child, depth - 1)


def followed(folder: Path) -> Path:
    """A given folder, absolute and without links, so that a link to a run is searched too.

    ``runs/latest`` is such a link.  A broken link is returned unchanged.
    """
    return _resolved(folder) or folder


def find_run(root: Path, name: str, *, originals: bool = False) -> Path:
    """The folder of a run.

    Args:
        root: the store.
        name: ``latest``, a scenario's name (its latest run), a run's place in the store, any path, or a short
            name: see `results.store.naming.runs_meant`, alone or after the scenario's name.
        originals: ignore replays for ``latest`` and for short names; a replay is found by its own place.

    Raises:
        RunNotFoundError: if there is no such run.
        RunAmbiguousError: if several runs have that short name.
    """
    for candidate in (root / name, root / name / LATEST, Path(name)):
        resolved = _resolved(candidate)
        if resolved is None or not _is_run(resolved):
            continue
        if not (originals and candidate.name == LATEST and _is_replay(resolved)):
            return resolved
    newest = _newest(root, Path(name), originals=originals)
    if newest is not None:
        return newest.resolve()
    short = _by_short_name(root, name, originals=originals)
    if short is not None:
        return short.resolve()
    runs = "runs that are not replays" if originals else "runs"
    if name == LATEST and next(run_folders(root), None) is None:
        raise RunNotFoundError(
            f"no run is called {LATEST!r}: there are no runs yet\n"
            f"  expected: a folder that holds runs\n  where:    {root}\n"
            f"  next:     make a run: krucible run smoke/partition{store_option(root)}; "
            "or name another folder with --runs"
        )
    raise RunNotFoundError(
        f"no run is called {clean(repr(name), _NAME_MAX)}\n"
        f"  expected: {LATEST!r}, a scenario with {runs}, a run's folder, its seed or its time\n"
        f"  where:    {root}\n  next:     {command_to_list(root)}"
    )


def place_of(root: Path, folder: Path) -> str:
    """The name of a run's place, by which `find_run` finds it, whatever else is in the store."""
    return folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)


def find_original(root: Path, replay: RunIdentity) -> Path | None:
    """The run that a replay goes back to, over replays of replays; None where the store does not have it."""
    known: dict[str, tuple[Path, RunIdentity]] = {}
    for folder in run_folders(root):
        with contextlib.suppress(StoreError):
            identity = load_identity(folder)
            known[identity.run] = folder, identity
    found = known.pop(replay.replay_of, None)
    while found is not None and found[1].replay_of:
        found = known.pop(found[1].replay_of, None)  # each once: files of others may go in circles
    return found[0].resolve() if found is not None else None


def load_identity(folder: Path) -> RunIdentity:
    """The identity of a run.

    Raises:
        RunUnreadableError: if ``run.json`` is missing or damaged.
    """
    path = folder / IDENTITY_FILE
    with _reading_errors(path):
        return decode_identity(path.read_bytes())


def load_verdict(folder: Path) -> Verdict:
    """The verdict of a run.

    Raises:
        RunUnreadableError: if ``verdict.json`` is missing (the run was never judged) or damaged.
    """
    return load_record(folder / VERDICT_FILE, Verdict)


def save_verdict(folder: Path, verdict: Verdict) -> Path:
    """Write ``verdict.json`` completely or not at all, synced to disk.

    Raises:
        OSError: if the disk is full or the folder is gone; an earlier verdict is then untouched.
    """
    return save_record(folder / VERDICT_FILE, verdict)


def load_record(path: Path, kind: type[_Record]) -> _Record:
    """A JSON file as the Struct that it was written from.

    Raises:
        RunUnreadableError: if it is missing or does not fit.
    """
    with _reading_errors(path):
        return msgspec.json.decode(path.read_bytes(), type=kind)


def save_record(path: Path, record: msgspec.Struct) -> Path:
    """Write a Struct as indented JSON, completely or not at all, synced to disk.

    Raises:
        OSError: if it can't be written.
    """
    return write_whole(path, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")


def write_whole(path: Path, data: bytes) -> Path:
    """Put a file in place by rename after a sync, so that no reader ever sees half of it.

    Raises:
        OSError: if it can't be written; what was there before is then untouched.
    """
    with _errors_naming(path):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    return path


def anomaly_counts(verdict: Verdict) -> dict[str, int]:
    """Exact number of anomalies per id, over all checkers, legal ones included."""
    counts: dict[str, int] = {}
    for result in verdict.results:
        for anomaly_id, count in result.counts.items():
            counts[anomaly_id] = counts.get(anomaly_id, 0) + count
    return dict(sorted(counts.items()))


def illegal_ids(verdict: Verdict) -> tuple[str, ...]:
    """Ids of anomalies that break a promise, over all checkers."""
    found = {a.id for result in verdict.results for a in result.anomalies if a.illegal}
    return tuple(sorted(found))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _errors_naming(path: Path) -> Iterator[None]:
    """Let errors name the file that was to be written, not the temporary one, or none if the disk is full."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


@contextlib.contextmanager
def _reading_errors(path: Path) -> Iterator[None]:
    """Convert every error of reading a file to one kind of error that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise RunUnreadableError(f"{path.name} is missing in {path.parent}") from None
    except OSError as error:
        raise RunUnreadableError(f"{path} can't be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RunUnreadableError(f"{path.name} is damaged: {error} (in {path.parent})") from error


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            seen = (e for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith("."))
            return sorted(Path(e.path) for e in seen)
    except (OSError, ValueError):
        return []


def _resolved(path: Path) -> Path | None:
    """Where a path leads; None for one that can't lead anywhere (a loop of links, a NUL in it)."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        return None


def _newest(root: Path, place: Path, *, originals: bool) -> Path | None:
    """The newest run below a place, relative to the store or to the current folder; None if there is none."""
    place = place.parent if place.name == LATEST else place
    for below in (root / place, place):
        resolved = _resolved(below)
        # A folder elsewhere may contain any runs, whose verdicts must not be written again.
        if resolved is None or not resolved.is_relative_to(root.resolve()):
            continue
        for folder in sorted(run_folders(below), key=lambda folder: folder.name, reverse=True):
            if not (originals and _is_replay(folder)):
                return folder
    return None


def _by_short_name(root: Path, name: str, *, originals: bool) -> Path | None:
    """The one run that a short name means, be it after its scenario's name; None if there is none."""
    scenario, _, short = name.rpartition("/")
    below = (folder for folder in run_folders(root) if not scenario or _place(root, folder) == scenario)
    found = runs_meant(short, below, lambda folder: folder.name)
    if originals:
        found = [folder for folder in found if not _is_replay(folder)]
    if len(found) > 1:
        places = [place_of(root, folder) for folder in sorted(found, key=lambda one: one.name, reverse=True)]
        rest = "" if len(places) <= _CHOICES_MAX else f"\n            and {len(places) - _CHOICES_MAX} more"
        raise RunAmbiguousError(
            f"{len(places)} runs are called {clean(repr(name), _NAME_MAX)}\n  got:      "
            + "\n            ".join(clean(place, _NAME_MAX) for place in places[:_CHOICES_MAX])
            + f"{rest}\n  expected: a name that one run has\n"
            f"  where:    {root}\n  next:     name one of them as shown here"
        )
    return found[0] if found else None


def _is_replay(folder: Path) -> bool:
    """Whether it is known to be a replay; callers that need the identity report errors in it."""
    try:
        return bool(load_identity(folder).replay_of)
    except RunUnreadableError:
        return False


def _is_run(folder: Path) -> bool:
    """Whether a folder is a run; False, and no error, if it can't be read."""
    return os.path.isdir(folder) and (  # noqa: PTH112 - False, not an error, if it can't be read
        os.path.isfile(folder / IDENTITY_FILE)  # noqa: PTH113 - as above
        or os.path.isfile(folder / VERDICT_FILE)  # noqa: PTH113 - as above
        or (is_run_name(folder.name) and not _is_cluster(folder))
    )


def _is_cluster(folder: Path) -> bool:
    """Whether it was made for a cluster alone: a run that has its ledger has a journal as well.

    Clusters have had names like those of runs.
    """
    return _has_ledger(folder) and not any(folder.glob("history*.jsonl"))


def _has_ledger(folder: Path) -> bool:
    return os.path.isfile(folder / LEDGER_FILE)  # noqa: PTH113 - as in `_is_run`


def _place(root: Path, folder: Path) -> str:
    parent = folder.parent
    return parent.relative_to(root).as_posix() if parent.is_relative_to(root) else parent.name
