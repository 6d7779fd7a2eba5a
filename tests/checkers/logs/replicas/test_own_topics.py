"""What replicas of Kafka's own topics noted of leader epochs, of which no batches are recorded."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from checkers.history.operations import Operation, OperationType
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.replicas.replica_histories import Batch, history_of, leads, metadata, observed

TOPIC, TOPIC_ID = "__consumer_offsets", "Vd5Ixq4YQPyQv3zZ0Aw0jA"
Entries = Sequence[tuple[int, int]]
SAME: Entries = ((0, 0), (2, 50), (3, 90))


def noted(node: str, entries: Entries) -> Operation:
    value = {"node": node, "topic": TOPIC, "partition": 0, "entries": [list(entry) for entry in entries]}
    return Operation(
        0, 6, "observer-replicas", OperationType.OK, "observe", "leader-epochs", value, node=node
    )


def elected(*leaders: int, isr: Sequence[int] = (1, 2, 3), late: int | None = None) -> list[Operation]:
    """A metadata log in which the partition had these leaders; of the last change nobody knows when it was.

    Args:
        leaders: of its epochs, from 0.
        isr: who is in sync in the end.
        late: who was elected so late that it may have been after recovery.
    """
    partition = {"partitionId": 0, "topicId": TOPIC_ID}
    made = partition | {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": leaders[0], "leaderEpoch": 0}
    records: list[list[Any]] = [
        [0, 1, "TOPIC_RECORD", {"name": TOPIC, "topicId": TOPIC_ID}],
        [1, 1, "PARTITION_RECORD", made],
    ]
    for leader in leaders[1:]:
        records.append([len(records), 1, "PARTITION_CHANGE_RECORD", {**partition, "leader": leader}])
    records.append([len(records), 1, "PARTITION_CHANGE_RECORD", {**partition, "isr": list(isr)}])
    answer = leads("n1", len(records))
    if late is not None:
        records.append([len(records), 1, "PARTITION_CHANGE_RECORD", {**partition, "leader": late}])
    return [observed("n1", metadata([Batch(0, len(records))], records=records)), answer]


def recovered() -> Operation:
    return Operation(0, 3, "runner", OperationType.OK, "recover", "log-0", {"partitions": []})


def judged(
    notes: Mapping[str, Entries], others: Sequence[Operation] | None = None, **setup: Any
) -> CheckerResult:
    first = elected(1, 2, 1, 2) if others is None else others
    observations = [noted(node, entries) for node, entries in notes.items()]
    return check_replicas(
        history_of(*first, recovered(), *observations, setup={"evidence": [], "topics": []} | setup)
    )


def test_notes_that_agree_are_valid() -> None:
    result = judged({"n1": SAME, "n2": SAME, "n3": SAME[:-1]})
    assert result.validity is Validity.VALID
    assert result.figures["own_epoch_notes"] == 8


def test_an_epoch_that_no_election_began_is_found() -> None:
    result = judged({"n1": SAME, "n2": (*SAME, (7, 99))})
    assert result.counts == {"epoch-without-election": 1}
    assert result.anomalies[0].subject == f"{TOPIC}/0@99"


@pytest.mark.parametrize("entries", [((0, 0), (3, 50), (2, 90)), ((0, 0), (2, 90), (3, 90))])
def test_notes_out_of_order_are_found(entries: Entries) -> None:
    (found,) = judged({"n1": entries}).anomalies
    assert (found.id, found.subject) == ("epoch-note-contradicted", f"{TOPIC}/0@{entries[1][1]}")


OTHER: Entries = ((0, 0), (2, 51), (3, 90))


@pytest.mark.parametrize("node", ["n1", "n3"])
def test_different_beginnings_are_found(node: str) -> None:
    (found,) = judged({"n1": SAME, "n2": SAME, "n3": SAME} | {node: OTHER}).anomalies
    assert (found.id, found.subject) == ("epoch-start-divergence", f"{TOPIC}/0@50")
    assert "n2 led" in found.explanation[0]


@pytest.mark.parametrize(
    ("notes", "others"),
    [
        ({"n1": OTHER, "n3": SAME}, None),
        ({"n1": SAME, "n2": SAME, "n3": OTHER}, elected(1, 2, 1, 2, isr=(1, 2))),
        ({"n2": SAME, "n3": OTHER}, elected(1, 2, 1, 2, late=3)),
        ({"n2": SAME, "n3": OTHER}, ()),
    ],
)
def test_only_who_was_in_sync_with_one_leader_is_compared(
    notes: Mapping[str, Entries], others: Sequence[Operation] | None
) -> None:
    assert judged(notes, others).validity is not Validity.INVALID


@pytest.mark.parametrize("name", ["log.roll.ms", "offsets.topic.segment.bytes"])
def test_a_log_that_may_have_been_cleaned_is_not_compared(name: str) -> None:
    notes = {"n2": SAME, "n3": OTHER}
    assert judged(notes, config={name: "1"}).validity is Validity.VALID
    assert judged(notes, node_config={"n1": {name: "1"}}).validity is Validity.VALID
    assert judged(notes, config={"log.cleaner.backoff.ms": "500"}).validity is Validity.INVALID


def test_a_node_that_lost_power_may_have_an_older_file() -> None:
    plan = {"kind": "power-loss", "spec": {}}
    struck = [
        Operation(0, 0, "nemesis", OperationType.INVOKE, "inject", "f1", plan),
        Operation(0, 1, "nemesis", OperationType.OK, "inject", "f1", plan | {"targets": ["n3"]}),
    ]
    notes = {"n2": SAME, "n3": OTHER}
    assert judged(notes, [*struck, *elected(1, 2, 1, 2)]).validity is Validity.VALID


def test_without_an_end_of_recovery_nobody_is_compared() -> None:
    observations = [noted("n2", SAME), noted("n3", OTHER)]
    result = check_replicas(
        history_of(*elected(1, 2, 1, 2), *observations, setup={"evidence": [], "topics": []})
    )
    assert result.validity is Validity.VALID
