"""Wilson's interval, against published figures and by its definition."""

import math

import pytest

from results.repeats.wilson import LEVEL, Z, wilson


def test_the_level_is_what_everybody_looks_up() -> None:
    assert LEVEL == 0.95
    assert pytest.approx(1.959963984540054) == Z


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        (3, 5, 0.2307, 0.8824),
        (1, 10, 0.0179, 0.4042),
        (5, 10, 0.2366, 0.7634),
        (1, 1, 0.2065, 1.0),
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_figures(count: int, of: int, low: float, high: float) -> None:
    """The last three are those of Newcombe 1998, table I, method 3."""
    assert wilson(count, of) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("of", [1, 2, 10, 20, 1_000_000])
def test_nothing_and_everything_reach_to_the_end_and_mirror_each_other(of: int) -> None:
    nothing, everything = wilson(0, of), wilson(of, of)
    assert (nothing.low, everything.high) == (0.0, 1.0)
    assert nothing.high == pytest.approx(Z**2 / (of + Z**2))
    assert everything.low == pytest.approx(1 - nothing.high)


def test_of_none_anything_is_possible() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("count", "of"), [(1, 4), (2, 4), (37, 90)])
def test_an_end_is_a_share_from_which_the_count_is_as_far_as_the_level_permits(count: int, of: int) -> None:
    """The score test turned round: |count/of - end| is Z standard errors of the end."""
    for end in wilson(count, of):
        assert abs(count / of - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / of))


@pytest.mark.parametrize(("count", "of"), [(2, 1), (-1, 3), (1, 0)])
def test_what_is_no_share_is_refused(count: int, of: int) -> None:
    with pytest.raises(ValueError, match=f"{count} of {of} is not a share"):
        wilson(count, of)
