"""Campaigns: runs of one scenario with many seeds, which can be resumed and have one summary."""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from checkers.history.identity import IDENTITY_FILE
from harness.campaigns.contents import Content, Contents, key_of
from harness.cluster.images.tarball import digest_of
from harness.errors import KrucibleError, disk_errors_named
from harness.plan.planning import RunPlan, reproduce_line
from results.campaigns.markdown import render_campaign
from results.campaigns.page import render_campaign_page
from results.campaigns.step_summary import append_step_summary
from results.campaigns.summary import Outcome, RunOutcome, Summary, encode_summary, outcome_of, summarise
from results.store.addresses import reports_from
from results.store.runs import (
    VERDICT_FILE,
    RunUnreadableError,
    load_identity,
    load_record,
    save_record,
    write_whole,
)

STATE_FILE = "campaign.json"
SUMMARY_FILE = "summary.md"
PAGE_FILE = "summary.html"
EXIT_CODES = {Outcome.VALID: 0, Outcome.INVALID: 1, Outcome.UNKNOWN: 2, Outcome.FAILED: 3}
_FOLDER = "campaigns"


class _State(msgspec.Struct):
    """The state of a campaign; seeds are text because they are keys in JSON.

    Attributes:
        asked: text that distinguishes it from other campaigns; the name of its folder is a hash of it.
        done: folders of runs, by seed.
        failed: the reasons why the harness failed, by seed.
        kafka: its build of Kafka, as a text for people.
        options: the `RunOptions` that its plans share; empty if its plans are not for seeds.
        seeds: of its plans.
    """

    asked: str
    done: dict[str, str] = {}
    failed: dict[str, str] = {}
    kafka: str = ""
    options: dict[str, object] = {}
    seeds: list[int] = []


class StoredCampaign(NamedTuple):
    """The content of a campaign's folder.

    Attributes:
        options: the `RunOptions` that its plans share, without the seed; empty if unknown.
        seeds: of its plans.
        done: folders of runs that have a verdict and are still in the store, by seed.
        failed: the reasons why the harness failed, by seed.
    """

    options: dict[str, object]
    seeds: tuple[int, ...]
    done: dict[int, Path]
    failed: dict[int, str]


class Campaign:
    """Runs of one plan with many seeds; the state is written to disk after every run.

    The same command continues with the missing runs, and begins again if none is missing.

    Args:
        runs: the store.
        scenario: the scenario's name.
        plans: a plan for every seed.
        keep_complete: do not begin again if no run is missing.
        asked: text that distinguishes it from other campaigns; by default the options of its plans, with
            Kafka's content instead of its path, and the seeds.
        each: the word for a key of `plans`.
        contents: looks up Kafka's content; by default a new one.

    Raises:
        UsageError: if the tarball of the plans can't be read.
        KrucibleError: if its folder or its state can't be read or written.
    """

    def __init__(
        self,
        runs: Path,
        scenario: str,
        plans: Mapping[int, RunPlan],
        *,
        keep_complete: bool = False,
        asked: str = "",
        each: str = "seed",
        contents: Contents | None = None,
    ) -> None:
        first = next(iter(plans.values()))
        self._title = asked or reproduce_line(first.options, range(min(plans), max(plans) + 1))
        self._options = {} if asked else _shared(first)
        self._content = (contents or Contents()).of_plan(first)
        asked = asked or _options_text(plans, self._content)
        self._each = each
        self._seeds = list(plans)
        self._keep_complete = keep_complete
        self.folder = _folder_of(runs, scenario, asked)
        self._place = runs / scenario
        self._state = self._resumed(asked)

    def missing(self) -> list[int]:
        """Seeds without a verdict; failed runs are repeated."""
        return [seed for seed in self._seeds if str(seed) not in self._state.done]

    @property
    def done(self) -> dict[int, Path]:
        """Folders of the runs that came to a verdict, by seed."""
        return {int(seed): Path(folder) for seed, folder in self._state.done.items()}

    @property
    def failed(self) -> dict[int, str]:
        """The reasons why the harness failed, by seed."""
        return {int(seed): why for seed, why in self._state.failed.items()}

    def count(self, done: Mapping[int, Path]) -> None:
        """Let exactly these runs count, whichever campaign made them.

        Args:
            done: folders of runs with a verdict, by seed.
        """
        self._state.done = {str(seed): str(folder) for seed, folder in done.items()}
        for seed in self._state.done:
            self._state.failed.pop(seed, None)

    def require_its_kafka(self, folder: Path) -> None:
        """Refuse a run of another build, because a tarball may have been rebuilt during the campaign.

        Raises:
            KrucibleError: the run has another Kafka.
            RunUnreadableError: the run's Kafka can't be read.
        """
        identity = load_identity(folder)
        if self._content.differs(identity):
            ran = f", {identity.image.checksums.get('upstream', '')}" if identity.image else ""
            raise KrucibleError(
                "this run used another build of Kafka than its campaign",
                got=f"Kafka {identity.kafka_version}{ran}",
                expected=self._content.text(),
                where=str(folder),
                next_step="do not change the named builds during the campaign; the same command continues it",
            )

    def record(self, seed: int, folder: Path) -> None:
        """Record that a run has a verdict."""
        self._state.done[str(seed)] = str(folder)
        self._state.failed.pop(str(seed), None)
        self._save()

    def record_failure(self, seed: int, why: str) -> None:
        """Record that the harness failed in a run."""
        self._state.failed[str(seed)] = why
        self._save()

    def finish(self) -> int:
        """Write the summary of the finished runs, print its path, and return the exit code."""
        reports = reports_from(self.folder, [Path(folder) for folder in self._state.done.values()])
        summary = sum_up(self.folder, self._title, self.outcomes(), f"{len(self._seeds)} seeds", reports)
        if self.missing():
            click.echo(f"missing  {len(self.missing())} seeds; the same command continues with them")
        return EXIT_CODES[summary.outcome]

    def outcomes(self) -> list[RunOutcome]:
        """Outcomes of the existing runs, and of those in which the harness failed."""
        outcomes = [outcome_of(Path(folder)) for folder in self._state.done.values()]
        outcomes += [
            RunOutcome(folder=f"seed {seed}", outcome=Outcome.FAILED, reasons=(why,))
            for seed, why in self._state.failed.items()
        ]
        return outcomes

    def _resumed(self, asked: str) -> _State:
        path = self.folder / STATE_FILE
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise KrucibleError(
                "the campaign's folder can't be created", got=str(error), where=str(self.folder)
            ) from error
        if not path.exists():
            return self._began(asked, {}, {})
        try:
            state = load_record(path, _State)
        except RunUnreadableError as error:
            raise KrucibleError(
                "the state of the campaign can't be read",
                got=str(error),
                where=str(path),
                next_step=f"repair it, or start again: rm {shlex.quote(str(path))}",
            ) from error
        found = _here(state, self._place, self._content)
        done = {str(seed): str(folder) for seed, folder in found.items()}
        if set(done) >= {str(seed) for seed in self._seeds}:
            return self._began(asked, done if self._keep_complete else {}, {})
        click.echo(f"resuming: {len(done)} of {len(self._seeds)} {self._each}s are done already")
        return self._began(asked, done, state.failed)

    def _began(self, asked: str, done: dict[str, str], failed: dict[str, str]) -> _State:
        seeds = self._seeds if self._options else []
        return _State(asked, done, failed, self._content.text(), self._options, seeds)

    def _save(self) -> None:
        save_record(self.folder / STATE_FILE, self._state)


def sum_up(
    folder: Path, title: str, outcomes: Sequence[RunOutcome], what: str, reports: Mapping[str, str]
) -> Summary:
    """Write the summary of some runs into a folder and for GitHub's step; returns the exit code.

    Args:
        folder: folder for ``summary.md``, ``summary.html`` and ``summary.json``.
        title: title of the step.
        outcomes: outcomes of the runs.
        what: the number and kind of the planned runs, for the first line.
        reports: by name of a run's folder, the address of its report from this folder.
    """
    summary = summarise(outcomes)
    write_whole(folder / SUMMARY_FILE, render_campaign(summary).encode())
    write_whole(folder / PAGE_FILE, render_campaign_page(summary, reports).encode())
    write_whole(folder / "summary.json", encode_summary(summary))
    with disk_errors_named():
        append_step_summary(title, outcomes)
    counts = ", ".join(f"{count} {name}" for name, count in summary.counts.items() if count)
    click.echo(f"{summary.outcome.upper()}: {what}, {counts or 'none run'}")
    click.echo(f"summary  {folder / SUMMARY_FILE}")
    click.echo(f"page     {folder / PAGE_FILE}   (open it in a browser)")
    return summary


def look_up(
    runs: Path, scenario: str, plans: Mapping[int, RunPlan], contents: Contents
) -> tuple[dict[int, Path], dict[int, str]]:
    """The state of a campaign in a store, by seed: folders of runs, and the harness's failures.

    Nothing is written, and the store may have been moved here from another machine.

    Raises:
        UsageError: if the tarball of the plans can't be read.
    """
    content = contents.of_plan(next(iter(plans.values())))
    path = _folder_of(runs, scenario, _options_text(plans, content)) / STATE_FILE
    if not path.exists():
        return {}, {}
    state = load_record(path, _State)
    failed = {int(seed): why for seed, why in state.failed.items()}
    return _here(state, runs / scenario, content), failed


def folder_for(runs: Path, plan: RunPlan, contents: Contents) -> Path:
    """The folder with the state of a campaign of a single plan; raises as `look_up`."""
    asked = _options_text({plan.options.seed: plan}, contents.of_plan(plan))
    return _folder_of(runs, plan.options.scenario, asked)


def recall(folder: Path) -> StoredCampaign:
    """The content of a campaign's folder, wherever its store is now.

    Raises:
        RunUnreadableError: if its state is missing or damaged.
    """
    state = load_record(folder / STATE_FILE, _State)
    place = folder.parent.parent
    done = {int(seed): place / Path(run).name for seed, run in state.done.items()}
    here = {seed: run for seed, run in done.items() if (run / VERDICT_FILE).is_file()}
    failed = {int(seed): why for seed, why in state.failed.items()}
    return StoredCampaign(state.options, tuple(state.seeds), here, failed)


def _here(state: _State, place: Path, content: Content) -> dict[int, Path]:
    """The current paths of the runs that count; recorded paths depend on the command's working directory."""
    done = {int(seed): place / Path(folder).name for seed, folder in state.done.items()}
    return {seed: folder for seed, folder in done.items() if _counts(folder, content)}


def _counts(folder: Path, content: Content) -> bool:
    """Whether a run exists and did not use another build; a tag may have been moved since.

    A run that was copied only in part does not count.  A damaged run does; its report shows the damage.
    """
    if not all((folder / name).is_file() for name in (IDENTITY_FILE, VERDICT_FILE)):
        return False
    try:
        return not content.differs(load_identity(folder))
    except RunUnreadableError:
        return True


def _shared(plan: RunPlan) -> dict[str, object]:
    """The options that all plans share, with Kafka's version, whose default may change."""
    given: dict[str, object] = msgspec.to_builtins(plan.options)
    return {name: value for name, value in given.items() if name != "seed"} | {"kafka_version": plan.version}


def _folder_of(runs: Path, scenario: str, asked: str) -> Path:
    return runs / scenario / _FOLDER / hashlib.sha256(asked.encode()).hexdigest()[:10]


def _options_text(plans: Mapping[int, RunPlan], content: Content) -> str:
    """A text of the options that all plans share, Kafka's content, the seeds and a scenario's file.

    If only a version is given, it is the content.  An edited file is another scenario, so its runs must not
    be counted with those of the old one.
    """
    options = next(iter(plans.values())).options
    asked = f"{key_of(options, content)} of seeds {min(plans)}..{max(plans)}"
    if options.scenario_file is None:
        return asked
    return f"{asked} of scenario sha256:{digest_of(Path(options.scenario_file))}"
