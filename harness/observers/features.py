"""The feature levels that one node reports, with the epoch of its report (KIP-584)."""

from checkers.history.observed import FEATURES, FeaturesSeen
from harness.kafka.endpoint import Endpoint
from harness.kafka.features import node_features
from harness.kafka.wire import WireError
from harness.observers.observer import Observer
from harness.record.journal import Journals


class FeaturesObserver(Observer):
    """Asks one node for its features; a node that does not answer is not recorded.

    Args:
        journals: journals of the run.
        node: name of the node.
        endpoint: a listener of the node, of either role.
        interval_s: time between observations, seconds.
    """

    def __init__(self, journals: Journals, node: str, endpoint: Endpoint, interval_s: float) -> None:
        super().__init__(journals, f"observer-features-{node}", interval_s)
        self._node = node
        self._endpoint = endpoint

    def look(self) -> None:
        """Send one request, and record the answer."""
        began_ns = self.clock.now_ns()
        try:
            found = self._endpoint.ask(node_features)
        except WireError:
            return
        seen = FeaturesSeen(
            began_ns=began_ns, epoch=found.epoch, levels=found.levels, supported=found.supported
        )
        self.record_changes(FEATURES, self._node, seen)

    def end(self) -> None:
        """Close the connection."""
        self._endpoint.close()
