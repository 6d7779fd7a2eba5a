"""The judge: verdicts of all checkers together, and whether they are what was expected."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from checkers import judge as judging
from checkers.history.operations import History
from checkers.history.runner import LASTED
from checkers.judge import (
    Findings,
    accepted_with,
    as_expected,
    combined,
    judge,
    known_anomalies,
    readable_setup,
    verdict_of,
)
from checkers.runs.assumptions import CHECKER as ASSUMPTIONS
from checkers.verdict.verdict import Anomaly, Assumption, CheckerResult, OpenAnomaly, Validity, result_of

Story = Callable[..., History]

WHOLE = """
0.1 c1 running
0.1 c2 running
0.1 c3 running
1 c1 leads 1
1 c2 refuses
1 c3 refuses
1 c2 file 1 leader=c1
20 recover ok 900/60000 log-0/0:1:1,2:acked
30 phase done
"""
VALID, INVALID, UNKNOWN = Validity.VALID, Validity.INVALID, Validity.UNKNOWN


@pytest.fixture(autouse=True)
def _quiet_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """These stories say nothing of logs; the log checker has tests of its own."""
    quiet: dict[str, Any] = {"log": lambda _: result_of("log", [])}
    monkeypatch.setattr(judging, "CHECKERS", dict(judging.CHECKERS) | quiet)


def whole_history(story: Story, text: str = "", **setup: Any) -> History:
    return story(WHOLE + text, setup={"planned_faults": 0} | setup)


def test_a_whole_run_is_valid(story: Story) -> None:
    verdict = judge(whole_history(story))
    assert verdict.validity is VALID
    assert [result.checker for result in verdict.results] == [
        "log",
        "listed-offsets",
        "transactions",
        "descriptions",
        "copying",
        "streams",
        "transaction-states",
        "groups",
        "share-groups",
        "dead-letters",
        "client-errors",
        "registers",
        "erasures",
        "metadata",
        "quorum",
        "partitions",
        "elections",
        "reassignments",
        "features",
        "recovery",
        "availability",
        "replicas",
        "starts",
        "nodes",
        "assumptions",
    ]
    assert verdict.as_expected is True
    assert verdict.reasons == ()


@pytest.mark.parametrize("red", [False, True])
def test_what_hit_the_harness_is_the_first_reason_why_nobody_knows(
    red: bool,  # noqa: FBT001 - pytest's way
) -> None:
    lasted = Assumption(LASTED, met=False, expected="a harness without errors", observed="it died")
    anomaly = Anomaly("lost-write", "17 is gone", "guarantee", "source")
    results = [
        result_of("log", [anomaly] if red else [], unknown_because="there was no final read"),
        result_of(ASSUMPTIONS, [], assumptions=(lasted,)),
    ]
    verdict = verdict_of(results, None)
    assert verdict.validity is (INVALID if red else UNKNOWN)
    assert [reason.split(":")[0] for reason in verdict.reasons] == (
        ["log", "assumptions", "log"] if red else ["assumptions", "log"]
    )


def test_a_reason_that_only_quotes_the_name_of_the_assumption_is_not_moved() -> None:
    lasted = Assumption(LASTED, met=False, expected="a harness without errors", observed="it died")
    complete = Assumption("run-complete", met=False, expected="phase done", observed="phase load")
    results = [
        result_of("metadata", [], unknown_because="no leader was seen"),
        result_of("log", [], unknown_because=f"a record says: {LASTED}: no"),
        result_of(ASSUMPTIONS, [], assumptions=(complete, lasted)),
    ]
    assert verdict_of(results, None).reasons == (
        f"assumptions: {LASTED}: a harness without errors; found it died.",
        "metadata: no leader was seen.",
        f"log: a record says: {LASTED}: no.",
        "assumptions: run-complete: phase done; found phase load.",
    )


def test_an_anomaly_makes_it_invalid_and_is_the_reason(story: Story) -> None:
    verdict = judge(whole_history(story, "2 c2 leads 1\n3 c1 exited 1\n4 c1 running\n5 c1 exited 1"))
    assert verdict.validity is INVALID
    assert verdict.as_expected is False
    assert [reason.replace("\N{MULTIPLICATION SIGN}", "x") for reason in verdict.reasons] == [
        "quorum: 1 x two-leaders, first: Epoch 1 had the leaders 1, 2.",
        "nodes: 2 x node-died, first: c1 ended at 3.0 s with exit code 1: it was not killed or stopped.",
    ]


def test_a_legal_finding_is_no_reason(story: Story) -> None:
    verdict = judge(whole_history(story, "4 c1 log FATAL oh"))
    assert verdict.validity is VALID
    assert verdict.reasons == ()


def test_what_is_unmet_or_undecided_is_a_reason(story: Story) -> None:
    verdict = judge(story("30 phase evidence", setup={"planned_faults": 0}))
    assert verdict.validity is UNKNOWN
    assert "recovery: no recover operation was completed." in verdict.reasons
    assert (
        "assumptions: run-complete: the run reached phase done; found ended in phase evidence."
        in verdict.reasons
    )


def test_a_damaged_history_is_never_valid(story: Story) -> None:
    history = msgspec.structs.replace(whole_history(story), damage=("worker-3 is cut short",))
    assert judge(history).validity is UNKNOWN


def test_an_anomaly_outweighs_damage(story: Story) -> None:
    history = msgspec.structs.replace(whole_history(story, "2 c2 leads 1"), damage=("worker-3 is cut short",))
    assert judge(history).validity is INVALID


def test_a_checker_that_raises_leaves_it_unknown(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: History) -> CheckerResult:
        raise ZeroDivisionError("over\n  nothing")

    monkeypatch.setattr(judging, "CHECKERS", dict(judging.CHECKERS) | {"log": broken})
    verdict = judge(whole_history(story))
    assert verdict.validity is UNKNOWN
    (reason,) = verdict.reasons
    assert reason.startswith("log: the checker raised ZeroDivisionError: over nothing (test_judge.py, line ")


def test_a_checker_that_raises_hides_no_anomaly(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: History) -> CheckerResult:
        raise ZeroDivisionError

    monkeypatch.setattr(judging, "CHECKERS", dict(judging.CHECKERS) | {"log": broken})
    assert judge(whole_history(story, "2 c2 leads 1")).validity is INVALID


def test_nothing_at_all_is_unknown(story: Story) -> None:
    verdict = judge(story("", without_setup=True))
    assert verdict.validity is UNKNOWN
    assert (verdict.expected, verdict.as_expected) == (None, None)


def test_a_malformed_setup_is_unknown(story: Story) -> None:
    verdict = judge(whole_history(story, nodes="three"))
    assert verdict.validity is UNKNOWN
    assert verdict.as_expected is None
    assert any("ValidationError" in reason for reason in verdict.reasons)


def test_what_was_expected_is_kept(story: Story) -> None:
    verdict = judge(
        whole_history(story, "2 c2 leads 1", expected="invalid", expected_anomalies=["two-leaders"])
    )
    assert (verdict.expected, verdict.expected_anomalies) == (INVALID, ("two-leaders",))
    assert verdict.as_expected is True


@pytest.mark.parametrize(
    ("validities", "whole"),
    [
        ((VALID, VALID), VALID),
        ((VALID, UNKNOWN), UNKNOWN),
        ((UNKNOWN, INVALID, VALID), INVALID),
        ((), UNKNOWN),
        ((Validity.VALID, Validity.NOT_EXERCISED), Validity.VALID),
        ((Validity.NOT_EXERCISED,), Validity.UNKNOWN),
        ((Validity.NOT_EXERCISED, Validity.INVALID), Validity.INVALID),
    ],
)
def test_combined(validities: tuple[Validity, ...], whole: Validity) -> None:
    assert combined(validities) is whole


@pytest.mark.parametrize(
    ("validity", "found", "expected", "anomalies", "answer"),
    [
        pytest.param(VALID, "", None, "", None, id="nothing was expected"),
        pytest.param(VALID, "", VALID, "", True, id="valid"),
        pytest.param(UNKNOWN, "", VALID, "", False, id="unknown instead of valid"),
        pytest.param(UNKNOWN, "", UNKNOWN, "", True, id="unknown"),
        pytest.param(INVALID, "a", VALID, "", False, id="invalid instead of valid"),
        pytest.param(VALID, "", VALID, "a", True, id="valid, and might have been invalid"),
        pytest.param(INVALID, "a", VALID, "ab", True, id="invalid by what may be found"),
        pytest.param(INVALID, "ac", VALID, "ab", False, id="invalid by another one too"),
        pytest.param(INVALID, "", VALID, "ab", False, id="invalid by none that is listed"),
        pytest.param(UNKNOWN, "", VALID, "a", False, id="unknown, and might have been invalid"),
        pytest.param(INVALID, "a", INVALID, "ab", True, id="one of those expected"),
        pytest.param(INVALID, "ab", INVALID, "ab", True, id="all of those expected"),
        pytest.param(INVALID, "ac", INVALID, "ab", False, id="another one too"),
        pytest.param(INVALID, "c", INVALID, "ab", False, id="another one"),
        pytest.param(INVALID, "", INVALID, "ab", False, id="none is listed"),
        pytest.param(VALID, "", INVALID, "ab", False, id="valid instead of invalid"),
    ],
)
def test_as_expected(
    validity: Validity, found: str, expected: Validity | None, anomalies: str, *, answer: bool | None
) -> None:
    of_run = Findings(validity, frozenset(found), undecided=validity is UNKNOWN)
    assert as_expected(of_run, expected, tuple(anomalies)) is answer


@pytest.mark.parametrize(
    ("left_open", "expected", "answer"),
    [
        pytest.param("", VALID, False, id="anything may be there"),
        pytest.param("b", VALID, True, id="both answers are accepted"),
        pytest.param("bc", VALID, False, id="one answer is not accepted"),
        pytest.param("", INVALID, True, id="an anomaly was expected, and is there"),
        pytest.param("", None, None, id="nothing was expected"),
    ],
)
def test_invalid_with_accepted_anomalies_alone_is_as_expected_if_the_rest_was_decided(
    left_open: str, expected: Validity | None, *, answer: bool | None
) -> None:
    of_run = Findings(INVALID, frozenset("a"), frozenset(left_open), undecided=True)
    assert as_expected(of_run, expected, ("a", "b")) is answer


@pytest.mark.parametrize(("found", "accepted"), [("", "a"), ("b", "a"), ("a", "ab"), ("abc", "ab")])
def test_consequences_are_accepted_only_with_their_cause(found: str, accepted: str) -> None:
    assert accepted_with(frozenset(found), ("a",), ("b",)) == tuple(accepted)


def test_a_consequence_alone_is_not_as_expected(story: Story) -> None:
    alone = judge(
        whole_history(
            story,
            "2 c2 leads 1",
            expected="valid",
            expected_anomalies=["lost-write"],
            expected_consequences=["two-leaders"],
        )
    )
    assert alone.expected_anomalies == ("lost-write",)
    assert alone.as_expected is False


def unsure(checker: str, *names: str, doubt: str | None = None) -> CheckerResult:
    """A result of which it is unknown whether anomalies are permitted, and perhaps something else."""
    found = [Anomaly(name, "perhaps", "g", "s", illegal=False, licence="a loss") for name in names]
    perhaps = [OpenAnomaly(name, f"{name} may follow from a loss") for name in names]
    return result_of(checker, found, open_anomalies=perhaps, unknown_because=doubt)


@pytest.mark.parametrize(
    ("results", "answer"),
    [
        pytest.param([unsure("log", "a")], True, id="the scenario accepts it either way"),
        pytest.param([unsure("log", "a", "b")], True, id="it accepts both"),
        pytest.param([unsure("log", "a"), unsure("nodes", "b")], True, id="of two checkers"),
        pytest.param([unsure("log", "a", "c")], False, id="it does not accept the other one"),
        pytest.param([unsure("log", "c")], False, id="it does not accept it"),
        pytest.param([unsure("log", "d")], False, id="it accepts it only with its cause"),
        pytest.param([unsure("log", "a"), unsure("nodes", "c")], False, id="of another checker"),
        pytest.param([unsure("log", "a", doubt="no final read")], False, id="more is unknown"),
        pytest.param(
            [unsure("log", "a"), result_of("nodes", [], unknown_because="x")], False, id="another checker"
        ),
        pytest.param([unsure("log", doubt="a may follow from a loss")], False, id="a reason without an id"),
    ],
)
def test_unknown_is_as_expected_if_both_answers_are(
    story: Story, results: list[CheckerResult], *, answer: bool
) -> None:
    setup: dict[str, Any] = {
        "expected": "valid",
        "expected_anomalies": ["a", "b"],
        "expected_consequences": ["d"],
    }
    verdict = verdict_of([*results, result_of("quorum", [])], readable_setup(whole_history(story, **setup)))
    assert (verdict.validity, verdict.as_expected) == (UNKNOWN, answer)
    expecting = setup | {"expected": "invalid"}
    assert not verdict_of(results, readable_setup(whole_history(story, **expecting))).as_expected


def test_known_anomalies_have_a_meaning_and_a_source_each() -> None:
    known = known_anomalies()
    assert list(known) == sorted(known)
    assert {"zombie-leader", "two-leaders", "not-recovered", "node-died", "lost-write"} <= set(known)
    for name, kind in known.items():
        assert kind.id == name
        assert kind.meaning.endswith(".")
        assert kind.guarantee not in kind.meaning, "what was observed is not the promise"
        assert kind.source
        assert "\n" not in kind.meaning
