"""The statistics, against values that were published and against counting every possibility."""

import itertools

import pytest

from results.qualification.inference import (
    ALPHA,
    holm,
    pairs_needed,
    share_difference,
    share_interval,
    shares_p,
    shift,
)
from results.repeats.wilson import LEVEL, Interval


def near(interval: Interval | None, low: float, high: float) -> bool:
    return interval is not None and interval == pytest.approx((low, high), abs=5e-4)


def test_intervals_and_tests_are_of_one_level() -> None:
    assert LEVEL == 1 - ALPHA


def test_the_interval_of_a_share_is_clopper_and_pearsons() -> None:
    assert near(share_interval(3, 10), 0.0667, 0.6525)
    assert near(share_interval(0, 10), 0.0, 0.3085)
    assert near(share_interval(10, 10), 0.6915, 1.0)
    assert share_interval(0, 0) == (0.0, 1.0)


def test_the_interval_of_a_difference_is_newcombes() -> None:
    """Newcombe 1998, table II: 56 of 70 less 48 of 80, method 10."""
    assert near(share_difference(56, 70, 48, 80), 0.0524, 0.3339)
    assert share_difference(0, 0, 3, 4) == (-1.0, 1.0)


def test_shares_are_compared_by_fishers_exact_test() -> None:
    assert shares_p(3, 4, 1, 4) == pytest.approx(0.485714, abs=1e-6)
    assert shares_p(10, 10, 0, 10) == pytest.approx(2 / 184_756)
    assert shares_p(0, 0, 1, 4) == 1.0


def test_signed_ranks_of_a_published_example() -> None:
    """Hollander and Wolfe 1973, depression scores of nine patients: p, estimate and interval."""
    before = (1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30)
    after = (0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29)
    seen = shift([a - b for a, b in zip(before, after, strict=True)])
    assert seen.p == pytest.approx(0.0390625)
    assert seen.estimate == pytest.approx(0.46, abs=0.005)
    assert near(seen.interval, 0.010, 0.786)


@pytest.mark.parametrize(
    "figures", [(1, 1, 2, -2, 3), (5, 5, 5, 5, 5, 5, 5), (-1, 2, 2, -3, 0, 4, 4), (7,), (1, -1)]
)
def test_signed_ranks_with_ties_are_counted_out(figures: tuple[int, ...]) -> None:
    differences = [figure for figure in figures if figure]
    sizes = sorted(map(abs, differences))
    ranks = [sum(i for i, s in enumerate(sizes, 1) if s == abs(f)) / sizes.count(abs(f)) for f in differences]
    observed = sum(rank for rank, figure in zip(ranks, differences, strict=True) if figure > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((False, True), repeat=len(differences))
    ]
    tail = min(sum(s <= observed for s in sums), sum(s >= observed for s in sums)) / len(sums)
    assert shift(figures).p == pytest.approx(min(1.0, 2 * tail))


def test_pairs_without_any_difference_say_nothing() -> None:
    assert shift([0.0] * 8) == (0.0, (0.0, 0.0), 1.0)


def test_six_pairs_are_the_fewest_that_can_speak() -> None:
    assert pairs_needed() == 6
    assert shift([1, 2, 3, 4, 5]).interval is None
    assert shift([1, 2, 3, 4, 5]).p > 0.05
    assert shift([1, 2, 3, 4, 5, 6]).interval == (1, 6)
    assert shift([1, 2, 3, 4, 5, 6]).p == pytest.approx(2 / 64)


def test_interval_and_test_agree() -> None:
    """The interval leaves 0 out exactly where p is below 0.05, for untied differences."""
    for signs in itertools.product((-1, 1), repeat=7):
        seen = shift([sign * size for sign, size in zip(signs, range(1, 8), strict=True)])
        assert seen.interval is not None
        assert (seen.interval.low > 0 or seen.interval.high < 0) == (seen.p < 0.05), signs


def test_holm_corrects_in_the_order_given() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.9, 0.6]) == (1.0, 1.0)
    assert holm([]) == ()
