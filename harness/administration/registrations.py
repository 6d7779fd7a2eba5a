"""Requests that remove registrations: of a broker (KIP-500), or of a controller (KIP-1312, since 4.4).

Kafka's QuorumController reads the registrations that it has appended.  If the id is registered, it removes
the registration, whether or not the node runs, unless it is the active controller itself; the answer comes
once the record is committed.  The request has no deadline, so a controller without a majority does not
answer.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafka.protocol.metadata import MetadataRequest

from checkers.history.error_codes import ErrorCode
from checkers.history.operations import OperationType
from harness.administration.schemas import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UnregisterControllerRequest,
    UnregisterControllerResponse,
)
from harness.kafka.wire import Connection, Request, ResponseType

Address = tuple[str, int]

REFUSED: Mapping[ErrorCode, str] = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "permission is checked first",
    ErrorCode.UNSUPPORTED_VERSION: "metadata.version is below 4.4-IV2, which controllers need for the record",
}
"""Error codes of checks before the record is made, and the reason."""
REFUSED_UNLESS_RETRIED: Mapping[ErrorCode, str] = {
    ErrorCode.BROKER_ID_NOT_REGISTERED: "no broker with this id is registered",
    ErrorCode.CONTROLLER_ID_NOT_REGISTERED: "no controller with this id is registered",
    ErrorCode.INVALID_REQUEST: "the active controller does not unregister itself",
}
"""Error codes that depend on the registrations and on the active controller, and the reason.

A broker that loses its connection sends the request again, perhaps to another active controller.  So the
first one may have succeeded if a broker forwarded it.
"""
MAY_HAPPEN: Mapping[ErrorCode, str] = {
    ErrorCode.NOT_CONTROLLER: "a controller that was deposed may have appended the record before",
    ErrorCode.REQUEST_TIMED_OUT: "the broker no longer waits for the controller, which has the request",
    ErrorCode.UNKNOWN_SERVER_ERROR: "the controller failed, before or after the record was appended",
}
"""Error codes after which the record may be committed later, and the reason."""


class UnregistrationAnswer(NamedTuple):
    """The answer to one request.

    Attributes:
        code: Kafka's error code, 0 for none.
        message: Kafka's error message; None without one.
        forwarded: whether a broker forwarded the request.
    """

    code: int
    message: str | None
    forwarded: bool

    @property
    def outcome(self) -> OperationType:
        """Whether it was done (ok), certainly was not (fail), or may be (info), also after unknown codes."""
        if self.code == ErrorCode.NONE:
            return OperationType.OK
        refused = self.code in REFUSED or (self.code in REFUSED_UNLESS_RETRIED and not self.forwarded)
        return OperationType.FAIL if refused else OperationType.INFO


def unregister_broker(address: Address, broker: int, timeout_ms: int) -> UnregistrationAnswer:
    """Request that the registration of a broker is removed; the answer comes once that is committed.

    Args:
        address: a broker's or a controller's listener; among controllers only the active one accepts it.
        broker: its id.
        timeout_ms: bound for the whole call, including connecting.

    Raises:
        WireError: no answer, so it may be done; or the node does not know the request.
    """
    return _ask(address, UnregisterBrokerRequest(broker_id=broker), UnregisterBrokerResponse, timeout_ms)


def unregister_controller(address: Address, controller: int, timeout_ms: int) -> UnregistrationAnswer:
    """Request that the registration of a controller is removed; the answer comes once that is committed.

    Args:
        address: a broker's or a controller's listener; among controllers only the active one accepts it.
        controller: its id.
        timeout_ms: bound for the whole call, including connecting.

    Raises:
        WireError: no answer, so it may be done; or the node does not know the request.
    """
    request = UnregisterControllerRequest(controller_id=controller)
    return _ask(address, request, UnregisterControllerResponse, timeout_ms)


def _ask(
    address: Address, request: Request, response_type: ResponseType, timeout_ms: int
) -> UnregistrationAnswer:
    with Connection(*address, timeout_ms / 1000) as connection:
        forwarded = connection.supports(MetadataRequest)
        answer = connection.ask(request, response_type)
    return UnregistrationAnswer(answer.error_code, answer.error_message or None, forwarded)
