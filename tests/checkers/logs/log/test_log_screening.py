"""Screening changes nothing: whatever it clears would have been found clean one by one, figures included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.columns.tables import PartitionName
from checkers.evidence.loading import columns_of
from checkers.history.operations import History
from checkers.licences import licences_of
from checkers.logs.log import check_columns, screening
from checkers.logs.log.partition import split
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.log_histories import TOPIC, history_of
from tests.checkers.logs.log.log_simulator import Simulation
from tests.checkers.logs.log.log_transactions import DEFECTS, TransactionalSimulation
from tests.checkers.logs.log.test_log_properties import tiny_texts

QUICK = settings(max_examples=60)


def judged(history: History, small: int, block: int) -> CheckerResult:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(screening, "SMALL", small)
        patched.setattr(screening, "BLOCK", block)
        return check_columns(columns_of(history), licences_of(history))


def same_without(history: History) -> None:
    one_by_one = judged(history, small=-1, block=10)
    assert judged(history, small=64, block=10**6) == one_by_one
    assert judged(history, small=64, block=8) == one_by_one
    assert judged(history, small=9, block=8) == one_by_one


@pytest.mark.slow
@settings(QUICK, max_examples=200)
@given(tiny_texts(), st.sampled_from(["", "foreign\n"]))
def test_of_whatever_history(text: str, prefix: str) -> None:
    same_without(history_of(prefix + text))


@QUICK
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(0, 120), st.integers(0, 40))
def test_of_a_correct_log_cut_anywhere(seed: int, partitions: int, steps: int, cut: int) -> None:
    history = Simulation(seed, partitions, steps).history()
    same_without(history)
    kept = history.operations[: len(history.operations) - cut]
    same_without(History("run", "", kept))
    same_without(History("run", "", kept[1:]))


@QUICK
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([None, *DEFECTS]))
def test_of_transactions_with_any_defect(seed: int, partitions: int, defect: str | None) -> None:
    same_without(TransactionalSimulation(seed, partitions, 60, defect).history())


def test_most_of_a_correct_log_is_cleared() -> None:
    rows = split(columns_of(Simulation(7, partitions=20, steps=60).history()))
    assert screening.screened(rows).judged.sum() == 0


def test_one_bad_partition_among_many_is_found() -> None:
    lines = "".join(f"p{n % 9} send {n}@0={n + 1}\na final {n} 0..1 {n}@0={n + 1}\n" for n in range(200))
    bad = lines.replace("a final 77 0..1 77@0=78", "a final 77 0..1")
    history = history_of("setup partitions=200\n" + bad)
    assert np.flatnonzero(screening.screened(split(columns_of(history))).judged).tolist() == [77]
    result = check_columns(columns_of(history), licences_of(history))
    assert result.validity is Validity.INVALID
    assert [anomaly.subject for anomaly in result.anomalies] == [f"{PartitionName(TOPIC, 77)}@0"]
