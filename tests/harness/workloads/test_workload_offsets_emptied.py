"""Groups that a member leaves empty and one of the other protocol joins: the requests and the answers."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.consumer import (
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
)

from checkers.groups.erasures import check_erasures
from checkers.history.operations import Operation, OperationType
from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity
from harness.clients.schemas import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from harness.record.journal import Clock, Journals
from harness.vocabulary import OffsetsWorkload
from harness.workloads import offsets_emptied, offsets_erasing
from harness.workloads.context import WorkloadContext
from harness.workloads.offsets import offsets_final_workers, offsets_workers
from harness.workloads.offsets_emptied import EMPTIED, EmptyingWorker, Follower
from harness.workloads.offsets_erasing import FinalErasureReader
from tests.harness.fakes.log import FakeLog
from tests.harness.waiting import BOUND_S, wait_until
from tests.harness.workloads.test_workload_offsets_erasing import Broker

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
JOIN, LEAVE, HEARTBEAT = 11, 13, 68
GROUP = EMPTIED[0]


class GroupBroker(Broker):
    """Has one group, of KIP-848's protocol at first.

    Attributes:
        forgets: whether it removes the empty group when it refuses a classic member.
        admits: whether it admits a classic member with an id to the empty group.
        modern: the members of KIP-848's protocol.
        known: whether there is a group.
        silent: requests that are not answered; -1 stands for heartbeats that leave.
        modern_error: Kafka's code for every heartbeat.
        commits: the member and the epoch of every commit.
    """

    def __init__(self) -> None:
        super().__init__()
        self.forgets = self.admits = False
        self.known = True
        self.modern: set[str] = set()
        self.silent: set[int] = set()
        self.modern_error = 0
        self.commits: list[tuple[str, int]] = []
        self.versions |= {8: 9, JOIN: 9, LEAVE: 5, HEARTBEAT: 1}
        self.requests |= {
            JOIN: JoinGroupRequest,
            LEAVE: LeaveGroupRequest,
            HEARTBEAT: ConsumerGroupHeartbeatRequest,
        }
        self.answers |= {JOIN: self._joined, LEAVE: self._left, HEARTBEAT: self._heartbeat}

    def _joined(self, request: Any) -> Any:
        if JOIN in self.silent:
            return None
        (protocol,) = request.protocols
        assert (request.protocol_type, protocol.name, bytes(protocol.metadata)[6:17]) == (
            "consumer",
            "range",
            b"\0\x09offsets-0",
        )
        code, member = (0, request.member_id) if self.admits else (25, request.member_id)
        if not request.member_id:
            code, member = 79, "classic-1"
            self.known = True
        elif self.forgets:
            self.known = False
        return JoinGroupResponse(
            throttle_time_ms=0,
            error_code=code,
            generation_id=1 if not code else -1,
            protocol_type=None,
            protocol_name=None,
            leader="",
            skip_assignment=False,
            member_id=member,
            members=[],
        )

    def _left(self, request: Any) -> Any:
        if LEAVE in self.silent:
            return None
        (identity,) = request.members
        answer = LeaveGroupResponse.MemberResponse(
            member_id=identity.member_id, group_instance_id=None, error_code=0
        )
        return LeaveGroupResponse(throttle_time_ms=0, error_code=0, members=[answer])

    def _heartbeat(self, request: Any) -> Any:
        leaves = request.member_epoch == -1
        if (HEARTBEAT in self.silent) or (leaves and -1 in self.silent):
            return None
        if leaves:
            self.modern.discard(request.member_id)
        else:
            assert (request.subscribed_topic_names, request.topic_partitions) == (["offsets-0"], [])
            self.modern.add(request.member_id)
            self.known = True
        return ConsumerGroupHeartbeatResponse(
            throttle_time_ms=0,
            error_code=self.modern_error,
            error_message=None,
            member_id=request.member_id,
            member_epoch=request.member_epoch if leaves else 4,
            heartbeat_interval_ms=1_000,
            assignment=None,
        )

    def _committed(self, request: Any) -> Any:
        self.commits.append((request.member_id, request.generation_id_or_member_epoch))
        return super()._committed(request)

    def _fetched(self, request: Any) -> Any:
        if self.known:
            return super()._fetched(request)
        kept, self.kept = self.kept, {}
        try:
            return super()._fetched(request)
        finally:
            self.kept = kept


class Bench:
    """One broker, and what is recorded of it."""

    def __init__(self, folder: Path, broker: GroupBroker) -> None:
        self.folder, self.broker = folder, broker
        self.journals = Journals(folder, "run", Clock())
        workload = OffsetsWorkload(partitions=2, clients=4, emptied_interval_ms=2)
        self.context: WorkloadContext[OffsetsWorkload] = WorkloadContext(
            workload, self.journals, FakeLog(2), (broker.bootstrap,)
        )

    @cached_property
    def worker(self) -> EmptyingWorker:
        return EmptyingWorker(self.context, 5)

    def operations(self) -> tuple[Operation, ...]:
        return read_history(self.folder).operations

    def completions(self) -> list[str]:
        return [f"{o.f} {o.type}" for o in self.operations() if o.type is not INVOKE]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(offsets_erasing, "_AGAIN_PAUSE_S", 0.01)
    with GroupBroker() as broker:
        made = Bench(tmp_path, broker)
        yield made
        made.journals.close()


EMPTIES = [
    "join-group ok",
    "commit-offset ok",
    "join-group fail",
    "leave-group ok",
    "fetch-offsets ok",
    "join-group fail",
    "fetch-offsets ok",
]
FETCHES = "fetch-offsets ok"
FOLLOWED = {
    Follower.NOBODY: [FETCHES],
    Follower.CLASSIC: ["join-group fail", FETCHES],
    Follower.MODERN: ["join-group ok", "commit-offset ok", "leave-group ok", FETCHES],
}


@pytest.mark.parametrize("follower", Follower)
def test_a_group_is_emptied_and_joined_again(bench: Bench, follower: Follower) -> None:
    assert bench.worker.empty(GROUP, follower)
    assert bench.completions() == EMPTIES + FOLLOWED[follower]
    assert bench.broker.modern == set()
    assert {epoch for _, epoch in bench.broker.commits} == {4}
    joined = [o for o in bench.operations() if o.f == "join-group" and o.type is not INVOKE]
    (member, _), *_ = bench.broker.commits
    assert [o.value | {"to": None} for o in joined[:3]] == [
        {"protocol": "consumer", "member": member, "to": None, "code": 0, "given": member, "epoch": 4},
        {"protocol": "classic", "member": "", "to": None, "code": 79, "given": "classic-1", "epoch": -1},
        {
            "protocol": "classic",
            "member": "classic-1",
            "to": None,
            "code": 25,
            "given": "classic-1",
            "epoch": -1,
        },
    ]
    assert check_erasures(read_history(bench.folder)).validity is Validity.VALID


@pytest.mark.parametrize(("follower", "lost"), [("nobody", 2), ("classic", 1), ("modern", 1)])
def test_a_group_that_is_forgotten_is_seen(bench: Bench, follower: str, lost: int) -> None:
    bench.broker.forgets = True
    assert bench.worker.empty(GROUP, Follower(follower))
    result = check_erasures(read_history(bench.folder))
    assert [one.id for one in result.anomalies] == ["kept-offset-lost"] * lost


def test_a_classic_member_that_is_admitted_leaves(bench: Bench) -> None:
    bench.broker.admits = True
    assert bench.worker.empty(GROUP, Follower.NOBODY)
    assert bench.completions() == [*EMPTIES[:5], "join-group ok", "leave-group ok", FETCHES, FETCHES]
    assert check_erasures(read_history(bench.folder)).validity is Validity.VALID


def test_what_is_not_answered_ends_the_exchange(bench: Bench) -> None:
    bench.broker.silent = {JOIN}
    assert not bench.worker.empty(GROUP, Follower.NOBODY)
    assert bench.completions() == ["join-group ok", "commit-offset ok", "join-group info", "leave-group ok"]
    bench.broker.silent = {-1}
    assert not bench.worker.empty(EMPTIED[1], Follower.NOBODY)
    assert bench.completions()[-1] == "leave-group info"
    bench.broker.silent = {HEARTBEAT}
    assert not bench.worker.empty(EMPTIED[2], Follower.NOBODY)
    assert bench.completions()[-1] == "join-group info"


def test_a_member_that_is_refused_commits_nothing(bench: Bench) -> None:
    bench.broker.modern_error = 15
    assert not bench.worker.empty(GROUP, Follower.NOBODY)
    assert bench.completions() == ["join-group info"]


def test_without_a_known_coordinator_nothing_is_recorded(bench: Bench) -> None:
    bench.broker.node = 9
    assert not bench.worker.empty(GROUP, Follower.NOBODY)
    assert bench.operations() == () or bench.completions() == []


def test_a_coordinator_that_is_lost_later_ends_the_exchange(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = bench.broker.answers[8]

    def lost(request: Any) -> Any:
        bench.broker.node = 9
        return commit(request)

    monkeypatch.setitem(bench.broker.answers, 8, lost)
    assert not bench.worker.empty(GROUP, Follower.NOBODY)
    assert bench.completions() == ["join-group ok", "commit-offset ok"]


def test_the_worker_uses_each_group_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets_emptied, "EMPTIED", EMPTIED[:3])
    bench.worker.start()
    bench.worker.join(BOUND_S)
    assert not bench.worker.is_alive()
    assert bench.worker.failure is None
    joined = [o.key for o in bench.operations() if o.f == "commit-offset" and o.type is OK]
    assert joined == [*EMPTIED[:3], EMPTIED[2]]


def test_the_worker_ends_with_the_load(bench: Bench) -> None:
    bench.worker.start()
    wait_until(lambda: len(bench.completions()) > 8)
    bench.worker.stopping.set()
    bench.worker.join(BOUND_S)
    assert not bench.worker.is_alive()


def test_the_workload_has_the_process_and_the_last_reader_its_groups(bench: Bench) -> None:
    context = bench.context
    workers = offsets_workers(context)
    assert [type(worker) for worker in workers[-1:]] == [EmptyingWorker]
    assert len(workers) == context.workload.processes
    assert OffsetsWorkload(clients=4).processes == len(workers) - 1
    (*_, reader) = offsets_final_workers(context, float("inf"))
    assert isinstance(reader, FinalErasureReader)
    reader.start()
    reader.join(BOUND_S)
    asked = {o.key for o in bench.operations() if o.f == "fetch-offsets" and o.type is OK}
    assert asked >= set(EMPTIED)
