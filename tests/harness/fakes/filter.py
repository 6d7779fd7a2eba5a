"""The packet filter of one node, for faults that add one chain of rules to it."""

from typing import Any

from checkers.history.faults import ResolvedBy
from harness.faults.activate import activate
from harness.faults.contract import ActiveFault, Bench
from harness.faults.targets import Resolved
from harness.vocabulary import Fault, Topology

NODES = Topology().nodes()
FAULT = "g1f1"
CHAIN = f"KRUCIBLE-{FAULT}"


class Filter:
    """A packet filter that knows one chain.

    Attributes:
        packets: how many packets each rule of the chain met.
        action: what these rules do.
        files: what ``cat`` prints.
        said: the commands, in order.
        there: whether the chain exists.
        stuck: whether the chain stays when it is removed.
    """

    def __init__(self, *packets: int, action: str = "DROP", files: str = "") -> None:
        self.packets = packets
        self.action = action
        self.files = files
        self.said: list[str] = []
        self.there = False
        self.stuck = False

    def enter_holder(self, command: str) -> str:
        self.said.append(command)
        if command.startswith("cat "):
            return self.files
        if f"-N {CHAIN}" in command:
            self.there = True
        if f"-X {CHAIN}" in command:
            self.there = self.stuck
        if command.endswith("-S"):
            return "-N KRUCIBLE\n" + (f"-N {CHAIN}\n" if self.there else "")
        rows = (f"   {packets} 420 {self.action} tcp -- * * 0.0.0.0/0\n" for packets in self.packets)
        return f"Chain {CHAIN}\nhead\n{''.join(rows)}"


def at_second(spec: Fault, found: Filter) -> ActiveFault:
    """A fault of the second of three nodes, which has this packet filter; its probes look once."""
    containers: Any = {"n2": found}
    bench = Bench(NODES, containers, {"n2": "10.0.0.2"}, {}, proven_within_s=0.0)
    return activate(spec, FAULT, Resolved(NODES[1], ResolvedBy.ROLE), bench)
