"""Conditions and drawn operations, by snapshots written by hand; both are pure."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.observed import PartitionAnswer
from checkers.history.quorum import ReplicaState
from harness.kafka.answers import Ongoing, QuorumAnswer
from harness.kafka.sizes import TopicSize
from harness.kafka.snapshot import ClusterSnapshot
from harness.nemesis.conditions import state_of_condition
from harness.nemesis.drawing import drawn
from harness.vocabulary import (
    Acknowledged,
    AddPartitions,
    AddSome,
    AddVoter,
    AlterSome,
    AlterTopic,
    CancelSome,
    ChangeVoters,
    Condition,
    ElectionType,
    ElectLeaders,
    ElectSome,
    InSync,
    IsObserver,
    LeaderIs,
    LeadsQuorum,
    Mode,
    Moves,
    NothingMoves,
    Reassign,
    ReassignSome,
    RemoveVoter,
    ReplicasAre,
    Topology,
    VotersAre,
    VotersCaughtUp,
    broker,
    controller,
)
from harness.vocabulary.administration import Drawn, Member
from harness.workloads.metadata import CONFIG_KEYS
from tests.harness.snapshots import grown, reported_by_one_broker

NODES = Topology(mode=Mode.ISOLATED, controllers=5, brokers=3).nodes()


def quorum(voters: list[int], observers: list[int] | None = None, hw: int = 7) -> QuorumAnswer:
    def replica_states(ids: list[int]) -> tuple[ReplicaState, ...]:
        return tuple(ReplicaState(one, f"dir-{one}", 8, 0, 0) for one in ids)

    return QuorumAnswer(0, voters[0], 3, hw, replica_states(voters), replica_states(observers or []))


SNAPSHOT = ClusterSnapshot(
    nodes=NODES,
    down=frozenset({"b3"}),
    reported={
        ("t", 0): (PartitionAnswer(0, 1, 4, (1, 2, 3), (2, 1), None),),
        ("t", 1): (PartitionAnswer(1, -1, 4, (2, 3), (), None),),
    },
    quorum=quorum([101, 102, 103, 104], [105, 1, 2]),
)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Acknowledged(10), True),
        (Acknowledged(11), False),
        (LeaderIs("t", 0, broker(1)), True),
        (LeaderIs("t", 0, broker(2)), False),
        (LeaderIs("t", 0, None), False),
        (LeaderIs("t", 1, None), True),
        (LeaderIs("t", 2, None), False),
        (InSync("t", 0, (broker(1), broker(2))), True),
        (InSync("t", 0, (broker(1),)), False),
        (ReplicasAre("t", 1, (broker(2), broker(3))), True),
        (ReplicasAre("t", 1, (broker(3), broker(2))), False),
        (VotersAre((controller(1), controller(2), controller(3), controller(4))), True),
        (VotersAre((controller(1), controller(2), controller(3))), False),
        (IsObserver(controller(5)), True),
        (IsObserver(controller(4)), False),
        (LeadsQuorum(), True),
        (LeadsQuorum(controller(1)), True),
        (LeadsQuorum(controller(2)), False),
        (VotersCaughtUp(), True),
        (NothingMoves(), False),
        (Moves("t", 1), False),
    ],
)
def test_conditions(condition: Condition, *, holds: bool) -> None:
    assert state_of_condition(condition, SNAPSHOT, 10).holds is holds


def test_what_moves_is_cancelled_and_waited_for() -> None:
    moving = Ongoing("t", 1, (1, 2, 3), (1,), (3,))
    snapshot = msgspec.structs.replace(SNAPSHOT, ongoing=(moving,))
    assert drawn(CancelSome(1), snapshot) == Reassign((("t", 1, None),))
    assert not state_of_condition(NothingMoves(), snapshot, 0).holds
    assert state_of_condition(Moves("t", 1), snapshot, 0).holds
    assert not state_of_condition(Moves("t", 0), snapshot, 0).holds
    still = msgspec.structs.replace(SNAPSHOT, ongoing=())
    assert state_of_condition(NothingMoves(), still, 0).holds


def test_where_nothing_moves_a_slow_move_begins_that_can_be_cancelled() -> None:
    still = msgspec.structs.replace(SNAPSHOT, ongoing=())
    for draw in range(20):
        asked = drawn(CancelSome(draw), still)
        assert isinstance(asked, Reassign)
        ((topic, number, wanted),) = asked.targets
        now = still.partitions[topic, number].replicas
        assert wanted is not None
        assert len(wanted) == len(now)
        assert len({*wanted} - {*now}) == 1
        assert asked.throttle_bytes_per_s == 10_000


def test_where_every_broker_has_a_copy_nothing_moves() -> None:
    all_have = {
        place: msgspec.structs.replace(seen, replicas=(1, 2, 3))
        for place, seen in SNAPSHOT.partitions.items()
    }
    still = msgspec.structs.replace(SNAPSHOT, ongoing=(), reported=reported_by_one_broker(all_have))
    assert drawn(CancelSome(1), still) is None


@pytest.mark.parametrize(
    "condition", [VotersAre((controller(1),)), VotersCaughtUp(), IsObserver(broker(1)), LeadsQuorum()]
)
def test_without_a_leader_nothing_holds_of_the_quorum(condition: Condition) -> None:
    assert not state_of_condition(condition, msgspec.structs.replace(SNAPSHOT, quorum=None), 0).holds


def test_a_leader_without_a_high_watermark_does_not_lead_yet() -> None:
    young = msgspec.structs.replace(SNAPSHOT, quorum=quorum([101], hw=-1))
    assert not state_of_condition(LeadsQuorum(), young, 0).holds


def test_a_voter_that_lags_or_a_leader_without_a_high_watermark_has_not_caught_up() -> None:
    behind = msgspec.structs.replace(SNAPSHOT, quorum=quorum([101, 102], hw=9))
    assert not state_of_condition(VotersCaughtUp(), behind, 0).holds
    young = msgspec.structs.replace(SNAPSHOT, quorum=quorum([101, 102], hw=-1))
    assert not state_of_condition(VotersCaughtUp(), young, 0).holds


def test_a_condition_on_a_node_that_is_not_there_is_reported() -> None:
    with pytest.raises(LookupError, match="there is no broker 4"):
        state_of_condition(LeaderIs("t", 0, broker(4)), SNAPSHOT, 0)


@given(st.integers(0, 1 << 16))
def test_elections_ask_for_what_there_is(draw: int) -> None:
    asked = drawn(ElectSome(ElectionType.UNCLEAN, draw), SNAPSHOT)
    assert isinstance(asked, ElectLeaders)
    assert asked.type is ElectionType.UNCLEAN
    assert asked.partitions is None or set(asked.partitions) <= set(SNAPSHOT.partitions)
    assert asked == drawn(ElectSome(ElectionType.UNCLEAN, draw), SNAPSHOT)


@given(st.integers(0, 1 << 16))
def test_reassignments_keep_two_copies_on_different_brokers(draw: int) -> None:
    asked = drawn(ReassignSome(draw), msgspec.structs.replace(SNAPSHOT, ongoing=()))
    assert isinstance(asked, Reassign)
    ((topic, partition, replicas),) = asked.targets
    assert (topic, partition) in SNAPSHOT.partitions
    assert replicas is not None
    assert len(replicas) >= 2
    assert len(set(replicas)) == len(replicas)
    assert set(replicas) <= {1, 2, 3}


@given(st.integers(0, 1 << 16))
def test_no_reassignment_takes_an_addition_back(draw: int) -> None:
    moving = (Ongoing("t", 0, (1, 2, 3), (3,), ()), Ongoing("t", 1, (1, 2, 3), (1,), ()))
    asked = drawn(ReassignSome(draw), msgspec.structs.replace(SNAPSHOT, ongoing=moving))
    if asked is not None:
        assert isinstance(asked, Reassign)
        ((_, number, wanted),) = asked.targets
        assert wanted is not None
        assert {0: 3, 1: 1}[number] in wanted


@given(st.integers(0, 1 << 16))
def test_no_reassignment_takes_a_removal_back(draw: int) -> None:
    moving = tuple(Ongoing("t", number, (1, 2, 3), (2,), (3,)) for number in (0, 1))
    asked = drawn(ReassignSome(draw), msgspec.structs.replace(SNAPSHOT, ongoing=moving))
    if asked is not None:
        assert isinstance(asked, Reassign)
        ((_, _, replicas),) = asked.targets
        assert replicas is not None
        assert 3 not in replicas
        assert len(replicas) >= 2


def test_some_moves_are_slow() -> None:
    there = msgspec.structs.replace(SNAPSHOT, ongoing=())
    asked = [drawn(ReassignSome(draw), there) for draw in range(400)]
    rates = Counter(one.throttle_bytes_per_s for one in asked if isinstance(one, Reassign))
    assert set(rates) == {None, 10_000, 20_000, 1_000_000}
    assert 0.5 < rates[None] / rates.total() < 0.7
    assert min(rates.values()) > 0.08 * rates.total()


def test_nothing_is_moved_where_nobody_reports_what_moves_already() -> None:
    assert drawn(ReassignSome(1), msgspec.structs.replace(SNAPSHOT, ongoing=None)) is None
    assert drawn(ReassignSome(1), msgspec.structs.replace(SNAPSHOT, ongoing=())) is not None


def test_a_move_that_would_leave_too_few_is_not_asked_for() -> None:
    moving = tuple(Ongoing("t", number, (1, 2, 3), (), (2, 3)) for number in (0, 1))
    assert drawn(ReassignSome(1), msgspec.structs.replace(SNAPSHOT, ongoing=moving)) is None


@given(st.integers(0, 1 << 16), st.integers(1, 3))
def test_no_more_replicas_in_sync_are_asked_for_than_there_are(draw: int, copies: int) -> None:
    state = msgspec.structs.replace(SNAPSHOT.partitions["t", 1], replicas=tuple(range(copies)), leader=2)
    partitions = {**SNAPSHOT.partitions, ("t", 1): state}
    asked = drawn(
        AlterSome(draw), msgspec.structs.replace(SNAPSHOT, reported=reported_by_one_broker(partitions))
    )
    assert isinstance(asked, AlterTopic)
    assert asked.topic == "t"
    assert asked.config not in CONFIG_KEYS
    if asked.config == "min.insync.replicas":
        assert 1 <= int(asked.value) <= min(copies, 2)


def test_nobody_asks_for_more_in_sync_while_nobody_leads() -> None:
    assert SNAPSHOT.partitions["t", 1].leader < 0
    state = msgspec.structs.replace(SNAPSHOT.partitions["t", 1], leader=2)
    led = msgspec.structs.replace(SNAPSHOT, reported={**SNAPSHOT.reported, ("t", 1): (state,)})
    asked = [(drawn(AlterSome(draw), led), drawn(AlterSome(draw), SNAPSHOT)) for draw in range(60)]
    limits = [one for one, _ in asked if isinstance(one, AlterTopic) and one.config == "min.insync.replicas"]
    assert limits
    assert [without for one, without in asked if one in limits] == [None] * len(limits)
    assert all(one == without for one, without in asked if one not in limits)


@given(st.integers(0, 1 << 16), st.integers(1, 8), st.integers(0, 20))
def test_a_topic_gets_twice_as_many_partitions_at_most(draw: int, made_with: int, more: int) -> None:
    now = made_with + more
    asked = drawn(AddSome(draw), grown(SNAPSHOT, TopicSize("t", made_with, now)))
    if more >= made_with:
        assert asked is None
    else:
        assert isinstance(asked, AddPartitions)
        assert asked.topic == "t"
        assert now < asked.count <= min(now + 2, 2 * made_with)


def test_both_one_partition_and_two_are_added() -> None:
    snapshot = grown(SNAPSHOT, TopicSize("t", 6, 6))
    assert {drawn(AddSome(draw), snapshot) for draw in range(20)} == {
        AddPartitions(7, "t"),
        AddPartitions(8, "t"),
    }


def test_cancelling_asks_for_everything() -> None:
    assert drawn(CancelSome(1), SNAPSHOT) == Reassign((("t", 0, None), ("t", 1, None)))


@pytest.mark.parametrize(
    "operation", [ElectSome(ElectionType.PREFERRED), ReassignSome(), CancelSome(), AlterSome(), AddSome()]
)
def test_of_nothing_known_nothing_is_asked(operation: Drawn) -> None:
    assert drawn(operation, msgspec.structs.replace(SNAPSHOT, reported={})) is None


@given(
    st.integers(0, 1 << 16),
    st.lists(st.integers(101, 105), min_size=1, max_size=5, unique=True),
    st.sets(st.sampled_from(["c1", "c2", "c3", "c4", "c5"])),
)
def test_voters_change_only_where_a_majority_of_the_rest_is_up(
    draw: int, voters: list[int], down: set[str]
) -> None:
    observers = [one for one in range(101, 106) if one not in voters]
    snapshot = msgspec.structs.replace(SNAPSHOT, quorum=quorum(voters, [*observers, 1]), down=frozenset(down))
    asked = drawn(ChangeVoters(draw), snapshot)
    match asked:
        case AddVoter(Member() as member):
            node = snapshot.node(member)
            assert node.id in observers
            assert node.name not in down
        case RemoveVoter(Member() as member):
            rest = [one for one in voters if one != snapshot.node(member).id]
            assert len(rest) >= 3
            assert 2 * sum(f"c{one - 100}" not in down for one in rest) > len(rest)
        case _:
            assert asked is None
            assert len(voters) <= 3 or down


@given(st.integers(0, 1 << 16), st.sets(st.sampled_from(["c1", "c2", "c3", "c4"])))
def test_a_voter_whose_disk_was_replaced_goes_before_others_do(draw: int, down: set[str]) -> None:
    voters = quorum([101, 102, 103])
    back = (
        ReplicaState(103, "another", 8, 0, 0),
        ReplicaState(104, "dir-104", 8, 0, 0),
        ReplicaState(1, "dir-1", 8, 0, 0),
    )
    replaced = msgspec.structs.replace(voters, observers=back)
    asked = drawn(
        ChangeVoters(draw), msgspec.structs.replace(SNAPSHOT, quorum=replaced, down=frozenset(down))
    )
    if down & {"c1", "c2"}:
        assert asked is None, "either change needs both of those that are left"
    elif "c4" in down:
        assert asked == RemoveVoter(controller(3))
    else:
        assert asked in {RemoveVoter(controller(3)), AddVoter(controller(4))}


def test_voters_do_not_change_without_a_leader() -> None:
    assert drawn(ChangeVoters(), msgspec.structs.replace(SNAPSHOT, quorum=None)) is None
