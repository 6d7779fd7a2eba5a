"""Requests for finalized feature levels, and the levels that a feature may have had in a run (KIP-584)."""

from typing import NamedTuple

import msgspec
from msgspec import UNSET

from checkers.evidence.administration import AdminOperation, requests_of
from checkers.history.operations import OK, History, once
from checkers.history.requested import FeatureRequested, UpgradeType
from checkers.history.setup import recorded_setup

ELR_VERSION = "eligible.leader.replicas.version"
KRAFT_VERSION = "kraft.version"
METADATA_VERSION = "metadata.version"
TRANSACTION_VERSION = "transaction.version"


class FeatureRequest(NamedTuple):
    """One request.

    Attributes:
        request: its operations.
        feature: name of the feature.
        level: the requested level.
        upgrade_type: what the change may be.
        validate_only: whether the change should only be checked.
    """

    request: AdminOperation
    feature: str
    level: int
    upgrade_type: UpgradeType
    validate_only: bool

    @property
    def accepted(self) -> bool:
        """Whether Kafka accepted it, or found it valid."""
        return self.request.ended is not None and self.request.ended.type is OK

    @property
    def changes(self) -> bool:
        """Whether it may have changed the level."""
        return not self.validate_only and not self.request.failed

    @property
    def acknowledged(self) -> bool:
        """Whether it certainly changed the level."""
        return self.accepted and not self.validate_only


@once
def feature_requests(history: History) -> tuple[FeatureRequest, ...]:
    """All requests for levels, in the order of their invocations.

    Raises:
        msgspec.ValidationError: a request is not as docs/histories.md says.
    """
    return tuple(_request(one) for one in requests_of(history, "update-feature"))


def levels_in_run(history: History, feature: str) -> frozenset[int]:
    """All levels that a feature may have had since the load began; 0 is off.

    Raises:
        msgspec.ValidationError: a request, or the setup, is not as docs/histories.md says.
    """
    requested = (one.level for one in feature_requests(history) if one.feature == feature and one.changes)
    return frozenset((recorded_setup(history).features.get(feature, 0), *requested))


def may_be_lowered(history: History, feature: str) -> bool:
    """Whether a feature may have been at a lower level than before at any time of the run.

    Raises:
        msgspec.ValidationError: a request, or the setup, is not as docs/histories.md says.
    """
    highest = max(levels_in_run(history, feature))
    return any(
        one.changes and one.upgrade_type is not UpgradeType.UPGRADE and one.level < highest
        for one in feature_requests(history)
        if one.feature == feature
    )


def _request(request: AdminOperation) -> FeatureRequest:
    asked = msgspec.convert(request.began.value, FeatureRequested)
    return FeatureRequest(
        request,
        str(request.began.key),
        asked.level,
        UpgradeType.UPGRADE if asked.upgrade_type is UNSET else asked.upgrade_type,
        asked.validate_only is True,
    )
