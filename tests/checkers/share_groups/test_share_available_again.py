"""A record whose lock has ended after the recovery is delivered again."""

import pytest

from checkers.history.operations import INFO, INVOKE, OK, OperationType
from checkers.history.units import NS_PER_S
from checkers.share_groups import check_share_groups
from checkers.share_groups.settling import STUCK_NS
from checkers.verdict.verdict import Validity
from tests.checkers.share_groups.share_histories import GROUP, LIMIT, ShareStory, whole

MEMBER = 7
EXPIRED = "InvalidRecordStateException: The record state is invalid."


def held(
    *,
    refused: str = EXPIRED,
    outcome: OperationType | None = OK,
    count: int = 1,
    kind: str = "accept",
    recover: OperationType = OK,
    late: bool = False,
) -> ShareStory:
    """The last member receives the last two of 14 records, and its acknowledgement ends as given.

    A late acknowledgement of another member ends in the final phase, too.
    """
    story = whole()
    story.sends(12, 13)
    story.add("runner", INVOKE, "recover", None, {"bound_ms": 60_000})
    story.add("runner", recover, "recover", None, {"took_ms": 10, "complaints": []})
    asked = {
        "client": "kafka-clients",
        "group": GROUP,
        "consumer": 0,
        "acknowledgements": [[0, [0], ["accept"]]],
    }
    if late:
        story.add(8, INVOKE, "acknowledge", "shares-0", asked)
    story.add("runner", INFO, "phase", "final-read")
    if late:
        story.add(8, OK, "acknowledge", "shares-0", asked | {"refused": []})
    story.polls(MEMBER, {12: count, 13: count})
    story.acknowledges(MEMBER, (12, 13), kind, outcome, refused)
    return story


def polled_on(story: ShareStory, *, for_ns: int = STUCK_NS, given: dict[int, int] | None = None) -> None:
    """The member polls for some time; what the first poll returns is accepted."""
    if given:
        story.polls(MEMBER, given)
        story.acknowledges(MEMBER, list(given))
    story.now_ns += for_ns
    story.polls(MEMBER, {})
    story.starts(12)
    story.lists(*range(14))


def counts(story: ShareStory) -> dict[str, int]:
    return check_share_groups(story.history()).counts


def test_records_whose_lock_ended_and_that_do_not_come_back_are_a_finding() -> None:
    story = held()
    polled_on(story)
    result = check_share_groups(story.history())
    assert result.counts == {"share-stuck": 1}
    (found,) = result.anomalies
    assert (found.illegal, found.subject) == (True, f"{GROUP}: shares-0/0@12")
    assert "was returned to no member again within 60 s" in found.summary
    assert found.explanation[0] == (
        f"2 records of {GROUP}: shares-0/0 were released, or their locks ended, and were not returned again."
    )


def test_an_acknowledgement_that_began_before_the_final_phase_does_not_matter() -> None:
    story = held(late=True)
    polled_on(story)
    assert counts(story) == {"share-stuck": 1}


def test_a_released_record_must_come_back_as_well() -> None:
    story = held(refused="", kind="release")
    polled_on(story)
    assert counts(story) == {"share-stuck": 1}


def test_one_of_them_came_back() -> None:
    story = held()
    polled_on(story, given={12: 2})
    (found,) = check_share_groups(story.history()).anomalies
    assert str(found.subject).endswith("@13")


def test_both_came_back() -> None:
    story = held()
    polled_on(story, given={12: 2, 13: 2})
    result = check_share_groups(story.history())
    assert (result.validity, result.counts) == (Validity.VALID, {})


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(held(count=LIMIT), id="delivered as often as the limit allows"),
        pytest.param(held(refused=""), id="accepted"),
        pytest.param(held(refused="", kind="reject"), id="rejected"),
        pytest.param(held(refused="NOT_LEADER_OR_FOLLOWER: no"), id="refused for another reason"),
        pytest.param(held(outcome=None), id="acknowledgement without an end"),
        pytest.param(held(recover=INFO), id="the cluster did not recover"),
    ],
)
def test_what_may_have_ended_otherwise_is_no_finding(story: ShareStory) -> None:
    polled_on(story)
    assert "share-stuck" not in counts(story)


def test_an_acknowledgement_with_an_unknown_end_may_have_accepted_them() -> None:
    story = held(outcome=INFO)
    polled_on(story)
    assert "share-stuck" not in counts(story)


def test_less_time_leaves_it_open() -> None:
    story = held()
    polled_on(story, for_ns=STUCK_NS - 5 * NS_PER_S)
    result = check_share_groups(story.history())
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})


def test_without_a_known_limit_nothing_is_due() -> None:
    story = ShareStory()
    story.setup(GROUP, limit=0)
    story.sends(0)
    story.add("runner", INVOKE, "recover", None, {"bound_ms": 60_000})
    story.add("runner", OK, "recover", None, {"took_ms": 10, "complaints": []})
    story.add("runner", INFO, "phase", "final-read")
    story.polls(MEMBER, {0: 1})
    story.acknowledges(MEMBER, [0], refused=EXPIRED)
    story.now_ns += STUCK_NS
    story.polls(MEMBER, {})
    story.starts(0)
    story.lists(0)
    assert "share-stuck" not in counts(story)


def test_acknowledgements_of_another_group_do_not_matter() -> None:
    story = held()
    asked = {"client": "kafka-clients", "group": "share-1", "consumer": 0}
    story.add(8, INVOKE, "acknowledge", "shares-0", asked | {"acknowledgements": [[0, [12], ["accept"]]]})
    polled_on(story)
    (found,) = (a for a in check_share_groups(story.history()).anomalies if a.id == "share-stuck")
    assert str(found.subject).endswith("@12")
