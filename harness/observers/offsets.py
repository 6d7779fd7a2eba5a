"""Start and end offsets of partitions according to leaders; brokers and requests are drawn at random."""

import random
import time
from collections import deque
from collections.abc import Mapping

from checkers.history.observed import OFFSETS, ListedOffset, OffsetsRequested, OffsetsSeen
from checkers.history.units import NS_PER_MS
from harness.clients.listing import Epochs, list_offsets
from harness.kafka.wire import Connection, WireError
from harness.observers.observer import Observer
from harness.observers.view import ClusterView
from harness.record.journal import Journals

NAME = "observer-offsets"
_WEIGHTS = {
    OffsetsRequested.LATEST: 3,
    OffsetsRequested.STABLE: 3,
    OffsetsRequested.EARLIEST: 2,
    OffsetsRequested.NEWEST: 1,
    OffsetsRequested.SINCE: 4,
}
_AGO_MS = 15_000
"""Maximum age of a requested timestamp that is drawn at random."""
_EXACT_SHARE = 0.6
"""Share of timestamps that are a returned record's, or at most 1 ms away."""
_OFF_MS = (-1, 0, 0, 1)
_REMEMBERED = 64


class OffsetsObserver(Observer):
    """Queries one broker after the other for the partitions that it leads according to its last answer.

    Args:
        journals: journals of the run.
        listeners: broker name to its id and its OBSERVE listener.
        view: the latest reports of brokers.
        interval_s: time between observations, seconds.
        timeout_s: time limit for each request, and for connecting, seconds.
    """

    def __init__(
        self,
        journals: Journals,
        listeners: Mapping[str, tuple[int, tuple[str, int]]],
        view: ClusterView,
        interval_s: float,
        timeout_s: float,
    ) -> None:
        super().__init__(journals, NAME, interval_s)
        self._listeners = dict(listeners)
        self._view = view
        self._timeout_s = timeout_s
        self._random = random.Random(NAME)
        self._connections: dict[str, Connection] = {}
        self._stamps_ms: deque[int] = deque(maxlen=_REMEMBERED)

    def look(self) -> None:
        """Send one request to one broker; a broker that does not answer or leads nothing is not recorded."""
        node = self._random.choice(sorted(self._listeners))
        (what,) = self._random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        epochs = self._led_by(node)
        if not epochs:
            return
        began_ns, wall_ms = self.clock.now_ns(), time.time_ns() // NS_PER_MS
        since_ms = self._since_ms(wall_ms) if what is OffsetsRequested.SINCE else None
        try:
            answers = list_offsets(self._connected(node), what, epochs, since_ms)
        except WireError:
            self._close(node)
            return
        self.record(OFFSETS, node, OffsetsSeen(began_ns, what, since_ms, wall_ms, answers))
        if what is OffsetsRequested.SINCE:
            self._remember([listed for some in answers.values() for listed in some])

    def end(self) -> None:
        """Close the connections."""
        for node in list(self._connections):
            self._close(node)

    def _since_ms(self, wall_ms: int) -> int:
        """A timestamp to request, often that of a record that was returned before."""
        if self._stamps_ms and self._random.random() < _EXACT_SHARE:
            return self._random.choice(self._stamps_ms) + self._random.choice(_OFF_MS)
        return wall_ms - self._random.randrange(_AGO_MS)

    def _remember(self, answers: list[ListedOffset]) -> None:
        """Remember the timestamp of one returned record, so that those of all partitions have a turn."""
        found = [answer.timestamp_ms for answer in answers if answer.timestamp_ms > 0]
        if found:
            self._stamps_ms.append(self._random.choice(found))

    def _led_by(self, node: str) -> Epochs:
        """Partitions that a broker reported that it leads, with their leader epochs."""
        number, _ = self._listeners[node]
        led = {
            name: {
                state.partition: state.leader_epoch for state in topic.partitions if state.leader == number
            }
            for name, topic in self._view.reported_by(node).items()
        }
        return {name: some for name, some in led.items() if some}

    def _connected(self, node: str) -> Connection:
        if node not in self._connections:
            _, address = self._listeners[node]
            self._connections[node] = Connection(*address, self._timeout_s)
        return self._connections[node]

    def _close(self, node: str) -> None:
        connection = self._connections.pop(node, None)
        if connection is not None:
            connection.close()
