"""Network partitions: each receiver's packet filter drops packets from the other side.

A rule is on the receiver's INPUT chain, so dropped packets were really sent.  Each fault has a separate
chain, and its heal removes only that chain.  A cut counts only if probes in both directions have increased
the counters of the rules that must drop them.
"""

import re
import time
from collections.abc import Callable
from typing import TypeVar

from harness.cluster.containers import in_parallel
from harness.cluster.rendering import CLIENT_PORT, CONTROLLER_PORT, REPLICATION_PORT
from harness.faults.activate import carries_out
from harness.faults.chained import Chained
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.cuts import Pair, cuts
from harness.faults.targets import Resolved
from harness.vocabulary.faults import Flavour, LossPattern, PacketLoss, Partition, Pattern
from harness.vocabulary.topology import Among, Node

PROBE_BOUND_S = 10.0
LOOKS_MIN = 3
"""Minimum number of probes: on a busy host even one, which enters every node twice, may exceed the limit."""
_PORTS = f"{CLIENT_PORT},{REPLICATION_PORT},{CONTROLLER_PORT}"
_ONE_WAY = (Pattern.ONE_WAY_PACKETS, Pattern.ONE_WAY_CALLS, Pattern.ONE_WAY_LINK)
DISCARD_PORT = 9
"""A port without a listener: packets to it are counted by the rules, and have no other effect."""
Seen = TypeVar("Seen")


@carries_out(Partition)
class ActivePartition(Chained):
    """A partition between named nodes."""

    def __init__(self, spec: Partition, fault: str, resolved: Resolved, bench: Bench) -> None:
        super().__init__(spec, fault, resolved, bench)
        self._spec = spec
        names = tuple(node.name for node in bench.nodes if takes_part(spec, node))
        self.cut = cuts(spec.pattern, names, resolved.node.name, spec.draw, inward=spec.inward)
        self._open = self._pairs_that_stay_open()
        self.nodes = tuple(sorted({receiver for _, receiver in (*self.cut, *self._open)}))

    def inject(self) -> None:
        """Put the chain in place at every receiver."""
        in_parallel(self._add_chain, self.nodes)

    def took_effect(self) -> dict[str, object]:
        """Numbers of packets at each cut, and in each direction that must stay open."""
        bound_s = self._bench.bound_s(PROBE_BOUND_S)
        counted = looked_until(self._probe, lambda seen: all(seen.values()), bound_s)
        silent = sorted(f"{a}->{b}" for (a, b), packets in counted.items() if not packets)
        if silent:
            raise NotConfirmedError(f"no probe was counted on {', '.join(silent)}")
        return {
            "dropped": {f"{a}->{b}": counted[a, b] for a, b in self.cut},
            "open": {f"{a}->{b}": counted[a, b] for a, b in self._open},
        }

    def _pairs_that_stay_open(self) -> tuple[Pair, ...]:
        if self._spec.pattern not in _ONE_WAY:
            return ()
        return tuple((receiver, sender) for sender, receiver in self.cut)

    def _add_chain(self, receiver: str) -> None:
        opening = [self._match(a) for a, b in self._open if b == receiver]
        cutting = [rule for a, b in self.cut if b == receiver for rule in self._cutting_rules(a)]
        self.add_chain(receiver, [*opening, *cutting])

    def _match(self, sender: str) -> str:
        calls_only = self._spec.pattern is Pattern.ONE_WAY_CALLS
        ports = f" -p tcp -m multiport --dports {_PORTS}" if calls_only else ""
        return f"-s {self._bench.addresses[sender]}{ports}"

    def _cutting_rules(self, sender: str) -> list[str]:
        match = self._match(sender)
        drop = f"{match} -j DROP"
        if self._spec.flavour is Flavour.DROP:
            return [drop]
        tcp = match if "-p tcp" in match else f"{match} -p tcp"
        return [f"{tcp} -j REJECT --reject-with tcp-reset", drop]

    def _probe(self) -> dict[Pair, int]:
        """Send packets over every pair, then read every counter."""
        pairs = (*self.cut, *self._open)
        senders = sorted({sender for sender, _ in pairs})
        in_parallel(self._send_probes, senders)
        counted = in_parallel(self._count, self.nodes)
        counters = dict(zip(self.nodes, counted, strict=True))
        return {(a, b): counters[b].get(self._bench.addresses[a], 0) for a, b in pairs}

    def _send_probes(self, sender: str) -> None:
        pairs = [pair for pair in (*self.cut, *self._open) if pair[0] == sender]
        self.enter(sender, " & ".join(self._probe_command(receiver) for _, receiver in pairs) + " & wait")

    def _probe_command(self, receiver: str) -> str:
        address = self._bench.addresses[receiver]
        if self._spec.pattern is Pattern.ONE_WAY_CALLS:
            return f"timeout 0.2 bash -c 'exec 3<>/dev/tcp/{address}/{CONTROLLER_PORT}' 2>/dev/null"
        return f"echo probe >/dev/udp/{address}/{DISCARD_PORT}"

    def _count(self, receiver: str) -> dict[str, int]:
        return _packets_by_source(self.listing(receiver))


def takes_part(spec: Partition | PacketLoss, node: Node) -> bool:
    """Whether a node can take part in a partition or a loss of packets."""
    if spec.pattern is LossPattern.CLIENTS:
        return node.is_broker
    alone = {Among.CONTROLLERS: node.is_controller, Among.BROKERS: node.is_broker}
    return alone.get(spec.among, True)


def _packets_by_source(rules: list[str]) -> dict[str, int]:
    """Number of packets by source, from the output of ``iptables -L -v -n -x``."""
    counted: dict[str, int] = {}
    for line in rules:
        fields = line.split()
        source = next(field for field in fields[2:] if re.fullmatch(r"\d+\.\d+\.\d+\.\d+", field))
        counted[source] = counted.get(source, 0) + int(fields[0])
    return counted


def looked_until(look: Callable[[], Seen], enough: Callable[[Seen], bool], bound_s: float) -> Seen:
    """The result of the last probe: the first that is enough, or the first after the time limit.

    There are always at least `LOOKS_MIN` probes before the time limit ends them.
    """
    deadline = time.monotonic() + bound_s
    looks = 0
    while True:
        seen = look()
        looks += 1
        if enough(seen) or (looks >= LOOKS_MIN and time.monotonic() > deadline):
            return seen
