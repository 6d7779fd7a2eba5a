"""The search of a minimisation against simulated bugs, certain and flaky ones: no cluster, no files."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.campaigns.minimising.evidence import (
    ERROR,
    LEVELS,
    RUNS_MAX,
    Evidence,
    RateTest,
    ReproductionOutcome,
)
from harness.campaigns.minimising.passes import PHASES, planned_of
from harness.campaigns.minimising.pieces import pieces_of
from harness.campaigns.minimising.search import Search, Trial
from harness.campaigns.minimising.subsets import needed
from harness.plan.catalogue import load_scenario
from harness.plan.digest import digest_of
from harness.plan.planning import RunOptions, plan_run
from harness.vocabulary import FixedSchedule, Kill, LogWorkload, Mode, Pause, Scenario, Step, Topology
from harness.vocabulary.faults import Fault

Answer = Callable[[Scenario], ReproductionOutcome]
CHAOS = RunOptions(scenario="exploratory/chaos", seed=3)


def carried_out(search: Search, answer: Answer) -> list[Trial]:
    """Every run that a search asks for, each answered."""
    asking, asked = search.runs_needed(), []
    try:
        trial = next(asking)
        while True:
            asked.append(trial)
            trial = asking.send(answer(trial.scenario))
    except StopIteration:
        return asked


def searched(scenario: Scenario, answer: Answer) -> tuple[Search, list[Trial]]:
    search = Search([Trial(scenario, "the whole schedule")], PHASES)
    return search, carried_out(search, answer)


def subset_of(pieces: tuple[int, ...], enough: set[int]) -> tuple[int, ...]:
    """What delta debugging leaves of pieces, if some are needed."""
    asking = needed(pieces)
    try:
        asked = next(asking)
        while True:
            asked = asking.send(enough <= set(asked))
    except StopIteration as end:
        left: tuple[int, ...] = end.value
        return left


@given(count=st.integers(1, 40), data=st.data())
def test_exactly_the_pieces_that_are_needed_are_left(count: int, data: st.DataObject) -> None:
    pieces = tuple(range(count))
    enough = data.draw(st.sets(st.sampled_from(pieces), min_size=1))
    assert subset_of(pieces, enough) == tuple(sorted(enough))


def test_nothing_is_asked_of_a_single_piece() -> None:
    assert subset_of((5,), {5}) == (5,)
    assert subset_of((), set()) == ()


def wrongly(level: RateTest, rate: float, *, wrong: bool, times: int) -> float:
    """How often a test of a level decides wrongly, of a bug that comes back at that rate."""
    source = random.Random(f"{level} {rate}")
    decided = []
    for _ in range(times):
        evidence = Evidence()
        while (decision := evidence.decision(level)) is None:
            evidence.add(ReproductionOutcome.SHOWN if source.random() < rate else ReproductionOutcome.MISSED)
        decided.append(decision)
    return decided.count(wrong) / times


@pytest.mark.parametrize("level", LEVELS)
def test_a_test_is_wrong_as_seldom_as_it_says(level: RateTest) -> None:
    # What cutting tests off at some number of runs adds to the share of Wald's bounds is small.
    assert wrongly(level, level.low, wrong=True, times=2_000) <= ERROR + 0.05
    assert wrongly(level, level.high, wrong=False, times=2_000) <= ERROR + 0.05
    assert "wrong at most 20%" in level.text()


def test_runs_that_decide_nothing_end_a_test() -> None:
    evidence = Evidence()
    assert evidence.decision(LEVELS[0]) is None
    evidence.add(ReproductionOutcome.UNDECIDED)
    assert evidence.decision(LEVELS[0]) is None
    evidence.add(ReproductionOutcome.UNDECIDED)
    assert evidence.decision(LEVELS[0]) is False


@given(st.lists(st.booleans(), min_size=RUNS_MAX, max_size=RUNS_MAX), st.sampled_from(LEVELS))
def test_no_candidate_is_run_for_ever(shown: list[bool], level: RateTest) -> None:
    evidence = Evidence()
    for each in shown:
        evidence.add(ReproductionOutcome.SHOWN if each else ReproductionOutcome.MISSED)
    assert evidence.decision(level) is not None


def kills(count: int, held_ms: int = 8_000) -> Scenario:
    faults: list[Fault] = [Kill(draw=number) for number in range(count)]
    steps = tuple(Step(4_000 + 15_000 * place, held_ms, fault) for place, fault in enumerate(faults))
    return Scenario(
        "Kills.",
        "It kills.",
        FixedSchedule(steps, 15_000 * count + 10_000, blinks=(Step(5_000, 300, Pause()),)),
        topology=Topology(mode=Mode.ISOLATED, controllers=5, brokers=5),
        keeps_draws=True,
    )


def draws_of(scenario: Scenario) -> set[int]:
    assert isinstance(scenario.schedule, FixedSchedule)
    return {step.fault.draw for step in scenario.schedule.steps}


@settings(deadline=None, max_examples=25)
@given(count=st.integers(1, 12), data=st.data())
def test_a_bug_that_always_shows_is_left_with_what_it_takes(count: int, data: st.DataObject) -> None:
    enough = data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=3))
    search, asked = searched(
        kills(count),
        lambda one: ReproductionOutcome.SHOWN if enough <= draws_of(one) else ReproductionOutcome.MISSED,
    )
    best = search.best
    assert best is not None
    assert isinstance(best.schedule, FixedSchedule)
    assert draws_of(best) == enough
    assert best.schedule.blinks == ()
    assert {step.hold_ms for step in best.schedule.steps} == {5_000}
    assert best.schedule.duration_ms == 3_000 + 7_000 * len(enough) - 2_000 + 6_000
    assert (best.topology.controllers, best.topology.brokers) == (1, 3)
    assert isinstance(best.workload, LogWorkload)
    assert (best.workload.partitions, best.workload.producers, best.workload.consumers) == (1, 1, 1)
    assert asked[-1].scenario != kills(count)
    assert search.level == LEVELS[0]


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), rate=st.floats(0.3, 1.0))
def test_a_flaky_bug_never_loses_what_it_takes(seed: int, rate: float) -> None:
    source = random.Random(seed)

    def answer(one: Scenario) -> ReproductionOutcome:
        shown = {2, 5} <= draws_of(one) and source.random() < rate
        return ReproductionOutcome.SHOWN if shown else ReproductionOutcome.MISSED

    search, _asked = searched(kills(8), answer)
    assert search.best is None or {2, 5} <= draws_of(search.best)


def test_a_flaky_bug_is_held_to_what_the_whole_schedule_reaches() -> None:
    levels = []
    for seed in range(20):
        source = random.Random(seed)

        def answer(one: Scenario, source: random.Random = source) -> ReproductionOutcome:
            return (
                ReproductionOutcome.SHOWN
                if {3} <= draws_of(one) and source.random() < 0.4
                else ReproductionOutcome.MISSED
            )

        search, asked = searched(kills(5), answer)
        levels.append(search.level)
        assert len(asked) < 200
        if search.level == LEVELS[1] and search.best is not None:
            assert len(draws_of(search.best)) < 5
    assert levels.count(LEVELS[0]) <= 6
    assert LEVELS[1] in levels


def test_a_bug_that_never_comes_back_is_given_up_and_the_next_start_is_tried() -> None:
    others = replace(kills(2), summary="At the same nodes.")
    search = Search([Trial(kills(2), "roles"), Trial(others, "nodes")], PHASES)
    asked = carried_out(search, lambda _: ReproductionOutcome.MISSED)
    assert search.best is None
    assert {trial.text for trial in asked} == {"roles", "nodes"}

    search = Search([Trial(kills(2), "roles"), Trial(others, "nodes")], PHASES)
    carried_out(
        search, lambda one: ReproductionOutcome.SHOWN if one == others else ReproductionOutcome.MISSED
    )
    assert search.best == others


def test_a_bug_without_any_fault_is_left_without_any() -> None:
    search, _asked = searched(kills(3), lambda _: ReproductionOutcome.SHOWN)
    assert search.best is not None
    assert isinstance(search.best.schedule, FixedSchedule)
    assert search.best.schedule.steps == ()
    assert search.kept[0] == "no fault at all"


def test_a_candidate_is_not_tested_before_its_phase_ends() -> None:
    search = Search([Trial(kills(3), "the whole schedule")], PHASES)
    asking = search.runs_needed()
    trial = next(asking)
    tested = [search.tested]
    while trial.scenario == kills(3):
        trial = asking.send(ReproductionOutcome.SHOWN)
    tested.append(search.tested)
    smaller = trial.scenario
    trial = asking.send(ReproductionOutcome.SHOWN)
    assert search.best == smaller
    tested.append(search.tested)
    while trial.scenario == search.best or not search.tested:
        trial = asking.send(ReproductionOutcome.SHOWN)
    tested.append(search.tested)
    assert tested == [False, True, False, True]


def test_the_same_outcomes_lead_to_the_same_questions() -> None:
    def tried_keys(seed: int) -> list[str]:
        source = random.Random(seed)
        outcomes = [
            ReproductionOutcome.SHOWN,
            ReproductionOutcome.SHOWN,
            ReproductionOutcome.MISSED,
            ReproductionOutcome.UNDECIDED,
        ]
        _search, trials = searched(kills(5), lambda _: source.choice(outcomes))
        return [digest_of(trial.scenario) for trial in trials]

    assert tried_keys(1) == tried_keys(1)
    assert tried_keys(1) != tried_keys(8)


@pytest.mark.parametrize(
    "name", ["exploratory/chaos", "exploratory/gambits", "kips/kip-853-grow", "smoke/partition"]
)
def test_every_candidate_of_real_schedules_can_be_run(name: str) -> None:
    plan = plan_run(RunOptions(scenario=name, seed=3))
    whole = replace(plan.scenario, schedule=plan.schedule, keeps_draws=True)
    source = random.Random(name)

    def answer(one: Scenario) -> ReproductionOutcome:
        """The whole schedule shows it, and of what is smaller, but has a piece, nine in ten."""
        shown = one == whole or (bool(pieces_of(planned_of(one))) and source.random() < 0.9)
        return ReproductionOutcome.SHOWN if shown else ReproductionOutcome.MISSED

    search, asked = searched(whole, answer)
    assert search.best is not None
    assert len(search.kept) > 2
    for trial in asked:
        assert not trial.scenario.topology.problems()
    assert load_scenario(name) != search.best
