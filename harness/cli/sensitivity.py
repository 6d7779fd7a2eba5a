"""``krucible sensitivity``: seeded bugs under a nightly's runs, and which of them are seen."""

import contextlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from harness.cli.options import SEED_MAX, runs_option
from harness.cli.qualifying_runs import Stores
from harness.cli.running import cancellable
from harness.cli.sensitivity_runs import Measuring
from harness.errors import disk_errors_told
from harness.planning import DURATION_S_MIN
from harness.qualification import PRESETS
from harness.seeded_bugs.catalogue import bug_named, seeded_bugs
from harness.seeded_bugs.header import SeededBug
from harness.sensitivity.planning import Budget, slots
from harness.vocabulary.version import DEFAULT_VERSION, parse_version
from results.sensitivity import Sensitivity, encode_sensitivity, headline, render_markdown, render_page
from results.store import write_whole
from results.summary import Outcome

RUNS_MAX = 100
DURATION_S_MAX = 3_600
EXIT_COMPLETE, EXIT_ALARMED, EXIT_UNFINISHED = 0, 1, 2


class BudgetShape(click.ParamType[Budget]):
    """``NxS``: runs of each bug, and seconds of each run."""

    name = "NxS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Budget:
        """Read both numbers."""
        if isinstance(value, Budget):
            return value
        found = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,5})", str(value))
        budget = Budget(*map(int, found.groups())) if found else Budget(0, 0)
        if not (1 <= budget.runs <= RUNS_MAX and DURATION_S_MIN <= budget.duration_s <= DURATION_S_MAX):
            self.fail(
                f"got {value!r}, expected RUNSxSECONDS such as 3x120, at most {RUNS_MAX} runs, "
                f"{DURATION_S_MIN} to {DURATION_S_MAX} seconds",
                param,
                ctx,
            )
        return budget


@click.command("sensitivity")
@click.argument("bugs", nargs=-1, metavar="[BUG…]")
@click.option(
    "--budget", type=BudgetShape(), default="3x120", show_default=True, help="Runs of each bug, and seconds."
)
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    default="nightly",
    show_default=True,
    help="Whose drawn scenarios are run.",
)
@click.option("--kafka-version", default=DEFAULT_VERSION, show_default=True, help="Kafka's version.")
@click.option(
    "--seed", type=click.IntRange(0, SEED_MAX), default=1, show_default=True, help="Fixes the whole plan."
)
@click.option("--no-run", is_flag=True, help="Write the pages over what the store holds.")
@click.option("--plan", "dry", is_flag=True, help="Say what would be run, at most.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write a page of Markdown.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page of HTML.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@runs_option
def sensitivity_command(
    *,
    bugs: tuple[str, ...],
    budget: Budget,
    preset: str,
    kafka_version: str,
    seed: int,
    no_run: bool,
    dry: bool,
    out: Path | None,
    html: Path | None,
    as_json: bool,
    runs: Path,
) -> int:
    """Measure how many seeded bugs are seen: each BUG, or all, alone in Kafka under a nightly's runs.

    What was run before is not run again; what runs say goes to stderr. Exit codes: 0 every bug was seen or
    its budget is spent, 1 a control run is invalid, 2 runs are missing.
    """
    chosen, withheld = _chosen(bugs, kafka_version)
    planned = slots(chosen.values(), budget, PRESETS[preset], kafka_version, seed)
    measuring = Measuring(planned, Stores((runs,)), runs)
    if dry:
        click.echo(measuring.plan_text(), nl=False)
        return EXIT_COMPLETE
    if not no_run:
        with cancellable() as cancelled, contextlib.redirect_stdout(sys.stderr):
            measuring.run_all(cancelled)
    said = Sensitivity(
        version=kafka_version,
        preset=preset,
        budget=str(budget),
        seed=seed,
        bugs=measuring.sought(),
        controls=measuring.controls(),
        withheld=withheld,
    )
    _write(said, {out: render_markdown, html: render_page})
    page = render_markdown(said) if out is None else f"{headline(said)}\npage  {out}\n"
    click.echo(encode_sensitivity(said).decode() if as_json else page, nl=False)
    return _exit_code(said)


def _chosen(names: tuple[str, ...], version: str) -> tuple[Mapping[str, SeededBug], tuple[str, ...]]:
    """The bugs to look for in the order of the catalogue, and those left out as they don't fit the version.

    Raises:
        UsageError: one that was named is not there, or does not fit.
    """
    asked = {name: bug_named(name, version) for name in names}
    if asked:
        return {name: bug for name, bug in seeded_bugs().items() if name in asked}, ()
    fitting = {
        name: bug
        for name, bug in seeded_bugs().items()
        if parse_version(version) in map(parse_version, bug.versions)
    }
    return fitting, tuple(name for name in seeded_bugs() if name not in fitting)


def _write(said: Sensitivity, forms: Mapping[Path | None, Any]) -> None:
    with disk_errors_told():
        for path, render in forms.items():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, render(said).encode("utf-8", "backslashreplace"))


def _exit_code(said: Sensitivity) -> int:
    if any(one.outcome is Outcome.INVALID for one in said.controls):
        return EXIT_ALARMED
    complete = all(bug.finished for bug in said.bugs) and all(one.outcome for one in said.controls)
    return EXIT_COMPLETE if complete else EXIT_UNFINISHED
