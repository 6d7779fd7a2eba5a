"""A group begins again where an administrator sets its start offset; what came before is another life."""

from collections.abc import Callable

import pytest

from checkers.history.operations import FAIL, INFO, INVOKE, OK, OperationType
from checkers.share_groups import check_share_groups
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers import admin_histories
from tests.checkers.share_groups.share_histories import ALTER, DELETE, GROUP, TOPIC, ShareStory, ended, whole
from tests.checkers.share_groups.test_share_locks import acknowledged

EACH = dict.fromkeys(range(12), 1)


def again(given: dict[int, int], *, begin: int | None = 0, outcome: OperationType = OK) -> CheckerResult:
    """All records are accepted, the start offset is changed, and some are delivered and accepted again."""
    story = whole()
    story.starts(12)
    story.alters(begin, outcome)
    if given:
        story.opens(1)
        story.polls(1, given)
        story.acknowledges(1, list(given))
    return check_share_groups(ended(story))


@pytest.mark.parametrize("begin", [0, None])
def test_after_the_start_offset_went_back_all_records_are_delivered_again(begin: int | None) -> None:
    result = again(EACH, begin=begin)
    assert (result.validity, result.counts) == (Validity.VALID, {})
    assert (result.figures["starts_set"], result.figures["records"]) == (1, 24)


def test_without_the_change_it_would_be_wrong() -> None:
    assert again(EACH, outcome=FAIL).counts == {
        "delivered-after-acknowledgement": 12,
        "share-start-went-back": 12,
    }


def test_records_above_the_new_start_offset_are_due_again() -> None:
    kept = {offset: 1 for offset in range(4, 12) if offset != 6}
    result = again(kept, begin=4)
    assert result.counts == {"share-undelivered": 1}
    assert [anomaly.subject for anomaly in result.anomalies] == ["share-0: shares-0/0@6"]


def test_records_below_the_new_start_offset_are_not_due() -> None:
    story = ShareStory()
    story.setup(GROUP)
    story.sends(*range(12))
    story.polls(1, {0: 1})
    story.acknowledges(1, [0])
    story.alters(6)
    story.opens(1)
    story.polls(1, dict.fromkeys(range(6, 12), 1))
    story.acknowledges(1, range(6, 12))
    # Ten accepted records are required.
    story.polls(1, {})
    result = check_share_groups(ended(story))
    assert result.counts == {}
    assert result.unknown_because is None


def test_a_group_that_does_not_get_what_is_due_again_has_not_finished() -> None:
    story = whole()
    story.alters(4)
    story.starts(4)
    story.lists(*range(12))
    result = check_share_groups(story.history())
    assert result.unknown_because == "the group did not finish 8 records of share-0: shares-0/0"


def test_another_partition_or_another_group_begins_nothing_anew() -> None:
    story = whole()
    story.alters(0, partition=1)
    story.opens(1)
    story.polls(1, {3: 1})
    assert check_share_groups(ended(story)).counts == {"delivered-after-acknowledgement": 1}


def test_an_unknown_change_excuses_what_comes_after_it() -> None:
    nothing: dict[int, int] = {}
    for given in (nothing, EACH, {3: 1}):
        assert again(given, outcome=INFO).counts == {}


def test_after_an_unknown_forward_change_only_what_is_above_is_due() -> None:
    story = ShareStory()
    story.setup(GROUP)
    story.sends(*range(24))
    story.polls(1, dict.fromkeys(range(12), 1))
    story.acknowledges(1, range(12))
    story.alters(20, INFO)
    story.opens(1)
    story.polls(1, dict.fromkeys(range(20, 24), 1))
    story.acknowledges(1, range(20, 24))
    story.starts(24)
    story.lists(*range(24))
    result = check_share_groups(story.history())
    assert (result.counts, result.unknown_because) == ({}, None)


def late(first: Callable[[ShareStory], object], turn: int, *, received: bool = True) -> dict[str, int]:
    """A change has no answer, a second one is accepted; then a record is accepted and delivered again.

    Args:
        first: sends the first change.
        turn: the break of the second one.
        received: whether a member receives a record between them.
    """
    story = whole()
    first(story)
    if received:
        story.opens(1)
        story.polls(1, {0: 1})
    story.alters(0, turn=turn)
    story.opens(1)
    story.polls(1, EACH)
    story.acknowledges(1, range(12))
    story.opens(1)
    story.polls(1, {3: 1})
    return dict(check_share_groups(ended(story)).counts)


def test_a_change_without_an_answer_may_be_carried_out_until_the_next_break() -> None:
    again_ = {"delivered-after-acknowledgement": 1}
    assert late(lambda story: story.alters(0, INFO), 1) == {}
    assert late(lambda story: story.alters(0, INFO), 2) == again_
    assert late(lambda story: story.alters(0, FAIL), 1, received=False) == again_


def test_breaks_between_which_no_member_joins_may_have_one_epoch() -> None:
    assert late(lambda story: story.alters(0, INFO), 2, received=False) == {}
    assert late(lambda story: story.alters(0, FAIL), 2, received=False) != {}


def finished(pending: int, *, received: bool) -> dict[str, int]:
    """A change has no answer, another one to 4 is accepted, and the group goes on from 8, without 10."""
    story = whole()
    story.alters(pending, INFO)
    if received:
        story.opens(1)
        story.polls(1, {0: 1})
    story.alters(4, turn=2)
    story.opens(1)
    story.polls(1, dict.fromkeys((8, 9, 11), 1))
    story.acknowledges(1, (8, 9, 11))
    story.starts(12)
    return dict(check_share_groups(ended(story)).counts)


def test_a_change_that_may_be_carried_out_late_may_pass_what_is_below_it() -> None:
    assert finished(8, received=False) == {"share-undelivered": 1}
    assert finished(11, received=False) == {}
    assert finished(8, received=True) == {"share-undelivered": 5}
    assert finished(2, received=False) == {"share-undelivered": 5}


def test_a_deletion_without_an_answer_may_be_carried_out_at_any_time() -> None:
    assert late(lambda story: story.alters(None, INFO), 2) == {}


def test_a_change_without_a_completion_may_be_carried_out() -> None:
    story = whole()
    story.begins_alter(0)
    story.opens(1)
    story.polls(1, {3: 1})
    assert check_share_groups(ended(story)).counts == {}


def test_a_poll_during_a_change_belongs_to_no_life() -> None:
    story = whole()
    story.opens(1)
    asked = story.begins_poll(1)
    story.alters(12)
    story.ends_poll(1, asked, {3: 1})
    assert check_share_groups(ended(story)).counts == {}


def test_a_start_offset_that_is_reported_during_a_change_shows_nothing() -> None:
    story = whole()
    story.add("lister", INVOKE, "share-offsets", GROUP, {"topic": TOPIC})
    story.alters(0)
    story.add("lister", OK, "share-offsets", GROUP, {"topic": TOPIC, "offsets": [[0, 12]]})
    story.opens(1)
    story.polls(1, EACH)
    story.acknowledges(1, range(12))
    assert check_share_groups(ended(story)).counts == {}


def begun(
    offset: int = 5,
    *,
    outcome: OperationType = OK,
    deletes: bool = False,
    fault_ms: tuple[int, int] | None = None,
    node: str = "n1",
) -> list[str]:
    """Records 3 and 4 are delivered after a change of the start offset; the ids of what is found."""
    story = acknowledged(polled_ms=15_000, asked_ms=15_200, refused="")
    asked = {"topic": admin_histories.TOPIC, "turn": 1, "to": 1}
    f = DELETE if deletes else ALTER
    asked |= {} if deletes else {"partition": 0, "offset": offset}
    story.add(14_000, 90, INVOKE, f, key=GROUP, value=asked)
    story.add(14_100, 90, outcome, f, key=GROUP, value=asked | {"code": 0 if outcome is OK else 68})
    if fault_ms is not None:
        story.fault(*fault_ms, "pause", node)
    return [anomaly.id for anomaly in check_share_groups(story.history()).anomalies]


def test_a_record_below_the_new_start_offset_is_an_anomaly() -> None:
    assert begun() == ["share-start-not-set"] * 2
    assert begun(4) == ["share-start-not-set"]


def test_a_group_may_get_what_begins_at_its_start_offset() -> None:
    assert begun(3) == []
    assert begun(deletes=True) == []


@pytest.mark.parametrize("outcome", [INFO, FAIL])
def test_a_change_that_is_not_accepted_sets_nothing(outcome: OperationType) -> None:
    assert begun(outcome=outcome) == []


def test_a_fault_may_keep_the_leader_from_noticing_that_the_members_left() -> None:
    assert begun(fault_ms=(12_000, 13_000)) == []
    assert begun(fault_ms=(14_050, 14_900)) == []


def test_a_fault_long_before_or_of_another_node_does_not() -> None:
    assert begun(fault_ms=(2_000, 3_000)) == ["share-start-not-set"] * 2
    assert begun(fault_ms=(12_000, 13_000), node="n2") == ["share-start-not-set"] * 2
