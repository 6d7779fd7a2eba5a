"""A broker on loopback that coordinates one group of one member, and fails as the test decides."""

from typing import Any

from kafka.protocol.admin import DeleteGroupsRequest, DeleteGroupsResponse
from kafka.protocol.consumer import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

from tests.harness.fakes.refusing_broker import FakeRefusingBroker

COMMIT, FETCH_OFFSETS, JOIN, HEARTBEAT, LEAVE, SYNC, DELETE_GROUPS = 8, 9, 11, 12, 13, 14, 42
MEMBER = "member-of-the-fake"


class FakeGroupBroker(FakeRefusingBroker):
    """Leads ``log-0`` and coordinates every group; whoever joins is the only member.

    Attributes:
        offsets: committed ones, by partition.
        generation: the current one; each JoinGroup begins another.
        committers: member and generation of every OffsetCommit, in order.
        offered: names of the assignors that each JoinGroup offered, in order.
        left: how often a member left.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                COMMIT: self._commit,
                FETCH_OFFSETS: self._fetch_offsets,
                JOIN: self._join,
                HEARTBEAT: lambda _request, error: HeartbeatResponse(throttle_time_ms=0, error_code=error),
                LEAVE: self._leave,
                SYNC: self._sync,
                DELETE_GROUPS: self._deleted,
            }
        )
        self.offsets: dict[int, int] = {}
        self.generation = 6
        self.committers: list[tuple[str, int]] = []
        self.offered: list[list[str]] = []
        self.left = 0
        self.versions |= {
            COMMIT: 7,
            FETCH_OFFSETS: 7,
            JOIN: 5,
            HEARTBEAT: 3,
            LEAVE: 3,
            SYNC: 3,
            DELETE_GROUPS: 2,
        }
        self.requests |= {
            COMMIT: OffsetCommitRequest,
            FETCH_OFFSETS: OffsetFetchRequest,
            JOIN: JoinGroupRequest,
            HEARTBEAT: HeartbeatRequest,
            LEAVE: LeaveGroupRequest,
            SYNC: SyncGroupRequest,
            DELETE_GROUPS: DeleteGroupsRequest,
        }

    def _deleted(self, request: Any, error: int) -> Any:
        (name,) = request.groups_names
        one = DeleteGroupsResponse.DeletableGroupResult(group_id=name, error_code=error)
        return DeleteGroupsResponse(throttle_time_ms=0, results=[one])

    def _join(self, request: Any, error: int) -> Any:
        self.generation += 1
        self.offered.append([protocol.name for protocol in request.protocols])
        chosen = request.protocols[0]
        one = JoinGroupResponse.JoinGroupResponseMember
        return JoinGroupResponse(
            throttle_time_ms=0,
            error_code=error,
            generation_id=self.generation,
            protocol_name=chosen.name,
            leader=MEMBER,
            member_id=MEMBER,
            members=[one(member_id=MEMBER, group_instance_id=None, metadata=chosen.metadata)],
        )

    def _sync(self, request: Any, error: int) -> Any:
        (assigned,) = request.assignments
        return SyncGroupResponse(throttle_time_ms=0, error_code=error, assignment=assigned.assignment)

    def _leave(self, _request: Any, error: int) -> Any:
        self.left += 1
        return LeaveGroupResponse(throttle_time_ms=0, error_code=error, members=[])

    def _commit(self, request: Any, error: int) -> Any:
        (topic,) = request.topics
        self.committers.append((request.member_id, request.generation_id_or_member_epoch))
        if not error:
            self.offsets |= {part.partition_index: part.committed_offset for part in topic.partitions}
        one = OffsetCommitResponse.OffsetCommitResponseTopic
        results = [
            one.OffsetCommitResponsePartition(partition_index=part.partition_index, error_code=error)
            for part in topic.partitions
        ]
        return OffsetCommitResponse(throttle_time_ms=0, topics=[one(name=topic.name, partitions=results)])

    def _fetch_offsets(self, request: Any, error: int) -> Any:
        (topic,) = request.topics
        one = OffsetFetchResponse.OffsetFetchResponseTopic
        results = [
            one.OffsetFetchResponsePartition(
                partition_index=index,
                committed_offset=-1 if error else self.offsets.get(index, -1),  # as Kafka does
                committed_leader_epoch=-1,
                metadata="",
                error_code=error,
            )
            for index in topic.partition_indexes
        ]
        found = [one(name=topic.name, partitions=results)]
        return OffsetFetchResponse(throttle_time_ms=0, topics=found, error_code=0)
