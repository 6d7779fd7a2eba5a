"""Registrations are removed by one request to one node, and each code of its answer has an outcome."""

from typing import Any

import pytest
from kafka.protocol.metadata import MetadataRequest

from checkers.history.error_codes import ErrorCode
from checkers.history.operations import OperationType
from harness.administration.registrations import (
    MAY_HAPPEN,
    REFUSED,
    REFUSED_UNLESS_RETRIED,
    UnregistrationAnswer,
    unregister_broker,
    unregister_controller,
)
from harness.administration.schemas import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UnregisterControllerRequest,
    UnregisterControllerResponse,
)
from harness.kafka.wire import UnsupportedError
from tests.harness.fakes.node import FakeNode


class FakeRegistrar(FakeNode):
    """Answers both requests with one code.

    Attributes:
        requested: the requests.
        code: the error code of the answers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requested: list[Any] = []
        self.code = 0
        for request, response in (
            (UnregisterBrokerRequest, UnregisterBrokerResponse),
            (UnregisterControllerRequest, UnregisterControllerResponse),
        ):
            self.versions[request.API_KEY] = 0
            self.requests[request.API_KEY] = request
            self.answers[request.API_KEY] = self._answering(response)

    def _answering(self, response: Any) -> Any:
        def answer(request: Any) -> Any:
            self.requested.append(request)
            return response(throttle_time_ms=0, error_code=self.code, error_message="no" if self.code else "")

        return answer


def test_a_request_has_the_id() -> None:
    with FakeRegistrar() as node:
        assert unregister_broker(node.address, 3, 500)[:2] == (0, None)
        node.code = ErrorCode.CONTROLLER_ID_NOT_REGISTERED
        assert unregister_controller(node.address, 103, 500)[:2] == (136, "no")
    broker, controller = node.requested
    assert (broker.broker_id, controller.controller_id) == (3, 103)


@pytest.mark.parametrize("forwarded", [True, False])
def test_a_node_that_answers_metadata_requests_forwards_them(*, forwarded: bool) -> None:
    with FakeRegistrar() as node:
        if forwarded:
            node.versions[MetadataRequest.API_KEY] = 12
        else:
            node.versions.pop(MetadataRequest.API_KEY, None)
        assert unregister_broker(node.address, 3, 500).forwarded is forwarded


def test_a_node_that_does_not_know_the_request_is_not_asked() -> None:
    with FakeRegistrar() as node:
        node.versions.pop(UnregisterControllerRequest.API_KEY)
        with pytest.raises(UnsupportedError):
            unregister_controller(node.address, 103, 500)
    assert node.requested == []


@pytest.mark.parametrize("forwarded", [True, False])
def test_each_code_has_an_outcome(*, forwarded: bool) -> None:
    assert UnregistrationAnswer(0, None, forwarded).outcome is OperationType.OK
    refused = {*REFUSED, *(() if forwarded else REFUSED_UNLESS_RETRIED)}
    for code in (*(set(ErrorCode) - {ErrorCode.NONE}), 9_999):
        expected = OperationType.FAIL if code in refused else OperationType.INFO
        assert UnregistrationAnswer(code, None, forwarded).outcome is expected, code
    assert not refused & MAY_HAPPEN.keys()
