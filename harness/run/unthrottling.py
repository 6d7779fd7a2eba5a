"""Removes throttles before the recovery, which they would slow down; what is left is removed after it.

Retention ends then too (`harness.run.retention`).
"""

import threading
import time

from checkers.history.phases import Phase
from harness.kafka.wire import WireError
from harness.run.execution import Execution
from harness.run.stage import Stage, all_brokers_ended

_THROTTLES_BOUND_S = 15.0
"""How long the removal of throttles is repeated before recovery is awaited."""
_THROTTLES_PAUSE_S = 0.5
"""Time between two attempts to remove them."""


def await_throttles_removed(stage: Stage, execution: Execution, cancelled: threading.Event) -> None:
    """Remove throttles, which would slow recovery down; throttles that remain are reported.

    The attempt is repeated, because brokers that have just started may not answer yet.
    """
    deadline = time.monotonic() + _THROTTLES_BOUND_S
    while reason := _try_to_remove_throttles(execution):
        if all_brokers_ended(stage) or time.monotonic() > deadline or cancelled.wait(_THROTTLES_PAUSE_S):
            stage.report(Phase.HEAL, reason)
            return


def end_throttles_and_retention(stage: Stage, execution: Execution) -> None:
    """Remove throttles that remain, and end retention; what could not be done is reported."""
    if reason := _try_to_remove_throttles(execution):
        stage.report(Phase.RECOVER, reason)
    for complaint in execution.end_retention():
        stage.report(Phase.RECOVER, complaint)


def _try_to_remove_throttles(execution: Execution) -> str | None:
    """Remove throttles; returns the reason why some remain, or None."""
    try:
        execution.remove_throttles()
    except WireError as error:
        return f"throttles of reassignments or configs of brokers are left: {error}"
    return None
