"""Requests for feature levels, what nodes reported, and which level a feature may have had."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkers.evidence.features import FeatureRequest, feature_requests
from checkers.history.observed import FEATURES, FeaturesSeen
from checkers.history.operations import History
from checkers.history.setup import Setup


class Report(NamedTuple):
    """What one node reported.

    Attributes:
        op: index of the observation.
        node: name of the node.
        began_ns: when it was asked.
        time_ns: when it had answered.
        seen: its answer.
    """

    op: int
    node: str
    began_ns: int
    time_ns: int
    seen: FeaturesSeen


class Story(NamedTuple):
    """Everything that the rules need.

    Attributes:
        history: the history.
        setup: its setup.
        requests: all requests, in the order of their invocations.
        reports: all reports, in the order of time.
    """

    history: History
    setup: Setup
    requests: Sequence[FeatureRequest]
    reports: Sequence[Report]

    @property
    def first(self) -> Mapping[str, int]:
        """The levels when the load began."""
        return self.setup.features

    def of(self, feature: str) -> list[FeatureRequest]:
        """Requests that may have changed a feature."""
        return [one for one in self.requests if one.feature == feature and one.changes]

    def levels_before(self, feature: str, from_ns: int, to_ns: int) -> set[int]:
        """Levels that a feature may have had at some time of a span.

        A request whose outcome is unknown may take effect at any later time.
        """
        requests = [one for one in self.of(feature) if one.request.from_ns < to_ns]
        done = [one for one in requests if one.acknowledged and one.request.to_ns <= from_ns]
        since_ns = max((one.request.from_ns for one in done), default=0)
        # What had ended before the last request that is certainly done began was overwritten by it.
        found = {one.level for one in requests if one.request.to_ns >= since_ns}
        return found if done else {self.first.get(feature, 0), *found}


def loaded(history: History, setup: Setup) -> Story:
    """Read a history.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        setup: its setup, which has the levels when the load began.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    reports = (
        Report(operation.index, operation.node or "", seen.began_ns, operation.time_ns, seen)
        for operation, seen in history.seen(FEATURES, FeaturesSeen)
    )
    return Story(
        history,
        setup,
        feature_requests(history),
        list(reports),
    )
