"""Requests to one broker to change finalized feature levels (UpdateFeatures, KIP-584 and KIP-778)."""

from typing import NamedTuple

from kafka.protocol.admin import UpdateFeaturesRequest, UpdateFeaturesResponse

from checkers.history.error_codes import ErrorCode
from checkers.history.operations import OperationType
from checkers.history.requested import UpgradeType
from harness.administration.settings import SettingAnswer
from harness.kafka.features import node_features
from harness.kafka.wire import Connection, WireError

_TIMEOUT_S = 10.0
_GRACE_S = 2.0
_UPGRADE_TYPES = {UpgradeType.UPGRADE: 1, UpgradeType.SAFE_DOWNGRADE: 2, UpgradeType.UNSAFE_DOWNGRADE: 3}
"""Kafka's numbers (``FeatureUpdate.UpgradeType``)."""
_REFUSED = frozenset(
    {
        # FeatureControlManager checks a request before it makes the first record: the level, the upgrade
        # type, what nodes support, and what the feature depends on.
        ErrorCode.INVALID_UPDATE_VERSION,
        # ControllerApis checks these before it calls the controller.
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_REQUEST,
        # The node does not know the request, or the raft client can't write this kraft.version.
        ErrorCode.UNSUPPORTED_VERSION,
    }
)
"""Errors of changes that were not made.  After any other one a change may have been made, or may still be.

REQUEST_TIMED_OUT: the controller still has the request, or its records are not committed yet.
NOT_CONTROLLER: a controller that was deposed may have appended records that its successor commits.
UNKNOWN_SERVER_ERROR, FEATURE_UPDATE_FAILED: an exception at any step, perhaps after an append.
"""

Address = tuple[str, int]


class FeatureUpdate(NamedTuple):
    """One change.

    Attributes:
        feature: name of the feature.
        level: its requested level; 0 turns it off.
        upgrade_type: what the change may be.
        validate_only: whether only to check the change.
    """

    feature: str
    level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE
    validate_only: bool = False


def outcome_of(code: int) -> OperationType:
    """Whether the change was made; that is unknown after codes that nobody has classed too."""
    if code == ErrorCode.NONE:
        return OperationType.OK
    return OperationType.FAIL if code in _REFUSED else OperationType.INFO


def update_feature(address: Address, update: FeatureUpdate, timeout_ms: int) -> SettingAnswer:
    """Request one change, in version 1 or newer, which has the upgrade type.

    Raises:
        WireError: no answer.
    """
    key = UpdateFeaturesRequest.FeatureUpdateKey(
        feature=update.feature,
        max_version_level=update.level,
        upgrade_type=_UPGRADE_TYPES[update.upgrade_type],
    )
    request = UpdateFeaturesRequest(
        timeout_ms=timeout_ms, feature_updates=[key], validate_only=update.validate_only
    )
    with Connection(*address, timeout_ms / 1000 + _GRACE_S) as connection:
        answer = connection.ask(request, UpdateFeaturesResponse)
    # Up to version 1 each feature has a separate answer, in addition to the common one (KIP-1022 removed
    # them).
    first = next((one for one in answer.results or () if one.error_code), answer)
    return SettingAnswer(first.error_code, first.error_message)


def newest_level(address: Address, feature: str) -> int:
    """The newest level of a feature that a node supports.

    Raises:
        WireError: no answer, or the node does not support the feature.
    """
    with Connection(*address, _TIMEOUT_S) as connection:
        supported = node_features(connection).supported
    if feature not in supported:
        raise WireError(f"the node knows no feature {feature}")
    return supported[feature][1]
