"""Every mutation of the recorded runs is judged as it must be, and the runs themselves are valid."""

from pathlib import Path

import pytest

from checkers.judge import judge
from checkers.verdict.verdict import Validity
from tests.mutations.families import Case, cases
from tests.mutations.page import render_mutations
from tests.mutations.recordings import RUNS, names, recorded

CASES = [pytest.param(case, id=case.id) for case in cases()]


@pytest.mark.parametrize("name", names())
def test_a_recorded_run_is_valid_as_it_is(name: str) -> None:
    verdict = judge(recorded(name))
    assert (verdict.validity, verdict.reasons) == (Validity.VALID, ())


def test_the_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs/mutations.md"
    assert page.read_text() == render_mutations(), "python -m tests.mutations.page docs/mutations.md"


def test_recorded_runs_are_small() -> None:
    assert sum(path.stat().st_size for path in RUNS.iterdir()) <= 4 * 10**6


@pytest.mark.no_cover  # tracing takes longer than judging, and other tests reach every branch
@pytest.mark.parametrize("case", CASES)
def test_a_mutation_is_judged_as_it_must_be(case: Case) -> None:
    assert case.wrong() == ""
