"""Parts of gambits and what gambits wait for, by snapshots written by hand."""

import pytest
from msgspec import structs

from checkers.history.observed import PartitionAnswer
from checkers.history.quorum import ReplicaState
from harness.faults.cuts import cuts
from harness.kafka.answers import QuorumAnswer
from harness.kafka.snapshot import ClusterSnapshot
from harness.nemesis.choosing import (
    Chosen,
    chosen_now,
    coordinating,
    fault_at,
    member_of,
    resolved,
    state_of_gambit_condition,
    still_leads,
)
from harness.vocabulary import (
    AddPart,
    AddVoter,
    AllInSync,
    AlterChosen,
    AlterTopic,
    Among,
    BeingAdded,
    ChooseCoordinator,
    ChooseNewcomers,
    ChoosePartition,
    ChooseQuorum,
    ChooseSuccessor,
    ElectChosen,
    ElectionType,
    ElectLeaders,
    FaultAt,
    Given,
    InSyncAlone,
    Joined,
    Kill,
    Leaderless,
    LedBy,
    LedByAnother,
    Mode,
    NothingMoves,
    Observing,
    OutOfSync,
    Partition,
    Pattern,
    QuorumLed,
    QuorumLedByAnother,
    Reassign,
    ReassignChosen,
    RemovePart,
    RemoveVoter,
    Topology,
    broker,
    controller,
)
from harness.vocabulary.gambits import Situational
from tests.harness.snapshots import reported_by_one_broker

NODES = Topology(mode=Mode.ISOLATED).nodes()
BY_NAME = {node.name: node for node in NODES}


def quorum(leader: int = 102, hw: int = 7) -> QuorumAnswer:
    voters = tuple(ReplicaState(one, f"dir-{one}", 8, 0, 0) for one in (101, 102, 103))
    return QuorumAnswer(0, leader, 3, hw, voters, ())


def partition(number: int, leader: int, isr: tuple[int, ...], replicas: tuple[int, ...]) -> PartitionAnswer:
    return PartitionAnswer(number, leader, 4, replicas, isr, None)


def snapshot(
    *partitions: PartitionAnswer, down: str = "", led: QuorumAnswer | None = None
) -> ClusterSnapshot:
    states = {("t", one.partition): one for one in partitions}
    return ClusterSnapshot(NODES, reported_by_one_broker(states), led, down=frozenset(down.split()))


WHOLE = partition(0, 2, (3, 2, 1), (1, 2, 3))
SHRUNK = partition(1, 1, (1,), (1, 2, 3))
LEADERLESS = partition(2, -1, (2,), (1, 2))
CHOSEN = Chosen({"leader": BY_NAME["b1"], "follower-1": BY_NAME["b2"]}, ("t", 1))


def named(found: Chosen | None) -> dict[str, str]:
    return {} if found is None else {part: node.name for part, node in found.parts.items()}


def test_copies_are_those_of_a_partition_that_is_in_sync() -> None:
    found = chosen_now(ChoosePartition(0), snapshot(SHRUNK, LEADERLESS, WHOLE))
    assert found is not None
    assert found.where == ("t", 0)
    assert named(found) == {"leader": "b2", "follower-1": "b1", "follower-2": "b3"}
    turned = chosen_now(ChoosePartition(1 << 8), snapshot(WHOLE))
    assert named(turned) == {"leader": "b2", "follower-1": "b3", "follower-2": "b1"}


def test_a_draw_decides_among_partitions() -> None:
    more = snapshot(WHOLE, partition(3, 1, (1, 2), (1, 2)))
    assert {found.where for draw in range(4) if (found := chosen_now(ChoosePartition(draw), more))} == {
        ("t", 0),
        ("t", 3),
    }


@pytest.mark.parametrize(
    "there",
    [snapshot(), snapshot(SHRUNK, LEADERLESS), snapshot(WHOLE, down="b3")],
    ids=["nothing", "nobody in sync", "one down"],
)
def test_where_no_partition_fits_nobody_is_chosen(there: ClusterSnapshot) -> None:
    assert chosen_now(ChoosePartition(0), there) is None


def test_a_partition_has_as_many_copies_as_are_needed() -> None:
    two = snapshot(partition(3, 1, (1, 2), (1, 2)))
    assert chosen_now(ChoosePartition(0), two) is not None
    assert chosen_now(ChoosePartition(0, replicas_min=3), two) is None


def test_a_preferred_leader_that_follows_is_the_first_follower() -> None:
    for draw in (0, 1 << 8):
        chosen = chosen_now(ChoosePartition(draw, preferred_follows=True), snapshot(WHOLE))
        assert named(chosen) == {"leader": "b2", "follower-1": "b1", "follower-2": "b3"}
    led = snapshot(partition(0, 1, (3, 2, 1), (1, 2, 3)))
    assert chosen_now(ChoosePartition(0, preferred_follows=True), led) is None


def test_copies_may_be_of_one_topic_alone() -> None:
    assert chosen_now(ChoosePartition(0, "u"), snapshot(WHOLE)) is None
    assert chosen_now(ChoosePartition(0, "t"), snapshot(WHOLE)) is not None


def test_the_quorum_has_a_controller_and_voters() -> None:
    assert named(chosen_now(ChooseQuorum(0), snapshot(led=quorum()))) == {
        "controller": "c2",
        "voter-1": "c1",
        "voter-2": "c3",
    }
    assert named(chosen_now(ChooseQuorum(1), snapshot(led=quorum())))["voter-1"] == "c3"
    assert "voter-2" not in named(chosen_now(ChooseQuorum(0), snapshot(led=quorum(), down="c3")))


@pytest.mark.parametrize(
    "there",
    [snapshot(), snapshot(led=quorum(hw=-1)), snapshot(led=quorum(), down="c2")],
    ids=["nobody leads", "nothing is committed", "the leader is down"],
)
def test_without_a_leader_of_the_quorum_nobody_is_chosen(there: ClusterSnapshot) -> None:
    assert chosen_now(ChooseQuorum(0), there) is None


def test_who_leads_now_is_the_successor() -> None:
    assert named(chosen_now(ChooseSuccessor(), snapshot(SHRUNK), CHOSEN)) == {"successor": "b1"}
    for there in (snapshot(), snapshot(WHOLE), snapshot(SHRUNK, down="b1")):
        assert chosen_now(ChooseSuccessor(), there, CHOSEN) is None
    assert chosen_now(ChooseSuccessor(), snapshot(LEADERLESS), Chosen({}, ("t", 2))) is None
    assert chosen_now(ChooseSuccessor(), snapshot(SHRUNK)) is None, "of no partition"


def test_those_of_another_run_are_taken_once_their_partition_is_in_sync() -> None:
    given = Given({"leader": broker(1), "follower-1": broker(2)}, ("t", 0))
    found = chosen_now(given, snapshot(WHOLE))
    assert found == Chosen({"leader": BY_NAME["b1"], "follower-1": BY_NAME["b2"]}, ("t", 0))
    assert not still_leads(found, snapshot(WHOLE)), "b2 leads now"
    assert chosen_now(given, snapshot(SHRUNK)) is None
    assert chosen_now(Given({"leader": broker(1)}, ("t", 1)), snapshot(SHRUNK)) is None
    assert chosen_now(Given({"x": broker(4)}, None), snapshot()) is None
    taken = chosen_now(Given({"controller": controller(2)}, None), snapshot(led=quorum()))
    assert taken is not None
    assert still_leads(taken, snapshot(led=quorum()))
    assert not still_leads(taken, snapshot(led=quorum(101)))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (LedBy("leader"), True),
        (LedBy("follower-1"), False),
        (LedByAnother(), True),
        (LedByAnother(("follower-1",)), True),
        (LedByAnother(("follower-1", "leader")), False),
        (InSyncAlone("leader"), True),
        (InSyncAlone("follower-1"), False),
        (OutOfSync("follower-1"), True),
        (OutOfSync("leader"), False),
        (OutOfSync(broker(3)), True),
        (AllInSync(), False),
    ],
)
def test_conditions_of_the_chosen_partition(condition: Situational, *, holds: bool) -> None:
    assert state_of_gambit_condition(condition, CHOSEN, snapshot(WHOLE, SHRUNK)).holds is holds
    assert not state_of_gambit_condition(condition, CHOSEN, snapshot()).holds, "nothing is reported"


def test_a_partition_without_a_leader_is_neither_led_nor_out_of_sync() -> None:
    chosen = Chosen(CHOSEN.parts, ("t", 2))
    for condition in (LedByAnother(), OutOfSync("leader"), InSyncAlone("follower-1")):
        assert not state_of_gambit_condition(condition, chosen, snapshot(LEADERLESS)).holds
    assert state_of_gambit_condition(Leaderless(), chosen, snapshot(LEADERLESS)).holds
    assert not state_of_gambit_condition(Leaderless(), CHOSEN, snapshot(SHRUNK)).holds


def test_all_are_in_sync_when_every_partition_is() -> None:
    assert state_of_gambit_condition(AllInSync(), Chosen(), snapshot(WHOLE)).holds
    assert state_of_gambit_condition(AllInSync(), Chosen(), snapshot(WHOLE, LEADERLESS)).saw == ["t/2"]


def test_another_leader_of_the_quorum_has_a_high_watermark() -> None:
    condition, chosen = QuorumLedByAnother("controller"), Chosen({"controller": BY_NAME["c2"]})
    for led, holds in ((quorum(), False), (quorum(101), True), (quorum(101, hw=-1), False), (None, False)):
        assert state_of_gambit_condition(condition, chosen, snapshot(led=led)).holds is holds


def test_a_quorum_that_is_led_has_a_high_watermark() -> None:
    for led, holds in ((quorum(), True), (quorum(hw=-1), False), (None, False)):
        assert state_of_gambit_condition(QuorumLed(), Chosen(), snapshot(led=led)).holds is holds


def test_a_part_that_nobody_has_is_reported() -> None:
    with pytest.raises(LookupError, match="no node is follower-7"):
        state_of_gambit_condition(LedBy("follower-7"), CHOSEN, snapshot(SHRUNK))


OFFSETS = "__consumer_offsets"
GROUP = "group-confluent-kafka"


def coordinators(leaders: dict[int, int]) -> ClusterSnapshot:
    """Partitions of the offsets topic by their leaders, and one of the workload."""
    states = {
        (OFFSETS, number): partition(number, leader, (1, 2, 3), (1, 2, 3))
        for number, leader in leaders.items()
    }
    return ClusterSnapshot(NODES, reported_by_one_broker({("t", 0): WHOLE, **states}))


def test_the_coordinator_of_a_group_with_static_members_is_chosen() -> None:
    cluster = coordinators(dict.fromkeys(range(6), 3))
    place = coordinating(GROUP, cluster)
    assert place is not None
    found = [chosen_now(ChooseCoordinator(draw), cluster, static_groups={GROUP}) for draw in range(9)]
    assert {one and one.where for one in found} == {place}
    assert named(chosen_now(ChooseCoordinator(0), cluster, static_groups=[GROUP])) == {
        "leader": "b3",
        "follower-1": "b1",
        "follower-2": "b2",
    }
    both = [chosen_now(ChooseCoordinator(draw), cluster, static_groups={GROUP, "b"}) for draw in range(9)]
    assert {one and one.where for one in both} == {place, coordinating("b", cluster)}


def test_no_coordinator_is_chosen_of_no_group_or_while_it_is_not_in_sync() -> None:
    cluster = coordinators(dict.fromkeys(range(6), 3))
    assert chosen_now(ChooseCoordinator(0), cluster) is None
    assert chosen_now(ChooseCoordinator(0), snapshot(WHOLE), static_groups={GROUP}) is None
    assert coordinating(GROUP, snapshot(WHOLE)) is None
    leaderless = coordinators(dict.fromkeys(range(6), -1))
    assert chosen_now(ChooseCoordinator(0), leaderless, static_groups={GROUP}) is None


def test_later_choices_add_to_earlier_ones() -> None:
    both = CHOSEN.merged_with(Chosen({"controller": BY_NAME["c1"]}))
    assert named(both) == {"leader": "b1", "follower-1": "b2", "controller": "c1"}
    assert both.where == ("t", 1)


def test_nodes_have_a_place_in_the_topology() -> None:
    assert member_of(BY_NAME["b3"], NODES) == broker(3)
    assert member_of(BY_NAME["c2"], NODES) == controller(2)


def test_newcomers_are_brokers_that_are_up_and_have_no_copy() -> None:
    two = partition(0, 2, (2, 3), (2, 3))
    chosen = Chosen({"leader": BY_NAME["b2"]}, ("t", 0))
    assert named(chosen_now(ChooseNewcomers(5), snapshot(two), chosen)) == {"newcomer-1": "b1"}
    assert chosen_now(ChooseNewcomers(5), snapshot(two, down="b1"), chosen) is None
    assert chosen_now(ChooseNewcomers(5, count=2), snapshot(two), chosen) is None
    assert chosen_now(ChooseNewcomers(5), snapshot(two)) is None
    one = partition(0, 2, (2,), (2,))
    orders = {
        tuple(named(chosen_now(ChooseNewcomers(draw), snapshot(one), chosen)).values()) for draw in range(4)
    }
    assert orders == {("b1", "b3"), ("b3", "b1")}


def test_what_is_asked_for_names_the_partition_and_its_brokers() -> None:
    assert resolved(AlterChosen("segment.ms", "100"), CHOSEN, NODES) == AlterTopic("t", "segment.ms", "100")
    moved = resolved(ReassignChosen(("follower-1", broker(3)), 7), CHOSEN, NODES)
    assert moved == Reassign((("t", 1, (2, 3)),), 7)
    assert resolved(ReassignChosen(None), CHOSEN, NODES) == Reassign((("t", 1, None),), None)
    elected = resolved(ElectChosen(ElectionType.UNCLEAN), CHOSEN, NODES)
    assert elected == ElectLeaders(ElectionType.UNCLEAN, (("t", 1),))
    with pytest.raises(LookupError, match="no node is newcomer-1"):
        resolved(ReassignChosen(("newcomer-1",)), CHOSEN, NODES)
    with pytest.raises(LookupError, match="no partition was chosen"):
        resolved(AlterChosen("segment.ms", "100"), Chosen(), NODES)


def test_who_is_being_added_has_a_place_and_is_not_in_sync() -> None:
    assert state_of_gambit_condition(BeingAdded("follower-1"), CHOSEN, snapshot(SHRUNK)).holds
    assert not state_of_gambit_condition(BeingAdded("leader"), CHOSEN, snapshot(SHRUNK)).holds
    elsewhere = snapshot(partition(1, 1, (1,), (1, 3)))
    seen = state_of_gambit_condition(BeingAdded("follower-1"), CHOSEN, elsewhere)
    assert isinstance(seen.saw, dict)
    assert (seen.holds, seen.saw["replicas"]) == (False, (1, 3))


def test_voters_that_join_or_leave_have_a_part_and_no_partition() -> None:
    chosen = Chosen({"voter-1": BY_NAME["c3"]})
    assert resolved(AddPart("voter-1"), chosen, NODES) == AddVoter(controller(3))
    assert resolved(RemovePart("voter-1"), chosen, NODES) == RemoveVoter(controller(3))
    with pytest.raises(LookupError, match="no node is voter-2"):
        resolved(RemovePart("voter-2"), chosen, NODES)


def test_who_observes_is_reported_by_the_quorums_leader() -> None:
    chosen = Chosen({"voter-1": BY_NAME["c3"]})
    observed = structs.replace(
        quorum(), observers=(ReplicaState(1, "dir-1", 8, 0, 0), ReplicaState(103, "new", 8, 0, 0))
    )
    for led, holds in ((quorum(), False), (observed, True), (None, False)):
        assert state_of_gambit_condition(Observing("voter-1"), chosen, snapshot(led=led)).holds is holds
    assert state_of_gambit_condition(Observing("voter-1"), chosen, snapshot(led=observed)).saw == [1, 103]


def test_nothing_moves_where_somebody_reported_so() -> None:
    assert not state_of_gambit_condition(NothingMoves(), CHOSEN, snapshot(WHOLE)).holds
    idle = ClusterSnapshot(NODES, ongoing=())
    assert state_of_gambit_condition(NothingMoves(), CHOSEN, idle).holds


def test_who_has_joined_is_in_sync_while_there_is_a_leader() -> None:
    assert state_of_gambit_condition(Joined("leader"), CHOSEN, snapshot(SHRUNK)).holds
    assert not state_of_gambit_condition(Joined("follower-1"), CHOSEN, snapshot(SHRUNK)).holds
    leaderless = Chosen(CHOSEN.parts, ("t", 2))
    assert not state_of_gambit_condition(Joined("follower-1"), leaderless, snapshot(LEADERLESS)).holds


def test_a_fault_hits_its_node_and_a_link_is_cut_to_the_other_one() -> None:
    chosen = CHOSEN.merged_with(Chosen({"controller": BY_NAME["c2"], "voter-1": BY_NAME["c3"]}))
    assert fault_at(FaultAt("f1", "leader", Kill(draw=4)), chosen, NODES) == Kill(broker(1), draw=4)
    for pattern in (Pattern.LINK, Pattern.ONE_WAY_LINK):
        for at, to, among in (
            ("leader", "controller", Among.ALL),
            ("voter-1", "controller", Among.CONTROLLERS),
        ):
            aimed = FaultAt("f1", at, Partition(pattern, among=among, draw=9), to=to)
            cut = fault_at(aimed, chosen, NODES)
            assert isinstance(cut, Partition)
            names = tuple(n.name for n in NODES if among is Among.ALL or n.is_controller)
            ends = {chosen.parts[at].name, "c2"}
            assert {*cuts(pattern, names, chosen.parts[at].name, cut.draw)[0]} == ends
    for at, to in (("controller", "controller"), ("voter-1", "leader")):
        aimed = FaultAt("f1", at, Partition(Pattern.LINK, among=Among.CONTROLLERS), to=to)
        with pytest.raises(LookupError, match=r"there is no link from c\d to "):
            fault_at(aimed, chosen, NODES)
