"""An observer: a thread that observes one thing repeatedly and records it."""

import time

import msgspec

from checkers.history.observed import Observation
from harness.record.journal import Journals, Recorder
from harness.workloads.worker import Worker

REPEAT_S = 0.75
"""An unchanged observation is recorded again after this time, so at least once a second."""


class Observer(Worker):
    """Observes at a fixed interval until stopped; subclasses define what is observed.

    Args:
        journals: journals of the run; the observer's journal has its name.
        name: name of the observer, ``observer-…``, and of its process in the history.
        interval_s: time between observations, seconds.
    """

    def __init__(self, journals: Journals, name: str, interval_s: float) -> None:
        super().__init__(name)
        self.clock = journals.clock
        self._interval_s = interval_s
        self._recorder = Recorder(journals.open(name, "observer"), name)
        self._recorded: dict[tuple[str, str | None], tuple[Observation, float]] = {}

    def work(self) -> None:
        """Observe and wait in turn."""
        try:
            next_s = time.monotonic()
            while not self.stopping.wait(max(0.0, next_s - time.monotonic())):
                next_s = max(next_s + self._interval_s, time.monotonic())
                self.look()
        finally:
            self.end()

    def look(self) -> None:
        """Observe once and record the result."""
        raise NotImplementedError

    def end(self) -> None:
        """Release the observer's resources."""

    def record(self, key: str, node: str | None, seen: Observation) -> None:
        """Record an observation, whether or not it has changed.

        Args:
            key: key of the observation.
            node: the node that reported it; None if several nodes did.
            seen: the observation, in the form of the history.
        """
        self._recorded[key, node] = (_at_any_time(seen), time.monotonic())
        self._recorder.observe("observe", key, seen, node)

    def record_changes(
        self, key: str, node: str | None, seen: Observation, repeat_s: float | None = REPEAT_S
    ) -> None:
        """Record an observation if it has changed, or was last recorded `repeat_s` seconds ago."""
        last, at_s = self._recorded.get((key, node), (None, 0.0))
        due = repeat_s is not None and time.monotonic() - at_s >= repeat_s
        if due or _at_any_time(seen) != last:
            self.record(key, node, seen)


def _at_any_time(seen: Observation) -> Observation:
    """The observation without its time."""
    return msgspec.structs.replace(seen, began_ns=0)
