"""Held requests: clients' requests on half of their connections to a broker are delayed.

The packet filter of the broker drops packets on those connections.  TCP continues to resend them, even after
the client has given up and closed its end.  Nothing is lost, and all data arrives within seconds after the
heal, later than data on other connections.  New connections are not affected: a client that retries, or the
successor of a transactional producer, overtakes earlier requests.

Held reports: the same for a broker's packets to controllers, in its own packet filter and on all connections.
Data that its process had sent is kept after the process ends: the kernel continues to resend it, in the
holder's network.
"""

import random
import re

from harness.cluster.rendering import CLIENT_PORT, CONTROLLER_PORT
from harness.faults.activate import carries_out
from harness.faults.chained import CHAIN, Chained
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.process import within
from harness.faults.targets import Resolved
from harness.vocabulary.faults import HeldReports, HeldRequests

_PROBE_BOUND_S = 5.0
_ESTABLISHED = "01"
_CONNECTION = re.compile(rf":{CLIENT_PORT:04X} [0-9A-F]+:([0-9A-F]{{4}}) {_ESTABLISHED}\b")
_REPORTING = re.compile(rf":([0-9A-F]{{4}}) [0-9A-F]+:{CONTROLLER_PORT:04X} {_ESTABLISHED}\b")


@carries_out(HeldRequests)
class ActiveHeldRequests(Chained):
    """A broker that does not receive data on some connections."""

    _port = CLIENT_PORT
    _hook = CHAIN

    def __init__(
        self, spec: HeldRequests | HeldReports, fault: str, resolved: Resolved, bench: Bench
    ) -> None:
        super().__init__(spec, fault, resolved, bench)
        self._draw = spec.draw
        self._ports: tuple[int, ...] = ()

    def inject(self) -> None:
        """Choose among the open connections, and put the chain in place."""
        (broker,) = self.targets
        self._ports = self._chosen(self.enter(broker, "cat /proc/net/tcp /proc/net/tcp6"))
        rules = [f"-p tcp --sport {port} --dport {self._port} -j DROP" for port in self._ports]
        self.add_chain(broker, rules, hook=self._hook)

    def took_effect(self) -> dict[str, object]:
        """The number of affected connections, and of packets that were dropped on them so far."""
        if not within(self._bench.bound_s(_PROBE_BOUND_S), lambda: self._dropped() > 0):
            raise NotConfirmedError(f"no packet arrived on the {len(self._ports)} connections that are held")
        return {"held": len(self._ports), "dropped": self._dropped()}

    def _chosen(self, table: str) -> tuple[int, ...]:
        return half_of(table, self._draw)

    def _dropped(self) -> int:
        return self.packets(self.targets[0], "DROP")


@carries_out(HeldReports)
class ActiveHeldReports(ActiveHeldRequests):
    """A broker from which controllers receive no data on its existing connections."""

    _port = CONTROLLER_PORT
    _hook = "OUTPUT"

    def _chosen(self, table: str) -> tuple[int, ...]:
        return tuple(sorted({int(port, 16) for port in _REPORTING.findall(table)}))


def half_of(table: str, draw: int) -> tuple[int, ...]:
    """The clients' ports of half of the connections, at least one, chosen by a draw.

    Args:
        table: ``/proc/net/tcp`` and ``tcp6`` of the broker.
        draw: decides which connections.
    """
    ports = sorted({int(port, 16) for port in _CONNECTION.findall(table)})
    return tuple(sorted(random.Random(draw).sample(ports, (len(ports) + 1) // 2)))
