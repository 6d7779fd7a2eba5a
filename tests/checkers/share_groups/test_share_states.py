"""Acknowledgements are compared with the log of the share coordinator, and the log with itself."""

from typing import Any

import pytest

from checkers.history.operations import History, OperationType
from checkers.history.share_states import Kind
from checkers.history.units import NS_PER_MS
from checkers.history.validity import Validity
from checkers.judge import judge
from checkers.share_groups import check_share_groups
from checkers.share_groups.loading import share_groups_of
from checkers.share_groups.states import judge_states
from tests.checkers.share_groups.share_histories import (
    GROUP,
    INFO,
    LOCK_MS,
    OK,
    TOPIC,
    ShareStory,
    ended,
)
from tests.checkers.share_groups.share_state_histories import DONE, FREE, GONE, MADE, Record, done, states

UNREAD = {"error": "gone", "columns": {}, "batches": {}, "count": 0, "batch_count": 0}


def story(records: int = 12, **setup: Any) -> ShareStory:
    """A run whose records are there, at offsets from 0."""
    recording = ShareStory()
    recording.setup(GROUP, **setup)
    recording.sends(*range(records))
    return recording


def seen(recording: ShareStory, *values: dict[str, Any], records: int = 12) -> History:
    """The history, whose final reads find all records, and the observations of the states."""
    for value in values:
        recording.add("observer-replicas", OK, "observe", "share-states", value)
    return ended(recording, records)


def found(history: History) -> list[tuple[str, str | None]]:
    """Rules and subjects of what is wrong."""
    judged = judge_states(history, share_groups_of(history))
    return [(anomaly.id, anomaly.subject) for _, anomaly, _ in judged.found]


def named(offset: int) -> str:
    return f"{GROUP}: {TOPIC}/0@{offset}"


def acknowledged(recording: ShareStory, *offsets: int, kind: str = "accept", **how: Any) -> ShareStory:
    """Records are delivered and acknowledged one after the other."""
    for offset in offsets:
        recording.polls(1, {offset: 1})
        recording.acknowledges(1, [offset], kind, **how)
    return recording


def test_states_that_follow_from_the_acknowledgements() -> None:
    recording = acknowledged(story(13), *range(10))
    acknowledged(recording, 10, kind="reject")
    acknowledged(recording, 11, kind="release")
    acknowledged(recording, 11, 12)
    log = [MADE, *(done(offset) for offset in range(10)), done(10, state=GONE), done(11, state=FREE)]
    log.append(Record([(0, 9, DONE, 1), (10, 10, GONE, 1), (11, 11, FREE, 1)], Kind.SNAPSHOT, 1, 0))
    log.append(Record([(11, 12, DONE, 2)], snapshot=1))
    history = seen(recording, states(*log), records=13)
    assert found(history) == []
    judged = judge_states(history, share_groups_of(history))
    assert (judged.records, judged.compared) == (15, 13)
    result = check_share_groups(history)
    assert (result.figures["states"], result.figures["states_compared"]) == (15, 13)


def test_an_acceptance_that_never_came_into_the_log() -> None:
    recording = acknowledged(story(), *range(12))
    history = seen(recording, states(MADE, *(done(offset) for offset in range(11))))
    result = check_share_groups(history)
    assert result.counts == {"share-answered-early": 1}
    (anomaly,) = result.anomalies
    assert (anomaly.subject, anomaly.illegal) == (named(11), True)
    assert anomaly.summary.endswith("but __share_group_state/0 has no final state of it")


def test_an_acceptance_that_came_into_the_log_after_a_later_one() -> None:
    recording = acknowledged(story(), *range(4))
    history = seen(recording, states(MADE, done(0), done(2), done(1), done(3)))
    assert found(history) == [("share-answered-early", named(1))]
    (anomaly,) = (each for _, each, _ in judge_states(history, share_groups_of(history)).found)
    last = history.operations[anomaly.witness[2]]
    assert (last.f, last.value["acknowledgements"]) == ("acknowledge", [[0, [2], ["accept"]]])
    assert "only after operation" in anomaly.summary


def test_a_rejection_that_is_stored_late() -> None:
    recording = acknowledged(acknowledged(story(), 0, kind="reject"), 1)
    assert found(seen(recording, states(MADE, done(1), done(0, state=GONE)))) == [
        ("share-answered-early", named(0))
    ]


def test_acknowledgements_that_overlap_have_no_order() -> None:
    recording = story()
    recording.polls(1, {0: 1})
    recording.polls(2, {1: 1})
    recording.acknowledges(1, [0], outcome=None)
    recording.acknowledges(2, [1])
    recording.add(1, OK, "acknowledge", TOPIC, recording.operations[-3].value | {"refused": []})
    assert found(seen(recording, states(MADE, done(1), done(0)))) == []


def test_a_release_that_is_stored_as_an_acceptance() -> None:
    recording = acknowledged(acknowledged(story(), 0), 1, kind="release")
    history = seen(recording, states(MADE, Record([(0, 1, DONE, 1)]), Record([(0, 1, DONE, 1)])))
    assert found(history) == [("share-state-unasked", named(1))]


def test_a_request_to_accept_counts_whatever_its_outcome() -> None:
    recording = acknowledged(story(), 0, outcome=INFO)
    assert found(seen(recording, states(MADE, done(0, 7)))) == []


def test_an_acceptance_that_is_undone() -> None:
    recording = acknowledged(story(), 0, 1, 2)
    early, late = done(0, state=FREE, count=2), done(1, state=FREE, count=2)
    history = seen(recording, states(MADE, done(0), early, done(1), done(2), late))
    assert found(history) == [("share-state-undone", named(1))]


def test_a_delayed_write_with_a_lower_delivery_count_undoes_nothing() -> None:
    recording = acknowledged(story(), 0, 1, 2)
    late = done(1, state=FREE, count=2)
    assert found(seen(recording, states(MADE, done(0), done(1, count=2), done(2), late))) == []


def test_a_confirmed_acceptance_below_the_start_offset_has_the_final_state_of_another_member() -> None:
    recording = story()
    recording.polls(1, {0: 1})
    recording.polls(2, {0: 1})
    recording.acknowledges(2, [0], "reject")
    recording.acknowledges(1, [0])
    assert found(seen(recording, states(MADE, done(0, state=GONE)))) == []


def test_a_refused_acknowledgement_is_not_compared() -> None:
    assert found(seen(acknowledged(story(), 0, refused="NO"), states(MADE))) == []


def test_records_that_were_deleted_are_not_compared() -> None:
    recording = acknowledged(story(), 0)
    recording.add("observer-replicas", OK, "observe", "share-states", states(MADE))
    recording.lists(1, 2)
    assert found(recording.history()) == []


@pytest.mark.parametrize(
    ("records", "changes"),
    [
        ([MADE._replace(offset=3)], {}),
        ([MADE], {"end": 2}),
        ([MADE], {"unread": [1]}),
        ([MADE], UNREAD),
        ([MADE, done(0, state=FREE), Record(kind=Kind.REMOVED, snapshot=-1)], {}),
        ([MADE._replace(topic_id="BAECAwQFBgcICQoLDA0ODw")], {}),
    ],
)
def test_only_whole_logs_show_what_is_not_in_them(records: list[Record], changes: dict[str, Any]) -> None:
    assert found(seen(acknowledged(story(), 0), states(*records, **changes))) == []


def lapsed(count: int, **setup: Any) -> ShareStory:
    """An acceptance is confirmed that may have come after the lock's end."""
    recording = story(**setup)
    recording.polls(1, {0: count})
    recording.now_ns += LOCK_MS * NS_PER_MS
    recording.acknowledges(1, [0])
    return recording


@pytest.mark.parametrize(("count", "limit", "early"), [(3, 5, True), (4, 5, False), (1, 0, False)])
def test_a_leader_archives_a_record_before_that_is_in_the_log_if_its_last_lock_ends(
    count: int, limit: int, *, early: bool
) -> None:
    """The lock of a later delivery, of which no member knows, may have been the last one."""
    judged = found(seen(lapsed(count, limit=limit), states(MADE)))
    assert judged == ([("share-answered-early", named(0))] if early else [])


def test_the_last_delivery_is_judged_while_it_is_locked() -> None:
    recording = story()
    recording.polls(1, {0: 5})
    recording.acknowledges(1, [0])
    assert found(seen(recording, states(MADE))) == [("share-answered-early", named(0))]


AGAIN = Record(kind=Kind.SNAPSHOT, snapshot=1, state=0)


@pytest.mark.parametrize(
    ("again", "judged"),
    [
        (AGAIN, True),
        (AGAIN._replace(start=4), True),
        (AGAIN._replace(state=1), False),
        (AGAIN._replace(start=-1), False),
    ],
    ids=["snapshot", "later start", "new state epoch", "earlier start"],
)
def test_a_state_that_begins_again_undoes_nothing(again: Record, *, judged: bool) -> None:
    recording = acknowledged(story(), 0, 1)
    undone = done(0, state=FREE, count=2)._replace(snapshot=1)
    log = [MADE, done(0), done(1), again, undone]
    assert found(seen(recording, states(*log))) == ([("share-state-undone", named(0))] if judged else [])


@pytest.mark.parametrize(("outcome", "judged"), [(OperationType.INFO, False), (OperationType.OK, True)])
def test_a_request_without_an_answer_may_begin_a_state_again_late(
    outcome: OperationType, *, judged: bool
) -> None:
    recording = story()
    recording.alters(0, outcome)
    acknowledged(recording, 0, 1)
    undone = done(0, state=FREE, count=2)._replace(snapshot=1)
    log = [MADE, done(0), done(1), AGAIN, undone]
    assert found(seen(recording, states(*log))) == ([("share-state-undone", named(0))] if judged else [])


NEXT = Record(kind=Kind.SNAPSHOT, snapshot=1, state=0)


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        (
            [MADE, Record(leader=4), Record(leader=5), NEXT._replace(leader=5), Record(snapshot=1, leader=5)],
            None,
        ),
        ([MADE, Record(leader=4), NEXT._replace(leader=-1), Record(snapshot=1, leader=4)], None),
        ([MADE, Record(kind=Kind.REMOVED, snapshot=-1), MADE], None),
        ([MADE._replace(snapshot=3), MADE._replace(offset=7)], None),
        ([Record(snapshot=4), Record(snapshot=4)], None),
        (
            [MADE, Record(leader=5), Record(leader=-1), Record(leader=4)],
            "@3: the state of X has leader epoch 4, after 5",
        ),
        ([MADE, Record(leader=5), NEXT, Record(snapshot=1), Record(snapshot=1, leader=6)], None),
        (
            [MADE, Record(leader=5), NEXT, Record(snapshot=1, leader=6), Record(snapshot=1)],
            "@4: the state of X has leader epoch 0, after 6",
        ),
        (
            [MADE, Record(leader=5), NEXT._replace(batches=[(0, 0, DONE, 1)])],
            "@2: the state of X has leader epoch 0, after 5",
        ),
        ([MADE, Record(leader=5), Record()], "@2: the state of X has leader epoch 0, after 5"),
        ([MADE, NEXT, Record()], "@2: the state of X has snapshot epoch 0 instead of 1"),
        ([MADE, NEXT._replace(snapshot=2)], "@1: the state of X has snapshot epoch 2 instead of 1"),
        ([MADE._replace(state=3), Record(), NEXT], "@2: the state of X has state epoch 0, after 3"),
    ],
)
def test_epochs_in_the_log(records: list[Record], problem: str | None) -> None:
    history = seen(story(), states(*records))
    judged = judge_states(history, share_groups_of(history))
    reported = [each.summary.replace(f"{GROUP}: {TOPIC}/0", "X") for _, each, _ in judged.found]
    assert reported == ([] if problem is None else ["__share_group_state/0" + problem])


def test_epochs_of_a_topic_that_the_run_did_not_create() -> None:
    other = "BAECAwQFBgcICQoLDA0ODw"
    log = [
        MADE._replace(topic_id=other),
        NEXT._replace(topic_id=other),
        Record([(0, 0, DONE, 1)], topic_id=other),
    ]
    assert found(seen(story(), states(*log))) == [("share-state-epoch-back", f"{GROUP}: {other}/0")]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"error": "gone", "columns": {}, "batches": {}, "count": 0, "batch_count": 0},
            "-0 was not read: gone",
        ),
        ({"unread": [7]}, "-0 has records that can't be decoded, at 7"),
    ],
)
def test_states_that_are_not_known(changes: dict[str, Any], why: str) -> None:
    recording = acknowledged(story(), *range(12))
    result = check_share_groups(seen(recording, states(MADE, Record([(0, 11, DONE, 1)]), **changes)))
    assert (result.validity, result.unknown_because) == (Validity.UNKNOWN, "__share_group_state" + why)


@pytest.mark.parametrize(("place", "compared"), [(1, 2), (2, 0)])
def test_a_state_that_is_initialised_twice_before_its_use_is_compared(place: int, compared: int) -> None:
    again = Record(kind=Kind.SNAPSHOT, snapshot=1, state=4, leader=0)
    log = [MADE, done(0), done(1)]
    log.insert(place, again)
    history = seen(acknowledged(story(2), 0, 1), states(*log), records=2)
    assert judge_states(history, share_groups_of(history)).compared == compared


def test_no_loss_excuses_an_acceptance_that_no_member_asked_for() -> None:
    recording = acknowledged(acknowledged(story(13, unclean=True), *range(12)), 12, kind="release")
    result = check_share_groups(seen(recording, states(MADE, *map(done, range(13))), records=13))
    assert [each.id for each in result.anomalies if each.illegal] == ["share-state-unasked"]


def test_a_permitted_unclean_election_leaves_it_open() -> None:
    recording = acknowledged(story(unclean=True), *range(12))
    result = check_share_groups(seen(recording, states(MADE)))
    assert not any(anomaly.illegal for anomaly in result.anomalies)
    assert result.validity is Validity.UNKNOWN


def test_the_judge_drops_nothing_of_it() -> None:
    recording = acknowledged(story(), *range(12))
    verdict = judge(seen(recording, states(MADE, Record([(0, 10, DONE, 1)]))))
    (result,) = (each for each in verdict.results if each.checker == "share-groups")
    assert result.counts == {"share-answered-early": 1}
