"""What brokers answer at the end about the producers that they know."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import DescribeProducersRequest, DescribeProducersResponse

from checkers.history.operations import Operation
from checkers.history.reading import read_history
from harness.evidence.known_producers import gather_producers
from harness.record.journal import Clock, Journals, Recorder
from tests.harness.fakes.node import FakeNode

_DESCRIBE = 61
_NO_REPLICA = 6
_PLACES = [("b", 0), ("a", 1), ("a", 0)]


class _Broker(FakeNode):
    """Knows two producers in partitions of even numbers, and has no others."""

    def __init__(self) -> None:
        super().__init__()
        self.versions |= {_DESCRIBE: 0}
        self.requests |= {_DESCRIBE: DescribeProducersRequest}
        self.answers |= {_DESCRIBE: self._describe}
        self.wanted: list[tuple[str, list[int]]] = []

    def _describe(self, request: Any) -> Any:
        topic = DescribeProducersResponse.TopicResponse
        self.wanted += [(each.name, [*each.partition_indexes]) for each in request.topics]
        topics = [
            topic(name=each.name, partitions=[self._response(number) for number in each.partition_indexes])
            for each in request.topics
        ]
        return DescribeProducersResponse(throttle_time_ms=0, topics=topics)

    def _response(self, number: int) -> Any:
        partition = DescribeProducersResponse.TopicResponse.PartitionResponse
        producers = [
            partition.ProducerState(
                producer_id=producer_id,
                producer_epoch=3,
                last_sequence=producer_id + 40,
                last_timestamp=0,
                coordinator_epoch=-1,
                current_txn_start_offset=-1,
            )
            for producer_id in (2, 1)
        ]
        has = number % 2 == 0
        return partition(
            partition_index=number,
            error_code=0 if has else _NO_REPLICA,
            error_message=None,
            active_producers=producers if has else [],
        )


def recorded(tmp_path: Path, **brokers: _Broker) -> Sequence[Operation]:
    journals = Journals(tmp_path, "run", Clock())
    listeners = {name: broker.address for name, broker in brokers.items()}
    gather_producers(Recorder(journals.open("runner"), "runner"), listeners, _PLACES)
    journals.close()
    return read_history(tmp_path).observed("producers")


def test_each_broker_is_asked_once_about_all_partitions(tmp_path: Path) -> None:
    with _Broker() as one, _Broker() as other:
        first, second = recorded(tmp_path, n1=one, n2=other)
    assert one.wanted == other.wanted == [("a", [0, 1]), ("b", [0])]
    known = [[1, 3, 41], [2, 3, 42]]
    assert first.value["topics"] == {"a": [[0, 0, known], [1, _NO_REPLICA, []]], "b": [[0, 0, known]]}
    assert (first.node, second.node) == ("n1", "n2")
    assert 0 <= first.value["began_ns"] <= first.time_ns


@pytest.mark.slow
def test_who_does_not_answer_is_left_out(tmp_path: Path) -> None:
    with _Broker() as one, _Broker() as other:
        one.answers[_DESCRIBE] = lambda _: None
        (observed,) = recorded(tmp_path, n1=one, n2=other)
    assert observed.node == "n2"
