"""Who runs on with a dead directory soon leads nothing there, once anybody has written to it."""

from typing import Any

import pytest

from checkers.logs.partitions import check_partitions
from checkers.logs.partitions.failed_directories import BOUND_NS, COMMITTING_NS
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.partitions.directory_histories import DIRECTORIES, Story

LED = "failed-directory-led"
DEAD_MS, SENT_MS = 1000, 1100
ASKED_MS = SENT_MS + BOUND_NS / 1e6 + 1
HEAL_MS = ASKED_MS + 100


def dead(*, sent_ms: float = SENT_MS, heal_ms: float | None = HEAL_MS, **probe: Any) -> Story:
    """Two processes send to a partition in a dead directory, and hear nothing while it is led on."""
    recording = Story()
    recording.commits()
    recording.dies(DEAD_MS, heal_ms, **probe)
    recording.sends(1050, 7, 70)
    recording.sends(sent_ms, 8, 80, 9000)
    recording.view(ASKED_MS + 0.1, 0, [1, 2, 3], nodes=(1,))
    return recording


def judged(recording: Story) -> CheckerResult:
    return check_partitions(recording.history(began_ns=10**12))


def found(recording: Story) -> int:
    return judged(recording).counts.get(LED, 0)


def test_who_leads_on() -> None:
    result = judged(dead())
    assert (result.validity, result.counts) == (Validity.INVALID, {LED: 1})
    (anomaly,) = result.anomalies
    assert anomaly.summary.startswith(
        "n1 led log-0/0 at 7.101 s, although each write to its directory failed"
    )
    assert anomaly.subject == "log-0/0"
    assert len(anomaly.witness) == 5


def test_who_leads_no_more() -> None:
    recording = dead()
    recording.changed(2000, leader=2, isr=[2, 3])
    assert found(recording) == 0


def test_nor_in_another_epoch() -> None:
    recording = dead()
    recording.changed(2000, leader=1)
    assert found(recording) == 0


@pytest.mark.parametrize(
    "probe",
    [
        {"running": False},
        {"directory_ids": [DIRECTORIES[1]]},
        {"directory_ids": [None]},
        {"directory_ids": []},
    ],
)
def test_where_another_directory_died_or_the_broker_ended(probe: dict[str, Any]) -> None:
    assert found(dead(**probe)) == 0


def test_a_history_of_before_has_no_ids() -> None:
    recording = dead()
    history = recording.history(began_ns=10**12)
    for operation in history.of("inject"):
        operation.value.get("probe", {}).pop("directory_ids", None)
    assert LED not in check_partitions(history).counts


def test_without_a_heal_nobody_knows_how_long_it_was_dead() -> None:
    assert found(dead(heal_ms=None)) == 0


def test_it_is_to_be_dead_for_long_enough() -> None:
    assert found(dead(sent_ms=SENT_MS + 2)) == 0
    assert found(dead(heal_ms=ASKED_MS)) == 0  # nothing that was asked so late was answered before


def test_where_nobody_or_one_process_wrote() -> None:
    recording = Story()
    recording.commits()
    recording.dies(DEAD_MS, HEAL_MS)
    recording.view(ASKED_MS + 0.1, 0, [1, 2, 3], nodes=(1,))
    assert found(recording) == 0
    recording.sends(1050, 7, 70)
    recording.sends(1060, 7, 71)
    assert found(recording) == 0


@pytest.mark.parametrize(("end_ms", "number"), [(1200, 0), (HEAL_MS + 50, 1)])
def test_where_a_record_was_acknowledged_it_was_not_dead(end_ms: float, number: int) -> None:
    recording = dead()
    recording.sends(1150, 9, 90, end_ms, offset=5)
    assert found(recording) == number


def test_what_was_sent_before_may_be_acknowledged() -> None:
    recording = dead()
    recording.sends(900, 9, 90, 1200, offset=5)
    assert found(recording) == 1


def test_a_leader_without_all_in_sync_may_refuse_everything() -> None:
    recording = dead()
    recording.changed(500, isr=[1, 2])
    recording.changed(7500, isr=[1, 2, 3])
    assert found(recording) == 0
    recording = dead()
    recording.changed(4000, isr=[1])
    assert found(recording) == 1


@pytest.mark.parametrize("node", ["n1", "n2", "n3"])
def test_any_other_fault_may_disturb_it(node: str) -> None:
    recording = dead()
    recording.fault(3000, 3100, "pause", node)
    assert found(recording) == 0


def test_where_nobody_could_elect() -> None:
    gap_ms = COMMITTING_NS // 1_000_000
    recording = Story()
    recording.commits(0, 3000)
    recording.commits(3000 + gap_ms, 20_000)
    recording.dies(DEAD_MS, HEAL_MS)
    recording.sends(1050, 7, 70)
    recording.sends(SENT_MS, 8, 80)
    recording.view(ASKED_MS + 0.1, 0, [1, 2, 3], nodes=(1,))
    assert found(recording) == 0


def test_of_a_topic_to_which_no_client_of_the_run_sends_nothing_is_known() -> None:
    recording = dead()
    recording.record(5, "TOPIC_RECORD", {"name": "__consumer_offsets", "topicId": "other"})
    state = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leaderEpoch": 0}
    place = {"partitionId": 0, "topicId": "other", "directories": DIRECTORIES}
    recording.record(6, "PARTITION_RECORD", state | place)
    assert [anomaly.subject for anomaly in judged(recording).anomalies] == ["log-0/0"]


def test_where_the_metadata_log_does_not_tell() -> None:
    assert LED not in check_partitions(dead().history(metadata_log=False)).counts
