"""Faults of disks that are withheld: recorded with their reason, and counted once they are not."""

import threading
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from checkers.history.observed import PartitionAnswer
from checkers.history.operations import Operation, OperationType
from harness.faults.contract import Bench
from harness.kafka.snapshot import ClusterSnapshot
from harness.nemesis import nemesis as module
from harness.nemesis.nemesis import Nemesis
from harness.record.journal import Clock, Journals, Recorder
from harness.record.ledger import Ledger, read_ledger
from harness.vocabulary import Fault, Mode, Pause, Topology, WipeDisk, broker
from tests.harness.recorded import recorded

FULL = PartitionAnswer(0, 1, 4, (1, 2, 3), (1, 2, 3), None)
WHERE = ("t", 0)


class Wiping:
    """A fault that notes its target."""

    cut = ()
    undo = ()

    def __init__(self, node: str, targets: list[str]) -> None:
        self.targets = (node,)
        self._seen = targets

    def inject(self) -> None:
        self._seen.extend(self.targets)

    def heal(self) -> None:
        """Do nothing, because `inject` changes no cluster."""

    def took_effect(self) -> dict[str, Any]:
        return {}

    healed = took_effect


class Rig:
    """A nemesis in front of three brokers of paper."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.struck: list[str] = []
        nodes = Topology(mode=Mode.ISOLATED).nodes()
        self.seen = ClusterSnapshot(nodes, {WHERE: (FULL,)}, min_insync_replicas=2, answers=1)
        monkeypatch.setattr(
            module,
            "activate",
            lambda _spec, _fault, resolved, _bench: Wiping(resolved.node.name, self.struck),
        )
        self._folder = folder
        self._journals = Journals(folder, "abc", Clock())
        self.nemesis = Nemesis(
            Recorder(self._journals.open("nemesis"), "nemesis"),
            Ledger(folder),
            cast("Bench", None),
            lambda: msgspec.structs.replace(self.seen, down=self.nemesis.down),
            threading.Event(),
        )

    def begin_and_end(self, name: str, fault: Fault) -> bool:
        begun = self.nemesis.begin(name, fault)
        if begun:
            assert self.nemesis.end(name)
        return begun

    def hear(self, state: PartitionAnswer) -> None:
        """What every broker reports next."""
        answers = self.seen.answers + 1
        out = self.seen.out_of_sync | {(*WHERE, one): answers for one in {*state.replicas} - {*state.isr}}
        self.seen = msgspec.structs.replace(
            self.seen, reported={WHERE: (state,)}, answers=answers, out_of_sync=out
        )

    def refusals(self) -> list[Operation]:
        self._journals.close()
        return [each for each in recorded(self._folder, "nemesis") if each.type is OperationType.FAIL]


def test_a_disk_is_withheld_until_the_one_before_is_full_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, monkeypatch)
    assert rig.begin_and_end("a", WipeDisk(broker(1), sparing=True))
    assert not rig.begin_and_end("b", WipeDisk(broker(2), sparing=True)), "the controller has not noticed"
    rig.hear(msgspec.structs.replace(FULL, isr=(2, 3)))
    assert not rig.begin_and_end("c", WipeDisk(broker(2), sparing=True))
    rig.hear(FULL)
    assert rig.begin_and_end("d", WipeDisk(broker(2), sparing=True))
    assert rig.begin_and_end("e", WipeDisk(broker(3))), "this one is to spare nothing"
    assert rig.struck == ["b1", "b2", "b3"]

    refused = rig.refusals()
    assert [(each.key, each.value["spec"]["sparing"]) for each in refused] == [("b", True), ("c", True)]
    assert {each.error for each in refused} == {
        "withheld from b2: 1 of 2 other copies of t/0 are in sync for certain"
    }
    assert [type(entry).__name__ for entry in read_ledger(tmp_path)].count("FaultPlanned") == 3


def test_a_disk_of_a_node_that_is_held_by_a_fault_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, monkeypatch)
    assert rig.nemesis.begin("a", Pause(broker(2)))
    assert not rig.nemesis.begin("b", WipeDisk(broker(2), sparing=True))
    assert not rig.nemesis.begin("c", WipeDisk(broker(1), sparing=True))
    assert [each.error for each in rig.refusals()] == [
        "the target is held by another fault",
        "withheld from b1: 1 of 2 other copies of t/0 are in sync for certain",
    ]
    assert [each.value["refused"] for each in rig.refusals()] == ["held", "withheld"]
