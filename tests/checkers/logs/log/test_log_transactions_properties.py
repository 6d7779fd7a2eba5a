"""Logs with transactions, simulated: correct ones are valid, each known defect is found and named."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.logs.log import check_log
from checkers.verdict.verdict import Validity
from tests.checkers.log_histories import history_of
from tests.checkers.logs.log.log_transactions import DEFECTS, TransactionalSimulation
from tests.checkers.logs.log.log_transactions_oracle import Oracle

SEEDS = st.integers(0, 2**32)


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 3), st.integers(0, 90))
def test_a_correct_log_is_valid(seed: int, partitions: int, steps: int) -> None:
    result = check_log(TransactionalSimulation(seed, partitions, steps).history())
    assert result.counts == {}
    assert result.validity in {Validity.VALID, Validity.NOT_EXERCISED}


@pytest.mark.parametrize("defect", DEFECTS)
@settings(max_examples=20)
@given(seed=SEEDS)
def test_a_defect_is_named_for_what_it_is(defect: str, seed: int) -> None:
    result = check_log(TransactionalSimulation(seed, 2, 60, defect).history())
    assert set(result.counts) <= DEFECTS[defect]
    assert result.validity is (Validity.INVALID if result.counts else Validity.VALID)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found(defect: str) -> None:
    found = [check_log(TransactionalSimulation(seed, 2, 80, defect).history()) for seed in range(20)]
    assert sum(result.validity is Validity.INVALID for result in found) >= 15


PLACES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=3, unique_by=lambda place: place[0]
)


@st.composite
def tiny_texts(draw: st.DrawFn) -> str:
    """Whatever writers and readers say, true or not; every attempt has a value of its own."""
    lines = []
    fates = draw(st.lists(st.sampled_from(["commit", "abort", "doubt", "begin", "send"]), max_size=4))
    for value, fate in enumerate(fates, 1):
        place = draw(st.sampled_from(["0", "1", "2", "3", "-"]))
        if fate == "begin":
            lines.append(f"p{value} begin 0={value}")
        elif fate == "send":
            outcome = draw(st.sampled_from([place, "x", "?"]))
            lines.append(f"p{value} send 0@{'?' if outcome == '-' else outcome}={value}")
        else:
            at = "0" if (fate, place) == ("commit", "-") else place
            lines.append(f"p{value} txn {fate} 0@{at}={value}")
    for _ in range(draw(st.integers(0, 4))):
        records = " ".join(f"0@{offset}={value}" for offset, value in draw(PLACES))
        kind = draw(st.sampled_from(["r8 poll", "r9 committed", "a final", "b final", "c final", "d final"]))
        end, position = draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
        lines.append(f"{kind} 0 0..{end}:{position} {records}" if "final" in kind else f"{kind} {records}")
    return "\n".join(draw(st.permutations(lines)))


@settings(max_examples=300)
@given(tiny_texts())
def test_the_oracle_agrees(text: str) -> None:
    history = history_of(text)
    found = check_log(history).counts
    compared = ("G1a", "lost-write", "client-disagreement")
    assert {name: found[name] for name in compared if name in found} == Oracle(history).expected()
