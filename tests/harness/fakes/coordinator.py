"""A broker on loopback that also coordinates transactions and a group's offsets, as the test decides."""

from typing import Any

from kafka.protocol.consumer import OffsetFetchRequest, OffsetFetchResponse
from kafka.protocol.metadata import FindCoordinatorResponse
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

from tests.harness.fakes.broker import COORDINATOR, INIT_PRODUCER_ID, FakeBroker

ADD_PARTITIONS, ADD_OFFSETS, END, COMMIT_OFFSETS, FETCH_OFFSETS = 24, 25, 26, 28, 9


class FakeCoordinatorBroker(FakeBroker):
    """Coordinates every transactional id and group.

    Attributes:
        init_error: Kafka's code for InitProducerId; None: it never answers.
        end_errors: Kafka's codes for each EndTxn in turn, the last of them for ever; None: no answer.
        offsets_error: Kafka's code for TxnOffsetCommit.
        ended: whether each EndTxn asked for a commit.
        members: group, member and generation of each TxnOffsetCommit.
        group_offsets: what the group committed, by partition; -1: nothing.
        fetch_offsets_error: Kafka's code for OffsetFetch, per partition.
    """

    def __init__(self) -> None:
        super().__init__()
        self.init_error: int | None = 0
        self.end_errors: list[int | None] = [0]
        self.offsets_error = 0
        self.ended: list[bool] = []
        self.members: list[tuple[str, str, int]] = []
        self.group_offsets = [17, -1]
        self.fetch_offsets_error = 0
        self.versions |= {ADD_PARTITIONS: 3, ADD_OFFSETS: 3, END: 3, COMMIT_OFFSETS: 3, FETCH_OFFSETS: 7}
        for request in (AddPartitionsToTxnRequest, AddOffsetsToTxnRequest, EndTxnRequest):
            self.requests[request.API_KEY] = request
        self.requests |= {COMMIT_OFFSETS: TxnOffsetCommitRequest, FETCH_OFFSETS: OffsetFetchRequest}
        self.answers |= {
            COORDINATOR: self._coordinator,
            INIT_PRODUCER_ID: self._init,
            ADD_PARTITIONS: _added,
            ADD_OFFSETS: lambda _request: AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=0),
            END: self._end,
            COMMIT_OFFSETS: self._offsets_committed,
            FETCH_OFFSETS: self._offsets_fetched,
        }

    def _coordinator(self, _request: Any) -> Any:
        host, port = self.address
        return FindCoordinatorResponse(
            throttle_time_ms=0, error_code=0, error_message=None, node_id=1, host=host, port=port
        )

    def _init(self, _request: Any) -> Any:
        if self.init_error is None:
            return None
        return InitProducerIdResponse(
            throttle_time_ms=0, error_code=self.init_error, producer_id=7, producer_epoch=3
        )

    def _end(self, request: Any) -> Any:
        self.ended.append(bool(request.committed))
        error = self.end_errors.pop(0) if len(self.end_errors) > 1 else self.end_errors[0]
        if error is None:
            return None
        return EndTxnResponse(throttle_time_ms=0, error_code=error)

    def _offsets_committed(self, request: Any) -> Any:
        self.members.append((request.group_id, request.member_id, request.generation_id))
        topic = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
        partition = topic.TxnOffsetCommitResponsePartition
        answers = [
            topic(
                name=asked.name,
                partitions=[
                    partition(partition_index=one.partition_index, error_code=self.offsets_error)
                    for one in asked.partitions
                ],
            )
            for asked in request.topics
        ]
        return TxnOffsetCommitResponse(throttle_time_ms=0, topics=answers)

    def _offsets_fetched(self, request: Any) -> Any:
        topic = OffsetFetchResponse.OffsetFetchResponseTopic
        answers = [
            topic.OffsetFetchResponsePartition(
                partition_index=index,
                committed_offset=self.group_offsets[index],
                committed_leader_epoch=-1,
                metadata="",
                error_code=self.fetch_offsets_error,
            )
            for index in request.topics[0].partition_indexes
        ]
        found = [topic(name="log-0", partitions=answers)]
        return OffsetFetchResponse(throttle_time_ms=0, topics=found, error_code=0)


def _added(request: Any) -> Any:
    topic = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    partition = topic.AddPartitionsToTxnPartitionResult
    results = [
        topic(
            name=asked.name,
            results_by_partition=[
                partition(partition_index=index, partition_error_code=0) for index in asked.partitions
            ],
        )
        for asked in request.v3_and_below_topics
    ]
    return AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_topic_v3_and_below=results)
