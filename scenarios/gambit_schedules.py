"""Drawn schedules that are mostly gambits."""

from collections.abc import Mapping
from typing import Any

from harness.vocabulary import RandomSchedule
from scenarios.blinks import NONE_LATE


def mostly_gambits(weights: Mapping[str, int], **more: Any) -> RandomSchedule:
    """A minute of gambits one right after the other, and now and then a single fault or a preferred election.

    Args:
        weights: how often each kind of gambit is drawn.
        more: whatever else the schedule has, or has in the place of that.
    """
    usual: dict[str, Any] = {
        "duration_ms": 60_000,
        # What a gambit ends with is a cluster that is in sync, so little time is needed between two.
        "gap_ms": (0, 1_000),
        "gambit_share": 0.92,
        "operations": {"elect-preferred": 1},
        "changes": {"alter": 1},
        "blinks": NONE_LATE,
    }
    return RandomSchedule(gambits=dict(weights), **usual | more)
