"""Voters by which a node acts, and those that its metadata log has."""

from typing import Any

import pytest

from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.history.operations import History, Operation, OperationType
from checkers.kraft.quorum import check_quorum
from checkers.kraft.quorum.acting import compared_states, voters_not_in_logs
from checkers.verdict.verdict import Anomaly
from tests.checkers.logs.replicas.replica_histories import metadata

Entry = tuple[str, str, dict[str, Any]]
Record = tuple[int, int, str, Any]
BEGAN_AT = "2023-11-14T22:13:20Z"
SNAPSHOT = "00000000000000000000-0000000000"


def voters(offset: int, epoch: int, *ids: int) -> Record:
    content = {"voters": [{"voterId": each, "voterDirectoryId": "d"} for each in ids]}
    return offset, epoch, "KRAFT_VOTERS", content


def at(second: float) -> str:
    return f"2023-11-14T22:13:{20 + second:06.3f}Z"


def view(line: int, epoch: int, *ids: int, node: str = "c1", started: bool = False) -> Entry:
    value = {"line": line, "at": at(line), "state": "FollowerState", "epoch": epoch, "voters": list(ids)}
    return "quorum-view", node, value | {"started": started}


def timeless(entry: Entry) -> Entry:
    key, node, value = entry
    return key, node, value | {"at": None}


def cut(line: int, end: int, node: str = "c1") -> Entry:
    return "metadata-truncated", node, {"line": line, "at": at(line), "end": end}


def log(*records: Record, node: str = "c1", **fields: Any) -> Entry:
    return "metadata-log", node, metadata([], records=list(records)) | {"began_ns": 10**11} | fields


def history(*entries: Entry, faults: tuple[Operation, ...] = ()) -> History:
    """Entries at the end, after faults."""
    observed = tuple(
        Operation(len(faults) + i, 10**11 + i, "observer", OperationType.OK, "observe", key, value, node=node)
        for i, (key, node, value) in enumerate(entries)
    )
    return History("r", BEGAN_AT, (*faults, *observed))


def power_loss(second: float, node: str = "c1") -> tuple[Operation, ...]:
    """A loss of power of a node, until one second later."""
    planned = {"kind": "power-loss", "targets": [node]}
    done = planned | {"loses_unsynced": True, "ends_processes": True, "silences": True}
    ns = int(second * 1e9)
    return tuple(
        Operation(i, ns + i * 10**8, "nemesis", kind, f, "f", value)
        for i, (kind, f, value) in enumerate(
            [
                (OperationType.INVOKE, "inject", planned),
                (OperationType.OK, "inject", done),
                (OperationType.INVOKE, "heal", planned),
                (OperationType.OK, "heal", done),
            ]
        )
    )


def found(recorded: History) -> list[Anomaly]:
    return [each for each in check_quorum(recorded).anomalies if each.id == "voters-not-in-log"]


FIRST = voters(1, 0, 101, 102, 103, 104)


def test_a_set_that_was_cut_off_and_is_acted_by() -> None:
    recorded = history(view(3, 5, 101, 102, 104), cut(4, 263), view(5, 7, 101, 102, 104), log(FIRST))
    (one,) = found(recorded)
    assert (one.illegal, one.subject, one.witness, one.time_ns) == (True, "c1, epoch 7", (2, 3), 5 * 10**9)
    assert one.summary == (
        "c1 acted by the voters [101, 102, 104] in epoch 7; its metadata log has [101, 102, 103, 104]."
    )
    assert one.explanation == (
        "It had truncated its metadata log to offset 263.",
        "Line 5: FollowerState, epoch 7, voters [101, 102, 104].",
    )


def test_a_set_that_no_record_has_without_any_truncation() -> None:
    (one,) = found(history(view(5, 7, 101), log(FIRST)))
    assert one.explanation == ("Line 5: FollowerState, epoch 7, voters [101].",)


REMOVED = voters(300, 6, 101, 102, 104)


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param((view(3, 5, 101, 102, 104), cut(4, 263), log(FIRST)), id="before the truncation"),
        pytest.param((cut(4, 263), view(5, 7, 101, 102, 103, 104), log(FIRST)), id="the set that is left"),
        pytest.param((cut(4, 263), view(5, 7, 101, 102, 104), log(FIRST, REMOVED)), id="a later set"),
        pytest.param((cut(4, 400), view(5, 7, 101, 102, 104), log(FIRST, REMOVED)), id="the last one left"),
        pytest.param((cut(4, 263), view(5, 7, 101)), id="no log"),
        pytest.param((cut(4, 263), view(5, 7, 101), log(FIRST, node="c2")), id="another node's log"),
        pytest.param((cut(4, 263), view(5, 7, 101), log(FIRST, error="x")), id="a log that was not read"),
        pytest.param((cut(4, 263), view(5, 7, 101), log(FIRST, log_start=9)), id="behind a snapshot"),
        pytest.param((cut(4, 1), view(5, 7, 101), log(FIRST)), id="nothing is known before the truncation"),
        pytest.param((view(5, 7, 101), log((1, 1, "TOPIC_RECORD", {}))), id="voters by configuration"),
        pytest.param((view(5, 7, 101), log((1, 1, "KRAFT_VOTERS", None))), id="a version that is not known"),
        pytest.param((view(5, 7, 101), log(FIRST, began_ns=6 * 10**9)), id="perhaps after the log was read"),
        pytest.param((timeless(view(5, 7, 101)), log(FIRST)), id="without a time"),
        pytest.param(
            (
                view(5, 7, 101),
                log(FIRST),
                ("log-lacking", "c1", {"what": "metadata-truncated", "why": "too many"}),
            ),
            id="truncations are lacking",
        ),
    ],
)
def test_nothing_contradicts_the_log(entries: tuple[Entry, ...]) -> None:
    assert found(history(*entries)) == []


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param((cut(4, 400), view(5, 7, 101, 102, 103, 104), log(FIRST, REMOVED)), id="too old"),
        pytest.param((view(5, 5, 101, 102, 104), log(FIRST, REMOVED)), id="of a later epoch"),
        pytest.param(
            (cut(4, 9), view(5, 7, 104), log(checkpoint=[SNAPSHOT, [FIRST]], node="c1")), id="as formatted"
        ),
    ],
)
def test_the_set_must_be_the_newest_one_there(entries: tuple[Entry, ...]) -> None:
    assert len(found(history(*entries))) == 1


def test_only_states_that_the_log_decides_on_are_compared() -> None:
    recorded = history(
        view(3, 5, 101, 102, 104),
        cut(4, 263),
        view(5, 7, 101, 102, 103, 104),
        timeless(view(6, 7, 101, 102, 103, 104)),
        view(7, 7, 101, node="c2"),
        log(FIRST),
    )
    (one,) = compared_states(recorded, [])
    assert (one.node, one.view.op, one.truncated_to) == ("c1", 2, 263)
    assert one.allowed == {(101, 102, 103, 104)}


def test_sets_of_an_old_snapshot_alone_say_nothing() -> None:
    late = log(checkpoint=["00000000000000000900-0000000003", [FIRST]])
    assert found(history(view(5, 7, 104), late)) == []


@pytest.mark.parametrize(
    ("line", "started", "count"),
    [
        pytest.param(30, {"started": True}, 1, id="after the next start"),
        pytest.param(11, {"started": True}, 0, id="as a start that may have been before it"),
        pytest.param(30, {}, 0, id="without a start"),
    ],
)
def test_a_hit_disk_may_have_lost_what_the_node_acted_by(
    line: int, started: dict[str, Any], count: int
) -> None:
    recorded = history(
        view(3, 5, 101, 104), view(line, 7, 101, 102, **started), log(FIRST), faults=power_loss(10.5)
    )
    anomalies = list(voters_not_in_logs(compared_states(recorded, disk_faults_of(recorded))))
    assert len(anomalies) == count
    elsewhere = history(view(30, 7, 101), log(FIRST), faults=power_loss(10.5, "c2"))
    assert len(list(voters_not_in_logs(compared_states(elsewhere, disk_faults_of(elsewhere))))) == 1


def disk_faults_of(recorded: History) -> list[FaultWindow]:
    return [window for window in fault_windows(recorded) if window.hits_disks]
