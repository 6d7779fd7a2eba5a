"""Commits that a client sent twice: the first request may be executed last, as long as a fault lasts."""

from collections.abc import Callable

import pytest

from checkers.groups import check_groups
from tests.checkers.groups.group_histories import GROUP, INVOKE, MS, OK, GroupStory

FAULT = {"kind": "held-requests", "spec": {}, "targets": ["b1"], "cut": [], "probe": {}}
Step = Callable[[GroupStory], object]


def fault(story: GroupStory, f: str = "inject") -> None:
    for outcome in (INVOKE, OK):
        story.add("nemesis", outcome, f, "f1", FAULT)


def ended(story: GroupStory) -> None:
    """The fault ends; more than 3 s after a short one all its requests have arrived."""
    fault(story, "heal")
    story.now_ns += 4_000 * MS


def later(story: GroupStory) -> None:
    story.now_ns += 6_000 * MS


def commit(offset: int, *, took_ms: int = 10, process: int = 1) -> Step:
    def step(story: GroupStory) -> None:
        story.begins_commit(process, {0: offset})
        story.now_ns += took_ms * MS
        story.ends_commit(process, {0: offset})

    return step


def joined(story: GroupStory) -> None:
    """Another member, in the next generation, with the same partition."""
    story.assigned(2, 2, {0: 3})


SLOW, LATER = commit(1, took_ms=2_200), commit(3)


@pytest.mark.parametrize(
    ("steps", "lost"),
    [
        pytest.param((fault, SLOW, LATER, ended), False, id="sent twice"),
        pytest.param((fault, commit(1), LATER, ended), True, id="sent once"),
        pytest.param((SLOW, LATER), True, id="no fault"),
        pytest.param((fault, SLOW, ended, LATER), True, id="it was over"),
        pytest.param((fault, later, SLOW, ended, LATER), False, id="it was as long before"),
        pytest.param(
            (fault, later, SLOW, ended, later, LATER), True, id="it was over for as long as it took"
        ),
        pytest.param((SLOW, fault, LATER, ended), True, id="before the fault"),
        pytest.param((fault, SLOW, commit(3), ended, commit(4)), True, id="one after it"),
        pytest.param(
            (fault, SLOW, LATER, joined, commit(3, process=2), ended), True, id="of a later generation"
        ),
    ],
)
@pytest.mark.parametrize("modern", [False, True])
def test_where_a_member_may_begin(steps: tuple[Step, ...], *, lost: bool, modern: bool) -> None:
    story = GroupStory()
    story.setup(modern=(GROUP,) if modern else ())
    story.assigned(1, 1, {0: 0}, {0: range(6)})
    for step in steps:
        step(story)
    story.assigned(3, 3, {0: 1})
    story.reads(range(6))
    assert ("committed-offset-lost" in check_groups(story.history()).counts) is lost


@pytest.mark.parametrize("modern", [False, True])
def test_where_a_member_that_goes_on_in_another_epoch_may_have_committed(*, modern: bool) -> None:
    """A classic coordinator refuses the request that it sent in the former one; others may accept it."""
    story = GroupStory()
    story.setup(modern=(GROUP,) if modern else ())
    story.assigned(1, 1, {0: 0}, {0: range(6)})
    fault(story)
    SLOW(story)
    story.goes_on(1, 2)
    LATER(story)
    story.assigned(3, 3, {0: 1})
    story.reads(range(6))
    assert ("committed-offset-lost" in check_groups(story.history()).counts) is not modern


def test_one_of_a_client_that_is_no_member() -> None:
    story = GroupStory()
    fault(story)
    asked = {"client": "kafka-clients", "topic": "groups-0", "membership": None, "outsider": True}
    story.add(5, INVOKE, "commit", GROUP, asked | {"offsets": [[0, 1]]})
    story.now_ns += 2_200 * MS
    story.add(5, OK, "commit", GROUP, asked | {"offsets": [[0, 1]]})
    story.assigned(1, 1, {0: 1}, {0: range(6)})
    LATER(story)
    story.assigned(2, 2, {0: 1})
    story.reads(range(6))
    assert check_groups(story.history()).counts.get("committed-offset-lost") is None
