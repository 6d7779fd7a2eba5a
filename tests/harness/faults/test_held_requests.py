"""Held requests: half of the clients' connections are held, believed when packets came, and let go."""

import pytest

from harness.faults.contract import ActiveFault, NotConfirmedError
from harness.faults.held_requests import half_of
from harness.vocabulary import HeldReports, HeldRequests, Mode, Topology
from tests.harness.fakes.filter import Filter, at_second

OURS = "0000000000000000FFFF00000B00140A"
TABLE = f"""  sl  local_address rem_address   st tx_queue rx_queue
   0: 00000000:2384 00000000:0000 0A 00000000:00000000
   1: {OURS}:2384 0000000000000000FFFF00000100140A:9C41 01 00000000:00000000
   2: {OURS}:2384 0000000000000000FFFF00000100140A:9C42 01 00000000:00000000
   3: {OURS}:2384 0000000000000000FFFF00000100140A:9C43 01 00000000:00000000
   4: {OURS}:2384 0000000000000000FFFF00000100140A:9C44 06 00000000:00000000
   5: {OURS}:2383 0000000000000000FFFF00000100140A:9C45 01 00000000:00000000
   6: {OURS}:A001 0000000000000000FFFF00000C00140A:2385 01 00000000:00000000
   7: {OURS}:A002 0000000000000000FFFF00000D00140A:2385 01 00000000:00000000
   8: {OURS}:A003 0000000000000000FFFF00000D00140A:2385 06 00000000:00000000
"""
"""Three connections of clients, one that is closed, one of another listener, and who listens; two connections
to controllers, and one that is closed."""
CLIENTS = {0x9C41, 0x9C42, 0x9C43}


@pytest.fixture
def found() -> Filter:
    return Filter(0, 3, files=TABLE)


@pytest.fixture
def fault(found: Filter) -> ActiveFault:
    return at_second(HeldRequests(draw=5), found)


def test_half_of_the_connections_that_are_open_are_held_by_a_draw() -> None:
    halves = {half_of(TABLE, draw) for draw in range(20)}
    assert {len(half) for half in halves} == {2}
    assert set().union(*halves) == CLIENTS
    assert half_of(TABLE, 3) == half_of(TABLE, 3)
    assert half_of("", 3) == ()


def test_they_are_held_proven_and_let_go(found: Filter, fault: ActiveFault) -> None:
    (undo,) = fault.undo
    assert (undo.action, undo.node, undo.chain) == ("remove-chain", "n2", "KRUCIBLE-g1f1")
    fault.inject()
    first, second = half_of(TABLE, 5)
    assert f"-p tcp --sport {first} --dport 9092 -j DROP" in found.said[1]
    assert f"-p tcp --sport {second} --dport 9092 -j DROP" in found.said[1]
    assert found.said[1].endswith("-I KRUCIBLE 1 -j KRUCIBLE-g1f1")
    assert fault.took_effect() == {"held": 2, "dropped": 3}
    with pytest.raises(NotConfirmedError, match="rules are left"):
        fault.healed()
    fault.heal()
    assert fault.healed() == {"rules_left": 0}


def test_connections_on_which_nothing_comes_are_no_proof(found: Filter, fault: ActiveFault) -> None:
    found.packets = (0, 0)
    fault.inject()
    with pytest.raises(NotConfirmedError, match="no packet arrived on the 2 connections"):
        fault.took_effect()


def test_what_a_broker_sends_controllers_is_held_where_it_leaves(found: Filter) -> None:
    fault = at_second(HeldReports(), found)
    fault.inject()
    for port in (0xA001, 0xA002):
        assert f"-A KRUCIBLE-g1f1 -p tcp --sport {port} --dport 9093 -j DROP" in found.said[1]
    assert str(0xA003) not in found.said[1]
    assert found.said[1].endswith("-I OUTPUT 1 -j KRUCIBLE-g1f1")
    assert fault.took_effect() == {"held": 2, "dropped": 3}
    fault.heal()
    assert fault.healed() == {"rules_left": 0}


def test_reports_are_held_where_brokers_are_no_voters() -> None:
    assert HeldReports().unavailable_because(Topology(mode=Mode.ISOLATED)) is None
    assert "those of a voter" in str(HeldReports().unavailable_because(Topology()))


def test_a_broker_can_be_taken_away_besides() -> None:
    assert not HeldRequests().takes_process
    assert not HeldReports().takes_process
