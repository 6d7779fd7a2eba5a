"""Levels of features are requested of one broker, and each code of its answer has an outcome."""

from typing import Any

import pytest
from kafka.protocol.admin import UpdateFeaturesRequest, UpdateFeaturesResponse
from kafka.protocol.metadata import ApiVersionsResponse

from checkers.history.error_codes import ErrorCode
from checkers.history.operations import OperationType
from checkers.history.requested import UpgradeType
from harness.administration.features import FeatureUpdate, newest_level, outcome_of, update_feature
from harness.kafka.features import node_features
from harness.kafka.wire import Connection, WireError
from tests.harness.fakes.node import VERSIONS, FakeNode, encoded

_UPDATE = UpdateFeaturesRequest.API_KEY


class FakeBrokerOfFeatures(FakeNode):
    """Answers UpdateFeatures.

    Attributes:
        requested: the requests.
        code: the error code of the answer.
        of_feature: the error code of the feature's own answer, in version 1.
    """

    def __init__(self, version: int = 2) -> None:
        super().__init__()
        self.versions[_UPDATE] = version
        self.requests[_UPDATE] = UpdateFeaturesRequest
        self.answers[_UPDATE] = self._update
        self.requested: list[Any] = []
        self.code = self.of_feature = 0

    def _update(self, request: Any) -> Any:
        self.requested.append(request)
        result = UpdateFeaturesResponse.UpdatableFeatureResult(
            feature=request.feature_updates[0].feature, error_code=self.of_feature, error_message="of it"
        )
        return UpdateFeaturesResponse(
            throttle_time_ms=0, error_code=self.code, error_message="no", results=[result]
        )


@pytest.mark.parametrize(
    ("upgrade_type", "number"),
    [(UpgradeType.UPGRADE, 1), (UpgradeType.SAFE_DOWNGRADE, 2), (UpgradeType.UNSAFE_DOWNGRADE, 3)],
)
@pytest.mark.parametrize("only", [False, True])
def test_a_request_has_the_level_and_what_the_change_may_be(
    upgrade_type: UpgradeType, number: int, *, only: bool
) -> None:
    with FakeBrokerOfFeatures() as broker:
        broker.code = 95
        update = FeatureUpdate("transaction.version", 1, upgrade_type, validate_only=only)
        answer = update_feature(broker.address, update, 500)
    (request,) = broker.requested
    (asked,) = request.feature_updates
    assert (asked.feature, asked.max_version_level, asked.upgrade_type) == ("transaction.version", 1, number)
    assert (request.validate_only, request.timeout_ms) == (only, 500)
    assert (answer.code, answer.message) == (95, "no")


def test_in_version_1_the_answer_of_the_feature_counts() -> None:
    with FakeBrokerOfFeatures(version=1) as broker:
        assert update_feature(broker.address, FeatureUpdate("x", 1), 500).code == 0
        broker.of_feature = 95
        answer = update_feature(broker.address, FeatureUpdate("x", 1), 500)
    assert (answer.code, answer.message) == (95, "of it")


def test_each_code_has_an_outcome() -> None:
    refused = {
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNSUPPORTED_VERSION,
    }
    assert outcome_of(ErrorCode.NONE) is OperationType.OK
    for code in set(ErrorCode) - {ErrorCode.NONE}:
        assert outcome_of(code) is (OperationType.FAIL if code in refused else OperationType.INFO), code
    assert outcome_of(9_999) is OperationType.INFO


def test_the_newest_level_of_a_feature_is_what_the_node_supports() -> None:
    with FakeNode() as node:
        node.features = {"metadata.version": 21}
        node.newest_features = {"metadata.version": 29}
        assert newest_level(node.address, "metadata.version") == 29
        with pytest.raises(WireError, match=r"the node knows no feature share\.version"):
            newest_level(node.address, "share.version")


def test_a_node_is_asked_for_its_features_in_the_newest_common_version() -> None:
    with FakeNode() as node:
        node.versions[VERSIONS] = 4
        node.features = {"metadata.version": 21}
        node.newest_features = {"metadata.version": 29}
        with Connection(*node.address, 1.0) as connection:
            found = node_features(connection)
    assert found == (1, {"metadata.version": 21}, {"metadata.version": (1, 29)})
    assert node.asked == [(VERSIONS, 3), (VERSIONS, 4)]


def test_an_error_of_a_node_is_no_answer() -> None:
    api = ApiVersionsResponse.ApiVersion(api_key=VERSIONS, min_version=0, max_version=3)
    refusal = ApiVersionsResponse(error_code=42, api_keys=[api])  # an error has version 0 (KIP-511)
    with FakeNode() as node, Connection(*node.address, 1.0) as connection:
        node.answers[VERSIONS] = lambda _: encoded(refusal, 0, 2)
        with pytest.raises(WireError, match="ApiVersions answered error 42"):
            node_features(connection)


def test_a_node_is_asked_in_the_version_that_also_lists_features_that_may_be_off() -> None:
    with FakeNode() as node:
        node.versions[VERSIONS] = 4
        node.newest_features = {"transaction.version": 2}
        assert newest_level(node.address, "transaction.version") == 2
        assert node.asked[-1] == (VERSIONS, 4)
