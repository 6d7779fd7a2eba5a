"""Requests of those who are no members, against a group that has some, or may have none."""

import pytest

from checkers.columns.tables import NEVER
from checkers.groups import check_groups, excuses
from checkers.history.operations import OperationType
from checkers.licences.internal import Loss
from checkers.verdict.verdict import Anomaly
from tests.checkers.groups.group_histories import GROUP, MS, GroupStory

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO


def found(story: GroupStory, name: str) -> list[Anomaly]:
    return [anomaly for anomaly in check_groups(story.history()).anomalies if anomaly.id == name]


def reset(outcome: OperationType, first: int | None, second: int | None) -> GroupStory:
    """Offsets are set between two commits of a member, each in a generation; None: it does not commit."""
    story = GroupStory()
    story.assigned(10, 3, {0: 0}, {0: [0, 1]})
    if first is not None:
        story.commits(10, {0: 1}, generation=first)
    story.resets(10, {0: 0}, outcome)
    if second is not None:
        story.commits(10, {0: 2}, generation=second)
    return story


@pytest.mark.parametrize(
    ("outcome", "first", "second", "wrong"),
    [
        (OK, 3, 3, True),
        (FAIL, 3, 3, False),
        (INFO, 3, 3, False),
        (OK, None, 3, False),
        (OK, 3, None, False),
        (OK, 2, 3, False),
    ],
)
def test_offsets_that_nobody_but_a_member_may_commit(
    outcome: OperationType, first: int | None, second: int | None, *, wrong: bool
) -> None:
    anomalies = found(reset(outcome, first, second), "outsider-commit")
    assert [one.illegal for one in anomalies] == [True] * wrong
    assert all(one.subject == f"{GROUP} generation 3" and len(one.witness) == 6 for one in anomalies)


@pytest.mark.parametrize(("later_ns", "illegal"), [(0, False), (1, True)])
def test_a_loss_may_bring_a_member_back_after_offsets_were_set(
    monkeypatch: pytest.MonkeyPatch, later_ns: int, *, illegal: bool
) -> None:
    """The member may have left before, and the loss may have removed that record."""
    story = reset(OK, 3, 3)
    story.setup(GROUP)
    last = next(o for o in reversed(story.history().operations) if o.f == "commit")
    loss = Loss("a loss", NEVER, last.time_ns + later_ns)
    monkeypatch.setattr(excuses, "losses", lambda *_: (loss,))
    assert [one.illegal for one in found(story, "outsider-commit")] == [illegal]


def test_members_of_another_process_tell_as_well() -> None:
    story = reset(OK, None, None)
    assert found(story, "outsider-commit") == []
    story = GroupStory()
    story.assigned(10, 3, {0: 0}, {0: [0, 1]})
    story.commits(10, {0: 1})
    story.resets(11, {0: 0})
    story.commits(10, {0: 2})
    assert len(found(story, "outsider-commit")) == 1


def test_an_empty_group_begins_where_its_offsets_were_set() -> None:
    story = GroupStory()
    story.assigned(10, 3, {0: 0}, {0: [0, 1, 2]})
    story.commits(10, {0: 3})
    story.resets(10, {0: 1})
    story.assigned(11, 5, {0: 1}, {0: [1, 2, 3]})
    story.reads(range(4))
    assert check_groups(story.history()).anomalies == ()


def test_a_group_does_not_begin_where_setting_its_offsets_was_refused() -> None:
    story = GroupStory()
    story.assigned(10, 3, {0: 0}, {0: [0, 1, 2]})
    story.commits(10, {0: 3})
    story.resets(10, {0: 1}, FAIL)
    story.assigned(11, 5, {0: 1}, {0: [1, 2, 3]})
    story.reads(range(4))
    assert [one.id for one in check_groups(story.history()).anomalies] == ["committed-offset-lost"]


def removed(outcome: OperationType = OK, *, waits_ms: int = 0, partitions: int = 1) -> GroupStory:
    """The only member of a group commits, and asks for its deletion."""
    story = GroupStory()
    story.setup(GROUP)
    story.assigned(10, 3, {0: 0}, {0: [0, 1]})
    for partition in range(partitions):
        story.reads(range(2), partition=partition)
    story.commits(10, {0: 2})
    story.now_ns += waits_ms * MS
    story.deletes(10, outcome)
    return story


@pytest.mark.parametrize(
    ("story", "wrong"),
    [
        (removed(), True),
        (removed(FAIL), False),
        (removed(INFO), False),
        (removed(waits_ms=3_000), False),
        (removed(partitions=2), False),
    ],
)
def test_a_group_that_is_deleted_while_it_has_a_member(story: GroupStory, *, wrong: bool) -> None:
    anomalies = found(story, "group-deleted-with-members")
    assert [one.illegal for one in anomalies] == [True] * wrong


def test_a_group_that_is_deleted_by_somebody_who_may_be_no_member() -> None:
    story = GroupStory()
    story.setup(GROUP)
    story.deletes(10)
    story.assigned(11, 1, {0: 0}, {0: [0, 1]})
    story.reads(range(2))
    story.commits(11, {0: 2}, FAIL)
    story.deletes(11)
    assert found(story, "group-deleted-with-members") == []
