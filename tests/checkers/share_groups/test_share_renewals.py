"""A member that renews a lock still holds the record, and has not finished it (KIP-1222)."""

import pytest

from checkers.share_groups import check_share_groups
from checkers.share_groups.loading import share_groups_of
from checkers.verdict.verdict import Validity
from tests.checkers.share_groups.share_histories import ShareStory, whole


def renewed(*, refused: str = "", other: int | None = 2) -> ShareStory:
    """A member renews its lock of a record; another one gets the record before."""
    story = ShareStory()
    story.polls(1, {3: 1})
    if other is not None:
        story.polls(2, {3: other})
    story.acknowledges(1, [3], "renew", refused=refused)
    story.polls_renewed(1, 3)
    return story


def counts(story: ShareStory) -> dict[str, int]:
    return check_share_groups(story.history()).counts


def test_a_renewal_shows_that_the_member_held_the_record() -> None:
    story = renewed()
    story.polls(3, {3: 3})
    result = check_share_groups(story.history())
    assert result.counts == {"acquired-twice": 1}
    assert "its renewal succeeded later, operation 5" in result.anomalies[0].summary
    assert result.anomalies[0].witness == (1, 2, 3, 4, 5)


@pytest.mark.parametrize("error", ["InvalidRecordStateException: no", "no answer"])
def test_a_renewal_that_was_not_confirmed_shows_nothing(error: str) -> None:
    story = renewed(refused=error)
    story.polls(3, {3: 3})
    assert counts(story) == {}


def test_a_record_whose_lock_was_renewed_may_be_released_and_delivered_again() -> None:
    story = renewed(other=None)
    story.acknowledges(1, [3], "release")
    story.polls(2, {3: 2})
    assert counts(story) == {}


def test_a_renewal_is_not_counted_as_a_delivery() -> None:
    story = renewed(other=None)
    story.acknowledges(1, [3], "release")
    story.polls(2, {3: 1})
    assert counts(story) == {"delivery-count-lost": 1}


def test_a_record_may_be_delivered_again_after_a_renewal_and_after_an_acceptance_not() -> None:
    story = renewed(other=None)
    story.polls(2, {3: 2})
    assert counts(story) == {}
    story = renewed(other=None)
    story.acknowledges(1, [3])
    story.polls(2, {3: 2})
    assert counts(story) == {"delivered-after-acknowledgement": 1}


def test_a_renewed_record_is_not_finished() -> None:
    story = whole(11)
    story.sends(11)
    story.polls(1, {11: 1})
    story.acknowledges(1, [11], "renew")
    story.starts(11)
    story.lists(*range(12))
    result = check_share_groups(story.history())
    assert result.figures["renewed"] == 1
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})


@pytest.mark.parametrize(("refused", "exact"), [("", True), ("no answer", False)])
def test_a_poll_that_returns_renewed_records_fetches_only_if_an_answer_is_missing(
    refused: str, *, exact: bool
) -> None:
    """Otherwise the time of later acquisitions is known as well as without renewals."""
    story = ShareStory()
    story.polls(1, {3: 1})
    story.acknowledges(1, [3], "renew", refused=refused)
    story.polls_renewed(1, 3)
    story.acknowledges(1, [3])
    asked = [len(story.operations)]
    story.polls(1, {4: 1})
    story.acknowledges(1, [4])
    asked.append(len(story.operations))
    story.polls(1, {5: 1})
    deliveries = share_groups_of(story.history()).deliveries
    assert deliveries.exact.tolist() == [exact] * 3
    assert (deliveries.since[1:].tolist() == asked) is exact


def test_a_fetch_that_was_on_its_way_before_a_renewal_may_be_answered_after_it() -> None:
    story = ShareStory()
    story.polls(1, {})
    story.polls(1, {3: 1})
    story.acknowledges(1, [3], "renew")
    story.polls_renewed(1, 3)
    story.acknowledges(1, [3])
    story.polls(1, {4: 1})
    assert share_groups_of(story.history()).deliveries.exact.tolist() == [True, False]


def test_a_member_without_an_answer_to_a_renewal_may_fetch_while_it_holds_records() -> None:
    """It may have acquired the record again, which no poll has returned yet."""
    story = ShareStory()
    story.polls(1, {3: 1, 4: 1})
    story.acknowledges(1, [4], "renew", refused="no answer")
    story.polls_renewed(1, 3)
    story.polls(2, {3: 2})
    story.acknowledges(1, [3], "release")
    story.polls(3, {3: 3})
    assert counts(story) == {}
