"""``krucible list``: scenarios, and the runs there are of them."""

import json
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.cli.catalogue_page import render_catalogue
from harness.cli.options import runs_option
from harness.errors import UsageError
from harness.plan.catalogue import load_scenario, scenario_names
from harness.vocabulary.scenario import Scenario
from results.cleaning import clean
from results.store import RunSummary, list_runs

_TEXT_MAX = 500


@click.command("list")
@click.option("--scenarios/--runs-too", "only_scenarios", default=False, help="Leave the runs out.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", "as_page", is_flag=True, help="Print the page of scenarios, docs/scenarios.md.")
@runs_option
def list_command(only_scenarios: bool, as_json: bool, as_page: bool, runs: Path) -> None:  # noqa: FBT001 - click hands flags over like this
    """List scenarios and stored runs, newest first."""
    if as_page:
        if as_json:
            raise UsageError("--json and --markdown exclude each other", next_step="drop one of them")
        click.echo(render_catalogue(), nl=False)
        return
    scenarios = {name: load_scenario(name) for name in scenario_names()}
    found = () if only_scenarios else list_runs(runs)
    if as_json:
        listing = {
            "scenarios": [_described(name, scenario) for name, scenario in scenarios.items()],
            "runs": [msgspec.to_builtins(run, enc_hook=str) for run in found],
        }
        click.echo(json.dumps(listing))  # names of folders need not be UTF-8, which msgspec insists on
        return
    console = Console()
    console.print(_scenario_table(scenarios))
    if found:
        console.print(_run_table(found))


def _described(name: str, scenario: Scenario) -> dict[str, Any]:
    fields = ("summary", "why", "ticket", "kafka_version", "versions_min", "expectations")
    told: dict[str, Any] = msgspec.to_builtins({field: getattr(scenario, field) for field in fields})
    return {"name": name} | told


def _scenario_table(scenarios: dict[str, Scenario]) -> Table:
    table = Table(title="Scenarios", title_justify="left", show_lines=True)
    table.add_column("scenario", no_wrap=True)
    table.add_column("what happens, and why it triggers what it triggers")
    table.add_column("Kafka", no_wrap=True)
    for name, scenario in scenarios.items():
        story = Text.assemble(scenario.summary, "\n", (scenario.why, "dim"))
        table.add_row(name, story, scenario.kafka_version)
    return table


def _run_table(runs: tuple[RunSummary, ...]) -> Table:
    table = Table("verdict", "scenario", "Kafka", "seed", "began", "anomalies", "folder")
    table.title, table.title_justify = "Runs", "left"
    for run in runs:
        anomalies = ", ".join(f"{name} {count}" for name, count in run.anomalies.items())
        verdict = run.validity.value if run.validity else "not judged"
        seed = "" if run.seed is None else str(run.seed)
        texts = (verdict, run.scenario, run.kafka_version, seed, run.began_at, anomalies, str(run.folder))
        table.add_row(*(Text(clean(text, _TEXT_MAX)) for text in texts))
    return table
