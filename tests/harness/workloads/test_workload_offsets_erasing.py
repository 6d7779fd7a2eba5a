"""Groups that are deleted and come again: what is asked for, and what the history has of it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import DeleteGroupsRequest, DeleteGroupsResponse
from kafka.protocol.consumer import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchResponse,
)
from kafka.protocol.metadata import FindCoordinatorResponse

from checkers.groups.erasures import check_erasures
from checkers.history.operations import Operation, OperationType
from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity
from harness.record.journal import Clock, Journals
from harness.vocabulary import OffsetsWorkload
from harness.workloads import offsets_erasing
from harness.workloads.context import WorkloadContext
from harness.workloads.offsets_erasing import GROUPS, STILL, Erasing, ErasingWorker, FinalErasureReader
from tests.harness.fakes.broker import COORDINATOR
from tests.harness.fakes.coordinator import FETCH_OFFSETS, FakeCoordinatorBroker
from tests.harness.fakes.log import FakeLog
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
COMMIT, DELETE_GROUP, DELETE_OFFSET = 8, 42, 47


class Broker(FakeCoordinatorBroker):
    """Coordinates all groups, and keeps their offsets.

    Attributes:
        kept: by group and partition.
        error: Kafka's code for changes and fetches; None: it never answers.
        whole_error: Kafka's code for a deletion of offsets as a whole.
        node: who it says coordinates.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, int], int] = {}
        self.error: int | None = 0
        self.whole_error = 0
        self.find_error = 0
        self.node = 1
        self.versions |= {COMMIT: 8, DELETE_GROUP: 2, DELETE_OFFSET: 0}
        for request in (OffsetCommitRequest, DeleteGroupsRequest, OffsetDeleteRequest):
            self.requests[request.API_KEY] = request
        self.answers |= {
            COORDINATOR: self._found,
            COMMIT: self._committed,
            DELETE_GROUP: self._group_deleted,
            DELETE_OFFSET: self._offset_deleted,
            FETCH_OFFSETS: self._fetched,
        }

    def _found(self, _request: Any) -> Any:
        host, port = self.address
        return FindCoordinatorResponse(
            throttle_time_ms=0, error_code=self.find_error, node_id=self.node, host=host, port=port
        )

    def _committed(self, request: Any) -> Any:
        if self.error is None:
            return None
        (place,) = request.topics[0].partitions
        if not self.error:
            self.kept[request.group_id, place.partition_index] = place.committed_offset
        topic = OffsetCommitResponse.OffsetCommitResponseTopic
        result = topic.OffsetCommitResponsePartition(partition_index=0, error_code=self.error)
        return OffsetCommitResponse(throttle_time_ms=0, topics=[topic(name="offsets-0", partitions=[result])])

    def _group_deleted(self, request: Any) -> Any:
        (group,) = request.groups_names
        if not self.error:
            self.kept = {place: offset for place, offset in self.kept.items() if place[0] != group}
        one = DeleteGroupsResponse.DeletableGroupResult(group_id=group, error_code=self.error)
        return DeleteGroupsResponse(throttle_time_ms=0, results=[one])

    def _offset_deleted(self, request: Any) -> Any:
        (place,) = request.topics[0].partitions
        if not self.error:
            self.kept.pop((request.group_id, place.partition_index), None)
        topic = OffsetDeleteResponse.OffsetDeleteResponseTopic
        result = topic.OffsetDeleteResponsePartition(partition_index=0, error_code=self.error)
        topics = [topic(name="offsets-0", partitions=[result])]
        return OffsetDeleteResponse(
            error_code=self.whole_error, throttle_time_ms=0, topics=[] if self.whole_error else topics
        )

    def _fetched(self, request: Any) -> Any:
        topic = OffsetFetchResponse.OffsetFetchResponseTopic
        results = [
            topic.OffsetFetchResponsePartition(
                partition_index=number,
                committed_offset=self.kept.get((request.group_id, number), -1),
                committed_leader_epoch=-1,
                metadata="",
                error_code=self.error,
            )
            for number in request.topics[0].partition_indexes
        ]
        found = [topic(name="offsets-0", partitions=results)]
        return OffsetFetchResponse(throttle_time_ms=0, topics=found, error_code=0)


class Bench:
    """One broker, and what is recorded of it."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self.folder, self.broker = folder, broker
        self.journals = Journals(folder, "run", Clock())
        workload = OffsetsWorkload(partitions=2, clients=4, erasing_interval_ms=2)
        self.context: WorkloadContext[OffsetsWorkload] = WorkloadContext(
            workload, self.journals, FakeLog(2), (broker.bootstrap,)
        )

    def erasing(self) -> Erasing:
        return Erasing(self.context, self.context.recorder(4))

    def operations(self) -> tuple[Operation, ...]:
        return read_history(self.folder).operations

    def completions(self) -> list[tuple[OperationType, str]]:
        return [(o.type, o.f) for o in self.operations() if o.type is not INVOKE]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(offsets_erasing, "_AGAIN_PAUSE_S", 0.01)
    with Broker() as broker:
        made = Bench(tmp_path, broker)
        yield made
        made.journals.close()


def test_changes_and_fetches_have_what_was_asked_and_answered(bench: Bench) -> None:
    erasing = bench.erasing()
    erasing.commit("gone-1", 0, 5)
    erasing.commit("gone-1", 1, 6)
    assert erasing.fetch("gone-1")
    erasing.delete("gone-1", 0)
    assert erasing.fetch("gone-1")
    erasing.delete("gone-1", None)
    assert erasing.fetch("gone-1")
    values = [o.value for o in bench.operations() if o.type is OK]
    where = {"topic": "offsets-0", "to": 1}
    assert values == [
        where | {"partition": 0, "offset": 5, "code": 0},
        where | {"partition": 1, "offset": 6, "code": 0},
        where | {"offsets": [[0, 5], [1, 6]]},
        where | {"partition": 0, "code": 0},
        where | {"offsets": [[0, None], [1, 6]]},
        where | {"partition": None, "code": 0},
        where | {"offsets": [[0, None], [1, None]]},
    ]
    result = check_erasures(read_history(bench.folder))
    assert (result.validity, result.figures["offsets_compared"]) == (Validity.VALID, 6)


@pytest.mark.parametrize(
    ("error", "fates"), [(25, (FAIL, INFO)), (14, (FAIL, FAIL)), (69, (FAIL, FAIL)), (16, (INFO, INFO))]
)
def test_refusals_prove_what_the_table_says(
    bench: Bench, error: int, fates: tuple[OperationType, OperationType]
) -> None:
    bench.broker.error = error
    erasing = bench.erasing()
    erasing.commit("gone-1", 0, 5)
    erasing.delete("gone-1", 0)
    erasing.delete("gone-1", None)
    assert not erasing.fetch("gone-1")
    commit, delete = fates
    assert [type_ for type_, _ in bench.completions()] == [commit, delete, delete, FAIL]
    assert bench.operations()[1].value["code"] == error


def test_a_deletion_of_an_offset_may_be_refused_as_a_whole(bench: Bench) -> None:
    bench.broker.whole_error = 69
    bench.erasing().delete("gone-1", 1)
    assert bench.completions() == [(FAIL, "delete-offsets")]


def test_a_commit_that_is_not_answered_may_be_there(bench: Bench) -> None:
    bench.broker.error = None
    bench.erasing().commit("gone-1", 0, 5)
    assert bench.completions() == [(INFO, "commit-offset")]


@pytest.mark.parametrize(("find_error", "node"), [(15, 1), (0, 9)])
def test_where_nobody_is_known_to_be_asked_nothing_is_recorded(
    bench: Bench, find_error: int, node: int
) -> None:
    bench.broker.find_error, bench.broker.node = find_error, node
    erasing = bench.erasing()
    erasing.commit("gone-1", 0, 5)
    erasing.delete("gone-1", None)
    assert not erasing.fetch("gone-1")
    assert [f for _, f in bench.completions()] == (["fetch-offsets"] if node == 9 else [])


def test_the_worker_changes_all_groups_and_the_last_reader_reads_them(bench: Bench) -> None:
    worker = ErasingWorker(bench.context, 4)
    worker.start()
    wait_until(lambda: len(bench.completions()) > 150)
    worker.stopping.set()
    worker.join(BOUND_S)
    assert worker.failure is None
    bench.broker.error = 14
    reader = FinalErasureReader(bench.context, 2, float("inf"))
    reader.start()
    wait_until(lambda: (FAIL, "fetch-offsets") in bench.completions())
    bench.broker.error = 0
    reader.join(BOUND_S)
    assert not reader.is_alive()
    history = read_history(bench.folder)
    last = {o.key for o in history.of("fetch-offsets") if o.type is OK and o.process == reader_number(bench)}
    assert last == {*GROUPS, *STILL}
    committed = Counter(o.key for o in history.of("commit-offset") if o.type is OK)
    assert {committed[group] for group in STILL} == {0, 1}, "once, in this order, as far as it came"
    assert [group for group in STILL if committed[group]] == list(STILL[: sum(committed[g] for g in STILL)])
    again = [o.key for o in history.of("fetch-offsets") if o.type is OK and o.process == 4]
    assert len(again) > len(set(again)), "still groups are looked at while others are changed"
    result = check_erasures(history)
    assert (result.validity, result.anomalies) == (Validity.VALID, ())
    assert {o.f for o in history.operations if o.type is OK} >= {"commit-offset", "delete-offsets"}


def reader_number(bench: Bench) -> int:
    return bench.context.first_final_worker + 2


def test_once_all_still_groups_have_committed_they_are_looked_at_only(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets_erasing, "STILL", STILL[:2])
    worker = ErasingWorker(bench.context, 4)
    for _ in range(5):
        worker.commit_still()
    assert [f for _, f in bench.completions()] == [
        *["commit-offset", "fetch-offsets"] * 2,
        *["fetch-offsets"] * 3,
    ]
