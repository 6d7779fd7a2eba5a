"""Members of groups record what they were assigned, given and committed, whatever goes wrong."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.fitting import misfit_of
from checkers.history.operations import Operation, OperationType
from harness.clients.administrator import AdminAnswer
from harness.clients.group import Assigned, GroupMember, MemberOptions, PolledRecords
from harness.clients.interface import EMBEDDED, ClientFailedError, ClientKind, ReadError
from harness.record.events import Event, StaticMemberSeen
from harness.record.journal import Clock, Journals
from harness.vocabulary import GroupsWorkload
from harness.workloads import groups, groups_drain, groups_member
from harness.workloads.consuming import ConsumerWorker
from harness.workloads.context import FINAL_WORKERS, WorkloadContext, uses
from harness.workloads.groups import GroupsContext, MemberWorker, kind_of, options_of
from harness.workloads.groups_drain import DrainWorker
from harness.workloads.groups_opening import groups_final_workers, groups_workers
from harness.workloads.opening import implementation_of
from harness.workloads.producing import ProducerWorker
from harness.workloads.subscribed import SubscribedWorker, consumer_workers
from harness.workloads.worker import Worker, join_all
from tests.harness.fakes.group import FakeGroup, FakeGroupLog
from tests.harness.fakes.log import once
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
CALM = GroupsWorkload(partitions=2, churn_interval_ms=10**9)
NEVER_S = 1e9
"""A mean time that never passes: what a member does at random must not depend on how fast a test is."""
EACH = 40
END = {0: EACH, 1: EACH}


class Bench:
    """A group with records to read, and the history."""

    def __init__(self, folder: Path, workload: GroupsWorkload) -> None:
        self.folder = folder
        self.workload = workload
        self.log = FakeGroupLog(2)
        self.log.partitions = [[f"run:{p}{n:03}".encode() for n in range(EACH)] for p in (1, 2)]
        self.group = FakeGroup(self.log)
        self.journals = Journals(folder, "run", Clock())
        self.context: GroupsContext = WorkloadContext(workload, self.journals, self.log, ("localhost:1",))

    def operations(self, f: str, kind: OperationType | None = None) -> list[Operation]:
        found = recorded(self.folder)
        assert all(misfit_of(operation) is None for operation in found)
        return [o for o in found if o.f == f and (kind is None or o.type is kind)]

    def given(self) -> list[tuple[int, int]]:
        """Partition and offset of everything that polls returned."""
        return [
            (partition, offset)
            for operation in self.operations("poll", OK)
            for partition, offsets, _ in operation.value["records"]
            for offset in offsets
        ]

    def finished(self) -> bool:
        return self.group.committed == {0: EACH, 1: EACH}

    def work(self, index: int = 0, enough: Callable[[], bool] | None = None) -> MemberWorker:
        group = self.group
        made = MemberWorker(self.context, index, group.join, group.commit_as, group.reset)
        self.run(made, enough or self.finished)
        return made

    def run(self, made: Worker, enough: Callable[[], bool]) -> None:
        made.start()
        wait_until(enough)
        made.stopping.set()
        assert join_all([made], BOUND_S) == []
        assert self.group.closed == len(self.group.joined)


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Bench]]:
    monkeypatch.setattr(groups_member, "_REMAKE_PAUSE_S", 0.005)
    monkeypatch.setattr(groups_drain, "_AGAIN_PAUSE_S", 0.005)
    monkeypatch.setattr(groups, "POLL_PAUSE_S", 0.001)
    monkeypatch.setattr(groups_drain, "POLL_PAUSE_S", 0.001)
    monkeypatch.setattr(groups, "_STALL_S", (0.0, 0.001))
    monkeypatch.setattr(groups, "EARLY_INTERVAL_S", NEVER_S)
    monkeypatch.setattr(groups, "RESET_INTERVAL_S", NEVER_S)
    monkeypatch.setattr(groups, "AWAY_INTERVAL_S", NEVER_S)
    made: list[Bench] = []

    def bench(workload: GroupsWorkload = CALM) -> Bench:
        made.append(Bench(tmp_path, workload))
        return made[-1]

    yield bench
    for one in made:
        one.journals.close()


Make = Callable[..., Bench]


def test_a_member_records_what_it_was_assigned_and_commits_what_it_was_given(make: Make) -> None:
    bench = make()
    bench.work()

    first = bench.operations("poll", OK)[0].value
    assert first["assigned"] == [[0, 0], [1, 0]]
    assert first["membership"] == ["member-1", 1]
    assert (first["group"], first["client"]) == ("group-kafka-python", "kafka-python")
    assert bench.given() == [
        (p, o) for start in range(0, EACH, 5) for p in (0, 1) for o in range(start, start + 5)
    ]
    commit = bench.operations("commit", OK)[-1]
    assert commit.key == "group-kafka-python"
    assert commit.value["topic"] == "groups-0"
    assert commit.value["offsets"] == [[0, EACH], [1, EACH]]
    assert commit.value["membership"] == ["member-1", 1]
    assert sum("assigned" in operation.value for operation in bench.operations("poll", OK)) == 1
    assert len({operation.process for operation in bench.operations("poll")}) == 1


def test_the_second_group_is_of_the_other_library(make: Make) -> None:
    bench = make()
    bench.work(index=CALM.members)
    assert {o.value["client"] for o in bench.operations("poll")} == {"confluent-kafka"}
    assert {options.group for options in bench.group.joined} == {"group-confluent-kafka"}
    assert (bench.group.joined[0].session_ms, bench.group.joined[0].poll_interval_ms) == (6_000, 7_000)


def test_after_an_error_a_new_member_begins_where_the_group_is(make: Make) -> None:
    bench = make()
    polls = iter([None, None, ReadError("the connection broke")])
    bench.group.on_poll = lambda: next(polls, None)
    bench.work()

    (failed,) = bench.operations("poll", INFO)
    assert failed.error == "the connection broke"
    assert failed.value == {
        "client": "kafka-python",
        "isolation": "read_uncommitted",
        "group": "group-kafka-python",
    }
    assert len(bench.group.joined) == 2
    processes = {operation.process for operation in bench.operations("poll", OK)}
    assert isinstance(failed.process, int)
    assert processes == {failed.process, failed.process + bench.context.workers}
    assert set(bench.given()) == {(p, o) for p in (0, 1) for o in range(EACH)}


def test_a_member_that_cannot_be_made_is_made_later(make: Make) -> None:
    bench = make()
    bench.group.on_join = once(ClientFailedError("nobody answers"))
    bench.work()
    assert len(bench.group.joined) == 1


def test_a_commit_of_unknown_fate_ends_the_member_and_a_refused_one_does_not(make: Make) -> None:
    bench = make()
    fates = iter([AdminAnswer(FAIL, error="no coordinator"), AdminAnswer(INFO, error="no answer")])
    bench.group.on_commit = lambda _offsets: next(fates, None)
    bench.work()

    (refused,) = bench.operations("commit", FAIL)
    (unknown,) = bench.operations("commit", INFO)
    assert (refused.error, unknown.error) == ("no coordinator", "no answer")
    assert refused.process == unknown.process
    assert len(bench.group.joined) == 2


def test_what_was_revoked_is_not_committed(make: Make) -> None:
    bench = make()
    bench.group.revokes = lambda: True
    bench.work(enough=lambda: len(bench.operations("poll", OK)) > EACH)
    assert bench.operations("commit") == []


@pytest.mark.parametrize("churn", groups.Churn)
def test_a_member_that_left_or_stalled_is_refused(
    make: Make, monkeypatch: pytest.MonkeyPatch, churn: groups.Churn
) -> None:
    monkeypatch.setattr(groups, "GHOST_SHARE", 1.0)
    monkeypatch.setattr(groups, "COMMIT_SHARE", 0.0)
    monkeypatch.setattr(groups, "CHURNS", (churn,))
    bench = make(GroupsWorkload(partitions=2, churn_interval_ms=1, session_ms=1, poll_interval_ms=2))
    if churn is groups.Churn.STALL:
        # Whatever it was given, its group has gone on when it commits.
        def go_on(*late: Any) -> AdminAnswer:
            bench.group.generation += 1
            return bench.group.commit(*late[1:])

        bench.group.commit_as = go_on  # type: ignore[method-assign, assignment]
    bench.work(enough=lambda: bool(bench.operations("commit", FAIL)))

    late = [tuple(operation.value["membership"]) for operation in bench.operations("commit", FAIL)]
    assert late == [tuple(membership) for membership in bench.group.refused][: len(late)]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_member_that_is_assigned_anew_commits_as_in_the_generation_before(
    make: Make, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(groups, "GHOST_SHARE", share)
    bench = make()
    polls = iter([False, True])
    bench.group.rebalances = lambda: next(polls, False)
    bench.work()

    refused = [operation.value for operation in bench.operations("commit", FAIL)]
    late = [value["membership"] for value in refused if not value.get("outsider")]
    assert late == [["member-1", 1]] * int(share)
    assert bench.group.refused == [("member-1", 1)] * int(share)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_an_epoch_that_moves_on_alone_is_recorded_and_committed_in(
    make: Make, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(groups, "GHOST_SHARE", share)
    bench = make()
    polls = iter([False, True])
    bench.group.moves_on = lambda: next(polls, False)
    bench.work()

    values = [o.value for o in bench.operations("poll", OK) if "membership" in o.value]
    assert [one["membership"] for one in values] == [["member-1", 1], ["member-1", 2]]
    assert ["assigned" in one for one in values] == [True, False]
    assert bench.operations("commit", OK)[-1].value["membership"] == ["member-1", 2]
    assert bench.group.refused == [("member-1", 1)] * int(share)


def test_an_epoch_moves_on_of_a_member_of_which_nothing_is_known_yet(make: Make) -> None:
    bench = make()
    bench.group.names_members = False
    polls = iter([False, True])
    bench.group.moves_on = lambda: next(polls, False)
    bench.work()
    assert bench.operations("commit", OK)[-1].value["membership"] == ["member-1", 2]


def test_members_of_a_modern_group_learn_that_it_is_one(make: Make) -> None:
    bench = make(msgspec.structs.replace(CALM, modern=("group-confluent-kafka",)))
    bench.work(index=CALM.members)
    assert {options.modern for options in bench.group.joined} == {True}


def test_each_new_member_of_a_mixed_group_draws_its_protocol(make: Make) -> None:
    name = "group-confluent-kafka"
    bench = make(
        msgspec.structs.replace(CALM, mixed=(name,), assignors=("uniform",), offered=("range", "roundrobin"))
    )
    worker = MemberWorker(bench.context, CALM.members, bench.group.join)
    for _ in range(20):
        made = worker.joined()
        assert worker.joined() is made, "it is drawn only for a new one"
        worker.leave()
    drawn = {(options.modern, options.assignors) for options in bench.group.joined}
    assert len(bench.group.joined) == 20
    assert drawn == {
        (True, ("uniform",)),
        (False, ("range", "roundrobin")),
        (False, ("roundrobin", "range")),
    }
    assert options_of(bench.context, 1).modern
    assert not options_of(bench.context, 0).modern


def test_each_new_member_of_a_modern_group_draws_its_assignor(make: Make) -> None:
    bench = make(
        msgspec.structs.replace(CALM, modern=("group-confluent-kafka",), assignors=("uniform", "range"))
    )
    for index in (0, CALM.members):
        worker = MemberWorker(bench.context, index, bench.group.join)
        for _ in range(20):
            worker.joined()
            worker.leave()
    classic, modern = bench.group.joined[:20], bench.group.joined[20:]
    assert {options.assignors for options in classic} == {("range",)}
    assert {options.assignors for options in modern} == {("uniform", "range"), ("range", "uniform")}
    assert {options.modern for options in modern} == {True}


def test_the_last_members_of_a_modern_group_subscribe_by_a_pattern(make: Make) -> None:
    for field in ("modern", "mixed"):
        bench = make(msgspec.structs.replace(CALM, patterns=2, **{field: ("group-confluent-kafka",)}))
        assert [options_of(bench.context, 1, place).pattern for place in range(3)] == [False, True, True]
        assert not any(options_of(bench.context, 0, place).pattern for place in range(3))


def test_a_static_member_comes_back_with_its_instance_id_and_the_last_has_the_firsts(make: Make) -> None:
    name = "group-confluent-kafka"
    bench = make(msgspec.structs.replace(CALM, static=(name,)))
    bench.work(index=CALM.members + 2)
    assert {options.instance for options in bench.group.joined} == {f"{name}-2"}
    assert options_of(bench.context, 1).instance == f"{name}-0"
    assert options_of(bench.context, 0, 2).instance is None


def test_a_member_commits_as_in_a_generation_to_come_and_is_refused(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "EARLY_INTERVAL_S", 1e-6)
    bench = make()
    bench.work(enough=lambda: bench.finished() and len(bench.group.refused) > 3)

    early = bench.operations("commit", FAIL)
    assert {o.value["membership"][0] for o in early} == {"member-1"}
    assert all(1_000 < o.value["membership"][1] <= 10_001 for o in early)
    # What the member was given is committed all the same, in its own generation.
    assert {o.value["membership"][1] for o in bench.operations("commit", OK)} == {1}
    assert len(bench.group.joined) == 1


def test_a_members_process_asks_for_resets_as_somebody_else_and_is_refused(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "RESET_INTERVAL_S", 1e-6)
    bench = make()
    bench.work(enough=lambda: bench.finished() and len(bench.group.resets) > 3)

    asked = [o for o in bench.operations("commit", FAIL) if o.value.get("outsider")]
    assert [dict(o.value["offsets"]) for o in asked] == bench.group.resets
    assert {(o.value["membership"], o.error) for o in asked} == {(None, "error 25")}
    assert all(0 <= offset <= EACH for each in bench.group.resets for offset in each.values())
    assert len(bench.group.joined) == 1


def test_a_reset_of_unknown_fate_ends_the_member(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "RESET_INTERVAL_S", 1e-6)
    bench = make()
    bench.group.on_reset = lambda: AdminAnswer(INFO, error="no answer")
    bench.work(enough=lambda: len(bench.group.joined) > 2)
    assert {o.error for o in bench.operations("commit", INFO)} == {"no answer"}


def test_a_member_that_does_not_know_who_it_is_commits_nothing_early(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "EARLY_INTERVAL_S", 1e-6)
    bench = make()
    bench.group.names_members = False
    bench.work()
    assert bench.operations("commit", FAIL) == []
    assert bench.group.late == 0


def test_a_late_commit_of_unknown_fate_ends_the_member(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "GHOST_SHARE", 1.0)
    bench = make()
    polls = iter([False, True])
    bench.group.rebalances = lambda: next(polls, False)
    bench.group.commit_as = lambda *_late: AdminAnswer(INFO, error="no answer")  # type: ignore[method-assign]
    bench.work()

    assert [operation.error for operation in bench.operations("commit", INFO)] == ["no answer"]
    assert len(bench.group.joined) == 2


def test_a_member_may_leave_without_another_word(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "GHOST_SHARE", 0.0)
    monkeypatch.setattr(groups, "COMMIT_SHARE", 0.0)
    monkeypatch.setattr(groups, "CHURNS", (groups.Churn.LEAVE,))
    bench = make(GroupsWorkload(partitions=2, churn_interval_ms=1))
    bench.work(enough=lambda: bench.group.closed >= 3)
    assert bench.operations("commit", FAIL) == []


@pytest.mark.parametrize("churn", groups.Churn)
def test_a_member_without_a_known_id_commits_nothing_late(
    make: Make, monkeypatch: pytest.MonkeyPatch, churn: groups.Churn
) -> None:
    monkeypatch.setattr(groups, "CHURNS", (churn,))
    bench = make(GroupsWorkload(partitions=2, churn_interval_ms=1, session_ms=1, poll_interval_ms=2))
    bench.group.names_members = False
    bench.work(enough=lambda: len(bench.operations("poll", OK)) > EACH)
    assert {operation.value["membership"] for operation in bench.operations("commit")} <= {None}
    assert bench.group.late == 0


def test_the_last_member_drains_the_group_and_ends_on_its_own(make: Make) -> None:
    bench = make()
    bench.log.on_offsets = once(ReadError("no answer"))
    polls = iter([None, ReadError("the connection broke")])
    bench.group.on_poll = lambda: next(polls, None)
    within = (bench.context, time.monotonic() + BOUND_S)
    (drain, _) = groups_final_workers(*within, bench.group.join, bench.group.remove)
    assert isinstance(drain, DrainWorker)
    drain.start()
    assert join_all([drain], BOUND_S) == []

    assert bench.finished()
    assert drain.name == f"member-{bench.context.first_final_worker}"
    assert set(bench.given()) == {(p, o) for p in (0, 1) for o in range(EACH)}
    assert bench.group.closed == len(bench.group.joined) == 2
    (*_, committed, invoked, refused) = bench.operations("commit", OK) + bench.operations("delete-group")
    assert sorted(committed.value["offsets"]) == [[0, EACH], [1, EACH]]
    assert (invoked.key, refused.type, refused.error) == (drain.group, FAIL, "error 68")


@pytest.mark.parametrize("acknowledged", [True, False])
def test_the_last_member_asks_for_nothing_where_nobody_knows_that_it_is_one(
    make: Make, *, acknowledged: bool
) -> None:
    bench = make()
    ends = iter([None, None if acknowledged else AdminAnswer(INFO)])
    bench.group.on_commit = lambda offsets: next(ends) if offsets == END else None
    drain = DrainWorker(bench.context, 0, time.monotonic() + BOUND_S, bench.group.join, bench.group.remove)
    drain.start()
    assert join_all([drain], BOUND_S) == []
    assert bench.group.removals == int(acknowledged)


def test_the_last_member_commits_again_what_was_refused(make: Make) -> None:
    bench = make()
    fates = iter([None] * 7 + [AdminAnswer(FAIL, error="no coordinator")])
    bench.group.on_commit = lambda _offsets: next(fates, None)
    within = (bench.context, 0, time.monotonic() + BOUND_S)
    drain = DrainWorker(*within, bench.group.join, bench.group.remove)
    drain.start()
    assert join_all([drain], BOUND_S) == []
    assert bench.finished()


class Stranded:
    """Assigned nothing, and never anything again, without an error."""

    owned: frozenset[int] = frozenset()

    def __init__(self) -> None:
        self.closed = False

    def poll(self, max_wait_s: float) -> PolledRecords:
        assert max_wait_s > 0
        return PolledRecords([], Assigned({}, None))

    def commit(self, offsets: Mapping[int, int]) -> AdminAnswer:
        raise AssertionError(offsets)

    def close(self, timeout_s: float) -> None:
        assert timeout_s > 0
        self.closed = True


def test_a_last_member_that_is_stranded_is_replaced(make: Make) -> None:
    bench = make()
    stranded = Stranded()
    members = iter([stranded])

    def join(kind: ClientKind, options: MemberOptions) -> GroupMember:
        return next(members, None) or bench.group.join(kind, options)

    within = (bench.context, 0, time.monotonic() + BOUND_S)
    drain = DrainWorker(*within, join, bench.group.remove, patience_s=0.05)
    drain.start()
    assert join_all([drain], BOUND_S) == []
    assert bench.finished()
    assert stranded.closed


@pytest.mark.parametrize("what", ["no ends", "no member", "no records"])
def test_the_last_member_gives_up_at_its_deadline(make: Make, what: str) -> None:
    bench = make()
    if what == "no ends":
        bench.log.on_make = lambda _what: ClientFailedError("nobody answers")
    elif what == "no member":
        bench.group.on_join = lambda: ClientFailedError("nobody answers")
    else:
        bench.group.on_poll = lambda: ReadError("nobody answers")
    drain = DrainWorker(bench.context, 0, time.monotonic() + 0.1, bench.group.join)
    drain.start()
    assert join_all([drain], BOUND_S) == []
    assert not drain.drained({0: EACH})
    assert not bench.finished()


def test_a_consumer_that_subscribes_goes_on_where_it_committed(make: Make) -> None:
    bench = make()
    bench.group.named = "consumer-5"
    polls = iter([None, ReadError("the connection broke")])
    bench.group.on_poll = lambda: next(polls, None)
    made = consumer_workers(bench.context, bench.group.join)[-1]
    bench.run(made, bench.finished)

    starts = [o.value["assigned"] for o in bench.operations("poll", OK) if "assigned" in o.value]
    assert starts == [[[0, 0], [1, 0]], [[0, 5], [1, 5]]]
    assert {operation.value["client"] for operation in bench.operations("poll")} == {"kafka-python"}
    assert sorted(bench.given()) == [(p, o) for p in (0, 1) for o in range(EACH)]


def test_a_consumer_whose_member_cannot_be_made_tries_again(make: Make) -> None:
    bench = make()
    bench.group.named = "consumer-5"
    fates = iter([AdminAnswer(INFO, error="no answer")])
    bench.group.on_commit = lambda _offsets: next(fates, None)
    bench.group.on_join = once(ClientFailedError("nobody answers"))
    bench.run(consumer_workers(bench.context, bench.group.join)[-1], bench.finished)
    assert len(bench.group.joined) == 2


def test_everybody_has_a_number(make: Make) -> None:
    bench = make()
    made = groups_workers(bench.context, bench.group.join, bench.group.commit_as)
    assert len(made) == CALM.processes == CALM.first_member + CALM.members * len(CALM.groups)
    assert [type(one) for one in made[: CALM.producers]] == [ProducerWorker] * CALM.producers
    consumers = [type(one) for one in made[CALM.producers : CALM.first_member]]
    assert consumers == [ConsumerWorker, ConsumerWorker, SubscribedWorker]
    assert {one.group for one in made[CALM.first_member :] if isinstance(one, MemberWorker)} == set(
        CALM.groups
    )
    last = groups_final_workers(bench.context, time.monotonic(), bench.group.join)
    assert len(last) == len(CALM.groups) <= FINAL_WORKERS
    assert implementation_of(CALM).workers is groups_workers
    assert [group.removeprefix("group-") for group in CALM.groups] == list(EMBEDDED)


def test_members_of_one_group_use_the_libraries_named_for_it_in_turn(make: Make) -> None:
    named = {"group-kafka-python": ("kafka-clients", "confluent-kafka")}
    mixed = msgspec.structs.replace(CALM, member_libraries=named)
    kinds = [kind_of(mixed, group, place) for group in range(2) for place in range(3)]
    java, confluent = ClientKind.JAVA, ClientKind.CONFLUENT
    assert kinds == [java, confluent, java, confluent, confluent, confluent]
    assert uses(mixed, java)
    assert mixed.needs_java
    assert not CALM.needs_java
    bench = make(mixed)
    bench.group.named = "group-kafka-python"
    bench.work(index=2)
    assert {operation.value["client"] for operation in bench.operations("poll")} == {"kafka-clients"}


def test_members_are_made_by_the_clients_of_the_run(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make()
    monkeypatch.setattr(bench.log, "member", bench.group.join)
    workers = groups_workers(bench.context)
    made = [one for one in workers if isinstance(one, MemberWorker | SubscribedWorker)]
    last = groups_final_workers(bench.context, time.monotonic())
    assert len(made) == 1 + CALM.members * len(CALM.groups)
    assert all(one._join == bench.group.join for one in made)
    assert all(one._join == bench.group.join for one in last if isinstance(one, DrainWorker))


def test_some_members_of_modern_groups_are_static(make: Make) -> None:
    modern = msgspec.structs.replace(CALM, modern=("group-confluent-kafka",), instances=1)
    context = make(modern).context
    names = [options_of(context, 1, place).instance for place in range(3)]
    assert names == ["group-confluent-kafka-0", None, None]
    assert options_of(context, 0).instance is None, "a classic group"


STATIC = msgspec.structs.replace(CALM, modern=("group-confluent-kafka",), instances=1)


def test_a_static_member_stays_away_and_tells_the_run(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "AWAY_INTERVAL_S", 0.0001)
    monkeypatch.setattr(groups, "AWAY_S", (0.0, 0.001))
    monkeypatch.setattr(groups, "COMMIT_SHARE", 0.0)
    bench = make(STATIC)
    heard: list[tuple[StaticMemberSeen, int]] = []

    def hear(event: Event) -> None:
        if isinstance(event, StaticMemberSeen):
            heard.append((event, bench.group.closed))

    monkeypatch.setattr(bench.journals, "_listener", hear)
    bench.work(index=STATIC.members, enough=lambda: bench.group.closed >= 3)
    seen = [event for event, _ in heard]
    assert {(event.group, event.instance) for event in seen} == {
        ("group-confluent-kafka", "group-confluent-kafka-0")
    }
    assert [event.away for event in seen[:5]] == [False, True, False, True, False]
    assert [closed for event, closed in heard if event.away][:2] == [1, 2], "it has left before it says so"
    assert {options.instance for options in bench.group.joined} == {"group-confluent-kafka-0"}


def test_no_other_member_stays_away(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "AWAY_INTERVAL_S", 0.0001)
    bench = make(STATIC)
    heard: list[Event] = []
    monkeypatch.setattr(bench.journals, "_listener", heard.append)
    bench.work(index=STATIC.members + 1)
    bench.work(index=0)
    assert [event for event in heard if isinstance(event, StaticMemberSeen)] == []
