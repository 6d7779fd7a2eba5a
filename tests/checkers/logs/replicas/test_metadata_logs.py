"""The metadata logs of the nodes: compared with the leader's as far as they must be alike, and whole."""

from typing import Any

import pytest

from checkers.history.operations import Operation, OperationType
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.replicas.replica_histories import (
    Batch,
    history_of,
    leads,
    metadata,
    observed,
    replicated,
    unread,
)

VALID, INVALID, UNKNOWN = Validity.VALID, Validity.INVALID, Validity.UNKNOWN
LOG = [Batch(0, 2, 0, crc=11), Batch(2, 1, 0, crc=12), Batch(3, 3, 1, crc=13), Batch(6, 1, 1, crc=14)]
SAME: dict[str, Any] = {"n1": LOG, "n2": LOG, "n3": LOG}
END = 7
BOTH = {"evidence": ["replicas", "metadata-log"]}


def changed(place: int, **fields: Any) -> list[Batch]:
    return [batch._replace(**fields) if row == place else batch for row, batch in enumerate(LOG)]


def apart(place: int) -> list[Batch]:
    """Another leader's log: it ends with a batch of another epoch, where the others go on."""
    return [*LOG[:place], LOG[place]._replace(crc=0, leader_epoch=3)]


def fault(kind: str, node: str) -> list[Operation]:
    """A fault that hit a node, and was healed."""
    value = {"kind": kind, "targets": [node], "spec": {}}
    return [
        Operation(0, at, "nemesis", OperationType(ended), f, "f1", value)
        for at, f in ((1, "inject"), (3, "heal"))
        for ended in ("invoke", "ok")
    ]


def metadata_judged(*operations: Operation, **logs: Any) -> CheckerResult:
    observations = [
        observed(node, log if isinstance(log, dict) else metadata(log)) for node, log in logs.items()
    ]
    return check_replicas(history_of(*operations, *observations, setup={"evidence": ["metadata-log"]}))


def test_equal_metadata_is_valid() -> None:
    result = metadata_judged(leads("n1", END), n1=LOG, n2=LOG, n3=LOG)

    assert result.validity is VALID
    assert result.figures["metadata_logs_compared"] == 2
    assert result.figures["metadata_batches_compared"] == 8


@pytest.mark.parametrize("node", ["n2", "n3"])
def test_metadata_that_differs_below_the_committed_offset_is_found(node: str) -> None:
    logs: dict[str, Any] = {**SAME, node: changed(2, crc=0)}

    result = metadata_judged(leads("n1", END), **logs)

    assert result.counts == {"metadata-divergence": 1}
    (found,) = result.anomalies
    assert found.subject == "__cluster_metadata/0@3"
    assert found.witness[0] == 1


def test_metadata_above_the_committed_offset_may_differ() -> None:
    assert metadata_judged(leads("n1", 3), **SAME | {"n2": apart(2)}).validity is VALID


@pytest.mark.parametrize("ends", [{1: 7, 2: 3, 3: 7}, {1: 7, 3: 7}, {1: 7, 2: 7, 3: 7, 4: 7}])
def test_a_node_is_held_to_what_its_leader_knows_it_has_fetched(ends: dict[int, int]) -> None:
    nodes = [
        {"name": "n1", "id": 1},
        {"name": "n2", "id": 2},
        {"name": "n3", "id": 3},
        {"name": "n2", "id": 4},
    ]
    logs = {"n1": LOG, "n2": apart(2), "n3": LOG}
    observations = [observed(node, metadata(log)) for node, log in logs.items()]
    setup = {"evidence": ["metadata-log"], "nodes": nodes}

    result = check_replicas(history_of(leads("n1", END, ends=ends), *observations, setup=setup))

    assert result.validity is (INVALID if len(ends) == 4 else VALID)


def test_a_node_that_is_known_twice_is_held_to_the_less() -> None:
    nodes = [{"name": "n1", "id": 1}, {"name": "n2", "id": 2}, {"name": "n2", "id": 3}]
    observations = [observed("n1", metadata(LOG)), observed("n2", metadata(apart(2)))]
    setup = {"evidence": ["metadata-log"], "nodes": nodes}

    history = history_of(leads("n1", END, ends={1: 7, 2: 7, 3: 3}), *observations, setup=setup)

    assert check_replicas(history).validity is VALID


def test_the_last_leader_of_the_highest_epoch_decides_what_is_committed() -> None:
    logs = SAME | {"n2": apart(1)}
    zombie, leader = leads("n2", 7, epoch=1), leads("n1", 2, epoch=4)

    assert metadata_judged(zombie, leader, **logs).validity is VALID
    assert metadata_judged(leader, zombie, **logs).validity is VALID
    assert metadata_judged(leader, leads("n1", 7, epoch=4), **logs).validity is INVALID


def refuses() -> Operation:
    value = {"began_ns": 0, "answer": "not-leader"}
    return Operation(0, 0, "o", OperationType.OK, "observe", "quorum", value, node="n3")


@pytest.mark.parametrize("operations", [[], [refuses()], [leads("n9", 7)], [leads("n1", -1)]])
def test_without_a_leader_metadata_is_unknown(operations: list[Operation]) -> None:
    result = metadata_judged(*operations, **SAME)

    assert result.validity is UNKNOWN
    assert result.unknown_because == "the metadata log of the quorum's leader is unknown"


@pytest.mark.parametrize(
    ("log", "problem"),
    [
        (None, "the metadata log of n2 was not read"),
        (unread(topic="__cluster_metadata"), "the metadata log of n2 was not read"),
        (metadata(LOG, decoder_error="it hurts"), "the metadata log of n2 was not decoded: it hurts"),
    ],
)
def test_a_metadata_log_that_is_not_known_makes_it_unknown(log: Any, problem: str) -> None:
    logs: dict[str, Any] = {name: each for name, each in (SAME | {"n2": log}).items() if each is not None}

    assert metadata_judged(leads("n1", END), **logs).unknown_because == problem


def test_metadata_logs_are_judged_by_themselves_too() -> None:
    log = [Batch(0, leader_epoch=3), Batch(1, leader_epoch=2)]

    assert metadata_judged(leads("n1", 0), n1=log, n2=log, n3=log).counts == {"leader-epoch-regression": 3}


def test_metadata_that_nobody_meant_to_gather_may_be_missing() -> None:
    assert check_replicas(replicated(SAME, END)).validity is VALID
    assert check_replicas(replicated(SAME, END, setup=BOTH)).validity is UNKNOWN


def test_logs_with_a_batch_of_one_epoch_are_alike_up_to_it_whatever_was_read() -> None:
    result = metadata_judged(leads("n1", 2, ends={1: 2, 2: 2, 3: 2}), **SAME | {"n2": changed(1, crc=0)})

    assert result.counts == {"metadata-divergence": 1}
    (found,) = result.anomalies
    assert found.explanation[0] == "n1 and n2 both have a batch of one epoch that ends at 6."
    assert result.figures["metadata_batches_compared"] == 8


def test_where_votes_were_lost_two_leaders_may_have_had_one_epoch() -> None:
    logs, answer = SAME | {"n2": changed(1, crc=0)}, leads("n1", 2, ends={1: 2, 2: 2, 3: 2})

    assert metadata_judged(*fault("wipe-disk", "n2"), answer, **logs).validity is VALID
    assert metadata_judged(*fault("kill", "n2"), answer, **logs).validity is INVALID


def test_a_log_that_has_nothing_in_common_is_compared_as_far_as_it_was_read() -> None:
    logs = SAME | {"n2": [Batch(7, 1, 5)]}

    assert metadata_judged(leads("n1", END, ends={1: 7}), **logs).validity is VALID


def test_a_batch_that_is_missing_on_all_nodes_is_found_once() -> None:
    holed = [LOG[0], *LOG[2:]]

    result = metadata_judged(leads("n1", END), n1=holed, n2=holed, n3=holed)

    assert result.counts == {"offset-gap": 1}
    assert result.anomalies[0].explanation[-1] == "n2, n3: the same."


@pytest.mark.parametrize("fields", [{"segments": 1}, {"segments": 2}])
def test_a_node_without_power_may_lose_the_end_of_a_segment_that_was_full(fields: dict[str, int]) -> None:
    logs = SAME | {"n3": metadata([LOG[0], *LOG[2:]], **fields)}
    leader = leads("n1", 2, ends={1: 2, 2: 2, 3: 2})

    powerless = metadata_judged(*fault("power-loss", "n3"), leader, **logs)
    assert powerless.counts.get("offset-gap", 0) == 2 - fields["segments"]
    assert metadata_judged(leader, **logs).counts["offset-gap"] == 1


def test_what_is_damaged_is_not_missing_as_well() -> None:
    torn = metadata([LOG[0], *LOG[2:]], corrupt=[["0.log", 90, 2, "crc"]])

    assert metadata_judged(leads("n1", 2), **SAME | {"n3": torn}).counts == {"corrupt-batch": 1}
