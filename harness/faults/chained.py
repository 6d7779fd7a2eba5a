"""Faults of the packet filter: each adds one chain to each node that it affects."""

import hashlib
import re
from collections.abc import Iterable

from harness.cluster.containers import in_parallel
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.cuts import Pair
from harness.faults.targets import Resolved
from harness.record.ledger import Undo

CHAIN = "KRUCIBLE"
"""Name of krucible's chain in every node's packet filter, and prefix of the names of faults' chains."""

LONGEST_NAME = 28
"""Characters of the longest name of a chain that iptables accepts."""


def chain_of(fault: str) -> str:
    """Name of a fault's chain.

    A name that iptables would refuse is shortened, and gets a digest so that it stays distinct.
    """
    name = f"{CHAIN}-{fault}"
    if len(name) <= LONGEST_NAME and re.fullmatch(r"[\w-]+", name, re.ASCII):
        return name
    digest = hashlib.sha256(fault.encode()).hexdigest()[:8]
    kept = re.sub(r"[^\w-]", "-", name, flags=re.ASCII)[: LONGEST_NAME - len(digest) - 1]
    return f"{kept}-{digest}"


class Chained:
    """A fault that ends when its chains are removed.

    Attributes:
        chain: name of the chain, the same on each node.
        targets: names of the nodes that the fault affects.
        cut: directed pairs that it cuts.
        nodes: names of the nodes that have the chain; subclasses override it if these are not the target.
    """

    cut: tuple[Pair, ...] = ()

    def __init__(self, _: object, fault: str, resolved: Resolved, bench: Bench) -> None:
        self._bench = bench
        self.chain = chain_of(fault)
        self.targets: tuple[str, ...] = (resolved.node.name,)
        self.nodes: tuple[str, ...] = self.targets

    @property
    def undo(self) -> tuple[Undo, ...]:
        """Remove the chain from every node that has it."""
        return tuple(Undo(action="remove-chain", node=node, chain=self.chain) for node in self.nodes)

    def heal(self) -> None:
        """Remove the fault's chain from every node."""
        in_parallel(lambda node: remove_chain(self._bench, node, self.chain), self.nodes)

    def healed(self) -> dict[str, object]:
        """Check that no rule of this fault is left."""
        return confirm_removed(self._bench, self.nodes, self.chain)

    def add_chain(self, node: str, rules: Iterable[str], hook: str = CHAIN) -> None:
        """Add the chain, so that it is called before all others.

        Args:
            node: name of the node.
            rules: rules of the chain, in ``iptables`` syntax.
            hook: the chain that calls it.
        """
        added = (f"-A {self.chain} {rule}" for rule in rules)
        changes = (f"-N {self.chain}", *added, f"-I {hook} 1 -j {self.chain}")
        self.enter(node, " && ".join(f"iptables -w {change}" for change in changes))

    def listing(self, node: str) -> list[str]:
        """The fault's rules on a node with their counters, one line each."""
        return self.enter(node, f"iptables -w -L {self.chain} -v -n -x").splitlines()[2:]

    def packets(self, node: str, action: str) -> int:
        """The number of packets on a node that matched rules of the fault with this action."""
        found = (re.match(rf"\s*(\d+)\s+\d+\s+{action}", line) for line in self.listing(node))
        return sum(int(match[1]) for match in found if match)

    def enter(self, node: str, command: str) -> str:
        """The output of a command in the network of a node."""
        return self._bench.containers[node].enter_holder(command)


def remove_chain(bench: Bench, node: str, chain: str) -> None:
    """Remove one chain from one node, and change no other; a missing chain is no error."""
    bench.containers[node].enter_holder(
        f"if iptables -w -n -L {chain} >/dev/null 2>&1; then "
        f"iptables -w -D {CHAIN} -j {chain} 2>/dev/null; iptables -w -D OUTPUT -j {chain} 2>/dev/null; "
        f"iptables -w -F {chain} && iptables -w -X {chain}; fi"
    )


def confirm_removed(bench: Bench, nodes: Iterable[str], chain: str) -> dict[str, object]:
    """Evidence of a heal: no rule of a chain is left on these nodes.

    Raises:
        NotConfirmedError: some rules are left.
    """
    left = {node: _rules_left(bench, node, chain) for node in nodes}
    if any(left.values()):
        raise NotConfirmedError(f"rules are left: {left}")
    return {"rules_left": 0}


def _rules_left(bench: Bench, node: str, chain: str) -> int:
    listing = bench.containers[node].enter_holder("iptables -w -S")
    return sum(1 for line in listing.splitlines() if chain in line.split())
