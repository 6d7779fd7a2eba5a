"""Leaders, in-sync and eligible replicas of the workload's partitions, as each broker sees them."""

from harness.journal import Journals
from harness.observers.observer import Observer
from harness.observers.view import ClusterView
from harness.wire import Endpoint, WireError


class PartitionObserver(Observer):
    """Asks one broker, on the listener that no client cut touches."""

    def __init__(
        self,
        journals: Journals,
        node: str,
        endpoint: Endpoint,
        view: ClusterView,
        topics: tuple[str, ...],
        *,
        interval_s: float,
    ) -> None:
        super().__init__(journals, f"observer-partitions-{node}", interval_s)
        self._node = node
        self._endpoint = endpoint
        self._view = view
        self._topics = topics

    def look(self) -> None:
        """Ask once; a broker that is down has no view, and nothing is recorded of it."""
        began_ns = self.clock.now_ns()
        try:
            answer = self._endpoint.cluster(self._topics, elr=True)
        except WireError:
            return
        known = {name: topic for name, topic in answer.topics.items() if not topic.error}
        self._view.saw_topics(self._node, known)
        topics = {name: topic.partitions for name, topic in known.items()}
        self.tell_news("partitions", self._node, began_ns, {"topics": topics})

    def end(self) -> None:
        """Close the connection."""
        self._endpoint.close()
