"""What no controller writes is found in the metadata log, record by record; what it may write is not."""

from typing import Any

import pytest

from checkers.history.operations import History
from checkers.logs.partitions import check_partitions
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory
from tests.checkers.logs.replicas.replica_histories import Batch, metadata


def story(**setup: Any) -> AdminStory:
    """A partition with replicas 1 to 3, all in sync; two of them are needed."""
    recording = AdminStory(**setup)
    recording.record(0.1, "CONFIG_RECORD", {"resourceType": 2, "resourceName": TOPIC} | MIN_ISR)
    recording.created()
    return recording


MIN_ISR = {"name": "min.insync.replicas", "value": "2"}
NAMED = {"name": TOPIC, "topicId": TOPIC_ID}


def judged(recording: AdminStory) -> CheckerResult:
    return check_partitions(recording.history())


def ids(recording: AdminStory) -> dict[str, int]:
    return judged(recording).counts


def test_what_controllers_write_is_valid() -> None:
    recording = story()
    recording.changed(10, isr=[2, 3], leader=2)
    recording.changed(11, isr=[2], eligibleLeaderReplicas=[3])
    recording.changed(12, isr=[], leader=-1, eligibleLeaderReplicas=[2, 3], lastKnownElr=[2])
    recording.changed(13, isr=[3], leader=3, eligibleLeaderReplicas=[2], lastKnownElr=[])
    recording.changed(14, isr=[2, 3], eligibleLeaderReplicas=[])
    recording.changed(
        15, replicas=[1, 2, 3, 4], addingReplicas=[4], removingReplicas=[3], directories=["a"] * 4
    )
    recording.changed(16, replicas=[1, 2, 4], isr=[2, 4], leader=4, addingReplicas=[], removingReplicas=[])
    recording.changed(17, isr=[4], eligibleLeaderReplicas=[2])
    recording.record(18, "CLEAR_ELR_RECORD", {"topicName": TOPIC})
    recording.changed(19, isr=[], leader=-1, eligibleLeaderReplicas=[4], lastKnownElr=[4])
    recording.changed(
        20, isr=[1], leader=1, leaderRecoveryState=1, eligibleLeaderReplicas=[], lastKnownElr=[]
    )
    recording.changed(21, leaderRecoveryState=0)
    result = judged(recording)
    assert (result.validity, result.counts) == (Validity.VALID, {})
    figures = {"records": 15, "states": 13, "states_of_internal_topics": 0, "epochs": 0}
    assert result.figures.items() >= figures.items()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"isr": [2, 3]}, "leader-outside-isr"),
        ({"isr": [1, 9]}, "isr-outside-replicas"),
        ({"isr": [1], "eligibleLeaderReplicas": [1, 2]}, "isr-and-elr"),
        ({"isr": [1, 2], "eligibleLeaderReplicas": [3]}, "elr-beside-isr"),
        ({"leader": 1}, "restated-change"),
        ({"isr": [1, 2, 3]}, "restated-change"),
        ({"replicas": [1, 2, 3], "isr": [1]}, "restated-change"),
        ({"eligibleLeaderReplicas": []}, "restated-change"),
        ({"lastKnownElr": []}, "restated-change"),
        ({"addingReplicas": []}, "restated-change"),
        ({"removingReplicas": []}, "restated-change"),
        ({"directories": []}, "restated-change"),
        ({"leaderRecoveryState": 0}, "restated-change"),
    ],
)
def test_a_change_that_no_controller_writes(change: dict[str, Any], found: str) -> None:
    recording = story()
    recording.changed(10, **change)
    result = judged(recording)
    assert (result.validity, result.counts) == (Validity.INVALID, {found: 1})
    (anomaly,) = result.anomalies
    assert "Offset 3 of the metadata log" in anomaly.summary
    assert anomaly.subject == f"{TOPIC}/0"
    assert len(anomaly.explanation) == 3


def test_a_leader_is_restated_to_begin_an_epoch_where_replicas_or_members_go() -> None:
    recording = story()
    recording.changed(10, leader=1, isr=[1, 2])
    recording.changed(11, leader=1, replicas=[1, 2])
    assert ids(recording) == {}


class TestElections:
    def test_of_an_outsider_alone_without_the_flag(self) -> None:
        recording = story()
        recording.changed(10, isr=[1])
        recording.changed(11, isr=[2], leader=2)
        assert ids(recording) == {"unflagged-election": 1}

    def test_with_the_flag_is_what_it_reports(self) -> None:
        recording = story()
        recording.changed(10, isr=[1])
        recording.changed(11, isr=[2], leader=2, leaderRecoveryState=1)
        recording.changed(12, isr=[3], leader=3)  # its state is reported already
        assert ids(recording) == {}

    def test_of_one_that_joins_by_the_same_record(self) -> None:
        recording = story()
        recording.changed(10, isr=[1])
        recording.changed(11, isr=[1, 2], leader=2)
        assert ids(recording) == {}

    def test_where_nobody_led_nobody_can_have_let_it_join(self) -> None:
        recording = story()
        recording.changed(10, isr=[1], leader=-1)
        recording.changed(11, isr=[1, 2], leader=2)
        assert ids(recording) == {"unflagged-election": 1}


class TestNeeded:
    """How many members of an ISR leave no room for an ELR is what configs say."""

    @pytest.mark.parametrize(
        ("configs", "setup", "found"),
        [
            ([], {}, True),
            ([], {"config": {"min.insync.replicas": "2"}}, False),
            ([], {"config": {}, "node_config": {"n2": {"min.insync.replicas": 2}}}, False),
            ([(4, "", "2")], {}, False),
            ([(4, "", "1")], {"config": {"min.insync.replicas": "2"}}, True),
            ([(4, "", "1"), (4, "3", "2")], {}, False),
            ([(4, "", "2"), (2, TOPIC, "1")], {}, True),
            ([(2, TOPIC, "2"), (2, TOPIC, None)], {}, True),
            ([(2, "other", "2")], {}, True),
        ],
    )
    def test_by_configs(
        self, configs: list[tuple[int, str, str | None]], setup: dict[str, Any], *, found: bool
    ) -> None:
        recording = AdminStory(**setup)
        for kind, name, value in configs:
            place = {"resourceType": kind, "resourceName": name}
            recording.record(0.1, "CONFIG_RECORD", place | MIN_ISR | {"value": value})
        recording.record(0.2, "CONFIG_RECORD", {"resourceType": 2, "resourceName": TOPIC, "name": "flush.ms"})
        recording.created()
        recording.changed(10, isr=[1], eligibleLeaderReplicas=[2])
        assert ids(recording) == ({"elr-beside-isr": 1} if found else {})

    def test_a_topic_that_is_made_again_has_no_configs_of_the_one_before(self) -> None:
        recording = story()
        recording.record(5, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
        recording.record(6, "TOPIC_RECORD", {"name": TOPIC, "topicId": "next"})
        place = {"topicId": "next", "partitionId": 0}
        made = {"leader": 1, "leaderEpoch": 0, "replicas": [1, 2], "isr": [1, 2]}
        recording.record(6, "PARTITION_RECORD", place | made)
        recording.record(7, "PARTITION_CHANGE_RECORD", place | {"isr": [1], "eligibleLeaderReplicas": [2]})
        assert ids(recording) == {"elr-beside-isr": 1}

    @pytest.mark.parametrize(("properties", "found"), [({"min.insync.replicas": "2"}, False), ({}, True)])
    def test_a_node_may_have_been_given_another_value(
        self, properties: dict[str, str], *, found: bool
    ) -> None:
        recording = AdminStory()
        recording.both(3, 4, "configure", {"properties": properties}, key="n1")
        recording.created()
        recording.changed(10, isr=[1], eligibleLeaderReplicas=[2])
        assert ids(recording) == ({"elr-beside-isr": 1} if found else {})

    def test_without_a_setup_or_nodes_it_is_one(self) -> None:
        recording = AdminStory(nodes=[])
        recording.created()
        recording.changed(10, isr=[1], eligibleLeaderReplicas=[2])
        assert ids(recording) == {"elr-beside-isr": 1}
        history = recording.history()
        bare = History("run", "", tuple(o for o in history.operations if o.f != "setup"))
        assert check_partitions(bare).counts == {"elr-beside-isr": 1}


class TestWhatIsNotThere:
    def test_a_change_of_a_partition_that_was_not_made(self) -> None:
        recording = story()
        recording.record(10, "PARTITION_CHANGE_RECORD", {"partitionId": 5, "topicId": TOPIC_ID, "isr": [1]})
        assert ids(recording) == {"change-of-nothing": 1}

    def test_a_change_of_a_partition_that_was_removed(self) -> None:
        recording = story()
        recording.record(10, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
        recording.changed(11, isr=[1])
        assert ids(recording) == {"change-of-nothing": 1}

    def test_a_partition_of_a_topic_that_was_not_made_or_was_removed(self) -> None:
        recording = story()
        made = {"leader": 1, "leaderEpoch": 0, "replicas": [1, 2], "isr": [1, 2]}
        recording.record(10, "PARTITION_RECORD", {"partitionId": 1, "topicId": TOPIC_ID} | made)
        assert ids(recording) == {}
        recording.record(11, "PARTITION_RECORD", {"partitionId": 0, "topicId": "nowhere"} | made)
        recording.record(12, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
        recording.record(13, "PARTITION_RECORD", {"partitionId": 2, "topicId": TOPIC_ID} | made)
        result = judged(recording)
        assert result.counts == {"change-of-nothing": 2}
        assert [anomaly.subject for anomaly in result.anomalies] == ["nowhere/0", f"{TOPIC}/2"]
        assert (
            "it belongs to a topic that the log did not create, or has removed" in result.anomalies[0].summary
        )

    def test_a_snapshot_of_later_records_does_not_make_its_topic(self) -> None:
        recording = AdminStory()
        recording.created()
        recording.records[0] = [0, 1, "LEADER_CHANGE", {}]
        snapshot = ["00000000000000000009-0000000001.checkpoint", [[0, 1, "TOPIC_RECORD", NAMED]]]
        result = check_partitions(recording.history(checkpoint=snapshot))
        assert result.counts == {"change-of-nothing": 1}

    def test_where_records_are_missing_it_may_have_been_made_by_them(self) -> None:
        recording = AdminStory()
        recording.created()
        batches = [Batch(0, 1), Batch(1, 1)]
        for node, records in (("n1", recording.records[1:]), ("n2", recording.records[:1])):
            recording.observe(900, "metadata-log", metadata(batches, records=records), node=node)
        result = check_partitions(recording.history(metadata_log=False))
        assert result.counts == {}

    def test_where_the_log_begins_later_it_may_have_been_made_before(self) -> None:
        recording = story()
        recording.record(10, "PARTITION_CHANGE_RECORD", {"partitionId": 5, "topicId": TOPIC_ID, "isr": [1]})
        result = check_partitions(recording.history(log_start=1))
        assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
        assert "begins at offset 1" in str(result.unknown_because)

    def test_where_the_first_records_are_missing_it_may_have_been_made_by_them(self) -> None:
        recording = story()
        recording.record(10, "PARTITION_CHANGE_RECORD", {"partitionId": 5, "topicId": TOPIC_ID, "isr": [1]})
        history = recording.history()
        (log,) = history.observed("metadata-log")
        log.value["records"] = log.value["records"][1:]
        result = check_partitions(history)
        assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
        assert str(result.unknown_because).startswith(
            "the history has no record of the metadata log before offset "
        )


class TestEpochs:
    def test_a_partition_that_is_made_again(self) -> None:
        recording = story()
        recording.created(at_ms=20)
        assert ids(recording) == {"epoch-went-back": 1}

    @pytest.mark.parametrize(
        ("second", "found"),
        [
            ({"brokerEpoch": 8, "incarnationId": "b"}, False),
            ({"brokerEpoch": 7, "incarnationId": "a"}, False),
            ({"brokerEpoch": 7, "incarnationId": "b"}, True),
            ({"brokerEpoch": 6, "incarnationId": "a"}, True),
        ],
    )
    def test_a_broker_registers_anew_with_a_greater_one(self, second: dict[str, Any], *, found: bool) -> None:
        recording = story()
        first = {"brokerId": 1, "brokerEpoch": 7, "incarnationId": "a"}
        recording.record(10, "REGISTER_BROKER_RECORD", first)
        recording.record(11, "REGISTER_BROKER_RECORD", first | second)
        assert ids(recording) == ({"epoch-went-back": 1} if found else {})
        assert judged(recording).figures["epochs"] == 2

    def test_a_registration_is_changed_by_who_has_its_epoch(self) -> None:
        recording = story()
        recording.record(
            9, "BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": 1, "brokerEpoch": 3, "fenced": -1}
        )
        recording.record(10, "REGISTER_BROKER_RECORD", {"brokerId": 1, "brokerEpoch": 7})
        recording.record(
            11, "BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": 1, "brokerEpoch": 7, "fenced": -1}
        )
        assert ids(recording) == {}
        recording.record(
            12, "BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": 1, "brokerEpoch": 6, "fenced": 1}
        )
        assert ids(recording) == {"epoch-went-back": 1}

    def test_producers_are_never_given_the_same_ids_twice(self) -> None:
        recording = story()
        recording.record(10, "PRODUCER_IDS_RECORD", {"brokerId": 1, "brokerEpoch": 7, "nextProducerId": 1000})
        assert ids(recording) == {}
        recording.record(11, "PRODUCER_IDS_RECORD", {"brokerId": 2, "brokerEpoch": 8, "nextProducerId": 1000})
        assert ids(recording) == {"epoch-went-back": 1}


class TestUnknown:
    def test_without_any_log_where_one_was_to_be_gathered(self) -> None:
        recording = story(evidence=["metadata-log"])
        result = check_partitions(recording.history(metadata_log=False))
        assert result.validity is Validity.UNKNOWN
        assert "no metadata log" in str(result.unknown_because)
        assert check_partitions(story().history(metadata_log=False)).validity is Validity.NOT_EXERCISED

    def test_where_leaders_reported_more(self) -> None:
        recording = story()
        recording.changed(10, isr=[1])
        result = check_partitions(recording.history(cut=3))
        assert "leaders reported records beyond" in str(result.unknown_because)

    def test_where_the_time_of_a_record_is_not_known_neither_is_the_anomalys(self) -> None:
        recording = story()
        recording.changed(10, isr=[2])
        history = recording.history()
        quiet = History("run", "", tuple(o for o in history.operations if o.key != "quorum"))
        (anomaly,) = check_partitions(quiet).anomalies
        assert anomaly.time_ns is None
