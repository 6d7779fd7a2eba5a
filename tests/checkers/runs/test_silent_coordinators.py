"""A group whose committed offsets nobody gets after recovery, and what explains that."""

from typing import Any

import msgspec
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
    recording = AdminStory()
    recording.created()
    recording.record(5, "TOPIC_RECORD", {"name": "__consumer_offsets", "topicId": OFFSETS_ID})
    made = {"replicas": [1, 2, 3], "isr": list(isr), "leader": leader, "leaderEpoch": 0}
    recording.record(6, "PARTITION_RECORD", {"partitionId": 0, "topicId": OFFSETS_ID, **made})
    value = {"bound_ms": 50, "took_ms": 9, "partitions": [STATE], **recovery}
    recording.add(200, "runner", how, "recover", key=TOPIC, value=value)
    recording.add(210, "runner", OK, "phase", key="final-read")
    return recording


def add_question(recording: AdminStory, from_ms: float, to_ms: float, how: OperationType = INFO) -> None:
    question = {"key": GROUP, "value": {"topic": TOPIC}}
    recording.add(from_ms, "reader-9", INVOKE, "committed-offsets", **question)
    recording.add(to_ms, "reader-9", how, "committed-offsets", **question, error="timed out")


def silent(recording: AdminStory, *, read: bool = True) -> list[str | None]:
    """Subjects of what is illegal."""
    if read:
        recording.final(end=0)
    found = check_recovery(recording.history()).anomalies
    return [anomaly.subject for anomaly in found if anomaly.illegal]


def test_a_group_whose_offsets_nobody_gets() -> None:
    recording = story()
    add_question(recording, 220, 280)
    assert silent(recording) == [GROUP]


def test_what_is_reported_of_it() -> None:
    recording = story()
    add_question(recording, 220, 280)
    recording.final(end=0)
    (anomaly,) = check_recovery(recording.history()).anomalies
    assert anomaly.id == "not-recovered"
    assert "timed out" in anomaly.explanation[0]
    assert len(anomaly.witness) == 3


def test_registers_are_asked_again_and_again() -> None:
    recording = story()
    for at_ms in (220, 250, 280):
        recording.add(at_ms, "reader-9", INVOKE, "read", key=f"offset/{GROUP}/{TOPIC}/0")
        recording.add(at_ms + 20, "reader-9", INFO, "read", key=f"offset/{GROUP}/{TOPIC}/0")
        recording.add(at_ms, "reader-8", INVOKE, "read", key="config/x")
    assert silent(recording) == [GROUP]


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
    recording = story(**setup)
    add_question(recording, 220, 280)
    assert silent(recording) == []


def test_it_was_not_asked_for_long() -> None:
    recording = story()
    add_question(recording, 220, 265)
    assert silent(recording) == []


def test_somebody_got_an_offset() -> None:
    recording = story()
    add_question(recording, 220, 280)
    add_question(recording, 290, 300, OK)
    assert silent(recording) == []


def test_what_was_asked_before_the_end_is_no_matter() -> None:
    recording = story()
    add_question(recording, 20, 190)
    recording.add(220, "reader-9", INVOKE, "committed-offsets", key=GROUP, value={"topic": TOPIC})
    assert silent(recording) == []


def test_where_records_were_not_read_either() -> None:
    recording = story()
    add_question(recording, 220, 280)
    assert silent(recording, read=False) == []


def test_where_no_log_has_its_partition() -> None:
    recording = story()
    add_question(recording, 220, 280)
    recording.final(end=0)
    assert check_recovery(recording.history(metadata_log=False)).anomalies == ()


def test_an_offsets_topic_that_may_have_lost_records() -> None:
    recording = story()
    recording.fault(20, 30, "wipe-disk", "n1", "n2", "n3", removed=["__consumer_offsets-0/0.log"])
    add_question(recording, 220, 280)
    recording.final(end=0)
    (anomaly,) = check_recovery(recording.history()).anomalies
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
    recording = story()
    recording.record(7, "TOPIC_RECORD", {"name": "__transaction_state", "topicId": "AAAAAAAAAAAAAAAAAAAAAQ"})
    made = {"replicas": [1], "isr": [1], "leader": 1, "leaderEpoch": 0}
    recording.record(8, "PARTITION_RECORD", {"partitionId": 0, "topicId": "AAAAAAAAAAAAAAAAAAAAAQ", **made})
    mops = [["offsets", to_group, TOPIC, [[0, 1]]]]
    asked = {"client": "c", "end": "commit", "mops": mops, "consumed": []}
    recording.add(100, 7, INVOKE, "txn", key="t-0", value=asked)
    recording.add(101, 8, INVOKE, "txn", key="t-1")
    add_question(recording, 220, 280)
    loss = Loss("a loss", NEVER, from_ms * 1_000_000)

    def losses(_: History, name: str, number: int | None = None) -> tuple[Loss, ...]:
        return (loss,) if name == topic and number in {None, partition} else ()

    monkeypatch.setattr(internal, "losses", losses)
    assert silent(recording) == ([] if licensed else [GROUP])


@pytest.mark.parametrize(("application", "licensed"), [(GROUP, True), ("another", False)])
def test_a_lost_transaction_of_kafka_streams_is_of_any_coordinator(
    monkeypatch: pytest.MonkeyPatch, application: str, *, licensed: bool
) -> None:
    recording = story()
    add_question(recording, 220, 280)
    recording.final(end=0)
    history = recording.history()
    (setup,) = history.of("setup")
    workload = {**setup.value.get("workload", {}), "application": application}
    value = {**setup.value, "workload": workload}
    operations = list(history.operations)
    operations[setup.index] = msgspec.structs.replace(setup, value=value)

    def losses(_: History, name: str, number: int | None = None) -> tuple[Loss, ...]:
        return (Loss("a loss", NEVER),) if name == "__transaction_state" and number is None else ()

    monkeypatch.setattr(internal, "losses", losses)
    (anomaly,) = check_recovery(History("run", "", tuple(operations))).anomalies
    assert anomaly.illegal is not licensed
