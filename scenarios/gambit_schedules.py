"""Random schedules that consist mostly of gambits."""

from collections.abc import Mapping

import msgspec

from harness.vocabulary import RandomSchedule
from scenarios.blinks import NONE_LATE


def mostly_gambits(weights: Mapping[str, int], **more: object) -> RandomSchedule:
    """A minute of gambits without breaks, with a few single faults and preferred elections between them.

    Args:
        weights: how often each kind of gambit is drawn.
        more: other fields of the schedule; they replace the defaults of this function.
    """
    usual = RandomSchedule(
        gambits=dict(weights),
        duration_ms=60_000,
        # At the end of a gambit all replicas are in sync, so little time is needed between two gambits.
        gap_ms=(0, 1_000),
        gambit_share=0.92,
        operations={"elect-preferred": 1},
        changes={"alter": 1},
        blinks=NONE_LATE,
    )
    return msgspec.structs.replace(usual, **more)
