"""Packet loss: each receiver's packet filter drops a share of the packets at random.

The fault's chain has two rules for each sender: the first drops a share of the packets, the second accepts
the others.  So their counters show how many packets were lost and how many arrived.  No node is cut off: TCP
resends lost packets after 0.2 s, and doubles this time with each further attempt, so the link is slow.
"""

from typing import NamedTuple

from harness.cluster.containers import in_parallel
from harness.cluster.rendering import CLIENT_PORT
from harness.faults.activate import carries_out
from harness.faults.chained import Chained
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.cuts import Pair, lossy
from harness.faults.partition import DISCARD_PORT, PROBE_BOUND_S, looked_until, takes_part
from harness.faults.targets import Resolved
from harness.kafka.wire import answers
from harness.vocabulary.faults import LossPattern, PacketLoss

CLIENTS = "clients"
"""Name of the sender for all clients of the client listener."""
BURST = 25
"""Number of probes on a link at a time.  In 93 of 100 cases, at least one is lost at a loss of 10 %, and at
least one arrives at a loss of 90 %.
"""
_QUESTIONS = 4
_ANSWER_S = 0.3


class Counted(NamedTuple):
    """Packets on a link since the fault began."""

    dropped: int
    passed: int


@carries_out(PacketLoss)
class ActivePacketLoss(Chained):
    """Links that lose packets; the nodes at their ends are the targets, and no pair is cut."""

    def __init__(self, spec: PacketLoss, fault: str, resolved: Resolved, bench: Bench) -> None:
        super().__init__(spec, fault, resolved, bench)
        self._probability = f"{spec.percent / 100:.2f}"
        names = tuple(node.name for node in bench.nodes if takes_part(spec, node))
        target = resolved.node.name
        self._links = lossy(spec.pattern, names, target, spec.draw)
        self.nodes = tuple(sorted({receiver for _, receiver in self._links}))
        self.targets = (target, *(name for name in self.nodes if name != target))
        if spec.pattern is LossPattern.CLIENTS:
            self._links, self.nodes = ((CLIENTS, target),), (target,)

    def inject(self) -> None:
        """Put the chain in place at every receiver."""
        in_parallel(self._add_chain, self.nodes)

    def took_effect(self) -> dict[str, object]:
        """Packets that were lost, and packets that arrived, on each link in each direction.

        Raises:
            NotConfirmedError: on a link no packet was lost, or none arrived.
        """
        bound_s = self._bench.bound_s(PROBE_BOUND_S)
        counted = looked_until(self._probe, lambda seen: all(map(all, seen.values())), bound_s)
        packets = {f"{a}->{b}": counted[a, b] for a, b in self._links}
        doubtful = [
            f"{link} ({one.dropped} lost, {one.passed} arrived)"
            for link, one in packets.items()
            if not all(one)
        ]
        if doubtful:
            raise NotConfirmedError(f"not proven: {', '.join(doubtful)}")
        return {
            "dropped": {link: seen.dropped for link, seen in packets.items()},
            "passed": {link: seen.passed for link, seen in packets.items()},
        }

    def _senders(self, receiver: str) -> list[str]:
        """The senders to a node, in the order of its rules."""
        return [sender for sender, other in self._links if other == receiver]

    def _add_chain(self, receiver: str) -> None:
        chance = f"-m statistic --mode random --probability {self._probability}"
        matches = map(self._match, self._senders(receiver))
        pairs = ((f"{match} {chance} -j DROP", f"{match} -j RETURN") for match in matches)
        self.add_chain(receiver, [rule for pair in pairs for rule in pair])

    def _match(self, sender: str) -> str:
        return f"-p tcp --dport {CLIENT_PORT}" if sender == CLIENTS else f"-s {self._bench.addresses[sender]}"

    def _probe(self) -> dict[Pair, Counted]:
        """Send a burst on every link, then read every counter."""
        in_parallel(self._send_probes, sorted({sender for sender, _ in self._links}))
        counted = in_parallel(self._count, self.nodes)
        return {
            (sender, receiver): packets
            for receiver, found in zip(self.nodes, counted, strict=True)
            for sender, packets in zip(self._senders(receiver), found, strict=True)
        }

    def _send_probes(self, sender: str) -> None:
        if sender == CLIENTS:
            (address,) = (self._bench.addresses[receiver] for receiver in self.nodes)
            in_parallel(lambda _: answers(address, CLIENT_PORT, _ANSWER_S), range(_QUESTIONS))
            return
        receivers = [receiver for other, receiver in self._links if other == sender]
        addresses = " ".join(self._bench.addresses[receiver] for receiver in receivers)
        self.enter(
            sender,
            f"for probe in {{1..{BURST}}}; do for address in {addresses}; do"
            f" echo $probe >/dev/udp/$address/{DISCARD_PORT}; done; done",
        )

    def _count(self, receiver: str) -> list[Counted]:
        """The counters of each pair of rules, in their order."""
        packets = [int(line.split()[0]) for line in self.listing(receiver) if line.strip()]
        return [Counted(*pair) for pair in zip(packets[::2], packets[1::2], strict=True)]
