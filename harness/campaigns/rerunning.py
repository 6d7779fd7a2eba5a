"""Plans stored runs again, from their options and seeds.

A rerun names its original, as a replay does (`replay_of`).  The original keeps its verdict.
`results.repeats.flakes` compares both, because the same command line plans both.
"""

import contextlib
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import msgspec

from harness.campaigns.campaign import STATE_FILE, Campaign, StoredCampaign, folder_for, recall
from harness.campaigns.contents import Contents
from harness.errors import KrucibleError, UsageError, disk_errors_named
from harness.plan.planning import RunOptions, RunPlan, plan_run, reproduce_line
from harness.plan.replaying_plan import OtherKafka, options_of
from results.campaigns.step_summary import run_passes
from results.campaigns.summary import Outcome, outcome_of
from results.repeats.flakes import REPLAYS
from results.store.commands import command_to_list, store_option
from results.store.runs import (
    RunUnreadableError,
    StoreError,
    followed,
    load_identity,
    load_record,
    run_folders,
    save_record,
)

QUALIFICATIONS = "qualifications"
"""Folder of the store with a folder for each qualification."""
_CAMPAIGNS_FILE = "campaigns.json"
_LISTED_MAX = 8
_CAMPAIGNS = "a campaign's folder, such as runs/exploratory/chaos/campaigns/0123456789"


class PlannedRerun(NamedTuple):
    """A run that is to be made again.

    Attributes:
        name: folder of the original, or the seed if the folder no longer exists.
        why: how the original ended; ``valid`` if the scenario expects another verdict.
        plan: plan of the rerun.
    """

    name: str
    why: str
    plan: RunPlan


class Failures(NamedTuple):
    """Failed runs, in the sense of Kafka's CI: every run that is not as expected.

    Attributes:
        of: number of all runs.
        again: failed runs, in the order of their names.
        left_out: one sentence for each failed run that can't be planned again.
        missing: number of runs of a qualification that have not been made yet.
    """

    of: int
    again: tuple[PlannedRerun, ...]
    left_out: tuple[str, ...]
    missing: int = 0


class _Qualification(msgspec.Struct, frozen=True):
    """Folders of the campaigns of a qualification, one for each of its runs, relative to the store."""

    campaigns: tuple[str, ...]


def plan_again(folder: Path) -> RunPlan:
    """Plan a stored run again.

    Raises:
        UsageError: it repeated the schedule of another run, or can't be planned any more.
        RunUnreadableError: its identity can't be read.
    """
    identity = load_identity(folder)
    if re.match(REPLAYS, identity.reproduce):
        raise UsageError(
            "that run is a replay: it had the recorded schedule of another run",
            got=f"a replay of run {identity.replay_of}",
            expected="a run that planned its own schedule",
            where=str(folder),
            next_step=identity.reproduce,
        )
    plan = plan_run(_with_its_tarball(options_of(folder, identity, OtherKafka()), folder))
    return msgspec.structs.replace(plan, replay_of=identity.run)


def record_qualification(runs: Path, name: str, plans: Iterable[RunPlan], contents: Contents) -> None:
    """Record the campaigns of a qualification, so that its failures can be found.

    Args:
        runs: the store.
        name: name of the qualification's folder.
        plans: plans of all its runs, including those that were made before.
        contents: looks up Kafka's content.

    Raises:
        UsageError: if the tarball of a plan can't be read.
        KrucibleError: if the record can't be written.
    """
    folders = (folder_for(runs, plan, contents).relative_to(runs).as_posix() for plan in plans)
    record = _Qualification(tuple(dict.fromkeys(folders)))
    with disk_errors_named():
        (runs / QUALIFICATIONS / name).mkdir(parents=True, exist_ok=True)
        save_record(runs / QUALIFICATIONS / name / _CAMPAIGNS_FILE, record)


def failures_named(runs: Path, name: str) -> tuple[Path, Failures]:
    """The failures of a campaign, a qualification or any folder of runs.

    Args:
        runs: the store.
        name: place of the folder in the store, or any path.

    Raises:
        UsageError: nothing has that name.
        KrucibleError: it is damaged.
    """
    places = (runs / name, Path(name))
    for folder in places:
        if (folder / STATE_FILE).is_file() or (folder / _CAMPAIGNS_FILE).is_file():
            return folder, failures_of_campaign(folder)
    place = followed(next((path for path in places if path.is_dir()), runs / name))
    return place, failures_below(place, runs)


def campaign_named(runs: Path, name: str) -> Path | None:
    """The folder of a campaign, by its place in the store or any path; None if there is none."""
    found = (folder for folder in (runs / name, Path(name)) if (folder / STATE_FILE).is_file())
    return next(found, None)


def last_campaign(runs: Path) -> Path:
    """The folder of the campaign of seeds, or of the qualification, that was active last; no reruns.

    Raises:
        UsageError: the store has none.
        KrucibleError: the newest is damaged.
    """
    records = _newest_first((runs / QUALIFICATIONS).glob(f"*/{_CAMPAIGNS_FILE}"))
    wholes = _wholes(records)
    for newest in _newest_first((*runs.rglob(STATE_FILE), *records)):
        if newest.name == _CAMPAIGNS_FILE:
            return newest.parent
        whole = wholes.get(newest.parent.resolve())
        if whole or _recalled(newest.parent).options:
            return whole or newest.parent
    raise UsageError(
        "there is no campaign to look for failures in",
        expected=f"{_CAMPAIGNS}, or a folder of runs",
        where=str(runs),
        next_step=f"krucible run SCENARIO --seeds A..B{store_option(runs)}, or, for all runs that are there, "
        f"krucible rerun-failed {quote(str(runs))}{store_option(runs)}",
    )


def plans_of_campaign(folder: Path) -> dict[int, RunPlan]:
    """The plans of all runs of a campaign, by seed.

    Raises:
        UsageError: if the campaign does not have them, or they can't be planned any more.
        KrucibleError: its state is damaged.
    """
    recalled = _recalled(folder)
    if not recalled.options:
        raise _not_recorded(folder)
    return {seed: plan_run(_options(recalled, seed, folder)) for seed in recalled.seeds}


def failures_of_campaign(folder: Path) -> Failures:
    """Failed runs of a campaign or a qualification, including those whose harness failed.

    Raises:
        KrucibleError: its state is damaged.
    """
    if (folder / _CAMPAIGNS_FILE).is_file():
        return _failures_of_parts(_parts_of(folder))
    recalled = _recalled(folder)
    found = [*_failed_runs(recalled.done.values()), *_failed_in(recalled, folder)]
    return _sorted_out(len(recalled.done) + len(recalled.failed), found)


def _failures_of_parts(campaigns: Sequence[Path]) -> Failures:
    begun = [campaign for campaign in campaigns if (campaign / STATE_FILE).is_file()]
    parts = [failures_of_campaign(campaign) for campaign in begun]
    found: list[PlannedRerun | str] = []
    for part in parts:
        found += (*part.again, *part.left_out)
    whole = _sorted_out(sum(part.of for part in parts), found)
    return whole._replace(missing=len(campaigns) - whole.of)


def failures_below(folder: Path, runs: Path) -> Failures:
    """Failed runs below a folder, without replays and reruns; of each command line, the newest run counts.

    Raises:
        UsageError: there are no runs.
    """
    newest: dict[str, Path] = {}
    for run in sorted(run_folders(folder), key=lambda run: (run.name, run)):
        try:
            identity = load_identity(run)
        except RunUnreadableError:
            newest[str(run)] = run
            continue
        if not identity.replay_of:
            newest[identity.reproduce] = run
    failed = list(_failed_seeds(folder, newest.keys()))
    if not newest and not failed:
        raise UsageError(
            "there are no runs to look for failures in",
            expected=f"{_CAMPAIGNS}, or a folder of runs",
            where=str(folder),
            next_step=command_to_list(runs),
        )
    return _sorted_out(len(newest) + len(failed), [*_failed_runs(newest.values()), *failed])


def campaigns_of(
    failures: Failures, runs: Path, contents: Contents
) -> list[tuple[Campaign, dict[int, RunPlan]]]:
    """One campaign for all reruns that differ only in their seeds, each with its plans.

    The same command continues with the missing reruns, and begins again if none is missing.
    """
    groups: dict[str, dict[int, RunPlan]] = {}
    for again in failures.again:
        options = again.plan.options
        groups.setdefault(_seedless(options), {})[options.seed] = again.plan

    def made(*, keep_complete: bool) -> list[tuple[Campaign, dict[int, RunPlan]]]:
        return [
            (_campaign(plans, runs, contents, keep_complete=keep_complete), plans)
            for plans in groups.values()
        ]

    going_on = made(keep_complete=True)
    begun = any(campaign.missing() for campaign, _plans in going_on)
    return going_on if begun else made(keep_complete=False)


def _campaign(
    plans: Mapping[int, RunPlan], runs: Path, contents: Contents, *, keep_complete: bool
) -> Campaign:
    first = next(iter(plans.values()))
    originals = " ".join(f"{seed}:{plan.replay_of}" for seed, plan in plans.items())
    digest = hashlib.sha256(originals.encode()).hexdigest()[:10]
    seeds = [*map(str, list(plans)[:_LISTED_MAX]), *(["…"] if len(plans) > _LISTED_MAX else [])]
    asked = f"rerun {digest} of seeds {', '.join(seeds)}: {reproduce_line(first.options)}"
    scenario = first.options.scenario
    return Campaign(runs, scenario, plans, keep_complete=keep_complete, asked=asked, contents=contents)


def _seedless(options: RunOptions) -> str:
    return reproduce_line(msgspec.structs.replace(options, seed=0))


def _failed_runs(folders: Iterable[Path]) -> Iterator[PlannedRerun | str]:
    for folder in folders:
        outcome = outcome_of(folder)
        if run_passes(outcome):
            continue
        try:
            yield PlannedRerun(folder.name, outcome.outcome.value, plan_again(folder))
        except (UsageError, StoreError) as error:
            yield f"{folder.name} ({outcome.outcome.value}): {error}"


def _failed_in(recalled: StoredCampaign, folder: Path) -> Iterator[PlannedRerun | str]:
    """Seeds in which the harness failed; they have no verdict."""
    for seed, why in sorted(recalled.failed.items()):
        try:
            yield PlannedRerun(
                f"seed {seed}", Outcome.FAILED.value, plan_run(_options(recalled, seed, folder))
            )
        except UsageError as error:
            yield f"seed {seed} (failed: {why}): {error}"


def _failed_seeds(folder: Path, known: Collection[str]) -> Iterator[PlannedRerun | str]:
    """Failed seeds without a run, of all campaigns below a folder."""
    for state in sorted(folder.rglob(STATE_FILE)):
        recalled = _recalled(state.parent)
        for one in _failed_in(recalled, state.parent) if recalled.options else ():
            if isinstance(one, str) or one.plan.reproduce not in known:
                yield one


def _sorted_out(of: int, found: Iterable[PlannedRerun | str]) -> Failures:
    every: Sequence[PlannedRerun | str] = list(found)
    again = sorted((one for one in every if isinstance(one, PlannedRerun)), key=lambda one: one.name)
    return Failures(of, tuple(again), tuple(sorted(one for one in every if isinstance(one, str))))


def _newest_first(files: Iterable[Path]) -> list[Path]:
    return sorted(files, key=lambda file: (file.stat().st_mtime_ns, file), reverse=True)


def _wholes(records: Sequence[Path]) -> dict[Path, Path]:
    """By campaign, the newest qualification that includes it: each of its runs is a campaign of one seed.

    An unreadable record is ignored, because it may be an old one that is not needed.
    """
    wholes: dict[Path, Path] = {}
    for record in records:
        with contextlib.suppress(KrucibleError):
            for campaign in _parts_of(record.parent):
                wholes.setdefault(campaign, record.parent)
    return wholes


def _parts_of(folder: Path) -> list[Path]:
    """The campaigns of a qualification, wherever its store is now, by any path to its folder."""
    try:
        record = load_record(folder / _CAMPAIGNS_FILE, _Qualification)
    except RunUnreadableError as error:
        raise KrucibleError(
            "the record of the qualification can't be read",
            got=str(error),
            expected="one that krucible qualify wrote",
            where=str(folder),
            next_step="run the same krucible qualify again, which rewrites it",
        ) from error
    store = folder.resolve().parent.parent
    return [store / campaign for campaign in record.campaigns]


def _recalled(folder: Path) -> StoredCampaign:
    try:
        return recall(folder)
    except RunUnreadableError as error:
        raise KrucibleError(
            "the state of the campaign can't be read",
            got=str(error),
            expected=f"{STATE_FILE}, as krucible run --seeds wrote it",
            where=str(folder),
            next_step="restore that file, or name runs of the campaign, which krucible list lists",
        ) from error


def _not_recorded(folder: Path) -> UsageError:
    return UsageError(
        "that campaign did not record what it ran",
        expected="one of krucible run --seeds, by this krucible",
        where=str(folder),
        next_step="krucible run SCENARIO --seeds A..B",
    )


def _options(recalled: StoredCampaign, seed: int, folder: Path) -> RunOptions:
    if not recalled.options:
        raise _not_recorded(folder)
    given: dict[str, object] = recalled.options | {"seed": seed}
    try:
        return _with_its_tarball(msgspec.convert(given, RunOptions), folder)
    except msgspec.ValidationError as error:
        raise UsageError(
            "that campaign was recorded by another version of krucible, and this one can't repeat it",
            got=str(error),
            where=str(folder),
            next_step="krucible run --help",
        ) from error


def _with_its_tarball(options: RunOptions, folder: Path) -> RunOptions:
    """The options, if this machine has their tarball; runs of CI name a tarball of another machine.

    Raises:
        UsageError: the tarball is missing.
    """
    tarball = options.kafka_tarball
    if tarball is not None and not Path(tarball).is_file():
        command = reproduce_line(options)
        raise UsageError(
            "the tarball of Kafka that was run is not here",
            got=f"no file {tarball}",
            where=str(folder),
            next_step=f"put it there, or name it where it is: {command}",
        )
    return options
