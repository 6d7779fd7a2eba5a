"""A broker on loopback that the real client libraries can talk to, and that fails as the test decides."""

from collections import Counter
from typing import Any

from kafka.protocol.consumer import FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataResponse
from kafka.protocol.producer import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)
from kafka.record import MemoryRecordsBuilder

from tests.harness.fakes.node import METADATA, FakeNode

PRODUCE, FETCH, LIST_OFFSETS, COORDINATOR, INIT_PRODUCER_ID = 0, 1, 2, 10, 22
EARLIEST = -2


class FakeBroker(FakeNode):
    """Leads all partitions of ``log-0``.

    Attributes:
        produce_error: Kafka's code for every Produce; None: it never answers.
        fetch_error: Kafka's code for every Fetch.
        base_offset: offset of the first record that is produced to a partition; below 0, none is sent.
        records: what there is to fetch, by partition; offsets from 0.
    """

    def __init__(self, partitions: int = 2) -> None:
        super().__init__()
        self.produce_error: int | None = 0
        self.fetch_error = 0
        self.base_offset = 40
        self._produced: Counter[int] = Counter()
        self.records: list[list[bytes]] = [[] for _ in range(partitions)]
        self.versions |= {PRODUCE: 9, FETCH: 11, LIST_OFFSETS: 5, COORDINATOR: 3, INIT_PRODUCER_ID: 4}
        self.requests |= {
            PRODUCE: ProduceRequest,
            FETCH: FetchRequest,
            LIST_OFFSETS: ListOffsetsRequest,
            COORDINATOR: FindCoordinatorRequest,
            INIT_PRODUCER_ID: InitProducerIdRequest,
        }
        self.answers |= {
            METADATA: self._metadata,
            PRODUCE: self._produce,
            FETCH: self._fetch,
            LIST_OFFSETS: self._list_offsets,
            COORDINATOR: lambda _request: None,
            INIT_PRODUCER_ID: self._init_producer_id,
        }

    @property
    def bootstrap(self) -> str:
        host, port = self.address
        return f"{host}:{port}"

    def _metadata(self, _request: Any) -> Any:
        host, port = self.address
        topic = MetadataResponse.MetadataResponseTopic
        partitions = [
            topic.MetadataResponsePartition(
                error_code=0,
                partition_index=index,
                leader_id=1,
                leader_epoch=0,
                replica_nodes=[1],
                isr_nodes=[1],
                offline_replicas=[],
            )
            for index in range(len(self.records))
        ]
        return MetadataResponse(
            throttle_time_ms=0,
            brokers=[MetadataResponse.MetadataResponseBroker(node_id=1, host=host, port=port, rack=None)],
            cluster_id="cluster",
            controller_id=1,
            topics=[
                topic(error_code=0, name="log-0", topic_id=None, is_internal=False, partitions=partitions)
            ],
        )

    def _produce(self, request: Any) -> Any:
        if self.produce_error is None:
            return None
        topic = ProduceResponse.TopicProduceResponse
        answers = [
            topic.PartitionProduceResponse(
                index=data.index,
                error_code=self.produce_error,
                base_offset=-1 if self.produce_error else self._appended(data),
                log_append_time_ms=-1,
                log_start_offset=0,
                record_errors=[],
                error_message=None,
            )
            for data in request.topic_data[0].partition_data
        ]
        return ProduceResponse(
            responses=[topic(name="log-0", partition_responses=answers)], throttle_time_ms=0
        )

    def _appended(self, data: Any) -> int:
        """The offset of the first record of a batch, whose header ends with their number."""
        first = self.base_offset + self._produced[data.index]
        self._produced[data.index] += int.from_bytes(bytes(data.records)[57:61], "big")
        return self.base_offset if self.base_offset < 0 else first

    def _init_producer_id(self, _request: Any) -> Any:
        return InitProducerIdResponse(throttle_time_ms=0, error_code=0, producer_id=7, producer_epoch=0)

    def _list_offsets(self, request: Any) -> Any:
        topic = ListOffsetsResponse.ListOffsetsTopicResponse
        answers = [
            topic.ListOffsetsPartitionResponse(
                partition_index=asked.partition_index,
                error_code=0,
                timestamp=-1,
                offset=0 if asked.timestamp == EARLIEST else len(self.records[asked.partition_index]),
                leader_epoch=0,
            )
            for asked in request.topics[0].partitions
        ]
        return ListOffsetsResponse(throttle_time_ms=0, topics=[topic(name="log-0", partitions=answers)])

    def _fetch(self, request: Any) -> Any:
        topic = FetchResponse.FetchableTopicResponse
        answers = [
            topic.PartitionData(
                partition_index=asked.partition,
                error_code=self.fetch_error,
                high_watermark=len(self.records[asked.partition]),
                last_stable_offset=len(self.records[asked.partition]),
                log_start_offset=0,
                aborted_transactions=None,
                preferred_read_replica=-1,
                records=self._batch(asked.partition, asked.fetch_offset),
            )
            for wanted in request.topics
            for asked in wanted.partitions
        ]
        responses = [topic(topic="log-0", partitions=answers)] if answers else []
        return FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=responses)

    def _batch(self, partition: int, first: int) -> bytes:
        """All records of the partition as one batch, whatever lies before what was asked for included."""
        values = self.records[partition]
        if self.fetch_error or first >= len(values):
            return b""
        builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 20)
        for value in values:
            builder.append(timestamp=1, key=None, value=value)
        builder.close()
        return bytes(builder.buffer())
