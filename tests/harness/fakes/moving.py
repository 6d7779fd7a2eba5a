"""A broker on loopback whose partitions can be reassigned; they arrive when the test says so."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafka.protocol.metadata import MetadataResponse

from tests.harness.fakes.node import ELR, METADATA, FakeNode

REASSIGN, LIST, LOG_DIRS, ALTER_CONFIGS = 45, 46, 35, 44
TOPIC, BROKER = 2, 4

Place = tuple[str, int]


class FakeMoving(FakeNode):
    """Every broker at one address, and the controller too.

    Attributes:
        alive: ids of brokers that are up; with several, only the last one is known by its address.
        replicas: of each partition, its leader first; a topic exists if one of its partitions does.
        moving: target of each partition that is being reassigned.
        sizes: bytes of each partition's log on this broker.
        offline: log directories with an error, beside the one that works.
        configs: (type, name) of a resource to its configs.
        errors: Kafka's code to answer a whole request with; None: it never answers.
        refusals: code for one partition.
    """

    def __init__(self, replicas: dict[Place, tuple[int, ...]] | None = None) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self.alive = [1]
        self.replicas = dict(replicas or {("log-0", 0): (1, 2), ("log-0", 1): (1, 2)})
        self.moving: dict[Place, tuple[int, ...]] = {}
        self.sizes: dict[Place, int] = {}
        self.offline: list[str] = []
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.errors: dict[int, int | None] = {}
        self.refusals: dict[Place, int] = {}
        self.listed: list[list[Place] | None] = []
        del self.versions[ELR]
        self.versions |= {REASSIGN: 1, LIST: 0, LOG_DIRS: 4, ALTER_CONFIGS: 1}
        self.requests |= {
            REASSIGN: AlterPartitionReassignmentsRequest,
            LIST: ListPartitionReassignmentsRequest,
            LOG_DIRS: DescribeLogDirsRequest,
            ALTER_CONFIGS: IncrementalAlterConfigsRequest,
        }
        answers = {
            METADATA: self._metadata,
            REASSIGN: self._reassign,
            LIST: self._list,
            LOG_DIRS: self._log_dirs,
            ALTER_CONFIGS: self._alter,
        }
        for key, answer in answers.items():
            self.answers[key] = self._answering(key, answer)

    def arrive(self, *places: Place) -> None:
        """Complete reassignments: of these partitions, or all."""
        with self._lock:
            for place in places or tuple(self.moving):
                self.replicas[place] = self.moving.pop(place)

    def _answering(self, key: int, answer: Callable[[Any, int], Any]) -> Callable[[Any], Any]:
        def answered(request: Any) -> Any:
            with self._lock:
                error = self.errors.get(key, 0)
                return None if error is None else answer(request, error)

        return answered

    def _metadata(self, request: Any, _error: int) -> Any:
        one = MetadataResponse.MetadataResponseTopic
        names = [topic.name for topic in request.topics or ()]
        sizes = Counter(name for name, _ in self.replicas)
        host, port = self.address
        brokers = [
            MetadataResponse.MetadataResponseBroker(node_id=broker, host=host, port=port, rack=None)
            for broker in self.alive
        ]
        topics = [
            one(
                error_code=0 if sizes[name] else 3,
                name=name,
                topic_id=None,
                is_internal=False,
                partitions=[self._partition(name, index) for index in range(sizes[name])],
            )
            for name in names
        ]
        return MetadataResponse(
            throttle_time_ms=0, brokers=brokers, cluster_id="a/cluster", controller_id=1, topics=topics
        )

    def _partition(self, topic: str, index: int) -> Any:
        replicas = list(self._current((topic, index)))
        return MetadataResponse.MetadataResponseTopic.MetadataResponsePartition(
            error_code=0,
            partition_index=index,
            leader_id=replicas[0],
            leader_epoch=0,
            replica_nodes=replicas,
            isr_nodes=replicas,
            offline_replicas=[],
        )

    def _current(self, place: Place) -> tuple[int, ...]:
        before, target = self.replicas[place], self.moving.get(place)
        if target is None:
            return before
        return (*target, *(broker for broker in before if broker not in target))

    def _reassign(self, request: Any, error: int) -> Any:
        one = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
        topics = [
            one(
                name=topic.name,
                partitions=[self._ask(topic.name, wanted, error) for wanted in topic.partitions],
            )
            for topic in request.topics
        ]
        return AlterPartitionReassignmentsResponse(
            throttle_time_ms=0,
            error_code=error,
            error_message="as the test has it" if error else None,
            responses=[] if error else topics,
        )

    def _ask(self, topic: str, wanted: Any, error: int) -> Any:
        place = (topic, wanted.partition_index)
        code = self.refusals.get(place, 0 if place in self.replicas else 3)
        if wanted.replicas is None and not code and place not in self.moving:
            code = 85
        if not code and not error and wanted.replicas is None:
            del self.moving[place]
        elif not code and not error:
            self.moving[place] = tuple(wanted.replicas)
        return AlterPartitionReassignmentsResponse.ReassignableTopicResponse.ReassignablePartitionResponse(
            partition_index=wanted.partition_index,
            error_code=code,
            error_message="no" if code else None,
        )

    def _list(self, request: Any, error: int) -> Any:
        wanted = request.topics
        self.listed.append(
            None
            if wanted is None
            else [(one.name, index) for one in wanted for index in one.partition_indexes]
        )
        one = ListPartitionReassignmentsResponse.OngoingTopicReassignment
        topics = [
            one(
                name=topic,
                partitions=[
                    one.OngoingPartitionReassignment(
                        partition_index=index,
                        replicas=list(self._current((topic, index))),
                        adding_replicas=[b for b in target if b not in self.replicas[topic, index]],
                        removing_replicas=[b for b in self.replicas[topic, index] if b not in target],
                    )
                ],
            )
            for (topic, index), target in tuple(self.moving.items())
        ]
        return ListPartitionReassignmentsResponse(
            throttle_time_ms=0, error_code=error, error_message=None, topics=topics
        )

    def _log_dirs(self, request: Any, error: int) -> Any:
        one = DescribeLogDirsResponse.DescribeLogDirsResult
        wanted = (
            None if request.topics is None else {(t.topic, i) for t in request.topics for i in t.partitions}
        )
        topics = [
            one.DescribeLogDirsTopic(
                name=topic,
                partitions=[
                    one.DescribeLogDirsTopic.DescribeLogDirsPartition(
                        partition_index=index, partition_size=size, offset_lag=0, is_future_key=False
                    )
                ],
            )
            for (topic, index), size in tuple(self.sizes.items())
            if wanted is None or (topic, index) in wanted
        ]
        results = [one(error_code=0, log_dir="/data", topics=topics, total_bytes=9, usable_bytes=9)]
        results += [
            one(error_code=56, log_dir=name, topics=[], total_bytes=-1, usable_bytes=-1)
            for name in self.offline
        ]
        return DescribeLogDirsResponse(throttle_time_ms=0, error_code=error, results=results)

    def _alter(self, request: Any, error: int) -> Any:
        one = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
        for resource in request.resources:
            if not error:
                self._change(resource)
        results = [
            one(
                error_code=error,
                error_message="no" if error else None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
        return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=results)

    def _change(self, resource: Any) -> None:
        configs = self.configs.setdefault((resource.resource_type, resource.resource_name), {})
        for config in resource.configs:
            has = [one for one in configs.get(config.name, "").split(",") if one]
            given = (config.value or "").split(",")
            match config.config_operation:
                case 0:
                    configs[config.name] = config.value
                case 1:
                    configs.pop(config.name, None)
                case 2:
                    configs[config.name] = ",".join([*has, *(one for one in given if one not in has)])
                case 3:
                    configs[config.name] = ",".join(one for one in has if one not in given)
