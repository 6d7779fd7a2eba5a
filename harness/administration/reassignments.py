"""Requests that start, cancel and list reassignments (KIP-455), and the sizes of a broker's logs.

Each function asks one given broker.  Brokers forward the first two requests to the active controller.
"""

from collections.abc import Iterable, Sequence

import msgspec
from kafka.protocol.admin import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafka.protocol.admin.topics import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

from checkers.history.error_codes import ErrorCode, named_code
from harness.kafka.answers import Ongoing
from harness.kafka.wire import Connection, WireError

ANSWER_SLACK_S = 1.0
"""Time to wait for an answer after Kafka's own timeout, so that Kafka's refusal arrives first."""
LIST_TIMEOUT_MS = 5000
MAY_HAPPEN = (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER)
"""Error codes after which the change may have been appended nevertheless."""

Address = tuple[str, int]
Target = tuple[str, int, Sequence[int] | None]
"""Topic, partition and wanted broker ids, preferred leader first; None cancels."""


class ReassignmentResult(msgspec.Struct, frozen=True):
    """The answer for one partition; `code` is Kafka's error code."""

    topic: str
    partition: int
    code: int
    message: str | None


class ReassignmentAnswer(msgspec.Struct, frozen=True):
    """The answer for the request as a whole, and for each partition."""

    code: int
    message: str | None
    results: tuple[ReassignmentResult, ...]


class LogSize(msgspec.Struct, frozen=True):
    """One replica's log on one broker's disk.

    Attributes:
        broker: its id.
        topic: the partition's topic.
        partition: its number.
        directory: the log directory that holds it.
        size_bytes: size of its segments.
        offset_lag: offsets behind the high watermark; for a future log, behind the current log.
        is_future: whether it will replace another log of the same broker (KIP-113).
    """

    broker: int
    topic: str
    partition: int
    directory: str
    size_bytes: int
    offset_lag: int
    is_future: bool


def alter_reassignments(address: Address, targets: Sequence[Target], timeout_ms: int) -> ReassignmentAnswer:
    """Request other replicas, or cancel (None); of several targets for a partition the last one counts.

    After an answer with 0, a reassignment has begun, but not ended.  Each partition is accepted or refused
    separately.

    Args:
        address: a broker's listener.
        targets: the wanted replicas.
        timeout_ms: how long Kafka may take, milliseconds.

    Raises:
        WireError: no answer, so it is unknown whether it happened.
    """
    request_type = AlterPartitionReassignmentsRequest
    partition = request_type.ReassignableTopic.ReassignablePartition
    topics = [
        request_type.ReassignableTopic(
            name=topic,
            partitions=[
                partition(partition_index=index, replicas=None if replicas is None else list(replicas))
                for index, replicas in wanted.items()
            ],
        )
        for topic, wanted in _by_topic(targets).items()
    ]
    with Connection(*address, timeout_ms / 1000 + ANSWER_SLACK_S) as connection:
        answer = connection.ask(
            request_type(timeout_ms=timeout_ms, topics=topics), AlterPartitionReassignmentsResponse
        )
    results = (
        ReassignmentResult(topic.name, one.partition_index, one.error_code, one.error_message)
        for topic in answer.responses
        for one in topic.partitions
    )
    return ReassignmentAnswer(answer.error_code, answer.error_message, tuple(results))


def list_reassignments(
    address: Address, timeout_ms: int = LIST_TIMEOUT_MS, partitions: Iterable[tuple[str, int]] | None = None
) -> tuple[Ongoing, ...]:
    """The ongoing reassignments, by topic and partition; partitions that don't exist are left out.

    Args:
        address: a broker's listener.
        timeout_ms: how long Kafka may take, milliseconds.
        partitions: partitions to list; None for all.

    Raises:
        WireError: no answer, or an error.
    """
    with Connection(*address, timeout_ms / 1000 + ANSWER_SLACK_S) as connection:
        return listed(connection, timeout_ms, partitions)


def listed(
    connection: Connection, timeout_ms: int, partitions: Iterable[tuple[str, int]] | None = None
) -> tuple[Ongoing, ...]:
    """As `list_reassignments`, over an existing connection.

    Raises:
        WireError: no answer, or an error.
    """
    request_type = ListPartitionReassignmentsRequest
    topic_type = request_type.ListPartitionReassignmentsTopics
    wanted = (
        None
        if partitions is None
        else [
            topic_type(name=topic, partition_indexes=indexes)
            for topic, indexes in _indexes(partitions).items()
        ]
    )
    answer = connection.ask(
        request_type(timeout_ms=timeout_ms, topics=wanted), ListPartitionReassignmentsResponse
    )
    if answer.error_code:
        raise WireError(f"ListPartitionReassignments answered {named_code(answer.error_code)}")
    ongoing = (
        Ongoing(
            topic.name,
            one.partition_index,
            tuple(one.replicas),
            tuple(one.adding_replicas),
            tuple(one.removing_replicas),
        )
        for topic in answer.topics
        for one in topic.partitions
    )
    return tuple(sorted(ongoing))


def log_sizes(
    address: Address,
    broker: int,
    partitions: Iterable[tuple[str, int]] | None = None,
    timeout_ms: int = LIST_TIMEOUT_MS,
) -> tuple[LogSize, ...]:
    """The logs of a broker, by DescribeLogDirs; an offline directory has none.

    Args:
        address: that broker's listener; the request is never forwarded.
        broker: its id, because the answer does not contain it.
        partitions: partitions to list; None for all.
        timeout_ms: how long it may take, milliseconds.

    Raises:
        WireError: no answer, or an error.
    """
    request_type = DescribeLogDirsRequest
    topic_type = request_type.DescribableLogDirTopic
    wanted = (
        None
        if partitions is None
        else [topic_type(topic=topic, partitions=indexes) for topic, indexes in _indexes(partitions).items()]
    )
    with Connection(*address, timeout_ms / 1000) as connection:
        answer = connection.ask(request_type(topics=wanted), DescribeLogDirsResponse)
    if answer.error_code:
        raise WireError(f"DescribeLogDirs answered {named_code(answer.error_code)}")
    return tuple(
        LogSize(
            broker,
            topic.name,
            one.partition_index,
            directory.log_dir,
            one.partition_size,
            one.offset_lag,
            one.is_future_key,
        )
        for directory in answer.results
        if not directory.error_code
        for topic in directory.topics
        for one in topic.partitions
    )


def _by_topic(targets: Sequence[Target]) -> dict[str, dict[int, Sequence[int] | None]]:
    wanted: dict[str, dict[int, Sequence[int] | None]] = {}
    for topic, partition, replicas in targets:
        wanted.setdefault(topic, {})[partition] = replicas
    return wanted


def _indexes(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    wanted: dict[str, list[int]] = {}
    for topic, partition in partitions:
        wanted.setdefault(topic, []).append(partition)
    return wanted
