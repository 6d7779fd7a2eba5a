"""Lost answers: a broker's packet filter drops what it sends from its listener for clients.

A client's request arrives and is carried out, and the client learns nothing of it: it asks again, elsewhere
if the leader has moved meanwhile.  Replication, controllers and observers have other ports and continue.
"""

from harness.cluster.rendering import CLIENT_PORT
from harness.faults.activate import carries_out
from harness.faults.chained import Chained
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.process import within
from harness.faults.targets import Resolved
from harness.kafka.wire import answers
from harness.vocabulary.faults import LostAnswers

_PROBE_BOUND_S = 5.0
_SILENCE_S = 0.1


@carries_out(LostAnswers)
class ActiveLostAnswers(Chained):
    """A broker whose answers do not reach its clients."""

    def __init__(self, spec: LostAnswers, fault: str, resolved: Resolved, bench: Bench) -> None:
        super().__init__(spec, fault, resolved, bench)
        self._address = bench.addresses[self.targets[0]]

    def inject(self) -> None:
        """Put the chain in place."""
        self.add_chain(self.targets[0], [f"-p tcp --sport {CLIENT_PORT} -j DROP"], hook="OUTPUT")

    def took_effect(self) -> dict[str, object]:
        """How many packets of answers were dropped, one to a question of ours among them."""
        if not within(self._bench.bound_s(_PROBE_BOUND_S), self._silent):
            raise NotConfirmedError(f"{self.targets[0]} still answers its clients")
        return {"dropped": self._dropped()}

    def _silent(self) -> bool:
        return not answers(self._address, CLIENT_PORT, _SILENCE_S) and self._dropped() > 0

    def _dropped(self) -> int:
        return self.packets(self.targets[0], "DROP")
