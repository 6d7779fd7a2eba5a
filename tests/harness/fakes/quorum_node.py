"""A controller or broker on loopback that describes its quorum and changes voters as the test decides."""

from typing import Any

from kafka.protocol.admin import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)

from checkers.history.quorum import ReplicaState
from harness.administration.schemas import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from harness.administration.voters import directory_uuid
from tests.harness.fakes.node import METADATA, QUORUM, FakeNode, metadata_answer

CLUSTER, ADD, REMOVE = 60, 80, 81
FIRST, SECOND, THIRD = "pl2yURLxReyXmuf8pnFOsg", "-_2yURLxReyXmuf8pnFOsg", "AA2yURLxReyXmuf8pnFOsg"
NOW_MS = 1_800_000_000_000


class FakeQuorumNode(FakeNode):
    """A controller, or with `is_broker` one that passes requests on.

    Attributes:
        error: code of the partition in DescribeQuorum; None: it never answers.
        cluster_error: code of DescribeCluster.
        voters: as it reports them, the first one leads.
        observers: the same.
        controllers: addresses by id, as DescribeCluster reports.
        endpoints: of voters, by id.
        high_watermark: as it reports it.
        answer: code and message of every change; None: it never answers.
        changes: requests for changes, in order.
    """

    def __init__(self, *, is_broker: bool = False) -> None:
        super().__init__()
        self.error: int | None = 0
        self.cluster_error = 0
        self.voters = [
            ReplicaState(101, FIRST, 40, -1, NOW_MS),
            ReplicaState(102, SECOND, 38, NOW_MS - 20, NOW_MS - 30),
        ]
        self.observers = [ReplicaState(103, THIRD, 40, NOW_MS - 5, NOW_MS - 6)]
        self.controllers = {101: self.address, 103: ("10.0.0.3", 9093)}
        self.endpoints = {101: ("CONTROLLER", "10.0.0.1", 9093), 102: ("CONTROLLER", "10.0.0.2", 9093)}
        self.high_watermark = 38
        self.features = {"kraft.version": 1}
        self.answer: tuple[int, str | None] | None = (0, None)
        self.changes: list[Any] = []
        self.is_broker = is_broker
        self.versions |= {CLUSTER: 2, ADD: 1, REMOVE: 0}
        if not is_broker:
            del self.versions[METADATA]
        self.requests |= {
            CLUSTER: DescribeClusterRequest,
            QUORUM: DescribeQuorumRequest,
            ADD: AddRaftVoterRequest,
            REMOVE: RemoveRaftVoterRequest,
        }
        self.answers |= {
            CLUSTER: self._cluster,
            QUORUM: self._quorum,
            METADATA: self._metadata,
            ADD: lambda request: self._change(request, AddRaftVoterResponse),
            REMOVE: lambda request: self._change(request, RemoveRaftVoterResponse),
        }

    def _metadata(self, _request: Any) -> Any:
        answer = metadata_answer([1], [])
        answer.brokers[0].host, answer.brokers[0].port = self.address
        return answer

    def _cluster(self, request: Any) -> Any:
        assert request.endpoint_type == (1 if self.is_broker else 2)
        broker = DescribeClusterResponse.DescribeClusterBroker
        return DescribeClusterResponse(
            throttle_time_ms=0,
            error_code=self.cluster_error,
            error_message=None,
            endpoint_type=request.endpoint_type,
            cluster_id="the-cluster",
            controller_id=101,
            brokers=[
                broker(broker_id=each, host=host, port=port, rack=None, is_fenced=False)
                for each, (host, port) in self.controllers.items()
            ],
        )

    def _quorum(self, _request: Any) -> Any:
        if self.error is None:
            return None
        topic = DescribeQuorumResponse.TopicData
        partition = topic.PartitionData(
            partition_index=0,
            error_code=self.error,
            error_message=None,
            leader_id=self.voters[0].id if not self.error else -1,
            leader_epoch=7 if not self.error else -1,
            high_watermark=self.high_watermark,
            current_voters=[_state(each) for each in self.voters],
            observers=[_state(each) for each in self.observers],
        )
        node = DescribeQuorumResponse.Node
        return DescribeQuorumResponse(
            error_code=0,
            error_message=None,
            topics=[topic(topic_name="__cluster_metadata", partitions=[partition])],
            nodes=[
                node(node_id=each, listeners=[node.Listener(name=name, host=host, port=port)])
                for each, (name, host, port) in self.endpoints.items()
            ],
        )

    def _change(self, request: Any, response: Any) -> Any:
        self.changes.append(request)
        if self.answer is None:
            return None
        code, message = self.answer
        return response(throttle_time_ms=0, error_code=code, error_message=message)


def _state(replica: ReplicaState) -> Any:
    return DescribeQuorumResponse.TopicData.PartitionData.ReplicaState(
        replica_id=replica.id,
        replica_directory_id=directory_uuid(replica.directory_id) if replica.directory_id else None,
        log_end_offset=replica.log_end_offset,
        last_fetch_timestamp=replica.last_fetch_ms,
        last_caught_up_timestamp=replica.last_caught_up_ms,
    )
