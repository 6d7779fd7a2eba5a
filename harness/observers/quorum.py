"""Each controller's own view of the quorum, requested on its own listener."""

import time

from checkers.history.quorum import QUORUM, LeaderSeen, QuorumSeen
from checkers.history.units import NS_PER_MS
from harness.kafka.answers import QuorumAnswer
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import WireError
from harness.observers.observer import Observer
from harness.observers.view import ClusterView
from harness.record.journal import Journals


class QuorumObserver(Observer):
    """Queries one controller; it returns the state of the quorum only if it considers itself the leader."""

    def __init__(
        self, journals: Journals, node: str, endpoint: Endpoint, view: ClusterView, interval_s: float
    ) -> None:
        super().__init__(journals, f"observer-quorum-{node}", interval_s)
        self._node = node
        self._endpoint = endpoint
        self._view = view

    def look(self) -> None:
        """Send one request; every answer of a leader is recorded, and only the beginning of silence."""
        began_ns = self.clock.now_ns()
        try:
            answer = self._endpoint.quorum()
        except WireError:
            self._view.saw_controller(self._node, None)
            self.record_changes(QUORUM, self._node, QuorumSeen(began_ns, "error"), repeat_s=None)
            return
        if answer.error:
            self._view.saw_controller(self._node, None)
            self.record_changes(QUORUM, self._node, QuorumSeen(began_ns, "not-leader"))
        else:
            self._view.saw_controller(self._node, answer)
            self.record(QUORUM, self._node, _as_leader(began_ns, answer))

    def end(self) -> None:
        """Close the connection."""
        self._endpoint.close()


def _as_leader(began_ns: int, answer: QuorumAnswer) -> LeaderSeen:
    return LeaderSeen(
        began_ns,
        "leader",
        leader_id=answer.leader_id,
        leader_epoch=answer.leader_epoch,
        high_watermark=answer.high_watermark,
        wall_ms=time.time_ns() // NS_PER_MS,
        voters=answer.voters,
        observers=answer.observers,
    )
