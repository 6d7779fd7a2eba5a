"""Lost answers: the packet filter of a broker drops what it sends from its clients' listener.

A client's request arrives and is carried out, and the client learns nothing of it: it asks again, elsewhere
if the leader has moved meanwhile.  Replication, controllers and observers have other ports and go on.
"""

import re
from typing import Any

from harness.cluster.rendering import CLIENT_PORT
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.cuts import Pair
from harness.faults.partition import CHAIN, remove_chain
from harness.faults.process import within
from harness.faults.targets import Resolved
from harness.kafka.wire import answers
from harness.record.ledger import Undo
from harness.vocabulary.faults import LostAnswers

_PROBE_BOUND_S = 5.0
_SILENCE_S = 0.1


class ActiveLostAnswers:
    """A broker whose clients hear nothing of it."""

    cut: tuple[Pair, ...] = ()

    def __init__(self, _: LostAnswers, fault: str, resolved: Resolved, bench: Bench) -> None:
        self._bench = bench
        self._chain = f"{CHAIN}-{fault}"
        self._address = bench.addresses[resolved.node.name]
        self.targets = (resolved.node.name,)

    @property
    def undo(self) -> tuple[Undo, ...]:
        """Remove the chain."""
        return (Undo(action="remove-chain", node=self.targets[0], chain=self._chain),)

    def inject(self) -> None:
        """Put it in place."""
        rules = (
            f"-N {self._chain}",
            f"-A {self._chain} -p tcp --sport {CLIENT_PORT} -j DROP",
            f"-I OUTPUT 1 -j {self._chain}",
        )
        self._enter(" && ".join(f"iptables -w {rule}" for rule in rules))

    def took_effect(self) -> dict[str, Any]:
        """How many packets of answers were dropped, one to a question of ours among them."""
        if not within(self._bench.bound_s(_PROBE_BOUND_S), self._silent):
            raise NotConfirmedError(f"{self.targets[0]} still answers its clients")
        return {"dropped": self._dropped()}

    def heal(self) -> None:
        """Remove the chain."""
        remove_chain(self._bench, self.targets[0], self._chain)

    def healed(self) -> dict[str, Any]:
        """No rule of ours is left."""
        if re.search(rf"{re.escape(self._chain)}\b", self._enter("iptables -w -S")):
            raise NotConfirmedError(f"{self.targets[0]} still has {self._chain}")
        return {"rules_left": 0}

    def _silent(self) -> bool:
        return not answers(self._address, CLIENT_PORT, _SILENCE_S) and self._dropped() > 0

    def _dropped(self) -> int:
        listing = self._enter(f"iptables -w -L {self._chain} -v -n -x")
        found = re.search(r"^\s*(\d+)\s+\d+\s+DROP", listing, re.MULTILINE)
        return int(found[1]) if found else 0

    def _enter(self, command: str) -> str:
        return self._bench.containers[self.targets[0]].enter_holder(command)
