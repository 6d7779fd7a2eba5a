"""Requests to one broker for configs and new partitions."""

import msgspec
from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

from harness.kafka.wire import Connection

_TIMEOUT_S = 10.0
_GRACE_S = 2.0
_TOPIC, _BROKER, _GROUP = 2, 4, 32
"""Kafka's numbers for the configs of topics, brokers and groups (``ConfigResource.Type``)."""
_ALL_BROKERS = ""
_SET, _DELETE = 0, 1
"""Kafka's numbers for what a change does with a config (``AlterConfigOp.OpType``)."""

Address = tuple[str, int]


class SettingAnswer(msgspec.Struct, frozen=True):
    """Kafka's answer; the code is 0 if the change was made."""

    code: int
    message: str | None


def alter_topic(address: Address, topic: str, config: str, value: str | None) -> SettingAnswer:
    """Request one config of a topic to be set.

    Raises:
        WireError: no answer.
    """
    return _alter(address, (_TOPIC, topic), config, value)


def alter_brokers(address: Address, config: str, value: str) -> SettingAnswer:
    """Request one dynamic config to be set as the default of all brokers (KIP-226).

    Raises:
        WireError: no answer.
    """
    return _alter(address, (_BROKER, _ALL_BROKERS), config, value)


def alter_broker(address: Address, broker: int, config: str, value: str | None) -> SettingAnswer:
    """Request one dynamic config of one broker to be set, or to be removed with None (KIP-226).

    Raises:
        WireError: no answer.
    """
    return _alter(address, (_BROKER, str(broker)), config, value, _DELETE if value is None else _SET)


def alter_group(address: Address, group: str, config: str, value: str) -> SettingAnswer:
    """Request one config of a group to be set (KIP-848); the group need not exist.

    Raises:
        WireError: no answer.
    """
    return _alter(address, (_GROUP, group), config, value)


def _alter(
    address: Address, whose: tuple[int, str], config: str, value: str | None, change_type: int = _SET
) -> SettingAnswer:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    change = resource.AlterableConfig(name=config, config_operation=change_type, value=value)
    wanted = resource(resource_type=whose[0], resource_name=whose[1], configs=[change])
    request = IncrementalAlterConfigsRequest(resources=[wanted], validate_only=False)
    with Connection(*address, _TIMEOUT_S) as connection:
        (answer,) = connection.ask(request, IncrementalAlterConfigsResponse).responses
    return SettingAnswer(answer.error_code, answer.error_message)


def add_partitions(address: Address, topic: str, count: int, timeout_ms: int) -> SettingAnswer:
    """Request a total number of partitions for a topic (KIP-195); Kafka chooses the brokers.

    Raises:
        WireError: no answer.
    """
    wanted = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[wanted], timeout_ms=timeout_ms, validate_only=False)
    with Connection(*address, timeout_ms / 1000 + _GRACE_S) as connection:
        (answer,) = connection.ask(request, CreatePartitionsResponse).results
    return SettingAnswer(answer.error_code, answer.error_message)
