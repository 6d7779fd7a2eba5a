"""The common parts of scripts and gambits in progress: requests and waits."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from msgspec.structs import asdict

from checkers.history.courses import AWAIT, ConditionAwaited, ConditionSeen
from checkers.history.operations import OperationType
from harness.kafka.snapshot import ClusterSnapshot
from harness.nemesis.conditions import ConditionState
from harness.nemesis.nemesis import Nemesis
from harness.nemesis.operator import Operator
from harness.record.journal import Recorder
from harness.record.tally import AcknowledgedCounter


class TakeSnapshot(Protocol):
    """Takes a snapshot of the cluster."""

    def __call__(self, beside: str | None = None) -> ClusterSnapshot:
        """The current state of the cluster; `beside` adds the partitions of another topic."""


class CourseContext(NamedTuple):
    """The objects that moves need.

    Attributes:
        nemesis: injects and heals faults.
        new_operator: makes operators, each a separate process of the history.
        recorder: writes as the process of the course.
        look: takes a snapshot of the cluster.
        tally: counts acknowledged records, removed topics, and deletions of records.
        cancelled: set to end the course early; the nemesis then heals its faults.
    """

    nemesis: Nemesis
    new_operator: Callable[[], Operator]
    recorder: Recorder
    look: TakeSnapshot
    tally: AcknowledgedCounter
    cancelled: threading.Event

    def wait_until(
        self, seen: Callable[[], ConditionState], within_ms: int, pause_s: float
    ) -> ConditionState:
        """Wait until a condition holds; returns the last state, also if the time or the course ends first.

        Args:
            seen: evaluates the condition.
            within_ms: how long to wait.
            pause_s: time between two evaluations.
        """
        deadline = time.monotonic() + within_ms / 1000
        while True:
            now = seen()
            if now.holds or time.monotonic() >= deadline or self.cancelled.wait(pause_s):
                return now

    def await_recorded(
        self, key: str, asked: ConditionAwaited, seen: Callable[[], ConditionState], pause_s: float
    ) -> ConditionState:
        """`wait_until`, as an operation ``await`` of the history."""
        with self.recorder.operation(AWAIT, key, asked) as outcome:
            last = self.wait_until(seen, asked.within_ms, pause_s)
            kind = OperationType.OK if last.holds else OperationType.INFO
            value = ConditionSeen(**asdict(asked), saw=last.saw)
            outcome.end(kind, value, None if last.holds else "it was not reached")
        return last
