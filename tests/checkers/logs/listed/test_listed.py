"""What leaders tell of where partitions begin and end, against what was acknowledged, sent and deleted."""

from typing import Any

import msgspec
import pytest

from checkers.history.operations import History, OperationType
from checkers.judge import result_by
from checkers.logs.listed import check_listed
from checkers.logs.listed.stable import opened_in
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, AdminStory
from tests.checkers.log_histories import MS

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
WALL_MS = 1_790_000_000_000
END_BEHIND, END_AHEAD, STABLE = "listed-end-behind", "listed-end-ahead", "stable-offset-ahead"
START_AHEAD, START_BEHIND, TIME = "listed-start-ahead", "listed-start-behind", "listed-time-wrong"


class Asked(AdminStory):
    """A partition that broker 1 leads in epoch 0, until it is changed."""

    def __init__(self, **setup: Any) -> None:
        super().__init__(**setup)
        self.created()

    def add_answer(
        self,
        at_ms: float,
        what: str,
        offset: int,
        *,
        node: str = "n1",
        epoch: int = 0,
        since_ms: float | None = None,
        stamp_ms: float = -WALL_MS - 1,
        clock_ms: int = 0,
    ) -> None:
        """A broker's answer, asked for a millisecond before; times of records are those of the history."""
        value = {
            "began_ns": round((at_ms - 1) * MS),
            "wall_ms": round(WALL_MS + clock_ms + at_ms - 1),
            "what": what,
            "since_ms": None if since_ms is None else round(WALL_MS + since_ms),
            "topics": {TOPIC: [[0, epoch, offset, round(WALL_MS + stamp_ms)]]},
        }
        self.observe(at_ms, "offsets", value, node=node)

    def deletes(self, at_ms: float, below: int, how: str = "ok", topic: str = TOPIC) -> None:
        self.both(at_ms, at_ms + 1, "delete-records", [[0, below]], key=topic, how=how)

    def leads(self, at_ms: float, leader: int) -> None:
        self.changed(at_ms, leader=leader)

    def transacts(
        self, at_ms: float, end_ms: float, *offsets: int | None, ending_ms: float | None = None, **value: Any
    ) -> None:
        """A transaction of process 9 with a record at each of some offsets."""
        asked = {
            "client": "raw",
            "end": "commit",
            "mops": [["send", TOPIC, 0, 90 + i] for i in range(len(offsets))],
        }
        mops = [[*mop, offset] for mop, offset in zip(asked["mops"], offsets, strict=True)]
        ending_ns = None if ending_ms is None else round(ending_ms * MS)
        answer = {**asked, "mops": mops, "ended": None, "ending_ns": ending_ns} | value
        self.add(at_ms, 9, INVOKE, "txn", key="t", value=asked)
        self.add(end_ms, 9, OK if ending_ms else FAIL, "txn", key="t", value=answer)

    def initialises(self, at_ms: float, process: int = 9, **value: Any) -> None:
        who = {"client": "raw", "producer_id": 7, "epoch": 1} | value
        self.add(at_ms, process, INVOKE, "init-transactions", key="t", value={"client": "raw"})
        self.add(at_ms + 1, process, OK, "init-transactions", key="t", value=who)


def judged(asked: AdminStory, **log: Any) -> CheckerResult:
    return check_listed(asked.history(**log))


def found(asked: AdminStory, **log: Any) -> list[str]:
    return [anomaly.id for anomaly in judged(asked, **log).anomalies if anomaly.licence is None]


def test_where_nobody_asked_nothing_is_judged() -> None:
    assert judged(Asked()).validity is Validity.NOT_EXERCISED


def test_answers_that_agree_with_what_was_done() -> None:
    asked = Asked()
    asked.send(10, 5, 0)
    asked.send(200, 6, 1)
    asked.add_answer(220, "latest", 2)
    asked.add_answer(230, "stable", 2)
    asked.add_answer(240, "earliest", 0)
    asked.add_answer(250, "newest", 1, stamp_ms=200)
    asked.add_answer(260, "since", 1, since_ms=100, stamp_ms=200)
    asked.add_answer(270, "since", -1, since_ms=260)
    asked.send(300, 7, 2)
    result = judged(asked)
    assert (result.validity, result.anomalies) == (Validity.VALID, ())
    assert result.figures == {
        "latest": 1,
        "stable": 1,
        "earliest": 1,
        "newest": 1,
        "since": 2,
        "from_former_leaders": 0,
        "from_unknown_leaders": 0,
    }


@pytest.mark.parametrize("what", ["latest", "stable"])
def test_an_end_below_what_was_acknowledged(what: str) -> None:
    asked = Asked()
    asked.send(10, 5, 0)
    asked.send(20, 6, 1)
    asked.add_answer(40, what, 1)
    (anomaly,) = judged(asked).anomalies
    assert (anomaly.id, anomaly.licence, len(anomaly.witness)) == (END_BEHIND, None, 2)
    assert "end offset 1 of log-0/0, but 2 had been acknowledged" in anomaly.summary


def test_an_end_below_what_another_leader_had_listed() -> None:
    asked = Asked()
    asked.add_answer(10, "latest", 7)
    asked.leads(20, 2)
    asked.add_answer(40, "latest", 6, node="n2", epoch=1)
    (anomaly,) = judged(asked).anomalies
    assert (anomaly.id, anomaly.licence) == (END_BEHIND, None)
    assert "but 7 had been reported" in anomaly.summary


def test_a_former_leader_may_tell_what_was_when_it_led() -> None:
    asked = Asked()
    asked.send(5, 4, 0)
    asked.leads(20, 2)
    asked.send(30, 5, 1)
    asked.add_answer(40, "latest", 1)
    asked.add_answer(45, "earliest", 0)
    result = judged(asked)
    assert (result.anomalies, result.figures["from_former_leaders"]) == ((), 2)
    asked.add_answer(50, "latest", 0)
    assert found(asked) == [END_BEHIND]


def test_where_no_log_has_epochs_nothing_is_due() -> None:
    asked = Asked()
    asked.send(10, 5, 0)
    asked.add_answer(40, "latest", 0)
    assert found(asked) == [END_BEHIND]
    assert found(asked, metadata_log=False) == []


def test_what_was_acknowledged_by_a_leader_alone_is_not_due() -> None:
    asked = Asked(workload={"acks": "1"})
    asked.send(10, 5, 0)
    asked.add_answer(40, "latest", 0)
    assert found(asked) == []


def test_what_was_acknowledged_by_a_leader_alone_may_stand_where_another_has_other_records() -> None:
    asked = Asked(workload={"acks": "1"})
    asked.add_answer(40, "latest", 6)
    asked.add_answer(45, "newest", 5, stamp_ms=44)
    asked.send(60, 5, 5)
    assert found(asked) == []


def test_what_was_lost_legally_is_not_due() -> None:
    asked = Asked()
    asked.send(10, 5, 0)
    asked.elect(20, 30)
    asked.changed(25, leader=3, isr=[3], leaderRecoveryState=1)
    asked.add_answer(40, "latest", 0, node="n3", epoch=1)
    (anomaly,) = judged(asked).anomalies
    assert (anomaly.id, anomaly.illegal, anomaly.licence is not None) == (END_BEHIND, False, True)


@pytest.mark.parametrize(
    ("what", "offset", "wrong"),
    [("latest", 3, True), ("stable", 4, True), ("newest", 2, True), ("latest", 2, False)],
)
def test_what_lies_behind_what_was_sent_later(what: str, offset: int, *, wrong: bool) -> None:
    asked = Asked()
    asked.send(10, 5, 0)
    asked.add_answer(20, what, offset, stamp_ms=15)
    asked.send(30, 8, 3)
    asked.send(40, 7, 2)
    anomalies = [each for each in judged(asked).anomalies if each.id == END_AHEAD]
    assert len(anomalies) == int(wrong)
    assert all("but the record at 2 was sent later" in each.summary for each in anomalies)


def opened(until: str) -> Asked:
    """A transaction with a record at offset 3 that is open until 500 ms, or as long as nothing ends it."""
    asked = Asked()
    asked.initialises(5, timeout_ms=400 if until == "timeout" else 60_000)
    ending_ms = 500 if until == "end" else None
    if until == "unreported":
        asked.transacts(100, 600, 3)
        asked.add(101, 10, INVOKE, "txn", key="u", value={"client": "raw", "end": "commit", "mops": []})
    else:
        asked.transacts(100, 600 if ending_ms else 150, None, 3, ending_ms=ending_ms)
    if until == "rival":
        asked.initialises(500, process=11)
    if until == "administrator":
        about = {"producer_id": 7, "epoch": 1, "partition": 0, "to": 1}
        asked.both(500, 510, "abort-transaction", about, key=TOPIC)
    return asked


@pytest.mark.parametrize("until", ["end", "timeout", "rival", "administrator", "never"])
def test_a_stable_offset_behind_an_open_transaction(until: str) -> None:
    asked = opened(until)
    asked.add_answer(490, "stable", 4)
    assert found(asked) == [STABLE]
    asked = opened(until)
    asked.add_answer(490, "stable", 3)
    asked.add_answer(495, "latest", 4)
    asked.add_answer(560, "stable", 4)
    assert found(asked) == ([STABLE] if until == "never" else [])


def test_a_coordinator_that_lost_its_state_may_end_a_transaction_as_it_did_an_older_one() -> None:
    asked = opened("never")
    asked.elect(200, 210, all_partitions=True)
    asked.add_answer(490, "stable", 4)
    (anomaly,) = judged(asked).anomalies
    assert (anomaly.id, anomaly.illegal) == (STABLE, False)
    assert "__transaction_state" in (anomaly.licence or "")


@pytest.mark.parametrize("how", ["ok", "info", None])
@pytest.mark.parametrize("until_ms", [90, 200])
def test_a_rival_that_was_not_over_when_a_transaction_began(how: str | None, until_ms: float) -> None:
    asked = opened("never")
    asked.add(50, 11, INVOKE, "init-transactions", key="t", value={"client": "raw"})
    if how is not None:
        who = {"client": "raw", "producer_id": 7, "epoch": 2, "timeout_ms": 60_000}
        asked.add(until_ms, 11, OperationType(how), "init-transactions", key="t", value=who)
    asked.add_answer(490, "stable", 4)
    assert found(asked) == ([STABLE] if how == "ok" and until_ms == 90 else [])


def test_an_answer_without_a_question_is_no_rival() -> None:
    asked = opened("never")
    asked.add(50, 12, OK, "init-transactions", key="t", value={"client": "raw", "epoch": 2})
    asked.add_answer(490, "stable", 4)
    assert found(asked) == [STABLE]


@pytest.mark.parametrize("lacking", ["timeout", "ending", "completion", "beginning"])
def test_a_transaction_of_which_too_little_is_known(lacking: str) -> None:
    asked = Asked()
    if lacking != "timeout":
        asked.initialises(5, timeout_ms=60_000)
    if lacking == "completion":
        asked.add(100, 9, INVOKE, "txn", key="t", value={"client": "raw", "end": "commit", "mops": []})
        asked.add(150, 9, INFO, "txn", key="t")
    else:
        asked.transacts(100, 150, 3)
    asked.add_answer(490, "stable", 4)
    made = asked.history()
    operations = [
        _without(o, "ending_ns") if lacking == "ending" and o.f == "txn" and o.type is not INVOKE else o
        for o in made.operations
        if not (lacking == "beginning" and o.f == "txn" and o.type is INVOKE)
    ]
    again = History("run", "", tuple(operations))
    if lacking == "beginning":
        assert opened_in(again) == {}
    else:
        assert check_listed(again).anomalies == ()


def _without(operation: Any, name: str) -> Any:
    value = {key: each for key, each in operation.value.items() if key != name}
    return msgspec.structs.replace(operation, value=value)


@pytest.mark.parametrize("what", ["stable", "latest"])
@pytest.mark.parametrize(("leader", "kept_ms"), [(3, 20), (1, 20), (3, 2_000)])
def test_a_leader_may_have_missed_the_marker_of_a_transaction(what: str, leader: int, kept_ms: int) -> None:
    """Of a compacted topic, while it was out of sync for longer than markers are kept."""
    config = {"cleanup.policy": "compact", "delete.retention.ms": str(kept_ms)}
    asked = Asked(topics=[{"name": TOPIC, "partitions": 1, "config": config}], workload={"keys": 4})
    asked.changed(20, isr=[1, 2])
    asked.transacts(25, 30, 0)
    asked.add_answer(40, what, 2)
    asked.changed(90, isr=[1, 2, 3])
    asked.changed(95, leader=leader)
    asked.add_answer(2_000, what, 0, node=f"n{leader}", epoch=1)
    excused = what == "stable" and leader == 3 and kept_ms == 20
    assert {(each.id, each.illegal) for each in judged(asked).anomalies} == {(END_BEHIND, not excused)}


def test_the_last_stable_offset_is_compared_with_itself_where_there_are_transactions() -> None:
    asked = Asked()
    asked.initialises(5, timeout_ms=60_000)
    asked.send(10, 5, 0)
    asked.transacts(20, 60, 1, ending_ms=40)
    asked.add_answer(70, "latest", 3)
    asked.add_answer(80, "stable", 1)
    assert found(asked) == []
    asked.add_answer(90, "stable", 0)
    assert found(asked) == [END_BEHIND]


@pytest.mark.parametrize(("offset", "wrong"), [(5, []), (6, [START_AHEAD])])
def test_a_start_behind_what_was_asked_for(offset: int, wrong: list[str]) -> None:
    asked = Asked()
    asked.deletes(10, 5, how="info")
    asked.deletes(10, 9, topic="other")
    asked.deletes(90, 9)
    asked.add_answer(40, "earliest", offset)
    assert found(asked) == wrong


@pytest.mark.parametrize("how", ["config", "altered", "removed", "brokers", "a broker"])
def test_a_start_may_move_by_retention_or_with_another_topic(how: str) -> None:
    topic: dict[str, Any] = {"name": TOPIC, "partitions": 1, "config": {}}
    asked = Asked(
        topics=[topic | {"config": {"retention.ms": "1000"} if how == "config" else {}}],
        config={"log.retention.bytes": "1"} if how == "brokers" else {"log.retention.check.interval.ms": "1"},
        node_config={"n1": {"log.retention.hours": "1"}} if how == "a broker" else {},
    )
    if how == "altered":
        asked.both(5, 6, "alter-topic", {"config": "retention.bytes", "value": "1", "to": "n1"}, key=TOPIC)
    if how == "removed":
        asked.both(50, 60, "delete-topic", None, key=TOPIC)
    asked.add_answer(40, "earliest", 6)
    assert found(asked) == []


def test_a_start_below_what_was_deleted() -> None:
    asked = Asked()
    asked.deletes(10, 5)
    asked.add_answer(11, "earliest", 0)
    asked.add_answer(40, "earliest", 5)
    assert found(asked) == []
    asked.add_answer(50, "earliest", 4, node="n2")
    assert found(asked) == [START_BEHIND]


def test_a_start_below_what_was_deleted_after_a_kill() -> None:
    asked = Asked()
    asked.deletes(10, 5)
    asked.fault(20, 30, "kill", "n1")
    asked.add_answer(2500, "earliest", 0)
    asked.add_answer(2600, "earliest", 1)
    (anomaly,) = judged(asked).anomalies
    assert (anomaly.id, anomaly.illegal, anomaly.licence is not None) == (START_BEHIND, False, True)


@pytest.mark.parametrize("killed", [False, True])
def test_a_start_that_goes_back_within_a_leadership(*, killed: bool) -> None:
    asked = Asked()
    asked.deletes(10, 5, how="info")
    asked.add_answer(40, "earliest", 5)
    if killed:
        asked.fault(45, 47, "kill", "n1")
    asked.add_answer(50, "earliest", 4)
    assert found(asked) == ([] if killed else [START_BEHIND])


def dated() -> Asked:
    asked = Asked()
    for at_ms, value, offset in ((100, 5, 0), (300, 6, 1), (500, 7, 2)):
        asked.send(at_ms, value, offset)
    return asked


@pytest.mark.parametrize(
    ("what", "offset", "since_ms", "stamp_ms", "wrong"),
    [
        ("since", 1, 200, 300, False),
        ("since", 1, 200, 190, True),
        ("since", 2, 200, 500, True),
        ("since", 2, 270, 500, False),
        ("since", -1, 200, -1, True),
        ("since", -1, 520, -1, False),
        ("since", 9, 520, 530, False),
        ("newest", 2, None, 500, False),
        ("newest", 1, None, 300, True),
        ("newest", 2, None, 600, True),
        ("newest", -1, None, -1, False),
    ],
)
def test_what_stands_at_a_time(
    what: str, offset: int, since_ms: float | None, stamp_ms: float, *, wrong: bool
) -> None:
    asked = dated()
    asked.add_answer(700, what, offset, since_ms=since_ms, stamp_ms=stamp_ms)
    assert found(asked) == ([TIME] if wrong else [])


@pytest.mark.parametrize(
    ("since_ms", "offset", "stamp_ms", "wrong"),
    [
        (300, 4, 300, False),
        (299, 4, 300, False),
        (301, 5, 302, False),
        (300, 5, 302, True),
        (299, 5, 302, True),
        (300, -1, -1, True),
        (301, -1, -1, False),
    ],
)
def test_a_record_that_was_returned_is_returned_again_for_its_timestamp(
    since_ms: float, offset: int, stamp_ms: float, *, wrong: bool
) -> None:
    asked = Asked()
    asked.add_answer(600, "since", 4, since_ms=290, stamp_ms=300)
    asked.add_answer(700, "since", offset, since_ms=since_ms, stamp_ms=stamp_ms)
    assert found(asked) == ([TIME] if wrong else [])
    if wrong:
        (anomaly,) = judged(asked).anomalies
        assert "the record at 4 has the timestamp" in anomaly.summary
        assert len(anomaly.witness) == 2


def test_a_record_is_not_due_before_it_was_returned_or_by_a_former_leader() -> None:
    asked = Asked()
    asked.add_answer(600, "since", 5, since_ms=300, stamp_ms=302)
    asked.add_answer(602, "since", 4, since_ms=299, stamp_ms=300)
    assert found(asked) == []
    asked.leads(610, 2)
    asked.add_answer(700, "since", 3, since_ms=280, stamp_ms=281, node="n2", epoch=1)
    asked.add_answer(800, "since", 4, since_ms=281, stamp_ms=300)
    assert found(asked) == []
    asked.add_answer(900, "since", 4, since_ms=281, stamp_ms=300, node="n2", epoch=1)
    assert found(asked) == [TIME]


def test_a_record_that_was_returned_may_be_lost_or_deleted() -> None:
    asked = Asked()
    asked.add_answer(200, "since", 4, since_ms=290, stamp_ms=300)
    asked.deletes(300, 5)
    asked.add_answer(400, "since", 5, since_ms=300, stamp_ms=302)
    asked.add_answer(401, "since", -1, since_ms=300)
    assert found(asked) == []


def test_the_newest_record_does_not_show_which_one_has_its_timestamp() -> None:
    asked = Asked()
    asked.add_answer(600, "newest", 4, stamp_ms=300)
    asked.add_answer(700, "since", 5, since_ms=300, stamp_ms=302)
    assert found(asked) == []


def test_records_that_were_deleted_are_not_due_by_time() -> None:
    asked = dated()
    asked.deletes(600, 3)
    asked.add_answer(590, "since", 1, since_ms=200, stamp_ms=300)
    asked.add_answer(700, "since", -1, since_ms=200)
    assert judged(asked).anomalies == ()
    asked.send(710, 8, 3)
    asked.send(715, 9, 4)
    asked.add_answer(800, "since", -1, since_ms=200)
    assert found(asked) == [], "a segment that is not yet gone hides what follows it"
    asked.add_answer(810, "since", 4, since_ms=200, stamp_ms=715)
    assert found(asked) == [TIME]


@pytest.mark.parametrize(
    ("killed", "since_ms", "offset", "wrong"),
    [
        ("n2", 350, -1, False),
        ("n2", 350, 3, True),
        ("n2", 450, -1, True),
        ("n1", 350, -1, True),
    ],
)
def test_a_log_that_was_truncated_may_hide_what_comes_after_that_from_a_search_by_time(
    killed: str, since_ms: float, offset: int, *, wrong: bool
) -> None:
    asked = dated()
    asked.fault(250, 260, "kill", killed)
    asked.leads(400, 2)
    asked.send(600, 8, 3)
    asked.add_answer(700, "since", offset, node="n2", epoch=1, since_ms=since_ms, stamp_ms=600)
    assert found(asked) == ([TIME] if wrong else [])
    (anomaly,) = judged(asked).anomalies
    assert wrong or "restarted and truncated" in (anomaly.licence or "")


def test_records_that_are_too_old_are_not_due_by_time() -> None:
    asked = dated()
    asked.both(5, 6, "alter-topic", {"config": "retention.ms", "value": "1", "to": "n1"}, key=TOPIC)
    asked.add_answer(700, "since", -1, since_ms=200)
    assert found(asked) == []


def test_records_that_may_be_compacted_are_not_due_by_time() -> None:
    config = {"cleanup.policy": "compact"}
    asked = Asked(topics=[{"name": TOPIC, "partitions": 1, "config": config}], workload={"keys": 3})
    asked.send(100, 5, 0)
    asked.add_answer(700, "since", -1, since_ms=10)
    assert found(asked) == []


def test_a_clock_that_was_set_proves_nothing() -> None:
    asked = dated()
    asked.add_answer(700, "since", -1, since_ms=200)
    asked.add_answer(710, "latest", 3, clock_ms=5_000)
    assert found(asked) == []


def test_a_partition_that_was_not_there_at_first_and_of_which_nobody_sent_anything() -> None:
    asked = Asked()
    value = {
        "began_ns": 30 * MS,
        "wall_ms": WALL_MS,
        "what": "latest",
        "since_ms": None,
        "topics": {TOPIC: [[9, 0, 0, -1]]},
    }
    asked.observe(40, "offsets", value)
    assert (found(asked), judged(asked).validity) == ([], Validity.VALID)


def test_what_is_found_makes_a_run_invalid() -> None:
    asked = Asked()
    asked.add_answer(40, "earliest", 6)
    assert (found(asked), judged(asked).validity) == ([START_AHEAD], Validity.INVALID)


def test_of_a_topic_that_the_run_did_not_make_nothing_is_judged() -> None:
    asked = Asked(topics=[{"name": "other", "partitions": 1, "config": {}}])
    asked.add_answer(40, "earliest", 6)
    assert judged(asked).validity is Validity.NOT_EXERCISED


def test_what_was_asked_may_be_lost_with_a_journal() -> None:
    asked = Asked()
    asked.add_answer(40, "earliest", 6)
    whole = asked.history()
    lacking = frozenset(["worker-3"])
    result = result_by("listed-offsets", check_listed, History("run", "", whole.operations, lacking=lacking))
    assert result.validity is Validity.UNKNOWN


@pytest.mark.parametrize(("application", "loaded"), [("", False), ("app-0", True), ("app-0", False)])
def test_what_kafka_streams_writes_is_transactional(application: str, *, loaded: bool) -> None:
    asked = Asked()
    asked.add_answer(230, "latest", 5)
    asked.add_answer(240, "stable", 3)
    history = asked.history()
    (setup,) = history.of("setup")
    topics = [{"name": TOPIC, "partitions": 1, "loaded": loaded}]
    workload = {**setup.value.get("workload", {}), "application": application}
    operations = list(history.operations)
    operations[setup.index] = msgspec.structs.replace(
        setup, value={**setup.value, "topics": topics, "workload": workload}
    )
    result = check_listed(History("run", "", tuple(operations)))
    expected = [] if application and not loaded else [END_BEHIND]
    assert [anomaly.id for anomaly in result.anomalies] == expected
