"""Lost answers: what a broker sends its clients is dropped, believed when it was, and heard again."""

import pytest

from harness.faults import lost_answers as module
from harness.faults.contract import ActiveFault, NotConfirmedError
from harness.vocabulary import LostAnswers
from tests.harness.fakes.filter import Filter, at_second


@pytest.fixture
def found() -> Filter:
    return Filter(4)


@pytest.fixture
def fault(found: Filter, monkeypatch: pytest.MonkeyPatch) -> ActiveFault:
    monkeypatch.setattr(module, "answers", lambda *_: not found.there)
    return at_second(LostAnswers(), found)


def test_they_are_lost_proven_and_heard_again(found: Filter, fault: ActiveFault) -> None:
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


def test_a_broker_that_answers_loses_nothing(fault: ActiveFault) -> None:
    with pytest.raises(NotConfirmedError, match="n2 still answers"):
        fault.took_effect()


def test_silence_without_a_dropped_packet_is_something_else(found: Filter, fault: ActiveFault) -> None:
    fault.inject()
    found.packets = (0,)
    with pytest.raises(NotConfirmedError):
        fault.took_effect()


def test_a_broker_can_be_taken_away_besides() -> None:
    assert not LostAnswers().takes_process
