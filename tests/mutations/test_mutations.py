"""Every mutation of the recorded runs is judged as it must be, and the runs themselves are valid."""

import pytest

from checkers.judge import judge
from checkers.verdict import Validity
from tests.mutations.families import Case, cases
from tests.mutations.recordings import RUNS, names, recorded

CASES = [
    pytest.param(
        case,
        id=case.id,
        marks=[pytest.mark.xfail(reason=f"waits for rules ({case.mutation.owner})", strict=False)]
        if case.mutation.owner
        else [],
    )
    for case in cases()
]


@pytest.mark.parametrize("name", names())
def test_a_recorded_run_is_valid_as_it_is(name: str) -> None:
    verdict = judge(recorded(name))
    assert (verdict.validity, verdict.reasons) == (Validity.VALID, ())


def test_recorded_runs_are_small() -> None:
    assert sum(path.stat().st_size for path in RUNS.iterdir()) <= 3 * 10**6


@pytest.mark.parametrize("case", CASES)
def test_a_mutation_is_judged_as_it_must_be(case: Case) -> None:
    assert case.wrong() == ""
