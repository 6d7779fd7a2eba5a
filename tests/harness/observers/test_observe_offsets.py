"""Leaders are asked where their partitions begin and end; what they refuse and who is silent is left out."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse

from checkers.history.observed import OffsetsRequested, PartitionAnswer
from harness.kafka.answers import TopicAnswer
from harness.observers import ClusterView, Observers, observers
from harness.observers.offsets import OffsetsObserver
from harness.record.journal import Clock, Journals
from harness.vocabulary import Node, Topology
from tests.harness.fakes.node import (
    ELR,
    METADATA,
    QUORUM,
    FakeNode,
    elr_answer,
    metadata_answer,
    quorum_answer,
)
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, wait_until

LIST = ListOffsetsRequest.API_KEY
NEWEST_VERSION, FENCED = 11, 74
STAMP_MS = 1_790_000_000_000


class Leader(FakeNode):
    """Broker 1, which answers with the partition's number and its leader epoch; partition 2 it refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.versions[LIST] = NEWEST_VERSION
        self.requests[LIST] = ListOffsetsRequest
        self.answers[LIST] = self.listed
        self.questions: list[tuple[int, int]] = []
        self.partitions: list[tuple[int, int]] = []
        self.stamp_ms = STAMP_MS

    def listed(self, request: Any) -> Any:
        (asked,) = request.topics
        self.questions.append((request.isolation_level, asked.partitions[0].timestamp))
        self.partitions += [(each.partition_index, each.current_leader_epoch) for each in asked.partitions]
        topic = ListOffsetsResponse.ListOffsetsTopicResponse
        partitions = [
            topic.ListOffsetsPartitionResponse(
                partition_index=each.partition_index,
                error_code=FENCED if each.partition_index == 2 else 0,
                timestamp=self.stamp_ms,
                offset=40 + each.partition_index,
                leader_epoch=0,
            )
            for each in asked.partitions
        ]
        return ListOffsetsResponse(throttle_time_ms=0, topics=[topic(name=asked.name, partitions=partitions)])


class Bench:
    """One observer of one broker, that looks when it is asked to."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.leader = stack.enter_context(Leader())
        self.journals = Journals(folder, "run", Clock())
        stack.callback(self.journals.close)
        self.view = ClusterView(fresh_s=BOUND_S)
        listeners = {"n1": (1, self.leader.address)}
        self.observer = OffsetsObserver(self.journals, listeners, self.view, 1.0, BOUND_S)
        stack.callback(self.observer.end)

    def saw(self, *leaders: int) -> None:
        states = tuple(PartitionAnswer(p, who, 5 + p, (1, 2), (1, 2), None) for p, who in enumerate(leaders))
        self.view.saw_topics("n1", {"log-0": TopicAnswer("log-0", "id", 0, states)})

    def requested_ms(self) -> list[int]:
        """The timestamps that were requested, in order."""
        values = self.recorded_values()
        return [value["since_ms"] for value in values if value["what"] == OffsetsRequested.SINCE]

    def recorded_values(self) -> list[dict[str, Any]]:
        return [operation.value for operation in recorded(self.folder, "observer-offsets")]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ExitStack() as stack:
        yield Bench(tmp_path, stack)


def test_a_broker_is_asked_for_the_partitions_it_leads_in_its_reported_epoch(bench: Bench) -> None:
    bench.saw(1, 2, 1, 1)
    bench.observer.look()
    (value,) = bench.recorded_values()
    assert bench.leader.partitions == [(0, 5), (2, 7), (3, 8)]
    assert value["topics"] == {"log-0": [[0, 5, 40, STAMP_MS], [3, 8, 43, STAMP_MS]]}
    assert value["began_ns"] > 0
    assert value["wall_ms"] > STAMP_MS // 2


def test_every_question_is_asked_in_the_protocols_words(bench: Bench) -> None:
    bench.saw(1)
    while {value["what"] for value in bench.recorded_values()} != {each.value for each in OffsetsRequested}:
        bench.observer.look()
    words = {"latest": (0, -1), "stable": (1, -1), "earliest": (0, -2), "newest": (0, -3)}
    for value, (isolation, timestamp) in zip(bench.recorded_values(), bench.leader.questions, strict=True):
        if value["what"] == OffsetsRequested.SINCE:
            assert (isolation, timestamp) == (0, value["since_ms"])
            of_record = abs(timestamp - STAMP_MS) <= 1
            assert of_record or value["wall_ms"] - 15_000 < timestamp <= value["wall_ms"]
        else:
            assert ((isolation, timestamp), value["since_ms"]) == (words[value["what"]], None)
    assert bench.leader.connections == 1


def test_the_timestamps_of_returned_records_are_often_requested_and_those_beside_them(bench: Bench) -> None:
    bench.saw(1)
    bench.leader.stamp_ms = STAMP_MS // 1_000
    for _ in range(200):
        bench.observer.look()
    since = [
        value["since_ms"] for value in bench.recorded_values() if value["what"] == OffsetsRequested.SINCE
    ]
    off = [each - bench.leader.stamp_ms for each in since if each < STAMP_MS // 2]
    assert set(off) == {-1, 0, 1}
    assert len(off) > 20
    assert len(since) - len(off) > 10
    assert since[0] > STAMP_MS // 2, "nothing had been returned before"


def test_where_no_record_is_returned_no_timestamp_is_remembered(bench: Bench) -> None:
    bench.saw(1)
    bench.leader.stamp_ms = -1
    for _ in range(60):
        bench.observer.look()
    since = [
        value["since_ms"] for value in bench.recorded_values() if value["what"] == OffsetsRequested.SINCE
    ]
    assert min(since) > STAMP_MS // 2


def test_who_leads_nothing_is_not_asked(bench: Bench) -> None:
    bench.observer.look()
    bench.saw(2, -1)
    bench.observer.look()
    assert (bench.recorded_values(), bench.leader.connections) == ([], 0)


def test_a_broker_that_hangs_up_is_asked_anew(bench: Bench) -> None:
    bench.saw(1)
    bench.observer.look()
    bench.leader.hang_up()
    bench.observer.look()
    bench.observer.look()
    assert len(bench.recorded_values()) == 2
    bench.leader.close()
    bench.observer.look()
    bench.observer.look()
    assert len(bench.recorded_values()) == 2


class Cluster:
    """A node that leads its partition, for all observers."""

    def __init__(self, folder: Path, leader: Leader) -> None:
        self.folder = folder
        self.nodes = Topology(brokers=1, controllers=1).nodes()
        self.controller_listeners = {node.name: leader.address for node in self.nodes}
        self.observe_listeners = self.controller_listeners

    def disk(self, node: Node) -> Path:
        return self.folder / "disks" / node.name

    def disks(self, node: Node) -> tuple[Path, ...]:
        return (self.disk(node),)


def test_observers_ask_for_offsets_where_they_are_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observers, "STOP_BOUND_S", BOUND_S)
    with ExitStack() as stack:
        leader = stack.enter_context(Leader())
        leader.answers[QUORUM] = lambda _request: quorum_answer(0, 0, 0, {}, error=6)
        leader.answers[METADATA] = lambda _request: metadata_answer([1], [(1, 0)])
        leader.answers[ELR] = lambda _request: elr_answer({0: []})
        journals = Journals(tmp_path, "run", Clock())
        stack.callback(journals.close)
        made = Observers(Cluster(tmp_path, leader), ("log-0",), journals, interval_ms=5, offsets=True)
        made.start()
        wait_until(lambda: recorded(tmp_path, "observer-offsets"))
        made.stop()
        assert {one.node for one in recorded(tmp_path, "observer-offsets")} == {"n1"}
