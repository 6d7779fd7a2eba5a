"""Processes that keep registers and topics, over a cluster in memory: what is recorded is what happened."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka.protocol.metadata import MetadataResponse
from msgspec.structs import replace

from checkers.history.operations import History, Operation, OperationType
from checkers.history.reading import read_history
from checkers.kraft.metadata import check_metadata
from checkers.registers import check_registers
from checkers.verdict.verdict import Validity
from harness.clients import EMBEDDED, ClientFailedError, ClientKind
from harness.clients.administrator import AdminAnswer, Administrator, AdministratorOptions
from harness.clients.administrator_errors import REFUSED_COMMITS, classify_commit
from harness.clients.interface import ProducerRecord, carried
from harness.clients.metadata_views import listed_topics
from harness.kafka.wire import WireError
from harness.record.journal import Clock, Journals, Recorder
from harness.vocabulary import CompactedWorkload, MetadataWorkload, OffsetsWorkload
from harness.workloads import final_read, metadata, registers
from harness.workloads.context import WorkloadContext, uses
from harness.workloads.final_read import end_by
from harness.workloads.load import Load
from harness.workloads.metadata import metadata_final_workers, metadata_workers
from harness.workloads.offsets import offsets_final_workers, offsets_workers
from harness.workloads.offsets_erasing import Erasing
from harness.workloads.opening import implementation_of
from harness.workloads.values import Values
from harness.workloads.worker import Worker
from tests.harness.fakes.administrator import FakeCluster
from tests.harness.fakes.log import FakeLog
from tests.harness.fakes.node import METADATA, FakeNode
from tests.harness.java import KINDS
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, StandingTime, wait_until

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
OFFSETS = OffsetsWorkload(rate=2000, groups=2, clients=4)
TOPICS = MetadataWorkload(rate=400, clients=2, creators=2, viewers=1, topic_rate=400, configured_share=0.5)
DESCRIBE_CONFIGS, CREATE_PARTITIONS, ALTER_CONFIGS = 32, 37, 44


@pytest.fixture(autouse=True)
def _nothing_to_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that are deleted are asked of single brokers, which has tests of its own."""
    monkeypatch.setattr(Erasing, "fetch", lambda *_: True)


class Bench:
    """A workload over a fake cluster, and its history."""

    def __init__(self, folder: Path, workload: Any, bootstrap: tuple[str, ...] = ("127.0.0.1:9",)) -> None:
        self.folder = folder
        self.cluster = FakeCluster()
        self.journals = Journals(folder, "run", Clock())
        self.context: WorkloadContext[Any] = WorkloadContext(
            workload, self.journals, FakeLog(workload.partitions), bootstrap
        )
        self.runner = self.journals.open("runner")

    def load(self, workers: list[Worker], enough: Callable[[], bool]) -> None:
        load = Load(workers)

        def enough_and_well() -> bool:
            load.check()
            return enough()

        load.start()
        wait_until(enough_and_well)
        assert load.stop(BOUND_S) == []

    def operations(self, f: str, kind: OperationType | None = None) -> list[Operation]:
        found = recorded(self.folder)
        return [operation for operation in found if operation.f == f and kind in (None, operation.type)]

    def history(self) -> History:
        return read_history(self.folder)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(*arguments: Any) -> Bench:
        made.append(Bench(tmp_path, *arguments))
        return made[-1]

    yield make
    for each in made:
        each.journals.close()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registers, "_REMAKE_PAUSE_S", 0.005)
    monkeypatch.setattr(registers, "_AGAIN_PAUSE_S", 0.005)
    monkeypatch.setattr(metadata, "_VIEW_PAUSE_S", 0.005)


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> StandingTime:
    made = StandingTime()
    for module in (registers, metadata, final_read):
        monkeypatch.setattr(module, "time", made)
    return made


def finally_read(bench: Bench, workers: list[Worker], deadline: float) -> None:
    Recorder(bench.runner, "runner").observe("phase", "final-read")
    assert end_by(workers, deadline) == []


def test_offsets_are_committed_fetched_and_read_at_the_end(bench: Callable[..., Bench]) -> None:
    made = bench(OFFSETS)
    make = made.cluster.administrator
    made.load(offsets_workers(made.context, make), lambda: len(made.operations("write", OK)) >= 60)
    deadline = time.monotonic() + BOUND_S
    finally_read(made, offsets_final_workers(made.context, deadline, make), deadline)

    assert set(made.cluster.made) == set(EMBEDDED)
    assert made.cluster.closed == len(made.cluster.made)
    values = [operation.value for operation in made.operations("write", INVOKE)]
    assert len(set(values)) == len(values)
    names = {f"offset/group-{g}/offsets-0/{p}" for g in range(2) for p in range(3)}
    assert {operation.key for operation in made.operations("write")} == names
    last = {
        o.key: o.value
        for o in made.operations("read", OK)
        if int(o.process) >= made.context.first_final_worker
    }
    kept = {f"offset/{g}/{t}/{p}": value for (g, t, p), value in made.cluster.registers.items()}
    assert last == {**dict.fromkeys(names), **kept}
    result = check_registers(made.history())
    assert (result.validity, result.figures["strict_linearizable"]) == (Validity.VALID, True)


def test_kafkas_own_client_commits_and_reads_offsets_as_well(bench: Callable[..., Bench]) -> None:
    workload = replace(OFFSETS, clients=6, libraries=KINDS)
    assert workload.needs_java
    assert not OFFSETS.needs_java
    assert uses(workload, ClientKind.JAVA)
    made = bench(workload)
    make = made.cluster.administrator
    made.load(offsets_workers(made.context, make), lambda: len(made.operations("write", OK)) >= 60)
    assert Counter(made.cluster.made) == dict.fromkeys(KINDS, 2)
    made.cluster.made.clear()
    deadline = time.monotonic() + BOUND_S
    finally_read(made, offsets_final_workers(made.context, deadline, make), deadline)
    assert Counter(made.cluster.made) == dict.fromkeys(KINDS, 1)
    assert check_registers(made.history()).validity is Validity.VALID


def test_clients_of_one_library_may_wait_longer(bench: Callable[..., Bench]) -> None:
    made = bench(replace(OFFSETS, patience_ms=10_000))
    waits: dict[ClientKind, tuple[int, int]] = {}

    def make(kind: ClientKind, options: AdministratorOptions) -> Administrator:
        waits[kind] = (options.request_ms, options.operation_ms)
        return made.cluster.administrator(kind, options)

    made.load(offsets_workers(made.context, make), lambda: set(waits) == set(EMBEDDED))
    assert waits == {ClientKind.KAFKA_PYTHON: (9_500, 10_000), ClientKind.CONFLUENT: (2_000, 2_500)}


def test_what_goes_wrong_is_recorded_and_a_spent_client_is_made_anew(bench: Callable[..., Bench]) -> None:
    made = bench(OFFSETS)
    wrong = [AdminAnswer(INFO, error="silence"), AdminAnswer(FAIL, error="loading")] * 5
    made.cluster.on_ask = lambda what: wrong.pop() if wrong and what == "commit" else None
    workers = offsets_workers(made.context, made.cluster.administrator)

    def successors() -> set[int | str]:
        return {o.process for o in made.operations("write", INVOKE)} - set(range(OFFSETS.clients))

    def enough() -> bool:
        retired = len(made.operations("write", INFO))
        return retired == 5 == len(successors()) and len(made.operations("write", OK)) >= 60

    made.load(workers, enough)

    assert [o.error for o in made.operations("write", INFO)] == ["silence"] * 5
    assert [o.error for o in made.operations("write", FAIL)] == ["loading"] * 5
    assert made.cluster.closed == len(made.cluster.made) >= 10
    retired = {o.process for o in made.operations("write", INFO)}
    assert successors() == {process + made.context.workers for process in retired}  # type: ignore[operator]


def test_without_a_client_nothing_was_sent(bench: Callable[..., Bench]) -> None:
    made = bench(OFFSETS)
    errors = [ClientFailedError("nobody answers")] * 6
    made.cluster.on_make = lambda: errors.pop() if errors else None
    workers = offsets_workers(made.context, made.cluster.administrator)
    made.load(workers, lambda: len(made.operations("write", OK)) >= 20)

    failed = [*made.operations("write", FAIL), *made.operations("read", FAIL)]
    assert [operation.error for operation in failed] == ["no client, nothing sent: nobody answers"] * 6


def test_a_final_reader_asks_until_it_is_answered(bench: Callable[..., Bench]) -> None:
    made = bench(OFFSETS)
    wrong = [AdminAnswer(FAIL, error="not now")] * 9
    made.cluster.on_ask = lambda _what: wrong.pop() if wrong else None
    deadline = time.monotonic() + BOUND_S
    finally_read(made, offsets_final_workers(made.context, deadline, made.cluster.administrator), deadline)
    assert len(made.operations("read", FAIL)) == 9
    assert len(made.operations("read", OK)) == 2 * 6


def test_a_final_reader_gives_up_at_its_deadline(bench: Callable[..., Bench], standing: StandingTime) -> None:
    def never(_what: str) -> AdminAnswer:
        standing.go_on(1.0)
        return AdminAnswer(FAIL, error="never")

    made = bench(OFFSETS)
    made.cluster.on_ask = never
    deadline = standing.monotonic() + 20.0
    finally_read(made, offsets_final_workers(made.context, deadline, made.cluster.administrator), deadline)
    assert made.operations("read", FAIL)
    assert not made.operations("read", OK)


def test_values_of_compacted_records_have_keys() -> None:
    workload = CompactedWorkload(keys=7)
    assert [workload.key_of(value) for value in (6, 7, 15)] == [6, 0, 1]
    assert workload.topics[0].config["cleanup.policy"] == "compact"
    assert callable(implementation_of(workload).workers)


def test_one_record_of_a_key_in_so_many_is_a_tombstone() -> None:
    workload = CompactedWorkload(keys=7, tombstones=3)
    assert [value for value in range(30) if workload.is_tombstone(value)] == [*range(14, 21)]
    assert not any(CompactedWorkload(tombstones=0).is_tombstone(value) for value in range(3000))
    assert not OffsetsWorkload().is_tombstone(1)


def test_a_producer_writes_some_keys_several_times_and_then_leaves_them() -> None:
    workload = CompactedWorkload(keys=12, active_keys=8)
    values = Values(0, workload.is_resting)
    keys = [workload.key_of(values.draw()) for _ in range(31)]
    first, second, third, fourth = keys[:7], keys[7:15], keys[15:23], keys[23:31]
    assert first == [1, 2, 3, 4, 5, 6, 7]  # sequences begin with 1
    assert second == [2, 3, 4, 5, 6, 7, 8, 9]
    assert third == [4, 5, 6, 7, 8, 9, 10, 11]
    assert sorted(fourth) == [0, 1, 6, 7, 8, 9, 10, 11]
    assert not any(OffsetsWorkload().is_resting(value) for value in range(100))


def test_all_producers_write_the_same_keys_at_the_same_pace() -> None:
    workload = CompactedWorkload()
    drawn = [
        {workload.key_of(values.draw()) for _ in range(workload.active_keys * 3)}
        for values in (Values(worker, workload.is_resting) for worker in range(workload.producers))
    ]
    assert all(keys == {*range(1, 240)} for keys in drawn)  # sequences begin with 1


def test_a_tombstone_has_its_value_in_a_header() -> None:
    record, mark = ProducerRecord(0, b"v", b"k"), ProducerRecord(0, b"v", b"k", tombstone=True)
    assert (record.content, record.headers) == (b"v", [])
    assert (mark.content, mark.headers) == (None, [("value", b"v")])
    assert carried(b"v", [("value", b"x")]) == b"v"
    assert carried(None, [("other", b"x"), *mark.headers]) == b"v"
    assert carried(None, None) is None


class FakeBrokerOfTopics(FakeNode):
    """Tells the topics and configs of a fake cluster."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster: FakeCluster | None = None
        self.hidden: list[str] = []
        self.versions |= {DESCRIBE_CONFIGS: 4}
        self.requests |= {DESCRIBE_CONFIGS: DescribeConfigsRequest}
        self.answers |= {METADATA: self._metadata, DESCRIBE_CONFIGS: self._configs}
        self.versions |= {CREATE_PARTITIONS: 3}
        self.requests |= {CREATE_PARTITIONS: CreatePartitionsRequest}
        self.answers |= {CREATE_PARTITIONS: self._grown}
        self.refusals = [37, 7]
        self.versions |= {ALTER_CONFIGS: 1}
        self.requests |= {ALTER_CONFIGS: IncrementalAlterConfigsRequest}
        self.answers |= {ALTER_CONFIGS: self._configured}
        self.changes: list[tuple[str, str, str]] = []
        self.unwilling = [40, 7]

    @property
    def bootstrap(self) -> str:
        host, port = self.address
        return f"{host}:{port}"

    def _grown(self, request: Any) -> Any:
        (wanted,) = request.topics
        error = self.refusals.pop() if self.refusals else 0
        result = CreatePartitionsResponse.CreatePartitionsTopicResult
        answer = result(name=wanted.name, error_code=error, error_message=None)
        return CreatePartitionsResponse(throttle_time_ms=0, results=[answer])

    def _configured(self, request: Any) -> Any:
        (wanted,) = request.resources
        (config,) = wanted.configs
        assert (wanted.resource_type, config.config_operation) == (2, 0)
        self.changes.append((wanted.resource_name, config.name, config.value))
        error = self.unwilling.pop() if self.unwilling else 0
        result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
        answer = result(
            error_code=error, error_message=None, resource_type=2, resource_name=wanted.resource_name
        )
        return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=[answer])

    def _metadata(self, _request: Any) -> Any:
        assert self.cluster is not None
        hidden = self.hidden.pop() if self.hidden else None
        with self.cluster.lock:
            names = [name for name in ("config-0", *self.cluster.topics) if name != hidden]
        one = MetadataResponse.MetadataResponseTopic
        return MetadataResponse(
            throttle_time_ms=0,
            brokers=[],
            cluster_id="cluster",
            controller_id=1,
            topics=[
                one(error_code=0, name=name, topic_id=None, is_internal=False, partitions=[])
                for name in names
            ],
        )

    def _configs(self, request: Any) -> Any:
        assert self.cluster is not None
        (asked,) = request.resources
        (key,) = asked.configuration_keys
        value = self.cluster.registers.get((asked.resource_name, key))
        result = DescribeConfigsResponse.DescribeConfigsResult
        own = result.DescribeConfigsResourceResult(
            name=key, value=str(7 if value is None else value), config_source=5 if value is None else 1
        )
        answer = result(
            error_code=0,
            error_message=None,
            resource_type=2,
            resource_name=asked.resource_name,
            configs=[own],
        )
        return DescribeConfigsResponse(throttle_time_ms=0, results=[answer])


@pytest.fixture
def node() -> Iterator[FakeBrokerOfTopics]:
    with FakeBrokerOfTopics() as made:
        yield made


def test_topics_come_and_go_and_brokers_are_asked(
    bench: Callable[..., Bench], node: FakeBrokerOfTopics
) -> None:
    made = bench(TOPICS, (node.bootstrap,))
    node.cluster = made.cluster

    def enough() -> bool:
        changed = len(made.operations("delete-topic", OK)) >= 10 and len(made.operations("write", OK)) >= 20
        grown = made.operations("create-partitions", OK) and made.operations("configure-topic", OK)
        return changed and grown != [] and len(made.operations("list-topics", OK)) >= 5

    made.load(metadata_workers(made.context, made.cluster.administrator), enough)
    deadline = time.monotonic() + BOUND_S
    lag_ns = 200_000_000
    ending_ns = made.operations("read", OK)[-1].time_ns
    finally_read(
        made, metadata_final_workers(made.context, deadline, made.cluster.administrator, lag_ns), deadline
    )
    asked = Counter(o.key for o in made.operations("read", OK) if o.time_ns > ending_ns + lag_ns)
    assert set(asked) == {o.key for o in made.operations("read", OK)}
    assert {o.error for o in made.operations("create-partitions", INFO)} == {
        "INVALID_PARTITIONS",
        "REQUEST_TIMED_OUT",
    }
    altered = made.operations("configure-topic", INVOKE)
    assert sorted((o.key, o.value["config"], o.value["value"]) for o in altered) == sorted(node.changes)
    assert {o.error for o in made.operations("configure-topic", INFO)} == {
        "INVALID_CONFIG",
        "REQUEST_TIMED_OUT",
    }
    assert {o.value["config"] for o in altered} <= set(metadata.CONFIG_KEYS)
    assert min(asked.values()) >= len(EMBEDDED), "a slow machine reads the first time that late, too"

    created = [operation.key for operation in made.operations("create-topic", OK)]
    deleted = [operation.key for operation in made.operations("delete-topic", OK)]
    assert len(set(created)) < len(created)
    left = Counter(created) - Counter(deleted)
    assert dict(left) == dict.fromkeys(made.cluster.topics, 1)
    final = max(made.operations("list-topics", OK), key=lambda operation: operation.time_ns)
    assert final.key == node.bootstrap
    assert final.value == [[name, None] for name in sorted(made.cluster.topics)]
    history = made.history()
    assert check_metadata(history).validity is Validity.VALID
    assert check_registers(history).validity is Validity.VALID


@pytest.mark.parametrize(
    ("share", "outcome", "second"),
    [(1.0, OK, "made-2-1"), (1.0, INFO, "made-2-1"), (1.0, FAIL, "made-2-2"), (0.0, OK, "made-2-2")],
)
def test_a_name_is_taken_again_once_its_topic_may_be_gone(
    bench: Callable[..., Bench], share: float, outcome: OperationType, second: str
) -> None:
    made = bench(msgspec.structs.replace(TOPICS, recreated_share=share))
    made.cluster.on_ask = lambda what: AdminAnswer(outcome) if what == "delete" else None
    creator = metadata.CreatorWorker(made.context, 0, made.cluster.administrator)
    creator.create_once()
    creator.delete_once()
    made.cluster.topics.clear()
    creator.create_once()
    creator.create_once()
    created = [operation.key for operation in made.operations("create-topic", OK)]
    new = "made-2-2" if second == "made-2-1" else "made-2-3"
    assert created == ["made-2-1", second, new]


def test_a_topic_of_unknown_fate_is_deleted_and_one_that_failed_is_not(bench: Callable[..., Bench]) -> None:
    made = bench(TOPICS)
    made.cluster.on_ask = lambda what: AdminAnswer(INFO, error="?") if what == "create" else None
    made.cluster.on_make = lambda: None
    creator = metadata.CreatorWorker(made.context, 0, made.cluster.administrator)
    creator.create_once()
    made.cluster.on_ask = lambda what: AdminAnswer(FAIL, error="no") if what == "create" else None
    creator.create_once()
    made.cluster.topics["made-2-1"] = "id"
    creator.delete_once()
    assert [operation.key for operation in made.operations("delete-topic", OK)] == ["made-2-1"]
    assert len(made.operations("create-topic", FAIL)) == 1


def test_a_node_that_does_not_answer_is_asked_again(
    bench: Callable[..., Bench], node: FakeBrokerOfTopics
) -> None:
    made = bench(TOPICS, (node.bootstrap, node.bootstrap.replace("127.0.0.1", "localhost")))
    node.cluster = made.cluster
    made.cluster.topics |= {"made-0-1": "a", "made-0-2": "b"}
    node.hidden = ["made-0-2"]  # of the first list alone: the second broker is ahead of the first
    deadline = time.monotonic() + BOUND_S
    viewer = metadata.FinalViewer(made.context, 2, deadline)
    assert end_by([viewer], deadline) == []
    listed = [[name for name, _ in operation.value] for operation in made.operations("list-topics", OK)]
    both = ["made-0-1", "made-0-2"]
    assert listed == [["made-0-1"], both, both, both]
    assert len(made.operations("read", OK)) == 2 * 2 * len(metadata.CONFIG_KEYS)


def test_a_node_that_does_not_know_the_request_is_not_asked_again(
    bench: Callable[..., Bench], node: FakeBrokerOfTopics
) -> None:
    made = bench(TOPICS, (node.bootstrap,))
    node.cluster = made.cluster
    del node.versions[DESCRIBE_CONFIGS]
    deadline = time.monotonic() + BOUND_S
    assert end_by([metadata.FinalViewer(made.context, 2, deadline)], deadline) == []
    assert len(made.operations("read", FAIL)) == 2 * len(metadata.CONFIG_KEYS)
    assert made.operations("list-topics", OK)


def test_brokers_that_keep_different_lists_are_not_asked_for_ever(
    bench: Callable[..., Bench],
    node: FakeBrokerOfTopics,
    standing: StandingTime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = bench(TOPICS, (node.bootstrap, node.bootstrap.replace("127.0.0.1", "localhost")))
    node.cluster = made.cluster
    made.cluster.topics |= {"made-0-1": "a"}
    listed = listed_topics
    asked: list[str] = []

    def list_topics(connection: Any, prefix: str) -> Any:
        asked.append(prefix)
        standing.go_on(10.0)
        return listed(connection, prefix) if len(asked) % 2 else []

    monkeypatch.setattr(metadata, "listed_topics", list_topics)
    deadline = standing.monotonic() + 1_000.0
    assert end_by([metadata.FinalViewer(made.context, 2, deadline)], deadline) == []
    assert 6 <= len(asked) <= 10


def test_an_operation_without_any_answer_is_recorded_as_failed(
    bench: Callable[..., Bench], standing: StandingTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_where: Any) -> Any:
        standing.go_on(1.0)
        raise WireError("refused")

    monkeypatch.setattr(metadata, "Connection", connect)
    made = bench(TOPICS)
    deadline = standing.monotonic() + 20.0
    assert end_by([metadata.FinalViewer(made.context, 2, deadline)], deadline) == []
    failed = made.operations("read", FAIL)
    assert failed
    assert all("refused" in str(operation.error) for operation in failed)
    assert not made.operations("list-topics", OK)


def test_a_commit_failed_only_if_it_was_refused_by_its_only_attempt() -> None:
    for refusal in REFUSED_COMMITS:
        assert classify_commit(refusal.code, "x", only_attempt=True) == (FAIL, f"x ({refusal.reason})")
        assert classify_commit(refusal.code, "x", only_attempt=False)[0] is INFO
    for code in (-1, 7, 13, 15, 16, 56, 999):
        assert classify_commit(code, "x", only_attempt=True)[0] is INFO
