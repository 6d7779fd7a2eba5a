"""Circumstances of a broken guarantee: the faults in force, and why no licence applies, from the history."""

import msgspec

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.run.causes import Cause, causes_of
from results.run.circumstances import Circumstances
from results.run.observation import FaultSeen, observe
from tests.results.story import S, Story

LOST = Anomaly("lost-write", "gone", "g", "s", subject="log-0/3@205", time_ns=40 * S, witness=(2,))


def cause_of(anomaly: Anomaly, checker: str = "log") -> Cause:
    (cause,) = causes_of(Verdict(Validity.INVALID, (result_of(checker, [anomaly]),)))
    return cause


def story(*, acknowledged_s: int = 25, heal_last: bool = True) -> Story:
    """A run with three faults in which record 205 is acknowledged."""
    recording = Story()
    recording.setup()
    recording.faults(heal_last=heal_last)
    recording.add(acknowledged_s * S, 1, "ok", "send", "log-0", [[3, 205, 205, "ok"]])
    return recording


def lines(recording: Story, anomaly: Anomaly, checker: str = "log") -> list[str]:
    """The lines of an anomaly whose witness is the acknowledgement."""
    history = recording.history()
    sent = tuple(operation.index for operation in history.operations if operation.f == "send")
    cause = cause_of(msgspec.structs.replace(anomaly, witness=sent), checker)
    return [*Circumstances(history, observe(history).faults).lines(cause)]


def test_faults_of_the_period_are_named_with_their_times() -> None:
    faults, licence = lines(story(), LOST)
    assert faults == (
        "Faults in force from 10.0 s to 40.0 s: f1 partition n1, from 6.0 s to 12.4 s; "
        "f2 kill n2, from 18.0 s to 24.4 s; f3 pause n3, from 30.0 s to 36.4 s."
    )
    assert licence == "No event of the history permits a loss in log-0/3."
    assert "f3 pause n3, from 30.0 s." in lines(story(heal_last=False), LOST)[0]


def test_without_a_fault_in_the_period_that_is_stated() -> None:
    early = msgspec.structs.replace(LOST, time_ns=5 * S)
    assert lines(story(acknowledged_s=4), early)[0] == "No fault was in force from 0.0 s to 5.0 s."


def test_a_fault_that_was_not_attempted_is_left_out() -> None:
    skipped = FaultSeen(id="f1", kind="kill", invoked_ns=20 * S, attempted=False)
    (line, _) = Circumstances(story().history(), [skipped]).lines(cause_of(LOST))
    assert line.startswith("No fault was in force")


def test_only_the_first_faults_are_named() -> None:
    blinks = [FaultSeen(id=f"b{n}", kind="cut", invoked_ns=20 * S) for n in range(15)]
    (line, _) = Circumstances(story().history(), blinks).lines(cause_of(LOST))
    assert line.endswith("; b9 cut (target not known), from 20.0 s; 5 more.")


def test_an_anomaly_without_a_time_has_no_circumstances() -> None:
    assert not lines(story(), msgspec.structs.replace(LOST, time_ns=None))
    assert not [*Circumstances(Story().history()).lines(cause_of(LOST))]


def test_anomalies_of_other_checkers_have_faults_but_no_licence() -> None:
    assert len(lines(story(), LOST, "replicas")) == 1
    assert len(lines(story(), msgspec.structs.replace(LOST, subject="g: 7"), "groups")) == 1


def test_what_can_not_be_read_is_left_out() -> None:
    recording = story()
    recording.add(26 * S, "admin", "invoke", "elect-leaders", "unclean", 7)
    recording.add(47 * S, "observer-n1", "ok", "observe", "leader-epochs", {"entries": "x"}, node="n1")
    recording.add(48 * S, "observer-n1", "ok", "observe", "share-states", {"places": 7}, node="n1")
    (line,) = lines(recording, LOST)
    assert line.startswith("Faults in force from 10.0 s to 40.0 s: f1 partition n1")
