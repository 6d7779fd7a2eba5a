"""Committed offsets of groups without members, by single requests: commit, fetch, delete.

Libraries look for the coordinator and retry by themselves.  Here one request is sent to one broker.
"""

from collections.abc import Sequence

from kafka.protocol.admin import DeleteGroupsRequest, DeleteGroupsResponse
from kafka.protocol.consumer import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse

from checkers.history.polls import Membership
from harness.kafka.wire import Connection, WireError

_GROUP = 0
_FIND_SINGLE = 3
_COMMIT_BY_NAME, _FETCH_SINGLE = 9, 7
"""The last versions of OffsetCommit with topic names, and of OffsetFetch for a single group."""
NOBODY = Membership("", -1)
"""The membership in an OffsetCommit from a client that is not a member."""


def find_group(connection: Connection, group: str) -> int:
    """Id of the broker that coordinates a group, according to the queried broker.

    Raises:
        WireError: no answer, or an error.
    """
    request = FindCoordinatorRequest(key=group, key_type=_GROUP)
    answer = connection.ask(request, FindCoordinatorResponse, at_most=_FIND_SINGLE)
    if answer.error_code:
        raise WireError(f"FindCoordinator answered error {answer.error_code}")
    found: int = answer.node_id
    return found


def commit_offset(
    connection: Connection,
    group: str,
    topic: str,
    partition: int,
    offset: int,
    *,
    membership: Membership = NOBODY,
) -> int:
    """Commit one offset, by default without being a member of the group; returns Kafka's error code.

    Only members of KIP-848's protocol use the version that returns its errors.

    Raises:
        WireError: no answer.
    """
    wanted = OffsetCommitRequest.OffsetCommitRequestTopic
    place = wanted.OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=""
    )
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=membership.generation,
        member_id=membership.member,
        group_instance_id=None,
        topics=[wanted(name=topic, partitions=[place])],
    )
    at_most = _COMMIT_BY_NAME - (membership == NOBODY)
    answer = connection.ask(request, OffsetCommitResponse, at_most=at_most)
    code: int = answer.topics[0].partitions[0].error_code
    return code


def fetch_offsets(
    connection: Connection, group: str, topic: str, partitions: Sequence[int]
) -> list[tuple[int, int | None]]:
    """Offsets that a group committed, by partition; None if there is none.

    Raises:
        WireError: no answer, or an error.
    """
    wanted = OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=list(partitions))
    request = OffsetFetchRequest(group_id=group, topics=[wanted], require_stable=True)
    answer = connection.ask(request, OffsetFetchResponse, at_most=_FETCH_SINGLE)
    told = [each for found in answer.topics for each in found.partitions]
    codes = {code for code in (answer.error_code, *(each.error_code for each in told)) if code}
    if codes or len(told) != len(partitions):
        raise WireError(f"OffsetFetch answered {sorted(codes)}")
    offsets = [(each.partition_index, each.committed_offset) for each in told]
    return sorted((partition, offset if offset >= 0 else None) for partition, offset in offsets)


def delete_group(connection: Connection, group: str) -> int:
    """Delete a group with all its offsets (KIP-229); returns Kafka's error code.

    Raises:
        WireError: no answer.
    """
    answer = connection.ask(DeleteGroupsRequest(groups_names=[group]), DeleteGroupsResponse)
    code: int = answer.results[0].error_code
    return code


def delete_offset(connection: Connection, group: str, topic: str, partition: int) -> int:
    """Delete one offset of a group (KIP-496); returns Kafka's error code.

    Raises:
        WireError: no answer.
    """
    wanted = OffsetDeleteRequest.OffsetDeleteRequestTopic
    place = wanted.OffsetDeleteRequestPartition(partition_index=partition)
    request = OffsetDeleteRequest(group_id=group, topics=[wanted(name=topic, partitions=[place])])
    answer = connection.ask(request, OffsetDeleteResponse)
    if answer.error_code:
        whole: int = answer.error_code
        return whole
    code: int = answer.topics[0].partitions[0].error_code
    return code
