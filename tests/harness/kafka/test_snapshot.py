"""A snapshot answers what is asked of the cluster's state, by what its nodes reported."""

from itertools import permutations

import pytest

from checkers.history.observed import PartitionAnswer
from harness.kafka.answers import Ongoing, QuorumAnswer, TopicAnswer
from harness.kafka.sizes import TopicSize, TopicSizes
from harness.kafka.snapshot import ClusterSnapshot
from harness.observers.view import ClusterView
from harness.vocabulary import Mode, Topology, broker, controller

NODES = Topology(mode=Mode.ISOLATED).nodes()
EMPTY = ClusterSnapshot(NODES)
WHERE = ("t", 0)


def state(leader: int, epoch: int, *isr: int, partition: int = 0) -> PartitionAnswer:
    return PartitionAnswer(partition, leader, epoch, (1, 2, 3), isr, None)


def test_where_nothing_is_reported_nothing_is_known() -> None:
    assert (EMPTY.active_controller, EMPTY.leaders, EMPTY.partitions) == (None, (), {})
    assert (EMPTY.partition(WHERE), EMPTY.partition(None), EMPTY.first_topic) == (None, None, None)
    assert (EMPTY.in_sync(WHERE), EMPTY.moving) == (set(), None)


def test_the_newest_epoch_is_believed_and_of_equals_the_first() -> None:
    newest, same, old = state(2, 9, 2), state(3, 9, 3), state(1, 8, 1)
    for answers in permutations((newest, same, old)):
        first = next(one for one in answers if one is not old)
        snapshot = ClusterSnapshot(NODES, {WHERE: answers, ("t", 1): ()})
        assert snapshot.partition(WHERE) == first
        assert snapshot.partitions == {WHERE: first}, "nobody reported the other"


def test_leaders_are_those_of_the_first_topic_in_the_order_of_its_partitions() -> None:
    reported = {
        ("t", number): (state(leader, 1, partition=number),) for number, leader in ((2, 1), (1, -1), (0, 3))
    }
    sizes = (TopicSize("t", 1, 4), TopicSize("u", 1, 1))
    assert ClusterSnapshot(NODES, {**reported, ("u", 0): (state(2, 1),)}, topics=sizes).leaders == (3, 1)


def test_in_sync_is_who_is_in_every_answer() -> None:
    snapshot = ClusterSnapshot(NODES, {WHERE: (state(1, 1, 1, 2, 3), state(1, 1, 3, 1))})
    assert snapshot.in_sync(WHERE) == {1, 3}


def test_nodes_are_down_or_held_apart() -> None:
    snapshot = ClusterSnapshot(NODES, down=frozenset({"b1", "c1"}), held=frozenset({"b2"}))
    assert snapshot.brokers_up == (2, 3)
    assert {node.name for node in snapshot.up.values()} == {"b2", "b3", "c2", "c3"}
    assert snapshot.held_ids == {2}
    assert snapshot.holding(["b3"]).held == {"b2", "b3"}
    assert snapshot.holding(["b3"]).down == snapshot.down


def test_a_member_is_a_node_of_the_topology() -> None:
    assert EMPTY.node(broker(2)) == EMPTY.by_id[2]
    with pytest.raises(LookupError, match="there is no controller 4"):
        EMPTY.node(controller(4))


def test_copies_are_on_all_replicas_that_a_broker_reports() -> None:
    moved = PartitionAnswer(0, 1, 2, (1, 4), (1,), None)
    snapshot = ClusterSnapshot(NODES, {WHERE: (state(1, 1, 1), moved), ("t", 1): ()})
    b1, b2 = EMPTY.by_id[1], EMPTY.by_id[2]
    assert snapshot.copies_on(b1) == snapshot.copies_on(b2) == {WHERE}
    assert snapshot.copies_on(EMPTY.by_id[101]) == frozenset()


def test_a_view_is_taken_at_one_moment() -> None:
    view, sizes = ClusterView(), TopicSizes()
    made = [TopicAnswer("t", "id", 0, (state(1, 1, 1),)), TopicAnswer("u", "id", 0, ())]
    view.saw_topics("b1", {"t": TopicAnswer("t", "id", 0, (state(1, 1, 1, partition=1),))})
    view.saw_controller("c1", QuorumAnswer(0, 101, 1, 0, (), ()))
    moving = Ongoing("t", 1, (1, 2), (2,), (1,))
    view.saw_reassignments((moving,))
    snapshot = view.snapshot(NODES, made, sizes)
    assert snapshot.reported == {WHERE: (), ("t", 1): (state(1, 1, 1, partition=1),)}
    assert snapshot.topics == (TopicSize("t", 1, 2), TopicSize("u", 0, 0))
    assert (snapshot.active_controller, snapshot.moving) == (101, [("t", 1)])
    assert sizes.of("t") == 2
    view.saw_topics("b2", {})
    assert snapshot.answers == 1, "it stays as it was taken"
