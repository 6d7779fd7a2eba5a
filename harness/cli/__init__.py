"""The command line: one command group, errors with a next step, exit codes (`harness.campaigns.exits`)."""

import sys
from functools import partial

from harness.campaigns.exits import coded, forgive_streams
from harness.cli.commands import krucible


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit. The user never sees a traceback, not even after an unexpected error."""
    forgive_streams()
    sys.exit(invoke(sys.argv[1:] if arguments is None else arguments))


def invoke(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    return coded(partial(krucible.main, args=arguments, prog_name="krucible", standalone_mode=False))
