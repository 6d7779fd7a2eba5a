"""Admin requests about one node: heartbeats in its name, its configs, its registration."""

from checkers.history.requested import (
    AdminRequested,
    BrokerAltered,
    BrokerUnregistered,
    ControllerUnregistered,
    HeartbeatSent,
)
from harness.administration.heartbeats import Heartbeat, send_heartbeat
from harness.administration.registrations import unregister_broker, unregister_controller
from harness.administration.settings import alter_broker
from harness.nemesis.answers import RecordedAnswer, in_words, of_heartbeat, of_unregistration
from harness.vocabulary.administration import AlterBroker, UnregisterBroker, UnregisterController

Address = tuple[str, int]
NodeOperation = AlterBroker | UnregisterBroker | UnregisterController
"""Operations about one node that any broker may get."""


def change_of_node(operation: NodeOperation) -> AdminRequested:
    """The request for a change of one node, without the node that gets it."""
    match operation:
        case AlterBroker(config=config, value=value):
            return BrokerAltered(config=config, value=value)
        case UnregisterBroker():
            return BrokerUnregistered()
        case UnregisterController():
            return ControllerUnregistered()


def ask_about(
    node: int,
    about: HeartbeatSent | BrokerAltered | BrokerUnregistered | ControllerUnregistered,
    address: Address,
    timeout_ms: int,
) -> RecordedAnswer:
    """Send a request about one node.

    Args:
        node: the id of the node that it is about.
        about: the request.
        address: the listener that gets it.
        timeout_ms: bound for the answer.

    Raises:
        WireError: no answer; its outcome is unknown.
    """
    match about:
        case HeartbeatSent(epoch=epoch, metadata_offset=offset):
            return of_heartbeat(send_heartbeat(address, Heartbeat(node, epoch, offset), timeout_ms))
        case BrokerAltered(config=config, value=value):
            return in_words(alter_broker(address, node, config, value))
        case BrokerUnregistered():
            return of_unregistration(unregister_broker(address, node, timeout_ms))
        case ControllerUnregistered():
            return of_unregistration(unregister_controller(address, node, timeout_ms))
