"""The run store: finds, lists and reads runs in ``runs/<scenario>/<UTC time>-<seed>/``.

The harness makes the runs, the links ``runs/latest`` and ``runs/<scenario>/latest``, and the folders of
clusters without a run, ``runs/clusters/<id>/``.  A run may have been killed at any time, so every file may be
missing or truncated: a listing reports that instead of failing.
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
from results.store.naming import is_run_name, runs_meant, seed_in
from results.store.unknown_runs import no_runs_text, not_found_text

VERDICT_FILE = "verdict.json"
REPORT_FILE = "report.html"
LATEST = "latest"
LEDGER_FILE = "ledger.jsonl"
"""The first file in the folder of a cluster, whether a run or a user started it."""
_Record = TypeVar("_Record", bound=msgspec.Struct)
_DEPTH_MAX = 8
_NAME_MAX = 200
_PATH_MAX = 4_096
_CHOICES_MAX = 8


class StoreError(Exception):
    """A run or one of its files can't be read; the message has the path and the next step."""


class RunNotFoundError(StoreError):
    """No run in the store has that name."""


class RunAmbiguousError(RunNotFoundError):
    """Several runs have the short name."""


class RunUnreadableError(StoreError):
    """A file of a run is missing, truncated or invalid."""


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a listing.

    Attributes:
        folder: the run's folder.
        scenario: its scenario, from the identity, else from its path in the store.
        kafka_version: empty if the identity can't be read.
        seed: None if neither the identity nor the folder's name has it.
        began_at: ISO 8601 in UTC; empty if the identity can't be read.
        validity: None if there is no readable verdict.
        as_expected: None without an expectation or a verdict.
        anomalies: number of anomalies by id, over all checkers.
        illegal: ids with at least one illegal anomaly.
        replay_of: id of the run that it replays, repeats or minimises; empty if none.
        seeded_bug: name of the bug that was put into Kafka; empty for Kafka as released.
        comparable: the data that decide which runs should have the same verdict; None if the identity can't
            be read.
        problems: what could not be read, one sentence each; empty for a complete run.
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
    """All runs under a store's root, newest first, including incomplete and corrupt ones."""
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
    """Run folders at or below a folder; links are not followed, and runs and clusters are not searched.

    A folder that a user named may be a link to a run: see `followed`.
    A name that begins with a dot is skipped: the run is being copied from another host.
    """
    if _is_run(folder) and not folder.is_symlink():
        yield folder
    elif depth > 0 and not _has_ledger(folder):
        for child in _subfolders(folder):
            yield from run_folders(child, depth - 1)


def followed(folder: Path) -> Path:
    """Resolve a folder to an absolute path without links, so that a link to a run is searched too.

    ``runs/latest`` is such a link.  A broken link is returned unchanged.
    """
    return _resolved(folder) or folder


def find_run(root: Path, name: str, *, originals: bool = False) -> Path:
    """The folder of a run.

    Args:
        root: the store.
        name: ``latest``, a scenario's name (its latest run), a run's path in the store, any path, or a short
            name (see `results.store.naming.runs_meant`), alone or after the scenario's name.
        originals: ignore replays for ``latest`` and for short names; a replay is found by its path.

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
        raise RunNotFoundError(no_runs_text(root, LATEST))
    raise RunNotFoundError(not_found_text(root, name, runs, run_folders(root)))


def place_of(root: Path, folder: Path) -> str:
    """The path of a run in the store, by which `find_run` always finds it."""
    return folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)


def find_original(root: Path, replay: RunIdentity) -> Path | None:
    """The original run of a replay, or of a replay of a replay; None if the store does not have it."""
    known: dict[str, tuple[Path, RunIdentity]] = {}
    for folder in run_folders(root):
        with contextlib.suppress(StoreError):
            identity = load_identity(folder)
            known[identity.run] = folder, identity
    found = known.pop(replay.replay_of, None)
    while found is not None and found[1].replay_of:
        found = known.pop(found[1].replay_of, None)  # each once, because foreign files may have cycles
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
    """Write ``verdict.json`` atomically, synced to disk.

    Raises:
        OSError: if the disk is full or the folder was removed; an earlier verdict is then unchanged.
    """
    return save_record(folder / VERDICT_FILE, verdict)


def load_record(path: Path, kind: type[_Record]) -> _Record:
    """Read a JSON file that `save_record` wrote.

    Raises:
        RunUnreadableError: if the file is missing or does not match the type.
    """
    with _reading_errors(path):
        return msgspec.json.decode(path.read_bytes(), type=kind)


def save_record(path: Path, record: msgspec.Struct) -> Path:
    """Write a Struct as indented JSON, atomically, synced to disk.

    Raises:
        OSError: if it can't be written.
    """
    return write_whole(path, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")


def write_whole(path: Path, data: bytes) -> Path:
    """Write a file atomically: sync a temporary file, then rename it.

    Raises:
        OSError: if it can't be written; an earlier file is then unchanged.
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
    """Number of anomalies by id, over all checkers: illegal ones first, then legal ones."""
    counts: dict[str, int] = {}
    for result in verdict.results:
        for anomaly_id, count in result.counts.items():
            counts[anomaly_id] = counts.get(anomaly_id, 0) + count
    illegal = illegal_ids(verdict)
    return dict(sorted(counts.items(), key=lambda each: (each[0] not in illegal, each[0])))


def illegal_ids(verdict: Verdict) -> tuple[str, ...]:
    """Ids of illegal anomalies, over all checkers."""
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
    """Let errors name the target file instead of the temporary one, or no file if the disk is full."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


@contextlib.contextmanager
def _reading_errors(path: Path) -> Iterator[None]:
    """Convert all errors of reading a file to `RunUnreadableError`, which names the file."""
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
    """Resolve a path; None if that is impossible (a loop of links, a NUL)."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        return None


def _newest(root: Path, place: Path, *, originals: bool) -> Path | None:
    """The newest run below a path, relative to the store or to the current folder; None if none."""
    place = place.parent if place.name == LATEST else place
    for below in (root / place, place):
        resolved = _resolved(below)
        # A folder outside of the store may contain any runs; their verdicts must not be overwritten.
        if resolved is None or not resolved.is_relative_to(root.resolve()):
            continue
        for folder in sorted(run_folders(below), key=lambda folder: folder.name, reverse=True):
            if not (originals and _is_replay(folder)):
                return folder
    return None


def _by_short_name(root: Path, name: str, *, originals: bool) -> Path | None:
    """The only run with a short name, alone or after its scenario's name; None if there is none."""
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
    """Whether a run is known to be a replay; callers that need the identity report its errors."""
    try:
        return bool(load_identity(folder).replay_of)
    except RunUnreadableError:
        return False


def _is_run(folder: Path) -> bool:
    """Whether a folder is a run; False if it can't be read."""
    return os.path.isdir(folder) and (  # noqa: PTH112 - False, not an error, if it can't be read
        os.path.isfile(folder / IDENTITY_FILE)  # noqa: PTH113 - as above
        or os.path.isfile(folder / VERDICT_FILE)  # noqa: PTH113 - as above
        or (is_run_name(folder.name) and not _is_cluster(folder))
    )


def _is_cluster(folder: Path) -> bool:
    """Whether a folder belongs to a cluster without a run: it has a ledger but no journal.

    In earlier versions such folders had names like those of runs.
    """
    return _has_ledger(folder) and not any(folder.glob("history*.jsonl"))


def _has_ledger(folder: Path) -> bool:
    return os.path.isfile(folder / LEDGER_FILE)  # noqa: PTH113 - as in `_is_run`


def _place(root: Path, folder: Path) -> str:
    parent = folder.parent
    return parent.relative_to(root).as_posix() if parent.is_relative_to(root) else parent.name
