"""Holding a connection: the rule first, then what waits, then proof; gone whatever happens meanwhile."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checkers.evidence.faults import fault_windows
from checkers.history.reading import read_history
from harness.faults import hold as hold_module
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.hold import ConnectionHolds
from harness.record.journal import Clock, Journals, Recorder
from harness.record.ledger import Ledger, pending_undos, read_ledger
from harness.vocabulary import Topology

LISTING = """Chain KRUCIBLE-hold-1 (1 references)
    pkts      bytes target     prot opt in     out  source      destination
       {packets}      180 DROP       tcp  --  *      *       0.0.0.0/0   0.0.0.0/0   tcp spt:4711
"""


class FakeHolder:
    """A namespace with one chain, whose counter rises with what is sent."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.rule = False
        self.packets = 0
        self.match = "--sport 4711"
        self.stuck = False

    def enter_holder(self, command: str) -> str:
        self.commands.append(command)
        if "DROP" in command:
            assert f"-p tcp {self.match} -j DROP" in command
            self.rule = True
        elif "-X KRUCIBLE-hold-1" in command:
            self.rule = self.stuck
        elif "-v -n -x" in command:
            return LISTING.format(packets=self.packets) if self.rule else ""
        return ""


class Stand:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.holder = FakeHolder()
        self.journals = Journals(folder, "run", Clock())
        nodes = Topology().nodes()
        containers: Any = {node.name: SimpleNamespace() for node in nodes} | {"n2": self.holder}
        addresses = {node.name: f"10.0.0.{node.id}" for node in nodes}
        recorder = Recorder(self.journals.open("holds"), "nemesis-holds")
        self.holds = ConnectionHolds(Bench(nodes, containers, addresses, homes={}), Ledger(folder), recorder)

    def send(self) -> None:
        assert self.holder.rule, "sent before the rule was in force"
        self.holder.packets += 3


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    return Stand(tmp_path)


def test_what_is_sent_meets_the_rule_and_is_let_go(stand: Stand) -> None:
    with stand.holds.hold("hold-1", 2, 4711, stand.send):
        assert [fault.fault for fault in pending_undos(read_ledger(stand.folder))] == ["hold-1"]
    assert pending_undos(read_ledger(stand.folder)) == ()
    assert not stand.holder.rule
    (window,) = fault_windows(read_history(stand.folder))
    assert (window.id, window.kind, window.targets, window.proven) == ("hold-1", "hold", ("n2",), True)
    assert window.healed_ns is not None
    inject, heal = (o.value["probe"] for o in read_history(stand.folder).operations if o.type == "ok")
    assert inject == {"dropped": 3}
    assert heal == {"dropped": 3, "rules_left": 0}


def test_all_that_one_broker_sends_another_is_held(stand: Stand) -> None:
    stand.holder.match = "-s 10.0.0.1"
    with stand.holds.hold_broker("hold-1", 2, 1, stand.send):
        assert stand.holder.rule
    assert not stand.holder.rule
    (window,) = fault_windows(read_history(stand.folder))
    assert (window.targets, window.cut, window.proven) == (("n2",), (("n1", "n2"),), True)


def nothing() -> None:
    """What sends no packet."""


def test_a_rule_that_meets_nothing_is_no_fault(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold_module, "_PROBE_BOUND_S", 0.05)
    with pytest.raises(NotConfirmedError, match="no packet"), stand.holds.hold("hold-1", 2, 4711, nothing):
        pytest.fail("the block is not entered")
    assert not stand.holder.rule
    (window,) = fault_windows(read_history(stand.folder))
    assert not window.proven


def test_the_rule_goes_whatever_the_block_does(stand: Stand) -> None:
    with pytest.raises(KeyError), stand.holds.hold("hold-1", 2, 4711, stand.send):
        raise KeyError("a defect")
    assert not stand.holder.rule


def test_a_hold_that_can_not_be_removed_is_recorded_as_not_healed(stand: Stand) -> None:
    stand.holder.stuck = True
    with stand.holds.hold("hold-1", 2, 4711, stand.send):
        pass
    (window,) = fault_windows(read_history(stand.folder))
    assert window.healed_ns is None


def test_a_broker_has_an_address(stand: Stand) -> None:
    assert stand.holds.host_of(3) == "10.0.0.3"
