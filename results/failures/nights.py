"""The store of past nights, which keeps the data of each run that later comparisons need, without evidence.

Its folders are like those of any store, so that lists, summaries, trends and heat maps can read them.
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
"""File in a run's folder with signatures that got no issue, because there were too many that night."""


class _LeftOut(msgspec.Struct, frozen=True):
    """Content of `LEFT_OUT_FILE`: the ids of these signatures."""

    signatures: tuple[str, ...]


def signed_runs(root: Path, below: Path | None = None) -> Iterator[SignedRun]:
    """The judged runs of a store, with their signatures.

    Args:
        root: the store; places are relative to it.
        below: the part of the store to read, which may be one run; by default all of it.
    """
    for folder in sorted(run_folders(root if below is None else below)):
        with contextlib.suppress(RunUnreadableError):
            yield signed(place_of(root, folder), load_identity(folder), load_verdict(folder))


def past_runs(past: Path) -> Iterator[SignedRun]:
    """The judged runs of past nights, without signatures that got no issue, because these must stay new.

    Raises:
        RunUnreadableError: if the file with a run's signatures without issue can't be read.
    """
    for run in signed_runs(past):
        record = past / run.place / LEFT_OUT_FILE
        left_out = load_record(record, _LeftOut).signatures if record.exists() else ()
        kept = tuple(one for one in run.signatures if one.id not in left_out)
        yield msgspec.structs.replace(run, signatures=kept)


def part_of(root: Path) -> str:
    """The scenario of a run in a folder that is only a part of a store; empty if it is a store.

    The places of such runs lack the start of the scenario's name.  If a run were added to the past from
    there, and again from the whole store, it would have two places and count twice.
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
    """Add the judged runs of stores to the past, and remove old ones.

    Args:
        roots: the stores; a run that the past already has is replaced.
        past: the store of past nights; created if needed.
        keep_days: runs that began more days before the newest one are removed.
        left_out: ids of signatures that stay new.

    Returns:
        Number of added and number of removed runs.

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
