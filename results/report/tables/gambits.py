"""The table of a run's gambits."""

import msgspec

from results.markup.cleaning import clean
from results.report.size_limits import DisplayLimits
from results.run.gambits import GambitSeen
from results.run.observation import Observed
from results.run.text import at_seconds

_OUTCOMES = {"ok": "played", "info": "ended early", "fail": "not begun"}


class GambitRow(msgspec.Struct, frozen=True):
    """A gambit, ready to be shown."""

    id: str
    kind: str
    parts: str
    begun: str
    moves: str
    outcome: str
    played: bool
    error: str


def gambit_rows(observed: Observed, limits: DisplayLimits) -> tuple[GambitRow, ...]:
    """One row for each gambit, in their order."""
    return tuple(_row(gambit, limits) for gambit in observed.gambits[: limits.rows])


def _row(gambit: GambitSeen, limits: DisplayLimits) -> GambitRow:
    parts = ", ".join(f"{node} is {part}" for part, node in gambit.parts.items())
    where = f"{gambit.where}: " if gambit.where else ""
    return GambitRow(
        id=clean(gambit.id, 20),
        kind=clean(gambit.kind, 40),
        parts=clean(where + parts, limits.cell),
        begun="" if gambit.invoked_ns is None else at_seconds(gambit.invoked_ns),
        moves=f"{gambit.made} of {gambit.planned}",
        outcome=_OUTCOMES.get(gambit.outcome, "cut short"),
        played=gambit.outcome == "ok",
        error=clean(gambit.error or "", limits.text),
    )
