"""The last lines of output of the commands of ``krucible pipeline``."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from results.markup.cleaning import clean
from results.pipeline.analytics.updating import Computed
from results.pipeline.found import Skipped
from results.pipeline.snapshots.snapshot import CURRENT
from results.pipeline.steps.checked import Checked
from results.pipeline.steps.ingest import Ingested

_RUNS_MAX = 20
_TEXT_MAX = 300


def of_ingest(done: Ingested, how: str = "") -> Iterator[str]:
    """Yield lines with what was added and what was left out."""
    yield f"ingested   {done.runs:,} runs, {done.operations:,} operations{how}"
    yield from _unchanged(done.unchanged)
    yield from _listed("skipped", done.skipped)


def of_check(done: Checked, how: str = "") -> Iterator[str]:
    """Yield lines with the verdicts, the differences, and the runs that could not be judged."""
    validities = ", ".join(f"{count:,} {validity}" for validity, count in done.validities.items())
    yield f"judged     {done.runs:,} runs{how}" + (f": {validities}" if validities else "")
    yield from _unchanged(done.unchanged)
    yield from _listed("skipped", done.skipped)
    yield from _listed(
        "changed", done.differing, f" differ from their verdict.json, {done.changed:,} in validity"
    )


def of_tables(done: Computed, how: str = "") -> str:
    """Return a line with the number of computed tables."""
    return f"computed   {len(done.tables)} tables{how}" if done.tables else "unchanged  all computed tables"


def steps_json(
    tables: Path,
    took_s: float,
    *,
    ingested: Ingested | None = None,
    checked: Checked | None = None,
    computed: Computed | None = None,
) -> str:
    """Return one JSON object with the results of all steps; a step that was not made is null.

    Args:
        tables: the folder that the command was given.
        took_s: how long all steps took, in seconds.
        ingested: result of the ingest.
        checked: result of the check.
        computed: result of computing the tables.
    """
    added = None if ingested is None else msgspec.structs.asdict(ingested)
    if added is not None:
        del added["judged"]  # it is part of the check's result
    steps = {"ingested": added, "checked": checked, "computed": computed}
    return msgspec.json.encode({"tables": str(tables / CURRENT), "took_s": round(took_s, 1)} | steps).decode()


def _unchanged(runs: int) -> Iterator[str]:
    if runs:
        yield f"unchanged  {runs:,} runs"


def _listed(name: str, runs: Sequence[Skipped], how: str = "") -> Iterator[str]:
    if not runs:
        return
    yield f"{name:<10} {len(runs):,} runs{how}"
    for run in runs[:_RUNS_MAX]:
        yield f"  {clean(run.folder, _TEXT_MAX)}: {clean(' '.join(run.reason.split()), _TEXT_MAX)}"
    if len(runs) > _RUNS_MAX:
        yield f"  and {len(runs) - _RUNS_MAX:,} more"
