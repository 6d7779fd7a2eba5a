"""Numbers of anomalies by place: exact, divided where they are far from each other."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checkers.verdict.places import AnomalyPlace, place_of
from checkers.verdict.tallies import NEAR_NS, PIECES_MAX, AnomalyTally, tallied
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly, result_of


def of(times_ns: list[int], offsets: list[int]) -> list[AnomalyTally]:
    times, places = np.array(times_ns, dtype=np.int64), np.array(offsets, dtype=np.int64)
    return list(tallied("a", "log-0/3", times, places, illegal=True))


def test_what_is_far_apart_is_counted_apart() -> None:
    assert of([5, 4, 3], [2_000, 7, 8]) == [
        AnomalyTally(id="a", place="log-0/3", count=2, first_ns=3, last_ns=4, first_offset=7, last_offset=8),
        AnomalyTally(
            id="a", place="log-0/3", count=1, first_ns=5, last_ns=5, first_offset=2_000, last_offset=2_000
        ),
    ]


def test_without_all_offsets_time_divides() -> None:
    near, far = of([0, NEAR_NS, 3 * NEAR_NS], [5, -1, -1])
    assert (near.count, near.first_offset, near.last_offset) == (2, 5, 5)
    assert (far.count, far.first_offset) == (1, None)
    assert of([-1], [-1]) == [AnomalyTally(id="a", place="log-0/3", count=1)]


def test_their_number_is_bounded_and_nothing_is_nothing() -> None:
    offsets = [1_000 * n for n in range(PIECES_MAX + 1)]
    assert [one.count for one in of([0] * len(offsets), offsets)] == [len(offsets)]
    assert of([], []) == []


@given(st.lists(st.tuples(st.integers(-1, 10**12), st.integers(-1, 5_000)), max_size=60))
def test_each_is_counted_once(rows: list[tuple[int, int]]) -> None:
    assert sum(one.count for one in of([row[0] for row in rows], [row[1] for row in rows])) == len(rows)


def test_a_result_tallies_only_what_it_does_not_list() -> None:
    many = [Anomaly("a", "", "", "", subject=f"log-0/3@{n}") for n in range(EXAMPLES_PER_ANOMALY + 1)]
    few = [Anomaly("b", "", "", "", subject="log-0/3@1")]
    (tally,) = result_of("log", [*many, *few]).tallies
    assert (tally.id, tally.count, tally.last_offset) == ("a", len(many), EXAMPLES_PER_ANOMALY)
    assert tally.first_ns is None
    assert not result_of("log", few).tallies


def test_places_of_subjects() -> None:
    assert place_of("log-0/3@1042", "log") == AnomalyPlace("log-0/3", 1042)
    assert place_of("log-0/3@?", "log") == AnomalyPlace("log-0/3")
    assert place_of("c1, epoch 7", "quorum") == AnomalyPlace("quorum", None, 7)
    assert place_of("epoch 7, at the end", "quorum") == AnomalyPlace("quorum", None, 7)
    assert place_of("group-0 generation -1", "groups") == AnomalyPlace("group-0", None, -1)
    assert place_of("n1", "nodes") == AnomalyPlace("n1")
    assert place_of(None, "nodes") == place_of("  ", "nodes") == AnomalyPlace("nodes")
    assert place_of("a@" + "9" * 400, "log").offset is None
