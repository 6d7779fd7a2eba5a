"""Gambits are played move by move, end at what does not come about, and leave nothing in force."""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from checkers.evidence.coordinators import OFFSETS_TOPIC, number_of
from checkers.history.observed import PartitionAnswer
from checkers.history.operations import Operation, OperationType
from harness.kafka.snapshot import ClusterSnapshot
from harness.nemesis.course import CourseContext
from harness.nemesis.gambits import GambitCourse
from harness.nemesis.nemesis import Nemesis
from harness.nemesis.operator import Operator, Performed
from harness.record.events import Recorded, StaticMemberSeen
from harness.record.journal import Clock, Journals, Recorder
from harness.record.tally import AcknowledgedCounter
from harness.vocabulary import (
    Acknowledged,
    AdminOperation,
    AllInSync,
    AlterChosen,
    AlterTopic,
    ChooseCoordinator,
    ChooseNewcomers,
    ChoosePartition,
    ChooseSuccessor,
    DeleteFromChosen,
    ElectionType,
    ElectLeaders,
    Fault,
    FaultAt,
    Gambit,
    GambitMove,
    Given,
    HealAll,
    InjectAll,
    Kill,
    LedByAnother,
    MemberAway,
    Mode,
    Partition,
    Pass,
    Pattern,
    Pause,
    RecordsDeleted,
    Request,
    RequestForChosen,
    StillAway,
    TopicsRemoved,
    Topology,
    Until,
    WaitAtMost,
    broker,
)
from harness.workloads.deleting import Deletions, OneDeletion
from harness.workloads.worker import Worker, WorkloadError
from tests.harness.recorded import recorded

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
NODES = Topology(mode=Mode.ISOLATED).nodes()
LATER_NS = 2**62
CHOOSE = ChoosePartition(0, within_ms=0)
INJECTED = InjectAll((FaultAt("f1", "leader", Kill()), FaultAt("f2", broker(3), Pause())), apart_ms=7)
HEALED = HealAll(("f2", "f1"), apart_ms=9)
IN_SYNC = Until(AllInSync(), 0)
MOVED = Until(LedByAnother(("leader",)), 0)
ASK = Request(ElectLeaders(ElectionType.PREFERRED))


class Bench:
    """A nemesis, operators and a cluster that do as the test says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: list[str] = []
        self.unproven: set[str] = set()
        self.cancelled = threading.Event()
        self.leader = 1
        self.looked: list[str | None] = []
        self.operators = 0
        self.asking: Callable[[], None] = lambda: None
        self.asked_for: list[AdminOperation] = []
        self.tally = AcknowledgedCounter()
        self.deleting: list[tuple[tuple[str, int], float]] = []
        self.offsets_partitions = 0

    def inject_in_parallel(self, gambit: str, faults: Mapping[str, Fault], apart_ms: int) -> bool:
        self.done += [
            f"{gambit}: {name} {type(f).__name__} {f.target} +{apart_ms}" for name, f in faults.items()
        ]
        return not self.unproven.intersection(faults)

    def heal_in_parallel(self, names: Sequence[str], apart_ms: int = 0) -> bool:
        self.done.append(f"heal {' '.join(names)} +{apart_ms}")
        return not self.unproven.intersection(names)

    def new_operator(self) -> Operator:
        self.operators += 1
        return cast("Operator", self)

    def perform(self, operation: AdminOperation, timeout_ms: int) -> Performed:
        self.asked_for.append(operation)
        assert timeout_ms <= 8_000
        self.asking()
        return Performed(OK)

    def one(self, where: tuple[str, int], share: float) -> "OneDeletion":
        return cast("OneDeletion", Deletion(self.asking, lambda: self.deleting.append((where, share))))

    def look(self, beside: str | None = None) -> ClusterSnapshot:
        self.looked.append(beside)
        state = PartitionAnswer(0, self.leader, 4, (1, 2, 3), (1, 2, 3), None)
        places = [("t", 0), *((OFFSETS_TOPIC, number) for number in range(self.offsets_partitions))]
        return ClusterSnapshot(NODES, dict.fromkeys(places, (state,)))

    def play(self, *moves: GambitMove, until_ns: int = LATER_NS) -> Operation:
        journals = Journals(self.folder, "run", Clock())
        recorder = Recorder(journals.open("gambits"), "gambits")
        context = CourseContext(
            cast("Nemesis", self), self.new_operator, recorder, self.look, self.tally, self.cancelled
        )
        course = GambitCourse(context, cast("Deletions", self))
        try:
            course.carry_out("g1", Gambit(0, "test", moves, 10), until_ns)
            course.end()
        finally:
            journals.close()
        return self.completions()[-1]

    def completions(self) -> list[Operation]:
        every = recorded(self.folder, "gambits")
        assert [o.type is OperationType.INVOKE for o in every] == [True, False] * (len(every) // 2)
        assert {o.key for o in every} == {"g1"}
        return every[1::2]


class Deletion(Worker):
    """One that waits for what the test says."""

    def __init__(self, first: Callable[[], None], then: Callable[[], None]) -> None:
        super().__init__("deletion")
        self._first, self._then = first, then

    def work(self) -> None:
        self._first()
        self._then()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_moves_are_made_in_order_with_those_who_were_chosen(bench: Bench) -> None:
    ended = bench.play(CHOOSE, INJECTED, Pass(1), HEALED, IN_SYNC)
    assert bench.done == [
        f"g1: g1f1 Kill {broker(1)} +7",
        f"g1: g1f2 Pause {broker(3)} +7",
        "heal g1f2 g1f1 +9",
        "heal g1f1 g1f2 +0",
    ]
    chosen, waited, _ = bench.completions()
    assert (chosen.f, chosen.type) == ("choose", OK)
    assert chosen.value["where"] == ["t", 0]
    assert chosen.value["parts"] == {"leader": "b1", "follower-1": "b2", "follower-2": "b3"}
    assert (waited.f, waited.type, waited.value["saw"]) == ("await", OK, [])
    assert (ended.f, ended.type, ended.error) == ("gambit", OK, None)
    assert ended.value == {"kind": "test", "planned": 5, "made": 5, "faults": ["g1f1", "g1f2"]}


@pytest.mark.parametrize(
    ("to", "why"), [("leader", "there is no link from b1 to b1"), ("controller", "no node is controller")]
)
def test_a_link_that_can_not_be_cut_ends_a_gambit(bench: Bench, to: str, why: str) -> None:
    cut = FaultAt("f1", "leader", Partition(Pattern.LINK), to=to)
    assert bench.play(CHOOSE, InjectAll((cut,))).error == f"move 2, inject-all: {why}"
    assert bench.done == ["heal  +0"], "nothing was injected"


def test_what_does_not_come_about_ends_a_gambit_and_all_is_healed(bench: Bench) -> None:
    ended = bench.play(CHOOSE, INJECTED, MOVED, HEALED)
    assert bench.done[2:] == ["heal g1f1 g1f2 +0"]
    assert bench.completions()[1].error == "it was not reached"
    assert bench.completions()[1].value["saw"] == {"leader": 1, "isr": [1, 2, 3]}
    assert (ended.type, ended.value["made"]) == (INFO, 2)
    assert ended.error == "move 3, until: led-by-another was not reached"


@pytest.mark.parametrize(
    ("moves", "why"),
    [
        ((ChoosePartition(0, "u", within_ms=0),), "move 1, choose-partition: nothing fits"),
        ((INJECTED,), "move 1, inject-all: no node is leader"),
        ((Until(Acknowledged(1), 0),), "move 1, until: acknowledged was not reached"),
        ((Until(TopicsRemoved(1), 0),), "move 1, until: topics-removed was not reached"),
        ((Until(RecordsDeleted(), 0),), "move 1, until: records-deleted was not reached"),
        ((RequestForChosen(AlterChosen("a", "1")),), "move 1, request-for-chosen: no partition was chosen"),
    ],
)
def test_why_it_ended_is_recorded(bench: Bench, moves: tuple[GambitMove, ...], why: str) -> None:
    assert bench.play(*moves).error == why


def test_faults_that_are_not_proven_end_it(bench: Bench) -> None:
    bench.unproven = {"g1f2"}
    assert bench.play(CHOOSE, INJECTED, HEALED).error == "move 2, inject-all: not proven"
    assert bench.completions()[-1].value["faults"] == ["g1f1", "g1f2"]


def test_a_heal_that_is_not_seen_ends_it(bench: Bench) -> None:
    bench.unproven = {"g1f7"}
    assert (
        bench.play(HealAll(("f7",)), CHOOSE).error
        == "move 1, heal-all: not all of them were seen to have ended"
    )


def test_none_is_begun_after_the_schedule(bench: Bench) -> None:
    ended = bench.play(CHOOSE, INJECTED, until_ns=0)
    assert (ended.type, ended.error, ended.value["faults"]) == (FAIL, "the schedule is over", [])


def test_a_run_that_is_cancelled_leaves_its_faults_to_the_nemesis(bench: Bench) -> None:
    bench.cancelled.set()
    assert bench.play(CHOOSE).error == "the run was cancelled"
    assert bench.done == []


def test_internal_topics_are_looked_at_where_they_are_meant(bench: Bench) -> None:
    bench.play(ChoosePartition(0, "t", within_ms=0), MOVED)
    assert bench.looked == ["t", "t"]
    bench.looked.clear()


def test_a_successor_is_looked_for_where_the_leader_was(bench: Bench) -> None:
    assert bench.play(ChoosePartition(0, "t", within_ms=0), ChooseSuccessor(0)).type is OK
    assert bench.looked == ["t", "t"]
    assert bench.completions()[1].value["parts"] == {"successor": "b1"}


def test_a_successor_of_nobody_ends_it(bench: Bench) -> None:
    assert bench.play(ChooseSuccessor(0)).error == "move 1, choose-successor: nothing fits"


def test_newcomers_are_looked_for_where_the_partition_is(bench: Bench) -> None:
    ended = bench.play(CHOOSE, ChooseNewcomers(0, within_ms=0))
    assert ended.error == "move 2, choose-newcomers: nothing fits"
    assert bench.looked == [None, "t"]


def test_removed_topics_are_counted_from_the_beginning_of_the_waiting(bench: Bench) -> None:
    def remove() -> None:
        bench.tally.hear(Recorded(Operation(0, 0, 7, OK, "delete-topic", "t-1", None)))

    remove()
    bench.asking = remove
    asked = Request(ElectLeaders(ElectionType.PREFERRED), answered=True)
    ended = bench.play(asked, Until(TopicsRemoved(1), 0))
    assert ended.error == "move 2, until: topics-removed was not reached"
    assert (bench.tally.removed, bench.tally.acked) == (2, 0)


def deletion(partition: int) -> Recorded:
    return Recorded(Operation(0, 0, 7, OK, "delete-records", "t", [[partition, 4]]))


def test_deletions_before_the_waiting_and_elsewhere_do_not_count(bench: Bench) -> None:
    bench.tally.hear(deletion(0))
    bench.tally.hear(deletion(1))
    ended = bench.play(CHOOSE, Until(RecordsDeleted(), 0))
    assert ended.error == "move 2, until: records-deleted was not reached"


def test_a_deletion_of_the_chosen_partition_is_waited_for(bench: Bench) -> None:
    over = threading.Event()

    def delete() -> None:
        while not over.is_set():
            bench.tally.hear(deletion(0))

    deleting = threading.Thread(target=delete)
    deleting.start()
    ended = bench.play(CHOOSE, Until(RecordsDeleted(), 60_000))
    over.set()
    deleting.join()
    assert ended.type is OK


def test_what_concerns_the_partition_names_it(bench: Bench) -> None:
    assert bench.play(CHOOSE, RequestForChosen(AlterChosen("segment.ms", "100"))).type is OK
    assert bench.asked_for == [AlterTopic("t", "segment.ms", "100")]


def test_records_of_the_partition_are_deleted_and_nobody_waits(bench: Bench) -> None:
    let_go = threading.Event()
    bench.asking = lambda: cast("Any", let_go.wait(60))
    threading.Timer(0.1, let_go.set).start()
    moves = (CHOOSE, DeleteFromChosen(0.5), WaitAtMost(RecordsDeleted(), 0), DeleteFromChosen(0.25))
    assert bench.play(*moves).type is OK
    assert bench.deleting == [(("t", 0), 0.5), (("t", 0), 0.25)], "the second waits for the first"


def test_without_a_partition_no_records_are_deleted(bench: Bench) -> None:
    ended = bench.play(DeleteFromChosen(0.5))
    assert (ended.type, ended.error) == (INFO, "move 1, delete-from-chosen: no partition was chosen")
    assert bench.deleting == []


def test_a_wait_ends_whether_or_not_its_condition_is_reached(bench: Bench) -> None:
    ended = bench.play(CHOOSE, WaitAtMost(MOVED.condition, 0), WaitAtMost(AllInSync(), 60_000), ASK)
    assert (ended.type, ended.value["made"]) == (OK, 4)
    _, waited, came, _ = bench.completions()
    assert (waited.f, waited.type, waited.value["saw"]["leader"]) == ("await", INFO, 1)
    assert came.type is OK
    assert len(bench.asked_for) == 1


def test_of_parts_of_another_run_it_is_recorded_whether_they_are_as_then(bench: Bench) -> None:
    bench.leader = 2
    assert bench.play(Given({"leader": broker(1)}, ("t", 0), within_ms=0)).type is OK
    assert bench.completions()[0].value["as_then"] is False
    assert bench.looked == ["t", "t"]


def test_what_is_asked_for_is_not_waited_for(bench: Bench) -> None:
    let_go = threading.Event()
    bench.asking = lambda: cast("Any", let_go.wait(60))
    threading.Timer(0.1, let_go.set).start()
    assert bench.play(ASK, ASK, ASK).type is OK
    assert bench.operators == 2, "the third one waits for the first"


def test_an_answer_that_matters_is_waited_for(bench: Bench) -> None:
    answered = threading.Event()

    def answer() -> None:
        threading.Event().wait(0.1)
        answered.set()

    def look_on(beside: str | None = None) -> ClusterSnapshot:
        assert answered.is_set()
        return Bench.look(bench, beside)

    bench.asking, bench.look = answer, look_on  # type: ignore[method-assign]
    asked = Request(ElectLeaders(ElectionType.PREFERRED), answered=True)
    assert bench.play(asked, CHOOSE).type is OK


COORDINATOR = ChooseCoordinator(0, within_ms=0)
LEFT = Until(MemberAway(), 0)
STILL = Until(StillAway(), 0)
GROUP = "group-confluent-kafka"


def member(*, away: bool, group: str = GROUP) -> StaticMemberSeen:
    return StaticMemberSeen(group, f"{group}-0", away)


@pytest.fixture
def grouped(bench: Bench) -> Bench:
    """A bench whose load has a static member."""
    bench.offsets_partitions = 6
    bench.tally.hear(member(away=False))
    return bench


def coming_and_going(bench: Bench, *moves: GambitMove) -> Operation:
    """Play moves while the member leaves and comes back all the time."""
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            bench.tally.hear(member(away=False))
            bench.tally.hear(member(away=True))
            over.wait(0.2)

    going = threading.Thread(target=come_and_go)
    going.start()
    try:
        return bench.play(*moves)
    finally:
        over.set()
        going.join()


def leaving_during_the_wait(bench: Bench) -> None:
    """The member leaves at the second look at the cluster: the first one of a wait after a choice."""

    def look(beside: str | None = None) -> ClusterSnapshot:
        snapshot = Bench.look(bench, beside)
        if len(bench.looked) == 2:
            bench.tally.hear(member(away=True))
        return snapshot

    bench.look = look  # type: ignore[method-assign]


def test_the_coordinator_of_a_static_member_is_chosen(grouped: Bench) -> None:
    assert grouped.play(COORDINATOR).type is OK
    (chosen, _) = grouped.completions()
    assert chosen.value["where"] == [OFFSETS_TOPIC, number_of(GROUP, 6)]
    assert chosen.value["parts"] == {"leader": "b1", "follower-1": "b2", "follower-2": "b3"}
    assert grouped.looked == [OFFSETS_TOPIC]


def test_without_static_members_there_is_no_coordinator_to_choose(bench: Bench) -> None:
    bench.offsets_partitions = 6
    assert bench.play(COORDINATOR).error == "move 1, choose-coordinator: nothing fits"


def test_a_member_that_leaves_is_waited_for(grouped: Bench) -> None:
    ended = coming_and_going(grouped, COORDINATOR, Until(MemberAway(), 60_000))
    assert ended.type is OK
    waited = grouped.completions()[1]
    assert (waited.f, waited.type, waited.value["saw"]) == ("await", OK, [f"{GROUP}-0"])


def test_a_member_that_left_before_the_waiting_does_not_count(grouped: Bench) -> None:
    grouped.tally.hear(member(away=True))
    ended = grouped.play(COORDINATOR, LEFT)
    assert ended.error == "move 2, until: member-away was not reached"


def test_a_member_of_a_group_with_another_coordinator_does_not_count(grouped: Bench) -> None:
    other = next(name for name in "abcdef" if number_of(name, 6) != number_of(GROUP, 6))
    where = (OFFSETS_TOPIC, number_of(other, 6))
    ended = coming_and_going(
        grouped, Given({"leader": broker(1)}, where, within_ms=0), Until(MemberAway(), 1_000)
    )
    assert ended.error == "move 2, until: member-away was not reached"


def test_a_member_that_comes_back_too_early_ends_it(grouped: Bench) -> None:
    """What is asked for takes so long that the member comes back meanwhile."""
    leaving_during_the_wait(grouped)
    grouped.asking = lambda: grouped.tally.hear(member(away=False))
    answered = Request(ElectLeaders(ElectionType.PREFERRED), answered=True)
    ended = grouped.play(COORDINATOR, Until(MemberAway(), 60_000), STILL, answered, STILL)
    assert ended.error == "move 5, until: still-away was not reached"


def test_a_member_that_left_once_more_is_another_case(grouped: Bench) -> None:
    def again() -> None:
        grouped.tally.hear(member(away=False))
        grouped.tally.hear(member(away=True))

    leaving_during_the_wait(grouped)
    grouped.asking = again
    answered = Request(ElectLeaders(ElectionType.PREFERRED), answered=True)
    ended = grouped.play(COORDINATOR, Until(MemberAway(), 60_000), answered, STILL)
    assert ended.error == "move 4, until: still-away was not reached"


def test_an_operator_that_dies_is_reported(bench: Bench) -> None:
    def die() -> None:
        raise LookupError("there is no broker 4")

    bench.asking = die
    with pytest.raises(WorkloadError):
        bench.play(ASK)
