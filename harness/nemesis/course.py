"""What scripts and gambits have in common while they are carried out: requests and waiting."""

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


class Look(Protocol):
    """Takes a snapshot of the cluster."""

    def __call__(self, beside: str | None = None) -> ClusterSnapshot:
        """The cluster as it is now, with the partitions of a topic that is not the workload's."""


class CourseContext(NamedTuple):
    """What moves are made with.

    Attributes:
        nemesis: injects and heals.
        new_operator: makes operators, each a separate process of the history.
        recorder: writes as the process of the course.
        look: takes a snapshot of the cluster.
        tally: counts acknowledged records, topics that were removed, and deletions of records.
        cancelled: set to end the course early; its faults are left to the nemesis.
    """

    nemesis: Nemesis
    new_operator: Callable[[], Operator]
    recorder: Recorder
    look: Look
    tally: AcknowledgedCounter
    cancelled: threading.Event

    def wait_until(
        self, seen: Callable[[], ConditionState], within_ms: int, pause_s: float
    ) -> ConditionState:
        """What is seen once it holds, or at the end of the time or of the course.

        Args:
            seen: whether it holds now.
            within_ms: how long to wait.
            pause_s: between two looks.
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
            told = ConditionSeen(**asdict(asked), saw=last.saw)
            outcome.end(kind, told, None if last.holds else "it was not reached")
        return last
