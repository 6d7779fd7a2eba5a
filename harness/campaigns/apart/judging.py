"""Judges, in a separate process, the history of a run whose process died.

A checker may end this process too, for example because the history needs too much memory.
"""

import sys
from functools import partial
from pathlib import Path

import click

from checkers.history.reading import read_history
from harness.campaigns.exits import coded, forgive_streams
from harness.campaigns.keeping import identity_of
from harness.campaigns.rejudging import check_run
from harness.errors import disk_errors_named
from harness.record.deaths import note_death
from harness.seeded_bugs.reach import reach_text, read_traces


def main(words: list[str]) -> int:
    """Record how the harness died, judge, and print the verdict.

    Args:
        words: the run's folder, and how the harness ended.

    Returns:
        The verdict's exit code.
    """
    forgive_streams()
    folder, error = Path(words[0]), words[1]
    with disk_errors_named():
        note_death(folder, read_history(folder), error)
    code = check_run(folder, as_json=False)
    identity = identity_of(folder)
    if identity is not None and identity.seeded_bug:
        bug = identity.seeded_bug
        click.echo(f"seeded     {reach_text(bug, read_traces(folder, bug))}")
    return code


if __name__ == "__main__":
    sys.exit(coded(partial(main, sys.argv[1:])))
