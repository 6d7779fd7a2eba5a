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
    told = Story()
    told.commits()
    told.dies(DEAD_MS, heal_ms, **probe)
    told.sends(1050, 7, 70)
    told.sends(sent_ms, 8, 80, 9000)
    told.view(ASKED_MS + 0.1, 0, [1, 2, 3], nodes=(1,))
    return told


def judged(told: Story) -> CheckerResult:
    return check_partitions(told.history(began_ns=10**12))


def found(told: Story) -> int:
    return judged(told).counts.get(LED, 0)


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
    told = dead()
    told.changed(2000, leader=2, isr=[2, 3])
    assert found(told) == 0


def test_nor_in_another_epoch() -> None:
    told = dead()
    told.changed(2000, leader=1)
    assert found(told) == 0


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
    told = dead()
    history = told.history(began_ns=10**12)
    for operation in history.of("inject"):
        operation.value.get("probe", {}).pop("directory_ids", None)
    assert LED not in check_partitions(history).counts


def test_without_a_heal_nobody_knows_how_long_it_was_dead() -> None:
    assert found(dead(heal_ms=None)) == 0


def test_it_is_to_be_dead_for_long_enough() -> None:
    assert found(dead(sent_ms=SENT_MS + 2)) == 0
    assert found(dead(heal_ms=ASKED_MS)) == 0  # nothing that was asked so late was answered before


def test_where_nobody_or_one_process_wrote() -> None:
    told = Story()
    told.commits()
    told.dies(DEAD_MS, HEAL_MS)
    told.view(ASKED_MS + 0.1, 0, [1, 2, 3], nodes=(1,))
    assert found(told) == 0
    told.sends(1050, 7, 70)
    told.sends(1060, 7, 71)
    assert found(told) == 0


@pytest.mark.parametrize(("end_ms", "number"), [(1200, 0), (HEAL_MS + 50, 1)])
def test_where_a_record_was_acknowledged_it_was_not_dead(end_ms: float, number: int) -> None:
    told = dead()
    told.sends(1150, 9, 90, end_ms, offset=5)
    assert found(told) == number


def test_what_was_sent_before_may_be_acknowledged() -> None:
    told = dead()
    told.sends(900, 9, 90, 1200, offset=5)
    assert found(told) == 1


def test_a_leader_without_all_in_sync_may_refuse_everything() -> None:
    told = dead()
    told.changed(500, isr=[1, 2])
    told.changed(7500, isr=[1, 2, 3])
    assert found(told) == 0
    told = dead()
    told.changed(4000, isr=[1])
    assert found(told) == 1


@pytest.mark.parametrize("node", ["n1", "n2", "n3"])
def test_any_other_fault_may_disturb_it(node: str) -> None:
    told = dead()
    told.fault(3000, 3100, "pause", node)
    assert found(told) == 0


def test_where_nobody_could_elect() -> None:
    gap_ms = COMMITTING_NS // 1_000_000
    told = Story()
    told.commits(0, 3000)
    told.commits(3000 + gap_ms, 20_000)
    told.dies(DEAD_MS, HEAL_MS)
    told.sends(1050, 7, 70)
    told.sends(SENT_MS, 8, 80)
    told.view(ASKED_MS + 0.1, 0, [1, 2, 3], nodes=(1,))
    assert found(told) == 0


def test_of_a_topic_to_which_no_client_of_the_run_sends_nothing_is_known() -> None:
    told = dead()
    told.record(5, "TOPIC_RECORD", {"name": "__consumer_offsets", "topicId": "other"})
    state = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leaderEpoch": 0}
    place = {"partitionId": 0, "topicId": "other", "directories": DIRECTORIES}
    told.record(6, "PARTITION_RECORD", state | place)
    assert [anomaly.subject for anomaly in judged(told).anomalies] == ["log-0/0"]


def test_where_the_metadata_log_does_not_tell() -> None:
    assert LED not in check_partitions(dead().history(metadata_log=False)).counts
