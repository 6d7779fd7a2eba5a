"""Brokers whose log directories are all cordoned get no further replicas."""

from typing import Any

import pytest

from checkers.logs.partitions import check_partitions
from tests.checkers.admin_histories import AdminStory
from tests.checkers.logs.replicas.replica_histories import Batch, packed

FOUND = {"assigned-to-cordoned": 1}
CHANGE = "BROKER_REGISTRATION_CHANGE_RECORD"


def story(cordoned: Any = ("d3",), *, directories: Any = ("d3",)) -> AdminStory:
    """A partition is on brokers 1 and 2; broker 3 registers, and reports which directories are cordoned."""
    recording = AdminStory()
    registered(recording, 0.1, directories)
    recording.created((1, 2))
    changed(recording, 5, cordonedLogDirs=cordoned)
    return recording


def registered(recording: AdminStory, at_ms: float, directories: Any, **fields: Any) -> None:
    epoch = {"brokerId": 3, "brokerEpoch": len(recording.records), "incarnationId": "i", "fenced": True}
    recording.record(at_ms, "REGISTER_BROKER_RECORD", epoch | {"logDirs": directories} | fields)


def changed(recording: AdminStory, at_ms: float, **fields: Any) -> None:
    recording.record(at_ms, CHANGE, {"brokerId": 3, "brokerEpoch": 0, **fields})


def ids(recording: AdminStory) -> dict[str, int]:
    return check_partitions(recording.history()).counts


def test_a_reassignment_to_it() -> None:
    recording = story()
    recording.changed(10, replicas=[1, 2, 3], addingReplicas=[3])
    result = check_partitions(recording.history())
    assert result.counts == FOUND
    (anomaly,) = result.anomalies
    text = "all log directories of broker 3 are cordoned, but it becomes a replica"
    assert anomaly.summary.endswith(f"PARTITION_CHANGE_RECORD, breaks a rule for log-0/0: {text}.")


def test_an_assignment_to_it() -> None:
    recording = AdminStory()
    registered(recording, 0.1, ("d3", "e3"), cordonedLogDirs=["e3", "d3"])
    recording.created((1, 2, 3))
    assert ids(recording) == FOUND


@pytest.mark.parametrize(
    ("cordoned", "directories"),
    [
        pytest.param((), ("d3",), id="none"),
        pytest.param(None, ("d3",), id="not reported"),
        pytest.param(("d3",), ("d3", "e3"), id="not all"),
        pytest.param(("d3",), (), id="of a broker without directories"),
        pytest.param(("d3",), None, id="before directories were recorded"),
    ],
)
def test_a_broker_that_may_get_replicas(cordoned: Any, directories: Any) -> None:
    recording = story(cordoned, directories=directories)
    recording.changed(10, replicas=[1, 2, 3], addingReplicas=[3])
    assert ids(recording) == {}


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"cordonedLogDirs": []}, {}),  # it was opened again
        ({"logDirs": ["d3", "e3"]}, {}),  # it got another directory
        ({"fenced": 1}, FOUND),
        ({"cordonedLogDirs": None, "logDirs": []}, FOUND),
    ],
)
def test_a_change_of_its_registration(fields: dict[str, Any], found: dict[str, int]) -> None:
    recording = story()
    changed(recording, 6, **fields)
    recording.changed(10, replicas=[1, 2, 3], addingReplicas=[3])
    assert ids(recording) == found


def test_a_new_process_has_not_reported_yet() -> None:
    recording = story()
    registered(recording, 6, ("d3",))
    recording.changed(10, replicas=[1, 2, 3], addingReplicas=[3])
    assert ids(recording) == {}


def test_of_a_broker_that_is_not_registered_nothing_is_known() -> None:
    recording = story()
    recording.record(6, "UNREGISTER_BROKER_RECORD", {"brokerId": 3, "brokerEpoch": 0})
    changed(recording, 7, cordonedLogDirs=["d3"])
    recording.changed(10, replicas=[1, 2, 3], addingReplicas=[3])
    assert ids(recording) == {"assigned-to-unregistered": 1}


def test_a_replica_that_it_had_before_stays() -> None:
    recording = AdminStory()
    registered(recording, 0.1, ("d3",))
    recording.created((1, 2, 3))
    changed(recording, 5, cordonedLogDirs=["d3"])
    recording.changed(10, replicas=[3, 1, 2])
    assert ids(recording) == {}


def test_a_change_of_an_unknown_partition_adds_nobody() -> None:
    recording = story()
    recording.record(10, "PARTITION_CHANGE_RECORD", {"partitionId": 7, "topicId": "unknown", "replicas": [3]})
    assert "assigned-to-cordoned" not in ids(recording)


def test_after_a_record_that_could_not_be_decoded_nothing_is_known() -> None:
    recording = story()
    recording.record(8, "OPAQUE_RECORD", {"type": 27, "version": 9, "size": 30})
    recording.changed(10, replicas=[1, 2, 3], addingReplicas=[3])
    assert ids(recording) == {}


def test_in_a_log_that_lacks_records_nothing_is_known() -> None:
    recording = story()
    recording.changed(10, replicas=[1, 2, 3], addingReplicas=[3])
    end = len(recording.records)
    lacking: dict[str, Any] = {"batches": packed([Batch(0, end), Batch(end, 2)]), "count": 2, "end": end + 2}
    assert ids(recording) == FOUND
    assert check_partitions(recording.history(**lacking)).counts == {}
