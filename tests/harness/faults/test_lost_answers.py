"""Lost answers: what a broker sends its clients is dropped, believed when it was, and heard again."""

from typing import Any

import pytest

from harness.faults import answers as module
from harness.faults.activate import activate
from harness.faults.answers import ActiveLostAnswers
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.targets import Resolved
from harness.vocabulary import LostAnswers, Topology

NODES = Topology().nodes()


class Filter:
    """A packet filter that knows one chain; the broker's answers meet it."""

    def __init__(self, packets: int = 4) -> None:
        self.packets = packets
        self.said: list[str] = []
        self.there = False
        self.stuck = False

    def enter_holder(self, command: str) -> str:
        self.said.append(command)
        if "-N KRUCIBLE-g1f1" in command:
            self.there = True
        if "-X KRUCIBLE-g1f1" in command:
            self.there = self.stuck
        if command.endswith("-S"):
            return "-N KRUCIBLE\n" + ("-N KRUCIBLE-g1f1\n" if self.there else "")
        return f"Chain KRUCIBLE-g1f1\nhead\n   {self.packets} 420 DROP tcp -- * * 0.0.0.0/0\n"


@pytest.fixture
def found() -> Filter:
    return Filter()


@pytest.fixture
def fault(found: Filter, monkeypatch: pytest.MonkeyPatch) -> ActiveLostAnswers:
    monkeypatch.setattr(module, "answers", lambda *_: not found.there)
    monkeypatch.setattr(module, "_PROBE_BOUND_S", 0.01)
    containers: Any = {"n2": found}
    bench = Bench(NODES, containers, {"n2": "10.0.0.2"}, {})
    made = activate(LostAnswers(), "g1f1", Resolved(NODES[1], "role"), bench)
    assert isinstance(made, ActiveLostAnswers)
    return made


def test_they_are_lost_proven_and_heard_again(found: Filter, fault: ActiveLostAnswers) -> None:
    (undo,) = fault.undo
    assert (undo.action, undo.node, undo.chain) == ("remove-chain", "n2", "KRUCIBLE-g1f1")
    fault.inject()
    assert "-p tcp --sport 9092 -j DROP" in found.said[0]
    assert "-I OUTPUT 1 -j KRUCIBLE-g1f1" in found.said[0]
    assert fault.took_effect() == {"dropped": 4}
    with pytest.raises(NotConfirmedError, match="rules are left"):
        fault.healed()
    fault.heal()
    assert "-D OUTPUT -j KRUCIBLE-g1f1" in found.said[-1]
    assert fault.healed() == {"rules_left": 0}


def test_a_broker_that_answers_loses_nothing(fault: ActiveLostAnswers) -> None:
    with pytest.raises(NotConfirmedError, match="n2 still answers"):
        fault.took_effect()


def test_silence_without_a_dropped_packet_is_something_else(found: Filter, fault: ActiveLostAnswers) -> None:
    fault.inject()
    found.packets = 0
    with pytest.raises(NotConfirmedError):
        fault.took_effect()


def test_a_broker_can_be_taken_away_besides() -> None:
    assert not LostAnswers().takes_process
