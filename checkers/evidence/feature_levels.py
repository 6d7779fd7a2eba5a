"""Finalized feature levels (KIP-584) during a run: those of its beginning, and those that it raised."""

import msgspec

from checkers.evidence.administration import requests_of
from checkers.evidence.faults import FOREVER_NS
from checkers.history.operations import History
from checkers.history.requested import FeatureRequested
from checkers.history.setup import recorded_setup

TRANSACTION_VERSION = "transaction.version"


def possible_since_ns(history: History, feature: str, level: int) -> int:
    """The time since which a feature may have had at least some level; `FOREVER_NS` if it never had.

    This is 0 if it had the level when the load began.  Otherwise it is the time of the first request for that
    level or a higher one that was not refused: brokers learn of the new level before the request is answered.
    Levels are only raised, so the setup has the lowest level of the whole run.

    Args:
        history: the history.
        feature: name of the feature.
        level: a level above 0.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    if recorded_setup(history).features.get(feature, 0) >= level:
        return 0
    return min(
        (
            request.from_ns
            for request in requests_of(history, "update-feature")
            if request.began.key == feature
            and not request.failed
            and msgspec.convert(request.began.value, FeatureRequested).level >= level
        ),
        default=FOREVER_NS,
    )
