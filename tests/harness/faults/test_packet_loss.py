"""Packet loss: some of what is sent on a link is dropped, believed when some was and some was not."""

import re
from typing import Any

import pytest

from checkers.history.faults import ResolvedBy
from harness.faults import packet_loss as module
from harness.faults.activate import activate
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.cuts import lossy
from harness.faults.injecting import among
from harness.faults.packet_loss import BURST, ActivePacketLoss
from harness.faults.partition import takes_part
from harness.faults.targets import Resolved
from harness.kafka.snapshot import ClusterSnapshot
from harness.vocabulary import Among, Fault, LossPattern, Mode, PacketLoss, Topology

TOPOLOGY = Topology(mode=Mode.ISOLATED)
NODES = TOPOLOGY.nodes()
ADDRESSES = {node.name: f"10.0.0.{node.id}" for node in NODES}
CHAIN = "KRUCIBLE-g1f1"


class Wire:
    """Packet filters of all nodes; a share of what is sent on each link is dropped."""

    def __init__(self) -> None:
        self.share = 0.4
        self.commands: list[tuple[str, str]] = []
        self.met: dict[str, dict[str, int]] = {}
        """Of each receiver the packets that each match of its chain has met."""

    def filter_of(self, node: str) -> "Filter":
        return Filter(self, node)

    def send(self, receiver: str, match: str, packets: int) -> None:
        if match in self.met.get(receiver, {}):
            self.met[receiver][match] += packets

    def dropped(self, packets: int) -> int:
        return round(packets * self.share)


class Filter:
    """The packet filter of one node."""

    def __init__(self, wire: Wire, node: str) -> None:
        self.wire, self.node = wire, node

    def enter_holder(self, command: str) -> str:
        wire = self.wire
        wire.commands.append((self.node, command))
        if f"-N {CHAIN}" in command:
            matches = re.findall(rf"-A {CHAIN} ((?:(?! -m ).)*?) -j RETURN", command)
            wire.met[self.node] = dict.fromkeys(matches, 0)
        elif f"-X {CHAIN}" in command:
            wire.met.pop(self.node, None)
        elif "/dev/udp/" in command:
            (addresses,) = re.findall(r"for address in (.*?);", command)
            for name, address in ADDRESSES.items():
                if address in addresses.split():
                    wire.send(name, f"-s {ADDRESSES[self.node]}", BURST)
        elif command.endswith("-S"):
            return f"-N KRUCIBLE\n{f'-N {CHAIN}' if self.node in wire.met else ''}\n"
        return self._listing() if f"-L {CHAIN} -v" in command else ""

    def _listing(self) -> str:
        rows = [f"Chain {CHAIN} (1 references)", "    pkts bytes target"]
        for packets in self.wire.met[self.node].values():
            dropped = self.wire.dropped(packets)
            rows += [f"{dropped} 420 DROP all", f"{packets - dropped} 420 RETURN all"]
        return "\n".join(rows) + "\n"


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    found = Wire()
    monkeypatch.setattr(module, "PROBE_BOUND_S", 0.0)

    def probe(host: str, port: int, _: float) -> bool:
        (name,) = (name for name, address in ADDRESSES.items() if address == host)
        found.send(name, f"-p tcp --dport {port}", 5)
        return True

    monkeypatch.setattr(module, "answers", probe)
    return found


def made(wire: Wire, spec: PacketLoss, target: str) -> ActivePacketLoss:
    (node,) = (node for node in NODES if node.name == target)
    containers: Any = {node.name: wire.filter_of(node.name) for node in NODES}
    fault = activate(spec, "g1f1", Resolved(node, ResolvedBy.ROLE), Bench(NODES, containers, ADDRESSES, {}))
    assert isinstance(fault, ActivePacketLoss)
    return fault


def test_a_link_loses_packets_both_ways_until_it_is_healed(wire: Wire) -> None:
    fault = made(wire, PacketLoss(LossPattern.LINK, among=Among.CONTROLLERS, percent=30, draw=1), "c1")
    assert fault.targets == ("c1", "c3")
    assert fault.cut == (), "nobody is cut off"
    assert [(undo.action, undo.node, undo.chain) for undo in fault.undo] == [
        ("remove-chain", node, CHAIN) for node in ("c1", "c3")
    ]
    fault.inject()
    rules = dict(wire.commands)["c3"]
    match = f"-s {ADDRESSES['c1']}"
    assert f"-A {CHAIN} {match} -m statistic --mode random --probability 0.30 -j DROP" in rules
    assert rules.index("-j DROP") < rules.index(f"-A {CHAIN} {match} -j RETURN")
    assert "-I KRUCIBLE 1 -j KRUCIBLE-g1f1" in rules
    assert fault.took_effect() == {
        "dropped": {"c1->c3": 10, "c3->c1": 10},
        "passed": {"c1->c3": 15, "c3->c1": 15},
    }
    with pytest.raises(NotConfirmedError, match="rules are left"):
        fault.healed()
    fault.heal()
    assert fault.healed() == {"rules_left": 0}


@pytest.mark.parametrize(("share", "seen"), [(0.0, "0 lost, 75 arrived"), (1.0, "75 lost, 0 arrived")])
def test_a_link_that_loses_nothing_or_all_is_no_proof(wire: Wire, share: float, seen: str) -> None:
    fault = made(wire, PacketLoss(LossPattern.LINK, among=Among.BROKERS), "b1")
    fault.inject()
    wire.share = share
    with pytest.raises(NotConfirmedError, match=rf"b1->b2 \({seen}\)"):
        fault.took_effect()


def test_bursts_are_sent_until_some_are_lost_and_some_are_not(wire: Wire) -> None:
    fault = made(wire, PacketLoss(LossPattern.NODE, among=Among.CONTROLLERS, percent=10), "c2")
    fault.inject()
    # Of the first burst none is lost, of two one.
    wire.share = 0.015
    seen: dict[str, Any] = fault.took_effect()
    assert set(seen["dropped"].values()) == {1}
    assert sum("/dev/udp/" in command for node, command in wire.commands if node == "c1") == 2


def test_what_clients_send_is_lost_at_their_port(wire: Wire) -> None:
    fault = made(wire, PacketLoss(LossPattern.CLIENTS, percent=60), "b2")
    assert fault.targets == ("b2",)
    assert [undo.node for undo in fault.undo] == ["b2"]
    fault.inject()
    rules = dict(wire.commands)["b2"]
    assert f"-A {CHAIN} -p tcp --dport 9092 -m statistic --mode random --probability 0.60 -j DROP" in rules
    assert " -s " not in rules
    assert fault.took_effect() == {"dropped": {"clients->b2": 8}, "passed": {"clients->b2": 12}}
    fault.heal()
    assert fault.healed() == {"rules_left": 0}


def test_patterns_say_which_links_lose_packets() -> None:
    names = ("a", "b", "c", "d")
    assert lossy(LossPattern.LINK, names, "b", 1) == (("b", "c"), ("c", "b"))
    assert lossy(LossPattern.NODE, names[:3], "b", 1) == (("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"))
    assert len(lossy(LossPattern.MESH, names, "b", 1)) == 12
    assert lossy(LossPattern.CLIENTS, names, "b", 1) == ()


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        (PacketLoss(LossPattern.CLIENTS, among=Among.CONTROLLERS), {"b1", "b2", "b3"}),
        (PacketLoss(LossPattern.MESH, among=Among.CONTROLLERS), {"c1", "c2", "c3"}),
        (PacketLoss(LossPattern.NODE, among=Among.BROKERS), {"b1", "b2", "b3"}),
        (PacketLoss(LossPattern.LINK), {"b1", "b2", "b3", "c1", "c2", "c3"}),
    ],
)
def test_only_nodes_that_a_loss_is_drawn_among_are_its_target(spec: PacketLoss, names: set[str]) -> None:
    assert {node.name for node in NODES if takes_part(spec, node)} == names
    assert {node.name for node in among(spec, ClusterSnapshot(NODES)).nodes} == names


@pytest.mark.parametrize(
    ("spec", "topology", "why"),
    [
        (PacketLoss(LossPattern.MESH), Topology(), None),
        (PacketLoss(LossPattern.MESH, among=Among.CONTROLLERS), TOPOLOGY, None),
        (PacketLoss(LossPattern.MESH, among=Among.CONTROLLERS), Topology(), "share an address"),
        (PacketLoss(LossPattern.CLIENTS, among=Among.BROKERS), Topology(), None),
        (PacketLoss(LossPattern.LINK), Topology(controllers=1, brokers=1), "a link loss of packets needs 2"),
        (PacketLoss(LossPattern.NODE, percent=9), TOPOLOGY, "10 to 90 can be lost, not 9"),
        (PacketLoss(LossPattern.NODE, percent=91), TOPOLOGY, "10 to 90 can be lost, not 91"),
    ],
)
def test_a_topology_can_have_it_or_not(spec: Fault, topology: Topology, why: str | None) -> None:
    found = spec.unavailable_because(topology)
    assert found is None if why is None else why in str(found)


def test_a_node_can_be_taken_away_besides() -> None:
    assert not PacketLoss(LossPattern.NODE).takes_process
