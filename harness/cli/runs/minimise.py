"""``krucible minimise``: reduces an invalid run to a smaller scenario, by running smaller candidates."""

import json
import math
import textwrap
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import click
import msgspec
from msgspec.structs import replace

from harness.campaigns.cancelling import cancellable
from harness.campaigns.minimising.evidence import ReproductionOutcome
from harness.campaigns.minimising.runs import Minimising, RunBudget
from harness.campaigns.minimising.sizes import Size, reduction_text, size_of, taken_away
from harness.campaigns.minimising.starting import Start, start_of
from harness.campaigns.minimising.state import MinimisationFile
from harness.campaigns.rejudging import verdict_of
from harness.cli.options.completion import complete_run
from harness.cli.options.shared import Time, WholeNumber, runs_option
from harness.cli.parsing import Command
from harness.plan.planning import reproduce_line
from harness.plan.replaying_plan import RecordedActions, load_recorded
from harness.plan.scenario_files import name_of
from harness.vocabulary.scenario import Scenario
from results.failures.reproduction import Rate, rate_of
from results.markup.cleaning import clean
from results.store.commands import store_option
from results.store.runs import find_run

EXIT_MINIMISED, EXIT_NEVER, EXIT_UNFINISHED = 0, 1, 2
_RUNS_MAX = 10_000
_CONFIRMING_MAX = 1_000
_TEXT_MAX = 4_096
_DOCSTRING_WIDTH = 100
_S_PER_MIN = 60


@click.command(cls=Command)
@click.argument("run", shell_complete=complete_run)
@click.option(
    "--for",
    "limit_s",
    type=Time(),
    default="45m",
    show_default=True,
    help="How long to search; the same command continues the search.",
)
@click.option("--runs-at-most", type=WholeNumber(1, _RUNS_MAX), help="Maximum number of runs.")
@click.option(
    "--confirm",
    type=WholeNumber(0, _CONFIRMING_MAX),
    default=8,
    show_default=True,
    help="How many runs of the smallest scenario, at the end, measure how often it shows the anomaly.",
)
@click.option("--anomaly", metavar="NAME", help="The anomaly that must return; by default the run's first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; the output of the runs goes to stderr.")
@runs_option
def minimise(
    run: str,
    *,
    limit_s: int,
    runs_at_most: int | None,
    confirm: int,
    anomaly: str | None,
    as_json: bool,
    runs: Path,
) -> int:
    """Reduce an invalid RUN to a smaller scenario that still shows its anomaly.

    It leaves out faults, admin operations and moves of gambits; then it shortens the run, and uses fewer
    nodes, partitions and clients.  One run that shows the anomaly is enough to go on with a candidate; from
    time to time the smallest one is run until a sequential test decides.  The smallest one is written as a
    scenario file that krucible run takes.  RUN is the run's folder, seed or time, or latest, or a scenario's
    name.  The last two mean the newest run that is not a replay.

    Exit codes: 0 nothing smaller is left to try, 1 the anomaly did not return, 2 the time or the runs were
    used up, or the command was interrupted, before that, 3 the harness failed.
    """
    recorded = load_recorded(find_run(runs, run, originals=True))
    start = start_of(recorded, verdict_of(recorded.folder), anomaly)
    kept = MinimisationFile(recorded.folder, recorded.identity.run, start.wanted)
    click.echo(f"minimising {clean(str(recorded.folder), _TEXT_MAX)}: {start.wanted}", err=True)
    with kept.held(), cancellable() as cancelled:
        work = Minimising(
            start,
            kept,
            runs,
            budget=RunBudget(limit_s, runs_at_most, confirm),
            cancelled=cancelled,
            replay_of=recorded.identity.run,
        )
        work.go_on()
    best = work.search.best
    result = None if best is None else _written(work, best, start, recorded)
    code = _exit_code(result, complete=work.complete)
    if as_json:
        click.echo(json.dumps(_as_json(work, result, kept, recorded) | {"exit_code": code}))
    elif result is None:
        click.echo(_nothing_text(work, start, kept, runs))
    else:
        click.echo("\n".join(_result_lines(work, result, kept)) + store_option(runs))
    return code


class _Result(NamedTuple):
    """The smallest scenario so far.

    Attributes:
        before: size of the recorded run's scenario.
        after: size of the smallest scenario.
        rate: how often it shows the anomaly.
        confirmed: whether the rate is of runs after the search; otherwise it is too high.
        path: file of the scenario.
        reproduce: the command that runs it.
    """

    before: Size
    after: Size
    rate: Rate
    confirmed: bool
    path: Path
    reproduce: str


def _exit_code(result: _Result | None, *, complete: bool) -> int:
    if not complete:
        return EXIT_UNFINISHED
    return EXIT_NEVER if result is None else EXIT_MINIMISED


def _nothing_text(work: Minimising, start: Start, kept: MinimisationFile, runs: Path) -> str:
    number = len(kept.state.tried)
    tried = f"{number} {'run' if number == 1 else 'runs'}"
    if not work.complete:
        return f"undecided  whether {start.wanted} comes back at all, after {tried}"
    return (
        f"not shown  {start.wanted} did not come back often enough in {tried} of the whole schedule\n"
        f"next       krucible replay {clean(quote(str(kept.folder.parent.parent)), _TEXT_MAX)} --times 10"
        f"{store_option(runs)}"
    )


def _bug_text(start: Start) -> str:
    """The seeded bug that every run of the search had; empty without one."""
    bug = start.options.seeded_bug
    return f", with the seeded bug {bug}" if bug else ""


def _made_text(kept: MinimisationFile) -> str:
    """The number of runs, and the time that they took."""
    tried = kept.state.tried
    minutes = math.ceil(sum(each.took_s for each in tried) / _S_PER_MIN)
    return f"{len(tried)} in {minutes} min"


def _written(work: Minimising, best: Scenario, start: Start, recorded: RecordedActions) -> _Result:
    """Write the smallest scenario and return what is known about it."""
    before, after = size_of(start.whole), size_of(best)
    outcomes, confirmed = work.outcomes(best)
    deciding = [each for each in outcomes if each is not ReproductionOutcome.UNDECIDED]
    rate = rate_of(deciding.count(ReproductionOutcome.SHOWN), len(deciding))
    origin = (
        f"Minimised from run {recorded.identity.run} of {recorded.identity.scenario}, "
        f"Kafka {best.kafka_version}{_bug_text(start)}."
    )
    path = work.write_result(
        f"{start.wanted} in {rate.text()} with {reduction_text(before, after)}.\n\n"
        f"{textwrap.fill(origin, _DOCSTRING_WIDTH, break_on_hyphens=False)}\n"
    )
    options = replace(start.options, scenario=name_of(path), scenario_file=str(path))
    return _Result(before, after, rate, confirmed, path, reproduce_line(options))


def _result_lines(work: Minimising, result: _Result, kept: MinimisationFile) -> list[str]:
    """Return the last lines of the output. The last one is a command."""
    before, after = result.before, result.after
    measured = (
        "runs after the search"
        if result.confirmed
        else "the runs by which it was chosen, a rate that is too high"
    )
    left = "nothing smaller is left to try" if work.complete else "its rate is not measured yet"
    left = left if work.searched else "smaller ones are left to try"
    return [
        f"minimised  {kept.state.wanted}: {result.rate.text()} with {reduction_text(before, after)}",
        f"rate       of {measured}; the interval is Wilson's of 95 %",
        f"test       {work.search.level.text()}{'' if work.search.tested else '; not decided yet'}",
        f"taken away {', '.join(taken_away(before, after)) or 'nothing'}",
        f"runs       {_made_text(kept)}; {left}",
        f"scenario   {clean(str(result.path), _TEXT_MAX)}",
        f"reproduce  {clean(result.reproduce, _TEXT_MAX)}",
    ]


def _as_json(
    work: Minimising, result: _Result | None, kept: MinimisationFile, recorded: RecordedActions
) -> dict[str, Any]:
    """The result; it has no `smallest` if no scenario shows the anomaly."""
    tried = kept.state.tried
    return {
        "run": str(recorded.folder),
        "anomaly": kept.state.wanted,
        "complete": work.complete,
        "runs": len(tried),
        "took_s": sum(each.took_s for each in tried),
        "smallest": None
        if result is None
        else {
            "scenario": str(result.path),
            "reproduce": result.reproduce,
            "rate": msgspec.to_builtins(result.rate),
            "confirmed": result.confirmed,
            "test_decided": work.search.tested,
            "before": result.before._asdict(),
            "after": result.after._asdict(),
        },
    }
