"""A nemesis before nodes that do not exist; what its faults do there is up to each test."""

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from checkers.history.operations import Operation, OperationType
from harness.faults.contract import Bench
from harness.faults.targets import Resolved
from harness.kafka.snapshot import ClusterSnapshot
from harness.nemesis import nemesis as module
from harness.nemesis.nemesis import Nemesis
from harness.record.journal import Clock, Journals, Recorder
from harness.record.ledger import Ledger, pending_undos, read_ledger
from harness.vocabulary import Fault, Mode, Topology
from tests.harness.recorded import recorded
from tests.harness.snapshots import led

NODES = Topology(mode=Mode.ISOLATED).nodes()


class NemesisRig:
    """A nemesis, its journals and its ledger; subclasses say what a fault does, and who is seen dead."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setattr(module, "activate", self._activate)
        self.journals = Journals(folder, "abc", Clock())
        self.nemesis = Nemesis(
            Recorder(self.journals.open("nemesis"), "nemesis"),
            Ledger(folder),
            cast("Bench", None),
            self._look,
            threading.Event(),
            new_recorder=lambda name: Recorder(self.journals.open(name), name),
        )

    def _look(self) -> ClusterSnapshot:
        down = self.nemesis.down
        return led(NODES, 101, (1,), down=down, dead=frozenset(self.seen_dead()) - down)

    def fault(self, name: str, target: str) -> Any:
        """An active fault of a name, for a node of a name."""
        raise NotImplementedError

    def seen_dead(self) -> Iterable[str]:
        return ()

    def ended(self, f: str) -> dict[str, Operation]:
        """How the operations of one kind ended, by key; nothing is recorded afterwards."""
        self.journals.close()
        every = recorded(self.folder, "nemesis*")
        return {str(o.key): o for o in every if o.f == f and o.type is not OperationType.INVOKE}

    def pending(self) -> list[str]:
        return [entry.fault for entry in pending_undos(read_ledger(self.folder))]

    def _activate(self, spec: Fault, fault: str, resolved: Resolved, _: Bench) -> Any:
        del spec
        return self.fault(fault, resolved.node.name)
