"""What the shell completes: names of scenarios and of stored runs; files where no name begins like that."""

from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from harness.plan.catalogue import scenario_names
from harness.record.folder import RUNS
from results.store.runs import LATEST, place_of, run_folders


def complete_scenario(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Scenarios of the catalogue that begin like this."""
    del context, parameter
    return _or_files(incomplete, scenario_names())


def complete_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of runs that begin like this, each one that `results.store.runs.find_run` takes."""
    del parameter
    return _or_files(incomplete, _names_of_runs(Path(context.params.get("runs") or RUNS), incomplete))


def _names_of_runs(root: Path, incomplete: str) -> Iterator[str]:
    """``latest``, scenarios and places; short names, which are digits, where something has been typed."""
    yield LATEST
    folders = sorted(run_folders(root), key=lambda folder: folder.name, reverse=True)
    for folder in folders:
        if folder.parent != root and folder.is_relative_to(root):
            yield place_of(root, folder.parent)
        yield place_of(root, folder)
    if incomplete:
        yield from (folder.name for folder in folders)


def _or_files(incomplete: str, names: Iterator[str] | tuple[str, ...]) -> list[CompletionItem]:
    found = [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]
