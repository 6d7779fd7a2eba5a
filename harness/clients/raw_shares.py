"""Start offsets of share groups without members (KIP-932), by single requests: set, delete.

The libraries repeat requests by themselves.  Here one request is sent to one broker.
"""

from harness.clients.schemas import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)
from harness.kafka.wire import Connection, WireError


def alter_start(connection: Connection, group: str, topic: str, partition: int, offset: int) -> int:
    """Set the start offset of one share partition; returns Kafka's error code.

    Raises:
        WireError: no answer, or one without the partition.
    """
    wanted = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
    place = wanted.AlterShareGroupOffsetsRequestPartition(partition_index=partition, start_offset=offset)
    request = AlterShareGroupOffsetsRequest(
        group_id=group, topics=[wanted(topic_name=topic, partitions=[place])]
    )
    answer = connection.ask(request, AlterShareGroupOffsetsResponse)
    codes = [each.error_code for found in answer.responses for each in found.partitions]
    return _one(answer.error_code, codes)


def delete_starts(connection: Connection, group: str, topic: str) -> int:
    """Delete the start offsets of all partitions of a topic; returns Kafka's error code.

    Raises:
        WireError: no answer, or one without the topic.
    """
    wanted = DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic
    request = DeleteShareGroupOffsetsRequest(group_id=group, topics=[wanted(topic_name=topic)])
    answer = connection.ask(request, DeleteShareGroupOffsetsResponse)
    return _one(answer.error_code, [each.error_code for each in answer.responses])


def _one(whole: int, codes: list[int]) -> int:
    """The error code of an answer as a whole, or else that of the only thing that was asked for."""
    if not whole and len(codes) != 1:
        raise WireError(f"the answer has {len(codes)} results, expected 1")
    return whole or codes[0]
