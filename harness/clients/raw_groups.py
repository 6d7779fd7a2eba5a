"""Members of groups by single requests: they join and leave, in the classic protocol and in KIP-848's.

A library joins again by itself, and discards its id when it is refused.  Here one request is sent to one
broker, with the given id.
"""

from typing import NamedTuple

from kafka.protocol.consumer import (
    ConsumerProtocolSubscription,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
)

from checkers.history.polls import Membership
from harness.clients.schemas import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from harness.kafka.wire import Connection

_CONSUMER, _RANGE = "consumer", "range"
_JOINING, _LEAVING = 0, -1
"""The epochs in a heartbeat of a member of KIP-848's protocol that joins, and of one that leaves."""
_SESSION_MS, _REBALANCE_MS = 6_000, 7_000


class Joined(NamedTuple):
    """The answer to a member: Kafka's error code, and the member's id and generation or epoch."""

    code: int
    membership: Membership


def join_modern(connection: Connection, group: str, member: str, topic: str) -> Joined:
    """Join a group with KIP-848's protocol, subscribed to a topic.

    Raises:
        WireError: no answer.
    """
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        member_epoch=_JOINING,
        rebalance_timeout_ms=_REBALANCE_MS,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )
    answer = connection.ask(request, ConsumerGroupHeartbeatResponse)
    return Joined(answer.error_code, Membership(member, answer.member_epoch))


def leave_modern(connection: Connection, group: str, member: str) -> int:
    """Leave a group as a member of KIP-848's protocol; returns Kafka's error code.

    Raises:
        WireError: no answer.
    """
    request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=_LEAVING)
    code: int = connection.ask(request, ConsumerGroupHeartbeatResponse).error_code
    return code


def join_classic(connection: Connection, group: str, member: str, topic: str) -> Joined:
    """Join a group with the classic protocol, subscribed to a topic; without an id, get one (KIP-394).

    Raises:
        WireError: no answer.
    """
    subscription = ConsumerProtocolSubscription(topics=[topic], user_data=b"", owned_partitions=[])
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(
        name=_RANGE, metadata=bytes(subscription.encode(version=0))
    )
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=_SESSION_MS,
        rebalance_timeout_ms=_REBALANCE_MS,
        member_id=member,
        group_instance_id=None,
        protocol_type=_CONSUMER,
        protocols=[protocol],
    )
    answer = connection.ask(request, JoinGroupResponse)
    return Joined(answer.error_code, Membership(answer.member_id, answer.generation_id))


def leave_classic(connection: Connection, group: str, member: str) -> int:
    """Leave a group as a member of the classic protocol; returns Kafka's error code.

    Raises:
        WireError: no answer.
    """
    identity = LeaveGroupRequest.MemberIdentity(member_id=member, group_instance_id=None)
    answer = connection.ask(LeaveGroupRequest(group_id=group, members=[identity]), LeaveGroupResponse)
    code: int = answer.error_code or next((told.error_code for told in answer.members), 0)
    return code
