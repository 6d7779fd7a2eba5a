"""Groups with members of both protocols: where numbers order generations, and where they don't."""

import pytest

from checkers.groups import check_groups
from checkers.verdict.verdict import CheckerResult
from tests.checkers.groups.group_histories import GROUP, INFO, GroupStory
from tests.checkers.groups.logged_histories import Record, committed, group, member, target, wrote


def classic(generation: int | None, name: str = GROUP) -> Record:
    """The generation of a classic group."""
    return ["classic", name, "", generation, []]


@pytest.fixture
def story() -> GroupStory:
    made = GroupStory()
    made.setup("another", mixed=(GROUP,))
    return made


def judged(story: GroupStory) -> CheckerResult:
    return check_groups(story.history())


def ids(story: GroupStory) -> list[str]:
    return [anomaly.id for anomaly in judged(story).anomalies]


def converted(story: GroupStory) -> None:
    """A classic group is converted and back, with members, and goes on."""
    wrote(
        story,
        *(classic(0), classic(1), classic(None), group(1), target(1), member(1, 1, {0: 1})),
        *(group(2), target(2), member(1, 2, {0: 1}), member(1, None)),
        *(target(None), group(None), classic(2), classic(3)),
    )


def test_numbers_go_on_when_a_group_with_members_is_converted(story: GroupStory) -> None:
    converted(story)
    result = judged(story)
    assert result.figures[GROUP]["conversions"] == 2
    assert (result.figures[GROUP]["ordered"], ids(story)) == (1.0, [])


def test_another_members_later_assignment_of_the_partition_fences(story: GroupStory) -> None:
    converted(story)
    story.assigned(1, 1, {0: 0, 1: 0}, {0: [0]})
    story.assigned(2, 2, {1: 0})
    story.commits(1, {0: 1}, generation=1)
    assert ids(story) == [], "of another partition"
    story.assigned(2, 3, {0: 1})
    story.commits(1, {0: 1}, generation=1)
    assert ids(story) == ["zombie-commit"]


def begun_again(story: GroupStory) -> None:
    """An empty group was deleted, and another one has smaller numbers."""
    story.assigned(1, 7, {0: 0}, {0: [0, 1]})
    story.commits(1, {0: 1})
    story.assigned(2, 1, {0: 1}, {0: [1]})
    story.commits(2, {0: 2})


def test_after_numbers_began_again_they_are_not_compared(story: GroupStory) -> None:
    wrote(story, classic(6), classic(7), classic(None), group(1), target(1))
    begun_again(story)
    result = judged(story)
    assert (result.figures[GROUP]["ordered"], ids(story)) == (0.0, [])


@pytest.mark.parametrize("lack", ["nothing", "of another group", "not from its beginning"])
def test_if_not_all_records_were_read_they_may_have_begun_again(story: GroupStory, lack: str) -> None:
    if lack == "of another group":
        wrote(story, classic(1, "another"))
    elif lack == "not from its beginning":
        wrote(story, classic(1), first=5, before=None)
    begun_again(story)
    result = judged(story)
    assert (result.figures[GROUP]["ordered"], ids(story)) == (0.0, [])


def test_each_log_counts_by_itself(story: GroupStory) -> None:
    wrote(story, classic(6), classic(7))
    wrote(story, classic(8), first=2)
    wrote(story, classic(3), first=1, epoch=1, before=0)
    begun_again(story)
    assert judged(story).figures[GROUP]["ordered"] == 0.0, "an end that a deposed leader's log does not have"


def test_an_offset_that_nobody_committed_is_wrong_whatever_the_numbers(story: GroupStory) -> None:
    story.assigned(1, 7, {0: 0}, {0: [0]})
    story.assigned(2, 1, {0: 5})
    assert ids(story) == ["committed-offset-lost"]


def test_numbers_may_begin_again_when_the_load_has_ended(story: GroupStory) -> None:
    wrote(story, classic(6), classic(7))
    story.assigned(1, 7, {0: 0}, {0: [0]})
    story.commits(1, {0: 1})
    story.recovers()
    wrote(story, classic(8), first=2, before=0)
    wrote(story, classic(None), group(1), target(1), first=3, before=0)
    story.assigned(3, 1, {0: 1}, {0: [1]})
    story.commits(3, {0: 2})
    result = judged(story)
    assert (result.figures[GROUP]["ordered"], ids(story)) == (1.0, [])


def test_numbers_that_are_read_late_may_have_begun_again_under_load(story: GroupStory) -> None:
    wrote(story, classic(6), classic(7))
    begun_again(story)
    story.recovers()
    wrote(story, classic(None), group(1), target(1), first=2, before=0)
    result = judged(story)
    assert (result.figures[GROUP]["ordered"], ids(story)) == (0.0, [])


@pytest.mark.parametrize("is_reported", [True, False])
def test_numbers_read_long_after_the_load_began_again_under_load_if_members_reported_them(
    story: GroupStory,
    is_reported: bool,  # noqa: FBT001 - a case
) -> None:
    """The first observation after the load reads other records than those of the group that began again."""
    wrote(story, classic(6), classic(7))
    story.assigned(1, 7, {0: 0}, {0: [0, 1]})
    story.commits(1, {0: 1})
    if is_reported:
        story.assigned(2, 1, {1: 0}, {1: [0]})
    story.recovers()
    wrote(story, classic(8), first=2, before=0)
    wrote(story, classic(None), group(1), target(1), first=3, before=0)
    result = judged(story)
    assert (result.figures[GROUP]["ordered"], ids(story)) == (float(not is_reported), [])


@pytest.mark.parametrize(("recovered", "found"), [(True, ["committed-offset-lost"]), (False, [])])
def test_the_last_member_gets_what_was_committed_under_load(
    story: GroupStory,
    recovered: bool,  # noqa: FBT001 - a case
    found: list[str],
) -> None:
    story.assigned(1, 7, {0: 0}, {0: [0]})
    story.commits(1, {0: 1})
    if recovered:
        story.recovers()
    else:
        story.add("runner", INFO, "phase", "final-read")
    story.assigned(3, 1, {0: 0}, {0: [0]})
    assert ids(story) == found


def test_an_assignment_without_a_membership_is_compared_with_nothing(story: GroupStory) -> None:
    converted(story)
    story.assigned(1, 2, {0: 0}, {0: [0]})
    story.commits(1, {0: 1})
    story.assigned(2, None, {0: 0})
    assert ids(story) == []


def test_a_classic_group_replaces_the_other_one_though_it_was_not_deleted(story: GroupStory) -> None:
    wrote(story, group(5), target(5), classic(1), committed(0, 1), classic(None), group(1), target(1))
    story.assigned(1, 1, {0: 0}, {0: [0]})
    story.commits(1, {0: 1})
    result = judged(story)
    assert (result.figures[GROUP]["ordered"], ids(story)) == (0.0, [])


def test_the_deletion_of_a_classic_group_alone_replaces_nothing(story: GroupStory) -> None:
    wrote(story, group(5), target(5), classic(None), group(1), target(1))
    story.assigned(1, 1, {0: 0}, {0: [0]})
    assert ids(story) == ["group-epoch-back"] * 2
