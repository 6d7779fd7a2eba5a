"""A broker on loopback that coordinates groups and takes changes, and fails as the test decides."""

from typing import Any

from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka.protocol.admin.topics import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kafka.protocol.consumer import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

from tests.harness.fakes.refusing_broker import FakeRefusingBroker

COMMIT, FETCH_OFFSETS, CREATE, DELETE, DESCRIBE, ALTER = 8, 9, 19, 20, 32, 44


class FakeAdminBroker(FakeRefusingBroker):
    """Keeps offsets, configs and topics.

    Attributes:
        offsets: committed ones, by group, topic and partition.
        configs: of topics, by topic and key.
        topics: names of those that were created.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                COMMIT: self._commit,
                FETCH_OFFSETS: self._fetch_offsets,
                CREATE: self._create,
                DELETE: self._delete,
                DESCRIBE: self._describe,
                ALTER: self._alter,
            }
        )
        self.offsets: dict[tuple[str, str, int], int] = {}
        self.configs: dict[tuple[str, str], str] = {}
        self.topics: set[str] = set()
        self.versions |= {COMMIT: 7, FETCH_OFFSETS: 7, CREATE: 5, DELETE: 5, DESCRIBE: 4, ALTER: 1}
        self.requests |= {
            COMMIT: OffsetCommitRequest,
            FETCH_OFFSETS: OffsetFetchRequest,
            CREATE: CreateTopicsRequest,
            DELETE: DeleteTopicsRequest,
            DESCRIBE: DescribeConfigsRequest,
            ALTER: IncrementalAlterConfigsRequest,
        }

    def _commit(self, request: Any, error: int) -> Any:
        (topic,) = request.topics
        (partition,) = topic.partitions
        if not error:
            place = (request.group_id, topic.name, partition.partition_index)
            self.offsets[place] = partition.committed_offset
        one = OffsetCommitResponse.OffsetCommitResponseTopic
        result = one.OffsetCommitResponsePartition(
            partition_index=partition.partition_index, error_code=error
        )
        return OffsetCommitResponse(throttle_time_ms=0, topics=[one(name=topic.name, partitions=[result])])

    def _fetch_offsets(self, request: Any, error: int) -> Any:
        (topic,) = request.topics
        (index,) = topic.partition_indexes
        one = OffsetFetchResponse.OffsetFetchResponseTopic
        result = one.OffsetFetchResponsePartition(
            partition_index=index,
            committed_offset=self.offsets.get((request.group_id, topic.name, index), -1),
            committed_leader_epoch=-1,
            metadata="",
            error_code=error,
        )
        return OffsetFetchResponse(
            throttle_time_ms=0, topics=[one(name=topic.name, partitions=[result])], error_code=0
        )

    def _create(self, request: Any, error: int) -> Any:
        (topic,) = request.topics
        if not error:
            self.topics.add(topic.name)
        one = CreateTopicsResponse.CreatableTopicResult
        result = one(
            name=topic.name,
            error_code=error,
            error_message=None,
            num_partitions=topic.num_partitions,
            replication_factor=topic.replication_factor,
            configs=[],
        )
        return CreateTopicsResponse(throttle_time_ms=0, topics=[result])

    def _delete(self, request: Any, error: int) -> Any:
        (name,) = request.topic_names
        if not error:
            self.topics.discard(name)
        result = DeleteTopicsResponse.DeletableTopicResult(name=name, error_code=error, error_message=None)
        return DeleteTopicsResponse(throttle_time_ms=0, responses=[result])

    def _describe(self, request: Any, error: int) -> Any:
        (asked,) = request.resources
        own = {key: value for (topic, key), value in self.configs.items() if topic == asked.resource_name}
        one = DescribeConfigsResponse.DescribeConfigsResult
        entries = [
            one.DescribeConfigsResourceResult(
                name=key,
                value=own.get(key, "7"),
                read_only=False,
                config_source=1 if key in own else 5,
                is_sensitive=False,
                synonyms=[],
                config_type=5,
                documentation=None,
            )
            for key in ("flush.ms", "retention.ms")
        ]
        result = one(
            error_code=error,
            error_message=None,
            resource_type=asked.resource_type,
            resource_name=asked.resource_name,
            configs=entries,
        )
        return DescribeConfigsResponse(throttle_time_ms=0, results=[result])

    def _alter(self, request: Any, error: int) -> Any:
        (asked,) = request.resources
        if not error:
            self.configs |= {(asked.resource_name, config.name): config.value for config in asked.configs}
        result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
            error_code=error,
            error_message=None,
            resource_type=asked.resource_type,
            resource_name=asked.resource_name,
        )
        return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=[result])
