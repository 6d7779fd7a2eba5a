"""The decision, by table; and what becomes a fact for it."""

import msgspec
import pytest

from checkers.history.identity import ImageIdentity
from results.campaigns.summary import Outcome
from results.qualification import (
    Decision,
    KnownAnomaly,
    OtherRun,
    QualificationRole,
    QualificationRun,
    render_text,
)
from results.qualification.deciding import RuleInput, decide
from results.qualification.finding import AnomalyExplanation, found_in
from tests.results.qualified import CHAOS, CONTROLS, LOST, QUESTION, both, qualification_of, run, side

GOOD, RED, UNSURE = Decision.QUALIFIED, Decision.NOT_QUALIFIED, Decision.INCONCLUSIVE


@pytest.mark.parametrize(
    ("given", "decision", "reasons"),
    [
        (RuleInput(), GOOD, []),
        (RuleInput(unexplained=("a",)), RED, ["a"]),
        (RuleInput(worse=("w",)), RED, ["w"]),
        (RuleInput(controls=("c",)), UNSURE, ["c"]),
        (RuleInput(mixed=("m",)), UNSURE, ["m"]),
        (RuleInput(doubtful=("d",)), UNSURE, ["d"]),
        (RuleInput(short=("s",)), UNSURE, ["s"]),
        (RuleInput(unreached=("u",)), UNSURE, ["u"]),
        (
            RuleInput(
                unreached=("u",),
                short=("s",),
                doubtful=("d",),
                mixed=("m",),
                controls=("c",),
                worse=("w",),
                unexplained=("a",),
            ),
            RED,
            ["a", "w", "c", "m", "d", "s", "u"],
        ),
    ],
)
def test_the_rule(given: RuleInput, decision: Decision, reasons: list[str]) -> None:
    decided, found = decide(given)
    assert decided is decision
    assert [reason.text for reason in found] == reasons


def red(
    seed: int = 1,
    role: QualificationRole = QualificationRole.CANDIDATE,
    mode: str = "combined",
    *,
    expected: bool = False,
) -> QualificationRun:
    return run(role, seed, Outcome.INVALID, found=[LOST], as_expected=expected, mode=mode)


KNOWN = KnownAnomaly("lost-write", "KIP-966", CHAOS, "documented")
KNOWN_ELSEWHERE = KnownAnomaly("lost-write", "KIP-966", "regressions/kip-966", "documented")


@pytest.mark.parametrize(
    ("runs", "elsewhere", "on_record", "standing"),
    [
        ([red()], (), (), AnomalyExplanation.UNEXPLAINED),
        ([red(), run(QualificationRole.BASELINE)], (), (), AnomalyExplanation.UNEXPLAINED),
        ([red(), red(2, QualificationRole.BASELINE)], (), (), AnomalyExplanation.ON_BASELINE),
        ([red(), red(2, QualificationRole.BASELINE, "isolated")], (), (), AnomalyExplanation.ON_BASELINE),
        (
            [red(), run(QualificationRole.BASELINE)],
            (OtherRun(CHAOS, "4.1.1", ("lost-write",)),),
            (),
            AnomalyExplanation.ON_BASELINE,
        ),
        (
            [red(), run(QualificationRole.BASELINE)],
            (
                OtherRun("smoke/partition", "4.1.1", ("lost-write",)),
                OtherRun(CHAOS, "3.9.0", ("lost-write",)),
            ),
            (),
            AnomalyExplanation.UNEXPLAINED,
        ),
        ([red()], (), (KNOWN_ELSEWHERE,), AnomalyExplanation.DOUBTFUL),
        ([red(expected=True)], (), (KNOWN,), AnomalyExplanation.EXPECTED),
        ([red(expected=True), red(2)], (), (KNOWN,), AnomalyExplanation.DOUBTFUL),
        ([run(), red(2, QualificationRole.BASELINE)], (), (), AnomalyExplanation.GONE),
    ],
)
def test_what_explains_an_anomaly(
    runs: list[QualificationRun],
    elsewhere: tuple[OtherRun, ...],
    on_record: tuple[KnownAnomaly, ...],
    standing: AnomalyExplanation,
) -> None:
    found = found_in(runs, elsewhere, on_record)
    assert [one.standing for one in found if one.mode == "combined"] == [standing]


def test_an_anomaly_of_the_baseline_has_the_ticket_that_is_on_record() -> None:
    on_record = "anomalies of this name are on record as KIP-966 (exploratory/chaos)"
    (both_sides,) = found_in([red(), red(2, QualificationRole.BASELINE)], (), (KNOWN,))
    assert both_sides.because == f"the baseline has it in 1 of this scenario's runs; {on_record}"
    other_runs = (OtherRun(CHAOS, "4.1.1", ("lost-write",)),)
    (elsewhere,) = found_in([red(), run(QualificationRole.BASELINE)], other_runs, (KNOWN,))
    assert elsewhere.because == f"other runs of the store have it in this scenario on 4.1.1; {on_record}"


@pytest.mark.parametrize(
    ("content", "standing"),
    [
        ("", AnomalyExplanation.ON_BASELINE),
        ("4.1.1" * 8, AnomalyExplanation.ON_BASELINE),
        ("other", AnomalyExplanation.UNEXPLAINED),
    ],
)
def test_another_build_of_the_version_of_the_baseline_explains_nothing(
    content: str, standing: AnomalyExplanation
) -> None:
    elsewhere = (OtherRun(CHAOS, "4.1.1", ("lost-write",), content),)
    (found,) = found_in([red(), run(QualificationRole.BASELINE)], elsewhere)
    assert found.standing is standing


def test_an_anomaly_says_how_often_and_since_when() -> None:
    older = OtherRun(CHAOS, "3.9.0", ("lost-write",)), OtherRun(CHAOS, "3.10.0", ())
    (found,) = found_in(
        [red(), run(seed=2), red(3, QualificationRole.BASELINE), run(seed=4, mode="isolated")], older
    )
    assert (found.candidate, found.candidate_of, found.baseline, found.baseline_of) == (1, 2, 1, 1)
    assert (found.low, found.high) == pytest.approx((0.0126, 0.9874))
    assert found.first_seen == "3.9.0"
    assert found.seen == ("3.9.0", "4.1.1", "4.3.1")
    assert found.tried == ("3.9.0", "3.10.0", "4.1.1", "4.3.1")
    assert found.command == "krucible run exploratory/chaos --seed 1 --mode combined --kafka-version 4.3.1"
    assert found.example is LOST


def test_a_whole_matrix_without_findings_qualifies() -> None:
    decided = qualification_of(both(1, 2))
    assert (decided.decision, decided.reasons) == (GOOD, ())
    assert decided.claim == "No illegal anomaly was found in 2,000 operations under 4 faults."


def of_content(
    one: QualificationRun, checksums: dict[str, str], digest: str = "sha256:1"
) -> QualificationRun:
    assert one.outcome is not None
    assert one.outcome.identity is not None
    image = ImageIdentity(reference="krucible/kafka:x", digest=digest)
    named = msgspec.structs.replace(one.outcome.identity, image=image)
    outcome = msgspec.structs.replace(one.outcome, identity=named)
    return msgspec.structs.replace(one, outcome=outcome, image_checksums=checksums)


@pytest.mark.parametrize("role", list(QualificationRole))
def test_runs_of_two_builds_on_one_side_decide_nothing(role: QualificationRole) -> None:
    runs = [*both(1, 2), of_content(run(role, 3), {"jars": "0" * 64})]
    decided = qualification_of(runs)
    assert decided.decision is UNSURE
    (reason,) = decided.reasons
    assert reason.text.startswith(
        f"runs of the {role} {'4.3.1' if role is QualificationRole.CANDIDATE else '4.1.1'} are of 2"
    )
    assert f"{'0' * 19} in 1" in reason.text
    assert qualification_of([red(), *runs]).decision is RED


def test_a_build_that_is_compared_to_itself_is_not_qualified_by_having_its_own_defects() -> None:
    alike = [
        of_content(one, {"jars": "1" * 64})
        for one in (*both(1, 2, 3), red(4), red(4, QualificationRole.BASELINE))
    ]
    decided = qualification_of(alike)
    assert decided.decision is UNSURE
    assert f"4.3.1 was compared to itself: 4.1.1 is the same Kafka ({'1' * 19})" in {
        reason.text for reason in decided.reasons
    }


def test_one_content_in_images_of_two_machines_is_one() -> None:
    runs = [of_content(one, one.image_checksums, f"sha256:{number}") for number, one in enumerate(both(1, 2))]
    decided = qualification_of(runs)
    assert (decided.decision, decided.reasons) == (GOOD, ())
    assert "runs of 4.3.1 are of 2 different images" in "\n".join(decided.gaps)


@pytest.mark.parametrize(
    ("checksums", "digest", "content"),
    [
        ({"jars": "1", "upstream": "2"}, "sha256:3", "1"),
        ({}, "sha256:3", "sha256:3"),
        ({}, "", "krucible/kafka:x"),
    ],
)
def test_jars_distinguish_one_content_from_another(
    checksums: dict[str, str], digest: str, content: str
) -> None:
    assert of_content(run(), checksums, digest).content == content
    assert run(outcome=None).content == ""


UNKNOWN, FAILED = Outcome.UNKNOWN, Outcome.FAILED
OPEN = run(seed=2, outcome=UNKNOWN, as_expected=True, left_open=(LOST.id,))
"""Unknown only because an anomaly that the scenario accepts may be permitted."""
IN_PART = run(
    seed=6,
    outcome=Outcome.INVALID,
    found=(LOST,),
    accepted=True,
    as_expected=False,
    reasons=("log: there was no final read",),
)
"""Invalid by an anomaly that the scenario accepts; not everything else could be decided."""


@pytest.mark.parametrize(
    ("runs", "controls", "decision", "why"),
    [
        (
            (*both(1), red(2), run(QualificationRole.BASELINE, 2)),
            CONTROLS,
            RED,
            "lost-write in exploratory/chaos (combined)",
        ),
        (
            both(1),
            (side(Outcome.VALID),),
            UNSURE,
            "control KAFKA-15489 on 3.6.2, expected red: not as expected",
        ),
        (both(1), (side(seeds=2),), UNSURE, "expected red: unknown (1 of 2 runs)"),
        ((*both(1), run(seed=2, outcome=UNKNOWN)), CONTROLS, UNSURE, "runs with a verdict, 2 needed"),
        ((*both(1), run(seed=2, outcome=None)), CONTROLS, UNSURE, "on the candidate: 1 of 2 runs"),
        (
            (*both(1), run(QualificationRole.BASELINE, 2, FAILED)),
            CONTROLS,
            UNSURE,
            "on the baseline: 1 of 2 runs",
        ),
        ((*both(1, 2, 3), *both(4, outcome=UNKNOWN)), CONTROLS, GOOD, ""),
        ((*both(1), OPEN), CONTROLS, GOOD, ""),
        ((*both(1), IN_PART), CONTROLS, UNSURE, "runs with a verdict, 2 needed"),
        ((*both(1, 2, 3), IN_PART, run(QualificationRole.BASELINE, 6)), CONTROLS, GOOD, ""),
        (both(1), (), UNSURE, "no positive control was run"),
        ((run(),), CONTROLS, UNSURE, "no run of the baseline has a verdict"),
        ((), CONTROLS, UNSURE, "no run of the candidate has a verdict"),
        (
            both(1, coverage={"elections": 0}),
            CONTROLS,
            UNSURE,
            "required state was not reached: elections of",
        ),
    ],
)
def test_what_was_seen_decides(
    runs: tuple[QualificationRun, ...], controls: tuple[object, ...], decision: Decision, why: str
) -> None:
    decided = qualification_of(runs, controls)  # type: ignore[arg-type]
    assert decided.decision is decision
    assert why in "\n".join(reason.text for reason in decided.reasons)
    assert bool(decided.reasons) is bool(why)


def test_a_candidate_alone_may_qualify_and_its_gap_is_reported() -> None:
    decided = qualification_of((run(),), CONTROLS, msgspec.structs.replace(QUESTION, baseline=None))
    assert decided.decision is GOOD
    assert decided.gaps[0].startswith("there is no baseline")


def test_without_counterparts_nothing_is_compared_and_that_is_reported() -> None:
    others = qualification_of((run(mode="isolated"), run(QualificationRole.BASELINE)))
    assert "so no duration was compared" in "\n".join(others.gaps)
    alone = qualification_of((run(), run(QualificationRole.BASELINE, outcome=None)))
    assert "so no duration was compared" in "\n".join(alone.gaps)
    assert "Against 4.1.1: nothing could be compared.\n" in render_text(alone)


def test_gaps_are_reported() -> None:
    runs = (
        *both(1),
        run(seed=2, outcome=UNKNOWN, reasons=("no traffic",)),
        run(seed=3, outcome=FAILED, reasons=("no engine",)),
        run(seed=4, outcome=None),
        run(seed=5, as_expected=False),
        OPEN,
        IN_PART,
    )
    gaps = "\n".join(qualification_of(runs, (), QUESTION).gaps)
    for gap in (
        "there is no positive control",
        "1 planned run of the candidate not run",
        "1 run of the candidate with verdict unknown (20261122T010002Z-2: no traffic)",
        "1 run of the candidate with accepted anomalies, and with doubts about others (20261122T010006Z-6: ",
        "1 run of the candidate that failed (20261122T010003Z-3: no engine)",
        "never reached by the candidate: sets of voters",
        "fewer than 6 pairs of runs, so no difference could be shown: unavailability under kill (1)",
        "1 run of the candidate valid where an anomaly was expected (20261122T010005Z-5)",
    ):
        assert gap in gaps


def test_a_run_that_may_have_an_anomaly_is_not_one_without_it() -> None:
    shown = run(outcome=Outcome.INVALID, found=(LOST,), as_expected=True)
    (found,) = found_in([shown, OPEN])
    assert (found.candidate, found.candidate_of) == (1, 1)


def test_another_anomaly_of_a_run_does_not_decide_whether_it_has_one_that_is_open() -> None:
    zombie = msgspec.structs.replace(LOST, id="zombie-leader")
    other = run(seed=3, outcome=Outcome.INVALID, found=(zombie,), as_expected=True, left_open=(LOST.id,))
    shown = run(outcome=Outcome.INVALID, found=(LOST,), as_expected=True, left_open=(LOST.id,))
    counts = {found.id: (found.candidate, found.candidate_of) for found in found_in([shown, other])}
    assert counts == {LOST.id: (1, 1), zombie.id: (1, 2)}


def test_an_accepted_anomaly_is_explained_even_if_not_all_could_be_decided() -> None:
    (found,) = found_in([IN_PART])
    assert (found.standing, found.candidate_of) == (AnomalyExplanation.EXPECTED, 0)


def test_what_was_expected_to_be_unknown_has_nothing_open() -> None:
    expected = run(seed=2, outcome=UNKNOWN, as_expected=True)
    assert not expected.decided
    assert OPEN.decided
    assert not OPEN.judged
