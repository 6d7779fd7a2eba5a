"""What coordinators and leaders tell of transactions is what was done to those."""

from typing import Any

import msgspec
import pytest

from checkers.administration.descriptions import check_descriptions
from checkers.evidence.coordinators import TRANSACTIONS_TOPIC, number_of
from checkers.history.operations import OperationType
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory
from tests.checkers.log_histories import MS

NAME, CLIENT = "lapse-1", "raw"
OK, FAIL = OperationType.OK, OperationType.FAIL
WHO = {"producer_id": 7, "epoch": 3}
OPENED_MS, TIMEOUT_MS = 100, 500
STATES_ID = "c3RhdGVzAAAAAAAAAAAAAA"


class DescribedTransaction(AdminStory):
    """A transaction that broker 1 coordinates, with a record at offset 40 of what broker 2 leads."""

    def __init__(self, *, leaders: tuple[int, ...] = (), **fields: Any) -> None:
        super().__init__()
        self.created(replicas=(2, 3), at_ms=-90)
        self.record(-80, "TOPIC_RECORD", {"name": TRANSACTIONS_TOPIC, "topicId": STATES_ID})
        state = {"replicas": [1, 3], "isr": [1, 3], "leader": 1, "leaderEpoch": 0}
        self.record(-70, "PARTITION_RECORD", {"partitionId": 0, "topicId": STATES_ID, **state})
        for at_ms, leader in zip((-60, -50), leaders, strict=False):
            change = {"partitionId": 0, "topicId": STATES_ID, "leader": leader}
            self.record(at_ms, "PARTITION_CHANGE_RECORD", change)
        known = {"client": CLIENT, "timeout_ms": TIMEOUT_MS}
        self.call((80, 85), 9, "init-transactions", NAME, known, known | WHO)
        self.sent = {
            "client": CLIENT,
            "end": "commit",
            "mops": [["send", TOPIC, 0, 5, 40]],
            "ended": None,
            "ending_ns": None,
            "sent_ns": (OPENED_MS + 20) * MS,
            "coordinator": 1,
            "leaders": {"0": 2},
        } | fields

    def call(
        self, span: tuple[int, int], process: int, f: str, key: str, *values: Any, how: str = "ok"
    ) -> None:
        asked, answer = values
        self.add(span[0], process, OperationType.INVOKE, f, key=key, value=asked)
        self.add(span[1], process, OperationType(how), f, key=key, value=answer)

    def ends(self, at_ms: int = 130, how: str = "fail", **fields: Any) -> None:
        asked = {name: self.sent[name] for name in ("client", "end", "mops")}
        self.call((OPENED_MS, at_ms), 9, "txn", NAME, asked, self.sent | fields, how=how)

    def coordinator(self, at_ms: int = 150, to: int = 1, how: str = "ok", **fields: Any) -> None:
        now = {"state": "Ongoing", "told_id": 7, "told_epoch": 3, "partitions": [[TOPIC, 0]]} | fields
        asked = WHO | {"to": to}
        self.call((at_ms, at_ms + 5), 10, "describe-transaction", NAME, asked, asked | now, how=how)

    def leader(self, at_ms: int = 160, to: int = 2, **fields: Any) -> None:
        asked = WHO | {"partition": 0, "to": to}
        now = {"known": True, "told_epoch": 3, "start_offset": 40} | fields
        self.call((at_ms, at_ms + 5), 10, "describe-producer", TOPIC, asked, asked | now)

    def abort(self, at_ms: int = 170, how: str = "ok", to: int = 2) -> None:
        asked = WHO | {"partition": 0, "to": to}
        self.call((at_ms, at_ms + 5), 10, "abort-transaction", TOPIC, asked, asked | {"code": 0}, how=how)


def judged(recording: AdminStory) -> CheckerResult:
    return check_descriptions(recording.history())


def found(recording: AdminStory) -> list[str]:
    return [f"{anomaly.id} {anomaly.subject}" for anomaly in judged(recording).anomalies]


def test_a_history_without_descriptions_has_no_findings() -> None:
    assert judged(AdminStory()).validity is Validity.NOT_EXERCISED


def test_a_transaction_that_is_described_as_it_is() -> None:
    recording = DescribedTransaction()
    recording.ends()
    recording.coordinator()
    recording.leader()
    recording.abort()
    recording.leader(180, start_offset=-1)
    recording.coordinator(700, state="CompleteAbort", told_epoch=4, partitions=[])
    result = judged(recording)
    assert (result.anomalies, result.validity) == ((), Validity.VALID)
    assert result.figures["described_while_open"] == 1
    assert number_of(NAME, 1) == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "Empty"},
        {"state": "CompleteAbort", "told_epoch": 4},
        {"told_epoch": 2, "state": "CompleteCommit"},
        {"told_id": 8},
        {"partitions": []},
        {"partitions": [[TOPIC, 1]]},
    ],
)
def test_a_coordinator_that_has_forgotten(fields: dict[str, Any]) -> None:
    recording = DescribedTransaction()
    recording.ends()
    recording.coordinator(**fields)
    assert found(recording) == [f"open-transaction-unknown {NAME}"]
    (anomaly,) = judged(recording).anomalies
    assert anomaly.illegal
    assert len(anomaly.witness) == 4


@pytest.mark.parametrize("at_ms", [118, 596])
def test_before_its_records_and_after_its_timeout_nothing_is_reported(at_ms: int) -> None:
    recording = DescribedTransaction()
    recording.ends()
    recording.coordinator(at_ms, state="Empty")
    recording.leader(at_ms, known=False)
    assert found(recording) == []


def test_once_its_end_was_asked_for_or_a_rival_began_nothing_is_reported() -> None:
    recording = DescribedTransaction()
    recording.ends(200, ending_ns=140 * MS)
    recording.coordinator(state="CompleteAbort")
    assert found(recording) == []
    recording = DescribedTransaction()
    recording.ends()
    recording.add(140, 11, OperationType.INVOKE, "init-transactions", key=NAME, value={"client": CLIENT})
    recording.coordinator(state="Empty", told_epoch=4)
    assert found(recording) == []


@pytest.mark.parametrize(
    ("how", "answered_ms", "wrong"),
    [("info", 60, False), ("fail", 60, True), ("ok", 60, True), ("ok", 110, False)],
)
def test_an_earlier_initialisation_without_an_answer_may_be_executed_late(
    how: str, answered_ms: int, *, wrong: bool
) -> None:
    recording = DescribedTransaction()
    nobody = {"client": CLIENT, "timeout_ms": TIMEOUT_MS}
    recording.call((50, answered_ms), 11, "init-transactions", NAME, nobody, nobody, how=how)
    recording.ends()
    recording.coordinator(state="CompleteAbort", told_epoch=4)
    recording.leader(start_offset=-1)
    expected = [f"open-transaction-unknown {NAME}", f"open-producer-unknown {NAME}"]
    assert found(recording) == (expected if wrong else [])


@pytest.mark.parametrize(
    ("given_up_ms", "fault_ms", "wrong"),
    [(-2_500, None, False), (-3_500, None, True), (-21_000, -10_000, False), (-35_000, -30_000, True)],
)
def test_an_initialisation_that_was_given_up_long_ago_is_executed_no_more(
    given_up_ms: int, fault_ms: int | None, *, wrong: bool
) -> None:
    recording = DescribedTransaction()
    nobody = {"client": CLIENT, "timeout_ms": TIMEOUT_MS}
    asked_ms = given_up_ms - 2_500
    recording.call((asked_ms, given_up_ms), 11, "init-transactions", NAME, nobody, nobody, how="info")
    if fault_ms is not None:
        recording.fault(asked_ms - 10_000, fault_ms, "pause", "n1")
    recording.ends()
    recording.coordinator(state="CompleteAbort", told_epoch=4)
    assert found(recording) == ([f"open-transaction-unknown {NAME}"] if wrong else [])


def test_an_initialisation_without_a_completion_may_be_executed_at_any_time() -> None:
    recording = DescribedTransaction()
    recording.add(-60_000, 11, OperationType.INVOKE, "init-transactions", key=NAME, value={"client": CLIENT})
    recording.ends()
    recording.coordinator(state="CompleteAbort", told_epoch=4)
    assert found(recording) == []


def test_an_initialisation_of_another_id_ends_nothing() -> None:
    recording = DescribedTransaction()
    recording.add(50, 11, OperationType.INVOKE, "init-transactions", key="lapse-2", value={"client": CLIENT})
    recording.ends()
    recording.coordinator(state="CompleteAbort", told_epoch=4)
    assert found(recording) == [f"open-transaction-unknown {NAME}"]


@pytest.mark.parametrize("offset", [None, 40])
def test_a_record_that_was_not_answered_may_open_an_aborted_transaction_again(offset: int | None) -> None:
    recording = DescribedTransaction(mops=[["send", TOPIC, 0, 5, offset]])
    recording.ends()
    recording.abort()
    recording.leader(200, start_offset=42)
    assert found(recording) == ([] if offset is None else [f"aborted-transaction-open {NAME}"])


@pytest.mark.parametrize(
    ("leaders", "unknown"),
    [
        pytest.param((), ["open-transaction-unknown"], id="new"),
        pytest.param((3, 1), [], id="it led before"),
    ],
)
def test_another_coordinator_counts_if_it_leads_for_the_first_time(
    leaders: tuple[int, ...], unknown: list[str]
) -> None:
    recording = DescribedTransaction(leaders=leaders)
    recording.ends()
    recording.coordinator(to=3, state="Empty")
    assert [each.id for each in judged(recording).anomalies] == unknown


def test_where_nobody_knows_who_coordinates_only_the_same_broker_counts() -> None:
    recording = DescribedTransaction()
    recording.ends()
    recording.coordinator(to=3, state="Empty")
    assert check_descriptions(recording.history(metadata_log=False)).anomalies == ()


@pytest.mark.parametrize(
    "fields",
    [{"known": False}, {"told_epoch": 2}, {"start_offset": -1}, {"start_offset": 39}, {"start_offset": 41}],
)
def test_a_leader_that_has_forgotten(fields: dict[str, Any]) -> None:
    recording = DescribedTransaction()
    recording.ends()
    recording.leader(**fields)
    recording.leader(190, to=3)
    assert found(recording) == [f"open-producer-unknown {NAME}"]


def test_a_leader_that_led_before_may_tell_what_was() -> None:
    recording = DescribedTransaction(leaders=(3, 1))
    recording.changed(-40, leader=3)
    recording.changed(-30, leader=2)
    recording.ends()
    recording.leader(to=3, known=False)
    assert found(recording) == []


def test_a_record_that_nobody_acknowledged_is_no_beginning() -> None:
    recording = DescribedTransaction(mops=[["send", TOPIC, 0, 5, None]])
    recording.ends()
    recording.leader(start_offset=-1)
    assert found(recording) == []


@pytest.mark.parametrize(
    ("how", "to", "is_open", "wrong"),
    [("ok", 2, True, True), ("ok", 1, True, True), ("info", 2, True, False), ("ok", 2, False, False)],
)
def test_an_aborted_transaction_is_open_no_more(how: str, to: int, is_open: bool, wrong: bool) -> None:  # noqa: FBT001
    recording = DescribedTransaction()
    recording.ends()
    recording.abort(how=how)
    recording.leader(200, to=to, start_offset=40 if is_open else -1)
    assert found(recording) == ([f"aborted-transaction-open {NAME}"] if wrong else [])


@pytest.mark.parametrize(
    ("told_epoch", "at_ms", "wrong"), [(4, 700, True), (3, 700, True), (2, 700, False), (4, 900, False)]
)
def test_no_commit_is_acknowledged_after_a_described_abort(told_epoch: int, at_ms: int, wrong: bool) -> None:  # noqa: FBT001
    recording = DescribedTransaction()
    recording.ends(850, how="ok", ended="commit", ending_ns=800 * MS)
    recording.coordinator(at_ms, state="CompleteAbort", told_epoch=told_epoch)
    assert found(recording) == ([f"commit-after-abort {NAME}"] if wrong else [])


def test_libraries_transactions_and_ends_without_a_beginning_are_left_out() -> None:
    recording = DescribedTransaction()
    recording.add(90, 12, OperationType.OK, "txn", key=NAME, value={"client": "kafka-python", "mops": []})
    recording.call((95, 99), 9, "txn", NAME, *[{"client": "kafka-python", "mops": []}] * 2)
    recording.coordinator(state="Empty")
    assert found(recording) == []


@pytest.mark.parametrize(("at_ms", "excused"), [(115, True), (400, False)])
def test_what_the_coordinators_topic_may_have_lost_by_then_excuses(at_ms: int, *, excused: bool) -> None:
    recording = DescribedTransaction()
    recording.record(
        -45,
        "CONFIG_RECORD",
        {
            "resourceType": 2,
            "resourceName": TRANSACTIONS_TOPIC,
            "name": "unclean.leader.election.enable",
            "value": "true",
        },
    )
    change = {"partitionId": 0, "topicId": STATES_ID, "leader": 3, "isr": [3], "leaderRecoveryState": 1}
    recording.record(
        at_ms - 5,
        "PARTITION_CHANGE_RECORD",
        {"partitionId": 0, "topicId": STATES_ID, "isr": [1], "leader": -1},
    )
    recording.record(at_ms, "PARTITION_CHANGE_RECORD", change)
    recording.ends()
    recording.coordinator(state="Empty")
    (anomaly,) = judged(recording).anomalies
    assert (anomaly.illegal, anomaly.licence is not None) == (not excused, excused)


@pytest.mark.parametrize(("at_ms", "excused"), [(115, True), (400, False)])
def test_producers_of_partitions_that_may_have_lost_records_by_then_are_left_out(
    at_ms: int, *, excused: bool
) -> None:
    recording = DescribedTransaction()
    asked = {"config": "unclean.leader.election.enable", "value": "true", "to": "n1"}
    recording.both(2, 3, "alter-topic", asked, key=TOPIC)
    recording.record(
        at_ms - 5,
        "PARTITION_CHANGE_RECORD",
        {"partitionId": 0, "topicId": TOPIC_ID, "isr": [2], "leader": -1},
    )
    recording.record(
        at_ms,
        "PARTITION_CHANGE_RECORD",
        {"partitionId": 0, "topicId": TOPIC_ID, "leader": 3, "isr": [3], "leaderRecoveryState": 1},
    )
    recording.ends()
    recording.leader(known=False)
    assert (found(recording) == []) is excused


@pytest.mark.parametrize("lacking", ["timeout_ms", "epoch"])
def test_transactions_of_producers_that_nobody_described_are_left_out(lacking: str) -> None:
    recording = DescribedTransaction()
    recording.ends()
    recording.coordinator(state="Empty")
    recording.leader(known=False)
    recording.coordinator(170, how="fail")
    history = recording.history()
    some = tuple(
        msgspec.structs.replace(o, value={k: v for k, v in o.value.items() if k != lacking})
        if o.f == "init-transactions"
        else o
        for o in history.operations
    )
    assert check_descriptions(msgspec.structs.replace(history, operations=some)).anomalies == ()
