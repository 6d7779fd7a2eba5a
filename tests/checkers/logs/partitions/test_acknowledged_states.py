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
    told: AdminStory, at_ms: float, end_ms: float, value: int = 7, *, outcome: str = "ok", partition: int = 0
) -> None:
    """A record that was sent, and answered."""
    process = 1000 + value
    told.add(at_ms, process, OperationType.INVOKE, "send", key=TOPIC, value=[[partition, value]])
    offset = 3 if outcome == "ok" else None
    answer = [[partition, value, offset, outcome]]
    told.add(end_ms, process, OperationType(outcome), "send", key=TOPIC, value=answer)


def polled(told: AdminStory, at_ms: float, value: int = 7) -> None:
    """A record that was returned."""
    asked = {"client": "kafka-python", "isolation": "read_uncommitted"}
    told.add(at_ms - 1, 50, OperationType.INVOKE, "poll", key=TOPIC, value=asked)
    told.add(at_ms, 50, OperationType.OK, "poll", key=TOPIC, value=asked | {"records": [[0, [3], [value]]]})


def judged(told: AdminStory, **changed: Any) -> CheckerResult:
    return check_partitions(told.history(**{"began_ns": ENDED_MS * 1_000_000} | changed))


class TestTooFewInSync:
    """Two are needed; from 10 ms on broker 1 is alone, and tells so at 20 ms; at 9000 ms broker 2 is back."""

    def alone(self, *, known: bool = True, leader: int = 1, **setup: Any) -> AdminStory:
        told = AdminStory(**setup)
        told.record(0.1, "CONFIG_RECORD", TWO)
        told.created()
        told.changed(10, isr=[1], eligibleLeaderReplicas=[2, 3], **({"leader": -1} if leader == -1 else {}))
        told.changed(9000, isr=[1, 2], eligibleLeaderReplicas=[], **({"leader": 1} if leader == -1 else {}))
        if known:
            told.view(20, 0, [1])
        return told

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
        told = self.alone()
        sent(told, at_ms, end_ms)
        result = judged(told)
        assert result.counts == (ACKED_BELOW if found else {})
        assert result.validity is (Validity.INVALID if found else Validity.VALID)
        assert result.figures["acknowledged_records"] == 1
        assert result.figures["below_min_isr_s"] == pytest.approx(8.0)

    def test_the_finding_convinces(self) -> None:
        told = self.alone()
        sent(told, 2000, 2001)
        history = told.history(began_ns=ENDED_MS * 1_000_000)
        (anomaly,) = check_partitions(history).anomalies
        assert "sent at 2.000 s and acknowledged at 2.001 s" in anomaly.summary
        assert "ISR [1]" in anomaly.explanation[0]
        assert [history.operations[i].f for i in anomaly.witness] == ["send", "send", "observe", "observe"]

    @pytest.mark.parametrize("outcome", ["info", "fail"])
    def test_what_was_not_acknowledged(self, outcome: str) -> None:
        told = self.alone()
        sent(told, 2000, 2001, outcome=outcome)
        assert judged(told).counts == {}

    def test_a_leader_that_told_nothing_may_not_know(self) -> None:
        told = self.alone(known=False)
        told.view(20, 0, [1, 2, 3])
        told.view(30, 0, [1], nodes=[2])
        sent(told, 2000, 2001)
        assert judged(told).counts == {}

    def test_a_leader_that_told_too_late(self) -> None:
        told = self.alone(known=False)
        told.view(8500, 0, [1])
        sent(told, 8600, 8601)
        assert judged(told).counts == {}

    def test_a_leader_that_was_paused_tells_again(self) -> None:
        told = self.alone()
        told.fault(30, 40, "pause", "n1")
        sent(told, 2000, 2001)
        assert judged(told).counts == {}
        told.view(50, 0, [1])
        assert judged(told).counts == ACKED_BELOW

    def test_where_nobody_leads_there_is_no_leader_that_knows(self) -> None:
        told = self.alone(leader=-1, known=False)
        state = [0, -1, 1, [1, 2, 3], [1], None]
        told.observe(20, "partitions", {"began_ns": 0, "topics": {TOPIC: [state]}})
        sent(told, 2000, 2001)
        assert judged(told).counts == {}

    def test_a_producer_that_waits_for_the_leader_alone(self) -> None:
        told = self.alone(workload={"acks": "1"})
        sent(told, 2000, 2001)
        assert judged(told).counts == {}

    def test_a_transaction_whose_send_was_acknowledged(self) -> None:
        told = self.alone(workload={"acks": "1"})
        asked = {"client": "kafka-python", "end": "abort", "mops": [["send", TOPIC, 0, 7]], "consumed": []}
        answer = asked | {"mops": [["send", TOPIC, 0, 7, 3]], "ended": "abort"}
        told.both(2000, 2001, "txn", asked, key="t", answer=None, how="fail")
        assert judged(told).counts == {}
        told.add(3000, 77, OperationType.INVOKE, "txn", key="t", value=asked)
        told.add(3001, 77, OperationType.FAIL, "txn", key="t", value=answer)
        assert judged(told).counts == ACKED_BELOW

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
        told = AdminStory()
        told.record(0.1, "CONFIG_RECORD", TWO)
        told.created()
        told.changed(10, isr=[1], eligibleLeaderReplicas=[2, 3])
        told.view(20, 0, [1])
        for at_ms, value in changes:
            told.record(at_ms, "CONFIG_RECORD", TWO | {"value": value})
        told.record(9000, "CONFIG_RECORD", TWO | {"resourceName": "other"})
        sent(told, 2000, 2001)
        assert judged(told).counts == (ACKED_BELOW if found else {})

    def test_a_leader_that_tells_of_something_later_knows_the_new_value(self) -> None:
        told = AdminStory()
        told.created()
        told.changed(10, isr=[1, 2])
        told.view(20, 0, [1, 2])
        told.record(30, "CONFIG_RECORD", TWO | {"value": "3"})
        told.changed(40, isr=[1])
        told.changed(50, isr=[1, 2])
        sent(told, 3000, 3001)
        told.view(60, 0, [1])
        assert judged(told).counts == {}  # it is back since 50 ms, and the leader has not told so yet
        told.record(69, "TOPIC_RECORD", {"name": "t", "topicId": "t"})
        told.record(70, "PARTITION_RECORD", {"partitionId": 1, "topicId": "t", "replicas": [1], "isr": [1]})
        states = {"t": [[1, -1, 0, [1], [1], None]], TOPIC: [[0, 1, 0, [1, 2, 3], [1], None]]}
        told.observe(80, "partitions", {"began_ns": 79_000_000, "topics": states})
        assert judged(told).counts == ACKED_BELOW

    def test_more_than_there_are_replicas_are_never_needed(self) -> None:
        told = AdminStory()
        told.record(0.1, "CONFIG_RECORD", TWO)
        told.created([1])
        told.view(20, 0, [1], replicas=[1])
        sent(told, 2000, 2001)
        assert judged(told).counts == {}

    def test_after_an_unclean_election_nothing_is_certain(self) -> None:
        told = AdminStory()
        told.record(0.1, "CONFIG_RECORD", TWO)
        told.created()
        told.changed(10, isr=[1])
        told.changed(11, leader=-1)
        told.changed(12, isr=[2], leader=2, leaderRecoveryState=1)
        told.changed(13, leaderRecoveryState=0)
        told.view(20, 2, [2])
        sent(told, 2000, 2001)
        assert judged(told).counts == {}

    def test_where_the_log_begins_later_configs_are_not_known(self) -> None:
        told = self.alone()
        sent(told, 2000, 2001)
        assert judged(told, log_start=1).counts == {}


class TestMemberDown:
    """Broker 3 is killed at 10 ms, seen at 10.5 ms; it is taken out of the ISR at 5000 ms, healed at 7000."""

    def killed(self, kind: str = "kill", node: str = "n3", *, leaves: bool = True) -> AdminStory:
        told = AdminStory()
        told.created()
        told.fault(10, 7000, kind, node)
        if leaves:
            told.changed(5000, isr=[1, 2])
        return told

    @pytest.mark.parametrize(
        ("at_ms", "end_ms", "found"),
        [(10.5, 4999, True), (11, 12, True), (10.4, 12, False), (11, 5000.1, False), (6000, 6001, False)],
    )
    def test_what_was_sent_and_acknowledged_meanwhile(
        self, at_ms: float, end_ms: float, *, found: bool
    ) -> None:
        told = self.killed()
        sent(told, at_ms, end_ms)
        assert judged(told).counts == (ACKED_WITHOUT if found else {})
        assert judged(told).figures["member_of_isr_down_s"] == pytest.approx(5.0)

    @pytest.mark.parametrize(
        ("at_ms", "end_ms", "found"), [(11, 4999, True), (10.4, 4999, False), (11, 5000.1, False)]
    )
    def test_what_was_sent_and_returned_meanwhile(self, at_ms: float, end_ms: float, *, found: bool) -> None:
        told = self.killed()
        sent(told, at_ms, 6000, outcome="info")
        polled(told, end_ms)
        sent(told, 30, 31, value=8, partition=4, outcome="info")
        assert judged(told).counts == (READ_WITHOUT if found else {})

    def test_the_finding_convinces(self) -> None:
        told = self.killed()
        sent(told, 100, 6000, outcome="info")
        polled(told, 200)
        history = told.history(began_ns=ENDED_MS * 1_000_000)
        (anomaly,) = check_partitions(history).anomalies
        assert "sent at 0.100 s and returned at 0.200 s" in anomaly.summary
        assert "n3 (broker 3) was certainly down from 0.011 s to 7.000 s: kill." in anomaly.explanation[0]
        fs = [history.operations[i].f for i in anomaly.witness]
        assert fs == ["send", "poll", "inject", "inject", "heal", "heal", "observe"]

    @pytest.mark.parametrize(("kind", "found"), [("pause", True), ("stop", True), ("partition", False)])
    def test_by_kinds_of_faults(self, kind: str, *, found: bool) -> None:
        told = self.killed(kind)
        sent(told, 100, 101)
        assert judged(told).counts == (ACKED_WITHOUT if found else {})

    def test_one_that_is_no_broker_of_the_run_or_not_in_sync(self) -> None:
        told = self.killed(node="stranger")
        sent(told, 100, 101)
        assert judged(told).counts == {}
        told = AdminStory()
        told.created()
        told.changed(5, isr=[1, 2])
        told.fault(10, 7000, "kill", "n3")
        sent(told, 100, 101)
        assert judged(told).counts == {}

    def test_one_whose_process_was_seen_running_was_not_down_for_certain(self) -> None:
        told = self.killed()
        sent(told, 100, 101)
        told.observe(8000, "node", {"status": "running"}, node="n3")
        told.observe(90, "node", {"status": "exited"}, node="n3")
        told.observe(90, "node", {"status": "running"}, node="n2")
        assert judged(told).counts == ACKED_WITHOUT
        told.observe(50, "node", {"status": "running"}, node="n3")
        assert judged(told).counts == {}

    def test_one_that_never_left_is_in_until_the_heal(self) -> None:
        told = self.killed(leaves=False)
        sent(told, 6000, 6001)
        sent(told, 7000.1, 7001, value=8)
        assert judged(told).counts == ACKED_WITHOUT

    def test_one_that_left_and_came_back_was_out_meanwhile(self) -> None:
        told = self.killed()
        told.changed(5300, isr=[1])
        told.changed(5500, isr=[1, 2, 3])
        sent(told, 5100, 5200)
        assert judged(told).counts == {}
        sent(told, 5600, 5601, value=8)
        assert judged(told).counts == ACKED_WITHOUT

    @pytest.mark.parametrize(("journal", "blamed"), [("nemesis", 0), ("nodes", 0), ("worker-1", 1)])
    def test_without_what_it_rests_on_nobody_is_blamed(self, journal: str, blamed: int) -> None:
        told = self.killed()
        sent(told, 100, 101)
        whole = told.history(began_ns=ENDED_MS * 1_000_000)
        history = History("run", "", whole.operations, lacking=frozenset([journal]))
        result = result_by("partitions", check_partitions, history)
        assert sum(result.counts.values()) == blamed
        assert result.validity is (Validity.INVALID if blamed else Validity.UNKNOWN)
