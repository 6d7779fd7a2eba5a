"""Symbolic targets become nodes by role, and fall back openly."""

from harness.faults.targets import Resolved, resolve, roles_of
from harness.kafka.snapshot import ClusterSnapshot
from harness.vocabulary import Mode, Target, Topology, broker, controller
from tests.harness.snapshots import led

NODES = Topology(mode=Mode.ISOLATED).nodes()
SNAPSHOT = led(NODES, 102, (3, 1))


def named(resolved: Resolved | None) -> tuple[str, str]:
    assert resolved is not None
    return resolved.node.name, resolved.by


def test_roles_are_found() -> None:
    assert named(resolve(Target.ACTIVE_CONTROLLER, 5, SNAPSHOT)) == ("c2", "role")
    assert named(resolve(Target.PARTITION_LEADER, 0, SNAPSHOT)) == ("b3", "role")
    assert named(resolve(Target.PARTITION_LEADER, 1, SNAPSHOT)) == ("b1", "role")


def test_a_voter_is_a_controller() -> None:
    assert {named(resolve(Target.VOTER, draw, SNAPSHOT))[0] for draw in range(9)} == {"c1", "c2", "c3"}


def test_a_broker_is_one_whatever_else_it_is() -> None:
    assert {named(resolve(Target.BROKER, draw, SNAPSHOT)) for draw in range(9)} == {
        ("b1", "role"),
        ("b2", "role"),
        ("b3", "role"),
    }


def test_random_reaches_every_node() -> None:
    assert {named(resolve(Target.RANDOM, draw, SNAPSHOT))[0] for draw in range(99)} == {n.name for n in NODES}


def test_a_node_that_is_held_is_not_taken_twice() -> None:
    snapshot = led(NODES, 102, held=frozenset({"c2"}))

    name, by = named(resolve(Target.ACTIVE_CONTROLLER, 1, snapshot))
    assert name != "c2"
    assert by == "fallback"


def test_without_a_controller_in_sight_somebody_else_is_taken() -> None:
    snapshot = ClusterSnapshot(NODES)

    assert named(resolve(Target.ACTIVE_CONTROLLER, 0, snapshot))[1] == "fallback"
    assert named(resolve(Target.PARTITION_LEADER, 0, snapshot))[1] == "fallback"


def test_no_target_is_left_when_all_nodes_are_held() -> None:
    snapshot = led(NODES, 101, held=frozenset(n.name for n in NODES))

    assert resolve(Target.RANDOM, 0, snapshot) is None


def test_a_follower_of_the_quorum_is_a_controller_that_does_not_lead() -> None:
    found = {named(resolve(Target.QUORUM_FOLLOWER, draw, SNAPSHOT)) for draw in range(9)}
    assert found == {("c1", "role"), ("c3", "role")}


def test_nodes_are_named_by_their_place() -> None:
    assert named(resolve(broker(2), 0, SNAPSHOT)) == ("b2", "name")
    assert named(resolve(controller(3), 0, SNAPSHOT)) == ("c3", "name")
    assert resolve(controller(4), 0, SNAPSHOT) is None
    held = led(NODES, held=frozenset({"b2"}))
    assert resolve(broker(2), 0, held) is None


def test_a_node_has_several_roles_at_once() -> None:
    by_name = {node.name: node for node in NODES}
    every = {Target.RANDOM, Target.VOTER}
    assert set(roles_of(by_name["c2"], 0, SNAPSHOT)) == every | {Target.ACTIVE_CONTROLLER}
    assert set(roles_of(by_name["c1"], 0, SNAPSHOT)) == every | {Target.QUORUM_FOLLOWER}
    assert set(roles_of(by_name["b3"], 0, SNAPSHOT)) == {
        Target.RANDOM,
        Target.BROKER,
        Target.PARTITION_LEADER,
    }
    assert set(roles_of(by_name["b3"], 1, SNAPSHOT)) == {Target.RANDOM, Target.BROKER}
