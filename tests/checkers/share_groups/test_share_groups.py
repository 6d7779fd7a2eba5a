"""Each promise of share groups: what breaks it, what does not, and what leaves it open."""

from typing import Any

import msgspec
import pytest

from checkers.columns.tables import NEVER, PartitionName
from checkers.history.fitting import misfit_of
from checkers.history.operations import FAIL, INFO, OK, Operation, OperationType
from checkers.judge import NEEDS, judge
from checkers.licences import LicenceEvent, Licences, Permit
from checkers.licences.internal import Loss
from checkers.share_groups import CHECKER, check_share_groups, excuses
from checkers.share_groups.calm import SETTLED_NS
from checkers.verdict.verdict import CheckerResult, Validity
from checkers.verdict.withholding import MissingParts, withheld
from tests.checkers.share_groups.share_histories import GROUP, LOCK_MS, TOPIC, ShareStory, ended, whole

MS = 1_000_000


def found(story: ShareStory, records: int = 12) -> dict[str, int]:
    """What is reported, with the numbers."""
    return check_share_groups(ended(story, records)).counts


def judged(story: ShareStory) -> CheckerResult:
    return check_share_groups(story.history())


def calmed(story: ShareStory) -> ShareStory:
    """The story, so long later that no fault before it is near."""
    story.now_ns += 2 * SETTLED_NS
    return story


def test_a_group_that_received_and_accepted_everything_is_valid() -> None:
    result = check_share_groups(ended(whole()))
    assert (result.validity, result.counts) == (Validity.VALID, {})
    assert result.figures == {
        "deliveries": 12,
        "records": 12,
        "deliveries_again": 0,
        "delivery_count_max": 1,
        "acknowledged": 12,
        "released": 0,
        "renewed": 0,
        "unconfirmed": 0,
        "starts_set": 0,
        "states": 0,
        "states_compared": 0,
    }


def test_a_history_without_share_groups_is_not_exercised() -> None:
    assert judged(ShareStory()).validity is Validity.NOT_EXERCISED
    story = ShareStory()
    story.setup(GROUP, kind="groups")
    assert judged(story).validity is Validity.NOT_EXERCISED


def test_the_judge_asks_it() -> None:
    story = whole()
    story.acknowledges(1, [3])
    story.polls(2, {2: 2})
    verdict = judge(ended(story))
    assert [r.validity for r in verdict.results if r.checker == CHECKER] == [Validity.INVALID]


def test_groups_that_no_set_up_names_are_judged_by_what_they_received() -> None:
    story = ShareStory()
    story.polls(1, {3: 1})
    story.acknowledges(1, [3])
    assert judged(story).validity is Validity.VALID
    story.polls(2, {3: 2})
    assert judged(story).counts == {"delivered-after-acknowledgement": 1}


# At least once.


def passed_over(*received: int, records: int = 12) -> ShareStory:
    story = ShareStory()
    story.setup(GROUP)
    story.sends(*range(records))
    story.polls(1, dict.fromkeys(received, 1))
    story.acknowledges(1, received)
    return story


def test_a_record_that_the_group_passed_and_no_member_received() -> None:
    result = check_share_groups(ended(passed_over(*range(11))))
    assert result.counts == {"share-undelivered": 1}
    (anomaly,) = result.anomalies
    assert (anomaly.subject, anomaly.illegal) == (f"{GROUP}: {TOPIC}/0@11", True)
    assert [result.anomalies[0].witness] == [(7, 8)]


def test_the_number_of_records_is_exact_and_a_few_are_listed() -> None:
    result = check_share_groups(ended(passed_over(*range(10), records=60), 60))
    assert result.counts == {"share-undelivered": 50}
    assert len(result.anomalies) == 20
    (tally,) = result.tallies
    assert (tally.place, tally.count, tally.illegal) == (f"{GROUP}: {TOPIC}/0", 50, True)
    assert (tally.first_offset, tally.last_offset) == (10, 59)


def test_a_record_that_the_group_has_not_passed_leaves_it_open() -> None:
    story = passed_over(*range(11))
    story.starts(11)
    story.lists(*range(12))
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert result.unknown_because == f"the group did not finish 1 records of {GROUP}: {TOPIC}/0"


@pytest.mark.parametrize(("start", "outcome"), [(None, OK), (12, FAIL), (12, INFO)])
def test_without_a_start_offset_it_is_unknown(start: int | None, outcome: OperationType) -> None:
    story = passed_over(*range(11))
    story.starts(start, outcome)
    story.lists(*range(12))
    assert judged(story).unknown_because == f"the group did not finish 1 records of {GROUP}: {TOPIC}/0"


def test_the_highest_start_offset_counts() -> None:
    story = passed_over(*range(11))
    story.starts(12)
    story.starts(7)
    story.lists(*range(12))
    assert judged(story).counts == {"share-undelivered": 1}


def test_reads_of_committed_records_list_nothing() -> None:
    story = passed_over(*range(11))
    story.starts(11)
    story.lists(*range(11))
    story.lists(*range(12), client="other", isolation="read_committed")
    assert judged(story).validity is Validity.VALID


def test_a_group_that_never_polled_is_unknown() -> None:
    story = ShareStory()
    story.setup(GROUP)
    result = judged(story)
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == f"no member of {GROUP} polled"


def test_a_group_that_acknowledged_little_does_not_meet_its_assumption() -> None:
    result = check_share_groups(ended(whole(9), 9))
    assert result.validity is Validity.UNKNOWN
    assert [(a.name, a.observed) for a in result.assumptions] == [(f"acknowledged {GROUP}", "9")]


def lost_tries(*, later_ms: int = 1, fault: bool = False, failed: bool = False) -> CheckerResult:
    story = passed_over(*range(11))
    if fault:
        story.fault()
    if failed:
        story.ends_poll(2, story.begins_poll(2), {}, kind=INFO)
    story.now_ns += later_ms * MS
    return check_share_groups(ended(story))


@pytest.mark.parametrize("how", [{"fault": True}, {"failed": True}])
def test_tries_that_no_member_received_may_use_up_the_limit(how: dict[str, bool]) -> None:
    result = lost_tries(**how)
    assert result.validity is Validity.UNKNOWN
    assert result.counts == {"share-undelivered": 1}
    assert "may have used up the limit" in str(result.unknown_because)


def test_tries_are_not_lost_without_a_reason() -> None:
    assert lost_tries(later_ms=5 * LOCK_MS).validity is Validity.INVALID


@pytest.mark.parametrize(
    ("count", "limit", "validity"),
    [(5, 5, Validity.VALID), (4, 5, Validity.UNKNOWN), (5, 0, Validity.UNKNOWN)],
)
def test_a_release_at_the_limit_finishes_a_record(count: int, limit: int, validity: Validity) -> None:
    story = ShareStory()
    story.setup(GROUP, limit=limit)
    story.sends(*range(12))
    story.polls(1, dict.fromkeys(range(11), 1) | {11: count})
    story.acknowledges(1, range(11))
    story.acknowledges(1, [11], "release")
    story.starts(11)
    story.lists(*range(12))
    result = judged(story)
    assert result.validity is validity


def test_when_an_unacknowledged_record_was_sent_is_unknown() -> None:
    story = ShareStory()
    story.setup(GROUP)
    story.sends(*range(11))
    story.polls(1, dict.fromkeys(range(11), 1))
    story.acknowledges(1, range(11))
    story.now_ns += 5 * LOCK_MS * MS
    story.fault()
    assert check_share_groups(ended(story)).validity is Validity.UNKNOWN


# What is accepted or rejected does not come back.


@pytest.mark.parametrize("kind", ["accept", "reject"])
@pytest.mark.parametrize("again", ["accept", "reject", "release"])
def test_an_acknowledgement_after_a_final_one(kind: str, again: str) -> None:
    story = ShareStory()
    story.polls(1, {3: 1})
    began = story.acknowledges(1, [3], kind)
    began_again = story.acknowledges(1, [3], again)
    assert judged(story).counts == {}, "the start offset may have passed it"
    story.polls(2, {2: 1})
    result = judged(story)
    assert result.counts == {"acknowledged-twice": 1}
    assert result.anomalies[0].witness == (began, began + 1, began_again, began_again + 1)


def test_a_release_before_a_final_acknowledgement_is_legal() -> None:
    story = ShareStory()
    story.polls(1, {3: 1})
    story.acknowledges(1, [3], "release")
    story.polls(2, {3: 2})
    story.acknowledges(2, [3])
    assert judged(story).counts == {}


def test_a_release_that_may_have_come_before_is_legal_and_two_final_ones_never_are() -> None:
    def overlapping(kind: str) -> dict[str, int]:
        story = ShareStory()
        story.polls(1, {3: 1}, prefetches=True)
        story.polls(2, {3: 2}, prefetches=True)
        asked = [
            story.member(p) | {"acknowledgements": [[0, [3], [k]]]} for p, k in ((1, "accept"), (2, kind))
        ]
        for process, value in enumerate(asked, 1):
            story.add(process, OperationType.INVOKE, "acknowledge", TOPIC, value)
        for process, value in enumerate(asked, 1):
            story.add(process, OK, "acknowledge", TOPIC, value | {"refused": []})
        story.polls(3, {2: 1})
        return judged(story).counts

    assert overlapping("release") == {}
    assert overlapping("accept") == {"acknowledged-twice": 1}


@pytest.mark.parametrize(
    "how", [{"outcome": INFO}, {"outcome": FAIL}, {"outcome": None}, {"refused": "INVALID_RECORD_STATE"}]
)
def test_what_no_broker_confirmed_permits_another_delivery(how: dict[str, Any]) -> None:
    story = ShareStory()
    story.polls(1, {3: 1})
    story.acknowledges(1, [3], **how)
    story.polls(2, {3: 2})
    story.acknowledges(2, [3])
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.VALID, {})
    assert result.figures["unconfirmed"] == (0 if how.get("outcome", OK) is None else 1)


def test_a_delivery_that_may_have_begun_before_the_acknowledgement_is_legal() -> None:
    story = ShareStory()
    polled = story.begins_poll(2)
    story.polls(1, {3: 2})
    story.acknowledges(1, [3])
    story.ends_poll(2, polled, {3: 1})
    assert judged(story).counts == {}


@pytest.mark.parametrize(
    ("before", "how", "counts"),
    [
        pytest.param({}, {}, {}, id="the fetch of an empty poll is answered in the next"),
        pytest.param({7: 1}, {}, {"delivered-after-acknowledgement": 1}, id="no fetch is outstanding"),
        pytest.param({7: 1}, {"prefetches": True}, {}, id="prefetched"),
    ],
)
def test_when_the_delivery_of_a_consumer_can_have_begun(
    before: dict[int, int], how: dict[str, Any], counts: dict[str, int]
) -> None:
    story = ShareStory()
    story.polls(2, before, **how)
    story.polls(1, {3: 2})
    story.acknowledges(1, [3])
    story.polls(2, {3: 1}, **how)
    assert judged(story).counts == counts


def test_a_consumer_that_was_opened_later_has_prefetched_nothing() -> None:
    story = ShareStory()
    story.polls(2, {}, prefetches=True)
    story.polls(1, {3: 2})
    story.acknowledges(1, [3])
    story.opens(2)
    story.polls(2, {3: 1}, prefetches=True)
    assert judged(story).counts == {"delivered-after-acknowledgement": 1}


def test_another_record_at_the_same_offset_is_another_record() -> None:
    story = ShareStory()
    story.polls(1, {3: 1})
    story.acknowledges(1, [3])
    story.polls(2, {3: 1}, values={3: "another"})
    story.acknowledges(2, [3])
    assert judged(story).counts == {"share-wrong-record": 1}


def test_an_acknowledgement_of_what_was_not_delivered_states_nothing() -> None:
    story = ShareStory()
    story.polls(1, {3: 1})
    story.acknowledges(1, [4])
    story.polls(2, {4: 1})
    result = judged(story)
    assert (result.counts, result.figures["acknowledged"]) == ({}, 0)


# Delivery counts.


def test_a_delivery_count_above_the_limit() -> None:
    story = whole()
    story.sends(12, 13)
    story.polls(2, {12: 5, 13: 6})
    result = judged(story)
    assert result.counts == {"too-many-deliveries": 1}
    assert "delivery count 6; the limit is 5" in result.anomalies[0].summary


def test_without_a_limit_no_delivery_count_is_too_high() -> None:
    story = ShareStory()
    story.setup(GROUP, limit=0)
    story.polls(2, {12: 600})
    assert judged(story).counts == {}


@pytest.mark.parametrize(("count", "counts"), [(3, {}), (2, {"delivery-count-lost": 1})])
def test_a_confirmed_release_stores_the_delivery_count(count: int, counts: dict[str, int]) -> None:
    story = ShareStory()
    story.polls(1, {3: 1})
    story.acknowledges(1, [3], "release")
    story.polls(1, {3: 2})
    story.acknowledges(1, [3], "release")
    story.polls(2, {3: count})
    assert judged(story).counts == counts


def test_counts_that_were_not_stored_may_repeat() -> None:
    story = ShareStory()
    story.polls(1, {3: 1})
    story.acknowledges(1, [3], "release", outcome=INFO)
    story.polls(2, {3: 1})
    story.opens(2)
    story.polls(2, {3: 1})
    assert judged(story).counts == {}


# One member at a time.


def held(*, prefetches: bool = False, outcome: OperationType = OK, early: bool = False) -> ShareStory:
    """A member gets a record that another one gets too, before the first one acknowledges it."""
    story = ShareStory()
    asked = story.begins_poll(2) if early else None
    story.polls(1, {3: 1}, prefetches=prefetches)
    story.ends_poll(2, asked or story.begins_poll(2), {3: 2})
    story.acknowledges(1, [3], "release", outcome)
    story.polls(3, {3: 3})
    return story


def test_a_record_that_a_member_holds_is_given_to_another_one() -> None:
    result = judged(held())
    assert result.counts == {"acquired-twice": 1}
    assert result.anomalies[0].witness == (1, 2, 3, 4, 5)


@pytest.mark.parametrize("how", [{"prefetches": True}, {"outcome": INFO}, {"early": True}])
def test_a_member_that_may_not_have_held_it(how: dict[str, Any]) -> None:
    assert judged(held(**how)).counts == {}


@pytest.mark.parametrize(("empty", "again", "found"), [(0, 1, 1), (1, 1, 0), (1, 2, 1)])
def test_a_fetch_of_a_poll_without_records_may_be_answered_in_the_next_poll(
    empty: int, again: int, found: int
) -> None:
    """The poll that returned records may have sent one more fetch, whose records the next poll returns."""
    story = ShareStory()
    for _ in range(empty):
        story.polls(1, {})
    story.polls(1, {4: 1})
    story.polls(2, {3: 1})
    story.acknowledges(2, [3])
    for _ in range(again):
        story.polls(1, {3: 1})
    assert judged(story).counts.get("delivered-after-acknowledgement", 0) == found


def test_a_member_whose_fetches_are_uncertain_may_have_acquired_a_record_again() -> None:
    story = ShareStory()
    story.polls(1, {})
    story.polls(1, {3: 1})
    story.polls(1, {3: 2})
    story.polls(2, {3: 2})
    story.acknowledges(1, [3], "release")
    story.polls(3, {3: 3})
    assert judged(story).counts == {}


def test_a_delivery_that_may_have_ended_after_the_acknowledgement_is_legal() -> None:
    story = ShareStory()
    story.polls(1, {3: 1})
    asked = story.begins_poll(2)
    story.acknowledges(1, [3], "release")
    story.ends_poll(2, asked, {3: 2})
    assert judged(story).counts == {}


# The start offset.


@pytest.mark.parametrize(("offset", "counts"), [(3, {"share-start-went-back": 1}), (4, {})])
def test_a_record_below_the_start_offset(offset: int, counts: dict[str, int]) -> None:
    story = ShareStory()
    story.starts(4)
    story.starts(2)
    story.polls(1, {offset: 1})
    assert judged(story).counts == counts


def test_a_delivery_that_may_have_begun_before_the_start_offset_was_reported() -> None:
    story = ShareStory()
    asked = story.begins_poll(1)
    story.starts(4)
    story.ends_poll(1, asked, {3: 1})
    assert judged(story).counts == {}


# Faults, elections, losses.


def came_back(story: ShareStory) -> ShareStory:
    """A record is accepted, and delivered again to a new consumer."""
    story.polls(1, {3: 1})
    story.acknowledges(1, [3])
    story.polls(2, {3: 2})
    return story


def after_fault(*, healed: bool = True, calm: bool = False) -> ShareStory:
    story = ShareStory()
    story.fault(healed=healed)
    return came_back(calmed(story) if calm else story)


def test_a_deposed_leader_may_deliver_again_while_a_fault_is_near() -> None:
    assert judged(after_fault()).counts == {}
    assert judged(after_fault(healed=False, calm=True)).counts == {}
    assert judged(after_fault(calm=True)).counts == {"delivered-after-acknowledgement": 1}


def test_faults_do_not_excuse_two_confirmed_acknowledgements() -> None:
    story = after_fault()
    story.acknowledges(2, [3])
    story.polls(3, {2: 1})
    assert judged(story).counts == {}, "a deposed leader may deliver what the start offset has passed"
    calmed(story).polls(4, {2: 1})
    assert judged(story).counts == {"acknowledged-twice": 1}


def seen(story: ShareStory, epoch: int, partition: int = 0) -> None:
    """A broker reports the leader epoch of a partition."""
    value = {"began_ns": story.now_ns, "topics": {TOPIC: [[partition, 1, epoch, [1], [1], None]]}}
    story.add("observer-partitions-b1", OK, "observe", "partitions", value)


@pytest.mark.parametrize(("partition", "calm"), [(0, False), (1, True)])
def test_a_deposed_leader_may_deliver_again_while_an_election_is_near(partition: int, calm: bool) -> None:  # noqa: FBT001 - pytest's way
    story = ShareStory()
    for epoch in (1, 2):
        seen(story, epoch, partition)
    assert bool(judged(came_back(story)).counts) is calm


def test_a_loss_of_the_stored_states_excuses_what_rests_on_them() -> None:
    story = ShareStory()
    story.setup(GROUP, unclean=True)
    story.starts(4)
    came_back(story)
    story.acknowledges(2, [3], "release")
    story.polls(1, {3: 2})
    result = judged(story)
    assert set(result.counts) == {
        "acknowledged-twice",
        "delivered-after-acknowledgement",
        "delivery-count-lost",
        "share-start-went-back",
    }
    assert {anomaly.illegal for anomaly in result.anomalies} == {False}
    assert result.validity is Validity.UNKNOWN
    assert str(result.unknown_because).count("configs allowed unclean elections") == 1
    story.polls(1, {9: 6})
    assert judged(story).validity is Validity.INVALID


def requests_unclean_election(story: ShareStory) -> None:
    """An administrator asks for an unclean election of the partition that is read."""
    asked = {"partitions": [[TOPIC, 0]]}
    story.add("admin", OperationType.INVOKE, "elect-leaders", "unclean", asked)
    story.add("admin", INFO, "elect-leaders", "unclean", asked)


def test_a_truncation_of_what_is_read_excuses_what_rests_on_offsets() -> None:
    story = passed_over(*range(11))
    requests_unclean_election(story)
    result = check_share_groups(ended(story))
    assert (result.counts, result.anomalies[0].illegal) == ({"share-undelivered": 1}, False)
    story.opens(1)
    story.polls(1, {3: 1})
    result = judged(story)
    assert {anomaly.id: anomaly.illegal for anomaly in result.anomalies} == {
        "share-undelivered": False,
        "share-start-went-back": False,
        "delivered-after-acknowledgement": True,
    }


@pytest.mark.parametrize(("later_ns", "illegal"), [(0, False), (1, True)])
def test_a_loss_after_a_finding_explains_nothing(
    monkeypatch: pytest.MonkeyPatch, later_ns: int, *, illegal: bool
) -> None:
    story = ShareStory()
    story.setup(GROUP)
    came_back(story)
    (found,) = judged(story).anomalies
    assert found.time_ns is not None
    loss = Loss("a loss", NEVER, found.time_ns + later_ns)
    monkeypatch.setattr(excuses, "losses", lambda *_: (loss,))
    assert [anomaly.illegal for anomaly in judged(story).anomalies] == [illegal]


@pytest.mark.parametrize(
    ("change", "undelivered", "back"),
    [
        ({}, False, False),
        ({"below": 9}, True, True),
        ({"above": 11}, False, False),
        ({"above": 12}, True, False),
        ({"from_ns": NEVER}, False, True),
    ],
)
def test_what_a_truncation_explains(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], *, undelivered: bool, back: bool
) -> None:
    """A record may be written after the group has passed another one at its offset."""
    story = passed_over(*range(11))
    ended(story)
    story.opens(1)
    story.polls(1, {3: 1})
    event = LicenceEvent(0, NEVER, PartitionName(TOPIC, 0), "an event")._replace(**change)
    licences = Licences({TOPIC: [Permit(event, covers_returned=True, text="a permit")]})
    monkeypatch.setattr(excuses, "licences_of", lambda _: licences)
    found = {anomaly.id: anomaly.illegal for anomaly in judged(story).anomalies}
    assert (found["share-undelivered"], found["share-start-went-back"]) == (undelivered, back)


# Missing evidence.


def test_missing_journals_make_the_rules_unknown_that_need_them() -> None:
    story = whole()
    story.polls(2, {3: 6})
    story.acknowledges(2, [3])
    story.polls(2, {2: 2})
    story.lists(*range(13))
    story.starts(13)
    result = judged(story)
    assert set(result.counts) == {
        "share-undelivered",
        "acknowledged-twice",
        "delivered-after-acknowledgement",
        "too-many-deliveries",
    }

    def left(*missing: str) -> set[str]:
        return set(withheld(result, NEEDS[CHECKER], MissingParts(frozenset(missing), "shares")).counts)

    assert left("worker-3") == set(result.counts) - {"share-undelivered"}
    # The other three need to know of every start offset that was set.
    assert left("worker-3", "altering worker-3") == {"too-many-deliveries"}
    assert left("nemesis") == {"too-many-deliveries"}
    assert left("observer-partitions-b1") == set(result.counts) - {"delivered-after-acknowledgement"}
    assert left("observer-starts-b1") == set(result.counts)


def test_damage_makes_the_result_unknown() -> None:
    history = msgspec.structs.replace(ended(whole()), damage=("a line was cut",))
    assert check_share_groups(history).validity is Validity.UNKNOWN


def test_an_operation_that_was_cut_off_is_left_out() -> None:
    story = whole()
    story.begins_poll(2)
    story.add("lister-2", OperationType.INVOKE, "share-offsets", GROUP, {"topic": TOPIC})
    assert check_share_groups(ended(story)).validity is Validity.VALID


def test_operations_of_other_functions_are_not_taken() -> None:
    history = ended(whole())
    more = Operation(len(history.operations), 10**12, 5, OperationType.INVOKE, "poll", TOPIC)
    recorded = msgspec.structs.replace(history, operations=(*history.operations, more))
    assert check_share_groups(recorded).validity is Validity.VALID


# What the operations look like.


@pytest.mark.parametrize(
    ("f", "kind", "value", "problem"),
    [
        ("share-poll", OK, {"records": [[0, [1, 2], [7, 8], [1]]]}, "as many values and delivery counts"),
        ("share-poll", OK, {"records": [[0, [1], [7], [0]]]}, "`int` >= 1"),
        ("acknowledge", OK, {"acknowledgements": [[0, [1], []]], "refused": []}, "as many types"),
        ("acknowledge", OperationType.INVOKE, {"acknowledgements": [[0, [1], []]]}, "as many types"),
        ("acknowledge", OperationType.INVOKE, {"acknowledgements": [[0, [1], ["gap"]]]}, "Invalid enum"),
    ],
)
def test_values_that_do_not_have_their_shape(
    f: str, kind: OperationType, value: dict[str, Any], problem: str
) -> None:
    answer = ShareStory().member(1) | {"prefetches": False} | value
    misfit = misfit_of(Operation(0, 0, 1, kind, f, TOPIC, answer))
    assert misfit is not None
    assert problem in misfit.problem
