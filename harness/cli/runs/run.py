"""``krucible run``: runs one scenario, once or once per seed."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from harness.campaigns.campaign import Campaign
from harness.campaigns.cancelling import cancellable
from harness.campaigns.hosting.host_options import HostOptions
from harness.campaigns.keeping import EXIT_CODES
from harness.campaigns.making import run_missing, run_one
from harness.campaigns.rerunning import campaign_named, plan_again, plans_of_campaign
from harness.campaigns.series import Series, Venue
from harness.cli.clusters.hands_on import hands_on
from harness.cli.options.completion import complete_bug, complete_run, complete_scenario
from harness.cli.options.hosts import HostChoice, hosts_options, requested_hosts
from harness.cli.options.origins import settled
from harness.cli.options.properties import warn_of_unknown_properties
from harness.cli.options.shared import (
    SEED_MAX,
    Seeds,
    WholeNumber,
    require_nothing_else,
    runs_option,
)
from harness.cli.options.structs import gathered
from harness.cli.options.topologies import TopologyChoice, topology_options
from harness.cli.parsing import Command
from harness.cli.runs.dry_run import plan_text
from harness.cli.runs.dry_run_document import document_of
from harness.cli.runs.run_arguments import RunArguments, ScenarioChanges, named_scenario
from harness.cluster.cluster import DESCRIPTION_FILE
from harness.errors import UsageError
from harness.plan.gambits import GAMBITS
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.planning import RunPlan, plan_run
from harness.plan.random_schedules import KINDS
from results.markup.cleaning import clean
from results.store.commands import store_option
from results.store.runs import find_run

_SEEDS = 100_000
_TEXT_MAX = 300
Telling = Callable[[RunPlan, str], str]
"""A function that describes a plan. Its second argument is the option that names the store."""
_BESIDE = ("runs", "keep", "dry_run", "as_json")
"""Options that are allowed together with ``--from``."""


@click.command(cls=Command)
@click.argument("scenario", required=False, shell_complete=complete_scenario)
@click.option(
    "--from",
    "again",
    metavar="RUN",
    shell_complete=complete_run,
    help="Run again what a stored run or a campaign's folder ran, with its scenario, options and seeds.",
)
@click.option(
    "--seed",
    type=WholeNumber(0, SEED_MAX),
    help="Seed of the schedule; if not given, one is drawn and printed.",
)
@click.option("--seeds", type=Seeds(), help="One run for each seed, and one summary; resumable.")
@click.option(
    "--duration-s", type=WholeNumber(max=86_400), help="How long the load runs (random schedules only)."
)
@click.option(
    "--fault",
    type=click.Choice(KINDS),
    multiple=True,
    help="Draw only faults of this kind (random schedules only); repeatable.",
)
@click.option(
    "--gambit",
    type=click.Choice(list(GAMBITS)),
    multiple=True,
    metavar="KIND",
    help="Draw only gambits of this kind, of those in the scenario (random schedules only); repeatable. "
    f"One of {', '.join(GAMBITS)}.",
)
@topology_options
@click.option(
    "--from-version",
    metavar="V",
    help="Kafka's version that nodes begin with, in scenarios that upgrade them to --kafka-version.",
)
@click.option("--acks", type=click.Choice(["all", "1", "0"]), help="What producers wait for.")
@click.option("--idempotent/--no-idempotent", default=None, help="Whether producers are idempotent.")
@click.option(
    "--rate",
    type=WholeNumber(1, 1_000_000),
    help="How many send operations per second all producers do together.",
)
@click.option(
    "--seeded-bug",
    metavar="NAME",
    shell_complete=complete_bug,
    help="Put a bug of the catalogue into Kafka (docs/seeded-bugs.md); the run should find it.",
)
@click.option("--keep", is_flag=True, help="Leave the cluster up when the run is over.")
@click.option(
    "--dry-run", is_flag=True, help="Print schedule, targets and assumptions; start nothing, need no Docker."
)
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: print one JSON document.")
@hosts_options
@runs_option
@gathered(ScenarioChanges)
def run(
    changes: ScenarioChanges,
    hosts: HostChoice,
    kafka: KafkaChoice,
    topology: TopologyChoice,
    *,
    scenario: str | None,
    again: str | None,
    seed: int | None,
    seeds: range | None,
    keep: bool,
    dry_run: bool,
    as_json: bool,
    runs: Path,
) -> int:
    """Run SCENARIO and judge it.

    SCENARIO is a name (krucible list --scenarios) or a Python file that defines SCENARIO, such as one that
    krucible minimise wrote.  The file is executed.

    The last lines are the verdict, the run's folder and the command that repeats the run.
    """
    telling = _telling(dry_run=dry_run, as_json=as_json)
    if again is not None:
        require_nothing_else("--from", "again", *_BESIDE)
        return _run_from(again, runs, keep=keep, dry_run=telling)
    if scenario is None:
        raise UsageError(
            "no scenario is named",
            expected="SCENARIO, or --from RUN",
            where="krucible run",
            next_step="krucible list --scenarios",
        )
    on_hosts = requested_hosts(hosts)
    named = named_scenario(scenario)
    if seeds is not None and seed is not None:
        raise UsageError("--seed and --seeds exclude each other", next_step="drop one of them")
    _require_number_of_runs(
        several=seeds is not None, on_hosts=on_hosts is not None, keep=keep, dry_run=dry_run
    )
    asked = RunArguments(named, settled(kafka), topology, changes)
    if seeds is not None:
        plans = {one: plan_run(asked.options(one)) for one in seeds}
        warn_of_unknown_properties(dict(topology.config), plans[seeds[0]].version)
        return _run_many(plans, runs, on_hosts)
    plan = plan_run(asked.options(random.SystemRandom().randrange(_SEEDS) if seed is None else seed))
    warn_of_unknown_properties(dict(topology.config), plan.version)
    return _run_one(plan, runs, keep=keep, dry_run=telling)


def _require_number_of_runs(*, several: bool, on_hosts: bool, keep: bool, dry_run: bool) -> None:
    """Refuse options that are for a single run, or for several, if there are several, or a single one.

    Raises:
        UsageError: such an option was given.
    """
    if dry_run and (several or keep):
        raise UsageError("--dry-run is for a single seed", next_step="drop it, or --seeds and --keep")
    if several and keep:
        raise UsageError("--keep is for a single run", next_step="drop it, or name one --seed")
    if on_hosts and not several:
        raise UsageError("--master is for several runs", next_step="drop it, or name --seeds A..B")


def _telling(*, dry_run: bool, as_json: bool) -> Telling | None:
    """Return the function that describes a plan, for a dry run; None if a run is requested.

    Raises:
        UsageError: JSON was requested without a dry run.
    """
    if as_json and not dry_run:
        raise UsageError(
            "--json is for --dry-run",
            next_step="add --dry-run, or drop it and read verdict.json in the run's folder",
        )
    return (document_of if as_json else plan_text) if dry_run else None


def _run_one(plan: RunPlan, runs: Path, *, keep: bool, dry_run: Telling | None) -> int:
    if dry_run:
        click.echo(dry_run(plan, store_option(runs)))
        return 0
    with cancellable() as cancelled:
        folder, verdict = run_one(plan, Venue(runs, keep=keep), cancelled)
    if keep and (folder / DESCRIPTION_FILE).exists():  # the cluster may not have become ready
        print_kept(folder)
    return EXIT_CODES[verdict.validity]


def print_kept(folder: Path) -> None:
    """Print commands for the cluster that a run left running."""
    click.echo("kept       its cluster is up:")
    click.echo(hands_on(folder))


def _run_from(name: str, runs: Path, *, keep: bool, dry_run: Telling | None) -> int:
    """Repeat a stored run or a campaign. An incomplete campaign is continued; a complete one is repeated."""
    campaign = campaign_named(runs, name)
    if campaign is None:
        folder = find_run(runs, name, originals=True)
        click.echo(f"again      {clean(str(folder), _TEXT_MAX)}", err=dry_run is document_of)
        return _run_one(plan_again(folder), runs, keep=keep, dry_run=dry_run)
    if keep or dry_run:
        raise UsageError(
            "--keep and --dry-run are for a single run",
            got=f"{campaign}, which is a campaign",
            next_step="drop them, or name one of its runs",
        )
    click.echo(f"again      {clean(str(campaign), _TEXT_MAX)}")
    return _run_many(plans_of_campaign(campaign), runs, None)


def _run_many(plans: Mapping[int, RunPlan], runs: Path, on_hosts: HostOptions | None) -> int:
    """Make one run per seed. Runs of an unfinished campaign with the same options are not repeated."""
    campaign = Campaign(runs, next(iter(plans.values())).options.scenario, plans)
    if on_hosts is not None:
        from harness.campaigns.hosting.campaigns import run_missing_on_hosts  # noqa: PLC0415 - it needs Spark

        run_missing_on_hosts(campaign, plans, runs, on_hosts)
        return campaign.finish()
    with cancellable() as cancelled, Series(runs, cancelled) as series:
        run_missing(campaign, plans, Venue(runs, series=series), cancelled)
    return campaign.finish()
