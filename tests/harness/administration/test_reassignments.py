"""Reassignments over the wire: what is asked, what is answered, and that silence is never an answer."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.administration.reassignments import (
    LogSize,
    ReassignmentResult,
    alter_reassignments,
    list_reassignments,
    log_sizes,
)
from harness.administration.throttles import (
    Move,
    RefusedError,
    Throttle,
    remove_throttle,
    set_throttle,
    throttle_for,
)
from harness.kafka.answers import Ongoing
from harness.kafka.wire import WireError
from tests.harness.fakes.moving import ALTER_CONFIGS, BROKER, LIST, LOG_DIRS, REASSIGN, TOPIC, FakeMoving


@pytest.fixture
def node() -> Iterator[FakeMoving]:
    with FakeMoving() as made:
        yield made


def test_a_reassignment_is_asked_for_and_listed(node: FakeMoving) -> None:
    answer = alter_reassignments(node.address, [("log-0", 0, [2, 3]), ("log-0", 7, [1])], 60_000)
    assert (answer.code, answer.message) == (0, None)
    assert answer.results == (
        ReassignmentResult("log-0", 0, 0, None),
        ReassignmentResult("log-0", 7, 3, "no"),
    )
    (ongoing,) = list_reassignments(node.address)
    assert ongoing == Ongoing("log-0", 0, (2, 3, 1), (3,), (1,))
    assert ongoing.target == (2, 3)


def test_none_cancels_and_with_nothing_to_cancel_is_refused(node: FakeMoving) -> None:
    alter_reassignments(node.address, [("log-0", 0, (3,))], 60_000)
    answer = alter_reassignments(node.address, [("log-0", 0, None), ("log-0", 1, None)], 60_000)
    assert [one.code for one in answer.results] == [0, 85]
    assert list_reassignments(node.address) == ()


def test_a_refusal_as_a_whole_has_no_partitions(node: FakeMoving) -> None:
    node.errors[REASSIGN] = 41
    answer = alter_reassignments(node.address, [("log-0", 0, (3,))], 60_000)
    assert (answer.code, answer.message, answer.results) == (41, "as the test has it", ())


def test_only_the_partitions_asked_about_are_asked_about(node: FakeMoving) -> None:
    list_reassignments(node.address, 60_000, [("log-0", 0), ("log-0", 1), ("a", 2)])
    list_reassignments(node.address, 60_000)
    assert node.listed == [[("log-0", 0), ("log-0", 1), ("a", 2)], None]


@pytest.mark.parametrize(("key", "ask"), [(LIST, list_reassignments), (LOG_DIRS, lambda a: log_sizes(a, 1))])
def test_an_error_is_no_empty_answer(node: FakeMoving, key: int, ask: object) -> None:
    node.errors[key] = 41
    with pytest.raises(WireError, match=r"answered NOT_CONTROLLER \(41\)"):
        ask(node.address)  # type: ignore[operator]


def test_silence_is_no_answer(node: FakeMoving) -> None:
    node.errors = {REASSIGN: None, LOG_DIRS: None}
    with pytest.raises(WireError):
        alter_reassignments(node.address, [("log-0", 0, (3,))], 50)
    with pytest.raises(WireError):
        log_sizes(node.address, 1, timeout_ms=50)


def test_a_broker_reports_the_sizes_of_its_copies(node: FakeMoving) -> None:
    node.sizes = {("log-0", 0): 70, ("log-0", 1): 80}
    node.offline = ["/broken"]
    first = LogSize(4, "log-0", 0, "/data", 70, 0, is_future=False)
    assert log_sizes(node.address, 4, [("log-0", 0)]) == (first,)
    assert {one.size_bytes for one in log_sizes(node.address, 4)} == {70, 80}


MOVES = (Move("a", 0, (1, 2), (2, 3)), Move("a", 1, (1, 2), (2, 1)), Move("b", 0, (2,), (2, 4)))


def test_who_sends_and_who_receives_is_throttled() -> None:
    throttle = throttle_for(MOVES, 1000)
    assert throttle == Throttle(
        1000, (1, 2, 3, 4), {"a": ("0:1", "0:2"), "b": ("0:2",)}, {"a": ("0:3",), "b": ("0:4",)}
    )
    assert throttle.topics == ("a", "b")


def test_limits_are_set_and_removed(node: FakeMoving) -> None:
    throttle = throttle_for(MOVES, 1000)
    node.alive = [1, 2, 3, 4]
    assert set_throttle(node.address, throttle) == ()
    rates = {"leader.replication.throttled.rate": "1000", "follower.replication.throttled.rate": "1000"}
    assert node.configs[BROKER, "4"] == rates
    assert node.configs[TOPIC, "a"] == {
        "leader.replication.throttled.replicas": "0:1,0:2",
        "follower.replication.throttled.replicas": "0:3",
    }
    assert remove_throttle(node.address, throttle) == ()
    assert not any(node.configs.values())


def test_what_others_need_stays_limited(node: FakeMoving) -> None:
    node.alive = [1, 2, 3, 4]
    mine, other = throttle_for(MOVES, 1000), throttle_for([Move("a", 0, (1, 2), (1, 3)), MOVES[1]], 2000)
    more = throttle_for([Move("a", 5, (2,), (3,))], 2000)
    for throttle in (mine, other, more):
        set_throttle(node.address, throttle)
    remove_throttle(node.address, mine, [other, more])
    assert node.configs[BROKER, "3"]["leader.replication.throttled.rate"] == "2000"
    assert node.configs[BROKER, "4"] == node.configs[TOPIC, "b"] == {}
    assert node.configs[TOPIC, "a"]["follower.replication.throttled.replicas"] == "0:3,5:3"
    remove_throttle(node.address, more, [other])
    assert node.configs[TOPIC, "a"] == {
        "leader.replication.throttled.replicas": "0:1,0:2",
        "follower.replication.throttled.replicas": "0:3",
    }


def test_brokers_that_do_not_answer_are_reported(node: FakeMoving) -> None:
    node.alive = [1, 2, 4]
    throttle = throttle_for(MOVES, 1000)
    assert set_throttle(node.address, throttle) == (3,)
    assert (BROKER, "3") not in node.configs
    answer = node.answers[ALTER_CONFIGS]

    def silent(request: Any) -> Any:
        return None if request.resources[0].resource_name == "4" else answer(request)

    node.answers[ALTER_CONFIGS] = silent
    assert remove_throttle(node.address, throttle) == (3, 4)
    assert node.configs[TOPIC, "a"] == node.configs[BROKER, "2"] == {}


def test_limits_of_a_topic_that_was_deleted_are_gone(node: FakeMoving) -> None:
    node.errors[ALTER_CONFIGS] = 3
    assert remove_throttle(node.address, throttle_for(MOVES, 1000)) == (2, 3, 4)


@pytest.mark.parametrize(("moves", "subject"), [(MOVES[2:], "topic b"), (MOVES[1:2], "broker 1")])
def test_a_refused_throttle_is_reported(node: FakeMoving, moves: tuple[Move, ...], subject: str) -> None:
    node.errors[ALTER_CONFIGS] = 40
    with pytest.raises(RefusedError, match=rf"refused {subject}: INVALID_CONFIG \(40\) no"):
        set_throttle(node.address, throttle_for(moves, 1000))


def test_nothing_to_limit_is_not_asked_for(node: FakeMoving) -> None:
    set_throttle(node.address, throttle_for([], 1000))
    assert node.asked == []
