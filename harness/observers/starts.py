"""Start offsets of one broker's logs, requested immediately after records were deleted (KIP-107)."""

from queue import Empty, SimpleQueue

from checkers.history.observed import STARTS, StartsSeen
from harness.clients.listing import list_starts
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import WireError
from harness.observers.observer import Observer
from harness.record.journal import Journals
from harness.workloads.deletions import Deleted, DeletionListeners

LISTEN_S = 0.25
"""How long to wait for a deletion before checking whether the observer must stop."""


class StartsObserver(Observer):
    """Queries one broker, in a separate thread, so that no observer waits for a broker that does not answer.

    Followers adopt the start offset of their leader within milliseconds, so the connection is opened early.
    """

    def __init__(
        self, journals: Journals, node: str, endpoint: Endpoint, deletions: DeletionListeners
    ) -> None:
        super().__init__(journals, f"observer-starts-{node}", LISTEN_S)
        self._node = node
        self._endpoint = endpoint
        self._heard: SimpleQueue[Deleted] = deletions.heard()

    def work(self) -> None:
        """Observe as soon as records were deleted, until stopped."""
        try:
            self._ask({})
            while not self.stopping.is_set():
                self.look()
        finally:
            self.end()

    def look(self) -> None:
        """Wait for a deletion, and send one request for all deletions; failed requests are not recorded."""
        try:
            heard = [self._heard.get(timeout=LISTEN_S)]
        except Empty:
            return
        while not self._heard.empty():
            heard.append(self._heard.get())
        self._ask(places_of(heard))

    def _ask(self, places: dict[str, list[int]]) -> None:
        began_ns = self.clock.now_ns()
        try:
            starts = self._endpoint.ask(lambda connection: list_starts(connection, places))
        except WireError:
            return
        if starts:
            seen = StartsSeen(began_ns, {topic: list(rows) for topic, rows in starts.items()})
            self.record(STARTS, self._node, seen)

    def end(self) -> None:
        """Close the connection."""
        self._endpoint.close()


def places_of(heard: list[Deleted]) -> dict[str, list[int]]:
    """Partitions by their topics, each once."""
    places: dict[str, list[int]] = {}
    for topic, partition in dict.fromkeys(heard):
        places.setdefault(topic, []).append(partition)
    return places
