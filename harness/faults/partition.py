"""Network partitions: our own chain in the packet filter of every receiver's namespace.

A rule sits on the receiver's INPUT, so that what is dropped really was sent.  Each fault has a chain of its
own, and heals by removing that chain and nothing else.  A cut is believed only when probes that were sent in
both directions have raised the counters of the rules that should have met them.
"""

import re
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from harness.cluster.containers import in_parallel
from harness.cluster.rendering import CLIENT_PORT, CONTROLLER_PORT, REPLICATION_PORT
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.cuts import Pair, cuts
from harness.faults.targets import Resolved
from harness.record.ledger import Undo
from harness.vocabulary.faults import Among, Flavour, LossPattern, PacketLoss, Partition, Pattern
from harness.vocabulary.topology import Node

PROBE_BOUND_S = 10.0
LOOKS_MIN = 3
"""On a busy host a single one, which enters every node twice, may take longer than the bound."""
CHAIN = "KRUCIBLE"
"""Ours in every node's packet filter, and how the names of those of faults begin."""
_PORTS = f"{CLIENT_PORT},{REPLICATION_PORT},{CONTROLLER_PORT}"
DISCARD_PORT = 9
"""Where nobody listens: what is sent there is counted on its way, and has no other effect."""
Seen = TypeVar("Seen")


class ActivePartition:
    """A partition between named nodes."""

    def __init__(self, spec: Partition, fault: str, resolved: Resolved, bench: Bench) -> None:
        self._spec = spec
        self._bench = bench
        self.chain = f"{CHAIN}-{fault}"
        names = tuple(node.name for node in bench.nodes if takes_part(spec, node))
        self.cut = cuts(spec.pattern, names, resolved.node.name, spec.draw, inward=spec.inward)
        self.targets = (resolved.node.name,)
        self._open = self._pairs_that_stay_open()
        self._receivers = tuple(sorted({receiver for _, receiver in (*self.cut, *self._open)}))

    @property
    def undo(self) -> tuple[Undo, ...]:
        """One chain to remove at every receiver."""
        return tuple(Undo(action="remove-chain", node=node, chain=self.chain) for node in self._receivers)

    def inject(self) -> None:
        """Put the chain in place at every receiver."""
        in_parallel(self._add_chain, self._receivers)

    def took_effect(self) -> dict[str, Any]:
        """Packets counted at each cut, and at each direction that must stay open."""
        bound_s = self._bench.bound_s(PROBE_BOUND_S)
        counted = looked_until(self._probe, lambda seen: all(seen.values()), bound_s)
        silent = sorted(f"{a}->{b}" for (a, b), packets in counted.items() if not packets)
        if silent:
            raise NotConfirmedError(f"no probe was counted on {', '.join(silent)}")
        return {
            "dropped": {f"{a}->{b}": counted[a, b] for a, b in self.cut},
            "open": {f"{a}->{b}": counted[a, b] for a, b in self._open},
        }

    def heal(self) -> None:
        """Remove our chain everywhere."""
        in_parallel(lambda name: remove_chain(self._bench, name, self.chain), self._receivers)

    def healed(self) -> dict[str, Any]:
        """The rules that are left, none of which may be this fault's."""
        return confirm_removed(self._bench, self._receivers, self.chain)

    def _pairs_that_stay_open(self) -> tuple[Pair, ...]:
        if self._spec.pattern not in (Pattern.ONE_WAY_PACKETS, Pattern.ONE_WAY_CALLS):
            return ()
        return tuple((receiver, sender) for sender, receiver in self.cut)

    def _add_chain(self, receiver: str) -> None:
        rules = [f"-N {self.chain}"]
        rules += [f"-A {self.chain} {self._match(a)}" for a, b in self._open if b == receiver]
        rules += [rule for a, b in self.cut if b == receiver for rule in self._cutting_rules(a)]
        rules += [f"-I {CHAIN} 1 -j {self.chain}"]
        command = " && ".join(f"iptables -w {rule}" for rule in rules)
        self._bench.containers[receiver].enter_holder(command)

    def _match(self, sender: str) -> str:
        calls_only = self._spec.pattern is Pattern.ONE_WAY_CALLS
        ports = f" -p tcp -m multiport --dports {_PORTS}" if calls_only else ""
        return f"-s {self._bench.addresses[sender]}{ports}"

    def _cutting_rules(self, sender: str) -> list[str]:
        match = self._match(sender)
        drop = f"-A {self.chain} {match} -j DROP"
        if self._spec.flavour is Flavour.DROP:
            return [drop]
        tcp = match if "-p tcp" in match else f"{match} -p tcp"
        return [f"-A {self.chain} {tcp} -j REJECT --reject-with tcp-reset", drop]

    def _probe(self) -> dict[Pair, int]:
        """Send something over every pair, then read every counter."""
        pairs = (*self.cut, *self._open)
        senders = sorted({sender for sender, _ in pairs})
        in_parallel(self._send_probes, senders)
        counted = in_parallel(self._count, self._receivers)
        counters = dict(zip(self._receivers, counted, strict=True))
        return {(a, b): counters[b].get(self._bench.addresses[a], 0) for a, b in pairs}

    def _send_probes(self, sender: str) -> None:
        pairs = [pair for pair in (*self.cut, *self._open) if pair[0] == sender]
        self._bench.containers[sender].enter_holder(
            " & ".join(self._probe_command(receiver) for _, receiver in pairs) + " & wait"
        )

    def _probe_command(self, receiver: str) -> str:
        address = self._bench.addresses[receiver]
        if self._spec.pattern is Pattern.ONE_WAY_CALLS:
            return f"timeout 0.2 bash -c 'exec 3<>/dev/tcp/{address}/{CONTROLLER_PORT}' 2>/dev/null"
        return f"echo probe >/dev/udp/{address}/{DISCARD_PORT}"

    def _count(self, receiver: str) -> dict[str, int]:
        listing = self._bench.containers[receiver].enter_holder(f"iptables -w -L {self.chain} -v -n -x")
        return _packets_by_source(listing)


def remove_chain(bench: Bench, node: str, chain: str) -> None:
    """Remove one chain of ours at one node; one that is not there is fine, and no other is touched."""
    bench.containers[node].enter_holder(
        f"if iptables -w -n -L {chain} >/dev/null 2>&1; then "
        f"iptables -w -D {CHAIN} -j {chain} 2>/dev/null; iptables -w -D OUTPUT -j {chain} 2>/dev/null; "
        f"iptables -w -F {chain} && iptables -w -X {chain}; fi"
    )


def confirm_removed(bench: Bench, nodes: Iterable[str], chain: str) -> dict[str, Any]:
    """What is told of a heal: no rule of a chain is left at these nodes.

    Raises:
        NotConfirmedError: some are.
    """
    left = {node: _rules_left(bench, node, chain) for node in nodes}
    if any(left.values()):
        raise NotConfirmedError(f"rules are left: {left}")
    return {"rules_left": 0}


def takes_part(spec: Partition | PacketLoss, node: Node) -> bool:
    """Whether a partition, or a loss of packets, is drawn among nodes like this one."""
    if spec.pattern is LossPattern.CLIENTS:
        return node.is_broker
    alone = {Among.CONTROLLERS: node.is_controller, Among.BROKERS: node.is_broker}
    return alone.get(spec.among, True)


def _rules_left(bench: Bench, node: str, chain: str) -> int:
    listing = bench.containers[node].enter_holder("iptables -w -S")
    return sum(1 for line in listing.splitlines() if re.search(rf"{re.escape(chain)}\b", line))


def _packets_by_source(listing: str) -> dict[str, int]:
    """Packets met by each source's rules, from ``iptables -L -v -n -x``."""
    counted: dict[str, int] = {}
    for line in listing.splitlines()[2:]:
        fields = line.split()
        source = next(field for field in fields[2:] if re.fullmatch(r"\d+\.\d+\.\d+\.\d+", field))
        counted[source] = counted.get(source, 0) + int(fields[0])
    return counted


def looked_until(look: Callable[[], Seen], enough: Callable[[Seen], bool], bound_s: float) -> Seen:
    """What the last look saw: the first that saw enough, or the first after the bound, but never too few."""
    deadline = time.monotonic() + bound_s
    looks = 0
    while True:
        seen = look()
        looks += 1
        if enough(seen) or (looks >= LOOKS_MIN and time.monotonic() > deadline):
            return seen
