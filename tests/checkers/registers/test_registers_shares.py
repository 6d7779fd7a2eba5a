"""Judged in shares, registers give what they give together, byte for byte."""

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.history.operations import History
from checkers.registers import Judgeable, check_registers, judgeable, losing_of
from checkers.registers.parts import check_part, put_together, shares
from checkers.verdict.verdict import Validity
from tests.checkers.registers.register_histories import history_from
from tests.checkers.registers.register_simulator import Defects, Simulation

SEEDS = st.integers(0, 2**32)
DEFECTS = st.builds(Defects, st.booleans(), st.booleans(), st.booleans())


def same_in_shares(history: History) -> None:
    whole = check_registers(history)
    found = judgeable(history)
    if not isinstance(found, Judgeable):
        assert found == whole
        return
    milestones = found.overview.milestones
    for count in (1, 2, 3, 50):
        parts = [
            check_part(share, history.operations, milestones) for share in shares(found.registers, count)
        ]
        together = put_together(found.overview, parts, losing_of(history))
        assert msgspec.json.encode(together) == msgspec.json.encode(whole)


@settings(max_examples=30)
@given(SEEDS, st.integers(1, 9), st.integers(20, 300), DEFECTS)
def test_of_the_load_alone(seed: int, registers: int, steps: int, defects: Defects) -> None:
    same_in_shares(Simulation(seed, registers, steps, defects).history())


@settings(max_examples=30)
@given(SEEDS, st.integers(1, 9), st.integers(20, 300), DEFECTS, st.integers(0, 12))
def test_of_a_run_cut_anywhere(seed: int, registers: int, steps: int, defects: Defects, cut: int) -> None:
    operations = Simulation(seed, registers, steps, defects).run().operations
    same_in_shares(History("run", "", operations[: len(operations) - cut], ("a journal was cut short",)))


def test_of_more_anomalies_than_are_listed() -> None:
    stale = "".join(
        f"0 w k{n % 3} {2 * n}\n0 w k{n % 3} {2 * n + 1}\n1 r k{n % 3} {2 * n}\n" for n in range(90)
    )
    ghosts = "".join(f"1 r k{n % 5} {1000 + n}\n" for n in range(50))
    history = history_from(stale + ghosts)
    assert check_registers(history).counts == {"nonlinearizable": 90, "phantom": 50}
    same_in_shares(history)


def test_of_values_written_twice_and_swapped_registers() -> None:
    history = history_from("0 w a 1\n0 w b 1\n0 w b 1\n0 w c 2\n0 w c 2\n0 cas d 1 2\n0 w d 1")
    assert check_registers(history).validity is Validity.UNKNOWN
    same_in_shares(history)
    same_in_shares(history_from("0 w a 1\n0 cas b 1 2\n0 w b 1"))


def test_shares_are_about_equal_and_whole() -> None:
    found = judgeable(history_from("".join(f"0 w k{n % 10} {n}\n" for n in range(100))))
    assert isinstance(found, Judgeable)
    keys = [np.unique(share.rows.key).tolist() for share in shares(found.registers, 5)]
    assert keys == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
