"""Delays one connection: requests of a client do not reach the broker until they are released.

The packets from one source port, or from one broker, are dropped at the broker's INPUT.  TCP continues to
resend them, so nothing is lost: within seconds after the rule's removal the request arrives, later than
requests that overtook it.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from checkers.history.faults import FaultProbed, PlannedFault
from checkers.history.operations import OperationType
from harness.faults.chained import CHAIN, chain_of, remove_chain
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.cuts import Pair
from harness.record.journal import Recorder
from harness.record.ledger import FaultPlanned, FaultUndone, Ledger, Undo

_KIND = "hold"
_PROBE_BOUND_S = 5.0
_PROBE_PAUSE_S = 0.05


class _Dropped(NamedTuple):
    """The packets that a rule drops, as arguments of iptables, and the pairs of nodes that it cuts."""

    match: str
    cut: tuple[Pair, ...] = ()


class ConnectionHolds:
    """Delays connections of the run's clients; each delay is recorded as a fault of kind ``hold``.

    Args:
        bench: the cluster whose brokers are affected.
        ledger: gets every fault before it begins.
        recorder: writes as a separate nemesis.
    """

    def __init__(self, bench: Bench, ledger: Ledger, recorder: Recorder) -> None:
        self._bench = bench
        self._ledger = ledger
        self._recorder = recorder

    def host_of(self, broker: int) -> str:
        """Address of a broker, by its node id."""
        return self._bench.addresses[next(node.name for node in self._bench.nodes if node.id == broker)]

    def hold(
        self, fault: str, broker: int, source_port: int, send: Callable[[], None]
    ) -> AbstractContextManager[None]:
        """Delay a connection until the end of the block.

        Args:
            fault: id of the fault in the history.
            broker: node id of the broker at the other end.
            source_port: the client's port.
            send: sends the request to delay, and waits for no answer; called once the rule is in force.

        Raises:
            NotConfirmedError: no packet matched the rule; it is removed again.
        """
        plan = PlannedFault(_KIND, {"kind": _KIND, "source_port": source_port})
        return self._held(fault, broker, plan, _Dropped(f"--sport {source_port}"), send)

    def hold_broker(
        self, fault: str, broker: int, sender: int, send: Callable[[], None]
    ) -> AbstractContextManager[None]:
        """Delay everything that one broker sends to another one, until the end of the block.

        Packets in the other direction arrive, also those of a request on a connection that exists; its
        answer does not.

        Args:
            fault: id of the fault in the history.
            broker: node id of the broker that gets nothing.
            sender: node id of the broker whose packets are dropped.
            send: as for `hold`.

        Raises:
            NotConfirmedError: no packet matched the rule; it is removed again.
        """
        plan = PlannedFault(_KIND, {"kind": _KIND, "sender": sender})
        names = {node.id: node.name for node in self._bench.nodes}
        cut = ((names[sender], names[broker]),)
        return self._held(fault, broker, plan, _Dropped(f"-s {self.host_of(sender)}", cut), send)

    @contextmanager
    def _held(
        self,
        fault: str,
        broker: int,
        plan: PlannedFault,
        dropped_by: _Dropped,
        send: Callable[[], None],
    ) -> Iterator[None]:
        cut = dropped_by.cut
        node = next(node.name for node in self._bench.nodes if node.id == broker)
        chain = chain_of(fault)
        try:
            with self._recorder.operation("inject", fault, plan) as outcome:
                undo = (Undo(action="remove-chain", node=node, chain=chain),)
                self._ledger.write(FaultPlanned(fault=fault, undo=undo))
                self._add(node, chain, dropped_by.match)
                send()
                probe = {"dropped": self._await_drop(node, chain)}
                outcome.ok(FaultProbed(plan.kind, plan.spec, targets=(node,), cut=cut, probe=probe))
            yield
        finally:
            with self._recorder.operation("heal", fault, plan) as outcome:
                dropped = self._dropped(node, chain)
                remove_chain(self._bench, node, chain)
                self._ledger.write(FaultUndone(fault=fault))
                left = self._dropped(node, chain)
                kind = OperationType.OK if left is None else OperationType.INFO
                probe = {"dropped": dropped or 0, "rules_left": int(left is not None)}
                outcome.end(kind, FaultProbed(plan.kind, plan.spec, targets=(node,), cut=cut, probe=probe))

    def _add(self, node: str, chain: str, match: str) -> None:
        rules = (
            f"-N {chain}",
            f"-A {chain} -p tcp {match} -j DROP",
            f"-I {CHAIN} 1 -j {chain}",
        )
        self._bench.containers[node].enter_holder(" && ".join(f"iptables -w {rule}" for rule in rules))

    def _await_drop(self, node: str, chain: str) -> int:
        deadline = time.monotonic() + _PROBE_BOUND_S
        while True:
            dropped = self._dropped(node, chain)
            if dropped:
                return dropped
            if time.monotonic() > deadline:
                raise NotConfirmedError(f"no packet matched the rule of {chain} in {_PROBE_BOUND_S:.0f} s")
            time.sleep(_PROBE_PAUSE_S)

    def _dropped(self, node: str, chain: str) -> int | None:
        """Number of packets that matched the rule; None if there is no such chain."""
        listing = self._bench.containers[node].enter_holder(
            f"iptables -w -L {chain} -v -n -x 2>/dev/null || true"
        )
        found = re.search(r"^\s*(\d+)\s+\d+\s+DROP", listing, re.MULTILINE)
        return int(found[1]) if found else None
