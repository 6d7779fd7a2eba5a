"""Leaders that began an epoch, by the records of all nodes' metadata logs."""

from typing import Any

import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.kraft.quorum import check_quorum
from checkers.kraft.quorum.logged_leaders import two_leaders_logged
from tests.checkers.logs.replicas.replica_histories import metadata

Record = tuple[int, int, str, Any]


def begun(offset: int, epoch: int, leader: int | None) -> Record:
    return offset, epoch, "LEADER_CHANGE", None if leader is None else {"leaderId": leader, "voters": []}


def history(*logs: list[Record]) -> History:
    observed = (
        Operation(i, i, "observer-replicas", OperationType.OK, "observe", "metadata-log", value, node=f"n{i}")
        for i, value in enumerate(metadata([], records=records) for records in logs)
    )
    return History("r", "", tuple(observed))


OTHER: Record = (1, 1, "TOPIC_RECORD", {"name": "t", "topicId": "x"})


@pytest.mark.parametrize(
    "logs",
    [
        [[begun(0, 1, 1), OTHER, begun(9, 2, 2)], [begun(0, 1, 1)]],
        [[begun(0, 1, 1), begun(5, 1, 1)]],
        [[begun(0, 1, None), begun(5, 1, 2)]],
        [],
    ],
)
def test_one_leader_an_epoch(logs: list[list[Record]]) -> None:
    assert list(two_leaders_logged(history(*logs))) == []


@pytest.mark.parametrize(
    ("logs", "witness"),
    [([[begun(0, 1, 1), begun(5, 1, 2)]], (0,)), ([[begun(0, 1, 1)], [begun(0, 1, 2)]], (0, 1))],
)
def test_two_leaders_of_one_epoch(logs: list[list[Record]], witness: tuple[int, ...]) -> None:
    (found,) = [a for a in check_quorum(history(*logs)).anomalies if a.id == "two-leaders"]
    assert (found.illegal, found.witness, found.subject) == (True, witness, "epoch 1")
    assert found.summary == "Epoch 1 was begun by several leaders: 1, 2."
    assert found.explanation[0] == "Offset 0 of n0's metadata log begins epoch 1 with leader 1."
