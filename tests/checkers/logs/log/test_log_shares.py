"""Judged in shares, a log gives what it gives as a whole, byte for byte."""

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkers.evidence.loading import columns_of
from checkers.history.operations import History
from checkers.licences import licences_of
from checkers.logs.log import check_columns, check_part, put_together, screening
from checkers.logs.log.figures import overview_of
from checkers.logs.log.log_shares import shares
from checkers.logs.log.refused_batches import disks_of
from tests.checkers.log_histories import history_of
from tests.checkers.logs.log.log_simulator import Simulation
from tests.checkers.logs.log.log_transactions import DEFECTS, TransactionalSimulation
from tests.checkers.logs.log.test_log_properties import tiny_texts

FEW = settings(max_examples=30)


def same_in_shares(history: History) -> None:
    columns, licences = columns_of(history), licences_of(history)
    with pytest.MonkeyPatch.context() as patched:
        for small in (-1, 64):
            patched.setattr(screening, "SMALL", small)
            whole = check_columns(columns, licences, history.damage, lambda: disks_of(history))
            for count in (1, 2, 3, 50):
                parts = [
                    check_part(share, licences, lambda: disks_of(history)) for share in shares(columns, count)
                ]
                together = put_together(overview_of(columns, history.damage), parts)
                assert msgspec.json.encode(together) == msgspec.json.encode(whole)


@FEW
@given(tiny_texts(), st.sampled_from(["", "foreign\n"]))
@example("r9 poll 0@0=2\np0 > 0=2\np0 < 0@1=2", "")  # a duplicate, whose cause is looked for on the disks
def test_of_whatever_history(text: str, prefix: str) -> None:
    same_in_shares(history_of(prefix + text))


@FEW
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(0, 120), st.integers(0, 40))
def test_of_a_correct_log_cut_anywhere(seed: int, partitions: int, steps: int, cut: int) -> None:
    operations = Simulation(seed, partitions, steps).history().operations
    same_in_shares(History("run", "", operations[: len(operations) - cut], ("a journal was cut short",)))


@FEW
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([None, *DEFECTS]))
def test_of_transactions_with_any_defect(seed: int, partitions: int, defect: str | None) -> None:
    same_in_shares(TransactionalSimulation(seed, partitions, 60, defect).history())


def test_of_more_anomalies_than_are_listed() -> None:
    """Forty losses at forty times, and as many unseen records, in turns over three partitions."""
    lost = "".join(f"p{n} send {n % 3}@{n // 3}={n}\n" for n in range(42))
    finals = "a final 0 0..14\na final 1 0..14\n"
    same_in_shares(history_of("setup partitions=3\n" + lost + finals))
    same_in_shares(history_of("setup partitions=3\n" + lost))


def test_of_a_history_without_a_record() -> None:
    (share,) = shares(columns_of(History("run", "", ())), 7)
    assert share.partitions == ()
    same_in_shares(History("run", "", ()))


def test_a_heavy_partition_is_a_share_of_its_own() -> None:
    sends = "".join(f"p{n} send {2 if n % 4 else n % 5}@{n}={n}\n" for n in range(200))
    columns = columns_of(history_of("setup partitions=5\n" + sends))
    of_shares = [np.unique(share.sends.partition).tolist() for share in shares(columns, 4)]
    assert [2] in of_shares
    assert [code for codes in of_shares for code in codes] == [0, 1, 2, 3, 4]


def test_shares_are_about_equal() -> None:
    sends = "".join(f"p{n} send {n % 20}@{n // 20}={n}\n" for n in range(400))
    columns = columns_of(history_of("setup partitions=20\n" + sends))
    assert [len(share.sends.value) for share in shares(columns, 4)] == [100, 100, 100, 100]
    assert [len(share.sends.value) for share in shares(columns, 3)] == [140, 140, 120]
