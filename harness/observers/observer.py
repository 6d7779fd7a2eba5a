"""An observer: a thread that looks at one thing again and again and records what it sees."""

import time

import msgspec

from checkers.history.observed import Observation
from harness.record.journal import Journals, Recorder
from harness.workloads.worker import Worker

REPEAT_S = 0.75
"""What has not changed is recorded again by the next look after so long: at least once a second."""


class Observer(Worker):
    """Observes at a fixed interval until stopped; subclasses define what.

    Args:
        journals: where to write; the journal has the observer's name.
        name: name of the observer, ``observer-…``, its process in the history.
        interval_s: between looks.
    """

    def __init__(self, journals: Journals, name: str, interval_s: float) -> None:
        super().__init__(name)
        self.clock = journals.clock
        self._interval_s = interval_s
        self._recorder = Recorder(journals.open(name, "observer"), name)
        self._told: dict[tuple[str, str | None], tuple[Observation, float]] = {}

    def work(self) -> None:
        """Look, wait, look."""
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
        """Let go of what the observer holds."""

    def record(self, key: str, node: str | None, seen: Observation) -> None:
        """Record what was seen, whether or not it has changed.

        Args:
            key: of the observation.
            node: which node reported it; None where several did.
            seen: as readers of the history know it.
        """
        self._told[key, node] = (_at_any_time(seen), time.monotonic())
        self._recorder.observe("observe", key, seen, node)

    def record_changes(
        self, key: str, node: str | None, seen: Observation, repeat_s: float | None = REPEAT_S
    ) -> None:
        """Record an observation if it has changed, or was last recorded `repeat_s` seconds ago."""
        last, at_s = self._told.get((key, node), (None, 0.0))
        due = repeat_s is not None and time.monotonic() - at_s >= repeat_s
        if due or _at_any_time(seen) != last:
            self.record(key, node, seen)


def _at_any_time(seen: Observation) -> Observation:
    """What was seen, whenever that was."""
    return msgspec.structs.replace(seen, began_ns=0)
