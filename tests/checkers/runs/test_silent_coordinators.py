"""A group whose committed offsets nobody is told after recovery, and what explains that."""

from typing import Any

import pytest

from checkers.columns.tables import NEVER
from checkers.history.operations import History, OperationType
from checkers.licences import internal
from checkers.licences.internal import Loss
from checkers.runs.recovery import check_recovery
from tests.checkers.admin_histories import TOPIC, AdminStory

OK, INFO, INVOKE = OperationType.OK, OperationType.INFO, OperationType.INVOKE
OFFSETS_ID = "bd2yURLxReyXmuf8pnFOsg"
STATE = {"topic": TOPIC, "partition": 0, "leader": 1, "isr": [1], "replicas": [1], "write_acked": True}
GROUP = "copy-0"


def story(
    isr: tuple[int, ...] = (1, 2, 3), leader: int = 1, how: OperationType = OK, **recovery: Any
) -> AdminStory:
    """Recovery is over at 200 ms, within a bound of 50 ms, and records are read back after that."""
    told = AdminStory()
    told.created()
    told.record(5, "TOPIC_RECORD", {"name": "__consumer_offsets", "topicId": OFFSETS_ID})
    made = {"replicas": [1, 2, 3], "isr": list(isr), "leader": leader, "leaderEpoch": 0}
    told.record(6, "PARTITION_RECORD", {"partitionId": 0, "topicId": OFFSETS_ID, **made})
    value = {"bound_ms": 50, "took_ms": 9, "partitions": [STATE], **recovery}
    told.add(200, "runner", how, "recover", key=TOPIC, value=value)
    told.add(210, "runner", OK, "phase", key="final-read")
    return told


def add_question(told: AdminStory, from_ms: float, to_ms: float, how: OperationType = INFO) -> None:
    question = {"key": GROUP, "value": {"topic": TOPIC}}
    told.add(from_ms, "reader-9", INVOKE, "committed-offsets", **question)
    told.add(to_ms, "reader-9", how, "committed-offsets", **question, error="timed out")


def silent(told: AdminStory, *, read: bool = True) -> list[str | None]:
    """Subjects of what is illegal."""
    if read:
        told.final(end=0)
    found = check_recovery(told.history()).anomalies
    return [anomaly.subject for anomaly in found if anomaly.illegal]


def test_a_group_of_which_nobody_is_told() -> None:
    told = story()
    add_question(told, 220, 280)
    assert silent(told) == [GROUP]


def test_what_is_said_of_it() -> None:
    told = story()
    add_question(told, 220, 280)
    told.final(end=0)
    (anomaly,) = check_recovery(told.history()).anomalies
    assert anomaly.id == "not-recovered"
    assert "timed out" in anomaly.explanation[0]
    assert len(anomaly.witness) == 3


def test_registers_are_asked_again_and_again() -> None:
    told = story()
    for at_ms in (220, 250, 280):
        told.add(at_ms, "reader-9", INVOKE, "read", key=f"offset/{GROUP}/{TOPIC}/0")
        told.add(at_ms + 20, "reader-9", INFO, "read", key=f"offset/{GROUP}/{TOPIC}/0")
        told.add(at_ms, "reader-8", INVOKE, "read", key="config/x")
    assert silent(told) == [GROUP]


@pytest.mark.parametrize(
    "setup",
    [
        pytest.param({"leader": -1}, id="nobody leads its partition"),
        pytest.param({"isr": (1, 2)}, id="a replica is not in sync"),
        pytest.param({"load_per_cpu": 15.0}, id="the host was too busy"),
        pytest.param({"how": INFO}, id="recovery did not come to its end"),
    ],
)
def test_what_explains_a_silence(setup: dict[str, Any]) -> None:
    told = story(**setup)
    add_question(told, 220, 280)
    assert silent(told) == []


def test_it_was_not_asked_for_long() -> None:
    told = story()
    add_question(told, 220, 265)
    assert silent(told) == []


def test_somebody_was_told() -> None:
    told = story()
    add_question(told, 220, 280)
    add_question(told, 290, 300, OK)
    assert silent(told) == []


def test_what_was_asked_before_the_end_is_no_matter() -> None:
    told = story()
    add_question(told, 20, 190)
    told.add(220, "reader-9", INVOKE, "committed-offsets", key=GROUP, value={"topic": TOPIC})
    assert silent(told) == []


def test_where_records_were_not_read_either() -> None:
    told = story()
    add_question(told, 220, 280)
    assert silent(told, read=False) == []


def test_where_no_log_tells_of_its_partition() -> None:
    told = story()
    add_question(told, 220, 280)
    told.final(end=0)
    assert check_recovery(told.history(metadata_log=False)).anomalies == ()


def test_an_offsets_topic_that_may_have_lost_records() -> None:
    told = story()
    told.fault(20, 30, "wipe-disk", "n1", "n2", "n3", removed=["__consumer_offsets-0/0.log"])
    add_question(told, 220, 280)
    told.final(end=0)
    (anomaly,) = check_recovery(told.history()).anomalies
    assert not anomaly.illegal
    assert anomaly.licence is not None


@pytest.mark.parametrize(
    ("topic", "partition", "from_ms", "to_group", "licensed"),
    [
        ("__consumer_offsets", 0, 280, GROUP, True),
        ("__consumer_offsets", 1, 280, GROUP, False),
        ("__consumer_offsets", 0, 281, GROUP, False),
        ("__transaction_state", 0, 280, GROUP, True),
        ("__transaction_state", 0, 280, "another", False),
        ("__transaction_state", 1, 280, GROUP, False),
        ("__transaction_state", 0, 281, GROUP, False),
    ],
)
def test_a_loss_counts_in_the_partitions_of_the_group_and_of_those_that_commit_for_it(
    monkeypatch: pytest.MonkeyPatch,
    topic: str,
    partition: int,
    from_ms: int,
    to_group: str,
    *,
    licensed: bool,
) -> None:
    told = story()
    told.record(7, "TOPIC_RECORD", {"name": "__transaction_state", "topicId": "AAAAAAAAAAAAAAAAAAAAAQ"})
    made = {"replicas": [1], "isr": [1], "leader": 1, "leaderEpoch": 0}
    told.record(8, "PARTITION_RECORD", {"partitionId": 0, "topicId": "AAAAAAAAAAAAAAAAAAAAAQ", **made})
    mops = [["offsets", to_group, TOPIC, [[0, 1]]]]
    asked = {"client": "c", "end": "commit", "mops": mops, "consumed": []}
    told.add(100, 7, INVOKE, "txn", key="t-0", value=asked)
    told.add(101, 8, INVOKE, "txn", key="t-1")
    add_question(told, 220, 280)
    loss = Loss("a loss", NEVER, from_ms * 1_000_000)

    def losses(_: History, name: str, number: int | None = None) -> tuple[Loss, ...]:
        return (loss,) if name == topic and number in {None, partition} else ()

    monkeypatch.setattr(internal, "losses", losses)
    assert silent(told) == ([] if licensed else [GROUP])
