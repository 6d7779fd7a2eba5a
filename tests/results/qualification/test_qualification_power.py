"""What could have been seen: against simulated candidates that are so much worse, and against brute force."""

import random

import pytest
from scipy import stats

from results.campaigns.summary import Outcome
from results.qualification.compared import ComparisonResult, Comparisons
from results.qualification.comparing import compare, finding_of
from results.qualification.inference import ALPHA, share_difference, shares_p, shift
from results.qualification.power import POWER, detectable_share, detectable_shift
from results.repeats.wilson import Interval
from tests.results.qualified import LOST, both

TESTS = 5
MARGIN_MS = 1_000
TRIALS = 200


def drawn(chance: random.Random, pairs: int, *, heavy: bool) -> list[float]:
    """Differences of pairs without any shift; heavy ones have outliers as real unavailability has."""
    wide = 3_000.0
    return [chance.gauss(0, wide * (4 if heavy and chance.random() < 0.1 else 1)) for _ in range(pairs)]


@pytest.mark.parametrize("heavy", [False, True], ids=["normal", "outliers"])
@pytest.mark.parametrize("pairs", [14, 30])
def test_a_shift_of_that_size_is_called_worse_about_four_times_in_five(pairs: int, *, heavy: bool) -> None:
    chance = random.Random(f"{pairs}{heavy}")
    shifts = [detectable_shift(drawn(chance, pairs, heavy=heavy), MARGIN_MS, TESTS) for _ in range(40)]
    usual = sorted(least for least in shifts if least is not None)[len(shifts) // 2]
    worse = sum(
        called_worse([each + usual for each in drawn(chance, pairs, heavy=heavy)]) for _ in range(TRIALS)
    )
    assert POWER - 0.13 < worse / TRIALS < POWER + 0.13


def called_worse(differences: list[float]) -> bool:
    seen = shift(differences)
    assert seen.interval is not None
    found = finding_of(seen.estimate, seen.interval, min(1.0, seen.p * TESTS), MARGIN_MS)
    return found is ComparisonResult.WORSE


def test_more_pairs_see_smaller_shifts_and_none_see_less_than_the_margin() -> None:
    chance = random.Random(3)
    many = drawn(chance, 60, heavy=False)
    few, more = (detectable_shift(many[:pairs], MARGIN_MS, TESTS) for pairs in (12, 60))
    assert few is not None
    assert more is not None
    assert MARGIN_MS < more < few
    assert detectable_shift([0.0] * 20, MARGIN_MS, TESTS) == MARGIN_MS


@pytest.mark.parametrize(
    ("pairs", "tests", "detectable"), [(6, 1, True), (6, 2, False), (7, 4, False), (8, 4, True)]
)
def test_with_too_few_pairs_for_the_correction_no_shift_is_detectable(
    pairs: int, tests: int, *, detectable: bool
) -> None:
    """Of n pairs that all agree p is 2 in 2 to the n, so 7 of them say nothing of 4 tests."""
    assert (2 / 2**pairs <= ALPHA / tests) is detectable
    assert (detectable_shift([1.0] * pairs, MARGIN_MS, tests) is not None) is detectable


@pytest.mark.parametrize(("of", "other", "of_other"), [(20, 0, 20), (40, 4, 38), (100, 1, 100)])
def test_a_share_of_that_size_is_reported_four_times_in_five(of: int, other: int, of_other: int) -> None:
    least = detectable_share(of, other, of_other, 0.05, TESTS)
    assert least is not None
    share = least + other / of_other
    reported = [
        count
        for count in range(of + 1)
        if shares_p(count, of, other, of_other) * TESTS < ALPHA
        and share_difference(count, of, other, of_other).low > 0
        and count / of - other / of_other > 0.05
    ]
    assert sum(stats.binom.pmf(count, of, share) for count in reported) == pytest.approx(POWER)


def test_with_too_few_runs_no_share_is_detectable() -> None:
    assert detectable_share(3, 0, 3, 0.05, 1) is None
    assert detectable_share(0, 0, 3, 0.05, 1) is None
    assert detectable_share(3, 0, 0, 0.05, 1) is None
    assert detectable_share(5, 5, 5, 0.05, 1) is None


def test_a_comparison_that_could_say_nothing_is_blind_and_is_not_counted() -> None:
    seven = compare(both(*range(7)))
    assert {one.finding for one in seven.durations} == {ComparisonResult.BLIND}
    assert {one.finding for one in seven.shares} == {ComparisonResult.NO_DIFFERENCE}
    assert (seven.tests(), seven.tried(), len(seven.blind())) == (4, 1, 3)
    assert all(one.detectable_ms is None for one in seven.durations)


@pytest.mark.parametrize(
    ("runs", "finding"), [(2, ComparisonResult.BLIND), (20, ComparisonResult.NO_DIFFERENCE)]
)
def test_what_happened_in_all_runs_of_the_baseline_can_be_no_worse(
    runs: int, finding: ComparisonResult
) -> None:
    """More runs than all don't exist: that nothing worse was seen is then no matter of too few runs."""
    lost = both(*range(runs), outcome=Outcome.INVALID, found=[LOST])
    (share,) = (one for one in compare(lost).shares if one.name == LOST.id)
    assert (share.baseline, share.detectable, share.finding) == (runs, None, finding)


def test_only_small_enough_differences_count_as_seen() -> None:
    assert compare(both(*range(200))).weak() == ()
    (weak,) = compare(both(*range(30))).weak()
    assert weak.startswith("no recovery in time (≥ ")
    assert weak.endswith(" percentage points)")
    assert Comparisons().weak() == ()


def test_an_interval_of_a_stricter_level_is_wider() -> None:
    figures = [float(each) for each in range(-5, 9)]
    usual, strict = shift(figures).interval, shift(figures, ALPHA / TESTS).interval
    assert isinstance(usual, Interval)
    assert strict is not None
    assert strict.low < usual.low < usual.high < strict.high
