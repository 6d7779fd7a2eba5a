"""A broker that reports that a disk failed soon leads no partition there, unless something prevents that."""

from typing import Any

import pytest

from checkers.logs.partitions import check_partitions
from checkers.logs.partitions.failed_directories import BOUND_NS, COMMITTING_NS
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.partitions.directory_histories import DIRECTORIES, Story

LED = "failed-directory-led"
AS_LEADER = 0
FROM_MS = 1000
UNTIL_MS = FROM_MS + BOUND_NS / 1e6 + 1
UNASSIGNED = "AAAAAAAAAAAAAAAAAAAAAA"


def fails(recording: Story, until_ms: float = UNTIL_MS) -> None:
    """It answers that its disk has failed, every second and at the end."""
    for at_ms in range(FROM_MS, round(until_ms), 1000):
        recording.observe_leading(at_ms)
    recording.observe_leading(until_ms)


def judged(recording: Story) -> CheckerResult:
    return check_partitions(recording.history(began_ns=10**12))


def failing(**made: Any) -> Story:
    recording = Story(**made)
    recording.commits()
    fails(recording)
    return recording


def found(recording: Story) -> int:
    return judged(recording).counts.get(LED, 0)


def test_who_leads_on() -> None:
    result = judged(failing())
    assert (result.validity, result.counts) == (Validity.INVALID, {LED: 1})
    (anomaly,) = result.anomalies
    assert anomaly.summary.startswith(
        "n1 answered from 1.001 s to 7.002 s that the disk of log-0/0 has failed"
    )
    assert len(anomaly.witness) == 3
    assert result.figures["storage_errors_of_leaders"] == 8
    assert result.figures["failed_directory_led_ms"] == 6000


def test_once_for_each_epoch() -> None:
    recording = failing()
    recording.observe_leading(8000)
    assert found(recording) == 1


def test_who_leads_no_more_in_time() -> None:
    recording = Story()
    recording.commits()
    fails(recording, UNTIL_MS - 2)
    assert judged(recording).counts == {}
    recording = failing()
    recording.changed(3000, leader=2, isr=[2, 3])
    assert found(recording) == 0


def test_another_epoch_is_another_leadership() -> None:
    recording = Story()
    recording.commits()
    for at_ms in range(1000, 13_000, 1000):
        recording.observe_leading(at_ms, epoch=int(at_ms >= 6000))
    recording.changed(5500, leader=1)
    assert found(recording) == 0


@pytest.mark.parametrize(
    "between",
    [
        {"error": AS_LEADER},
        {"error": 6},
        {"leader": 2},
        {"leader": 2, "error": AS_LEADER},
    ],
)
def test_an_answer_between_that_differs_begins_anew(between: dict[str, Any]) -> None:
    recording = failing()
    recording.observe_leading(3500, **between)
    assert found(recording) == 0


def test_of_a_replica_that_does_not_lead_it_may_go_on() -> None:
    recording = Story()
    recording.commits()
    for at_ms in range(1000, 13_000, 1000):
        recording.observe_leading(at_ms, node="n2")
        recording.observe_leading(at_ms, node="n9", leader=-1)
    result = judged(recording)
    assert (result.counts, result.figures.get("storage_errors_of_leaders")) == ({}, None)


@pytest.mark.parametrize(
    "directories",
    [[], [UNASSIGNED, *DIRECTORIES[1:]]],
)
def test_where_nobody_knows_in_which_directory_it_lies(directories: list[str]) -> None:
    assert found(failing(directories=directories)) == 0


def test_while_it_is_moved_to_another_directory() -> None:
    recording = failing()
    recording.changed(3000, directories=DIRECTORIES[::-1])
    assert found(recording) == 0


@pytest.mark.parametrize(
    ("kind", "node", "number"),
    [
        ("dead-disk", "n1", 1),
        ("dead-disk", "n3", 0),
        ("pause", "n1", 0),
        ("packet-loss", "n3", 0),
        ("pause", "n2", 1),
    ],
)
def test_faults_at_it_or_at_controllers_excuse_it(kind: str, node: str, number: int) -> None:
    recording = failing()
    recording.fault(2000, 2500, kind, node)
    assert found(recording) == number


def test_a_fault_does_not_excuse_what_lasts_longer_than_itself_and_the_bound() -> None:
    recording = Story()
    recording.commits()
    fails(recording, UNTIL_MS + 501)
    recording.fault(2000, 2500, "pause", "n1")
    assert found(recording) == 1


def test_a_cut_concerns_whom_it_cuts() -> None:
    for pairs, number in ((["n2", "n1"], 0), (["n2", "n2"], 1)):
        recording = failing()
        recording.fault(2000, None, "partition", "n2")
        history = recording.history(began_ns=10**12)
        for operation in history.of("inject"):
            if operation.value.get("targets"):
                operation.value["cut"] = [pairs]
        assert check_partitions(history).counts.get(LED, 0) == number


def test_a_process_that_ended_excuses_it() -> None:
    recording = failing()
    recording.observe(3000, "node", {"status": "exited"})
    assert found(recording) == 0


def test_where_nobody_could_elect() -> None:
    recording = Story()
    fails(recording)
    assert found(recording) == 0
    gap_ms = COMMITTING_NS // 1_000_000
    recording = Story()
    fails(recording)
    recording.commits(0, 3000)
    recording.commits(3000 + gap_ms, 20_000)
    assert found(recording) == 0
    recording = failing()
    value = {"answer": "leader", "leader_id": 3, "leader_epoch": 2, "high_watermark": 9, "voters": []}
    recording.observe(4000, "quorum", {"began_ns": 1, "wall_ms": 0, "observers": []} | value, node="n3")
    assert found(recording) == 0


def test_where_the_metadata_log_does_not_tell() -> None:
    assert LED not in check_partitions(failing().history(metadata_log=False)).counts
