"""Creates and deletes topics by direct requests, which are retried until a new cluster is ready for them."""

import base64
import time
import uuid
from collections.abc import Mapping, Sequence

import msgspec
from kafka.protocol.admin.topics import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kafka.protocol.producer import ProduceRequest, ProduceResponse
from kafka.record import MemoryRecordsBuilder

from checkers.history.error_codes import ErrorCode
from harness.errors import KrucibleError
from harness.kafka.answers import TopicAnswer
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import Connection, WireError

_TIMEOUT_S = 5.0
_RETRY_PAUSE_S = 0.1

Address = tuple[str, int]


class NewTopic(msgspec.Struct, frozen=True):
    """A topic to create, with evenly spread or given replicas.

    Attributes:
        name: its name.
        partitions: number of partitions; ignored with `assignments`.
        replication_factor: number of replicas of each; ignored with `assignments`.
        assignments: broker ids per partition, from partition 0.
        config: topic configs.
    """

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignments: tuple[tuple[int, ...], ...] = ()
    config: dict[str, str] = {}


def create_topic(brokers: Sequence[Address], topic: NewTopic, bound_s: float = 30.0) -> TopicAnswer:
    """Create a topic, wait until a broker reports all its leaders, and return it as that broker sees it.

    Raises:
        KrucibleError: if that did not happen within the bound.
    """
    deadline = time.monotonic() + bound_s
    failure = "never asked"
    created = False
    while time.monotonic() < deadline:
        for address in brokers:
            try:
                created = created or _created(address, topic)
                seen = _with_leaders(address, topic.name)
            except WireError as error:
                failure = f"{address[0]}: {error}"
                continue
            if seen is not None:
                return seen
            failure = f"{address[0]}: not every partition has a leader yet"
        time.sleep(_RETRY_PAUSE_S)
    raise KrucibleError(
        f"topic {topic.name} could not be created",
        got=failure,
        expected=f"every partition has a leader within {bound_s:.0f} s",
        next_step="look at nodes/*/server.log in the run's folder",
    )


def delete_topic(address: Address, name: str) -> None:
    """Delete a topic.

    Raises:
        WireError: if the broker refuses or does not answer.
    """
    with Connection(*address, _TIMEOUT_S) as connection:
        state = DeleteTopicsRequest.DeleteTopicState(name=name, topic_id=None)
        request = DeleteTopicsRequest(topics=[state], topic_names=[name], timeout_ms=5000)
        answer = connection.ask(request, DeleteTopicsResponse)
    code = answer.responses[0].error_code
    if code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        raise WireError(f"DeleteTopics of {name} answered {code}")


def acknowledges_write(address: Address, topic: TopicAnswer, partition: int, value: bytes) -> bool:
    """Whether the broker, asked directly, acknowledges one record with acks=all within 5 s."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1024)
    builder.append(timestamp=int(time.time() * 1000), key=None, value=value)
    builder.close()
    data = ProduceRequest.TopicProduceData
    parts = [data.PartitionProduceData(index=partition, records=bytes(builder.buffer()))]
    request = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=5000,
        # Up to version 12 the name is sent, from 13 on the id.
        topic_data=[data(name=topic.name, topic_id=_uuid(topic.topic_id), partition_data=parts)],
    )
    try:
        with Connection(*address, _TIMEOUT_S) as connection:
            answer = connection.ask(request, ProduceResponse)
    except WireError:
        return False
    return not answer.responses[0].partition_responses[0].error_code


def _uuid(text: str) -> uuid.UUID:
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def _created(address: Address, topic: NewTopic) -> bool:
    creatable = CreateTopicsRequest.CreatableTopic
    assignments = [
        creatable.CreatableReplicaAssignment(partition_index=index, broker_ids=list(ids))
        for index, ids in enumerate(topic.assignments)
    ]
    request = CreateTopicsRequest(
        topics=[
            creatable(
                name=topic.name,
                num_partitions=-1 if assignments else topic.partitions,
                replication_factor=-1 if assignments else topic.replication_factor,
                assignments=assignments,
                configs=_configs(creatable, topic.config),
            )
        ],
        timeout_ms=5000,
    )
    with Connection(*address, _TIMEOUT_S) as connection:
        answer = connection.ask(request, CreateTopicsResponse)
    result = answer.topics[0]
    if result.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        raise WireError(f"CreateTopics answered {result.error_code}: {result.error_message}")
    return True


def _configs(creatable: type[CreateTopicsRequest.CreatableTopic], config: Mapping[str, str]) -> list[object]:
    return [creatable.CreatableTopicConfig(name=key, value=value) for key, value in config.items()]


def _with_leaders(address: Address, name: str) -> TopicAnswer | None:
    endpoint = Endpoint(*address, timeout_s=_TIMEOUT_S)
    try:
        topic = endpoint.cluster([name]).topics[name]
    finally:
        endpoint.close()
    led = bool(topic.partitions) and all(state.leader >= 0 for state in topic.partitions)
    return topic if led else None
