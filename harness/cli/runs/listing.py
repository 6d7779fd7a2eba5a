"""``krucible list``: lists scenarios and their runs, one per line."""

import json
import shutil
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import msgspec

from checkers.verdict.verdict import VERDICTS
from harness.cli.options.completion import complete_scenario
from harness.cli.options.shared import WholeNumber, require_store, runs_option
from harness.cli.options.structs import gathered
from harness.cli.parsing import Command
from harness.cli.runs.catalogue_page import render_catalogue
from harness.errors import UsageError
from harness.plan.catalogue import load_scenario, scenario_names
from harness.vocabulary.scenario import Scenario
from results.markup.cleaning import clean
from results.store.runs import RunSummary, place_of, run_folders, summarise_folder

UNJUDGED = "unjudged"
_LINE_MAX = 80
"""Columns of a line on a terminal that does not report its width; what is piped is not cut."""
_SCENARIO_WIDTH_MAX = 30
_RUN_WIDTH_MAX = 45
_TEXT_MAX = 500


class _Filter(msgspec.Struct, frozen=True):
    """Which scenarios and runs are listed. None and empty values do not filter."""

    scenario: str | None
    verdicts: tuple[str, ...]
    limit: int | None

    def names(self, scenario: str) -> bool:
        """Whether this scenario, or a folder that holds it, was named."""
        if self.scenario is None:
            return True
        wanted = self.scenario.rstrip("/")  # shell completion appends a slash to a folder
        return scenario == wanted or scenario.startswith(f"{wanted}/")

    def filter_text(self) -> str:
        """Describe the requested runs, for a message that there are none. Empty if there is no filter."""
        scenario = [] if self.scenario is None else [f"of {clean(self.scenario, _TEXT_MAX)}"]
        verdicts = [f"with verdict {' or '.join(self.verdicts)}"] if self.verdicts else []
        return " ".join((*scenario, *verdicts))

    def takes(self, run: RunSummary) -> bool:
        """Whether a run is one of the requested ones."""
        return self.names(run.scenario) and (not self.verdicts or _verdict(run) in self.verdicts)


@click.command("list", cls=Command)
@click.option("--scenarios/--runs-too", "only_scenarios", default=False, help="List scenarios only.")
@click.option(
    "--scenario",
    metavar="NAME",
    shell_complete=complete_scenario,
    help="List only this scenario and its runs, or those of a folder such as smoke.",
)
@click.option(
    "--verdict",
    "verdicts",
    type=click.Choice([*(each.value for each in VERDICTS), UNJUDGED]),
    multiple=True,
    help="List only runs with this verdict, and no scenarios; repeatable.",
)
@click.option(
    "--limit", type=WholeNumber(1), metavar="N", help="List only the N newest runs, and no scenarios."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", "as_page", is_flag=True, help="Print the page of scenarios, docs/scenarios.md.")
@runs_option
@gathered(_Filter)
@click.pass_context
def list_command(
    context: click.Context,
    asked: _Filter,
    *,
    only_scenarios: bool,
    as_json: bool,
    as_page: bool,
    runs: Path,
) -> None:
    """List scenarios and stored runs, newest first.

    The line of a run shows its verdict, Kafka's version, its name and its anomalies.  Every command that
    takes a RUN takes that name.
    """
    _refuse_contradictions(asked, only_scenarios=only_scenarios, as_json=as_json, as_page=as_page)
    if as_page:
        click.echo(render_catalogue(), nl=False)
        return
    if not only_scenarios:
        require_store(context, runs)
    found = [] if only_scenarios else _runs(runs, asked)
    scenarios = {} if asked.verdicts or asked.limit else _scenarios(asked)
    if asked.scenario is not None and not found and not any(map(asked.names, scenario_names())):
        load_scenario(asked.scenario)  # its error lists similar names
    if as_json:
        click.echo(json.dumps(_listing(scenarios, found, runs)))  # names of folders need not be UTF-8
        return
    for line in _scenario_lines(scenarios):
        click.echo(line)
    if scenarios and found:
        click.echo()
    if not found and not only_scenarios:
        click.echo(f"runs  none in {clean(str(runs), _TEXT_MAX)} {asked.filter_text()}".rstrip(), err=True)
    for line in _run_lines(found, runs):
        click.echo(line)


def _refuse_contradictions(asked: _Filter, *, only_scenarios: bool, as_json: bool, as_page: bool) -> None:
    """Refuse options that exclude each other.

    Raises:
        UsageError: if two of them are given.
    """
    of_runs = [name for name, value in (("--verdict", asked.verdicts), ("--limit", asked.limit)) if value]
    if as_page:
        chosen = ["--json"] if as_json else of_runs or (["--scenario"] if asked.scenario else [])
        if chosen:
            text = f"{chosen[0]} and --markdown exclude each other"
            raise UsageError(text, next_step="drop one of them")
    if only_scenarios and of_runs:
        raise UsageError(f"{of_runs[0]} and --scenarios exclude each other", next_step="drop one of them")


def _runs(root: Path, asked: _Filter) -> list[RunSummary]:
    """Return the newest requested runs. Only as many are read as are listed."""
    folders = sorted(run_folders(root), key=lambda folder: (folder.name, str(folder)), reverse=True)
    summaries = (summarise_folder(root, folder) for folder in folders)
    return list(islice(filter(asked.takes, summaries), asked.limit))


def _scenarios(asked: _Filter) -> dict[str, Scenario | UsageError]:
    """Return the scenarios by name. For a scenario that can't be loaded, the value is the error."""
    return {name: _loaded(name) for name in scenario_names() if asked.names(name)}


def _loaded(name: str) -> Scenario | UsageError:
    try:
        return load_scenario(name)
    except UsageError as error:
        return error  # the error is listed instead of the scenario


def _listing(
    scenarios: dict[str, Scenario | UsageError], found: list[RunSummary], root: Path
) -> dict[str, Any]:
    return {
        "scenarios": [_described(name, scenario) for name, scenario in scenarios.items()],
        "runs": [
            {"name": place_of(root, run.folder)} | msgspec.to_builtins(run, enc_hook=str) for run in found
        ],
    }


def _described(name: str, scenario: Scenario | UsageError) -> dict[str, Any]:
    if isinstance(scenario, UsageError):
        return {"name": name, "problem": str(scenario)}
    fields = ("summary", "why", "ticket", "kafka_version", "versions_min", "expectations")
    document: dict[str, Any] = msgspec.to_builtins({field: getattr(scenario, field) for field in fields})
    return {"name": name} | document


def _scenario_lines(scenarios: dict[str, Scenario | UsageError]) -> Iterator[str]:
    width = min(max(map(len, scenarios), default=0), _SCENARIO_WIDTH_MAX)
    for name, scenario in scenarios.items():
        if isinstance(scenario, UsageError):
            # Not cut to 80 columns, because this error must be fixed.
            text = clean(" ".join(scenario.got.split()), _TEXT_MAX)
            yield f"{name:<{width}}  can't be loaded: {scenario.where}: {text}"
        else:
            yield _cut(f"{name:<{width}}", scenario.summary)


def _run_lines(found: list[RunSummary], root: Path) -> Iterator[str]:
    places = [clean(place_of(root, run.folder), _TEXT_MAX) for run in found]
    width = min(max(map(len, places), default=0), _RUN_WIDTH_MAX)
    for run, place in zip(found, places, strict=True):
        anomalies = ", ".join(f"{name} {count}" for name, count in run.anomalies.items())
        version = clean(run.kafka_version, _TEXT_MAX) or "?"
        yield _cut(f"{_verdict(run):<8}  {version:<5}  {place:<{width}}", clean(anomalies, _TEXT_MAX))


def _verdict(run: RunSummary) -> str:
    return run.validity.value if run.validity else UNJUDGED


def _cut(head: str, rest: str) -> str:
    """Return a line that fits the terminal; the name is never cut."""
    line, name_end = f"{head}  {rest}".rstrip(), len(head.rstrip())
    width = _columns()
    if width is None or len(line) <= max(width, name_end):
        return line
    return line[: max(width - 1, name_end)].rstrip() + ("…" if name_end < width - 1 else "")


def _columns() -> int | None:
    """Columns of the terminal; None for a file or a pipe, where `grep` needs whole lines."""
    return shutil.get_terminal_size((_LINE_MAX, 24)).columns if sys.stdout.isatty() else None
