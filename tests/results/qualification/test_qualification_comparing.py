"""What is compared to the baseline, and when it is called worse."""

import pytest

from results.campaigns.summary import Outcome
from results.qualification import QualificationRole, QualificationRun
from results.qualification.compared import ComparisonResult, Comparisons
from results.qualification.comparing import compare, finding_of
from results.repeats.wilson import Interval
from tests.results.qualified import LOST, both, run


def gaps(candidate: list[int], baseline: list[int], kind: str = "kill") -> list[QualificationRun]:
    """Pairs of runs with an unavailability each."""
    pairs = zip(candidate, baseline, strict=True)
    runs = []
    for seed, (mine, theirs) in enumerate(pairs, start=1):
        runs.append(run(QualificationRole.CANDIDATE, seed, gaps={kind: mine}))
        runs.append(run(QualificationRole.BASELINE, seed, gaps={kind: theirs}))
    return runs


def of_kill(compared: Comparisons) -> ComparisonResult:
    return next(one.finding for one in compared.durations if one.name == "unavailability under kill")


SLOW = [9_000, 9_500, 12_000, 10_000, 9_900, 14_000, 9_100, 9_800, 9_050, 9_060]
USUAL = [5_000, 5_100, 5_200, 5_300, 4_900, 5_500, 4_800, 5_050, 5_020, 5_010]


@pytest.mark.parametrize(
    ("candidate", "baseline", "finding"),
    [
        (SLOW, USUAL, ComparisonResult.WORSE),
        (USUAL, SLOW, ComparisonResult.BETTER),
        (USUAL, USUAL, ComparisonResult.NO_DIFFERENCE),
        ([gap + 900 for gap in USUAL], USUAL, ComparisonResult.NO_DIFFERENCE),
        ([gap + 9_000 for gap in (40_000, *USUAL)], [40_000, *USUAL], ComparisonResult.WORSE),
        ([100_000, *USUAL[1:]], USUAL, ComparisonResult.NO_DIFFERENCE),
        (SLOW[:5], USUAL[:5], ComparisonResult.TOO_FEW),
    ],
    ids=["slower", "faster", "same", "within-margin", "shifted", "one-outlier", "five-pairs"],
)
def test_worse_is_only_what_neither_chance_nor_the_margin_explains(
    candidate: list[int], baseline: list[int], finding: ComparisonResult
) -> None:
    assert of_kill(compare(gaps(candidate, baseline))) is finding


def test_what_is_worse_is_reported_with_its_figures() -> None:
    compared = compare(gaps(SLOW, USUAL))
    assert compared.worse() == ("unavailability under kill: median shifted by +4,575 ms",)
    assert compared.better() == ()
    assert compare(gaps(USUAL, SLOW)).better() == ("unavailability under kill: median shifted by -4,575 ms",)


def test_a_run_counts_once_for_each_kind_with_its_longest_gap() -> None:
    compared = compare(both(1, 2, 3, 4, 5, 6))
    assert [(one.name, one.pairs) for one in compared.durations] == [
        ("unavailability under kill", 6),
        ("unavailability under pause", 6),
        ("recovery after healing", 6),
    ]


def test_only_runs_of_the_same_plan_are_paired() -> None:
    runs = [
        run(QualificationRole.CANDIDATE, 1),
        run(QualificationRole.CANDIDATE, 2),
        run(QualificationRole.BASELINE, 2),
        run(QualificationRole.BASELINE, 3),
    ]
    assert {one.pairs for one in compare(runs).durations} == {1}
    repeated = [
        *both(1),
        run(QualificationRole.CANDIDATE, 1),
        run(QualificationRole.BASELINE, 1),
        run(QualificationRole.CANDIDATE, 1),
    ]
    assert {one.pairs for one in compare(repeated).durations} == {2}


def test_comparisons_that_can_not_speak_are_no_tests() -> None:
    few = compare(gaps(SLOW[:5], USUAL[:5]))
    assert few.too_few() == ("unavailability under kill (5)", "recovery after healing (5)")
    assert few.tried() == 1
    assert all(one.p_corrected is None for one in few.durations)


def test_all_tests_of_a_report_are_corrected_together() -> None:
    alone = compare(gaps(SLOW, USUAL))
    kill = alone.durations[0]
    assert alone.tried() == 3
    assert kill.p_corrected == pytest.approx(3 * kill.p, abs=1e-5)


def test_shares_of_runs_with_an_illegal_anomaly_are_compared() -> None:
    red = [
        run(QualificationRole.CANDIDATE, n, Outcome.INVALID, found=[LOST], as_expected=False)
        for n in range(20)
    ]
    green = [run(QualificationRole.BASELINE, n) for n in range(20)]
    compared = compare([*red, *green])
    assert compared.worse() == ("lost-write: 20 of 20 runs, 0 of 20 of the baseline's",)
    assert compare([*red[:3], *green[:3]]).worse() == ()


def test_what_a_scenario_expects_is_no_figure_of_the_candidate() -> None:
    red = [
        run(QualificationRole.CANDIDATE, n, Outcome.INVALID, found=[LOST], as_expected=True)
        for n in range(20)
    ]
    compared = compare([*red, *(run(QualificationRole.BASELINE, n) for n in range(20))])
    assert [one.name for one in compared.shares] == ["no recovery in time"]


def test_runs_that_were_not_decided_in_all_are_no_figure() -> None:
    in_part = [
        run(QualificationRole.CANDIDATE, n, Outcome.INVALID, found=[LOST], as_expected=False, accepted=True)
        for n in range(20)
    ]
    compared = compare([*in_part, *(run(QualificationRole.BASELINE, n) for n in range(20))])
    assert [one.name for one in compared.shares] == ["no recovery in time"]


def test_runs_that_did_not_recover_are_counted() -> None:
    never = [run(QualificationRole.CANDIDATE, n, recovered=False, recovery_ms=60_000) for n in range(12)]
    compared = compare([*never, *(run(QualificationRole.BASELINE, n) for n in range(12))])
    assert compared.worse() == (
        "recovery after healing: median shifted by +59,800 ms",
        "no recovery in time: 12 of 12 runs, 0 of 12 of the baseline's",
    )


def test_without_a_baseline_nothing_is_compared() -> None:
    assert compare([run(), run(QualificationRole.BASELINE, outcome=None)]) == Comparisons()
    assert compare([]) == Comparisons()


@pytest.mark.parametrize(
    ("effect", "interval", "p", "finding"),
    [
        (2_000, Interval(500, 4_000), 0.01, ComparisonResult.WORSE),
        (-2_000, Interval(-4_000, -500), 0.01, ComparisonResult.BETTER),
        (2_000, Interval(-1, 4_000), 0.01, ComparisonResult.NO_DIFFERENCE),
        (2_000, Interval(500, 4_000), 0.05, ComparisonResult.NO_DIFFERENCE),
        (1_000, Interval(500, 4_000), 0.01, ComparisonResult.NO_DIFFERENCE),
    ],
)
def test_test_interval_and_margin_have_to_agree(
    effect: int, interval: Interval, p: float, finding: ComparisonResult
) -> None:
    assert finding_of(effect, interval, p, margin=1_000) is finding
