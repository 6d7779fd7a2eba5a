"""Lost answers: a broker's packet filter drops the packets that it sends from its listener for clients.

A client's request arrives and is executed, but the client gets no response.  So it repeats the request, with
another broker if the leader has changed meanwhile.  Replication, controllers and observers use other ports
and are not affected.
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
        """The number of dropped packets; they include the response to a request of the probe."""
        if not within(self._bench.bound_s(_PROBE_BOUND_S), self._silent):
            raise NotConfirmedError(f"{self.targets[0]} still answers its clients")
        return {"dropped": self._dropped()}

    def _silent(self) -> bool:
        return not answers(self._address, CLIENT_PORT, _SILENCE_S) and self._dropped() > 0

    def _dropped(self) -> int:
        return self.packets(self.targets[0], "DROP")
