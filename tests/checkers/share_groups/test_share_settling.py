"""A group that delivers nothing although the cluster has recovered is stuck."""

import pytest

from checkers.history.operations import INFO, INVOKE, OK, OperationType
from checkers.history.units import NS_PER_S
from checkers.share_groups import check_share_groups
from checkers.share_groups.settling import STUCK_NS
from checkers.verdict.verdict import Validity
from tests.checkers.operation_story import STEP_NS
from tests.checkers.share_groups.share_histories import GROUP, ShareStory, whole

MEMBER = 7


def recovered(*, kind: OperationType = OK, sent_before: bool = False) -> ShareStory:
    """All of 12 records are accepted; two more are sent, after the recovery unless asked otherwise."""
    story = whole()
    story.fault()
    if sent_before:
        story.sends(12, 13)
    story.add("runner", INVOKE, "recover", None, {"bound_ms": 60_000})
    story.add("runner", kind, "recover", None, {"took_ms": 10, "complaints": []})
    if not sent_before:
        story.sends(12, 13)
    story.add("runner", INFO, "phase", "final-read")
    return story


def drained(story: ShareStory, *, for_ns: int = STUCK_NS, given: int | None = None) -> None:
    """The last member polls for some time, and gets at most one record."""
    ends_ns = story.now_ns + for_ns
    story.polls(MEMBER, {} if given is None else {given: 1})
    story.now_ns = max(story.now_ns, ends_ns - STEP_NS)
    story.polls(MEMBER, {})
    story.starts(12)
    story.lists(*range(14))


def counts(story: ShareStory) -> dict[str, int]:
    return check_share_groups(story.history()).counts


def test_a_record_that_nobody_gets_for_long_is_a_finding() -> None:
    story = recovered()
    drained(story)
    result = check_share_groups(story.history())
    assert result.counts == {"share-stuck": 1}
    (found,) = result.anomalies
    assert found.illegal
    assert found.subject == f"{GROUP}: shares-0/0@12"
    asked, answered = (story.operations[index] for index in found.witness)
    assert (asked.type, answered.type) == (INVOKE, OK)
    assert answered.time_ns - asked.time_ns >= STUCK_NS
    assert "2 records" in found.explanation[0]
    assert found.explanation[1].startswith("A member polled from ")
    assert found.explanation[2].startswith("The highest start offset that the group reported was ")


def test_a_group_that_got_one_of_them_lacks_the_other() -> None:
    story = recovered()
    drained(story, given=12)
    result = check_share_groups(story.history())
    assert [str(one.subject)[-2:] for one in result.anomalies] == ["13"]


def test_less_time_leaves_it_open() -> None:
    story = recovered()
    drained(story, for_ns=STUCK_NS - 5 * NS_PER_S)
    result = check_share_groups(story.history())
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})


@pytest.mark.parametrize(
    "story",
    [recovered(kind=INFO), recovered(sent_before=True)],
    ids=["the cluster did not recover", "sent before the recovery"],
)
def test_what_faults_may_have_held_up_is_no_finding(story: ShareStory) -> None:
    drained(story)
    assert counts(story) == {}


def test_after_a_later_fault_nothing_is_due() -> None:
    story = recovered()
    story.fault()
    drained(story)
    assert counts(story) == {}


def test_polls_that_failed_or_of_another_consumer_do_not_count() -> None:
    story = recovered()
    story.polls(MEMBER, {})
    story.now_ns += STUCK_NS
    story.ends_poll(MEMBER, story.begins_poll(MEMBER), {}, kind=INFO)
    story.opens(MEMBER)
    drained(story, for_ns=NS_PER_S)
    assert counts(story) == {}


def test_a_poll_that_began_before_the_final_phase_does_not_count() -> None:
    story = whole()
    story.add("runner", INVOKE, "recover", None, {"bound_ms": 60_000})
    story.add("runner", OK, "recover", None, {"took_ms": 10, "complaints": []})
    story.sends(12, 13)
    asked = story.begins_poll(MEMBER)
    story.add("runner", INFO, "phase", "final-read")
    story.now_ns += STUCK_NS
    story.ends_poll(MEMBER, asked, {})
    story.starts(12)
    story.lists(*range(14))
    assert counts(story) == {}


def test_polls_of_other_groups_do_not_count() -> None:
    story = recovered()
    story.polls(MEMBER, {}, group="share-1")
    story.now_ns += STUCK_NS
    story.polls(MEMBER, {}, group="share-1")
    drained(story, for_ns=NS_PER_S)
    assert counts(story) == {}


def test_long_locks_and_sessions_take_longer() -> None:
    story = recovered()
    story.operations[0].value["workload"] |= {"lock_ms": 30_000, "session_ms": 45_000}
    drained(story)
    assert counts(story) == {}
    longer = recovered()
    longer.operations[0].value["workload"] |= {"lock_ms": 30_000, "session_ms": 45_000}
    drained(longer, for_ns=151 * NS_PER_S)
    assert counts(longer) == {"share-stuck": 1}


@pytest.mark.parametrize("start", [None, 14])
def test_a_group_that_has_not_begun_or_went_past_it_is_not_stuck(start: int | None) -> None:
    story = recovered()
    drained(story)
    for operation in story.operations:
        if operation.f == "share-offsets" and operation.type is OK:
            operation.value["offsets"] = [[0, start]]
    assert "share-stuck" not in counts(story)


def test_a_record_that_no_final_read_found_is_not_due() -> None:
    story = recovered()
    drained(story)
    last = [index for index, operation in enumerate(story.operations) if operation.f == "final-read"]
    del story.operations[last[0] :]
    assert counts(story) == {}


def test_a_group_that_never_received_anything_is_stuck() -> None:
    story = ShareStory()
    story.setup(GROUP)
    story.add("runner", INVOKE, "recover", None, {"bound_ms": 60_000})
    story.add("runner", OK, "recover", None, {"took_ms": 10, "complaints": []})
    story.sends(0)
    story.add("runner", INFO, "phase", "final-read")
    story.polls(MEMBER, {})
    story.now_ns += STUCK_NS
    story.polls(MEMBER, {})
    story.starts(0)
    story.lists(0)
    assert counts(story) == {"share-stuck": 1}
