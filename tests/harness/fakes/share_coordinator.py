"""A broker that coordinates share groups, and answers requests to change their start offsets."""

from collections.abc import Callable
from typing import Any

from kafka.protocol.metadata import FindCoordinatorResponse

from harness.clients.schemas import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)
from tests.harness.fakes.broker import COORDINATOR
from tests.harness.fakes.coordinator import FakeCoordinatorBroker

ALTER, DELETE = 91, 92


class ShareCoordinator(FakeCoordinatorBroker):
    """Coordinates all groups.

    Attributes:
        changes: what was asked for: group, topic, and partition with offset, or None for a deletion.
        codes: error codes of the next answers, of the group as a whole and of its partition or topic; None:
            no answer.  Then it accepts.
        results: number of results in each answer.
        node: who it says coordinates.
        on_change: called before each answer to a change.
    """

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[tuple[str, str, tuple[int, int] | None]] = []
        self.codes: list[tuple[int, int] | None] = []
        self.results = 1
        self.node = 1
        self.on_change: Callable[[], object] = lambda: None
        self.versions |= {ALTER: 0, DELETE: 0}
        for request in (AlterShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequest):
            self.requests[request.API_KEY] = request
        self.answers |= {COORDINATOR: self._found, ALTER: self._altered, DELETE: self._deleted}

    def _found(self, _request: Any) -> Any:
        host, port = self.address
        return FindCoordinatorResponse(
            throttle_time_ms=0, error_code=0, node_id=self.node, host=host, port=port
        )

    def _next(self) -> tuple[int, int] | None:
        self.on_change()
        return self.codes.pop(0) if self.codes else (0, 0)

    def _altered(self, request: Any) -> Any:
        (topic,) = request.topics
        (place,) = topic.partitions
        self.changes.append((request.group_id, topic.topic_name, (place.partition_index, place.start_offset)))
        if (codes := self._next()) is None:
            return None
        found = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic
        one = found.AlterShareGroupOffsetsResponsePartition(
            partition_index=place.partition_index, error_code=codes[1], error_message=None
        )
        topics = [found(topic_name=topic.topic_name, partitions=[one] * self.results)]
        return AlterShareGroupOffsetsResponse(
            throttle_time_ms=0, error_code=codes[0], error_message=None, responses=topics
        )

    def _deleted(self, request: Any) -> Any:
        (topic,) = request.topics
        self.changes.append((request.group_id, topic.topic_name, None))
        if (codes := self._next()) is None:
            return None
        found = DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic
        one = found(topic_name=topic.topic_name, error_code=codes[1], error_message=None)
        return DeleteShareGroupOffsetsResponse(
            throttle_time_ms=0, error_code=codes[0], error_message=None, responses=[one] * self.results
        )
