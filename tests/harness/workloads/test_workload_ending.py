"""Recovery's write probe and the final read: bounded, complete, and honest about what they could not do."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from checkers.history.operations import Operation, OperationType
from harness.clients import ClientFailedError, ProducerRecord, ReadError, SendResult
from harness.clients.interface import ClientKind
from harness.record.journal import Clock, Journals
from harness.vocabulary import GroupsWorkload, LogWorkload, OffsetsWorkload, ShareWorkload, Workload
from harness.workloads import final_read as final_read_module
from harness.workloads import probing
from harness.workloads.context import (
    FINAL_WORKERS,
    LogContext,
    WorkloadContext,
    clients_for,
    final_readers_of,
)
from harness.workloads.final_read import Leadership, end_by, final_readers, leaderless
from harness.workloads.opening import IMPLEMENTATIONS, implementation_of
from harness.workloads.probing import WriteProbe
from tests.harness.fakes.log import FakeLog, once
from tests.harness.fakes.node import METADATA, FakeNode, metadata_answer
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, StandingTime

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
WORKLOAD = LogWorkload(producers=2, consumers=1, partitions=3)


class Bench:
    """A fake log, a fake broker that reports who leads, and the history."""

    def __init__(self, folder: Path, node: FakeNode) -> None:
        self.folder = folder
        self.log = FakeLog(WORKLOAD.partitions)
        for partition, values in enumerate(self.log.partitions):
            values += [f"run:{partition + 1}{i}".encode() for i in range(1, 6)]
        self.node = node
        self.time = StandingTime()
        self.lead(1, 1, 1)
        self.journals = Journals(folder, "run", Clock())
        self.context = LogContext(WORKLOAD, self.journals, self.log, (), (node.address,))

    def lead(self, *leaders: int) -> None:
        self.node.answers[METADATA] = lambda _request: metadata_answer([1], [(one, 0) for one in leaders])

    def completions(self) -> list[Operation]:
        return [operation for operation in recorded(self.folder, "*") if operation.type is not INVOKE]

    def read(self) -> list[Operation]:
        deadline = self.time.monotonic() + BOUND_S
        assert end_by(final_readers(self.context, deadline), deadline) == []
        assert self.log.closed == len(self.log.made)
        return self.completions()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(probing, "_RETRY_PAUSE_S", 0.005)
    monkeypatch.setattr(final_read_module, "_PAUSE_S", 0.005)
    with FakeNode() as node:
        made = Bench(tmp_path, node)
        for module in (final_read_module, probing):
            monkeypatch.setattr(module, "time", made.time)
        yield made
        made.journals.close()


def test_everything_is_read_by_both_clients_in_both_isolation_levels(bench: Bench) -> None:
    reads = bench.read()
    assert {operation.type for operation in reads} == {OK}
    assert {(r.value["client"], r.value["isolation"], r.value["partition"]) for r in reads} == {
        (client, isolation, partition)
        for client in ("kafka-python", "confluent-kafka")
        for isolation in ("read_uncommitted", "read_committed")
        for partition in range(3)
    }
    for read in reads:
        partition = read.value["partition"]
        assert (read.value["start"], read.value["end"], read.value["position"]) == (0, 5, 5)
        values = [int(f"{partition + 1}{i}") for i in range(1, 6)]
        assert read.value["records"] == [[partition, [0, 1, 2, 3, 4], values]]


def test_a_broker_that_is_dead_is_not_asked_who_leads(bench: Bench) -> None:
    nobody = ("127.0.0.1", 9)
    dead = frozenset({nobody})
    both = msgspec.structs.replace(bench.context, brokers=(bench.node.address, nobody))
    alone = msgspec.structs.replace(bench.context, brokers=(nobody,))
    everything = {(both.topic, partition) for partition in range(3)}
    over = bench.time.monotonic()
    assert leaderless(both, over, dead) == frozenset()
    deadline = over + BOUND_S
    assert leaderless(both, over) == everything
    assert leaderless(alone, deadline, dead) == everything, "time stands still, and nothing is awaited"
    assert end_by(final_readers(both, deadline, dead), deadline) == []
    assert {operation.type for operation in bench.completions()} == {OK}


def test_where_every_broker_is_dead_nobody_is_asked_for_records(bench: Bench) -> None:
    deadline = bench.time.monotonic() + BOUND_S
    readers = final_readers(bench.context, deadline, frozenset(bench.context.brokers))
    assert end_by(readers, deadline) == []
    assert bench.log.made == []
    reads = {(read.type, read.error) for read in bench.completions()}
    assert reads == {(INFO, "not every broker saw a leader")}


@pytest.mark.parametrize(("recovery_timed_out", "waited_s"), [(False, 60.0), (True, 5.0)])
def test_leaders_are_awaited_briefly_where_recovery_has_timed_out(
    bench: Bench, *, recovery_timed_out: bool, waited_s: float
) -> None:
    def a_second_later(_request: object) -> object:
        bench.time.go_on(1.0)
        return metadata_answer([1], [(1, 0), (-1, 0), (1, 0)])

    bench.node.answers[METADATA] = a_second_later
    began = bench.time.monotonic()
    readers = final_readers(bench.context, began + 120.0, recovery_timed_out=recovery_timed_out)
    assert bench.time.monotonic() - began == waited_s
    assert end_by(readers, began + 120.0) == []
    reads = {(read.value["partition"], read.type) for read in bench.completions()}
    assert reads == {(0, OK), (1, INFO), (2, OK)}, "what has a leader is read in either case"


def test_a_broker_that_still_starts_is_awaited_although_recovery_has_timed_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = bench.time.monotonic()

    def in_twenty_seconds(*_: object) -> frozenset[Leadership] | None:
        bench.time.go_on(1.0)
        if bench.time.monotonic() < began + 20.0:
            return None
        return frozenset(Leadership(bench.context.topic, partition, 1, 0) for partition in range(3))

    monkeypatch.setattr(final_read_module, "_leaders", in_twenty_seconds)
    assert leaderless(bench.context, began + 60.0, heard_by=began + 5.0) == frozenset()
    assert bench.time.monotonic() - began == 20.0


def test_what_brokers_report_is_read_whoever_added_it(bench: Bench) -> None:
    bench.log.partitions.append([b"run:91"])
    bench.lead(1, 1, 1, 1)
    reads = bench.read()
    assert {(read.type, read.value["partition"]) for read in reads} == {(OK, number) for number in range(4)}
    assert [read.value["end"] for read in reads if read.value["partition"] == 3] == [1] * 4


def test_what_was_added_and_no_broker_reports_is_missed(bench: Bench) -> None:
    bench.context.sizes.grew("log-0", 4)
    assert leaderless(bench.context, bench.time.monotonic()) == {("log-0", 3)}


def test_final_readers_are_processes_of_their_own(bench: Bench) -> None:
    assert {operation.process for operation in bench.read()} == {4, 5, 6, 7}
    assert bench.context.workers == 8 + FINAL_WORKERS


@pytest.mark.parametrize(
    "workload",
    [
        *(kind() for kind in IMPLEMENTATIONS),
        OffsetsWorkload(libraries=tuple(ClientKind), java_version="3.9.0"),
        GroupsWorkload(groups=tuple(f"group-{number}" for number in range(6))),
        ShareWorkload(groups=tuple(f"share-{number}" for number in range(6))),
    ],
    ids=lambda workload: type(workload).__name__,
)
def test_no_final_worker_has_the_number_of_a_successor(tmp_path: Path, workload: Workload) -> None:
    with FakeNode() as node:
        journals = Journals(tmp_path, "run", Clock())
        clients = clients_for(workload, ("localhost:1",))
        context = WorkloadContext(workload, journals, clients, ("localhost:1",), (node.address,))
        made = implementation_of(workload).final_workers(context, 0.0)
        assert context.first_final_worker + len(made) <= context.workers
        journals.close()


def test_an_empty_partition_is_read_to_its_end(bench: Bench) -> None:
    bench.log.partitions[1] = []
    empty = [read for read in bench.read() if read.value["partition"] == 1]
    assert [(read.type, read.value["position"], read.value["records"]) for read in empty] == [(OK, 0, [])] * 4


def test_control_records_at_the_end_are_passed_over(bench: Bench) -> None:
    bench.log.controls = {(1, 4), (2, 0)}
    reads = bench.read()
    assert {(read.type, read.value["position"]) for read in reads} == {(OK, 5)}
    last = {read.value["partition"]: read.value["records"][0][1] for read in reads}
    assert last == {0: [0, 1, 2, 3, 4], 1: [0, 1, 2, 3], 2: [1, 2, 3, 4]}


def test_reading_goes_on_after_an_error(bench: Bench) -> None:
    bench.log.on_poll = once(ReadError("cut"))
    assert {operation.type for operation in bench.read()} == {OK}
    assert len(bench.log.made) == 5


def test_offsets_are_asked_for_again_after_an_error(bench: Bench) -> None:
    bench.log.on_offsets = once(ReadError("cut"))
    make = once(ClientFailedError("gone"))
    bench.log.on_make = lambda _what: make()
    assert {operation.type for operation in bench.read()} == {OK}


def until_all_have_failed(bench: Bench, error: ReadError) -> Callable[[], ReadError]:
    """A hook that always goes wrong; once every reader has met it, no time is left."""
    asked = set()

    def hook() -> ReadError:
        asked.add(threading.current_thread().name)
        if len(asked) == len(bench.context.final_readers):
            bench.time.go_on()
        return error

    return hook


def test_what_can_not_be_read_to_its_end_is_open(bench: Bench) -> None:
    bench.log.on_poll = until_all_have_failed(bench, ReadError("always cut"))
    reads = bench.read()
    assert {(read.type, read.error) for read in reads if read.value["partition"] == 0} == {
        (INFO, "ReadError: always cut")
    }
    assert all(read.value["position"] < read.value["end"] for read in reads if "end" in read.value)


def test_without_offsets_nothing_is_claimed(bench: Bench) -> None:
    bench.log.on_offsets = until_all_have_failed(bench, ReadError("no answer"))
    reads = bench.read()
    assert {(read.type, read.error) for read in reads} == {(INFO, "ReadError: no answer")}
    assert all(set(read.value) == {"client", "isolation", "partition"} for read in reads)


def test_a_leaderless_partition_is_not_believed_to_be_empty(bench: Bench) -> None:
    def without_a_leader(_request: object) -> object:
        bench.time.go_on(BOUND_S / 10)
        return metadata_answer([1], [(1, 0), (-1, 0), (1, 0)])

    bench.node.answers[METADATA] = without_a_leader
    reads = bench.read()
    assert {(read.value["partition"], read.type, read.error) for read in reads} == {
        (0, OK, None),
        (1, INFO, "not every broker saw a leader"),
        (2, OK, None),
    }


def test_reading_waits_for_the_leaders(bench: Bench) -> None:
    answers = iter([(-1, 1, 1), (1, 1, -1)])
    bench.node.answers[METADATA] = lambda _request: metadata_answer(
        [1], [(leader, 0) for leader in next(answers, (1, 1, 1))]
    )
    assert {operation.type for operation in bench.read()} == {OK}


def test_every_broker_must_see_the_leader(bench: Bench) -> None:
    nobody = ("127.0.0.1", 1)
    context = msgspec.structs.replace(bench.context, brokers=(bench.node.address, nobody))
    missing = leaderless(context, bench.time.monotonic())
    assert missing == {("log-0", 0), ("log-0", 1), ("log-0", 2)}


def test_the_probe_writes_to_every_partition(bench: Bench) -> None:
    assert WriteProbe(bench.context).write(BOUND_S, "log-0", range(3)) == {0: True, 1: True, 2: True}
    (send,) = bench.completions()
    assert (send.f, send.type, send.process) == ("send", OK, 3)
    assert [(partition, value) for partition, value, *_ in send.value] == [
        (0, 3_000_000_001),
        (1, 3_000_000_002),
        (2, 3_000_000_003),
    ]
    assert bench.log.made == ["kafka-python producer durable"]
    assert bench.log.closed == 1


def test_the_probe_sends_a_new_value_with_the_other_client_where_one_was_not_acknowledged(
    bench: Bench,
) -> None:
    failed = [SendResult(INFO, error="timed out")]
    bench.log.on_send = lambda record: failed.pop() if record.partition == 1 and failed else None
    probe = WriteProbe(bench.context)
    assert all(probe.write(BOUND_S, "log-0", range(3)).values())
    first, second = bench.completions()
    assert (first.type, first.process) == (INFO, 3)
    assert (second.type, second.process) == (OK, 3 + bench.context.workers)
    assert [entry[:2] for entry in second.value] == [[1, 3_000_000_004]]
    assert bench.log.made[1] == "confluent-kafka producer durable"


def test_the_probe_gives_up_at_its_bound(bench: Bench) -> None:
    def refuse(record: ProducerRecord) -> SendResult | None:
        bench.time.go_on(0.01)
        return SendResult(FAIL, error="no") if record.partition == 2 else None

    bench.log.on_send = refuse
    assert WriteProbe(bench.context).write(0.1, "log-0", range(3)) == {0: True, 1: True, 2: False}
    assert len(bench.completions()) == 8


def test_the_probe_writes_to_the_given_partitions(bench: Bench) -> None:
    probe = WriteProbe(bench.context)
    assert probe.write(BOUND_S, "log-0", [2]) == {2: True}
    assert probe.write(BOUND_S, "log-0", [0]) == {0: True}
    values = [operation.value[0][1] for operation in bench.completions()]
    assert values == [3_000_000_001, 3_000_000_002]


def test_the_probe_waits_for_a_cluster(bench: Bench) -> None:
    make = once(ClientFailedError("gone"))
    bench.log.on_make = lambda _what: make()
    assert all(WriteProbe(bench.context).write(BOUND_S, "log-0", range(3)).values())
    assert [operation.type for operation in bench.completions()] == [FAIL, OK]


def test_a_probe_that_will_not_close_is_complained_about(bench: Bench) -> None:
    bench.log.on_close = once(ClientFailedError("did not end"))
    probe = WriteProbe(bench.context)
    assert all(probe.write(BOUND_S, "log-0", range(3)).values())
    assert probe.complaints == ["did not end"]


def test_real_clients_get_what_the_workload_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr("harness.workloads.context.open_producer", lambda _kind, o, _java: made.append(o))
    monkeypatch.setattr("harness.workloads.context.open_consumer", lambda _kind, o, _java: made.append(o))
    clients = clients_for(LogWorkload(acks="1", idempotent=False), ("b:1",))
    kind, isolation = final_readers_of(LogWorkload())[-1]
    clients.producer(kind, "log-0")
    clients.producer(kind, "log-0", durable=True)
    clients.consumer(kind, "log-0", isolation)
    assert [(one.acks, one.idempotent) for one in made[:2]] == [("1", False), ("all", True)]
    assert made[2].isolation == isolation
    pipelined = clients_for(LogWorkload(pipelined=True), ("b:1",))
    pipelined.producer(kind, "log-0")
    pipelined.producer(kind, "log-0", durable=True)
    assert [one.pipelined for one in (*made[:2], *made[3:])] == [False, False, True, False]
    assert all(one.bootstrap == ("b:1",) and one.topic == "log-0" for one in made)
