"""Groups of KIP-848's protocol: epochs are members' own, and partitions change hands one by one."""

import pytest

from checkers.groups import check_groups
from checkers.verdict.verdict import CheckerResult
from tests.checkers.groups.group_histories import GROUP, GroupStory


@pytest.fixture
def story() -> GroupStory:
    made = GroupStory()
    made.setup("another", modern=(GROUP,))
    return made


def ids(story: GroupStory) -> list[str]:
    return [anomaly.id for anomaly in judged(story).anomalies]


def judged(story: GroupStory) -> CheckerResult:
    return check_groups(story.history())


def test_a_member_that_has_not_heard_of_others_commits_in_its_own_epoch(story: GroupStory) -> None:
    story.assigned(1, 5, {0: 0, 1: 0}, {0: [0]})
    story.assigned(2, 6, {2: 0})
    story.commits(1, {0: 1}, generation=5)
    assert ids(story) == []


def test_the_same_in_a_classic_group_is_a_zombies_commit() -> None:
    story = GroupStory()
    story.setup("another")
    story.assigned(1, 5, {0: 0, 1: 0}, {0: [0]})
    story.assigned(2, 6, {2: 0})
    story.commits(1, {0: 1}, generation=5)
    assert ids(story) == ["zombie-commit"]


def test_nobody_commits_a_partition_in_an_epoch_before_that_of_who_was_given_it(story: GroupStory) -> None:
    story.assigned(1, 5, {0: 0, 1: 0}, {0: [0]})
    story.assigned(2, 6, {0: 0})
    story.commits(1, {1: 0, 0: 1}, generation=5)
    (zombie,) = judged(story).anomalies
    assert (zombie.id, zombie.subject) == ("zombie-commit", f"{GROUP} generation 5")


def test_a_commit_of_the_partition_in_a_later_epoch_or_by_the_same_member_is_none(story: GroupStory) -> None:
    story.assigned(1, 5, {0: 0}, {0: [0]})
    story.assigned(2, 6, {0: 0}, {0: [0]})
    story.goes_on(1, 7)
    story.commits(1, {0: 1}, generation=7)
    story.assigned(2, 8, {0: 1})
    story.commits(2, {0: 1}, generation=6)
    assert ids(story) == []


def test_an_epoch_that_a_poll_reported_alone_is_known(story: GroupStory) -> None:
    story.assigned(1, 5, {0: 0}, {0: [0]})
    story.goes_on(1, 6)
    story.commits(1, {0: 1}, generation=6)
    assert ids(story) == []
    story.commits(1, {0: 1}, generation=7)
    assert ids(story) == ["premature-commit"]


def test_two_members_that_tell_of_a_partition_in_one_epoch_are_no_two_owners(story: GroupStory) -> None:
    story.assigned(1, 5, {0: 0})
    story.assigned(2, 5, {0: 0})
    assert ids(story) == []
