"""A group refuses a static member because its instance id is in use, although nobody else uses it."""

from typing import Any

import pytest
from msgspec.structs import replace

from checkers.columns.tables import NEVER
from checkers.groups import excuses
from checkers.history.operations import OperationType
from checkers.licences.internal import Loss
from checkers.verdict.verdict import Anomaly
from tests.checkers.groups.group_histories import CLIENT, GROUP, TOPIC, GroupStory
from tests.checkers.groups.logged_histories import PARTITION, Record, group, judged, member, target, wrote

MS = 1_000_000
LEFT = [member(1, -2)]
LONG_NS = 10_000 * MS


@pytest.fixture
def story() -> GroupStory:
    made = GroupStory()
    made.setup("another", modern=(GROUP,))
    return made


def refused(story: GroupStory, process: int, owner: str, *, name: str = GROUP, me: str = "member-2") -> int:
    """A poll whose member was refused; the position of its completion."""
    asked = {"client": CLIENT, "isolation": "read_uncommitted", "group": name}
    story.add(process, OperationType.INVOKE, "poll", TOPIC, asked)
    at = story.add(process, OperationType.INFO, "poll", TOPIC, asked)
    error = (
        f"UNRELEASED_INSTANCE_ID: Static member {me} with instance id {GROUP}-0 cannot join the group "
        f"because the instance id is owned by {owner} member."
    )
    story.operations[at] = replace(story.operations[at], error=error)
    return at


def joined(story: GroupStory, *more: Record, first: int = 0, **rest: Any) -> int:
    """The log with a member, what follows it, and a time after which no deposed coordinator answers."""
    records = (group(5), target(5), member(1, 5, {0: 5}), *more)
    at = wrote(story, *records, first=first, **rest)
    story.now_ns += LONG_NS
    return at


def found(story: GroupStory, *, read_again: bool = True) -> list[Anomaly]:
    """The findings, once the disks were read again, as they are until the end of a run."""
    if read_again:
        wrote(story, stretches=[])
    return [one for one in judged(story).anomalies if one.id == "static-member-refused"]


def fault(story: GroupStory, kind: str) -> None:
    """A fault that is never healed."""
    value = {"kind": kind, "spec": {}, "targets": ["b1"], "cut": [], "probe": {}}
    for outcome in (OperationType.INVOKE, OperationType.OK):
        story.add("nemesis", outcome, "inject", "f1", value)


def test_a_member_is_not_refused_because_of_itself(story: GroupStory) -> None:
    joined(story)
    at = refused(story, 1, "member-2")
    refused(story, 1, "member-2", me="member-3")
    (one,) = found(story)
    assert (one.subject, one.witness, one.illegal) == (f"{GROUP} member-2", (at - 1, at), True)
    assert one.summary == (
        f"{GROUP} refused its static member member-2, because its instance id {GROUP}-0 was in use by that "
        "member itself"
    )


def test_each_owner_is_reported_once(story: GroupStory) -> None:
    joined(story)
    for me in ("a", "b", "a"):
        refused(story, 1, me, me=me)
    refused(story, 1, "c", me="c", name="another")
    assert [one.subject for one in found(story)] == [f"{GROUP} a", f"{GROUP} b", "another c"]


def test_a_member_that_has_left_does_not_keep_its_instance_id(story: GroupStory) -> None:
    read = joined(story, *LEFT)
    at = refused(story, 1, "member-1")
    refused(story, 1, "member-1", me="member-3")
    (one,) = found(story)
    assert (one.subject, one.witness, one.illegal) == (f"{GROUP} member-1", (read, at - 1, at), True)
    assert f"which it had released by __consumer_offsets/{PARTITION}@3" in one.summary


def test_a_log_of_unknown_extent_says_nothing_about_an_owner(story: GroupStory) -> None:
    joined(story, *LEFT, stretches=[])
    story.assigned(1, 5, {0: 0}, {0: [0]})
    refused(story, 1, "member-1")
    assert found(story) == []


def test_the_owner_may_have_come_back_if_nothing_was_read_after_the_refusal(story: GroupStory) -> None:
    joined(story, *LEFT)
    wrote(story, stretches=[])
    refused(story, 1, "member-1")
    assert found(story, read_again=False) == []
    refused(story, 1, "member-2")
    assert [one.subject for one in found(story, read_again=False)] == [f"{GROUP} member-2"]
    assert len(found(story)) == 2


def test_a_case_that_an_event_may_explain_does_not_hide_the_other_one(
    story: GroupStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined(story, *LEFT)
    refused(story, 1, "member-1")
    refused(story, 1, "member-1", me="member-1")
    monkeypatch.setattr(excuses, "losses", lambda *_: (Loss("an unclean election", NEVER, 0),))
    assert [one.illegal for one in found(story)] == [False, True]


def test_a_coordinator_may_have_lost_the_record_by_which_the_member_left(
    story: GroupStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined(story, *LEFT)
    refused(story, 1, "member-1")
    refused(story, 1, "member-2")
    monkeypatch.setattr(excuses, "losses", lambda *_: (Loss("an unclean election", NEVER, 0),))
    assert {one.subject: one.licence for one in found(story)} == {
        f"{GROUP} member-1": "an unclean election",
        f"{GROUP} member-2": None,
    }


def test_the_removal_of_the_member_that_left_changes_nothing(story: GroupStory) -> None:
    joined(story, *LEFT, member(1, None), group(6))
    refused(story, 1, "member-1")
    assert len(found(story)) == 1


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([], id="it-has-not-left"),
        pytest.param([*LEFT, member(1, 6)], id="it-came-back"),
        pytest.param([member(3, -2)], id="another-member-left"),
        pytest.param([member(1, -2, name="h")], id="it-left-another-group"),
    ],
)
def test_an_instance_id_that_may_be_in_use_may_be_refused(story: GroupStory, more: list[Record]) -> None:
    joined(story, *more)
    refused(story, 1, "member-1")
    assert found(story) == []


def test_a_member_that_left_later_may_be_named(story: GroupStory) -> None:
    joined(story)
    refused(story, 1, "member-1")
    wrote(story, *LEFT, first=3, before=None)
    assert found(story) == []


def test_a_record_that_the_newest_log_lacks_proves_nothing(story: GroupStory) -> None:
    joined(story, *LEFT)
    wrote(story, member(2, 5), first=3, epoch=1, before=0)
    story.now_ns += LONG_NS
    refused(story, 1, "member-1")
    assert found(story) == []


def test_soon_after_an_election_a_deposed_coordinator_may_answer(story: GroupStory) -> None:
    joined(story)
    wrote(story, *LEFT, first=3, epoch=1, before=0)
    refused(story, 1, "member-1")
    assert found(story) == []
    story.now_ns += LONG_NS
    refused(story, 1, "member-1")
    assert len(found(story)) == 1


@pytest.mark.parametrize(("kind", "number"), [("partition", 0), ("pause", 0), ("kill", 1)])
def test_a_fault_may_keep_a_deposed_coordinator_alive(story: GroupStory, kind: str, number: int) -> None:
    joined(story, *LEFT)
    fault(story, kind)
    refused(story, 1, "member-1")
    assert len(found(story)) == number


def test_other_errors_are_not_judged(story: GroupStory) -> None:
    joined(story, *LEFT)
    at = refused(story, 1, "member-1")
    text = "_FATAL: Broker: The instance ID is still used by another member in the consumer group"
    story.operations[at] = replace(story.operations[at], error=text)
    assert found(story) == []
