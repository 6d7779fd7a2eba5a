"""What was acknowledged or returned is in the log of every member of the ISR, as its disk shows."""

from typing import Any

import pytest

from checkers.history.operations import History, OperationType
from checkers.logs.partitions import check_partitions
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory
from tests.checkers.log_histories import MS

ENDED_NS = 20_000 * MS
ACKED = {"acked-without-member": 1}
RETURNED = {"read-without-member": 1}


def look(recording: AdminStory, at_ms: float, **ends: int) -> None:
    """Where the logs of some nodes ended, read within a tenth of a millisecond."""
    nodes = {node: {TOPIC: [[0, end]]} for node, end in ends.items()}
    value = {"began_ns": round((at_ms - 0.1) * MS), "nodes": nodes}
    recording.add(at_ms, "observer-ends", OperationType.OK, "observe", key="ends", value=value)


def polled(recording: AdminStory, at_ms: float, value: int, offset: int) -> None:
    """A record that was returned."""
    asked = {"client": "kafka-python", "isolation": "read_uncommitted"}
    recording.add(at_ms - 1, 50, OperationType.INVOKE, "poll", key=TOPIC, value=asked)
    answer = asked | {"records": [[0, [offset], [value]]]}
    recording.add(at_ms, 50, OperationType.OK, "poll", key=TOPIC, value=answer)


def sent(**setup: Any) -> AdminStory:
    """Broker 1 leads; 7 is acknowledged at offset 4, from 100 ms to 100.5 ms."""
    recording = AdminStory(**setup)
    recording.created()
    recording.send(100, 7, 4)
    return recording


def history_of(recording: AdminStory) -> History:
    return recording.history(began_ns=ENDED_NS)


def counts(recording: AdminStory) -> dict[str, int]:
    return check_partitions(history_of(recording)).counts


@pytest.mark.parametrize(
    ("at_ms", "node", "end", "found"),
    [
        (101, "n2", 4, True),
        (9000, "n2", 0, True),
        (101, "n1", 4, True),  # the leader too
        (101, "n2", 5, False),
        (100.55, "n2", 4, False),  # the look may have been before the answer
        (101, "n9", 4, False),  # no node of the run
    ],
)
def test_a_member_without_what_was_acknowledged(at_ms: float, node: str, end: int, *, found: bool) -> None:
    recording = sent()
    look(recording, at_ms, **{node: end})
    result = check_partitions(history_of(recording))
    assert result.counts == (ACKED if found else {})
    assert result.validity is (Validity.INVALID if found else Validity.VALID)
    assert result.figures["ends_read"] == 1


def test_the_highest_offset_counts_and_every_look() -> None:
    recording = sent()
    recording.send(200, 8, 9)
    recording.send(300, 9, 6)
    for at_ms in (350, 450):
        look(recording, at_ms, n1=10, n2=10, n3=9)
    assert counts(recording) == {"acked-without-member": 2}


def test_the_finding_convinces() -> None:
    recording = sent()
    recording.send(200, 8, 3)
    look(recording, 300, n1=5, n2=5, n3=4)
    history = history_of(recording)
    (anomaly,) = check_partitions(history).anomalies
    assert f"Record 7 of {TOPIC}/0, at offset 4, was acknowledged at 0.101 s" in anomaly.summary
    assert "the log of n3, which was in sync, ended at 4." in anomaly.summary
    assert "Broker 1 led from" in anomaly.explanation[0]
    assert [history.operations[i].f for i in anomaly.witness] == ["send", "observe"]


def test_a_member_without_what_was_returned() -> None:
    recording = AdminStory()
    recording.created()
    recording.add(100, 9, OperationType.INVOKE, "send", key=TOPIC, value=[[0, 7]])
    recording.add(9000, 9, OperationType.INFO, "send", key=TOPIC, value=[[0, 7, None, "info"]])
    polled(recording, 200, 7, 4)
    look(recording, 300, n2=4)
    assert counts(recording) == RETURNED
    (anomaly,) = check_partitions(history_of(recording)).anomalies
    assert "Record 7" in anomaly.summary
    assert "was returned at 0.200 s" in anomaly.summary


@pytest.mark.parametrize("value", [8, -1])
def test_what_nobody_is_known_to_have_sent_proves_nothing(value: int) -> None:
    recording = sent()
    polled(recording, 200, value, 9)
    look(recording, 300, n2=5)
    assert counts(recording) == {}


def test_where_nothing_was_sent_reads_say_nothing() -> None:
    recording = AdminStory()
    recording.created()
    polled(recording, 200, 7, 4)
    look(recording, 300, n2=0)
    assert counts(recording) == {}


def test_a_producer_that_waits_for_the_leader_alone() -> None:
    recording = sent(workload={"acks": "1"})
    look(recording, 300, n2=0)
    assert counts(recording) == {}


class TestMembership:
    """What is certain of who leads, and who is in sync."""

    def test_one_that_had_left(self) -> None:
        recording = sent()
        recording.changed(150, isr=[1, 2])
        look(recording, 300, n3=0)
        assert counts(recording) == {}

    def test_one_that_may_have_left(self) -> None:
        recording = sent()
        look(recording, 300, n3=0)
        recording.changed(300.3, isr=[1, 2])
        assert counts(recording) == {}

    def test_one_that_came_back_has_what_it_missed(self) -> None:
        recording = AdminStory()
        recording.created()
        recording.changed(50, isr=[1, 2])
        recording.send(100, 7, 4)
        look(recording, 110, n3=0)
        recording.changed(200, isr=[1, 2, 3])
        assert counts(recording) == {}
        look(recording, 300, n3=4)
        assert counts(recording) == ACKED

    @pytest.mark.parametrize(("at_ms", "found"), [(150, False), (50, True)])
    def test_what_an_earlier_leader_acknowledged_is_no_measure(self, at_ms: float, *, found: bool) -> None:
        recording = sent()
        recording.changed(at_ms, leader=2)
        look(recording, 300, n1=0)
        assert counts(recording) == (ACKED if found else {})

    def test_the_same_leader_in_a_new_epoch_has_it(self) -> None:
        recording = sent()
        recording.changed(150, leader=1, isr=[1, 2])
        look(recording, 300, n2=0)
        assert counts(recording) == ACKED

    def test_where_nobody_leads(self) -> None:
        recording = AdminStory()
        recording.created()
        recording.changed(50, leader=-1)
        recording.send(100, 7, 4)
        look(recording, 300, n2=0)
        assert counts(recording) == {}

    def test_a_leader_that_is_no_node_of_the_run(self) -> None:
        recording = AdminStory()
        recording.created([88, 2])
        recording.send(100, 7, 4)
        look(recording, 300, n2=0)
        assert counts(recording) == {}

    def test_after_an_unclean_election_nothing_is_certain(self) -> None:
        recording = AdminStory()
        recording.created()
        recording.changed(10, isr=[2], leader=2, leaderRecoveryState=1)
        recording.changed(20, leaderRecoveryState=0)
        recording.send(100, 7, 4)
        look(recording, 300, n2=0)
        assert counts(recording) == {}

    def test_a_topic_that_was_made_again_begins_anew(self) -> None:
        recording = sent()
        recording.changed(150, leader=2)
        recording.record(200, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
        again = {"replicas": [1, 2], "isr": [1, 2], "leader": 2, "leaderEpoch": 0}
        recording.record(250, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **again})
        recording.send(260, 8, 9)
        look(recording, 300, n2=0)
        found = counts(recording)
        assert "acked-without-member" not in found


class TestDisks:
    """A disk that was struck proves nothing of what its broker had."""

    @pytest.mark.parametrize(
        ("kind", "node", "found"),
        [
            ("wipe-disk", "n2", False),
            ("power-loss", "n2", False),
            ("dead-disk", "n2", False),
            ("wipe-disk", "n1", False),  # the leader's
            ("wipe-disk", "n3", True),
            ("pause", "n2", True),
        ],
    )
    def test_by_kinds_of_faults(self, kind: str, node: str, *, found: bool) -> None:
        recording = sent()
        recording.fault(200, 250, kind, node)
        look(recording, 300, n2=4)
        assert counts(recording) == (ACKED if found else {})

    @pytest.mark.parametrize("end", [4, 5])
    def test_what_was_wiped_counts_again_once_it_is_in_sync_again(self, end: int) -> None:
        recording = sent()
        recording.fault(200, 250, "wipe-disk", "n2")
        recording.changed(260, isr=[1, 3])
        look(recording, 300, n2=0)
        recording.changed(400, isr=[1, 2, 3])
        look(recording, 500, n2=end)
        assert counts(recording) == (ACKED if end == 4 else {})

    def test_a_topic_alone_that_is_another(self) -> None:
        recording = sent()
        recording.fault(200, 250, "wipe-disk", "n2", scope="topic", topic="other")
        look(recording, 300, n2=4)
        assert counts(recording) == ACKED
