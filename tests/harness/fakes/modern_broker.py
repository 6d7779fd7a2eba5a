"""A broker on loopback that coordinates groups of KIP-848's protocol, each of one member."""

import uuid
from typing import Any

from harness.clients.schemas import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from tests.harness.fakes.group_broker import FakeGroupBroker
from tests.harness.fakes.node import METADATA

HEARTBEAT = 68
TOPIC_ID = uuid.UUID(int=848)


class FakeModernBroker(FakeGroupBroker):
    """Assigns all partitions of ``log-0`` to whoever joins.

    Attributes:
        heartbeats: all heartbeats, in order; those of a member that joins have epoch 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self.heartbeats: list[Any] = []
        self.versions[HEARTBEAT] = 1
        self.requests[HEARTBEAT] = ConsumerGroupHeartbeatRequest
        self.answers |= {HEARTBEAT: self._heartbeat, METADATA: self._identified}

    @property
    def joining(self) -> Any:
        """The first heartbeat, with which the first member joined."""
        return self.heartbeats[0]

    def _heartbeat(self, request: Any) -> Any:
        self.heartbeats.append(request)
        joins = request.member_epoch == 0
        given = ConsumerGroupHeartbeatResponse.Assignment
        partitions = given.TopicPartitions(topic_id=TOPIC_ID, partitions=[*range(len(self.records))])
        return ConsumerGroupHeartbeatResponse(
            throttle_time_ms=0,
            error_code=0,
            error_message=None,
            member_id=request.member_id,
            member_epoch=request.member_epoch or 1,
            heartbeat_interval_ms=500,
            assignment=given(topic_partitions=[partitions]) if joins else None,
        )

    def _identified(self, request: Any) -> Any:
        """Metadata that names the topic's id."""
        answer = self._metadata(request)
        answer.topics[0].topic_id = TOPIC_ID
        return answer
