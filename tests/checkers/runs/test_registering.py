"""Controllers that never register: what shows it, and what leaves it open."""

from typing import Any

import pytest

from checkers.history.fitting import misfit_of
from checkers.history.operations import History, Operation, OperationType
from checkers.runs.nodes import check_nodes
from checkers.verdict.verdict import Anomaly
from tests.checkers.conftest import history_of, ns
from tests.checkers.logs.replicas.replica_histories import Batch, metadata

MANAGER = "ERROR [ControllerRegistrationManager id=3 incarnation=3Ab-_w]"
TIMED_OUT = f"{MANAGER} RegistrationResponseHandler: channel manager timed out before sending the request."
NODES = "0.1 c1 running\n0.1 c2 running\n0.1 c3 running\n"
CALM = "4 f1 stop c3 ok\n4.1 c3 exited 143\n9.5 f1 heal ok\n10.5 c3 running\n"
REGISTERED = [7, 2, "REGISTER_CONTROLLER_RECORD", {"controllerId": 3, "incarnationId": "3Ab-_w"}]
FORMER = [5, 2, "REGISTER_CONTROLLER_RECORD", {"controllerId": 3, "incarnationId": "former"}]
UNKNOWN = [8, 2, "OPAQUE_RECORD", {"type": 27, "version": 9, "size": 30}]
LAST = [9, 2, "TOPIC_RECORD", {"name": "t"}]


def observed(at: float, key: str, value: dict[str, Any], node: str = "c1") -> Operation:
    return Operation(0, ns(at), "observer", OperationType.OK, "observe", key, value, node=node)


def leads(at: float, epoch: int, high_watermark: int = 10) -> Operation:
    voters = [[number, None, high_watermark, -1, -1] for number in (1, 2, 3)]
    answer = {"began_ns": ns(at - 0.01), "answer": "leader", "leader_id": 1, "leader_epoch": epoch}
    return observed(
        at,
        "quorum",
        answer
        | {"high_watermark": high_watermark, "wall_ms": 1_700_000_000_000, "voters": voters, "observers": []},
    )


def logged(
    text: str = TIMED_OUT, at: str | None = "2023-11-14T22:13:40+00:00", node: str = "c3"
) -> Operation:
    """A line of a log, at 20 s of the run."""
    return observed(61, "node-log", {"line": 5, "at": at, "level": "ERROR", "text": text}, node)


def log(records: list[list[Any]], batch: Batch = Batch(0), **fields: Any) -> Operation:  # noqa: B008 - fixed
    return observed(
        61, "metadata-log", metadata([batch], **{"records": records, "log_start": 0, "end": 10, **fields})
    )


FURTHER = {"line": None, "text": "7 further lines"}
BEGINNING = {"what": "beginning", "why": "the file was rotated"}
WIPED = CALM + "4.2 f2 wipe-disk {} ok\n6 f2 heal ok\n"
LED = (leads(5, 2), leads(20, 2), leads(60, 2))
"""One leader from 5 s to 60 s."""


def recorded(*operations: Operation, text: str = CALM, evidence: float | None = 60) -> History:
    story = history_of(NODES + text + ("" if evidence is None else f"{evidence} phase evidence\n"))
    ordered = sorted((*story.operations, *operations), key=lambda operation: operation.time_ns)
    placed = [
        Operation(i, o.time_ns, o.process, o.type, o.f, o.key, o.value, o.error, node=o.node)
        for i, o in enumerate(ordered)
    ]
    assert [one for one in map(misfit_of, placed) if one is not None] == []
    return History("run", "2023-11-14T22:13:20Z", tuple(placed))


def found(history: History) -> list[Anomaly]:
    return [one for one in check_nodes(history).anomalies if one.id == "controller-not-registered"]


def test_a_controller_that_failed_once_and_never_registered() -> None:
    (anomaly,) = found(recorded(*LED, logged(), log([FORMER, LAST])))
    assert (anomaly.subject, anomaly.illegal, anomaly.time_ns) == ("c3", True, ns(20))
    assert "did not register (failures: 1), although nothing hindered it for 40.0 s" in anomaly.summary
    assert "at most 18.2 s" in anomaly.explanation[1]


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(
            recorded(*LED, logged(), observed(61, "node-log", FURTHER, "c2"), log([LAST])),
            id="another node's log is not complete",
        ),
        pytest.param(
            recorded(*LED, logged(), log([LAST]), text=WIPED.format("c1")), id="a wiped disk was filled again"
        ),
    ],
)
def test_what_explains_nothing(history: History) -> None:
    assert len(found(history)) == 1


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(recorded(*LED, logged(), log([FORMER, REGISTERED, LAST])), id="registered"),
        pytest.param(recorded(*LED, log([FORMER, LAST])), id="nothing failed"),
        pytest.param(recorded(*LED, logged(f"{MANAGER} other"), log([LAST])), id="another error"),
        pytest.param(recorded(*LED, logged(at=None), log([LAST])), id="no time of the line"),
        pytest.param(recorded(*LED, logged()), id="no metadata log"),
        pytest.param(recorded(*LED, logged(), log([LAST]), evidence=None), id="no evidence"),
        pytest.param(recorded(*LED, logged(), log([LAST]), evidence=38), id="it may still wait"),
        pytest.param(recorded(*LED, *[logged()] * 6, log([LAST])), id="it may wait long"),
        pytest.param(
            recorded(leads(50, 2), leads(60, 2), logged(), log([LAST])), id="a leader only at the end"
        ),
        pytest.param(
            recorded(leads(20, 1), leads(60, 1), logged(), log([LAST])), id="the last leader was never seen"
        ),
        pytest.param(recorded(*LED, leads(59, 2, 12), logged(), log([LAST])), id="the log is not complete"),
        pytest.param(recorded(*LED, logged(), log([LAST], log_start=3)), id="the log begins later"),
        pytest.param(recorded(leads(5, 2), logged(), log([LAST])), id="the leader was not seen any more"),
        pytest.param(recorded(leads(5, 2), leads(37, 2), logged(), log([LAST])), id="it was seen once"),
        pytest.param(
            recorded(leads(20, 2), leads(37, 2), logged(), log([LAST])), id="the leader was not seen for long"
        ),
        pytest.param(recorded(*LED, leads(50, 3, -1), logged(), log([LAST])), id="a later leader"),
        pytest.param(
            recorded(leads(20, 2), leads(37, 2), leads(80, 2), logged(), log([LAST])),
            id="the leader was seen after the evidence",
        ),
        pytest.param(recorded(*LED, logged(), log([LAST], Batch(0, count=2))), id="records were not decoded"),
        pytest.param(recorded(*LED, logged(), log([UNKNOWN, LAST])), id="a record has an unknown layout"),
        pytest.param(
            recorded(*LED, logged(), observed(61, "node-log", FURTHER, "c3"), log([LAST])),
            id="lines are missing",
        ),
        pytest.param(
            recorded(
                *LED, logged(), observed(61, "node-log", FURTHER | {"unjudged": True}, "c3"), log([LAST])
            ),
            id="other lines are missing",
        ),
        pytest.param(
            recorded(*LED, logged(), observed(61, "log-lacking", BEGINNING, "c3"), log([LAST])),
            id="the log's beginning is missing",
        ),
        pytest.param(
            recorded(*LED, logged(), log([LAST]), text=WIPED.format("c2")), id="the disk of a voter was wiped"
        ),
        pytest.param(
            recorded(*LED, logged(), log([LAST]), text=CALM + "50 f2 partition c1 ok\n56 f2 heal ok\n"),
            id="a fault until shortly before",
        ),
        pytest.param(
            recorded(*LED, logged(), log([LAST]), text=CALM + "25 c3 paused\n26 c3 running\n"),
            id="it was frozen",
        ),
        pytest.param(
            recorded(
                *LED,
                logged(),
                log([LAST]),
                text=CALM + "25 f2 kill c3 ok\n25.1 c3 exited 137\n31 f2 heal ok\n31 c3 running\n",
            ),
            id="it was killed",
        ),
    ],
)
def test_what_explains_it_or_leaves_it_open(history: History) -> None:
    assert found(history) == []
