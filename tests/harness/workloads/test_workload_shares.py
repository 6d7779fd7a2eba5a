"""Members of share groups record what they were given and acknowledged, whatever goes wrong."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.fitting import misfit_of
from checkers.history.operations import Operation, OperationType
from harness.clients import Isolation
from harness.clients.interface import ClientFailedError, ReadError
from harness.kafka.wire import WireError
from harness.record.journal import Clock, Journals
from harness.vocabulary import ShareWorkload
from harness.workloads import shares, shares_drain
from harness.workloads.context import WorkloadContext
from harness.workloads.opening import implementation_of
from harness.workloads.producing import ProducerWorker
from harness.workloads.shares import ShareContext, ShareMember
from harness.workloads.shares_drain import ShareDrain, share_workers
from harness.workloads.txn import FencingWorker, TransactionWorker
from harness.workloads.worker import Worker, join_all
from tests.harness.fakes.log import once
from tests.harness.fakes.share import FakeShareLog
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, Pauses, StandingTime, wait_until

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
EACH = 40
EARLIEST = {"share.auto.offset.reset": "earliest"}
COMMITTED = EARLIEST | {"share.isolation.level": "read_committed"}
WORKLOAD = ShareWorkload(partitions=2, lock_ms=40, session_ms=40, request_ms=1_500)


class Bench:
    """A share group with records to receive, and the history; the time of the last member may stand."""

    def __init__(self, folder: Path, standing: StandingTime | None = None) -> None:
        self.folder = folder
        self.log = FakeShareLog(2)
        self.log.partitions = [[f"run:{p}{n:03}".encode() for n in range(EACH)] for p in (1, 2)]
        self._standing = standing
        self._time = standing or time
        self.journals = Journals(folder, "run", Clock(source=self._time.monotonic_ns))
        self.context: ShareContext = WorkloadContext(WORKLOAD, self.journals, self.log, ("localhost:1",))

    def operations(self, f: str, *kinds: OperationType) -> list[Operation]:
        found = recorded(self.folder)
        assert all(misfit_of(operation) is None for operation in found)
        return [o for o in found if o.f == f and (not kinds or o.type in kinds)]

    def with_load(self, **fields: Any) -> None:
        self.context = msgspec.structs.replace(
            self.context, workload=msgspec.structs.replace(WORKLOAD, **fields)
        )

    def finished(self) -> bool:
        return [self.log.start(partition) for partition in (0, 1)] == [EACH, EACH]

    def member(self, enough: Callable[[], bool] | None = None) -> None:
        self.run(ShareMember(self.context, 0), enough or self.finished)

    def drain(self, within_s: float = BOUND_S) -> None:
        self.log.configs.append(("share-0", {}))
        worker = ShareDrain(self.context, 0, self._time.monotonic() + within_s)
        if self._standing is not None:
            worker.stopping = Pauses(self._standing)
        self.run(worker, lambda: not worker.is_alive())

    def run(self, worker: Worker, enough: Callable[[], bool]) -> None:
        worker.start()
        wait_until(enough)
        worker.stopping.set()
        assert join_all([worker], BOUND_S) == []
        assert self.log.closed == len(self.log.made)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (shares, shares_drain):
        monkeypatch.setattr(module, "POLL_PAUSE_S", 0.001)
    monkeypatch.setattr(shares, "_REMAKE_PAUSE_S", 0.005)
    monkeypatch.setattr(shares_drain, "_AGAIN_PAUSE_S", 0.005)
    monkeypatch.setattr(shares, "LEAVE_SHARE", 0.0)
    monkeypatch.setattr(shares, "STALL_SHARE", 0.0)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.journals.close()


@pytest.fixture
def standing_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """One in whose time only pauses of the last member take any."""
    standing = StandingTime()
    monkeypatch.setattr(shares_drain, "time", standing)
    made = Bench(tmp_path, standing)
    yield made
    made.journals.close()


def test_a_member_records_what_it_was_given_and_acknowledged(bench: Bench) -> None:
    bench.member()
    first = bench.operations("share-poll", OK)[0]
    assert first.key == "shares-0"
    assert first.value == {
        "client": "kafka-clients",
        "group": "share-0",
        "consumer": 0,
        "prefetches": False,
        "records": [[0, list(range(20)), [1_000 + n for n in range(20)], [1] * 20]],
    }
    value = bench.operations("acknowledge", OK)[0].value
    ((partition, offsets, types),) = value["acknowledgements"]
    assert (partition, offsets, value["refused"]) == (0, list(range(20)), [])
    assert set(types) <= {"accept", "release", "reject"}
    assert bench.log.configs == [("share-0", EARLIEST)]
    assert {options.group for options in bench.log.options} == {"share-0"}
    assert {options.request_ms for options in bench.log.options} == {WORKLOAD.request_ms}


def test_a_member_chooses_all_types_and_gets_released_records_again(bench: Bench) -> None:
    bench.member()
    answers = [o.value["acknowledgements"] for o in bench.operations("acknowledge", OK)]
    assert {kind for runs in answers for _, _, kinds in runs for kind in kinds} == set(shares.TYPES)
    counts = [counts for o in bench.operations("share-poll", OK) for *_, counts in o.value["records"]]
    assert max(max(some) for some in counts) > 1


def test_a_member_that_leaves_comes_back_as_another_consumer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "LEAVE_SHARE", 0.5)
    bench.member()
    polls = bench.operations("share-poll", INVOKE)
    assert {o.process for o in polls} == {WORKLOAD.producers}
    assert [o.value["consumer"] for o in polls] == sorted(o.value["consumer"] for o in polls)
    assert polls[-1].value["consumer"] > 0


def test_a_member_that_stalls_acknowledges_after_its_locks_have_ended(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "STALL_SHARE", 1.0)
    short = msgspec.structs.replace(WORKLOAD, lock_ms=8, session_ms=8)
    bench.context = msgspec.structs.replace(bench.context, workload=short)
    bench.member()
    polled, acknowledged = bench.operations("share-poll", OK)[0], bench.operations("acknowledge", INVOKE)[0]
    assert acknowledged.time_ns - polled.time_ns >= 10_000_000


def test_a_member_renews_its_locks_before_it_acknowledges(bench: Bench) -> None:
    bench.with_load(renew_share=1.0)
    bench.member()
    polls = bench.operations("share-poll", OK)
    first = next(i for i, o in enumerate(polls) if o.value.get("renewed"))
    assert polls[first].value["records"] == []
    assert polls[first].value["renewed"] == [[p, offsets] for p, offsets, *_ in polls[0].value["records"]]
    assert "renewed" not in polls[0].value
    answers = bench.operations("acknowledge", OK)
    types = [{kind for *_, kinds in o.value["acknowledgements"] for kind in kinds} for o in answers]
    assert types[0] == {"renew"}
    assert "accept" in {kind for some in types for kind in some}
    assert not any("renew" in some and len(some) > 1 for some in types)
    assert answers[0].time_ns - polls[0].time_ns >= shares.RENEW_AFTER * WORKLOAD.lock_ms * 1_000_000
    received = [
        offset for o in polls for p, offsets, *_ in o.value["records"] if p == 0 for offset in offsets
    ]
    assert set(received) == set(range(EACH))


def test_a_member_without_an_answer_to_a_renewal_leaves(bench: Bench) -> None:
    bench.with_load(renew_share=1.0)
    bench.log.refuses = {0: "no answer"}
    bench.member(lambda: len(bench.log.made) > 3)
    consumers = [o.value["consumer"] for o in bench.operations("acknowledge", INVOKE)]
    assert consumers == sorted(set(consumers))


def test_a_member_whose_renewal_is_refused_goes_on_with_other_records(bench: Bench) -> None:
    bench.with_load(renew_share=1.0)
    bench.log.refuses = {1: "INVALID_RECORD_STATE: its lock has ended"}
    bench.member(lambda: bench.log.start(0) == EACH and len(bench.operations("acknowledge", OK)) > 5)
    assert "INVALID_RECORD_STATE" in str([o.value["refused"] for o in bench.operations("acknowledge", OK)])
    assert {o.value["consumer"] for o in bench.operations("share-poll", OK)} == {0}


def test_what_the_broker_refuses_is_recorded_by_partition(bench: Bench) -> None:
    bench.log.refuses = {1: "INVALID_RECORD_STATE: no"}
    bench.member(lambda: bench.log.start(0) == EACH and len(bench.operations("acknowledge", OK)) > 5)
    refused = [o.value["refused"] for o in bench.operations("acknowledge", OK)]
    assert [[1, "INVALID_RECORD_STATE: no"]] in refused


@pytest.mark.parametrize(("hook", "f"), [("on_poll", "share-poll"), ("on_acknowledge", "acknowledge")])
def test_after_an_unknown_outcome_another_process_goes_on(bench: Bench, hook: str, f: str) -> None:
    setattr(bench.log, hook, once(ReadError("gone")))
    bench.member()
    (lost,) = bench.operations(f, INFO)
    assert (lost.process, lost.error) == (WORKLOAD.producers, "gone")
    processes = [o.process for o in bench.operations("share-poll", INVOKE)]
    assert processes[-1] == WORKLOAD.producers + bench.context.workers


def test_a_member_that_can_not_be_made_is_made_later(bench: Bench) -> None:
    errors = [ClientFailedError("no"), None, ClientFailedError("no")]
    bench.log.on_make = lambda _what: errors.pop() if errors else None
    bench.log.on_config = once(ReadError("no controller"))
    bench.member()
    assert bench.log.configs == [("share-0", EARLIEST)]
    assert bench.operations("share-poll", FAIL, INFO) == []


def test_a_member_that_is_stopped_before_its_group_is_prepared_ends(bench: Bench) -> None:
    asked: list[int] = []

    def fails() -> ReadError:
        asked.append(1)
        return ReadError("no controller")

    bench.log.on_config = fails
    bench.member(lambda: len(asked) > 1)
    assert bench.operations("share-poll") == []


def test_a_group_of_committed_records_is_configured_so(bench: Bench) -> None:
    bench.with_load(committed=("share-0",))
    bench.member()
    assert bench.log.configs == [("share-0", COMMITTED)]


def test_a_group_with_a_dead_letter_queue_is_configured_so(bench: Bench) -> None:
    bench.with_load(dead_letters=True)
    bench.member()
    queue = {"errors.deadletterqueue.topic.name": "dlq.share-0"}
    copies = {"errors.deadletterqueue.copy.record.enable": "true"}
    assert bench.log.configs == [("share-0", EARLIEST | queue | copies)]


def test_no_member_polls_before_every_broker_knows_the_configs_of_its_group(bench: Bench) -> None:
    """The first broker does not answer at first, the second one knows only an older value at first."""
    bench.with_load(committed=("share-0",))
    first, second = ("broker", 1), ("broker", 2)
    bench.context = msgspec.structs.replace(bench.context, brokers=(first, second))
    answers: dict[tuple[str, int], list[dict[str, str | None]]] = {
        first: [dict(COMMITTED), {}],
        second: [
            {**COMMITTED, "share.heartbeat.interval.ms": "1500"},
            {**EARLIEST, "share.isolation.level": None},
        ],
    }
    asked: list[tuple[str, int]] = []

    def ask(address: tuple[str, int], group: str) -> Mapping[str, str | None]:
        assert group == "share-0"
        assert bench.operations("share-poll") == []
        asked.append(address)
        if not (answer := answers[address].pop()):
            raise WireError("no answer")
        return answer

    bench.run(ShareMember(bench.context, 0, ask=ask), bench.finished)
    assert asked == [second, second, first, first]


def test_a_member_whose_group_a_broker_never_knows_ends_with_the_load(bench: Bench) -> None:
    bench.context = msgspec.structs.replace(bench.context, brokers=(("broker", 1),))
    asked: list[str] = []

    def ask(_address: tuple[str, int], group: str) -> Mapping[str, str | None]:
        asked.append(group)
        return {}

    bench.run(ShareMember(bench.context, 0, ask=ask), lambda: len(asked) > 1)
    assert bench.operations("share-poll") == []


def test_the_last_member_accepts_everything_and_asks_where_the_group_is(bench: Bench) -> None:
    bench.drain()
    (operation,) = bench.operations("share-offsets", OK)
    assert (operation.key, operation.value) == (
        "share-0",
        {"topic": "shares-0", "offsets": [[0, EACH], [1, EACH]]},
    )
    types = [o.value["acknowledgements"] for o in bench.operations("acknowledge", OK)]
    assert {kind for runs in types for _, _, kinds in runs for kind in kinds} == {"accept"}
    assert {o.process for o in bench.operations("share-offsets")} == {bench.context.first_final_worker}


@pytest.mark.parametrize(("of_members", "of_the_last"), [(5, 20), (30, 30)])
def test_the_last_member_polls_many_records_at_once(bench: Bench, of_members: int, of_the_last: int) -> None:
    bench.with_load(poll_records_max=of_members)
    bench.drain()
    polled = (len(run[1]) for o in bench.operations("share-poll", OK) for run in o.value["records"][:1])
    assert next(polled) == of_the_last


@pytest.mark.parametrize("hook", ["on_starts", "on_poll", "on_acknowledge"])
def test_the_last_member_goes_on_after_an_error(bench: Bench, hook: str) -> None:
    setattr(bench.log, hook, once(ReadError("gone")))
    bench.drain()
    assert bench.operations("share-offsets", OK)[-1].value["offsets"] == [[0, EACH], [1, EACH]]


def test_the_last_member_makes_clients_again(bench: Bench) -> None:
    bench.log.on_make = once_each("share consumer", "share admin")
    bench.drain()
    assert bench.finished()
    assert len(bench.operations("share-offsets", OK)) == 1


def once_each(*kinds: str) -> Callable[[str], Exception | None]:
    """The first client of each kind can't be made."""
    left = list(kinds)

    def fails(what: str) -> Exception | None:
        if what not in left:
            return None
        left.remove(what)
        return ClientFailedError("no")

    return fails


def test_the_last_member_waits_until_locks_have_ended(bench: Bench) -> None:
    bench.log.partitions[0].clear()
    late = [b"run:7", b"run:8"]

    def appended() -> None:
        if late and bench.log.start(1) == EACH:
            bench.log.partitions[0].append(late.pop())

    bench.log.on_poll = appended
    bench.drain()
    assert bench.operations("share-offsets", OK)[-1].value["offsets"] == [[0, 2], [1, EACH]]


def test_the_last_member_goes_on_where_the_group_has_not_begun(bench: Bench) -> None:
    bench.log.begun = [False, True]
    bench.drain()
    offsets = [o.value["offsets"] for o in bench.operations("share-offsets", OK)]
    assert offsets == [[[0, None], [1, EACH]], [[0, EACH], [1, EACH]]]


def test_the_last_member_goes_on_for_long_if_nobody_got_the_last_records(
    standing_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No member is given the last record of a partition."""
    monkeypatch.setattr(shares_drain, "STUCK_S", 0.5)
    standing_bench.log.done.add((1, EACH - 1))
    standing_bench.drain()
    polls = standing_bench.operations("share-poll", OK)
    last = max(i for i, o in enumerate(polls) if o.value["records"])
    assert polls[-1].time_ns - polls[last + 1].time_ns >= 0.4e9
    assert len(standing_bench.operations("share-offsets", OK)) == 1


def test_the_last_member_does_not_wait_for_markers_of_transactions(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last offset of a partition has a marker, which no member gets."""
    monkeypatch.setattr(shares_drain, "STUCK_S", 2 * BOUND_S)
    bench.log.done.add((1, EACH - 1))
    bench.log.controls.add((1, EACH - 1))
    bench.drain()
    assert len(bench.operations("share-offsets", OK)) == 1


@pytest.mark.parametrize(
    ("committed", "isolation"), [((), Isolation.READ_UNCOMMITTED), (("share-0",), Isolation.READ_COMMITTED)]
)
def test_the_last_records_are_those_of_the_isolation_level_of_the_group(
    bench: Bench, committed: tuple[str, ...], isolation: Isolation
) -> None:
    bench.with_load(committed=committed)
    bench.drain()
    assert bench.log.isolations == [isolation]


def test_the_last_member_does_not_wait_so_long_if_ends_are_not_known(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares_drain, "STUCK_S", 2 * BOUND_S)
    bench.log.done.add((1, EACH - 1))
    bench.log.on_offsets = once(ReadError("gone"))
    bench.drain()
    assert len(bench.operations("share-offsets", OK)) == 1


def test_the_last_member_does_not_wait_so_long_for_what_another_member_got(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares_drain, "STUCK_S", 2 * BOUND_S)
    bench.member()
    bench.drain()
    assert len(bench.operations("share-offsets", OK)) == 1


def test_the_last_member_holds_its_first_new_records_until_their_locks_have_ended(
    standing_bench: Bench,
) -> None:
    standing_bench.log.counts[0, 0] = 1
    standing_bench.drain()
    began = [o.time_ns for o in standing_bench.operations("acknowledge", INVOKE)]
    received = [o for o in standing_bench.operations("share-poll", OK) if o.value["records"]]
    held_ns = [asked - given.time_ns for given, asked in zip(received, began, strict=True)]
    lock_ns = WORKLOAD.lock_ms * 1_000_000
    assert received[0].value["records"][0][3][:2] == [2, 1], "an old record"
    assert [held >= lock_ns for held in held_ns[:2]] == [False, True]
    assert max(held_ns[2:]) < lock_ns


def test_the_last_member_holds_nothing_if_its_deadline_is_near(standing_bench: Bench) -> None:
    standing_bench.log.expires = True
    standing_bench.drain(within_s=WORKLOAD.lock_ms / 1_000)
    began = [o.time_ns for o in standing_bench.operations("acknowledge", INVOKE)]
    received = [o.time_ns for o in standing_bench.operations("share-poll", OK) if o.value["records"]]
    assert began[0] - received[0] < WORKLOAD.lock_ms * 1_000_000


def test_the_last_member_goes_on_for_long_if_what_it_held_is_not_returned(
    standing_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares_drain, "STUCK_S", 0.5)
    assert expired_ns(standing_bench) >= 0.4e9


def test_the_last_member_does_not_wait_for_records_that_are_archived(
    standing_bench: Bench,
) -> None:
    """The limit of deliveries is 1."""
    standing_bench.with_load(delivery_limit=1)
    assert expired_ns(standing_bench) < 0.4e9


def expired_ns(bench: Bench) -> int:
    """Drain one record whose lock ends, and that does not come back; for how long the member polls on."""
    bench.log.partitions = [[b"run:1"], []]
    bench.log.expires = True
    bench.drain()
    polls = bench.operations("share-poll", OK)
    (only,) = (i for i, o in enumerate(polls) if o.value["records"])
    (refused,) = bench.operations("acknowledge", OK)
    assert refused.value["refused"] == [[0, "INVALID_RECORD_STATE: its lock has ended"]]
    return polls[-1].time_ns - polls[only + 1].time_ns


def test_the_last_member_ends_at_its_deadline(standing_bench: Bench) -> None:
    standing_bench.log.refuses = dict.fromkeys((0, 1), "INVALID_RECORD_STATE: no")
    standing_bench.drain(within_s=0.2)
    assert not standing_bench.finished()
    assert standing_bench.operations("share-offsets") == []


def test_the_workload_has_producers_and_members(bench: Bench) -> None:
    workers = share_workers(bench.context)
    assert [type(worker) for worker in workers] == [ProducerWorker] * 3 + [ShareMember] * 4
    assert len(workers) == WORKLOAD.processes
    assert [worker.name for worker in workers[3:]] == [f"member-{n}" for n in range(3, 7)]
    (drain,) = implementation_of(WORKLOAD).final_workers(bench.context, 0.0)
    assert isinstance(drain, ShareDrain)


def test_transactors_and_one_that_fences_them_come_before_the_members(bench: Bench) -> None:
    bench.with_load(transactors=3, committed=("share-0",))
    workers = share_workers(bench.context)
    transactional = [*[TransactionWorker] * 3, FencingWorker]
    assert [type(worker) for worker in workers] == [*[ProducerWorker] * 3, *transactional, *[ShareMember] * 4]
    assert len(workers) == bench.context.workload.processes
    assert [worker.name for worker in workers[7:]] == [f"member-{n}" for n in range(7, 11)]
    assert bench.context.workload.transactions_end_ms > WORKLOAD.transactions_end_ms == 0
