"""Lists all runs of a qualification, so that figures can be links to their runs."""

from collections.abc import Sequence

from results.qualification.records import QualificationRole, QualificationRun
from results.run.text import seconds
from results.sections.section import Section

RUNS_MAX = 2_000
"""Maximum number of rows of runs, or of pairs of runs, on a page."""


def runs_section(runs: Sequence[QualificationRun]) -> Section:
    """A row for each run that was made, in the order of the matrix."""
    listed = _listed(runs)
    rows = tuple(_row(run) for run in listed)
    head = ("`scenario", "mode", "side", ">seed", "verdict", ">operations", ">took", "/folder")
    ids = tuple(f"run-{place}" for place in range(1, len(listed) + 1))
    lead = "Scenarios in the matrix are links to this table." if rows else ""
    return Section("Runs", lead, head, rows, ids=ids, rows_max=RUNS_MAX)


def first_of_cell(runs: Sequence[QualificationRun], role: QualificationRole, scenario: str, mode: str) -> str:
    """The id on the page of a cell's first run; empty if none was made."""
    cells = [_cell(run) for run in _listed(runs)[:RUNS_MAX]]
    mine = (scenario, mode, role)
    return f"run-{cells.index(mine) + 1}" if mine in cells else ""


def _listed(runs: Sequence[QualificationRun]) -> list[QualificationRun]:
    return sorted((run for run in runs if run.outcome), key=_order)


def _order(run: QualificationRun) -> tuple[str, str, bool, int, str]:
    seed = run.identity.seed if run.identity else None
    scenario, mode, role = _cell(run)
    return (
        scenario,
        mode,
        role is QualificationRole.BASELINE,
        seed or 0,
        run.outcome.folder if run.outcome else "",
    )


def _cell(run: QualificationRun) -> tuple[str, str, QualificationRole]:
    return run.planned.scenario, run.planned.mode, run.planned.role


def _row(run: QualificationRun) -> tuple[str, ...]:
    outcome = run.outcome
    if outcome is None:
        return ()
    measures = outcome.measures
    return (
        run.planned.scenario,
        run.planned.mode or "not known",
        run.planned.role,
        str(outcome.identity.seed) if outcome.identity else "",
        outcome.outcome,
        f"{measures.operations:,}" if measures else "",
        seconds(measures.duration_ms) if measures else "",
        outcome.folder,
    )
