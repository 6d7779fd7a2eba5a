"""``krucible track-record``: makes runs with known outcomes, and writes a page about them."""

import contextlib
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from harness.campaigns.campaign import Campaign
from harness.campaigns.cancelling import cancellable
from harness.campaigns.known_record import KnownRecord
from harness.campaigns.known_runs import KnownRuns, by_now, known_runs
from harness.campaigns.making import run_missing
from harness.campaigns.series import Series, Venue
from harness.cli.options.completion import complete_known
from harness.cli.options.places import File
from harness.cli.options.shared import WholeNumber, runs_option
from harness.cli.parsing import Command
from harness.errors import UsageError, disk_errors_named
from harness.plan.catalogue import known_outcomes
from harness.plan.planning import RunOptions, RunPlan, plan_run, reproduce_line
from harness.vocabulary.known import KnownOutcome, Side
from results.campaigns.summary import Outcome, RunOutcome
from results.campaigns.track_record import (
    ExpectationStatus,
    SideRecord,
    encode_track_record,
    render_track_record,
    standing_of,
)
from results.store.runs import write_whole

EXIT_CODES = {
    ExpectationStatus.AS_EXPECTED: 0,
    ExpectationStatus.UNEXPECTED: 1,
    ExpectationStatus.UNKNOWN: 2,
    ExpectationStatus.FAILED: 3,
}


@click.command("track-record", cls=Command)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_known,
    help="Check only the known bug with this ticket or scenario; repeatable.",
)
@click.option(
    "--seeds",
    type=WholeNumber(1, 100),
    default=1,
    show_default=True,
    help="Runs for each expected outcome, with seeds 1..N.",
)
@click.option("--no-run", is_flag=True, help="Run nothing; report on stored runs.")
@click.option("--out", type=File(), help="Write the page to a file.")
@click.option(
    "--outcomes",
    type=File(),
    help="Record the outcomes of runs in this file; runs that it has are not repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@runs_option
def track_record(
    *,
    only: tuple[str, ...],
    seeds: int,
    no_run: bool,
    out: Path | None,
    outcomes: Path | None,
    as_json: bool,
    runs: Path,
) -> int:
    """Check known bugs of Kafka: red in the versions that have them, green in those that do not.

    Runs in the store are not repeated, whichever command made them: the newest of each seed counts, so more
    --seeds add runs. A run whose scenario has changed since does not count, and is named. Of a stored and a
    recorded run of one seed, one that is not as expected counts first, and an unknown one last. The output of
    runs goes to stderr. Bugs that are races get more runs. Exit codes: 0 all as expected, 1 an outcome is not
    as expected, 2 a run is missing or unknown, 3 the harness failed.
    """
    chosen = _chosen(only)
    recorded = KnownRecord.read(outcomes)
    with cancellable() as cancelled, contextlib.redirect_stdout(sys.stderr):
        if no_run:
            cancelled.set()
        with Series(runs, cancelled) as series:
            source = _Source(recorded, Venue(runs, series=series), cancelled)
            sides = [
                _record(known, side, _seeds(known, side, seeds), source)
                for known in chosen
                for side in known.sides
            ]
    page = render_track_record(sides)
    if out is not None:
        with disk_errors_named():
            write_whole(out, page.encode())
    if as_json:
        click.echo(encode_track_record(sides), nl=False)
    elif out is None:
        click.echo(page, nl=False)
    else:
        click.echo(f"{standing_of(sides)}; written to {out}")
    return EXIT_CODES[standing_of(sides)]


def _seeds(known: KnownOutcome, side: Side, seeds: int) -> range:
    return range(1, 1 + (max(seeds, known.tries) if side.expected_red else seeds))


def _chosen(only: Sequence[str]) -> list[KnownOutcome]:
    """Return the requested known outcomes; all of them if none was requested.

    Raises:
        UsageError: if a name is neither a ticket nor a scenario of a known outcome.
    """
    every = known_outcomes()
    names = {name for known in every for name in (known.ticket, known.scenario)}
    if strange := [name for name in only if name not in names]:
        raise UsageError(
            "there is no such known outcome",
            got=", ".join(strange),
            expected=", ".join(sorted({known.ticket for known in every})) + ", or a scenario of theirs",
            next_step="krucible track-record --no-run",
        )
    return [known for known in every if not only or {known.ticket, known.scenario} & set(only)]


def _record(known: KnownOutcome, side: Side, seeds: range, source: "_Source") -> SideRecord:
    """Return a side with its runs. Missing runs are made first, unless the command was cancelled."""
    asked = RunOptions(
        scenario=known.scenario,
        seed=seeds[0],
        kafka_version=side.version,
        feature=side.features,
        config=side.config,
    )
    command = reproduce_line(asked, seeds)
    plans = {seed: plan_run(msgspec.structs.replace(asked, seed=seed)) for seed in seeds}
    outcomes, outdated = source.runs_of(plans, command)
    first = plans[seeds[0]]
    return SideRecord(
        ticket=known.ticket,
        discovered_by=known.discovered_by,
        scenario=known.scenario,
        summary=first.scenario.summary,
        because=first.expectation.why,
        version=side.version,
        features=side.features,
        config=side.config,
        expected_red=side.expected_red,
        command=command,
        seeds=len(seeds),
        tries=known.tries,
        runs=tuple(by_now(outcome, first) for outcome in outcomes),
        outdated=outdated,
    )


class _Source(NamedTuple):
    """Where runs come from: a store and a record, and clusters for the missing ones until cancelled."""

    recorded: KnownRecord
    venue: Venue
    cancelled: threading.Event

    def runs_of(self, plans: Mapping[int, RunPlan], command: str) -> tuple[list[RunOutcome], tuple[str, ...]]:
        """The outcomes of some plans, and notes on outdated runs; new outcomes are recorded."""
        stored = known_runs(self.venue.runs, plans)
        recorded = self.recorded.of(plans)
        decided = {
            seed
            for seed, run in recorded.items()
            if seed not in stored.counted and run.outcome is not Outcome.UNKNOWN
        }
        others = {seed: plan for seed, plan in plans.items() if seed not in decided}
        if not others:
            return [*recorded.values()], ()
        stored, now = self._made(others, stored, command)
        named = {run.identity.seed: run for run in now if run.identity is not None}
        counted = self.recorded.add(plans, named)
        unnamed = [run for run in now if run.identity is None]
        return [*(run for _, run in sorted(counted.items())), *unnamed], stored.outdated

    def _made(
        self, plans: Mapping[int, RunPlan], stored: KnownRuns, command: str
    ) -> tuple[KnownRuns, list[RunOutcome]]:
        """Make the runs that are not stored; return what is stored then, and all outcomes."""
        scenario = next(iter(plans.values())).options.scenario
        campaign = Campaign(self.venue.runs, scenario, plans, keep_complete=True)
        campaign.count(stored.counted)
        if campaign.missing() and not self.cancelled.is_set():
            click.echo(f"=== {command}")
            for outdated in stored.outdated:
                click.echo(f"not counted: {outdated}")
            run_missing(campaign, plans, self.venue, self.cancelled)
            campaign.finish()
            stored = known_runs(self.venue.runs, plans)
        return stored, campaign.outcomes()
