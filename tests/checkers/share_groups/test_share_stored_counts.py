"""In the share coordinator's log an accepted record has a delivery count with which a member received it."""

import msgspec
import pytest

from checkers.history.operations import History
from checkers.history.share_states import Kind
from checkers.judge import judge
from checkers.share_groups import check_share_groups
from checkers.share_groups.loading import share_groups_of
from checkers.share_groups.stored_counts import miscounted_states
from checkers.verdict.verdict import Validity
from tests.checkers.share_groups.share_histories import GROUP, INFO, OK, TOPIC, ShareStory, ended
from tests.checkers.share_groups.share_state_histories import FREE, GONE, MADE, Record, done, states


def renewing(renewals: int = 1) -> ShareStory:
    """Member 1 accepts record 0; it renews its lock of record 3, and then accepts this record too."""
    story = ShareStory()
    story.setup(GROUP)
    story.sends(*range(4))
    story.polls(1, {0: 1})
    story.acknowledges(1, [0])
    story.polls(1, {3: 2})
    for _ in range(renewals):
        story.acknowledges(1, [3], "renew")
        story.polls_renewed(1, 3)
    story.acknowledges(1, [3])
    return story


def seen(story: ShareStory, *records: Record) -> History:
    story.add("observer-replicas", OK, "observe", "share-states", states(MADE, *records))
    return story.history()


def found(history: History) -> list[str | None]:
    """The subjects of what is wrong."""
    return [anomaly.subject for _, anomaly, _ in miscounted_states(history, share_groups_of(history))]


@pytest.mark.parametrize("renewals", [0, 1, 3])
def test_a_renewal_leaves_the_delivery_count_as_it_was(renewals: int) -> None:
    assert found(seen(renewing(renewals), done(0), done(3, count=2))) == []


@pytest.mark.parametrize("count", [1, 3])
def test_a_record_that_was_renewed_and_is_accepted_with_another_count(count: int) -> None:
    history = seen(renewing(), done(0), done(3, count=count), done(3, count=count))
    result = check_share_groups(history)
    assert result.counts["share-state-miscounted"] == 1
    (anomaly,) = (each for each in result.anomalies if each.id == "share-state-miscounted")
    assert (anomaly.subject, anomaly.illegal) == (f"{GROUP}: {TOPIC}/0@3", True)
    assert anomaly.summary == (
        f"{GROUP}: {TOPIC}/0@3 is Acknowledged with the delivery count {count} by __share_group_state/0@2, "
        "but members received it with 2"
    )
    assert history.operations[anomaly.witness[0]].key == "share-states"


def test_each_record_of_a_batch_is_compared_and_none_that_nobody_received() -> None:
    story = ShareStory()
    story.polls(1, {0: 1, 2: 2, 3: 1})
    story.acknowledges(1, [0, 2, 3])
    batch = Record([(0, 3, done(0).batches[0][2], 1)], Kind.SNAPSHOT)
    assert found(setup(story, batch)) == [f"{GROUP}: {TOPIC}/0@2"]


def setup(story: ShareStory, *records: Record) -> History:
    """The history of a story that lacks a set-up, with one at its end."""
    story.setup(GROUP)
    return seen(story, *records)


@pytest.mark.parametrize(("count", "subjects"), [(1, []), (2, []), (3, [f"{GROUP}: {TOPIC}/0@0"])])
def test_a_record_may_have_the_count_of_each_of_its_deliveries(count: int, subjects: list[str]) -> None:
    """The outcome of the first acceptance is unknown, so that either may have been carried out."""
    story = ShareStory()
    story.polls(1, {0: 1})
    story.acknowledges(1, [0], outcome=INFO)
    story.polls(2, {0: 2})
    story.acknowledges(2, [0])
    assert found(setup(story, done(0, count=count))) == subjects


@pytest.mark.parametrize(
    ("before", "prefetches"),
    [([], True), ([{}], False), ([{}, {5: 1}], False)],
    ids=["it prefetches", "the answer is that of an earlier fetch", "that fetch returned another record"],
)
def test_a_member_may_have_acquired_the_record_again(
    before: list[dict[int, int]], *, prefetches: bool
) -> None:
    """Its lock ended, and a fetch that was on its way acquired the record for it again."""
    story = ShareStory()
    for given in before:
        story.polls(1, given)
    story.polls(1, {0: 1}, prefetches=prefetches)
    story.acknowledges(1, [0])
    assert found(setup(story, done(0, count=2))) == []


@pytest.mark.parametrize("state", [FREE, GONE])
def test_other_states_may_follow_from_deliveries_that_no_member_received(state: int) -> None:
    story = ShareStory()
    story.polls(1, {0: 1})
    story.acknowledges(1, [0])
    assert found(setup(story, done(0, state=state, count=4), done(0))) == []


def test_states_of_topics_and_groups_that_nobody_polled_are_left_out() -> None:
    story = ShareStory()
    story.polls(1, {0: 1})
    story.acknowledges(1, [0])
    other = done(0, count=9)._replace(topic_id="AAECAwQFBgcICQoLDA0OEA")
    assert found(setup(story, done(0), other)) == []
    empty = ShareStory()
    assert found(setup(empty, done(0, count=9))) == []


def test_without_the_journal_of_a_member_its_deliveries_are_unknown() -> None:
    story = renewing()
    story.add("observer-replicas", OK, "observe", "share-states", states(MADE, done(0), done(3, count=3)))
    history = ended(story, 4)
    results = {one.checker: one for one in judge(history).results}
    assert any(each.id == "share-state-miscounted" for each in results["share-groups"].anomalies)
    lacking = msgspec.structs.replace(history, lacking=frozenset({"worker-2"}))
    (result,) = (one for one in judge(lacking).results if one.checker == "share-groups")
    assert (result.validity, result.anomalies) == (Validity.UNKNOWN, ())
