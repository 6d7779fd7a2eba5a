"""How long the runs of a qualification took, and how much of that was load: from what each recorded."""

import datetime as dt
from collections.abc import Iterable

import msgspec

from results.campaigns.summary import RunOutcome
from results.markup.markdown import number

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_MS_PER_MIN = 60_000


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Time that runs took, controls included.

    Attributes:
        runs: number of runs with recorded begin and duration.
        of: number of runs that were carried out.
        began_at: when the first of them began, ISO 8601 in UTC; empty without any.
        ended_at: when the last of them ended.
        wall_ms: time from `began_at` to `ended_at`: it includes the time between runs (images, judgement,
            removal of clusters, breaks), and counts simultaneous work of several machines once.
        runs_ms: sum over all runs, each from its beginning to its last operation.  It may be more than
            `wall_ms`, even on one machine: the next cluster starts while the last one is read.
        load_ms: how much of `runs_ms` their loads were on, faults and recovery included; None if not all of
            them recorded it.
        outside: share of `runs_ms` in which no load was on; None like `load_ms`.
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
    """Sum up what runs recorded; those without a beginning or without figures are counted and left out."""
    given = list(outcomes)
    told = [
        (began, one.measures)
        for one in given
        if (began := _began(one)) is not None and one.measures is not None
    ]
    if not told:
        return Spent(of=len(given))
    first = min(began for began, _ in told)
    last = max(began + dt.timedelta(milliseconds=measures.duration_ms) for began, measures in told)
    runs_ms = sum(measures.duration_ms for _, measures in told)
    loads_ms = [measures.load_ms for _, measures in told if measures.load_ms is not None]
    load_ms = sum(loads_ms) if len(loads_ms) == len(told) else None
    return Spent(
        runs=len(told),
        of=len(given),
        began_at=first.strftime(_FORMAT),
        ended_at=last.strftime(_FORMAT),
        wall_ms=(last - first) // dt.timedelta(milliseconds=1),
        runs_ms=runs_ms,
        load_ms=load_ms,
        outside=None if load_ms is None or not runs_ms else round(1 - load_ms / runs_ms, 4),
    )


def ended_at(run: RunOutcome) -> str:
    """When a run was over by its own clock, ISO 8601 in UTC; empty where that can't be determined."""
    began = _began(run)
    if began is None:
        return ""
    took_ms = run.measures.duration_ms if run.measures else 0
    return (began + dt.timedelta(milliseconds=took_ms)).strftime(_FORMAT)


def spent_text(spent: Spent) -> str:
    """The sentences of a report; empty where no run reports."""
    if not spent.runs:
        return ""
    counted = number(spent.runs, "run") if spent.runs == spent.of else f"{spent.runs:,} of {spent.of:,} runs"
    wall, own = (f"{took_ms / _MS_PER_MIN:.1f} min" for took_ms in (spent.wall_ms, spent.runs_ms))
    when = f"from {spent.began_at} to {spent.ended_at}"
    load = (
        "How much of that was load is not recorded."
        if spent.load_ms is None or spent.outside is None
        else f"Loads, faults and recovery took {spent.load_ms / _MS_PER_MIN:.1f} min of that; "
        f"{100 * spent.outside:.0f} % was outside."
    )
    rest = "What lies between runs (images, judgement, removal of clusters) is only in the wall-clock time."
    return f"{counted} took {own} by their own clocks, {when}, {wall} on the wall. {load} {rest}"


def _began(run: RunOutcome) -> dt.datetime | None:
    if run.identity is None:
        return None
    try:
        began = dt.datetime.fromisoformat(run.identity.began_at)
    except ValueError:
        return None
    # One without a zone is not ours, and could not be compared to those that have one.
    return began.astimezone(dt.UTC) if began.tzinfo else began.replace(tzinfo=dt.UTC)
