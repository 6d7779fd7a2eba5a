"""How long runs took is what they recorded, and what one did not record is not guessed."""

import datetime as dt

import msgspec

from results.campaigns.summary import RunOutcome
from results.qualification.spent import Spent, ended_at, spent_on, spent_text
from tests.results.qualified import run

BEGAN = dt.datetime(2026, 11, 22, 1, 0, tzinfo=dt.UTC)


def took(began_s: int, load_ms: int | None = 40_000, began_at: str | None = None) -> RunOutcome:
    """A run of a minute that began so many seconds after the first."""
    done = run().outcome
    assert done is not None
    assert done.identity is not None
    assert done.measures is not None
    at = (BEGAN + dt.timedelta(seconds=began_s)).isoformat() if began_at is None else began_at
    return msgspec.structs.replace(
        done,
        identity=msgspec.structs.replace(done.identity, began_at=at),
        measures=msgspec.structs.replace(done.measures, load_ms=load_ms),
    )


def test_one_after_the_other() -> None:
    assert spent_on([took(63), took(0)]) == Spent(
        runs=2,
        of=2,
        began_at="2026-11-22T01:00:00Z",
        ended_at="2026-11-22T01:02:03Z",
        wall_ms=123_000,
        runs_ms=120_000,
        load_ms=80_000,
        outside=0.3333,
    )


def test_machines_beside_each_other_share_the_wall_and_add_up_their_own_time() -> None:
    spent = spent_on([took(0), took(0)])
    assert (spent.wall_ms, spent.runs_ms, spent.outside) == (60_000, 120_000, 0.3333)


def test_a_load_that_one_run_did_not_record_is_not_guessed() -> None:
    spent = spent_on([took(0), took(60, load_ms=None)])
    assert (spent.runs_ms, spent.load_ms, spent.outside) == (120_000, None, None)
    assert "How much of that was load is not recorded." in spent_text(spent)


def test_runs_without_times_are_counted() -> None:
    silent = msgspec.structs.replace(took(0), identity=None)
    spent = spent_on([took(0), took(0, began_at="at noon"), silent])
    assert (spent.runs, spent.of, spent.runs_ms) == (1, 3, 60_000)
    assert spent_text(spent).startswith("1 of 3 runs took 1.0 min by their own clocks")
    assert spent_on([silent]) == Spent(of=1)
    assert spent_text(spent_on([silent])) == ""


def test_times_of_another_zone_are_shown_in_utc() -> None:
    elsewhere = took(0, began_at="2026-11-22T02:00:00+01:00")
    assert spent_on([elsewhere]).began_at == "2026-11-22T01:00:00Z"
    assert ended_at(elsewhere) == "2026-11-22T01:01:00Z"
    assert ended_at(took(0, began_at="2026-11-22T01:00:00")) == "2026-11-22T01:01:00Z"
    assert ended_at(took(0, began_at="at noon")) == ""
