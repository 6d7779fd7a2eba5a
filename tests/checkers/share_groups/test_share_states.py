"""Acknowledgements are compared with the log of the share coordinator, and the log with itself."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from checkers.history.operations import History
from checkers.history.packing import packed_rows
from checkers.history.share_states import SHARE_BATCH_TYPES, SHARE_STATE_TYPES, Delivery, Kind
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
    TOPIC_ID,
    ShareStory,
    ended,
)

FREE, DONE, GONE = Delivery.AVAILABLE, Delivery.ACKNOWLEDGED, Delivery.ARCHIVED
Batch = tuple[int, int, int, int]


class Told(NamedTuple):
    """A record of the log: an update unless it says otherwise; its offset is its place."""

    batches: Sequence[Batch] = ()
    kind: Kind = Kind.UPDATE
    snapshot: int = 0
    state: int = -1
    leader: int = 0
    offset: int | None = None
    topic_id: str = TOPIC_ID
    start: int = 0


UNREAD = {"error": "gone", "columns": {}, "batches": {}, "count": 0, "batch_count": 0}
MADE = Told(kind=Kind.SNAPSHOT, state=0, leader=-1)


def states(*records: Told, partition: int = 0, **changes: Any) -> dict[str, Any]:
    """The value of an observation."""
    places: dict[tuple[str, str, int], int] = {}
    rows = [
        (
            place if told.offset is None else told.offset,
            0,
            places.setdefault((GROUP, told.topic_id, 0), len(places)),
            told.kind,
            told.snapshot,
            told.state,
            told.leader,
            told.start,
            len(told.batches),
        )
        for place, told in enumerate(records)
    ]
    batches = [batch for told in records for batch in told.batches]
    value = {"began_ns": 1, "partition": partition, "end": rows[-1][0] + 1 if rows else 0, "unread": []}
    value |= {"places": [[*place] for place in places], "count": len(rows), "error": None}
    value |= {"columns": packed_rows(rows, SHARE_STATE_TYPES), "batch_count": len(batches)}
    return value | {"batches": packed_rows(batches, SHARE_BATCH_TYPES)} | changes


def story(records: int = 12, **setup: Any) -> ShareStory:
    """A run whose records are there, at offsets from 0."""
    told = ShareStory()
    told.setup(GROUP, **setup)
    told.sends(*range(records))
    return told


def seen(told: ShareStory, *values: dict[str, Any], records: int = 12) -> History:
    """The history, whose final reads find all records, and the observations of the states."""
    for value in values:
        told.add("observer-replicas", OK, "observe", "share-states", value)
    return ended(told, records)


def found(history: History) -> list[tuple[str, str | None]]:
    """Rules and subjects of what is wrong."""
    judged = judge_states(history, share_groups_of(history))
    return [(anomaly.id, anomaly.subject) for _, anomaly in judged.found]


def named(offset: int) -> str:
    return f"{GROUP}: {TOPIC}/0@{offset}"


def acknowledged(told: ShareStory, *offsets: int, kind: str = "accept", **how: Any) -> ShareStory:
    """Records are delivered and acknowledged one after the other."""
    for offset in offsets:
        told.polls(1, {offset: 1})
        told.acknowledges(1, [offset], kind, **how)
    return told


def done(*offsets: int, state: int = DONE, count: int = 1) -> Told:
    return Told([(offset, offset, state, count) for offset in offsets])


def test_states_that_follow_from_the_acknowledgements() -> None:
    told = acknowledged(story(13), *range(10))
    acknowledged(told, 10, kind="reject")
    acknowledged(told, 11, kind="release")
    acknowledged(told, 11, 12)
    log = [MADE, *(done(offset) for offset in range(10)), done(10, state=GONE), done(11, state=FREE)]
    log.append(Told([(0, 9, DONE, 1), (10, 10, GONE, 1), (11, 11, FREE, 1)], Kind.SNAPSHOT, 1, 0))
    log.append(Told([(11, 12, DONE, 2)], snapshot=1))
    history = seen(told, states(*log), records=13)
    assert found(history) == []
    judged = judge_states(history, share_groups_of(history))
    assert (judged.records, judged.compared) == (15, 13)
    result = check_share_groups(history)
    assert (result.figures["states"], result.figures["states_compared"]) == (15, 13)


def test_an_acceptance_that_never_came_into_the_log() -> None:
    told = acknowledged(story(), *range(12))
    history = seen(told, states(MADE, *(done(offset) for offset in range(11))))
    result = check_share_groups(history)
    assert result.counts == {"share-answered-early": 1}
    (anomaly,) = result.anomalies
    assert (anomaly.subject, anomaly.illegal) == (named(11), True)
    assert anomaly.summary.endswith("but __share_group_state/0 has no final state of it")


def test_an_acceptance_that_came_into_the_log_after_a_later_one() -> None:
    told = acknowledged(story(), *range(4))
    history = seen(told, states(MADE, done(0), done(2), done(1), done(3)))
    assert found(history) == [("share-answered-early", named(1))]
    (anomaly,) = (each for _, each in judge_states(history, share_groups_of(history)).found)
    last = history.operations[anomaly.witness[2]]
    assert (last.f, last.value["acknowledgements"]) == ("acknowledge", [[0, [2], ["accept"]]])
    assert "only after operation" in anomaly.summary


def test_a_rejection_that_is_stored_late() -> None:
    told = acknowledged(acknowledged(story(), 0, kind="reject"), 1)
    assert found(seen(told, states(MADE, done(1), done(0, state=GONE)))) == [
        ("share-answered-early", named(0))
    ]


def test_acknowledgements_that_overlap_have_no_order() -> None:
    told = story()
    told.polls(1, {0: 1})
    told.polls(2, {1: 1})
    told.acknowledges(1, [0], outcome=None)
    told.acknowledges(2, [1])
    told.add(1, OK, "acknowledge", TOPIC, told.operations[-3].value | {"refused": []})
    assert found(seen(told, states(MADE, done(1), done(0)))) == []


def test_a_release_that_is_stored_as_an_acceptance() -> None:
    told = acknowledged(acknowledged(story(), 0), 1, kind="release")
    history = seen(told, states(MADE, Told([(0, 1, DONE, 1)]), Told([(0, 1, DONE, 1)])))
    assert found(history) == [("share-state-unasked", named(1))]


def test_a_request_to_accept_counts_whatever_its_outcome() -> None:
    told = acknowledged(story(), 0, outcome=INFO)
    assert found(seen(told, states(MADE, done(0, 7)))) == []


def test_an_acceptance_that_is_undone() -> None:
    told = acknowledged(story(), 0, 1, 2)
    early, late = done(0, state=FREE, count=2), done(1, state=FREE, count=2)
    history = seen(told, states(MADE, done(0), early, done(1), done(2), late))
    assert found(history) == [("share-state-undone", named(1))]


def test_a_delayed_write_with_a_lower_delivery_count_undoes_nothing() -> None:
    told = acknowledged(story(), 0, 1, 2)
    late = done(1, state=FREE, count=2)
    assert found(seen(told, states(MADE, done(0), done(1, count=2), done(2), late))) == []


def test_a_confirmed_acceptance_below_the_start_offset_has_the_final_state_of_another_member() -> None:
    told = story()
    told.polls(1, {0: 1})
    told.polls(2, {0: 1})
    told.acknowledges(2, [0], "reject")
    told.acknowledges(1, [0])
    assert found(seen(told, states(MADE, done(0, state=GONE)))) == []


def test_a_refused_acknowledgement_is_not_compared() -> None:
    assert found(seen(acknowledged(story(), 0, refused="NO"), states(MADE))) == []


def test_records_that_were_deleted_are_not_compared() -> None:
    told = acknowledged(story(), 0)
    told.add("observer-replicas", OK, "observe", "share-states", states(MADE))
    told.lists(1, 2)
    assert found(told.history()) == []


@pytest.mark.parametrize(
    ("records", "changes"),
    [
        ([MADE._replace(offset=3)], {}),
        ([MADE], {"end": 2}),
        ([MADE], {"unread": [1]}),
        ([MADE], UNREAD),
        ([MADE, done(0, state=FREE), Told(kind=Kind.REMOVED, snapshot=-1)], {}),
        ([MADE._replace(topic_id="BAECAwQFBgcICQoLDA0ODw")], {}),
    ],
)
def test_only_whole_logs_show_what_is_not_in_them(records: list[Told], changes: dict[str, Any]) -> None:
    assert found(seen(acknowledged(story(), 0), states(*records, **changes))) == []


def lapsed(count: int, **setup: Any) -> ShareStory:
    """An acceptance is confirmed that may have come after the lock's end."""
    told = story(**setup)
    told.polls(1, {0: count})
    told.now_ns += LOCK_MS * NS_PER_MS
    told.acknowledges(1, [0])
    return told


@pytest.mark.parametrize(("count", "limit", "early"), [(3, 5, True), (4, 5, False), (1, 0, False)])
def test_a_leader_archives_a_record_before_that_is_in_the_log_if_its_last_lock_ends(
    count: int, limit: int, *, early: bool
) -> None:
    """The lock of a later delivery, of which no member knows, may have been the last one."""
    judged = found(seen(lapsed(count, limit=limit), states(MADE)))
    assert judged == ([("share-answered-early", named(0))] if early else [])


def test_the_last_delivery_is_judged_while_it_is_locked() -> None:
    told = story()
    told.polls(1, {0: 5})
    told.acknowledges(1, [0])
    assert found(seen(told, states(MADE))) == [("share-answered-early", named(0))]


AGAIN = Told(kind=Kind.SNAPSHOT, snapshot=1, state=0)


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
def test_a_state_that_begins_again_undoes_nothing(again: Told, *, judged: bool) -> None:
    told = acknowledged(story(), 0, 1)
    undone = done(0, state=FREE, count=2)._replace(snapshot=1)
    log = [MADE, done(0), done(1), again, undone]
    assert found(seen(told, states(*log))) == ([("share-state-undone", named(0))] if judged else [])


NEXT = Told(kind=Kind.SNAPSHOT, snapshot=1, state=0)


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([MADE, Told(leader=4), Told(leader=5), NEXT._replace(leader=5), Told(snapshot=1, leader=5)], None),
        ([MADE, Told(leader=4), NEXT._replace(leader=-1), Told(snapshot=1, leader=4)], None),
        ([MADE, Told(kind=Kind.REMOVED, snapshot=-1), MADE], None),
        ([MADE._replace(snapshot=3), MADE._replace(offset=7)], None),
        ([Told(snapshot=4), Told(snapshot=4)], None),
        (
            [MADE, Told(leader=5), Told(leader=-1), Told(leader=4)],
            "@3: the state of X has leader epoch 4, after 5",
        ),
        ([MADE, Told(leader=5), NEXT, Told(snapshot=1), Told(snapshot=1, leader=6)], None),
        (
            [MADE, Told(leader=5), NEXT, Told(snapshot=1, leader=6), Told(snapshot=1)],
            "@4: the state of X has leader epoch 0, after 6",
        ),
        (
            [MADE, Told(leader=5), NEXT._replace(batches=[(0, 0, DONE, 1)])],
            "@2: the state of X has leader epoch 0, after 5",
        ),
        ([MADE, Told(leader=5), Told()], "@2: the state of X has leader epoch 0, after 5"),
        ([MADE, NEXT, Told()], "@2: the state of X has snapshot epoch 0 instead of 1"),
        ([MADE, NEXT._replace(snapshot=2)], "@1: the state of X has snapshot epoch 2 instead of 1"),
        ([MADE._replace(state=3), Told(), NEXT], "@2: the state of X has state epoch 0, after 3"),
    ],
)
def test_epochs_in_the_log(records: list[Told], problem: str | None) -> None:
    history = seen(story(), states(*records))
    judged = judge_states(history, share_groups_of(history))
    told = [each.summary.replace(f"{GROUP}: {TOPIC}/0", "X") for _, each in judged.found]
    assert told == ([] if problem is None else ["__share_group_state/0" + problem])


def test_epochs_of_a_topic_that_the_run_did_not_create() -> None:
    other = "BAECAwQFBgcICQoLDA0ODw"
    log = [
        MADE._replace(topic_id=other),
        NEXT._replace(topic_id=other),
        Told([(0, 0, DONE, 1)], topic_id=other),
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
    told = acknowledged(story(), *range(12))
    result = check_share_groups(seen(told, states(MADE, Told([(0, 11, DONE, 1)]), **changes)))
    assert (result.validity, result.unknown_because) == (Validity.UNKNOWN, "__share_group_state" + why)


def test_no_loss_excuses_an_acceptance_that_no_member_asked_for() -> None:
    told = acknowledged(acknowledged(story(13, unclean=True), *range(12)), 12, kind="release")
    result = check_share_groups(seen(told, states(MADE, *map(done, range(13))), records=13))
    assert [each.id for each in result.anomalies if each.illegal] == ["share-state-unasked"]


def test_a_permitted_unclean_election_leaves_it_open() -> None:
    told = acknowledged(story(unclean=True), *range(12))
    result = check_share_groups(seen(told, states(MADE)))
    assert not any(anomaly.illegal for anomaly in result.anomalies)
    assert result.validity is Validity.UNKNOWN


def test_the_judge_drops_nothing_of_it() -> None:
    told = acknowledged(story(), *range(12))
    verdict = judge(seen(told, states(MADE, Told([(0, 10, DONE, 1)]))))
    (result,) = (each for each in verdict.results if each.checker == "share-groups")
    assert result.counts == {"share-answered-early": 1}
