"""The chronology of a cause: in the order of time, from the history alone, and harmless to look at."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.columns.tables import PartitionName
from checkers.licences import LicenceEvent, Licences, Permit
from checkers.logs.log import anomalies
from checkers.logs.log.anomalies import ANOMALIES, NO_LICENCE
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.report.cards.chronology import Chronology
from results.report.page import render_report
from results.report.reading.anomaly_places import context_of
from results.report.size_limits import STEPS
from results.run import circumstances
from results.run.anomaly_partitions import partition_named
from results.run.causes import causes_of
from results.run.observation import observe
from tests.checkers.logs.replicas.replica_histories import Batch, metadata
from tests.results.story import MS, Run, S, Story

TOPIC = {"name": "log-0", "topicId": "T"}
MADE = {
    "topicId": "T",
    "partitionId": 3,
    "leader": 1,
    "leaderEpoch": 4,
    "replicas": [1, 2, 3],
    "isr": [1, 2, 3],
}


def changed(**fields: Any) -> dict[str, Any]:
    return {"topicId": "T", "partitionId": 3, **fields}


def story() -> Story:
    """Broker 1 is cut off, broker 2 is elected uncleanly, and record 205 is gone."""
    recording = Story()
    recording.setup()
    recording.add(18 * S, 1, "invoke", "send", "log-0", [[3, 205]])
    recording.add(19 * S, 1, "ok", "send", "log-0", [[3, 205, 205, "ok"]])
    plan = {"kind": "partition", "spec": {"kind": "partition"}}
    recording.add(20 * S, "nemesis", "invoke", "inject", "f1", plan)
    recording.add(21 * S, "nemesis", "ok", "inject", "f1", plan | {"targets": ["n1"]})
    recording.add(22 * S, "admin", "invoke", "elect-leaders", "unclean", {"partitions": [["log-0", 3]]})
    answer = {"code": 0, "results": [["log-0", 3, 0, None]]}
    recording.add(23 * S, "admin", "ok", "elect-leaders", "unclean", answer)
    recording.add(24 * S, "admin", "invoke", "alter-reassignments", None, {"targets": [["log-0", 3, [2, 4]]]})
    recording.add(25 * S, "admin", "ok", "alter-reassignments", None, answer)
    records = [
        [0, 1, "TOPIC_RECORD", TOPIC],
        [1, 1, "PARTITION_RECORD", MADE],
        [2, 1, "PARTITION_CHANGE_RECORD", changed(isr=[2], leader=2, leaderRecoveryState=1)],
        [3, 1, "PARTITION_CHANGE_RECORD", changed(addingReplicas=[4], replicas=[1, 2, 3, 4])],
        [4, 1, "PARTITION_CHANGE_RECORD", changed(leader=-1, eligibleLeaderReplicas=[3])],
    ]
    for count, time_ns in enumerate((2 * S, 2 * S, 23 * S, 25 * S, 30 * S), start=1):
        mark = {"began_ns": time_ns, "answer": "leader", "leader_id": 1, "leader_epoch": 1}
        mark |= {"high_watermark": count, "wall_ms": 0, "voters": []}
        recording.add(time_ns, "observer-n1", "ok", "observe", "quorum", mark, node="n1")
    seen = metadata([Batch(0, len(records))], records=records)
    recording.add(45 * S, "observer-n1", "ok", "observe", "metadata-log", seen, node="n1")
    notes = {"topic": "log-0", "partition": 3, "entries": [[4, 0], [5, 206]]}
    recording.add(46 * S, "observer-n1", "ok", "observe", "leader-epochs", notes, node="n1")
    return recording


LOST = Anomaly(
    "lost-write", "205 was acknowledged and is gone", "g", "s",
    subject="log-0/3@205", time_ns=50 * S, witness=(4, 5),
)  # fmt: skip


def lines(recording: Story, anomaly: Anomaly, checker: str = "log", step: int = 0) -> list[str]:
    history = recording.history()
    seen = observe(history)
    (cause,) = causes_of(Verdict(Validity.INVALID, (result_of(checker, [anomaly]),)))
    return [
        f"{line.time} {line.text}".strip()
        for line in Chronology(history, seen.faults, seen.claims).around(cause, STEPS[step])
    ]


def test_what_happened_stands_in_the_order_of_time_and_ends_with_what_broke() -> None:
    chronology = lines(story(), LOST)
    asked = [
        "18.0 s client 1 began: send 205 to log-0/3 (operation 4)",
        "19.0 s client 1, send log-0, ok: 205 at offset 205 (operation 5)",
        "20.0 s Fault f1 partition n1 began.",
        "22.0 s admin asked for the unclean election of log-0/3. Kafka answered NONE (0).",
        "24.0 s admin asked for [2, 4] of log-0/3.",
    ]
    assert [line for line in chronology if line in asked] == asked
    broke, why = chronology[-2:]
    assert broke == "50.0 s Guarantee broken: 205 was acknowledged and is gone"
    assert why.startswith("This does not permit it: ElectLeaders UNCLEAN: ")
    assert why.endswith(", losses from offset 206 on.")


def test_without_an_event_that_permits_losses_that_is_stated() -> None:
    recording = Story()
    recording.setup()
    recording.add(19 * S, 1, "ok", "send", "log-0", [[3, 205, 205, "ok"]])
    assert lines(recording, LOST)[-1] == "No event of the history permits a loss in log-0/3."


def test_events_that_were_over_before_or_began_after_it_are_not_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wiped = [
        Permit(LicenceEvent(at_s * S, (at_s + 1) * S, None, ""), covers_returned=True, text=f"wiped {at_s}")
        for at_s in (1, 30, 51)
    ]
    for some, expected in (
        (wiped, ["This does not permit it: wiped 30."]),
        (wiped[::2], ["No event from 3.0 s to 50.0 s permits it."]),
        (
            wiped[1:2] * 5,
            ["This does not permit it: wiped 30."] * 3
            + ["2 more events permit losses in log-0/3, but not these."],
        ),
    ):
        licences = Licences({"log-0": some})
        monkeypatch.setattr(circumstances, "licences_of", lambda _, found=licences: found)
        shown = lines(story(), LOST)
        assert shown[-len(expected) :] == expected
        assert shown[-len(expected) - 1].startswith("50.0 s Guarantee broken: ")


def test_removals_are_named_for_what_they_may_permit_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    event = LicenceEvent(30 * S, 31 * S, None, "", below=100)
    licences = Licences({"log-0": [Permit(event, covers_returned=True, text="deleted")]})
    monkeypatch.setattr(circumstances, "licences_of", lambda _: licences)
    for name, expected in (
        ("lost-write", "This does not permit it: deleted, losses below offset 100."),
        ("duplicate", "No event from 3.0 s to 50.0 s permits it."),
        ("G1a", f"Guarantee broken: {LOST.summary}"),
    ):
        assert lines(story(), msgspec.structs.replace(LOST, id=name))[-1].endswith(expected)


def test_events_are_named_for_what_the_log_checker_found_alone() -> None:
    phantom = msgspec.structs.replace(LOST, id="phantom", summary="205 was never sent")
    differ = msgspec.structs.replace(LOST, id="replica-divergence", summary="replicas differ")
    results = (result_of("log", [phantom]), result_of("replicas", [differ]))
    (cause,) = causes_of(Verdict(Validity.INVALID, results))
    chronology = [line.text for line in Chronology(story().history()).around(cause, STEPS[0])]
    assert chronology[-1] == "No event permits a phantom."


def test_changes_of_the_partition_are_listed() -> None:
    text = " | ".join(lines(story(), LOST))
    for part in (
        "broker 1 led in epoch 4",
        "Broker 2 was chosen uncleanly as leader of epoch 5, ISR [1, 2, 3] became [2]",
        "a reassignment began",
        "No broker led from epoch 6 on, ELR [] became [3]",
    ):
        assert part in text, part


def test_controllers_that_lead_are_listed(red_run: Run) -> None:
    seen = observe(red_run.history)
    (cause,) = causes_of(red_run.verdict, "quorum")
    chronology = [
        line.text for line in Chronology(red_run.history, seen.faults, seen.claims).around(cause, STEPS[0])
    ]
    assert "n2 answered as leader of epoch 2." in chronology
    assert chronology.index("Fault f1 partition n1 began, in force until 12.4 s.") < len(chronology) - 1
    assert any(
        line.startswith("Guarantee broken: n1 still answered as leader of epoch 1") for line in chronology
    )
    assert any(
        line.startswith("n2 answered: quorum: leader of epoch 2, high watermark") for line in chronology
    )


def test_requests_for_voters_are_listed() -> None:
    recording = Story()
    recording.setup()
    recording.add(12 * S, "admin", "invoke", "remove-voter", 103, {"to": "n1"}, node="n1")
    recording.add(13 * S, "admin", "ok", "remove-voter", 103, {"to": "n1", "code": 0}, node="n1")
    recording.add(15 * S, "admin", "invoke", "remove-voter", 103, {"to": "n1"}, node="n1")
    gone = Anomaly("voter-unexplained", "gone", "g", "s", subject="voter 103", time_ns=14 * S)
    assert lines(recording, gone, "quorum") == [
        "12.0 s admin began: remove-voter 103: at n1 (operation 2)",
        "13.0 s admin, remove-voter 103, ok: at n1, no error (operation 3)",
        "14.0 s Guarantee broken: gone",
    ]


def test_without_a_moment_or_a_history_there_is_no_chronology() -> None:
    assert not lines(story(), Anomaly("lost-write", "s", "g", "s", subject="log-0/3@205"))
    assert not lines(Story(), LOST)


def test_errors_have_the_names_of_kafka() -> None:
    recording = story()
    for at_s, code in ((31, 84), (33, 9_999)):
        recording.add(at_s * S, "admin", "invoke", "elect-leaders", "preferred", {"partitions": None})
        answer = {"code": 0, "results": [["log-0", 3, code, None]]}
        recording.add((at_s + 1) * S, "admin", "ok", "elect-leaders", "preferred", answer)
    asked = [line.partition("Kafka answered ")[2] for line in lines(recording, LOST) if "preferred" in line]
    assert asked == ["ELECTION_NOT_NEEDED (84).", "UNKNOWN (9999)."]


def test_a_long_chronology_is_cut_in_its_middle_and_says_so() -> None:
    recording = story()
    for number in range(100):
        plan = {"kind": "pause", "spec": {}}
        recording.add(30 * S + number * MS, "nemesis", "invoke", "inject", f"b{number}", plan)
    shown = lines(recording, LOST)
    assert any(line.endswith("more events") for line in shown)
    assert len(shown) < STEPS[0].rows + 10


def test_a_damaged_history_still_has_a_chronology() -> None:
    recording = story()
    recording.add(26 * S, "admin", "invoke", "elect-leaders", "unclean", 7)
    recording.add(27 * S, "admin", "invoke", "alter-reassignments", None, "x")
    recording.add(47 * S, "observer-n1", "ok", "observe", "metadata-log", {"records": 7}, node="n1")
    assert "50.0 s Guarantee broken: 205 was acknowledged and is gone" in lines(recording, LOST)


def test_hostile_values_stay_text() -> None:
    evil = "</li><script>alert(1)</script>\x1b[31m\u202e"
    recording = story()
    recording.add(17 * S, evil, "info", "send", evil, None, error=evil, node=evil)
    anomaly = Anomaly(evil, evil, evil, evil, subject=f"{evil}/3@1", time_ns=50 * S, witness=(1, 2, 3))
    history = recording.history()
    page = render_report(history, Verdict(Validity.INVALID, (result_of("log", [anomaly, anomaly]),)))
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert" in page


def test_places_that_are_partitions() -> None:
    assert partition_named("log-0/3") == PartitionName("log-0", 3)
    assert partition_named("share-0: shares-0/2") == PartitionName("shares-0", 2)
    assert partition_named("lapse-4 txn-0/0") == PartitionName("txn-0", 0)
    assert partition_named("log-0/4 on b3") == PartitionName("log-0", 4)
    assert [partition_named(place) for place in ("n1", "/3", "a/b", "a/" + "9" * 11)] == [None] * 4


def test_a_subject_names_partition_and_offset() -> None:
    shared = Anomaly("share-stuck", "s", "g", "s", subject="share-0: shares-0/2@1466")
    assert context_of(shared, "share-groups") == ("shares-0", 2, 1466)
    assert context_of(msgspec.structs.replace(shared, subject="n1"), "nodes") == (None, None, None)


def test_of_share_groups_it_is_stated_why_no_licence_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = story()
    shared = msgspec.structs.replace(LOST, subject="share-0: log-0/3@205")
    for name, end in (
        ("share-wrong-record", "No event of the history permits a loss in log-0/3."),
        ("share-not-in-log", "No event of the history permits a loss in log-0/3."),
        ("share-uncommitted-read", "No event of the history permits a loss in log-0/3."),
        ("share-phantom", "No event permits a share-phantom."),
    ):
        monkeypatch.setattr(circumstances, "licences_of", lambda _: Licences({}))
        shown = lines(recording, msgspec.structs.replace(shared, id=name), "share-groups")
        assert shown[-1] == end
        assert any("Broker 2 was chosen uncleanly" in line for line in shown)
    undelivered = lines(recording, msgspec.structs.replace(shared, id="share-stuck"), "share-groups")
    assert undelivered[-1].startswith("50.0 s Guarantee broken: ")


def test_where_leader_epochs_began_is_shown_for_the_cause_in_that_epoch() -> None:
    history = story().history()
    disks = check_replicas(history)
    assert disks.epoch_starts == {"log-0/3": ((4, 0), (5, 206))}
    later = msgspec.structs.replace(LOST, subject="log-0/3@210")
    (cause,) = causes_of(Verdict(Validity.INVALID, (result_of("log", [later]), disks)), "log")
    assert cause.epochs == (5, 5)
    chronology = [line.text for line in Chronology(history).around(cause, STEPS[0])]
    assert (
        "Leader epoch 5 begins at offset 206. "
        "A replica that had records of an earlier epoch from there on has to truncate them."
    ) in chronology


def test_no_permit_is_named_for_kinds_that_nothing_permits() -> None:
    phantom = msgspec.structs.replace(LOST, id="phantom", summary="205 was never sent")
    chronology = lines(story(), phantom)
    assert chronology[-2:] == ["50.0 s Guarantee broken: 205 was never sent", "No event permits a phantom."]
    (cause,) = causes_of(Verdict(Validity.INVALID, (result_of("log", [phantom, LOST]),)))
    both = [line.text for line in Chronology(story().history()).around(cause, STEPS[0])][-2:]
    assert both[0] == "No event permits a phantom."
    assert both[1].startswith("This does not permit the other anomalies: ElectLeaders UNCLEAN: ")


def test_kinds_that_nothing_permits_are_those_that_the_checker_finds_without_a_licence() -> None:
    source = "".join(path.read_text() for path in Path(anomalies.__file__).parent.glob("*.py"))
    assert frozenset(re.findall(r'illegal\(\s*"([\w-]+)"', source)) == NO_LICENCE
    assert ANOMALIES.keys() >= NO_LICENCE
