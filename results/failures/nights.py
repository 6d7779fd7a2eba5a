"""The store of past nights: of each run it keeps what later comparisons need, without the evidence.

The runs' folders are as in any store, so that lists, summaries, trends and heat maps read them.
"""

import contextlib
import shutil
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from checkers.history.identity import IDENTITY_FILE
from results.failures.signatures import SignedRun, signed
from results.run.measures import MEASURES_FILE
from results.store.runs import (
    VERDICT_FILE,
    RunUnreadableError,
    load_identity,
    load_record,
    load_verdict,
    place_of,
    run_folders,
    save_record,
    write_whole,
)

KEPT_FILES = (IDENTITY_FILE, VERDICT_FILE, MEASURES_FILE)
LEFT_OUT_FILE = "left-out.json"
"""File next to them if a signature of the run got no issue, because there were too many that night."""


class _LeftOut(msgspec.Struct, frozen=True):
    """Ids of signatures."""

    signatures: tuple[str, ...]


def signed_runs(root: Path, below: Path | None = None) -> Iterator[SignedRun]:
    """The runs of a store that were judged, with their signatures; others can't be compared.

    Args:
        root: the store, in which they have their places.
        below: the part of it that is looked at, which may be one run; by default all of it.
    """
    for folder in sorted(run_folders(root if below is None else below)):
        with contextlib.suppress(RunUnreadableError):
            yield signed(place_of(root, folder), load_identity(folder), load_verdict(folder))


def past_runs(past: Path) -> Iterator[SignedRun]:
    """The judged runs of past nights, without signatures that got no issue: those stay new.

    Raises:
        RunUnreadableError: if it can't be read which of a run's signatures those are.
    """
    for run in signed_runs(past):
        record = past / run.place / LEFT_OUT_FILE
        left_out = load_record(record, _LeftOut).signatures if record.exists() else ()
        kept = tuple(one for one in run.signatures if one.id not in left_out)
        yield msgspec.structs.replace(run, signatures=kept)


def part_of(root: Path) -> str:
    """The scenario of the run in a folder that is only a part of a store; empty if it is a store.

    The places of such runs lack the beginning of the scenario's name: added to the past, a run would have
    another place than if its whole store were added, and count twice.
    """
    for folder in run_folders(root):
        with contextlib.suppress(RunUnreadableError):
            scenario = Path(load_identity(folder).scenario).parts
            place = Path(place_of(root, folder)).parts[:-1]
            if len(place) < len(scenario) and place == scenario[len(scenario) - len(place) :]:
                return "/".join(scenario)
    return ""


def remember(
    roots: Iterable[Path], past: Path, keep_days: int, left_out: Collection[str] = ()
) -> tuple[int, int]:
    """Add the judged runs of stores to the past, and drop from there what is too old.

    Args:
        roots: the stores; a run that the past has already replaces that one.
        past: the store of past nights; created if needed.
        keep_days: a run that began more days before the newest one is dropped.
        left_out: ids of signatures that are to stay new.

    Returns:
        How many runs were added, and how many were dropped.

    Raises:
        OSError: if a file can't be read or written.
    """
    added = 0
    for root in roots:
        for folder in sorted(run_folders(root)):
            if (folder / IDENTITY_FILE).is_file() and (folder / VERDICT_FILE).is_file():
                _copy_of(folder, past / place_of(root, folder))
                added += 1
        for run in signed_runs(root):
            if ids := tuple(one.id for one in run.signatures if one.id in left_out):
                save_record(past / run.place / LEFT_OUT_FILE, _LeftOut(ids))
    return added, _forget(past, keep_days)


def _copy_of(folder: Path, place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    (place / LEFT_OUT_FILE).unlink(missing_ok=True)
    for name in KEPT_FILES:
        if (folder / name).is_file():
            write_whole(place / name, (folder / name).read_bytes())


def _forget(past: Path, keep_days: int) -> int:
    began = {folder: moment for folder in run_folders(past) if (moment := _moment(folder)) is not None}
    newest = max(began.values(), default=None)
    kept = timedelta(days=keep_days)
    dropped = [folder for folder, moment in began.items() if newest is not None and newest - moment > kept]
    for folder in dropped:
        shutil.rmtree(folder)
    return len(dropped)


def _moment(folder: Path) -> datetime | None:
    """When a run began; None if not recorded."""
    try:
        return datetime.fromisoformat(load_identity(folder).began_at).replace(tzinfo=None)
    except (RunUnreadableError, ValueError):
        return None
