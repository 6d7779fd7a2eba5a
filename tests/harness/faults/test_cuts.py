"""Partition patterns cut exactly the pairs that their names promise."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.faults.cuts import cuts, drawn_to, linked
from harness.vocabulary import Pattern

THREE = ("a", "b", "c")
FIVE = ("a", "b", "c", "d", "e")
BOTH_WAYS = (Pattern.ISOLATE_ONE, Pattern.HALVES, Pattern.MAJORITY_RING, Pattern.BRIDGE, Pattern.LINK)


def both(*pairs: tuple[str, str]) -> set[tuple[str, str]]:
    return {way for a, b in pairs for way in ((a, b), (b, a))}


def test_isolate_one_cuts_the_target_from_everyone() -> None:
    assert set(cuts(Pattern.ISOLATE_ONE, THREE, "b", 0)) == both(("b", "a"), ("b", "c"))


def test_halves_put_the_target_in_the_smaller_half() -> None:
    assert set(cuts(Pattern.HALVES, FIVE, "a", 0)) == both(
        ("a", "c"), ("a", "d"), ("a", "e"), ("b", "c"), ("b", "d"), ("b", "e")
    )


def test_halves_of_two_nodes_cut_their_link() -> None:
    assert set(cuts(Pattern.HALVES, ("a", "b"), "b", 3)) == both(("a", "b"))


def test_a_bridge_sees_both_halves() -> None:
    assert set(cuts(Pattern.BRIDGE, FIVE, "c", 0)) == both(("a", "d"), ("a", "e"), ("b", "d"), ("b", "e"))


@pytest.mark.parametrize(("draw", "other"), [(0, "a"), (1, "c"), (2, "d"), (3, "e"), (4, "a")])
def test_a_link_is_between_the_target_and_one_other(draw: int, other: str) -> None:
    assert set(cuts(Pattern.LINK, FIVE, "b", draw)) == both(("b", other))


@pytest.mark.parametrize(
    ("draw", "taken", "other"),
    [(1, "", "c"), (1, "c", "d"), (1, "cde", "a"), (7, "", "e"), (7, "ae", "c"), (0, "acde", None)],
)
def test_a_link_may_be_cut_to_the_next_one_that_is_free(draw: int, taken: str, other: str | None) -> None:
    found = linked(FIVE, "b", draw, frozenset(taken))
    assert (None if found is None else set(cuts(Pattern.LINK, FIVE, "b", found))) == (
        None if other is None else both(("b", other))
    )


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 10])
def test_on_a_majority_ring_everyone_sees_a_majority(size: int) -> None:
    names = tuple(f"n{i}" for i in range(size))
    cut = set(cuts(Pattern.MAJORITY_RING, names, "n0", 1))

    sights = [frozenset(b for b in names if (a, b) not in cut) for a in names]
    assert cut
    assert all(len(sight) > size / 2 for sight in sights)


def test_on_a_ring_of_five_no_two_see_the_same_majority() -> None:
    cut = set(cuts(Pattern.MAJORITY_RING, FIVE, "a", 2))

    sights = [frozenset(b for b in FIVE if (a, b) not in cut) for a in FIVE]
    assert all(a != b for a, b in combinations(sights, 2))


@pytest.mark.parametrize("pattern", [Pattern.ONE_WAY_PACKETS, Pattern.ONE_WAY_CALLS])
def test_one_way_cuts_only_what_the_target_sends(pattern: Pattern) -> None:
    assert set(cuts(pattern, THREE, "a", 0)) == {("a", "b"), ("a", "c")}
    assert set(cuts(pattern, THREE, "a", 0, inward=True)) == {("b", "a"), ("c", "a")}


@pytest.mark.parametrize("pattern", BOTH_WAYS)
def test_a_cut_both_ways_is_the_same_inward(pattern: Pattern) -> None:
    assert cuts(pattern, FIVE, "a", 1, inward=True) == cuts(pattern, FIVE, "a", 1)


@given(st.sampled_from(list(Pattern)), st.integers(2, 10), st.integers(0, 1 << 16), st.data())
def test_no_node_is_cut_from_itself_and_two_way_patterns_are_symmetric(
    pattern: Pattern, size: int, draw: int, data: st.DataObject
) -> None:
    names = tuple(f"n{i}" for i in range(size))
    target = data.draw(st.sampled_from(names))
    cut = cuts(pattern, names, target, draw)

    assert cut == tuple(sorted(set(cut)))
    assert all(a != b for a, b in cut)
    if pattern in BOTH_WAYS:
        assert {(b, a) for a, b in cut} == set(cut)


def test_a_one_way_link_is_cut_in_one_direction_alone() -> None:
    assert cuts(Pattern.ONE_WAY_LINK, FIVE, "b", 2) == (("b", "d"),)
    assert cuts(Pattern.ONE_WAY_LINK, FIVE, "b", 2, inward=True) == (("d", "b"),)


@pytest.mark.parametrize(("target", "end"), [("a", "b"), ("b", "a"), ("e", "d"), ("c", "e")])
def test_a_link_can_be_cut_between_two_named_nodes(target: str, end: str) -> None:
    assert set(cuts(Pattern.LINK, FIVE, target, drawn_to(FIVE, target, end))) == both((target, end))


@pytest.mark.parametrize("end", ["a", "f"])
def test_there_is_no_link_to_oneself_or_to_a_stranger(end: str) -> None:
    with pytest.raises(LookupError, match=f"there is no link from a to {end}"):
        drawn_to(FIVE, "a", end)
