"""The ongoing reassignments according to the active controller (KIP-455)."""

import time
from collections.abc import Mapping

from checkers.history.observed import REASSIGNMENTS, ReassignmentsSeen
from harness.administration.reassignments import listed
from harness.kafka.answers import Ongoing
from harness.kafka.wire import Connection, WireError
from harness.observers.observer import REPEAT_S, Observer
from harness.observers.view import ClusterView
from harness.record.journal import Journals

NAME = "observer-reassignments"


class ReassignmentObserver(Observer):
    """Queries one broker, which forwards the request to the controller; without an answer, the next one.

    Args:
        journals: journals of the run.
        listeners: node name to its OBSERVE listener, of every broker.
        view: gets all observations.
        interval_s: time between observations, seconds.
        timeout_s: time limit for each request, and for connecting, seconds.
    """

    def __init__(
        self,
        journals: Journals,
        listeners: Mapping[str, tuple[str, int]],
        view: ClusterView,
        interval_s: float,
        timeout_s: float,
    ) -> None:
        super().__init__(journals, NAME, interval_s)
        self._listeners = tuple(listeners.items())
        self._view = view
        self._timeout_s = timeout_s
        self._turn = 0
        self._connection: Connection | None = None
        self._last: tuple[Ongoing, ...] | None = None
        self._last_at_s = 0.0

    def look(self) -> None:
        """Send one request; record changes, and during reassignments at least one answer per second."""
        node, address = self._listeners[self._turn % len(self._listeners)]
        began_ns = self.clock.now_ns()
        try:
            if self._connection is None:
                self._connection = Connection(*address, self._timeout_s)
            ongoing = listed(self._connection, int(self._timeout_s * 1000))
        except WireError:
            self.end()
            self._turn += 1
            return
        self._view.saw_reassignments(ongoing)
        due = bool(ongoing) and time.monotonic() - self._last_at_s >= REPEAT_S
        if ongoing != self._last or due:
            self._last, self._last_at_s = ongoing, time.monotonic()
            rows = [(one.topic, one.partition, one.replicas, one.adding, one.removing) for one in ongoing]
            self.record(REASSIGNMENTS, node, ReassignmentsSeen(began_ns, node=node, ongoing=rows))

    def end(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
