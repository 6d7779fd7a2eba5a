"""A group refuses one of its own static members, because it has as many members as it may have."""

from typing import Any

import pytest
from msgspec.structs import replace

from checkers.groups import check_groups
from checkers.history.operations import History, OperationType
from checkers.verdict.verdict import Anomaly, CheckerResult
from tests.checkers.groups.group_histories import CLIENT, GROUP, TOPIC, GroupStory

FATAL = "_FATAL: Fatal error: Broker: Consumer group has reached maximum size: ConsumerGroupHeartbeat"


def full_group(**changed: Any) -> dict[str, Any]:
    """A set-up with a full group of static members."""
    workload = {"kind": "log", "modern": [GROUP], "static": [GROUP], "members": 3}
    workload |= changed.pop("workload", {})
    return {
        "kafka_version": "4.3.1",
        "workload": workload,
        "config": {"group.consumer.max.size": "3"},
        **changed,
    }


def story_of(setup: dict[str, Any]) -> GroupStory:
    story = GroupStory()
    story.add("runner", OperationType.OK, "setup", None, setup)
    return story


def polls(story: GroupStory, process: int, error: str | None, group: str = GROUP) -> int:
    """A poll that failed; the position of its completion."""
    asked = {"client": CLIENT, "isolation": "read_uncommitted", "group": group}
    story.add(process, OperationType.INVOKE, "poll", TOPIC, asked)
    at = story.add(process, OperationType.INFO, "poll", TOPIC, asked)
    story.operations[at] = replace(story.operations[at], error=error)
    return at


def judged(story: GroupStory) -> CheckerResult:
    return check_groups(History("run", "2026-11-20T00:00:00Z", tuple(story.operations)))


def found(story: GroupStory) -> list[Anomaly]:
    return [one for one in judged(story).anomalies if one.id == "static-member-refused"]


def test_one_finding_for_each_process_with_its_first_and_its_last_refusal() -> None:
    story = story_of(full_group())
    story.assigned(1, 5, {0: 0}, {0: [0]})
    first = polls(story, 1, FATAL)
    polls(story, 1, "_TIMED_OUT: something else")
    polls(story, 1, None)
    polls(story, 1, "GROUP_MAX_SIZE_REACHED: the same")
    last = polls(story, 1, FATAL)
    other = polls(story, 2, FATAL)
    polls(story, 3, FATAL, group="another")
    one, two = found(story)
    assert (one.subject, one.witness, one.illegal) == (f"{GROUP} process 1", (first, last), True)
    assert "3 times within 0.1 s" in one.summary
    assert (two.subject, two.witness) == (f"{GROUP} process 2", (other,))


def test_a_member_and_its_successors_are_one() -> None:
    story = story_of(full_group(workload={"workers": 21}))
    story.assigned(1, 5, {0: 0}, {0: [0]})
    first = polls(story, 10, FATAL)
    last = polls(story, 31, FATAL)
    (one,) = found(story)
    assert (one.subject, one.witness) == (f"{GROUP} process 10", (first, last))
    assert "2 times" in one.summary


@pytest.mark.parametrize(
    "setup",
    [
        full_group(workload={"static": []}),
        full_group(workload={"modern": []}),
        full_group(workload={"members": 4}),
        full_group(node_config={"b1": {"group.consumer.max.size": "2"}}),
    ],
    ids=["dynamic members", "a classic group", "more members than permitted", "a broker permits fewer"],
)
def test_a_group_that_may_be_too_full_may_refuse(setup: dict[str, Any]) -> None:
    story = story_of(setup)
    story.assigned(1, 5, {0: 0}, {0: [0]})
    polls(story, 1, FATAL)
    assert found(story) == []


def test_without_a_limit_a_group_is_never_full() -> None:
    story = story_of(full_group(config={}))
    story.assigned(1, 5, {0: 0}, {0: [0]})
    polls(story, 1, FATAL)
    assert len(found(story)) == 1


@pytest.mark.parametrize(
    ("properties", "number"),
    [
        ({"group.consumer.max.size": "2"}, 0),
        ({"group.consumer.max.size": "4"}, 1),
        ({"group.consumer.max.size": None}, 1),
        ({"group.consumer.session.timeout.ms": "2"}, 1),
    ],
)
def test_the_smallest_limit_at_any_time_counts(properties: dict[str, Any], number: int) -> None:
    story = story_of(full_group())
    story.assigned(1, 5, {0: 0}, {0: [0]})
    polls(story, 1, FATAL)
    story.add("moves", OperationType.INVOKE, "configure", "b1", {"properties": properties})
    story.add("moves", OperationType.OK, "configure", "b1", None)
    assert len(found(story)) == number
