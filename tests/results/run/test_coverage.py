"""Coverage counters: taken from verdicts, shown for one run and of several."""

from checkers.verdict.verdict import Validity, Verdict, result_of
from results.run.coverage import COUNTERS, Reached, coverage_line, coverage_of, reached


def verdict(**figures: dict[str, object]) -> Verdict:
    results = tuple(result_of(checker, [], figures=values) for checker, values in figures.items())
    return Verdict(Validity.VALID, results, None, (), as_expected=None)


def test_counters_are_taken_from_the_checkers_that_have_them() -> None:
    coverage = coverage_of(
        verdict(
            quorum={"voter_sets": 3, "leader_changes": "many", "views": 9},
            elections={"unclean_elections": 0, "voter_sets": 7},
            log={"elections": 5},
        )
    )
    assert coverage == {"voter_sets": 3, "unclean_elections": 0}
    assert coverage_line(coverage) == "3 sets of voters"
    assert coverage_line({"leader_changes": 1, "isr_shrinks": 2_000, "requests": 0}) == (
        "1 change of the quorum's leader, 2,000 shrinks of an ISR"
    )


def test_of_several_runs_each_state_has_a_row() -> None:
    rows = reached([{"voter_sets": 3, "requests": 0}, {"voter_sets": 1}, {}])
    assert rows == (Reached("sets of voters", 2, 2, 4), Reached("requests for elections", 1, 0, 0))


def test_every_counter_has_a_name_of_its_own() -> None:
    assert len({counter.figure for counter in COUNTERS}) == len(COUNTERS)
