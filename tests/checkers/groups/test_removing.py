"""A group's epoch is raised when a member is removed, in the log of the offsets topic."""

import pytest

from tests.checkers.groups.group_histories import GROUP, GroupStory
from tests.checkers.groups.logged_histories import (
    UNREADABLE,
    Record,
    found,
    group,
    judged,
    member,
    other,
    subscription,
    target,
    wrote,
)

NOT_RAISED = "removed-without-epoch"
CLASSIC = ["classic", GROUP, "", 3, []]
TWO = [group(5), target(5), member(1, 5, {0: 5}), member(2, 5, {1: 5})]


def gone(number: int, name: str = GROUP) -> list[Record]:
    """The records that delete a member; the one between them, of its target assignment, is not reported."""
    return [member(number, None, name=name), other(name), subscription(number, None, name)]


@pytest.fixture
def story() -> GroupStory:
    made = GroupStory()
    made.setup("another", modern=(GROUP,))
    return made


@pytest.mark.parametrize(
    "after",
    [
        pytest.param([*gone(1), group(6), target(6), member(2, 6)], id="it-leaves"),
        pytest.param([*gone(1), other(), other(), group(6)], id="it-leaves-with-the-last-regular-expression"),
        pytest.param([*gone(1), *gone(2), group(6)], id="both-leave-at-once"),
        pytest.param([*gone(1), group(6), *gone(2), group(7)], id="both-leave"),
        pytest.param(
            [*gone(1), subscription(3), other(), member(3, 5, {0: 5}), target(6)], id="static-member-returns"
        ),
        pytest.param([member(1, None), member(3, 5, {0: 5})], id="static-member-returns-by-an-older-run"),
        pytest.param(
            [member(1, None), member(2, None), target(None), group(None), group(1)], id="group-is-deleted"
        ),
        pytest.param([member(1, None), member(2, None), CLASSIC, target(3)], id="group-becomes-classic"),
        pytest.param([*gone(1), *gone(3, "h"), group(6), group(1, "h")], id="of-another-group"),
        pytest.param([*gone(1), UNREADABLE, target(6)], id="what-follows-can-not-be-read"),
        pytest.param(gone(1), id="nothing-follows"),
        pytest.param([subscription(2), group(6), subscription(2), group(7)], id="nobody-leaves"),
    ],
)
def test_removals_after_which_the_epoch_is_raised_or_needs_not_to_be(
    story: GroupStory, after: list[Record]
) -> None:
    wrote(story, *TWO, *after)
    assert NOT_RAISED not in found(story)


@pytest.mark.parametrize(
    "after",
    [
        pytest.param([*gone(1), target(6)], id="a-target-is-computed"),
        pytest.param([*gone(1), member(2, 5, {0: 5})], id="another-member-goes-on"),
        pytest.param([*gone(1), subscription(3), group(6)], id="the-next-member-raises-it"),
        pytest.param([*gone(1), subscription(3), subscription(4), group(6)], id="the-next-two-raise-it"),
        pytest.param([*gone(1), subscription(3), member(2, 5)], id="another-one-than-the-successor"),
        pytest.param([*gone(1), subscription(3), *gone(2), group(6)], id="another-one-leaves-after-a-join"),
        pytest.param([*gone(1), other(), *gone(2), group(6)], id="another-one-leaves-later"),
    ],
)
def test_removals_after_which_the_epoch_is_not_raised(story: GroupStory, after: list[Record]) -> None:
    wrote(story, *TWO, *after)
    assert found(story).count(NOT_RAISED) == 1


def test_the_removal_is_reported(story: GroupStory) -> None:
    wrote(story, *TWO, *gone(1), target(6))
    (anomaly,) = (each for each in judged(story).anomalies if each.id == NOT_RAISED)
    assert anomaly.summary == (
        f"__consumer_offsets/3@4: member member-1 of {GROUP} is removed, and the group's epoch is not raised "
        "with it."
    )
