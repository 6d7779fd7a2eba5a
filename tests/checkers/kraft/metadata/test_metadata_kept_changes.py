"""What was acknowledged is in the metadata log, and was committed when it was answered."""

from typing import Any

import msgspec
import pytest

from checkers.history.operations import History
from checkers.judge import result_by
from checkers.kraft.metadata import check_metadata
from checkers.verdict.verdict import Anomaly, CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory
from tests.checkers.log_histories import MS
from tests.checkers.logs.replicas.replica_histories import Batch, metadata

MADE = "made-1"
MADE_ID = "id1"
VOTERS = [(1, "d1"), (2, "d2"), (3, "d3")]
UNKNOWN = "UnknownTopicOrPartitionError: [Error 3] UnknownTopicOrPartitionError"


def story(**setup: Any) -> AdminStory:
    """A run whose own topic is in the log, as it was asked for."""
    recording = AdminStory(**setup)
    recording.created(at_ms=-20)
    config(recording, -18, "min.insync.replicas", "2")
    return recording


def config(recording: AdminStory, at_ms: float, name: str, value: str | None, kind: int = 2) -> None:
    record = {"resourceType": kind, "resourceName": TOPIC, "name": name, "value": value}
    recording.record(at_ms, "CONFIG_RECORD", record)


def make(
    recording: AdminStory, at_ms: float, end_ms: float, how: str = "ok", topic_id: str | None = MADE_ID
) -> None:
    asked = {"partitions": 2, "replication_factor": 1}
    recording.both(
        at_ms, end_ms, "create-topic", asked, answer=asked | {"topic_id": topic_id}, key=MADE, how=how
    )


def made(recording: AdminStory, at_ms: float, *partitions: int, copies: int = 1) -> None:
    recording.record(at_ms, "TOPIC_RECORD", {"name": MADE, "topicId": MADE_ID})
    for partition in partitions:
        record = {"partitionId": partition, "topicId": MADE_ID, "replicas": [1] * copies}
        recording.record(at_ms, "PARTITION_RECORD", record)


def alter(recording: AdminStory, at_ms: float, end_ms: float, value: str | None, code: int = 0) -> None:
    asked = {"config": "flush.ms", "value": value, "to": "n1"}
    answer = asked | {"code": code, "message": None, "took_ms": 1}
    recording.both(at_ms, end_ms, "alter-topic", asked, answer=answer, key=TOPIC)


def voters(recording: AdminStory, at_ms: float, members: list[tuple[int, str]]) -> None:
    record = {"voters": [{"voterId": number, "voterDirectoryId": disk} for number, disk in members]}
    recording.record(at_ms, "KRAFT_VOTERS", record)


def judged(recorded: AdminStory | History) -> CheckerResult:
    return check_metadata(recorded.history() if isinstance(recorded, AdminStory) else recorded)


def found(recorded: AdminStory | History) -> list[str]:
    return [f"{anomaly.id} {anomaly.subject}" for anomaly in judged(recorded).anomalies]


def only(recorded: AdminStory | History) -> Anomaly:
    (anomaly,) = judged(recorded).anomalies
    return anomaly


class TestGrowth:
    @staticmethod
    def grown(*records_ms: float, how: str = "ok", removed_ms: float | None = None) -> AdminStory:
        """A topic with one partition, to which a second one is added from 20 to 22 ms."""
        recording = story()
        recording.record(11, "TOPIC_RECORD", {"name": MADE, "topicId": MADE_ID})
        recording.record(11, "PARTITION_RECORD", {"partitionId": 0, "topicId": MADE_ID, "replicas": [1]})
        for at_ms in records_ms:
            recording.record(
                at_ms, "PARTITION_RECORD", {"partitionId": 1, "topicId": MADE_ID, "replicas": [1]}
            )
        if removed_ms is not None:
            recording.record(removed_ms, "REMOVE_TOPIC_RECORD", {"topicId": MADE_ID})
        recording.both(20, 22, "create-partitions", {"count": 2}, key=MADE, how=how)
        return recording

    def test_those_that_are_in_the_log_in_time(self) -> None:
        recording = self.grown(21)
        assert found(recording) == []
        assert judged(recording).figures["acknowledgements_compared"]["partitions"] == 1

    def test_those_that_are_in_no_log(self) -> None:
        anomaly = only(self.grown())
        assert (anomaly.id, anomaly.subject) == ("metadata-ack-lost", MADE)
        assert "growth of topic made-1 to 2 partitions" in anomaly.summary

    def test_those_of_a_topic_that_was_removed_before(self) -> None:
        assert found(self.grown(12, removed_ms=14)) == [f"metadata-ack-lost {MADE}"]

    def test_those_that_are_late(self) -> None:
        assert found(self.grown(30)) == [f"metadata-ack-early {MADE}"]

    def test_those_that_nobody_acknowledged(self) -> None:
        assert found(self.grown(how="info")) == []


class TestRegistrations:
    @staticmethod
    def removed(*records: tuple[float, str], role: str = "broker", **answer: Any) -> AdminStory:
        """Node 3 registers at 5 ms; the removal is requested at 20 ms and answered at 22 ms."""
        recording = story()
        for at_ms, kind in ((5, "REGISTER"), *records):
            recording.record(at_ms, f"{kind}_{role.upper()}_RECORD", {f"{role}Id": 3})
        asked = {"to": "n1"}
        ended = asked | {"code": 0, "message": None, "took_ms": 1} | answer
        how = "ok" if ended["code"] == 0 else "info"
        recording.both(20, 22, f"unregister-{role}", asked, answer=ended, key=3, how=how)
        return recording

    @pytest.mark.parametrize("role", ["broker", "controller"])
    def test_one_that_is_removed_in_time(self, role: str) -> None:
        recording = self.removed((21, "UNREGISTER"), (30, "REGISTER"), role=role)
        assert found(recording) == []
        assert judged(recording).figures["acknowledgements_compared"]["registrations"] == 1

    @pytest.mark.parametrize("role", ["broker", "controller"])
    def test_one_that_is_removed_in_no_log(self, role: str) -> None:
        anomaly = only(self.removed((21, "REGISTER"), role=role))
        assert (anomaly.id, anomaly.subject) == ("metadata-ack-lost", f"{role} 3")
        assert f"unregistration of {role} 3" in anomaly.summary

    def test_one_that_was_removed_before_and_registered_again(self) -> None:
        recording = self.removed((10, "UNREGISTER"), (12, "REGISTER"))
        assert found(recording) == ["metadata-ack-lost broker 3"]

    def test_one_that_is_removed_late(self) -> None:
        assert found(self.removed((30, "UNREGISTER"))) == ["metadata-ack-early broker 3"]

    def test_one_whose_removal_nobody_acknowledged(self) -> None:
        assert found(self.removed(code=41)) == []


class TestTopics:
    def test_one_that_is_in_the_log_in_time(self) -> None:
        recording = story()
        made(recording, 11, 0, 1)
        make(recording, 10, 12)
        assert found(recording) == []
        result = judged(recording)
        assert result.unknown_because is None
        assert result.figures["acknowledgements_compared"] == {"configs": 1, "topics": 2}
        assert result.figures["acknowledgements_seen_committed"] == 3

    @pytest.mark.parametrize("topic_id", [MADE_ID, None])
    def test_one_that_is_in_no_log(self, topic_id: str | None) -> None:
        recording = story()
        make(recording, 10, 12, topic_id=topic_id)
        anomaly = only(recording)
        assert (anomaly.id, anomaly.subject, anomaly.illegal) == ("metadata-ack-lost", MADE, True)
        assert len(anomaly.witness) == 3

    def test_one_with_another_id(self) -> None:
        recording = story()
        made(recording, 11, 0, 1)
        make(recording, 10, 12, topic_id="other")
        assert found(recording) == [f"metadata-ack-lost {MADE}"]

    @pytest.mark.parametrize("how", ["info", "fail"])
    def test_one_that_nobody_acknowledged(self, how: str) -> None:
        recording = story()
        make(recording, 10, 12, how)
        assert found(recording) == []

    def test_one_with_fewer_partitions_or_replicas(self) -> None:
        recording = story()
        made(recording, 11, 0)
        make(recording, 10, 12)
        assert "of its 2 partitions the log has 1" in only(recording).explanation[2]
        recording = story()
        made(recording, 11, 0, 1, copies=2)
        make(recording, 10, 12)
        assert "its partitions have 2 replicas instead of 1" in only(recording).explanation[2]

    def test_a_topic_of_the_set_up(self) -> None:
        recording = AdminStory()
        recording.record(1, "TOPIC_RECORD", {"name": "other", "topicId": TOPIC_ID})
        assert found(recording) == [f"metadata-ack-lost {TOPIC}", f"metadata-ack-lost {TOPIC}"]

    def test_a_deletion(self) -> None:
        recording = story()
        made(recording, 11, 0, 1)
        make(recording, 10, 12)
        recording.both(20, 23, "delete-topic", None, key=MADE)
        assert found(recording) == [f"metadata-ack-lost {MADE}"]
        recording.record(21, "REMOVE_TOPIC_RECORD", {"topicId": MADE_ID})
        assert found(recording) == []

    def test_partitions_and_removals_of_topics_that_nobody_knows_are_left_alone(self) -> None:
        recording = story()
        recording.record(21, "REMOVE_TOPIC_RECORD", {"topicId": "older"})
        recording.record(
            22, "PARTITION_RECORD", {"topicId": "older", "partitionId": 0, "replicas": [1], "isr": [1]}
        )
        assert found(recording) == []


class TestTimes:
    def test_appended_after_the_answer(self) -> None:
        recording = story()
        make(recording, 5, 8)
        made(recording, 11, 0, 1)
        anomaly = only(recording)
        assert (anomaly.id, anomaly.subject) == ("metadata-ack-early", MADE)
        assert "appended" in anomaly.summary
        assert len(anomaly.witness) == 4

    @pytest.mark.parametrize(
        ("asked_ms", "mark", "epoch", "early"),
        [
            (13, 3, 1, True),
            (13, 3, 2, True),
            (13, 2, 0, False),
            (13, -1, 1, False),
            (13, 9, 1, False),
            (11.9, 2, 1, False),
        ],
    )
    def test_committed_after_the_answer(self, asked_ms: float, mark: int, epoch: int, *, early: bool) -> None:
        recording = story()
        silent = AdminStory()
        silent.records = recording.records
        made(silent, 11, 0, 1)
        make(recording, 10, 12)
        value = {"began_ns": round(asked_ms * MS), "answer": "leader", "leader_id": 1, "leader_epoch": epoch}
        value |= {"high_watermark": mark, "wall_ms": 0, "voters": [[1, None, 9, -1, -1]]}
        recording.observe(asked_ms + 0.2, "quorum", value)
        assert found(recording) == ([f"metadata-ack-early {MADE}"] if early else [])

    def test_a_mark_that_fell_is_reported_by_another_rule(self) -> None:
        recording = story()
        made(recording, 11, 0, 1)
        make(recording, 10, 12)
        value = {"began_ns": 13 * MS, "answer": "leader", "leader_id": 1, "leader_epoch": 1}
        value |= {"high_watermark": 3, "wall_ms": 0, "voters": [[1, None, 9, -1, -1]]}
        recording.observe(13.2, "quorum", value)
        assert found(recording) == []


class TestConfigs:
    def test_a_value_that_holds_when_it_is_answered(self) -> None:
        recording = story()
        config(recording, 11, "flush.ms", "5")
        alter(recording, 10, 12, "5")
        alter(recording, 20, 22, "5")
        recording.both(23, 24, "write", 5, key=f"config/{TOPIC}/flush.ms")
        recording.both(23, 24, "write", 6, key="offset/group-0/log-0/0")
        assert found(recording) == []

    def test_a_value_that_another_one_replaced_before(self) -> None:
        recording = story()
        config(recording, 11, "flush.ms", "5")
        config(recording, 13, "flush.ms", "6")
        alter(recording, 20, 22, "5")
        assert found(recording) == [f"metadata-ack-lost {TOPIC}"]

    def test_a_value_that_is_not_there(self) -> None:
        recording = story()
        recording.both(20, 22, "write", 7, key=f"config/{TOPIC}/flush.ms")
        config(recording, 21, "flush.ms", "7", kind=4)
        assert found(recording) == [f"metadata-ack-lost {TOPIC}"]

    def test_a_value_of_a_topic_that_was_created_during_the_load(self) -> None:
        recording = story()
        wanted = {"config": "flush.ms", "value": "7"}
        recording.both(20, 22, "configure-topic", wanted, answer=wanted, key=TOPIC)
        assert found(recording) == [f"metadata-ack-lost {TOPIC}"]
        config(recording, 21, "flush.ms", "7")
        assert found(recording) == []

    def test_one_of_its_own_that_it_never_had(self) -> None:
        recording = story()
        alter(recording, 20, 22, None)
        assert found(recording) == []

    def test_a_refusal_and_one_without_an_answer(self) -> None:
        recording = story()
        alter(recording, 20, 22, "5", code=40)
        recording.both(23, None, "alter-topic", {"config": "flush.ms", "value": "8", "to": "n1"}, key=TOPIC)
        recording.both(24, None, "configure-topic", {"config": "flush.ms", "value": "9"}, key=TOPIC)
        assert found(recording) == []


class TestDefaultsOfBrokers:
    @staticmethod
    def altered(code: int = 0, how: str = "ok") -> AdminStory:
        recording = story()
        asked = {"value": "1", "to": "n1"}
        answer = asked | {"code": code, "message": None, "took_ms": 1}
        recording.both(20, 22, "alter-brokers", asked, answer=answer, key="min.insync.replicas", how=how)
        return recording

    @staticmethod
    def record(
        recording: AdminStory, value: str | None, broker: str = "", kind: int = 4, at: float = 21
    ) -> None:
        name = "min.insync.replicas"
        data = {"resourceType": kind, "resourceName": broker, "name": name, "value": value}
        recording.record(at, "CONFIG_RECORD", data)

    def test_one_that_the_log_has(self) -> None:
        recording = self.altered()
        self.record(recording, "1")
        assert found(recording) == []

    def test_one_that_was_set_before(self) -> None:
        recording = self.altered()
        self.record(recording, "1", at=5)
        assert found(recording) == []

    def test_one_that_the_log_lacks(self) -> None:
        recording = self.altered()
        self.record(recording, "2")
        self.record(recording, "1", broker="1")
        self.record(recording, "1", kind=2)
        (anomaly,) = judged(recording).anomalies
        assert (anomaly.id, anomaly.subject) == ("metadata-ack-lost", "all brokers")
        assert "min.insync.replicas=1 of all brokers" in anomaly.summary

    def test_a_topic_of_unknown_name_that_is_removed_leaves_it(self) -> None:
        recording = self.altered()
        self.record(recording, "1", at=5)
        recording.record(8, "REMOVE_TOPIC_RECORD", {"topicId": "unknown"})
        assert found(recording) == []

    def test_a_refusal(self) -> None:
        assert found(self.altered(code=40)) == []


class TestVoters:
    @staticmethod
    def changed(f: str, voter: int, disk: str | None) -> AdminStory:
        recording = story()
        voters(recording, 1, VOTERS[:2])
        asked: dict[str, Any] = {"directory_id": disk, "endpoints": [], "to": "n1"}
        recording.both(20, 23, f, asked, answer=asked | {"code": 0, "message": None, "took_ms": 1}, key=voter)
        return recording

    def test_one_that_joined(self) -> None:
        recording = self.changed("add-voter", 3, "d3")
        assert found(recording) == ["metadata-ack-lost voter 3"]
        voters(recording, 21, VOTERS)
        assert found(recording) == []

    def test_one_that_left(self) -> None:
        recording = self.changed("remove-voter", 2, "d2")
        assert found(recording) == ["metadata-ack-lost voter 2"]
        voters(recording, 21, VOTERS[:1])
        assert found(recording) == []

    def test_a_disk_that_nobody_named(self) -> None:
        assert found(self.changed("add-voter", 3, None)) == []

    def test_a_set_of_the_bootstrap_snapshot(self) -> None:
        recording = story()
        asked = {"directory_id": "d3", "endpoints": [], "to": "n1"}
        recording.both(20, 23, "add-voter", asked, answer=asked | {"code": 0}, key=3)
        assert found(recording) == []
        record = {"voters": [{"voterId": number, "voterDirectoryId": disk} for number, disk in VOTERS[:2]]}
        kept = ["00000000000000000000-0000000000.checkpoint", [[0, 0, "KRAFT_VOTERS", record]]]
        assert found(recording.history(checkpoint=kept)) == ["metadata-ack-lost voter 3"]


class TestPartitions:
    def test_elections_and_reassignments_are_judged_by_others_and_committed_in_time(self) -> None:
        recording = story()
        recording.changed(20, leader=2)
        recording.changed(30, replicas=[1, 2], isr=[1, 2])
        recording.elect(19, 22, kind="preferred")
        recording.elect(19, 22, kind="preferred", code=84)
        recording.reassign(29, 32, [1, 2])
        recording.reassign(35, 36, [1, 2], code=42)
        assert found(recording) == []
        figures = judged(recording).figures["acknowledgements_compared"]
        assert figures == {"configs": 1, "elections": 1, "reassignments": 1, "topics": 1}
        recording.reassign(10, 11, [1, 2])
        assert found(recording) == [f"metadata-ack-early {TOPIC}/0"]

    def test_an_election_that_was_not_held_is_not_reported_twice(self) -> None:
        recording = story()
        recording.elect(19, 22, kind="preferred")
        assert found(recording) == []


class TestUnknownTopic:
    @staticmethod
    def refused(error: str = UNKNOWN, deletions: int = 1) -> AdminStory:
        recording = story()
        made(recording, 11, 0, 1)
        make(recording, 10, 12)
        for number in range(deletions):
            recording.both(
                20 + number, 20.5 + number, "delete-topic", None, key=MADE, how="info", error=error
            )
        return recording

    @pytest.mark.parametrize("error", [UNKNOWN, "UNKNOWN_TOPIC_OR_PART: Broker: Unknown topic or partition"])
    def test_while_one_controller_led_alone(self, error: str) -> None:
        assert found(self.refused(error)) == [f"acknowledged-topic-unknown {MADE}"]

    def test_another_refusal_and_another_deletion(self) -> None:
        assert found(self.refused("NOT_CONTROLLER")) == []
        assert found(self.refused(deletions=2)) == []

    def test_its_own_request_may_have_deleted_it(self) -> None:
        recording = self.refused()
        recording.record(20.2, "REMOVE_TOPIC_RECORD", {"topicId": MADE_ID})
        assert found(recording) == []

    def test_faults_and_other_epochs_excuse_it(self) -> None:
        recording = self.refused()
        recording.fault(15, 16, "pause", "n1")
        assert found(recording) == []
        recording = self.refused()
        recording.observe(15, "quorum-state", {"began_ns": 15 * MS, "leader_epoch": 2, "leader_id": 1})
        assert found(recording) == []


class TestEvidence:
    def test_no_log_where_one_is_expected(self) -> None:
        recording = AdminStory(evidence=["metadata-log"])
        result = judged(recording.history(metadata_log=False))
        assert result.unknown_because == (
            "no metadata log could be read, so acknowledged changes could not be looked up"
        )
        assert judged(AdminStory().history(metadata_log=False)).validity is Validity.NOT_EXERCISED

    def test_a_log_that_may_end_before_the_answer(self) -> None:
        recording = story()
        make(recording, 10, 12)
        config(recording, 30, "flush.ms", "5")
        history = recording.history(cut=3)
        assert found(history) == []
        assert judged(history).unknown_because == (
            "1 acknowledged changes may be later than the end of the metadata log"
        )

    def test_logs_of_a_majority_need_nobody_to_tell_of_their_end(self) -> None:
        recording = story()
        make(recording, 10, 12)
        value = metadata([Batch(0, 3)], records=recording.records[:3], began_ns=800 * MS)
        recording.observe(801, "metadata-log", value, node="n2")
        recording.observe(801, "metadata-log", value, node="n3")
        recording.observe(801, "metadata-log", value, node="b9")
        history = msgspec.structs.replace(
            recording.history(metadata_log=False), lacking=frozenset({"observer-quorum-n1"})
        )
        assert found(history) == [f"metadata-ack-lost {MADE}"]

    @pytest.mark.parametrize(
        ("journal", "illegal"),
        [("replicas", False), ("observer-quorum-n1", False), ("worker-3", True), ("nemesis", False)],
    )
    def test_what_is_missing(self, journal: str, *, illegal: bool) -> None:
        recording = story()
        make(recording, 10, 12)
        history = msgspec.structs.replace(recording.history(), lacking=frozenset({journal}))
        validity = result_by("metadata", check_metadata, history).validity
        assert validity is (Validity.INVALID if illegal else Validity.UNKNOWN)

    def test_a_log_that_begins_later(self) -> None:
        recording = story()
        make(recording, 10, 12)
        recording.both(20, 23, "delete-topic", None, key=MADE)
        alter(recording, 24, 25, "7")
        kept = [
            "00000000000000000002-0000000001.checkpoint",
            [[0, 1, "TOPIC_RECORD", recording.records[0][3]]],
        ]
        kept[1].append([1, 1, "PARTITION_RECORD", {**recording.records[1][3]}])  # type: ignore[attr-defined]
        history = recording.history(log_start=2, checkpoint=kept)
        assert found(history) == []
        assert judged(history).figures["acknowledgements_older_than_log"] == 3
        assert judged(history).unknown_because is None
        result = judged(recording.history(log_start=2))
        assert result.unknown_because == "3 acknowledged changes may be older than the metadata log"

    def test_a_topic_that_nobody_deleted_is_in_the_snapshot(self) -> None:
        recording = story()
        make(recording, 10, 12)
        kept = [
            "00000000000000000002-0000000001.checkpoint",
            [[0, 1, "TOPIC_RECORD", recording.records[0][3]]],
        ]
        assert f"metadata-ack-lost {MADE}" in found(recording.history(log_start=2, checkpoint=kept))
        assert found(recording.history(log_start=2)) == []


class TestLicence:
    @pytest.mark.parametrize(("nodes", "illegal"), [(("n2",), False), (("b9",), True)])
    def test_a_disk_that_votes_and_was_emptied(self, nodes: tuple[str, ...], *, illegal: bool) -> None:
        recording = story()
        make(recording, 10, 12)
        recording.fault(20, 30, "wipe-disk", *nodes, scope="all")
        assert only(recording).illegal is illegal

    def test_disks_with_new_identities_have_no_vote(self) -> None:
        for nodes, illegal in ((("n2",), True), (("n2", "n3"), False)):
            recording = story(features={"kraft.version": 1})
            make(recording, 10, 12)
            for node in nodes:
                recording.fault(20, 30, "wipe-disk", node, scope="all")
            history = recording.history()
            probe = {"probe": {"directory_id_before": "a", "directory_id_after": "b"}}
            operations = tuple(
                msgspec.structs.replace(o, value=o.value | probe) if o.f == "heal" else o
                for o in history.operations
            )
            assert only(msgspec.structs.replace(history, operations=operations)).illegal is illegal
