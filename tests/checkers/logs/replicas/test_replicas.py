"""The replicas checker, rule by rule: what is found, and what looks like it and is legal."""

from typing import Any

import pytest

from checkers.evidence.replicas import batches_of
from checkers.history.operations import History, Operation, OperationType
from checkers.logs.replicas.judging import check_replicas
from checkers.logs.replicas.single_log import open_transactions
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.replicas.replica_histories import (
    SETUP,
    Batch,
    final_read,
    history_of,
    observed,
    recovered,
    replica,
    replicated,
    unread,
)

VALID, INVALID, UNKNOWN = Validity.VALID, Validity.INVALID, Validity.UNKNOWN
LOG = [Batch(0, 2, 0, crc=11), Batch(2, 1, 0, crc=12), Batch(3, 3, 1, crc=13), Batch(6, 1, 1, crc=14)]
SAME = {"n1": LOG, "n2": LOG, "n3": LOG}
END = 7
ALICE = {"producer_id": 9001, "producer_epoch": 0}
TRANSACTIONAL, MARKER = 0x10, 0x30
BOTH = {"evidence": ["replicas", "metadata-log"]}


def judged(logs: dict[str, Any], end: int = END, **options: Any) -> CheckerResult:
    return check_replicas(replicated(logs, end, **options))


def changed(place: int, **fields: Any) -> list[Batch]:
    return [batch._replace(**fields) if row == place else batch for row, batch in enumerate(LOG)]


def test_equal_logs_are_valid() -> None:
    result = judged(SAME)

    assert result.validity is VALID
    assert result.counts == {}
    assert result.figures["logs_read"] == 3
    assert result.figures["batches_read"] == 12
    assert result.figures["bytes_read"] == 12 * 61
    assert result.figures["partitions_compared"] == 1
    assert result.figures["batches_compared"] == 8


@pytest.mark.parametrize(
    "fields",
    [
        {"crc": 99},
        {"leader_epoch": 1},
        {"producer_id": 5},
        {"producer_epoch": 5},
        {"base_sequence": 5},
        {"attributes": 1},
        {"base_offset": 1, "count": 2},
    ],
)
def test_a_batch_that_differs_is_found_at_its_offset(fields: dict[str, int]) -> None:
    result = judged(SAME | {"n3": changed(1, **fields)})

    assert result.validity is INVALID
    assert result.counts["replica-divergence"] == 1
    (found,) = (anomaly for anomaly in result.anomalies if anomaly.id == "replica-divergence")
    assert found.subject == f"log-0/0@{fields.get('base_offset', 2)}"
    assert "n3 does not have the batches that n1 has" in found.summary
    assert "1 batch is only on n1, and 1 only on n3" in found.explanation[-1]
    assert [f"op {index}" for index in found.witness] == ["op 1", "op 2", "op 3", "op 5"]


@pytest.mark.parametrize("place", range(4))
def test_a_batch_that_is_missing_is_found(place: int) -> None:
    result = judged(SAME | {"n2": [batch for row, batch in enumerate(LOG) if row != place]})

    name = {0: "valid", 3: "short-replica"}.get(place, "replica-divergence")
    if name == "valid":  # the log begins later, as after retention
        assert result.validity is VALID
    else:
        assert result.counts == {name: 1} | ({} if place == 3 else {"offset-gap": 1})


def test_a_batch_that_one_has_alone_at_the_end_of_the_stretch_is_found() -> None:
    result = judged({"n1": LOG[:3], "n2": [*LOG[:2], Batch(3, 2, 1, crc=13), Batch(5, 1, 1)]}, 6, isr=(1, 2))

    (found,) = result.anomalies
    assert found.subject == "log-0/0@3"
    assert "1 batch is only on n1, and 2 only on n2" in found.explanation[-1]


def test_a_hole_before_the_end_is_no_batch() -> None:
    result = judged({"n1": LOG[:3], "n2": replica(LOG[:2], end=6)}, 6, isr=(1, 2))

    (found,) = result.anomalies
    assert found.explanation[2] == "n2 there: no batch."
    assert found.subject == "log-0/0@3"


@pytest.mark.parametrize(
    "other",
    [
        replica(LOG[1:]),  # retention
        replica(LOG, log_start=3),  # DeleteRecords
        replica([Batch(0, 3, 0), *LOG[2:]], log_start=3),
        [*LOG, Batch(7, 1, 1), Batch(8, 1, 2)],  # a tail that is not committed
    ],
)
def test_logs_may_begin_and_end_where_they_like(other: Any) -> None:
    assert judged(SAME | {"n2": other}).validity is VALID
    assert judged(SAME | {"n2": other}, leader=2).validity is VALID


def test_tails_above_the_committed_end_may_differ() -> None:
    logs = {"n1": [*LOG, Batch(7, 1, 1, crc=5)], "n2": [*LOG, Batch(7, 1, 2, crc=6)]}

    assert judged(logs, isr=(1, 2)).validity is VALID
    assert judged(logs, 8, isr=(1, 2)).counts == {"replica-divergence": 1}


def test_a_replica_out_of_sync_may_hold_anything() -> None:
    result = judged(SAME | {"n3": [Batch(0, 9, 5)]}, isr=(1, 2))

    assert result.validity is VALID
    assert result.figures["batches_compared"] == 4


def partitions_seen(isr: list[int], *, began_ns: int, topic: str = "log-0", node: str = "n1") -> Operation:
    value = {"began_ns": began_ns, "topics": {topic: [[0, 1, 0, [1, 2, 3], isr, None]]}}
    return Operation(0, began_ns, "o", OperationType.OK, "observe", "partitions", value, node=node)


@pytest.mark.parametrize(
    ("seen", "validity"),
    [
        ([partitions_seen([1, 2], began_ns=1)], VALID),
        ([partitions_seen([1, 2], began_ns=1), partitions_seen([1, 2, 3], began_ns=2)], INVALID),
        ([partitions_seen([1, 2, 3], began_ns=1), partitions_seen([1, 2], began_ns=2)], VALID),
        ([partitions_seen([1, 2], began_ns=1), partitions_seen([1, 2, 3], began_ns=2, node="n2")], VALID),
        ([partitions_seen([1, 2], began_ns=0)], INVALID),  # asked before recovery had ended
        ([partitions_seen([2, 1, 3], began_ns=1)], INVALID),
        ([partitions_seen([1, 2], began_ns=1, topic="log-1")], INVALID),
    ],
)
def test_a_replica_that_is_out_of_the_isr_at_the_end_is_not_judged(
    seen: list[Operation], validity: Validity
) -> None:
    observations = [observed(node, replica(log)) for node, log in (SAME | {"n3": LOG[:2]}).items()]

    result = check_replicas(history_of(recovered(), *seen, final_read(7), *observations))

    assert result.validity is validity
    assert result.figures["left_isr"] == (validity is VALID)


def test_what_was_seen_before_recovery_does_not_matter() -> None:
    observations = [observed(node, replica(LOG)) for node in ("n1", "n2")]
    seen = partitions_seen([1], began_ns=9)

    result = check_replicas(history_of(seen, recovered((1, 2)), final_read(7), *observations))

    assert result.figures["partitions_compared"] == 1


def test_a_replica_without_a_leader_is_compared_with_the_first() -> None:
    assert judged(SAME | {"n3": changed(1, crc=0)}, leader=None).counts == {"replica-divergence": 1}


def test_the_leaders_log_is_what_others_are_compared_with() -> None:
    result = judged(SAME | {"n3": changed(1, crc=0)}, leader=3)

    assert result.counts == {"replica-divergence": 2}


def test_one_in_sync_replica_alone_has_nothing_to_be_compared_with() -> None:
    result = judged({"n1": LOG}, isr=(1,))

    assert result.validity is VALID
    assert result.figures["partitions_compared"] == 0


def begins_late(config: dict[str, str], *deletions: Operation) -> list[str]:
    """What is found where the log on n2 begins at 3, and final reads listed that all begin at 0."""
    logs = SAME | {"n2": replica([batch for batch in LOG if batch.base_offset >= 3])}
    topics = [SETUP["topics"][0] | {"config": config}]
    observations = [
        observed(node, log if isinstance(log, dict) else replica(log)) for node, log in logs.items()
    ]
    reads = (final_read(None, kind="invoke"), final_read(7))
    history = history_of(recovered(), *reads, *observations, *deletions, setup={"topics": topics})
    return [anomaly.summary for anomaly in check_replicas(history).anomalies]


def deletion(kind: str, below: int) -> list[Operation]:
    return [
        Operation(0, 0, 9, OperationType(each), "delete-records", "log-0", [[0, below]])
        for each in ("invoke", kind)
    ]


@pytest.mark.parametrize(
    ("config", "deletions", "found"),
    [
        ({}, (), True),
        ({"retention.ms": "1000"}, (), False),
        ({}, deletion("ok", 3), False),
        ({}, deletion("info", 5), False),
        ({}, deletion("fail", 5), True),
        ({}, deletion("ok", 2), True),
    ],
)
def test_a_log_that_begins_above_what_anybody_deleted(
    config: dict[str, str], deletions: list[Operation], *, found: bool
) -> None:
    summaries = begins_late(config, *deletions)
    assert ["begins at 3, but the records to keep begin at" in summary for summary in summaries] == [
        True
    ] * found


def test_a_short_replica_is_found() -> None:
    result = judged(SAME | {"n2": replica(LOG[:3], tail=["0.log", 183, 20, "cut"])})

    assert result.counts == {"short-replica": 1}
    (found,) = result.anomalies
    assert found.summary == "log-0/0 on n2 ends at 6, but 7 was committed"
    assert "20 bytes of 0.log from byte 183 are not a whole batch (cut)" in found.explanation[-1]
    assert result.figures["torn_tails"] == 1


@pytest.mark.parametrize(
    ("topic", "config"),
    [
        ({"cleanup.policy": "compact"}, {}),
        ({"cleanup.policy": "compact,delete"}, {}),
        ({}, {"log.cleanup.policy": "compact"}),
    ],
)
def test_compacted_topics_are_not_compared(topic: dict[str, str], config: dict[str, str]) -> None:
    topics = [{"name": "log-0", "partitions": 1, "config": topic}]

    result = judged(SAME | {"n2": [LOG[3]]}, setup={"topics": topics, "config": config})

    assert result.validity is VALID
    assert result.figures["compacted_partitions"] == 1
    assert result.figures["batches_compared"] == 0


def test_a_topic_that_is_not_compacted_although_others_are_is_compared() -> None:
    topics = [{"name": "log-0", "partitions": 1, "config": {"cleanup.policy": "delete"}}]

    result = judged(
        SAME | {"n2": [LOG[3]]}, setup={"topics": topics, "config": {"log.cleanup.policy": "compact"}}
    )

    assert result.figures["compacted_partitions"] == 0


def test_a_log_of_another_topic_of_that_name_is_not_judged() -> None:
    result = judged(SAME | {"n2": replica(LOG[:1], topic_id="another")})

    assert result.validity is UNKNOWN
    assert "n2 has log-0/0 of another topic" in str(result.unknown_because)


@pytest.mark.parametrize("other", [None, unread("OSError: it hurts")])
def test_an_in_sync_replica_that_was_not_read_makes_it_unknown(other: Any) -> None:
    logs = {name: log for name, log in (SAME | {"n2": other}).items() if log is not None}

    result = judged(logs)

    assert result.validity is UNKNOWN
    assert "the log of log-0/0 on n2 was not read" in str(result.unknown_because)
    assert ("it hurts" in str(result.unknown_because)) == (other is not None)


def test_an_illegal_finding_outweighs_what_is_missing() -> None:
    assert judged({"n1": LOG, "n3": changed(1, crc=0)}).validity is INVALID


def test_without_evidence_that_was_meant_it_is_unknown() -> None:
    result = judged({}, setup={"topics": [{"name": "log-0", "partitions": 1}]})

    assert result.validity is UNKNOWN
    assert str(result.unknown_because).count("was not read") == 3


def test_long_lists_of_doubts_are_cut() -> None:
    result = check_replicas(history_of(setup={"topics": [{"name": "log-0", "partitions": 9}]}))

    assert str(result.unknown_because).endswith("; and 6 more")


@pytest.mark.parametrize("evidence", [{"evidence": []}, {"evidence": ["metadata-log"], "nodes": []}])
def test_without_evidence_that_was_not_meant_it_is_not_exercised(evidence: dict[str, Any]) -> None:
    result = check_replicas(history_of(recovered(), final_read(7), setup=evidence))

    assert result.validity is Validity.NOT_EXERCISED
    assert set(result.figures.values()) == {0}


def test_a_history_without_a_setup_does_not_exercise_it() -> None:
    operation = Operation(0, 0, "runner", OperationType.OK, "phase", "load")

    assert check_replicas(History("", "", (operation,))).validity is Validity.NOT_EXERCISED


@pytest.mark.parametrize(
    ("operations", "missing"),
    [
        ([final_read(7)], "the in-sync replicas"),
        ([recovered()], "the committed end"),
        ([recovered(), final_read(None, kind="info")], "the committed end"),
        ([recovered(), final_read(None, kind="invoke")], "the committed end"),
        ([recovered(), final_read(7, kind="fail")], "the committed end"),
        ([recovered(), final_read(7, partition=3)], "the committed end"),
        (
            [Operation(0, 0, "r", OperationType.INVOKE, "recover", "log-0", {"bound_ms": 1}), final_read(7)],
            "the in-sync replicas",
        ),
    ],
)
def test_what_nobody_reported_is_unknown(operations: list[Operation], missing: str) -> None:
    logs = [observed(node, replica(LOG)) for node in SAME]

    result = check_replicas(history_of(*operations, *logs))

    assert result.validity is UNKNOWN
    assert result.unknown_because == f"the history does not have {missing} of log-0/0"


def test_the_highest_end_that_was_listed_is_committed() -> None:
    logs = [observed(node, replica(LOG[:2])) for node in SAME]
    operations = [recovered(), final_read(3), final_read(7, kind="info"), final_read(2)]

    assert check_replicas(history_of(*operations, *logs)).counts == {"short-replica": 3}


def test_nodes_without_a_name_go_by_their_numbers() -> None:
    result = judged({"1": LOG, "2": LOG}, isr=(1, 2), setup={"nodes": []})

    assert result.validity is VALID
    assert result.figures["batches_compared"] == 4


def test_a_lower_leader_epoch_is_found_in_each_log() -> None:
    log = [Batch(0, leader_epoch=3), Batch(1, leader_epoch=2), Batch(2, leader_epoch=2), Batch(3)]

    result = judged({"n1": log, "n2": log}, 4, isr=(1, 2))

    assert result.counts == {"leader-epoch-regression": 4}
    assert result.anomalies[0].subject == "log-0/0@1"
    assert "leader epoch 3" in result.anomalies[0].explanation[0]


@pytest.mark.parametrize(
    "log", [[Batch(0, 3), Batch(2)], [Batch(3), Batch(0, 2)], [Batch(0), Batch(0), Batch(1, 2)]]
)
def test_batches_that_overlap_are_found(log: list[Batch]) -> None:
    assert judged({"n1": log}, 3, isr=(1,)).counts == {"overlapping-batches": 1}


def test_what_was_appended_twice_is_found_wherever_it_stands() -> None:
    once = Batch(0, 2, base_sequence=5, **ALICE)
    log = [once, Batch(2, base_sequence=7, **ALICE), once._replace(base_offset=3), Batch(5)]

    result = judged({"n1": log}, 6, isr=(1,))

    assert result.counts == {"duplicate-batch": 1}
    (found,) = result.anomalies
    assert found.subject == "log-0/0@3"
    assert "already been appended at 0" in found.summary


def test_a_batch_that_was_appended_again_in_part_is_found() -> None:
    log = [Batch(0, 4, base_sequence=5, **ALICE), Batch(4, 4, base_sequence=8, **ALICE)]

    assert judged({"n1": log}, 8, isr=(1,)).counts == {"duplicate-batch": 1}


@pytest.mark.parametrize(
    "again",
    [
        {"producer_id": 9002},
        {"producer_epoch": 1, "base_sequence": 0},
        {"base_sequence": 7},
        {"producer_id": -1},
        {"base_sequence": -1},
        {"attributes": MARKER},
    ],
)
def test_sequences_of_others_are_no_duplicates(again: dict[str, int]) -> None:
    once = Batch(0, 2, base_sequence=5, **ALICE)
    log = [once, once._replace(base_offset=2, **again)]

    assert judged({"n1": log}, 4, isr=(1,)).counts == {}


def test_a_transaction_that_no_marker_ends_is_open() -> None:
    log = [
        Batch(0, base_sequence=0, attributes=TRANSACTIONAL, **ALICE),
        Batch(1, attributes=MARKER, control=1, **ALICE),
        Batch(2, base_sequence=1, attributes=TRANSACTIONAL, **ALICE),
        Batch(3, base_sequence=0, producer_id=9002, producer_epoch=4, attributes=TRANSACTIONAL),
        Batch(4, producer_id=9002, producer_epoch=5, attributes=MARKER, control=0),
        Batch(5, base_sequence=2, attributes=TRANSACTIONAL, **ALICE),
    ]
    history = replicated({"n1": log, "n2": log}, 6, isr=(1, 2))

    assert open_transactions(batches_of(history).logs[0]).tolist() == [5]
    assert check_replicas(history).figures["open_transactions"] == 2
    assert check_replicas(history).validity is VALID


def test_damage_is_found_and_at_most_so_many_are_listed() -> None:
    damage = [["0.log", place * 61, place, "it is odd"] for place in range(30)]
    log = replica(LOG, corrupt=[*damage, ["0.log", 9999, None, "no batch"]])

    result = judged(SAME | {"n2": log})

    assert result.counts == {"corrupt-batch": 31}
    assert len(result.anomalies) == 20
    assert result.anomalies[0].subject == "log-0/0@0"


def test_a_place_without_a_batch_has_no_offset() -> None:
    result = judged(SAME | {"n2": replica(LOG, corrupt=[["0.log", 9999, None, "no batch"]])})

    assert result.anomalies[0].subject == "log-0/0@?"
