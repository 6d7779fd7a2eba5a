"""The quorum as a node describes it, found among several, and what follows for adding voters."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from checkers.history.quorum import ReplicaState
from harness.administration.quorum_leader import QuorumAnswer, describe_quorum, find_leader
from harness.administration.quorum_view import Status, view_of
from harness.kafka.wire import WireError
from tests.harness.fakes.node import QUORUM, quorum_answer
from tests.harness.fakes.quorum_node import CLUSTER, FIRST, NOW_MS, SECOND, THIRD, FakeQuorumNode

OTHER_CLOCK_MS = 5


@pytest.fixture
def node() -> Iterator[FakeQuorumNode]:
    with FakeQuorumNode() as made:
        yield made


def leaders_answer(**changes: Any) -> QuorumAnswer:
    leader = ReplicaState(101, FIRST, 40, -1, NOW_MS)
    base = QuorumAnswer(
        error=0,
        leader_id=101,
        leader_epoch=7,
        high_watermark=38,
        voters=(ReplicaState(102, SECOND, 38, NOW_MS - 20, NOW_MS - 30), leader),
        observers=(ReplicaState(103, THIRD, 40, NOW_MS - 5, NOW_MS - 6),),
        endpoints={101: (("INNER", "h1", 9093),)},
        controllers={101: ("h1", 9093), 103: ("h3", 9093)},
        kraft_version=1,
    )
    return msgspec.structs.replace(base, **changes)


def test_the_leaders_answer_has_all_that_a_change_of_voters_needs(node: FakeQuorumNode) -> None:
    found = describe_quorum(node.address, 60_000)

    assert (found.error, found.leader_id, found.leader_epoch, found.high_watermark) == (0, 101, 7, 38)
    assert found.voters == tuple(node.voters)
    assert found.observers == tuple(node.observers)
    assert found.endpoints == {each: (place,) for each, place in node.endpoints.items()}
    assert (found.cluster_id, found.controllers, found.kraft_version) == ("the-cluster", node.controllers, 1)


def test_a_follower_reports_the_addresses_of_all_controllers(node: FakeQuorumNode) -> None:
    node.error = 6
    found = describe_quorum(node.address, 60_000)

    assert (found.error, found.controllers) == (6, node.controllers)


def test_a_broker_reports_no_controllers() -> None:
    with FakeQuorumNode(is_broker=True) as broker:
        found = describe_quorum(broker.address, 60_000)

    assert (found.error, found.cluster_id, found.controllers) == (0, "the-cluster", None)


@pytest.mark.parametrize(
    "spoil",
    [lambda node: node.versions.pop(CLUSTER), lambda node: setattr(node, "cluster_error", 115)],
    ids=["unknown", "refused"],
)
def test_a_controller_that_knows_no_cluster_reports_the_quorum(
    node: FakeQuorumNode, spoil: Callable[[FakeQuorumNode], object]
) -> None:
    spoil(node)
    node.versions[QUORUM] = 1  # as before 3.9
    found = describe_quorum(node.address, 60_000)

    assert (found.error, found.cluster_id, found.controllers, found.endpoints) == (0, None, None, {})


@pytest.mark.parametrize(("top_level", "code"), [(31, 31), (0, -1)])
def test_an_answer_without_a_partition_is_an_error(node: FakeQuorumNode, top_level: int, code: int) -> None:
    def empty(_request: object) -> Any:
        answer = quorum_answer(0, 0, 0, {})
        answer.topics, answer.error_code = [], top_level
        return answer

    node.answers[QUORUM] = empty
    assert describe_quorum(node.address, 60_000).error == code


def test_silence_is_bounded(node: FakeQuorumNode) -> None:
    node.error = None
    with pytest.raises(WireError, match="timed out"):
        describe_quorum(node.address, 100)


ONE, TWO, THREE = ("h", 1), ("h", 2), ("h", 3)


def test_the_leader_is_found_among_several_by_the_highest_epoch() -> None:
    answers = {
        ONE: QuorumAnswer(0, leader_id=1, leader_epoch=4),
        TWO: QuorumAnswer(6),
        THREE: QuorumAnswer(0, leader_id=3, leader_epoch=5),
    }

    found = find_leader([ONE, TWO, THREE], 60_000, lambda address, _timeout_ms: answers[address])

    assert found == (THREE, answers[THREE])


def test_a_follower_leads_on_to_the_leader() -> None:
    answers = {
        ONE: QuorumAnswer(6, controllers={1: ONE, 2: TWO}),
        TWO: QuorumAnswer(0, leader_id=2, leader_epoch=1),
    }

    assert find_leader([ONE], 60_000, lambda address, _timeout_ms: answers[address]) == (TWO, answers[TWO])


def test_a_leader_that_is_elected_meanwhile_is_waited_for() -> None:
    answers = [QuorumAnswer(6), QuorumAnswer(6), QuorumAnswer(0, leader_id=1, leader_epoch=2)]

    found = find_leader([ONE], 60_000, lambda _address, _timeout_ms: answers.pop(0))

    assert found == (ONE, QuorumAnswer(0, leader_id=1, leader_epoch=2))


def test_without_a_leader_the_last_answer_of_each_node_is_reported() -> None:
    def ask(address: tuple[str, int], _timeout_ms: int) -> QuorumAnswer:
        if address == THREE:
            raise WireError("timed out")
        return QuorumAnswer(6 if address == ONE else 29)

    answers = find_leader([ONE, TWO, THREE], 20, ask)

    assert answers == {ONE: "it is not the leader", TWO: "error 29", THREE: "timed out"}


def test_a_view_orders_replicas_and_reckons_with_the_leaders_clock() -> None:
    view = view_of(leaders_answer(), {}, OTHER_CLOCK_MS)

    leader, follower, observer = view.replicas
    assert [each.status for each in view.replicas] == [Status.LEADER, Status.FOLLOWER, Status.OBSERVER]
    assert (leader.id, leader.lag, leader.last_fetch_ago_ms, leader.last_caught_up_ago_ms) == (
        101,
        0,
        None,
        0,
    )
    assert (follower.id, follower.lag, follower.last_fetch_ago_ms, follower.last_caught_up_ago_ms) == (
        102,
        2,
        20,
        30,
    )
    assert (follower.endpoints, leader.endpoints) == ((), (("INNER", "h1", 9093),))
    assert observer.endpoints == (("INNER", "h3", 9093),)
    assert (view.majority, view.voter(102), view.voter(103)) == (2, follower, None)
    assert (view.voters, view.observers) == ((leader, follower), (observer,))


def test_what_a_leader_does_not_know_is_unknown() -> None:
    leader = ReplicaState(101, None, -1, -1, -1)
    late = ReplicaState(102, None, 3, NOW_MS + 9, NOW_MS + 9)
    view = view_of(leaders_answer(voters=(leader, late), high_watermark=-1, endpoints={}), {}, NOW_MS)

    first, second = view.voters
    assert (view.high_watermark, first.log_end_offset, first.lag, first.last_caught_up_ago_ms) == (None,) * 4
    assert (second.lag, second.last_fetch_ago_ms) == (None, 0)
    assert view.observers[0].endpoints == (("CONTROLLER", "h3", 9093),)


def test_a_leader_that_is_no_voter_any_more_leaves_lags_unknown() -> None:
    view = view_of(leaders_answer(leader_id=109), {}, NOW_MS)

    assert [each.status for each in view.voters] == [Status.FOLLOWER, Status.FOLLOWER]
    assert {each.lag for each in view.replicas} == {None}


STATIC = {"kraft_version": None, "voters": (ReplicaState(101, None, 40, -1, NOW_MS),)}


@pytest.mark.parametrize(
    ("changes", "could", "why"),
    [
        ({}, True, "a controller that has caught up"),
        ({"kraft_version": None}, True, "a controller that has caught up"),
        ({"kraft_version": 0}, False, "kraft.version is 0"),
        (STATIC, False, "kraft.version is 0"),
        ({"observers": (ReplicaState(102, THIRD, 40, NOW_MS, NOW_MS),)}, False, "remove that one first"),
        ({"observers": (ReplicaState(103, None, 40, NOW_MS, NOW_MS),)}, False, "no directory id"),
        ({"observers": (ReplicaState(103, THIRD, 40, NOW_MS, -1),)}, False, "never caught up"),
        ({"observers": (ReplicaState(103, THIRD, 40, NOW_MS - 3_600_000, NOW_MS),)}, False, "for an hour"),
        ({"observers": (ReplicaState(1, THIRD, 40, NOW_MS, NOW_MS),)}, False, "KAFKA-19021"),
        ({"controllers": None}, None, "ask a controller"),
    ],
)  # fmt: skip
def test_who_could_be_a_voter(changes: dict[str, Any], could: bool | None, why: str) -> None:  # noqa: FBT001 - an expected value
    observer = view_of(leaders_answer(**changes), {}, NOW_MS).observers[0]

    assert observer.could_vote is could
    assert why in observer.because


def test_known_addresses_of_controllers_need_not_be_reported() -> None:
    (observer,) = view_of(leaders_answer(controllers=None), {103: ("h3", 9093)}, NOW_MS).observers

    assert (observer.could_vote, observer.endpoints) == (True, (("INNER", "h3", 9093),))
