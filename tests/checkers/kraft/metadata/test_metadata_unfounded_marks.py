"""High watermarks beyond records of which nobody had asked for the cause yet."""

from typing import Any

import msgspec
import pytest

from checkers.judge import result_by
from checkers.kraft.metadata import check_metadata
from checkers.verdict.verdict import Anomaly, Validity
from tests.checkers.admin_histories import TOPIC, AdminStory
from tests.checkers.log_histories import MS

MADE, MADE_ID = "made-1", "id1"
BEYOND = "high-watermark-unfounded"
CONFIG = "config-0"


def run(**setup: Any) -> AdminStory:
    """A topic that is asked for at 10 ms and a value that is written at 20 ms, at offsets 2 and 4."""
    recording = AdminStory(**setup)
    recording.created(at_ms=-20)
    asked = {"partitions": 1, "replication_factor": 1}
    recording.both(10, 12, "create-topic", asked, answer=asked | {"topic_id": MADE_ID}, key=MADE)
    recording.record(11, "TOPIC_RECORD", {"name": MADE, "topicId": MADE_ID})
    recording.record(11, "PARTITION_RECORD", {"partitionId": 0, "topicId": MADE_ID, "replicas": [1]})
    write(recording, 20)
    logged(recording, 21)
    return recording


def write(recording: AdminStory, at_ms: float, value: int = 7) -> None:
    recording.both(at_ms, at_ms + 2, "write", value, key=f"config/{CONFIG}/flush.ms")


def logged(recording: AdminStory, at_ms: float, value: int = 7) -> None:
    record = {"resourceType": 2, "resourceName": CONFIG, "name": "flush.ms", "value": str(value)}
    recording.record(at_ms, "CONFIG_RECORD", record)


def leader(recording: AdminStory, at_ms: float, mark: int, epoch: int = 1, node: str = "n1") -> None:
    value = {"began_ns": round((at_ms - 0.1) * MS), "answer": "leader", "leader_id": 1, "leader_epoch": epoch}
    recording.observe(
        at_ms, "quorum", value | {"high_watermark": mark, "wall_ms": 0, "voters": []}, node=node
    )


def found(recording: AdminStory) -> list[Anomaly]:
    return [a for a in check_metadata(recording.history()).anomalies if a.id == BEYOND]


def test_marks_that_follow_what_is_asked_for() -> None:
    recording = run()
    leader(recording, 20.1, 5)
    assert found(recording) == []
    assert check_metadata(recording.history()).figures["records_asked_for"] == 2


@pytest.mark.parametrize(
    ("at_ms", "mark", "what"),
    [
        (9.9, 3, f"the creation of topic {MADE}"),
        (9.9, 4, f"the creation of topic {MADE}"),
        (19.9, 5, f"flush.ms=7 of {CONFIG}"),
        (9.9, 5, f"flush.ms=7 of {CONFIG}"),
    ],
)
def test_a_mark_beyond_what_nobody_had_asked_for(at_ms: float, mark: int, what: str) -> None:
    recording = run()
    leader(recording, at_ms, mark)
    (anomaly,) = check_metadata(recording.history()).anomalies
    assert (anomaly.id, anomaly.subject, anomaly.illegal) == (BEYOND, "n1, epoch 1", True)
    assert f"reported high watermark {mark} before {what} was requested" in anomaly.summary
    history = recording.history()
    answer, invocation = (history.operations[index] for index in anomaly.witness)
    assert answer.value["high_watermark"] == mark
    assert invocation.type == "invoke"
    assert len(anomaly.explanation) == 3


@pytest.mark.parametrize(("at_ms", "mark", "epoch"), [(9.9, 2, 1), (10, 3, 1), (19.9, 4, 1), (9.9, 5, 0)])
def test_a_mark_that_may_be(at_ms: float, mark: int, epoch: int) -> None:
    recording = run()
    leader(recording, at_ms, mark, epoch)
    assert found(recording) == []


def test_each_leader_of_each_epoch_is_reported_once() -> None:
    recording = run()
    for at_ms, epoch, node in [(9.7, 2, "n1"), (9.8, 2, "n1"), (9.7, 3, "n1"), (9.7, 2, "n2")]:
        leader(recording, at_ms, 5, epoch, node)
    assert [anomaly.subject for anomaly in found(recording)] == ["n1, epoch 2", "n2, epoch 2", "n1, epoch 3"]


def test_what_was_asked_for_before_may_be_there() -> None:
    recording = run()
    write(recording, 5)
    leader(recording, 15, 5)
    assert found(recording) == []


def test_of_what_is_set_otherwise_nobody_knows_by_whom() -> None:
    recording = run()
    asked = {"config": "flush.ms", "value": "7", "to": "n1"}
    recording.both(100, 102, "alter-topic", asked, answer=asked | {"code": 0, "took_ms": 1}, key=CONFIG)
    leader(recording, 15, 5)
    assert found(recording) == []
    recording = run(topics=[{"name": CONFIG, "partitions": 1, "config": {"flush.ms": "7"}}])
    leader(recording, 15, 5)
    assert found(recording) == []


def test_a_topic_of_the_set_up_was_there_before() -> None:
    recording = AdminStory()
    recording.created(at_ms=-20)
    recording.both(10, 12, "create-topic", {"partitions": 1, "replication_factor": 1}, key=TOPIC, how="info")
    assert found(recording) == []


def test_registers_that_are_no_configs_are_left_alone() -> None:
    recording = run()
    recording.both(30, 31, "write", 7, key="offset/group")
    recording.both(30, 31, "write", 7, key=4)
    assert found(recording) == []


def test_wrong_marks_date_no_records() -> None:
    recording = run()
    leader(recording, 1, 5)
    recording.both(22, 24, "write", 9, key=f"config/{CONFIG}/flush.ms")
    assert {anomaly.id for anomaly in check_metadata(recording.history()).anomalies} == {BEYOND}


def test_a_disk_that_was_wiped_explains_it() -> None:
    recording = run()
    leader(recording, 9.9, 5)
    recording.fault(1, 3, "wipe-disk", "n2")
    (anomaly,) = found(recording)
    assert (anomaly.illegal, anomaly.licence) == (False, "the disks of n2 had been wiped")


def test_where_a_clients_journal_is_lost_somebody_may_have_asked_before() -> None:
    recording = run()
    leader(recording, 9.9, 5)
    history = msgspec.structs.replace(recording.history(), lacking=frozenset({"worker-3"}))
    result = result_by("metadata", check_metadata, history)
    assert result.validity is Validity.UNKNOWN
    assert BEYOND not in result.counts
