"""The metadata of a single node, requested from that node; and requests to add partitions and set configs."""

from collections.abc import Sequence

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from harness.kafka.answers import kafka_uuid
from harness.kafka.wire import Connection, WireError

_TOPIC = 2
_GROUP = 32
_DYNAMIC_TOPIC_CONFIG = 1
_GROW_TIMEOUT_MS = 1_000
_SET = 0


def described_config(connection: Connection, topic: str, key: str) -> int | None:
    """A topic's config as a number, None if it is not set; from 3.7 on controllers answer too (KIP-919).

    Raises:
        WireError: no answer, or an error.
    """
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_TOPIC, resource_name=topic, configuration_keys=[key]
    )
    answer = connection.ask(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse)
    result = answer.results[0]
    if result.error_code:
        raise WireError(f"DescribeConfigs of {topic} answered {result.error_code}: {result.error_message}")
    own = [config.value for config in result.configs if config.config_source == _DYNAMIC_TOPIC_CONFIG]
    return int(own[0]) if own else None


def group_configs(connection: Connection, group: str) -> dict[str, str | None]:
    """The configs of a group, whether they were set for it or not, as a broker knows them (KIP-848).

    Raises:
        WireError: no answer, or an error.
    """
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_GROUP, resource_name=group, configuration_keys=None
    )
    answer = connection.ask(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse)
    result = answer.results[0]
    if result.error_code:
        raise WireError(f"DescribeConfigs of {group} answered {result.error_code}: {result.error_message}")
    return {config.name: config.value for config in result.configs}


def own_configs(connection: Connection, topics: Sequence[str]) -> dict[str, dict[str, str]]:
    """Configs that were set for topics, by topic; topics with an error in the answer are left out.

    Left out are those without a value: of a config that a broker does not know, as after an upgrade to a
    version without it, it reports the name alone, because the value may be sensitive.

    Raises:
        WireError: no answer.
    """
    resource = DescribeConfigsRequest.DescribeConfigsResource
    asked = [resource(resource_type=_TOPIC, resource_name=name, configuration_keys=None) for name in topics]
    answer = connection.ask(DescribeConfigsRequest(resources=asked), DescribeConfigsResponse)
    return {
        result.resource_name: {
            config.name: config.value
            for config in result.configs
            if config.config_source == _DYNAMIC_TOPIC_CONFIG and config.value is not None
        }
        for result in answer.results
        if not result.error_code
    }


def listed_topics(connection: Connection, prefix: str) -> list[tuple[str, str | None]]:
    """Name and id of every topic with this prefix, in the order of their names.

    Raises:
        WireError: no answer.
    """
    answer = connection.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False), MetadataResponse)
    return sorted(
        (topic.name, kafka_uuid(topic.topic_id))
        for topic in answer.topics
        if topic.name.startswith(prefix) and not topic.error_code
    )


def grown(connection: Connection, topic: str, count: int) -> int:
    """Request a number of partitions for a topic (KIP-195), once; returns Kafka's error code.

    Raises:
        WireError: no answer.
    """
    wanted = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[wanted], timeout_ms=_GROW_TIMEOUT_MS, validate_only=False)
    code: int = connection.ask(request, CreatePartitionsResponse).results[0].error_code
    return code


def configured(connection: Connection, topic: str, config: str, value: str) -> int:
    """Request a value for a topic's config (KIP-339), once; returns Kafka's error code.

    Raises:
        WireError: no answer.
    """
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    change = resource.AlterableConfig(name=config, config_operation=_SET, value=value)
    wanted = resource(resource_type=_TOPIC, resource_name=topic, configs=[change])
    request = IncrementalAlterConfigsRequest(resources=[wanted], validate_only=False)
    code: int = connection.ask(request, IncrementalAlterConfigsResponse).responses[0].error_code
    return code
