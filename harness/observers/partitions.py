"""Leaders, in-sync and eligible replicas of the workload's partitions, as each broker reports them.

From time to time the broker also gets a request, as a consumer sends it to a leader, for every partition of
which it has a replica.  Its metadata cache and its replica manager may differ, and only the replica manager
serves clients.
"""

import time
from collections.abc import Mapping

from checkers.history.observed import LEADING, PARTITIONS, LeadingSeen, PartitionsSeen
from harness.clients.listing import list_ends_as_consumer
from harness.kafka.answers import TopicAnswer
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import WireError
from harness.observers.observer import Observer
from harness.observers.view import ClusterView
from harness.record.journal import Journals
from harness.vocabulary import Node

LEADING_INTERVAL_S = 1.0
"""Time between two requests that show whether a broker considers itself the leader."""


class PartitionObserver(Observer):
    """Queries one broker, on the listener that faults of clients' connections do not affect."""

    def __init__(
        self,
        journals: Journals,
        node: Node,
        endpoint: Endpoint,
        view: ClusterView,
        topics: tuple[str, ...],
        *,
        interval_s: float,
    ) -> None:
        super().__init__(journals, f"observer-partitions-{node.name}", interval_s)
        self._node = node.name
        self._id = node.id
        self._endpoint = endpoint
        self._view = view
        self._topics = topics
        self._next_s = time.monotonic()

    def look(self) -> None:
        """Send one request; nothing is recorded for a broker that is down."""
        began_ns = self.clock.now_ns()
        try:
            answer = self._endpoint.cluster(self._topics, elr=True)
        except WireError:
            return
        known = {name: topic for name, topic in answer.topics.items() if not topic.error}
        self._view.saw_topics(self._node, known)
        topics = {name: topic.partitions for name, topic in known.items()}
        self.record_changes(PARTITIONS, self._node, PartitionsSeen(began_ns, topics))
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + LEADING_INTERVAL_S
            self._ask_as_consumer(began_ns, known)

    def _ask_as_consumer(self, began_ns: int, known: Mapping[str, TopicAnswer]) -> None:
        """Send a consumer's request for all partitions of which the broker has just reported a replica."""
        held = {
            name: {state.partition: state for state in topic.partitions if self._id in state.replicas}
            for name, topic in known.items()
        }
        places = {name: states for name, states in held.items() if states}
        asked_ns = self.clock.now_ns()
        if not places:
            return
        try:
            reported = self._endpoint.ask(lambda connection: list_ends_as_consumer(connection, places))
        except WireError:
            return
        topics = {
            name: [
                (
                    one.partition,
                    held[name][one.partition].leader,
                    held[name][one.partition].leader_epoch,
                    one.error,
                )
                for one in answers
            ]
            for name, answers in reported.items()
        }
        self.record(LEADING, self._node, LeadingSeen(began_ns, asked_ns, topics))

    def end(self) -> None:
        """Close the connection."""
        self._endpoint.close()
