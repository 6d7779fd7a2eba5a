"""A schedule is cut at the time of an anomaly: what had begun stays, and the rest is left out."""

import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.history.phases import PHASE, Phase
from harness.campaigns.minimising.evidence import ReproductionOutcome
from harness.campaigns.minimising.search import Search, Trial
from harness.campaigns.minimising.until import schedule_until
from harness.plan.random_schedules import TAIL_MS
from harness.vocabulary import (
    ElectionType,
    ElectLeaders,
    FixedSchedule,
    Gambit,
    Kill,
    Pass,
    Pause,
    ScriptedSchedule,
    Step,
    TimedOperation,
)
from tests.harness.campaigns.test_minimising_search import carried_out, kills

LOADED_NS = 20_000_000_000
NS_PER_MS = 1_000_000
EARLY, LATE = Step(4_000, 5_000, Kill(draw=1)), Step(50_000, 5_000, Kill(draw=2))
FIRST, SECOND = (Gambit(at_ms, "waits", (Pass(100),), 6_000) for at_ms in (12_000, 22_000))
BLINKS = tuple(Step(at_ms, 300, Pause(draw=at_ms)) for at_ms in (5_000, 45_000))
ACTS = tuple(TimedOperation(at_ms, ElectLeaders(ElectionType.PREFERRED)) for at_ms in (6_000, 46_000))
WHOLE = FixedSchedule((EARLY, LATE), 120_000, acts=ACTS, gambits=(FIRST, SECOND), blinks=BLINKS)


def carried_out_at(**times_ms: int) -> History:
    """The history of what was begun, each at a time after the load began."""
    events = [(0, PHASE, Phase.LOAD), *((at_ms, "inject", name) for name, at_ms in times_ms.items())]
    operations = tuple(
        Operation(
            index=index,
            time_ns=LOADED_NS + at_ms * NS_PER_MS,
            process="nemesis",
            type=OperationType.OK,
            f=f,
            key=key,
        )
        for index, (at_ms, f, key) in enumerate(sorted(events))
    )
    return History("run", "2026-11-22T01:00:00Z", operations)


def until(at_ms: int) -> FixedSchedule | None:
    # The second gambit waits for the first one, which took longer than was planned.
    recorded = carried_out_at(f1=4_100, blink1=5_000, g1=12_300, g2=40_000, blink2=45_000, f2=50_000)
    return schedule_until(WHOLE, recorded, LOADED_NS + at_ms * NS_PER_MS)


def test_what_had_begun_is_left_and_the_end_comes_soon_after() -> None:
    cut = until(30_000)
    assert cut == FixedSchedule(
        (EARLY,), 30_000 + TAIL_MS, acts=ACTS[:1], gambits=(FIRST,), blinks=BLINKS[:1]
    )


def test_a_piece_that_is_still_in_force_is_carried_out_to_its_end() -> None:
    cut = until(13_000)
    assert cut is not None
    assert (cut.gambits, cut.duration_ms) == ((FIRST,), 18_000 + TAIL_MS)


def test_before_the_first_piece_nothing_is_left() -> None:
    assert until(1_000) == FixedSchedule((), 3_000 + TAIL_MS)


@pytest.mark.parametrize("at_ms", [114_000, 119_000, 200_000])
def test_an_anomaly_at_the_end_cuts_nothing(at_ms: int) -> None:
    assert until(at_ms) is None


def test_neither_a_script_nor_a_run_without_load_is_cut() -> None:
    assert schedule_until(ScriptedSchedule((), 60_000), carried_out_at(), LOADED_NS) is None
    assert schedule_until(WHOLE, History("run", "2026-11-22T01:00:00Z", ()), LOADED_NS) is None


def test_a_guess_that_shows_the_anomaly_saves_the_runs_of_the_whole_schedule() -> None:
    search = Search([Trial(kills(4), "whole")], (), Trial(kills(1), "guess"))
    asked = carried_out(search, lambda _: ReproductionOutcome.SHOWN)
    assert [trial.text for trial in asked] == ["guess"] * 3
    assert search.best == kills(1)


def test_a_guess_that_does_not_costs_one_run() -> None:
    whole = kills(4)
    search = Search([Trial(whole, "whole")], (), Trial(kills(1), "guess"))
    asked = carried_out(
        search, lambda one: ReproductionOutcome.SHOWN if one == whole else ReproductionOutcome.MISSED
    )
    assert [trial.text for trial in asked] == ["guess", *["whole"] * 3]
    assert search.best == whole
