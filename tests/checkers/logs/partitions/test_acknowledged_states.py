"""What is sent while too few replicas are in sync, or one of them is down, can't be acknowledged then."""

from typing import Any

import pytest

from checkers.history.operations import History, OperationType
from checkers.judge import result_by
from checkers.logs.partitions import check_partitions
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, AdminStory

TWO = {"resourceType": 2, "resourceName": TOPIC, "name": "min.insync.replicas", "value": "2"}
ENDED_MS = 20_000
ACKED_BELOW = {"acked-below-min-isr": 1}
ACKED_WITHOUT = {"acked-without-member": 1}
READ_WITHOUT = {"read-without-member": 1}


def sent(
    recording: AdminStory,
    at_ms: float,
    end_ms: float,
    value: int = 7,
    *,
    outcome: str = "ok",
    partition: int = 0,
) -> None:
    """A record that was sent, and answered."""
    process = 1000 + value
    recording.add(at_ms, process, OperationType.INVOKE, "send", key=TOPIC, value=[[partition, value]])
    offset = 3 if outcome == "ok" else None
    answer = [[partition, value, offset, outcome]]
    recording.add(end_ms, process, OperationType(outcome), "send", key=TOPIC, value=answer)


def polled(recording: AdminStory, at_ms: float, value: int = 7) -> None:
    """A record that was returned."""
    asked = {"client": "kafka-python", "isolation": "read_uncommitted"}
    recording.add(at_ms - 1, 50, OperationType.INVOKE, "poll", key=TOPIC, value=asked)
    recording.add(
        at_ms, 50, OperationType.OK, "poll", key=TOPIC, value=asked | {"records": [[0, [3], [value]]]}
    )


def judged(recording: AdminStory, **changed: Any) -> CheckerResult:
    return check_partitions(recording.history(**{"began_ns": ENDED_MS * 1_000_000} | changed))


class TestTooFewInSync:
    """Two are needed; from 10 ms on broker 1 is alone, reported at 20 ms; at 9000 ms broker 2 is back."""

    def alone(self, *, known: bool = True, leader: int = 1, **setup: Any) -> AdminStory:
        recording = AdminStory(**setup)
        recording.record(0.1, "CONFIG_RECORD", TWO)
        recording.created()
        recording.changed(
            10, isr=[1], eligibleLeaderReplicas=[2, 3], **({"leader": -1} if leader == -1 else {})
        )
        recording.changed(
            9000, isr=[1, 2], eligibleLeaderReplicas=[], **({"leader": 1} if leader == -1 else {})
        )
        if known:
            recording.view(20, 0, [1])
        return recording

    @pytest.mark.parametrize(
        ("at_ms", "end_ms", "found"),
        [
            (1021, 8999, True),
            (1020, 8999, True),
            (1019, 8999, False),  # the leader may not have acted by it yet
            (1021, 9000.5, False),  # another may have been in sync again
            (5, 8000, False),
        ],
    )
    def test_what_was_sent_and_acknowledged_meanwhile(
        self, at_ms: float, end_ms: float, *, found: bool
    ) -> None:
        recording = self.alone()
        sent(recording, at_ms, end_ms)
        result = judged(recording)
        assert result.counts == (ACKED_BELOW if found else {})
        assert result.validity is (Validity.INVALID if found else Validity.VALID)
        assert result.figures["acknowledged_records"] == 1
        assert result.figures["below_min_isr_s"] == pytest.approx(8.0)

    def test_the_finding_convinces(self) -> None:
        recording = self.alone()
        sent(recording, 2000, 2001)
        history = recording.history(began_ns=ENDED_MS * 1_000_000)
        (anomaly,) = check_partitions(history).anomalies
        assert "sent at 2.000 s and acknowledged at 2.001 s" in anomaly.summary
        assert "ISR [1]" in anomaly.explanation[0]
        assert [history.operations[i].f for i in anomaly.witness] == ["send", "send", "observe", "observe"]

    @pytest.mark.parametrize("outcome", ["info", "fail"])
    def test_what_was_not_acknowledged(self, outcome: str) -> None:
        recording = self.alone()
        sent(recording, 2000, 2001, outcome=outcome)
        assert judged(recording).counts == {}

    def test_a_leader_that_answered_nothing_may_not_know(self) -> None:
        recording = self.alone(known=False)
        recording.view(20, 0, [1, 2, 3])
        recording.view(30, 0, [1], nodes=[2])
        sent(recording, 2000, 2001)
        assert judged(recording).counts == {}

    def test_a_leader_that_answered_too_late(self) -> None:
        recording = self.alone(known=False)
        recording.view(8500, 0, [1])
        sent(recording, 8600, 8601)
        assert judged(recording).counts == {}

    def test_a_leader_that_was_paused_reports_again(self) -> None:
        recording = self.alone()
        recording.fault(30, 40, "pause", "n1")
        sent(recording, 2000, 2001)
        assert judged(recording).counts == {}
        recording.view(50, 0, [1])
        assert judged(recording).counts == ACKED_BELOW

    def test_where_nobody_leads_there_is_no_leader_that_knows(self) -> None:
        recording = self.alone(leader=-1, known=False)
        state = [0, -1, 1, [1, 2, 3], [1], None]
        recording.observe(20, "partitions", {"began_ns": 0, "topics": {TOPIC: [state]}})
        sent(recording, 2000, 2001)
        assert judged(recording).counts == {}

    def test_a_producer_that_waits_for_the_leader_alone(self) -> None:
        recording = self.alone(workload={"acks": "1"})
        sent(recording, 2000, 2001)
        assert judged(recording).counts == {}

    def test_a_transaction_whose_send_was_acknowledged(self) -> None:
        recording = self.alone(workload={"acks": "1"})
        asked = {"client": "kafka-python", "end": "abort", "mops": [["send", TOPIC, 0, 7]], "consumed": []}
        answer = asked | {"mops": [["send", TOPIC, 0, 7, 3]], "ended": "abort"}
        recording.both(2000, 2001, "txn", asked, key="t", answer=None, how="fail")
        assert judged(recording).counts == {}
        recording.add(3000, 77, OperationType.INVOKE, "txn", key="t", value=asked)
        recording.add(3001, 77, OperationType.FAIL, "txn", key="t", value=answer)
        assert judged(recording).counts == ACKED_BELOW

    @pytest.mark.parametrize(
        ("changes", "found"),
        [
            ([(50, "1")], False),  # fewer are needed then
            ([(5000, "1")], True),  # the value before counts until then
            ([(50, "3"), (60, "2")], False),  # by then the leader need not know that it is two again
            ([(50, "3"), (60, "2"), (70, None)], False),
        ],
    )
    def test_the_value_is_that_of_the_time(
        self, changes: list[tuple[float, str | None]], *, found: bool
    ) -> None:
        recording = AdminStory()
        recording.record(0.1, "CONFIG_RECORD", TWO)
        recording.created()
        recording.changed(10, isr=[1], eligibleLeaderReplicas=[2, 3])
        recording.view(20, 0, [1])
        for at_ms, value in changes:
            recording.record(at_ms, "CONFIG_RECORD", TWO | {"value": value})
        recording.record(9000, "CONFIG_RECORD", TWO | {"resourceName": "other"})
        sent(recording, 2000, 2001)
        assert judged(recording).counts == (ACKED_BELOW if found else {})

    def test_a_leader_that_reports_something_later_knows_the_new_value(self) -> None:
        recording = AdminStory()
        recording.created()
        recording.changed(10, isr=[1, 2])
        recording.view(20, 0, [1, 2])
        recording.record(30, "CONFIG_RECORD", TWO | {"value": "3"})
        recording.changed(40, isr=[1])
        recording.changed(50, isr=[1, 2])
        sent(recording, 3000, 3001)
        recording.view(60, 0, [1])
        assert (
            judged(recording).counts == {}
        )  # it is back since 50 ms, and the leader has not reported so yet
        recording.record(69, "TOPIC_RECORD", {"name": "t", "topicId": "t"})
        recording.record(
            70, "PARTITION_RECORD", {"partitionId": 1, "topicId": "t", "replicas": [1], "isr": [1]}
        )
        states = {"t": [[1, -1, 0, [1], [1], None]], TOPIC: [[0, 1, 0, [1, 2, 3], [1], None]]}
        recording.observe(80, "partitions", {"began_ns": 79_000_000, "topics": states})
        assert judged(recording).counts == ACKED_BELOW

    def test_more_than_there_are_replicas_are_never_needed(self) -> None:
        recording = AdminStory()
        recording.record(0.1, "CONFIG_RECORD", TWO)
        recording.created([1])
        recording.view(20, 0, [1], replicas=[1])
        sent(recording, 2000, 2001)
        assert judged(recording).counts == {}

    def test_after_an_unclean_election_nothing_is_certain(self) -> None:
        recording = AdminStory()
        recording.record(0.1, "CONFIG_RECORD", TWO)
        recording.created()
        recording.changed(10, isr=[1])
        recording.changed(11, leader=-1)
        recording.changed(12, isr=[2], leader=2, leaderRecoveryState=1)
        recording.changed(13, leaderRecoveryState=0)
        recording.view(20, 2, [2])
        sent(recording, 2000, 2001)
        assert judged(recording).counts == {}

    def test_where_the_log_begins_later_configs_are_not_known(self) -> None:
        recording = self.alone()
        sent(recording, 2000, 2001)
        assert judged(recording, log_start=1).counts == {}


class TestMemberDown:
    """Broker 3 is killed at 10 ms, seen at 10.5 ms; it is taken out of the ISR at 5000 ms, healed at 7000."""

    def killed(self, kind: str = "kill", node: str = "n3", *, leaves: bool = True) -> AdminStory:
        recording = AdminStory()
        recording.created()
        recording.fault(10, 7000, kind, node)
        if leaves:
            recording.changed(5000, isr=[1, 2])
        return recording

    @pytest.mark.parametrize(
        ("at_ms", "end_ms", "found"),
        [(10.5, 4999, True), (11, 12, True), (10.4, 12, False), (11, 5000.1, False), (6000, 6001, False)],
    )
    def test_what_was_sent_and_acknowledged_meanwhile(
        self, at_ms: float, end_ms: float, *, found: bool
    ) -> None:
        recording = self.killed()
        sent(recording, at_ms, end_ms)
        assert judged(recording).counts == (ACKED_WITHOUT if found else {})
        assert judged(recording).figures["member_of_isr_down_s"] == pytest.approx(5.0)

    @pytest.mark.parametrize(
        ("at_ms", "end_ms", "found"), [(11, 4999, True), (10.4, 4999, False), (11, 5000.1, False)]
    )
    def test_what_was_sent_and_returned_meanwhile(self, at_ms: float, end_ms: float, *, found: bool) -> None:
        recording = self.killed()
        sent(recording, at_ms, 6000, outcome="info")
        polled(recording, end_ms)
        sent(recording, 30, 31, value=8, partition=4, outcome="info")
        assert judged(recording).counts == (READ_WITHOUT if found else {})

    def test_the_finding_convinces(self) -> None:
        recording = self.killed()
        sent(recording, 100, 6000, outcome="info")
        polled(recording, 200)
        history = recording.history(began_ns=ENDED_MS * 1_000_000)
        (anomaly,) = check_partitions(history).anomalies
        assert "sent at 0.100 s and returned at 0.200 s" in anomaly.summary
        assert "n3 (broker 3) was certainly down from 0.011 s to 7.000 s: kill." in anomaly.explanation[0]
        fs = [history.operations[i].f for i in anomaly.witness]
        assert fs == ["send", "poll", "inject", "inject", "heal", "heal", "observe"]

    @pytest.mark.parametrize(("kind", "found"), [("pause", True), ("stop", True), ("partition", False)])
    def test_by_kinds_of_faults(self, kind: str, *, found: bool) -> None:
        recording = self.killed(kind)
        sent(recording, 100, 101)
        assert judged(recording).counts == (ACKED_WITHOUT if found else {})

    def test_one_that_is_no_broker_of_the_run_or_not_in_sync(self) -> None:
        recording = self.killed(node="stranger")
        sent(recording, 100, 101)
        assert judged(recording).counts == {}
        recording = AdminStory()
        recording.created()
        recording.changed(5, isr=[1, 2])
        recording.fault(10, 7000, "kill", "n3")
        sent(recording, 100, 101)
        assert judged(recording).counts == {}

    def test_one_whose_process_was_seen_running_was_not_down_for_certain(self) -> None:
        recording = self.killed()
        sent(recording, 100, 101)
        recording.observe(8000, "node", {"status": "running"}, node="n3")
        recording.observe(90, "node", {"status": "exited"}, node="n3")
        recording.observe(90, "node", {"status": "running"}, node="n2")
        assert judged(recording).counts == ACKED_WITHOUT
        recording.observe(50, "node", {"status": "running"}, node="n3")
        assert judged(recording).counts == {}

    def test_one_that_never_left_is_in_until_the_heal(self) -> None:
        recording = self.killed(leaves=False)
        sent(recording, 6000, 6001)
        sent(recording, 7000.1, 7001, value=8)
        assert judged(recording).counts == ACKED_WITHOUT

    def test_one_that_left_and_came_back_was_out_meanwhile(self) -> None:
        recording = self.killed()
        recording.changed(5300, isr=[1])
        recording.changed(5500, isr=[1, 2, 3])
        sent(recording, 5100, 5200)
        assert judged(recording).counts == {}
        sent(recording, 5600, 5601, value=8)
        assert judged(recording).counts == ACKED_WITHOUT

    @pytest.mark.parametrize(("journal", "blamed"), [("nemesis", 0), ("nodes", 0), ("worker-1", 1)])
    def test_without_what_it_rests_on_nobody_is_blamed(self, journal: str, blamed: int) -> None:
        recording = self.killed()
        sent(recording, 100, 101)
        whole = recording.history(began_ns=ENDED_MS * 1_000_000)
        history = History("run", "", whole.operations, lacking=frozenset([journal]))
        result = result_by("partitions", check_partitions, history)
        assert sum(result.counts.values()) == blamed
        assert result.validity is (Validity.INVALID if blamed else Validity.UNKNOWN)
