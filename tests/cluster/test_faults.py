"""Every fault takes effect on a real cluster, is seen by its probe, and is gone after its heal."""

import itertools
import socket
import struct
from collections.abc import Iterator, Sequence

import pytest

from checkers.history.faults import ResolvedBy
from harness.cluster.cluster import Cluster
from harness.cluster.rendering import CLIENT_PORT
from harness.faults.activate import activate
from harness.faults.chained import remove_chain
from harness.faults.contract import NotConfirmedError
from harness.faults.partition import ActivePartition
from harness.faults.targets import Resolved
from harness.kafka.wire import answers
from harness.run.healing import bench_of
from harness.run.readiness import await_ready
from harness.vocabulary import (
    Fault,
    Flavour,
    HeldRequests,
    Kill,
    LossPattern,
    LostAnswers,
    PacketLoss,
    Partition,
    Pattern,
    Pause,
    Stop,
    Upgrade,
)

pytestmark = pytest.mark.cluster
DROPPED, REJECTED = ([Partition(pattern, flavour=flavour) for pattern in Pattern] for flavour in Flavour)
SOME, MOST = ([PacketLoss(pattern, percent=percent) for pattern in LossPattern] for percent in (20, 70))
INWARD = Partition(Pattern.ONE_WAY_CALLS, inward=True)
numbers = itertools.count(1)


def alternating(one: Sequence[Fault], other: Sequence[Fault]) -> Iterator[object]:
    """All of both, where every second one of each is among the long tests, and of each pair one is not."""
    for number, pair in enumerate(zip(one, other, strict=True)):
        yield pair[number % 2]
        yield pytest.param(pair[1 - number % 2], marks=pytest.mark.long)


@pytest.mark.parametrize(
    "spec",
    [
        *alternating(DROPPED, REJECTED),
        INWARD,
        *alternating(SOME, MOST),
        *(LostAnswers(), Kill(), Pause(), Stop(), Upgrade()),
    ],
    ids=repr,
)
def test_a_fault_is_proven_and_healed(three_nodes: Cluster, spec: Fault) -> None:
    bench = bench_of(three_nodes)
    number = next(numbers)
    fault = activate(spec, f"t{number}", Resolved(three_nodes.nodes[number % 3], ResolvedBy.ROLE), bench)

    fault.inject()
    assert fault.took_effect()
    fault.heal()
    assert fault.healed()
    await_ready(three_nodes)


def test_the_probe_does_not_believe_a_cut_that_is_not_there(three_nodes: Cluster) -> None:
    bench = bench_of(three_nodes)
    target = Resolved(three_nodes.nodes[0], ResolvedBy.ROLE)
    fault = ActivePartition(Partition(Pattern.ISOLATE_ONE), "t-bare", target, bench)
    fault.inject()
    bench.containers["n2"].enter_holder(f"iptables -w -F {fault.chain}")
    try:
        with pytest.raises(NotConfirmedError, match="n1->n2"):
            fault.took_effect()
    finally:
        fault.heal()


def test_the_probe_does_not_believe_a_heal_that_left_rules(three_nodes: Cluster) -> None:
    bench = bench_of(three_nodes)
    fault = ActivePartition(
        Partition(Pattern.BRIDGE), "t-left", Resolved(three_nodes.nodes[0], ResolvedBy.ROLE), bench
    )
    fault.inject()
    with pytest.raises(NotConfirmedError, match="rules are left"):
        fault.healed()
    fault.heal()
    assert fault.healed() == {"rules_left": 0}


def test_a_heal_touches_no_rule_but_its_own(three_nodes: Cluster) -> None:
    bench = bench_of(three_nodes)
    node = bench.containers["n1"]
    node.enter_holder("iptables -w -A INPUT -s 192.0.2.1 -j DROP")
    before = node.enter_holder("iptables -w -S")
    fault = ActivePartition(
        Partition(Pattern.ISOLATE_ONE), "t-own", Resolved(three_nodes.nodes[0], ResolvedBy.ROLE), bench
    )
    fault.inject()
    fault.heal()
    remove_chain(bench, "n1", fault.chain)

    assert node.enter_holder("iptables -w -S") == before
    node.enter_holder("iptables -w -D INPUT -s 192.0.2.1 -j DROP")


def test_a_cut_survives_a_kill_and_a_restart(three_nodes: Cluster) -> None:
    bench = bench_of(three_nodes)
    target = Resolved(three_nodes.nodes[1], ResolvedBy.ROLE)
    cut = ActivePartition(Partition(Pattern.ISOLATE_ONE), "t-kept", target, bench)
    kill = activate(Kill(), "t-kill", target, bench)
    cut.inject()
    kill.inject()
    kill.took_effect()
    kill.heal()
    kill.healed()
    try:
        assert cut.took_effect()["dropped"]
    finally:
        cut.heal()
    await_ready(three_nodes)


def test_what_is_held_arrives_after_the_heal(three_nodes: Cluster) -> None:
    bench = bench_of(three_nodes)
    held = activate(HeldRequests(), "t-held", Resolved(three_nodes.nodes[1], ResolvedBy.ROLE), bench)
    versions = struct.pack(">ihhih", 10, 18, 0, 7, -1)
    with socket.create_connection((bench.addresses["n2"], CLIENT_PORT), timeout=10) as client:
        held.inject()
        client.sendall(versions)
        try:
            assert held.took_effect()["held"] == 1
            client.settimeout(0.5)
            with pytest.raises(TimeoutError):
                client.recv(8)
            with socket.create_connection((bench.addresses["n2"], CLIENT_PORT), timeout=10) as other:
                other.sendall(versions)
                assert other.recv(8)[4:] == struct.pack(">i", 7)
        finally:
            held.heal()
        assert held.healed() == {"rules_left": 0}
        client.settimeout(10)
        assert client.recv(8)[4:] == struct.pack(">i", 7)


def test_a_paused_node_accepts_but_does_not_answer(three_nodes: Cluster) -> None:
    bench = bench_of(three_nodes)
    address = three_nodes.controller_listeners["n3"]
    pause = activate(Pause(), "t-pause", Resolved(three_nodes.nodes[2], ResolvedBy.ROLE), bench)
    pause.inject()
    try:
        assert not answers(*address, timeout_s=0.5)
    finally:
        pause.heal()
    assert pause.healed() == {"answers": True}
