"""Every mutation of the recorded runs is judged as it must be, and the runs themselves are valid."""

from pathlib import Path

import pytest

from checkers.judge import judge
from checkers.verdict.verdict import Validity
from tests.mutations.families import Case, cases
from tests.mutations.page import render_mutations
from tests.mutations.recordings import RUNS, names, recorded, smallest
from tests.mutations.suite import VALID, is_named

RUNS_OF_EACH = 3
"""On how many recorded runs each mutation is tried, at one place; the other cases have the mark ``long``."""


def is_long(case: Case) -> bool:
    """Whether a case is left to ``make test-all``."""
    return case.place > 0 or case.run not in smallest(case.mutation.runs, RUNS_OF_EACH)


CASES = [
    pytest.param(case, id=case.id, marks=pytest.mark.long if is_long(case) else pytest.mark.slow)
    for case in cases()
]
FIRST_INVALID = {case.mutation.family: case for case in reversed(tuple(cases())) if case.mutation.must.names}
"""Of each family that has one, the first case whose verdict must be invalid."""


@pytest.mark.parametrize("name", names())
def test_a_recorded_run_is_valid_as_it_is(name: str) -> None:
    verdict = judge(recorded(name))
    assert (verdict.validity, verdict.reasons) == (Validity.VALID, ())


def test_the_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs/mutations.md"
    assert page.read_text() == render_mutations(), "python -m tests.mutations.page docs/mutations.md"


def test_recorded_runs_are_small() -> None:
    assert sum(path.stat().st_size for path in RUNS.iterdir()) <= 4_100_000


@pytest.mark.no_cover  # tracing takes longer than judging, and other tests reach every branch
@pytest.mark.parametrize("case", CASES)
def test_a_mutation_is_judged_as_it_must_be(case: Case) -> None:
    assert case.wrong() == ""


@pytest.mark.no_cover
@pytest.mark.parametrize("family", sorted(FIRST_INVALID))
def test_all_checkers_together_say_the_same_as_those_that_were_asked(family: str) -> None:
    case = FIRST_INVALID[family]
    assert is_named(case.mutation.must, case.history())
    assert case.wrong_by_all() == ""


def test_one_invalid_result_is_named_only_where_it_must_be() -> None:
    (invalid, *_), (valid, *_) = FIRST_INVALID.values(), names()
    assert not is_named(VALID, invalid.history())
    assert not is_named(invalid.mutation.must, recorded(valid))
