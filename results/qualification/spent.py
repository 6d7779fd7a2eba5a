"""Duration of the runs of a qualification, and how much of it was load, from the records of the runs."""

import datetime as dt
from collections.abc import Iterable

import msgspec

from results.campaigns.summary import RunOutcome
from results.markup.markdown import number

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_MS_PER_MIN = 60_000


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Duration of runs, including controls.

    Attributes:
        runs: number of runs with recorded start and duration.
        of: number of runs that were made.
        began_at: when the first run began, ISO 8601 in UTC; empty without runs.
        ended_at: when the last run ended.
        wall_ms: time from `began_at` to `ended_at`; it includes the time between runs (images, judgement,
            removal of clusters, breaks), and counts simultaneous work of several machines once.
        runs_ms: sum of the durations of all runs, each from its start to its last operation.  It may exceed
            `wall_ms`, even on one machine: the next cluster starts during the final read.
        load_ms: duration of the load in `runs_ms`, including faults and recovery; None unless all runs
            recorded it.
        outside: share of `runs_ms` without load; None if `load_ms` is None.
    """

    runs: int = 0
    of: int = 0
    began_at: str = ""
    ended_at: str = ""
    wall_ms: int = 0
    runs_ms: int = 0
    load_ms: int | None = None
    outside: float | None = None


def spent_on(outcomes: Iterable[RunOutcome]) -> Spent:
    """Sum over runs; runs without a start or figures only count in `of`."""
    given = list(outcomes)
    measured = [
        (began, one.measures)
        for one in given
        if (began := _began(one)) is not None and one.measures is not None
    ]
    if not measured:
        return Spent(of=len(given))
    first = min(began for began, _ in measured)
    last = max(began + dt.timedelta(milliseconds=measures.duration_ms) for began, measures in measured)
    runs_ms = sum(measures.duration_ms for _, measures in measured)
    loads_ms = [measures.load_ms for _, measures in measured if measures.load_ms is not None]
    load_ms = sum(loads_ms) if len(loads_ms) == len(measured) else None
    return Spent(
        runs=len(measured),
        of=len(given),
        began_at=first.strftime(_FORMAT),
        ended_at=last.strftime(_FORMAT),
        wall_ms=(last - first) // dt.timedelta(milliseconds=1),
        runs_ms=runs_ms,
        load_ms=load_ms,
        outside=None if load_ms is None or not runs_ms else round(1 - load_ms / runs_ms, 4),
    )


def ended_at(run: RunOutcome) -> str:
    """When a run ended by its own clock, ISO 8601 in UTC; empty if unknown."""
    began = _began(run)
    if began is None:
        return ""
    took_ms = run.measures.duration_ms if run.measures else 0
    return (began + dt.timedelta(milliseconds=took_ms)).strftime(_FORMAT)


def spent_text(spent: Spent) -> str:
    """The text of a report; empty if no run has the data."""
    if not spent.runs:
        return ""
    counted = number(spent.runs, "run") if spent.runs == spent.of else f"{spent.runs:,} of {spent.of:,} runs"
    wall, own = (f"{took_ms / _MS_PER_MIN:.1f} min" for took_ms in (spent.wall_ms, spent.runs_ms))
    when = f"from {spent.began_at} to {spent.ended_at}"
    load = (
        "How much of that was load is not recorded."
        if spent.load_ms is None or spent.outside is None
        else f"Load, including faults and recovery, took {spent.load_ms / _MS_PER_MIN:.1f} min of that; "
        f"{100 * spent.outside:.0f} % was outside of load."
    )
    rest = "Only the wall-clock time includes the time between runs (images, judgement, removal of clusters)."
    return f"{counted} took {own} by their own clocks, {when}, {wall} of wall-clock time. {load} {rest}"


def _began(run: RunOutcome) -> dt.datetime | None:
    if run.identity is None:
        return None
    try:
        began = dt.datetime.fromisoformat(run.identity.began_at)
    except ValueError:
        return None
    # A time without a zone is not ours, and can't be compared with one that has a zone.
    return began.astimezone(dt.UTC) if began.tzinfo else began.replace(tzinfo=dt.UTC)
