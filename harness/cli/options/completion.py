"""Shell completion: names of scenarios, runs, seeded bugs and known bugs of Kafka."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from harness.plan.catalogue import known_outcomes, scenario_names
from harness.record.folder import RUNS
from harness.seeded_bugs.catalogue import seeded_bugs
from results.store.runs import LATEST, place_of, run_folders


def complete_scenario(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the scenarios of the catalogue with this prefix, or files if no scenario matches."""
    del context, parameter
    return _or_files(incomplete, scenario_names())


def complete_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of runs with this prefix, or files if no run matches.

    The names have the forms that `results.store.runs.find_run` accepts.
    """
    del parameter
    return _or_files(incomplete, _names_of_runs(Path(context.params.get("runs") or RUNS), incomplete))


def complete_bug(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the seeded bugs with this prefix."""
    del context, parameter
    return _beginning(incomplete, seeded_bugs())


def complete_known(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the tickets and scenarios of known bugs of Kafka with this prefix."""
    del context, parameter
    return _beginning(incomplete, sorted({n for one in known_outcomes() for n in (one.ticket, one.scenario)}))


def _names_of_runs(root: Path, incomplete: str) -> Iterator[str]:
    """Yield ``latest``, scenarios and places; also short names, which are digits, if something was typed."""
    yield LATEST
    folders = sorted(run_folders(root), key=lambda folder: folder.name, reverse=True)
    for folder in folders:
        if folder.parent != root and folder.is_relative_to(root):
            yield place_of(root, folder.parent)
        yield place_of(root, folder)
    if incomplete:
        yield from (folder.name for folder in folders)


def _or_files(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    return _beginning(incomplete, names) or [CompletionItem(incomplete, type="file")]


def _beginning(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]
