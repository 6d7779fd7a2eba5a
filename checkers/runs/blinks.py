"""Blinks: whether enough of the short faults of a run were confirmed.

A blink is refused if a fault of the schedule holds its target.  It ends early if such a fault begins there,
and is given up if it is not confirmed at once.  So no single blink is required: a run fails this assumption
only if hardly any blink was confirmed.  No time in force and no traffic during a blink is required.  Traffic
before the first blink and after the last is required, as for any fault.
"""

from collections import Counter
from collections.abc import Sequence

from checkers.evidence.faults import FaultWindow
from checkers.history.faults import recorded_fault
from checkers.history.operations import FAIL, History
from checkers.history.setup import Setup
from checkers.verdict.verdict import Assumption

_SHARE_MIN = 1 / 4
"""Required share of the planned blinks.

Other faults may hold half of the nodes, and a busy host delays blinks.
"""


def check_blinks(history: History, setup: Setup, windows: Sequence[FaultWindow]) -> list[Assumption]:
    """The assumptions about a run's blinks; none if no blink was planned.

    Args:
        history: the history of the run.
        setup: the setup of the run.
        windows: the windows of its faults.
    """
    if not setup.planned_blinks:
        return []
    proven = _proven(windows)
    least = max(1, round(setup.planned_blinks * _SHARE_MIN))
    failed = (recorded_fault(operation) for operation in history.of("inject") if operation.type is FAIL)
    refused = Counter(str(each.refused) for each in failed if each is not None and each.blink)
    refusals = "".join(f"; {number} refused: {why}" for why, number in sorted(refused.items()))
    return [
        Assumption(
            "blinks-proven",
            proven >= least,
            f"at least {least} of {setup.planned_blinks} blinks proven",
            f"{proven} proven{refusals}",
        )
    ]


def blink_figures(setup: Setup | None, windows: Sequence[FaultWindow]) -> dict[str, int]:
    """Number of confirmed blinks; empty if no blink was planned."""
    return {} if setup is None or not setup.planned_blinks else {"blinks": _proven(windows)}


def _proven(windows: Sequence[FaultWindow]) -> int:
    return sum(window.proven and window.blink for window in windows)
