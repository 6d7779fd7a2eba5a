"""Files of outcomes: a run a line, read as they were written, and refused where they are something else."""

import json

import msgspec
import pytest

from results.campaigns.summary import Outcome
from results.sensitivity import Accepted, BugOutcome, BugReach, BugRun, ControlRun, MadeAgain, TimedAnomaly
from results.sensitivity.outcomes import (
    MeasurementOptions,
    Origin,
    OutcomeLine,
    Outcomes,
    decode_outcomes,
    encode_outcomes,
    line_of_control,
    line_of_trial,
    outcomes_of,
)

ASKED = MeasurementOptions(kafka_version="4.3.1", preset="nightly", budget="1x120", seed=1)
TRIAL = BugRun(
    number=1,
    scenario="exploratory/chaos",
    mode="combined",
    command="krucible run exploratory/chaos --seed 1 --seeded-bug ack-early",
    ending=BugOutcome.SEEN,
    reach=BugReach.TRIGGERED,
    folder="20261122T010001Z-1",
    found=(TimedAnomaly("lost-write", 21_400),),
    run_ms=61_000,
)
CONTROL = ControlRun(
    scenario="exploratory/chaos",
    mode="combined",
    command="krucible run exploratory/chaos --seed 1",
    outcome=Outcome.UNKNOWN,
    folder="20261122T010301Z-1",
    why="a fault was not proven",
)
FAILED = BugRun(number=2, scenario="s", mode="m", command="c", ending=BugOutcome.FAILED)
ORIGIN = Origin(bug="b" * 12, schedule="c" * 12, kafka="d" * 12, commit="0123456789ab")
LINES = (
    line_of_control("ack-early", 1, CONTROL, Origin(schedule="c" * 12)),
    line_of_trial("ack-early", TRIAL, ORIGIN, fitting=True),
    line_of_trial("a-bug", FAILED, Origin(commit="0123456789ab"), fitting=False),
)
KEPT = outcomes_of("before", ASKED, LINES)
NONE = Accepted()


def test_a_file_has_what_it_is_of_and_then_a_line_a_run() -> None:
    data = encode_outcomes(KEPT)
    head, *rest = data.decode().splitlines()
    assert head == '{"krucible_sensitivity":1,'
    assert rest[0] == '"series":"before",'
    assert rest[3] == (
        '{"bug":"a-bug","number":2,"scenario":"s","mode":"m","ending":"harness failed","fitting":false,'
        '"origin":{"commit":"0123456789ab"},"command":"c"},'
    )
    assert [json.loads(line.rstrip(","))["bug"] for line in rest[3:6]] == ["a-bug", "ack-early", "ack-early"]
    assert json.loads(data)["runs"][2]["control"] is True
    assert decode_outcomes(data) == KEPT
    assert encode_outcomes(decode_outcomes(data)) == data
    assert decode_outcomes(encode_outcomes(outcomes_of("none", ASKED, ()))).runs == ()


def test_a_head_may_have_the_bugs_and_those_whose_runs_were_made_again_a_line_each() -> None:
    again = (MadeAgain(bug="z-bug", why="z"), MadeAgain(bug="a-bug", why="the load sends more"))
    kept = outcomes_of("before", ASKED, LINES, bugs=("z-bug", "a-bug", "z-bug"), rerun=again)
    data = encode_outcomes(kept)
    assert data.decode().splitlines()[3:12] == [
        '"bugs":[', '"a-bug",', '"z-bug"', "],",
        '"rerun":[', '{"bug":"a-bug","why":"the load sends more"},', '{"bug":"z-bug","why":"z"}', "],",
        '"runs":[',
    ]  # fmt: skip
    assert decode_outcomes(data) == kept
    assert kept.bug_names == {"a-bug", "z-bug", "ack-early"}
    assert KEPT.bug_names == {"a-bug", "ack-early"}


def test_a_line_is_the_run_that_it_was_made_of() -> None:
    assert LINES[1].as_trial(("lost-write",), NONE) == TRIAL
    assert LINES[1].as_trial(("G1a",), NONE).ending is BugOutcome.OTHERWISE
    assert LINES[2].as_trial(("lost-write",), NONE) == FAILED
    assert LINES[0].as_control() == CONTROL
    assert [line.failed for line in LINES] == [False, False, True]


def test_of_two_lines_of_a_run_the_first_counts() -> None:
    other = line_of_trial("ack-early", TRIAL, Origin(), fitting=True)
    assert outcomes_of("before", ASKED, (*LINES, other)) == KEPT
    assert [line.place for line in KEPT.runs] == [
        ("a-bug", 2, False),
        ("ack-early", 1, False),
        ("ack-early", 1, True),
    ]


def test_budgets_of_more_runs_are_the_same_measurement() -> None:
    longer = MeasurementOptions(kafka_version="4.3.1", preset="nightly", budget="3x120", seed=1)
    assert longer.text() == ASKED.text() == "Kafka 4.3.1, preset nightly, seed 1, runs of 120 s"
    assert ASKED.longer(longer) == longer.longer(ASKED) == longer
    assert (longer.runs, longer.duration_s) == (3, 120)


AGAIN = "fedcba987654"


@pytest.mark.parametrize(
    ("commit", "judged_by", "again"),
    [
        (ORIGIN.commit, AGAIN, True),
        (ORIGIN.commit, "an unrecorded tree", True),
        (ORIGIN.commit, ORIGIN.commit, False),
        (ORIGIN.commit, "", None),
        ("", AGAIN, None),
    ],
)
def test_a_run_was_judged_again_if_another_commit_is_known_to_have_judged_it(
    commit: str, judged_by: str, *, again: bool | None
) -> None:
    origin = msgspec.structs.replace(ORIGIN, commit=commit, judged_by=judged_by)
    lines = (
        line_of_trial("ack-early", TRIAL, origin, fitting=True),
        line_of_control("ack-early", 1, CONTROL, origin),
    )
    data = encode_outcomes(outcomes_of("before", ASKED, lines))
    assert (b"judged_by" in data) is bool(judged_by)
    trial, control = decode_outcomes(data).runs
    assert trial.as_trial(("lost-write",), NONE).judged_again is again
    assert control.as_control().judged_again is again


def test_a_store_that_says_the_same_of_a_run_leaves_the_judge_that_a_file_names() -> None:
    bare = LINES[1]
    rejudged = msgspec.structs.replace(bare, origin=msgspec.structs.replace(ORIGIN, judged_by=AGAIN))
    assert bare.judged_as(rejudged) == rejudged
    assert bare.judged_as(None) == bare.judged_as(bare) == bare
    assert rejudged.judged_as(bare) == rejudged
    otherwise = msgspec.structs.replace(bare, ending=BugOutcome.UNKNOWN)
    assert otherwise.judged_as(rejudged) == otherwise
    own = msgspec.structs.replace(bare, origin=msgspec.structs.replace(ORIGIN, judged_by="0" * 12))
    assert own.judged_as(rejudged) == own


def test_a_store_that_says_the_same_of_a_run_leaves_the_cause_that_a_file_names() -> None:
    bare = line_of_control("ack-early", 1, CONTROL, ORIGIN)
    known = msgspec.structs.replace(bare, cause="docs/findings.md, a hole")
    assert bare.judged_as(known) == known
    assert decode_outcomes(encode_outcomes(outcomes_of("before", ASKED, (known,)))).runs == (known,)
    control = msgspec.structs.replace(known, outcome=Outcome.INVALID, anomalies=("lost-write",)).as_control()
    assert not control.alarm
    assert msgspec.structs.replace(control, cause="").alarm
    otherwise = msgspec.structs.replace(bare, outcome=Outcome.VALID)
    assert otherwise.judged_as(known) == otherwise


def altered(**changes: object) -> bytes:
    return json.dumps(json.loads(encode_outcomes(KEPT)) | changes).encode()


BARE = {"bug": "b", "number": 1, "scenario": "s", "mode": "m", "command": "c"}


def doubled() -> bytes:
    return encode_outcomes(Outcomes(krucible_sensitivity=1, series="s", asked=ASKED, runs=(*LINES, LINES[0])))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`, got `array`"),
        (b"{}", "missing required field `krucible_sensitivity`"),
        (altered(krucible_sensitivity=2), "format 2, expected 1"),
        (altered(asked={"kafka_version": "4.3.1"}), "missing required field `preset` - at `$.asked`"),
        (altered(stranger=1), "unknown field `stranger`"),
        (altered(asked={"kafka_version": "4", "preset": "p", "seed": 1, "budget": "3"}), "regex"),
        (altered(runs=[BARE | {"number": 0}]), ">= 1"),
        (altered(runs=[BARE]), "no ending"),
        (doubled(), "ack-early 1, control, is there twice"),
        (altered(rerun=[{"bug": "b", "why": "x"}, {"bug": "b", "why": "y"}]), "b is twice in rerun"),
        (altered(rerun=[{"bug": "b"}]), "missing required field `why`"),
        (altered(rerun=[{"bug": "b", "why": "x", "number": 1}]), "unknown field `number`"),
        (encode_outcomes(KEPT).replace(b'"number":1', b"<<<<<<< ours\n", 1), "line 6"),
        (encode_outcomes(KEPT)[:-4], "truncated"),
    ],
)
def test_what_is_no_such_file_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        decode_outcomes(data)
    assert reason in str(refused.value)


def test_a_line_without_an_outcome_can_not_be_made() -> None:
    with pytest.raises(ValueError, match="the line of b 1 has no outcome"):
        OutcomeLine(
            bug="b", number=1, control=True, scenario="s", mode="m", command="c", ending=BugOutcome.SEEN
        )
