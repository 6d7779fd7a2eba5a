"""``krucible pipeline``: writes tables of runs, judges the runs and computes statistics, with Spark.

Spark is an optional dependency. Commands are imported when they are called; a missing Spark is reported.
"""

from importlib.util import find_spec

import click

from harness.cli.entries import CommandEntry, LazyGroup
from harness.errors import KrucibleError

COMMANDS = {
    "all": CommandEntry(
        "harness.cli.pipeline.everything",
        "everything",
        "Ingest, check and tables in one: faster, journals are read once.",
    ),
    "ingest": CommandEntry(
        "harness.cli.pipeline.ingest",
        "ingest",
        "Bring the tables up to date with every run below RUNS_FOLDER.",
    ),
    "check": CommandEntry(
        "harness.cli.pipeline.check", "check", "Judge the ingested runs by the checkers of this krucible."
    ),
    "tables": CommandEntry(
        "harness.cli.pipeline.tables",
        "tables",
        "Compute availability, latency, flakes, trends and the others from the tables.",
    ),
}
_NEEDED = ("pyspark", "pyarrow", "pandas")


class PipelineCommands(LazyGroup):
    """A group whose commands need Spark. Its help and its shell completion do not need Spark."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command. Return None if no command has this name.

        Raises:
            KrucibleError: Spark is not installed.
        """
        if cmd_name in self.entries:  # a mistyped name is reported before a missing Spark
            _require_spark()
        return super().get_command(ctx, cmd_name)


def _require_spark() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise KrucibleError(
            "Spark is not installed",
            got=f"no {', '.join(missing)}",
            expected="the extra that the pipeline needs",
            next_step="make spark   in krucible's checkout",
        )


@click.group(cls=PipelineCommands, entries=COMMANDS)
def pipeline() -> None:
    """Write tables of stored runs, judge the runs again, and compute statistics, with Spark."""
