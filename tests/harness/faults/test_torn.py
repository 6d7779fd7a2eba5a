"""Torn writes: half a batch behind the last one of each log, and nothing that was whole is touched."""

import random
import struct
from pathlib import Path
from typing import Any, cast

import pytest

from checkers.history.faults import ResolvedBy
from harness.cluster.containers import NodeContainers
from harness.cluster.homes import NodeHome
from harness.faults import process
from harness.faults.activate import activate
from harness.faults.contract import ActiveFault, Bench, NotConfirmedError
from harness.faults.targets import Resolved
from harness.faults.torn import torn
from harness.kafka.segments.batches import read_segment
from harness.record.ledger import Undo
from harness.vocabulary import Topology, TornWrite

OLDER, NEWEST = "t-0/00000000000000000000.log", "t-0/00000000000000000040.log"
EMPTY = "t-1/00000000000000000000.log"
METADATA = "__cluster_metadata-0/00000000000000000000.log"
REMOVED = "t-2.0f3a-delete/00000000000000000000.log"
SIZE = 120


def batch(base: int, records: int) -> bytes:
    head = struct.pack(">qiibIhi", base, SIZE - 12, 0, 2, 0, 0, records - 1)
    return head + bytes(SIZE - len(head))


WHOLE = batch(40, 3) + batch(43, 2)


class Node:
    """A node whose process can be killed and started."""

    def __init__(self) -> None:
        self.running = True

    def kill(self) -> None:
        self.running = False

    def start(self) -> None:
        self.running = True

    def state(self) -> dict[str, Any]:
        return {"Running": self.running, "ExitCode": 137}


@pytest.fixture
def home(tmp_path: Path) -> NodeHome:
    home = NodeHome(tmp_path / "home", tmp_path / "disk")
    for name in (OLDER, NEWEST, METADATA, REMOVED):
        path = home.disk / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(WHOLE)
    (home.disk / EMPTY).parent.mkdir()
    (home.disk / EMPTY).touch()
    (home.disk / "meta.properties").touch()
    return home


@pytest.fixture
def fault(home: NodeHome, monkeypatch: pytest.MonkeyPatch) -> ActiveFault:
    node = Node()
    monkeypatch.setattr(process, "answers", lambda *_, **__: node.running)
    (first, *_) = Topology().nodes()
    bench = Bench((first,), {"n1": cast("NodeContainers", node)}, {"n1": "10.0.0.1"}, {"n1": home})
    return activate(TornWrite(draw=3), "f1", Resolved(first, ResolvedBy.NAME), bench)


def test_the_newest_segment_of_each_log_gets_half_a_batch_and_no_other_file(
    home: NodeHome, fault: ActiveFault
) -> None:
    fault.inject()
    assert fault.took_effect() == {"exit_code": 137, "hard": True, "torn": 1}
    data = (home.disk / NEWEST).read_bytes()
    assert data.startswith(WHOLE)
    assert 0 < len(data) - len(WHOLE) < SIZE
    for name in (OLDER, METADATA, REMOVED):
        assert (home.disk / name).read_bytes() == WHOLE
    assert (home.disk / EMPTY).read_bytes() == b""
    fault.heal()
    assert fault.healed()["answers"] is True


def test_a_node_whose_logs_are_empty_is_not_believed(home: NodeHome, fault: ActiveFault) -> None:
    (home.disk / NEWEST).write_bytes(b"")
    fault.inject()
    with pytest.raises(NotConfirmedError, match="n1 has no log with a batch"):
        fault.took_effect()


def test_it_is_a_process_fault_that_a_start_undoes(fault: ActiveFault) -> None:
    assert TornWrite().takes_process
    assert fault.undo == (Undo(action="start", node="n1"),)


def test_half_a_batch_follows_the_last_one_and_is_never_whole() -> None:
    following = batch(45, 2)
    lengths = set()
    for draw in range(1_000):
        piece = torn(WHOLE, random.Random(draw))
        lengths.add(len(piece))
        assert following.startswith(piece)
    assert lengths == set(range(1, SIZE))
    read = read_segment(WHOLE + following[: SIZE - 1])
    assert read.tail is not None


@pytest.mark.parametrize("data", [b"", b"x" * 11, batch(40, 3)[: SIZE - 1], bytes(200)])
def test_where_no_batch_is_whole_nothing_follows(data: bytes) -> None:
    assert torn(data, random.Random(1)) == b""


def test_what_is_torn_already_has_the_batch_after_its_last_whole_one() -> None:
    pieces = {torn(batch(40, 3) + batch(43, 2)[:50], random.Random(draw)) for draw in range(50)}
    assert all(batch(43, 3).startswith(piece) for piece in pieces)
