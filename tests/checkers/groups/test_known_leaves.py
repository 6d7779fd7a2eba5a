"""A coordinator refuses a static member because of one that had left before the coordinator was loaded."""

from typing import Any

import pytest
from msgspec.structs import replace

from checkers.columns.tables import NEVER
from checkers.groups import check_groups, excuses
from checkers.history.operations import OperationType
from checkers.licences.internal import Loss
from checkers.verdict.verdict import Anomaly
from tests.checkers.groups.group_histories import CLIENT, GROUP, OK, TOPIC, GroupStory
from tests.checkers.groups.logged_histories import (
    PARTITION,
    UNREADABLE,
    Record,
    group,
    judged,
    member,
    other,
    target,
    wrote,
)

SETTLED_NS = 10_000_000_000
AT = "2026-11-26T05:11:21.673Z"
JOINED = (group(5), target(5), member(1, 5, {0: 5}))
LEFT = (*JOINED, member(1, -2))


@pytest.fixture
def story() -> GroupStory:
    made = GroupStory()
    made.setup(modern=(GROUP,))
    return made


def refused(story: GroupStory, owner: str = "member-1", **more: Any) -> int:
    """A refusal that b1 logged after it had loaded leader epoch 1; the position of the observation."""
    line = {"line": 90, "at": AT, "topic": "__consumer_offsets", "partition": PARTITION, "group": GROUP}
    ids = {"member": "member-2", "instance": "i", "owner": owner}
    value = line | ids | {"epoch": 1, "loaded": 70, "named": False} | more
    at = story.add("runner", OK, "observe", "instance-refused", value)
    story.operations[at] = replace(story.operations[at], node="b1")
    return at


def changed(story: GroupStory, *before: Record, after: tuple[Record, ...] = (other(),)) -> int:
    """The log of a coordinator, and of the next one; the position of the first observation."""
    at = wrote(story, *before)
    wrote(story, *after, first=len(before), epoch=1, before=0)
    return at


def found(story: GroupStory) -> list[Anomaly]:
    return [one for one in judged(story).anomalies if one.id == "static-member-refused"]


def test_a_coordinator_that_loaded_a_leave_does_not_refuse_the_next_member(story: GroupStory) -> None:
    read = changed(story, *LEFT)
    at = refused(story)
    refused(story, member="member-3")
    (one,) = found(story)
    assert (one.subject, one.witness, one.illegal) == (f"{GROUP} member-1", (read, at), True)
    assert one.summary == (
        f"{GROUP} refused static member member-2, because member member-1 had instance id i, which it had "
        f"released by __consumer_offsets/{PARTITION}@3, before the coordinator loaded the group"
    )
    assert "Line 70 of b1's log: it has loaded leader epoch 1." in one.explanation


@pytest.mark.parametrize(("at", "time_ns"), [(AT, 1_000_000_000), ("at noon", 30_000_000)])
def test_the_time_is_that_of_the_line(story: GroupStory, at: str, time_ns: int) -> None:
    changed(story, *LEFT)
    refused(story, at=at)
    history = replace(story.history(), began_at="2026-11-26T05:11:20.673Z")
    (one,) = [a for a in check_groups(history).anomalies if a.id == "static-member-refused"]
    assert one.time_ns == time_ns


def test_each_owner_is_reported_once(story: GroupStory) -> None:
    changed(story, *LEFT, member(4, 5), member(4, -2))
    for owner in ("member-4", "member-1", "member-4"):
        refused(story, owner)
    assert [one.subject for one in found(story)] == [f"{GROUP} member-4", f"{GROUP} member-1"]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([member(1, None), group(6)], id="it-was-removed"),
        pytest.param([member(2, -2), member(4, 5)], id="others-change"),
        pytest.param([["classic", "h", "", 3, []]], id="another-group-is-classic"),
        pytest.param([["classic", GROUP, "", None, []]], id="an-earlier-classic-group-was-deleted"),
    ],
)
def test_what_does_not_bring_the_owner_back_changes_nothing(story: GroupStory, more: list[Record]) -> None:
    changed(story, *LEFT, *more)
    refused(story)
    assert len(found(story)) == 1


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(JOINED, id="it-has-not-left"),
        pytest.param((), id="it-is-not-in-the-log"),
        pytest.param((*LEFT, member(1, 6)), id="it-came-back"),
        pytest.param((*LEFT, UNREADABLE), id="it-may-have-come-back"),
        pytest.param((*LEFT, ["classic", GROUP, "", 7, []]), id="the-group-changed-its-protocol"),
        pytest.param((*JOINED, member(3, -2)), id="another-member-left"),
        pytest.param((*JOINED, member(1, -2, name="h")), id="it-left-another-group"),
    ],
)
def test_an_owner_that_may_be_there_may_be_named(story: GroupStory, before: tuple[Record, ...]) -> None:
    changed(story, other(), *before)
    refused(story)
    assert found(story) == []


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"named": True}, id="the-coordinator-logged-more-about-the-owner"),
        pytest.param({"epoch": 2}, id="nothing-was-written-in-the-leader-epoch"),
        pytest.param({"epoch": 0}, id="the-coordinator-had-loaded-before-the-owner-left"),
        pytest.param({"partition": PARTITION + 1}, id="the-partition-was-not-read"),
        pytest.param({"group": "another"}, id="another-group"),
    ],
)
def test_a_coordinator_that_may_not_know_of_the_leave_may_refuse(
    story: GroupStory, more: dict[str, Any]
) -> None:
    changed(story, *LEFT)
    refused(story, **more)
    assert found(story) == []


def test_a_leave_in_the_leader_epoch_itself_was_not_loaded(story: GroupStory) -> None:
    changed(story, *JOINED, after=(member(1, -2),))
    refused(story)
    assert found(story) == []


def test_a_leave_that_the_next_leader_did_not_have_proves_nothing(story: GroupStory) -> None:
    wrote(story, *LEFT)
    wrote(story, other(), first=len(JOINED), epoch=1, before=0)
    refused(story)
    assert found(story) == []


def test_a_log_with_a_gap_proves_nothing(story: GroupStory) -> None:
    wrote(story, *LEFT)
    wrote(story, other(), first=len(LEFT) + 1, epoch=1, before=0)
    refused(story)
    assert found(story) == []


def test_where_the_leader_epoch_begins_must_be_known(story: GroupStory) -> None:
    wrote(story, *LEFT)
    wrote(story, other(), first=len(LEFT), epoch=1, before=None)
    refused(story)
    assert found(story) == []


def test_records_that_later_leaders_wrote_or_lost_do_not_matter(
    story: GroupStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(story, *LEFT, after=(other(), other()))
    wrote(story, member(1, 6), first=len(LEFT) + 1, epoch=2, before=1)
    wrote(story, member(1, 7), first=len(LEFT), epoch=3, before=0)
    refused(story)
    monkeypatch.setattr(excuses, "losses", lambda *_: (Loss("an unclean election", NEVER, 0),))
    assert [one.illegal for one in found(story)] == [True]


def test_a_group_of_both_protocols_may_have_been_written_again() -> None:
    story = GroupStory()
    story.setup(modern=(GROUP,), mixed=(GROUP,))
    changed(story, *LEFT)
    refused(story)
    assert found(story) == []


def test_a_refusal_that_a_client_reports_too_is_one_finding(story: GroupStory) -> None:
    changed(story, *LEFT)
    story.now_ns += SETTLED_NS
    asked = {"client": CLIENT, "isolation": "read_uncommitted", "group": GROUP}
    story.add(1, OperationType.INVOKE, "poll", TOPIC, asked)
    at = story.add(1, OperationType.INFO, "poll", TOPIC, asked)
    error = (
        "Static member member-2 with instance id i cannot join the group because the instance id is owned by "
        "member-1 member."
    )
    story.operations[at] = replace(story.operations[at], error=error)
    wrote(story, stretches=[])
    (reported,) = found(story)
    refused(story)
    (logged,) = found(story)
    assert "before the coordinator loaded" in logged.summary
    assert logged.subject == reported.subject


@pytest.mark.parametrize(
    ("static", "what", "why"),
    [
        ((GROUP,), "instance-refused", f"refusals of static members of {GROUP} may be missing"),
        ((GROUP,), "all", f"refusals of static members of {GROUP} may be missing"),
        ((GROUP,), "loaded", ""),
        (("another",), "all", ""),
    ],
)
def test_refusals_of_static_members_that_were_not_read_are_a_doubt(
    static: tuple[str, ...], what: str, why: str
) -> None:
    story = GroupStory()
    story.setup(modern=(GROUP,), static=static)
    changed(story, *LEFT)
    at = story.add("runner", OK, "observe", "log-lacking", {"what": what, "why": "it is too long"})
    story.operations[at] = replace(story.operations[at], node="b1")
    doubt = judged(story).unknown_because or ""
    assert why in doubt
    assert bool(why) is ("b1 were read" in doubt)
