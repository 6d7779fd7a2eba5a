"""``krucible sensitivity``: makes runs with seeded bugs, and reports which of the bugs are found."""

import contextlib
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from harness.campaigns.cancelling import cancellable
from harness.campaigns.hosting.host_options import HostOptions
from harness.campaigns.sensitivity.adopting import adopted
from harness.campaigns.sensitivity.kept import KeptOutcomes
from harness.campaigns.sensitivity.pages import measurement_of, measurements_in
from harness.campaigns.sensitivity.planning import Controls, RunsPerBug, slots
from harness.campaigns.sensitivity.runs import Measuring
from harness.campaigns.sensitivity.stored_runs import StoredRuns
from harness.cli.options.completion import complete_bug
from harness.cli.options.hosts import HostChoice, hosts_options, requested_hosts
from harness.cli.options.places import File
from harness.cli.options.shared import SEED_MAX, Time, VocabularyChoice, WholeNumber, runs_option
from harness.cli.parsing import Command
from harness.clients.java.process import java_missing
from harness.errors import disk_errors_named
from harness.plan.planning import DURATION_S_MIN
from harness.plan.presets import PRESETS
from harness.seeded_bugs.catalogue import BUGS_VERSION, bug_named, fits_version, seeded_bugs
from harness.seeded_bugs.header import Area, SeededBug
from results.sensitivity import (
    Sensitivity,
    encode_sensitivity,
    headline,
    java_text,
    render_comparison,
    render_comparison_page,
    render_markdown,
    render_page,
)
from results.sensitivity.outcomes import MeasurementOptions
from results.store.runs import write_whole

RUNS_MAX = 100
DURATION_S_MAX = 3_600
EXIT_COMPLETE, EXIT_ALARMED, EXIT_UNFINISHED = 0, 1, 2


class BudgetShape(click.ParamType[RunsPerBug]):
    """A value of the form ``NxS``: N runs of each bug, each of S seconds."""

    name = "NxS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> RunsPerBug:
        """The runs and seconds of a value."""
        if isinstance(value, RunsPerBug):
            return value
        found = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,5})", str(value))
        budget = RunsPerBug(*map(int, found.groups())) if found else RunsPerBug(0, 0)
        if not (1 <= budget.runs <= RUNS_MAX and DURATION_S_MIN <= budget.duration_s <= DURATION_S_MAX):
            self.fail(
                f"got {value!r}, expected RUNSxSECONDS such as 3x120, at most {RUNS_MAX} runs, "
                f"{DURATION_S_MIN} to {DURATION_S_MAX} seconds",
                param,
                ctx,
            )
        return budget


@click.command("sensitivity", cls=Command)
@click.argument("bugs", nargs=-1, metavar="[BUG…]", shell_complete=complete_bug)
@click.option(
    "--area",
    "areas",
    type=VocabularyChoice(list(Area)),
    multiple=True,
    metavar="AREA",
    help=f"All bugs of an area of Kafka, in addition to each BUG; repeatable. One of {', '.join(Area)}.",
)
@click.option(
    "--budget",
    type=BudgetShape(),
    default="3x120",
    show_default=True,
    help="Maximum number of runs for each bug, and seconds of a run.",
)
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    default="nightly",
    show_default=True,
    help="The preset whose drawn scenarios are run.",
)
@click.option(
    "--kafka-version",
    metavar="V",
    default=BUGS_VERSION,
    show_default=True,
    help="Kafka's version; all bugs fit the default one.",
)
@click.option(
    "--seed", type=WholeNumber(0, SEED_MAX), default=1, show_default=True, help="Seed of the whole plan."
)
@click.option(
    "--controls",
    type=VocabularyChoice(list(Controls)),
    default=Controls.BETWEEN.value,
    show_default=True,
    help="Make the control runs, without a bug, between the others, after them, only these, or not now.",
)
@click.option(
    "--for", "limit_s", type=Time(), help="Begin no run after this time; the same command continues later."
)
@click.option(
    "--outcomes",
    "target",
    type=File(),
    help="Record the outcomes of runs in this file; runs that it has are not repeated.",
)
@click.option(
    "--outcomes-from",
    "others",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Read outcomes from this file, or from those in this folder; repeatable.",
)
@click.option("--series", metavar="NAME", help="Name of the measurement.  [default: the file's name]")
@click.option(
    "--compare",
    "compared",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Run nothing: put the measurements of this file, or of a folder's, side by side; repeatable.",
)
@click.option(
    "--adopt",
    metavar="HOW",
    help="Run nothing: count the store's runs with bugs, in their order; HOW says how they were chosen, "
    "such as 'nightly'.",
)
@hosts_options
@click.option("--no-run", is_flag=True, help="Run nothing; write the pages from stored runs.")
@click.option("--plan", "dry", is_flag=True, help="Print the runs that may still be needed; run nothing.")
@click.option("--out", type=File(), help="Write a page of Markdown.")
@click.option("--html", type=File(), help="Write a page of HTML.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@runs_option
def sensitivity_command(
    hosts: HostChoice,
    *,
    bugs: tuple[str, ...],
    areas: tuple[Area, ...],
    budget: RunsPerBug,
    preset: str,
    kafka_version: str,
    seed: int,
    controls: Controls,
    limit_s: int | None,
    target: Path | None,
    others: tuple[Path, ...],
    series: str | None,
    compared: tuple[Path, ...],
    adopt: str | None,
    no_run: bool,
    dry: bool,
    out: Path | None,
    html: Path | None,
    as_json: bool,
    runs: Path,
) -> int:
    """Measure how many seeded bugs are seen: each BUG, or all, one at a time in a preset's runs.

    Runs in the store are not repeated; the output of runs goes to stderr. Exit codes: 0 every bug was seen or
    its budget is spent, and every control was made, 1 a control run is invalid, 2 runs are missing, for
    example because this host lacks the Java that they need. With `--controls only` no run with a bug counts
    as missing.
    """
    if compared:
        return _compare(compared, out, html, as_json=as_json)
    chosen, withheld = _chosen(bugs, areas, kafka_version)
    asked = MeasurementOptions(
        kafka_version=kafka_version, preset=adopt or preset, budget=str(budget), seed=seed
    )
    kept = KeptOutcomes(asked, target, others, series, () if no_run or adopt else chosen)
    if adopt:
        result = _adopted(chosen.values(), asked, kept, runs)
        _show(result, out, html, as_json=as_json)
        return _exit_code(result)
    planned = slots(chosen.values(), budget, PRESETS[preset], kafka_version, seed)
    measuring = Measuring(planned, runs, Controls(controls), kept.lines, None if no_run else java_missing())
    if dry:
        return _print_plan(measuring)
    _print_ignored(kept, measuring)
    kept.renew(measuring.lines())
    on_hosts = requested_hosts(hosts)
    if not no_run:
        with contextlib.redirect_stdout(sys.stderr):
            _run(measuring, on_hosts, limit_s, lambda: kept.renew(measuring.lines()))
    result = _measured(measuring, asked, kept, withheld)
    if text := java_text(result):
        click.echo(text, err=True)
    _show(result, out, html, as_json=as_json)
    return _exit_code(result, controls_only=Controls(controls) is Controls.ONLY)


def _print_plan(measuring: Measuring) -> int:
    click.echo(measuring.plan_text(), nl=False)
    if names := measuring.needing_java():
        click.echo(f"not made on this host ({measuring.java_missing}): {', '.join(names)}", err=True)
    return EXIT_COMPLETE


def _measured(
    measuring: Measuring, asked: MeasurementOptions, kept: KeptOutcomes, withheld: tuple[str, ...]
) -> Sensitivity:
    return Sensitivity(
        version=asked.kafka_version,
        preset=asked.preset,
        budget=asked.budget,
        seed=asked.seed,
        bugs=measuring.measured_bugs(),
        controls=measuring.controls(),
        withheld=withheld,
        series=kept.series,
        commits=measuring.commits(),
        left_out=measuring.left_out(),
        rerun=kept.rerun,
        java_missing=measuring.java_missing,
        needing_java=measuring.needing_java(),
    )


def _run(
    measuring: Measuring, on_hosts: HostOptions | None, limit_s: float | None, over: Callable[[], None]
) -> None:
    if on_hosts is not None:
        from harness.campaigns.hosting.measurements import run_missing_on_hosts  # noqa: PLC0415 - it needs Spark

        run_missing_on_hosts(measuring, on_hosts, limit_s, over)
        return
    with cancellable() as cancelled:
        measuring.run_all(cancelled, limit_s, over)


def _show(result: Sensitivity, out: Path | None, html: Path | None, *, as_json: bool) -> None:
    _write(result, {out: render_markdown, html: render_page})
    page = render_markdown(result) if out is None else f"{headline(result)}\npage  {out}\n"
    click.echo(encode_sensitivity(result).decode() if as_json else page, nl=False)


def _adopted(
    bugs: Collection[SeededBug], asked: MeasurementOptions, kept: KeptOutcomes, runs: Path
) -> Sensitivity:
    store = StoredRuns(runs)
    store.look()
    lines = {line.place: line for line in adopted(store, bugs, asked)}
    kept.renew(lines.values())
    return measurement_of(kept.series, asked, {**kept.lines, **lines}, bugs, kept.rerun)


def _compare(paths: Iterable[Path], out: Path | None, html: Path | None, *, as_json: bool) -> int:
    measured = measurements_in(paths)
    _write(measured, {out: render_comparison, html: render_comparison_page})
    if as_json:
        click.echo(encode_sensitivity(measured).decode(), nl=False)
    elif out is None:
        click.echo(render_comparison(measured), nl=False)
    return EXIT_COMPLETE


def _print_ignored(kept: KeptOutcomes, measuring: Measuring) -> None:
    """Print to stderr the known outcomes that do not count."""
    for path, what in kept.ignored.items():
        click.echo(f"left out: {path} is of another measurement ({what})", err=True)
    for one in measuring.left_out():
        control = ", control" if one.control else ""
        click.echo(f"left out: {one.bug} {one.number}{control}: {one.why}", err=True)


def _chosen(
    names: Collection[str], areas: Collection[Area], version: str
) -> tuple[Mapping[str, SeededBug], tuple[str, ...]]:
    """Return the bugs to look for in catalogue order, and the names of bugs that don't fit the version.

    Raises:
        UsageError: a named bug does not exist, or does not fit the version.
    """
    named = {name: bug_named(name, version) for name in names}
    every = seeded_bugs()
    wanted = {name: bug for name, bug in every.items() if bug.area in areas or not (areas or named)}
    fitting = {name for name, bug in wanted.items() if fits_version(bug, version)} | named.keys()
    return (
        {name: bug for name, bug in every.items() if name in fitting},
        tuple(name for name in wanted if name not in fitting),
    )


def _write(result: Any, forms: Mapping[Path | None, Any]) -> None:
    with disk_errors_named():
        for path, render in forms.items():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, render(result).encode("utf-8", "backslashreplace"))


def _exit_code(result: Sensitivity, *, controls_only: bool = False) -> int:
    if any(one.alarm for one in result.controls):
        return EXIT_ALARMED
    finished = controls_only or all(bug.finished for bug in result.bugs)
    complete = finished and all(one.outcome for one in result.controls)
    return EXIT_COMPLETE if complete else EXIT_UNFINISHED
