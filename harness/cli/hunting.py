"""``krucible hunt``: runs are chosen by what no run has shown yet, until the time is spent."""

import shlex
from pathlib import Path
from typing import Any

import click

from harness.cli.campaigns import EXIT_CODES
from harness.cli.hosting.options import asked_hosts, hosts_options
from harness.cli.hunts import Asked, Hunt
from harness.cli.options import SEED_MAX, Time, image_options, runs_option
from harness.cli.origins import settled
from harness.cli.provisions import require_images
from harness.cli.running import cancellable
from harness.hunting.kinds import kinds_of
from harness.planning import DURATION_S_MIN, option_words
from harness.vocabulary.version import DEFAULT_VERSION

DURATION_S_MAX = 3_600


@click.command("hunt")
@click.option("--budget", type=Time(), default="2h", show_default=True, help="How long to hunt.")
@click.option(
    "--stop-at-first", is_flag=True, help="Stop at the first run that is invalid and should not be."
)
@click.option(
    "--scenarios",
    multiple=True,
    metavar="PATTERN",
    help="Choose from these, such as 'exploratory/*'; repeatable.  [default: a nightly's, exploratory/*]",
)
@click.option("--kafka-version", metavar="V", help=f"Kafka's version.  [default: {DEFAULT_VERSION}]")
@image_options
@click.option(
    "--duration-s",
    type=click.IntRange(DURATION_S_MIN, DURATION_S_MAX),
    default=120,
    show_default=True,
    help="How long the load of a drawn schedule runs.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, SEED_MAX),
    default=1,
    show_default=True,
    help="Fixes what chance decides.",
)
@click.option(
    "--seeded-bug", metavar="NAME", help="Put a bug of the catalogue into Kafka: how long until it is found?"
)
@hosts_options
@click.option("--plan", "dry", is_flag=True, help="Say which run would come next and why, and run nothing.")
@runs_option
def hunt_command(
    *,
    budget: int,
    stop_at_first: bool,
    scenarios: tuple[str, ...],
    duration_s: int,
    seed: int,
    dry: bool,
    runs: Path,
    **given: Any,
) -> int:
    """Look for what no run has shown: each run is chosen by what all runs of the store have seen.

    The same store and seed give the same choice. The same command goes on where it was interrupted, and
    begins anew once its time is spent. Exit codes are those of a campaign: the gravest of its runs'.
    """
    on_hosts = asked_hosts(given)
    shared = settled(given)
    shared["kafka_version"] = shared["kafka_version"] or DEFAULT_VERSION
    kinds = kinds_of(scenarios, duration_s, shared)
    what = {"budget": f"{budget}s", "scenarios": scenarios, "duration_s": duration_s, "seed": seed, **shared}
    words = [word for name, value in what.items() if value for word in option_words(name, value)]
    line = shlex.join([*words, *(["--stop-at-first"] if stop_at_first else [])])
    hunt = Hunt(Asked(kinds, budget, seed, stop_at_first, line), runs)
    if dry:
        return _tell_next(hunt, len(kinds))
    if on_hosts is not None:
        from harness.cli.hosting.hunts import hunt_on_hosts  # noqa: PLC0415 - it needs Spark

        hunt_on_hosts(hunt, on_hosts)
        return EXIT_CODES[hunt.finish().outcome]
    require_images([hunt.first_plan])
    with cancellable() as cancelled:
        hunt.run_all(cancelled)
    return EXIT_CODES[hunt.finish().outcome]


def _tell_next(hunt: Hunt, kinds: int) -> int:
    hunt.look()
    found = hunt.next()
    click.echo(f"kinds      {kinds} kinds of runs to choose from")
    if found is None:
        click.echo("next       none: no run fits into the time that is left")
    else:
        click.echo(f"next       {found.plan.reproduce}\nchosen     {found.why}")
    return 0
