"""What holds of every log of a group: a correct coordinator causes no finding, each defect is found."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.groups import check_groups
from tests.checkers.groups.coordinator_simulator import Coordinating, Defects
from tests.checkers.groups.group_histories import GROUP

SEEDS = st.integers(0, 2**32)
RULES = {"group-epoch-back", "group-epoch-ahead", "assigned-before-released", "fenced-commit"}

SHOWN_MIN = 30
"""Of 60 simulations with a defect, how many show it at least."""


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.integers(0, 150))
def test_a_correct_coordinator_causes_no_finding(seed: int, steps: int) -> None:
    result = check_groups(Coordinating(seed, steps).history())
    assert not RULES & set(result.counts)


@pytest.mark.parametrize(
    ("defects", "names"),
    [
        (Defects(assigns_early=True), {"assigned-before-released"}),
        (Defects(forgets_epochs=True), {"group-epoch-back"}),
        (Defects(no_fencing=True), {"fenced-commit"}),
    ],
)
def test_a_defect_is_found_as_what_it_is(defects: Defects, names: set[str]) -> None:
    shown = 0
    for seed in range(60):
        made = Coordinating(seed, 60, defects)
        result = check_groups(made.history())
        assert RULES & set(result.counts) <= names
        if not made.harmed:
            assert not RULES & set(result.counts)
        shown += names <= set(result.counts)
    assert shown >= SHOWN_MIN


def test_what_the_simulated_logs_have_is_compared() -> None:
    figures = [check_groups(Coordinating(seed, 100).history()).figures[GROUP] for seed in range(30)]
    assert sum(each["records_in_log"] for each in figures) > 1_000
    assert sum(each["commits_in_log"] for each in figures) > 50
