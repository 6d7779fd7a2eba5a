"""Requests of former members, as a process that hung sends them when it continues.

A library discards its membership as soon as it learns that the group continued, and would send nothing.  Here
the request is sent nevertheless, with the id and the generation that the member had.
"""

from collections.abc import Mapping, Sequence

from kafka.protocol.consumer import OffsetCommitRequest, OffsetCommitResponse
from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse

from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from checkers.history.units import MS_PER_S
from harness.clients.administrator import AdminAnswer
from harness.clients.administrator_errors import classify_commit, classify_deletion
from harness.clients.group import MemberOptions
from harness.clients.raw_offsets import delete_group
from harness.kafka.wire import Connection, WireError

_GROUP = 0
_FIND_COORDINATOR_SINGLE = 3
_COMMIT_AT_MOST = 8
"""Last version for the classic protocol; the next one returns the errors of KIP-848."""
_NOBODY = Membership("", -1)
"""The membership in an OffsetCommit from a client that is not a member."""


def commit_as(options: MemberOptions, membership: Membership, offsets: Mapping[int, int]) -> AdminAnswer:
    """Commit offsets as this member of this generation; one request, never raises."""
    connection = _to_coordinator(options)
    if isinstance(connection, str):
        return AdminAnswer(OperationType.FAIL, error=f"{connection}, nothing sent")
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    parts = [
        topic.OffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset,
            committed_leader_epoch=-1,
            committed_metadata="",
        )
        for partition, offset in offsets.items()
    ]
    request = OffsetCommitRequest(
        group_id=options.group,
        generation_id_or_member_epoch=membership.generation,
        member_id=membership.member,
        group_instance_id=None,
        topics=[topic(name=options.topic, partitions=parts)],
    )
    try:
        answer = connection.ask(request, OffsetCommitResponse, at_most=_COMMIT_AT_MOST + options.modern)
    except WireError as error:
        return AdminAnswer(OperationType.INFO, error=str(error))
    finally:
        connection.close()
    return answered([part.error_code for found in answer.topics for part in found.partitions])


def reset_offsets(options: MemberOptions, offsets: Mapping[int, int]) -> AdminAnswer:
    """Set a group's offsets as an administrator, who is not a member (KIP-396); never raises."""
    return commit_as(options, _NOBODY, offsets)


def remove_group(options: MemberOptions) -> AdminAnswer:
    """Delete a group as an administrator does (KIP-229); one request, never raises."""
    connection = _to_coordinator(options)
    if isinstance(connection, str):
        return AdminAnswer(OperationType.FAIL, error=f"{connection}, nothing sent")
    try:
        code = delete_group(connection, options.group)
    except WireError as error:
        return AdminAnswer(OperationType.INFO, error=str(error))
    finally:
        connection.close()
    if not code:
        return AdminAnswer(OperationType.OK)
    fate, text = classify_deletion(code)
    return AdminAnswer(fate, error=text)


def answered(codes: Sequence[int]) -> AdminAnswer:
    """Combine the codes of all partitions of one OffsetCommit."""
    if not any(codes):
        return AdminAnswer(OperationType.OK)
    fates = [classify_commit(code, f"error {code}", only_attempt=True) for code in codes if code]
    refused_all = len(fates) == len(codes) and all(fate is OperationType.FAIL for fate, _ in fates)
    return AdminAnswer(OperationType.FAIL if refused_all else OperationType.INFO, error=fates[0][1])


def _to_coordinator(options: MemberOptions) -> Connection | str:
    """A connection to the group's coordinator, or the reason why there is none."""
    problem = "no broker to ask"
    for server in options.bootstrap:
        host, _, port = server.rpartition(":")
        try:
            asked = Connection(host, int(port), options.request_ms / MS_PER_S)
        except WireError as error:
            problem = str(error)
            continue
        try:
            answer = asked.ask(
                FindCoordinatorRequest(key=options.group, key_type=_GROUP),
                FindCoordinatorResponse,
                at_most=_FIND_COORDINATOR_SINGLE,
            )
            if answer.error_code == 0:
                return Connection(answer.host, answer.port, options.request_ms / MS_PER_S)
            problem = f"FindCoordinator answered error {answer.error_code}"
        except WireError as error:
            problem = str(error)
        finally:
            asked.close()
    return problem
