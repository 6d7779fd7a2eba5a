"""Epochs, owners and commits of groups in the log of the offsets topic, record by record."""

import pytest

from checkers.columns.tables import NEVER
from checkers.groups import excuses
from checkers.licences.internal import Loss
from checkers.verdict.verdict import Validity
from tests.checkers.groups.group_histories import FAIL, GROUP, INFO, TOPIC, GroupStory
from tests.checkers.groups.logged_histories import (
    PARTITION,
    TOPIC_ID,
    UNREADABLE,
    Record,
    committed,
    found,
    group,
    judged,
    member,
    target,
    wrote,
)

BACK, AHEAD, EARLY, FENCED = (
    "group-epoch-back",
    "group-epoch-ahead",
    "assigned-before-released",
    "fenced-commit",
)
JOINED = (group(5), target(5), member(1, 5, {0: 5, 1: 5}))


@pytest.fixture
def story() -> GroupStory:
    made = GroupStory()
    made.setup("another", modern=(GROUP,))
    made.members = {number: (f"member-{number}", 5) for number in (1, 2)}
    return made


def of(story: GroupStory, *records: Record) -> list[str]:
    wrote(story, *records)
    return list(found(story))


@pytest.mark.parametrize(
    ("records", "ids"),
    [
        ([group(5), group(6), target(6), group(7)], []),
        ([group(5), group(5)], [BACK]),
        ([group(5), group(4)], [BACK]),
        ([group(5), group(None), group(1)], []),
        ([group(5), target(4), target(5)], []),
        ([group(5), target(4), target(4)], [BACK]),
        ([group(5), target(4), target(None), target(1)], []),
        ([member(1, 4), member(1, 4), member(1, 5)], []),
        ([member(1, 4), member(1, 3)], [BACK]),
        ([member(1, 4), member(2, 3)], []),
        ([member(1, 4), member(1, None), member(1, 1)], []),
        ([member(1, 4), member(1, -2), member(1, 0)], []),
        ([member(1, 4), member(1, 3), member(1, 3)], [BACK]),
        ([group(5), group(4, "h")], []),
        ([member(1, 4), member(1, 3, name="h")], []),
        ([group(5), UNREADABLE, group(5)], []),
    ],
)
def test_epochs_grow(story: GroupStory, records: list[Record], ids: list[str]) -> None:
    assert of(story, *records) == ids


@pytest.mark.parametrize(
    ("records", "ids"),
    [
        ([group(5), target(5), member(1, 5)], []),
        ([group(5), target(6)], [AHEAD]),
        ([target(6), group(5)], []),
        ([group(6), target(5), member(1, 6)], [AHEAD]),
        ([group(6), member(1, 6)], []),
        ([group(6), member(1, 7)], [AHEAD]),
        ([member(1, 7)], []),
        ([group(6), target(5), group(None), member(1, 7)], []),
        ([group(6), target(5), member(1, None), member(1, -2)], []),
    ],
)
def test_nobody_is_ahead(story: GroupStory, records: list[Record], ids: list[str]) -> None:
    assert of(story, *records) == ids


@pytest.mark.parametrize(
    ("records", "ids"),
    [
        ([member(1, 5, {0: 5}), member(2, 5, {1: 5})], []),
        ([member(1, 5, {0: 5}), member(2, 5, {0: 5})], [EARLY]),
        ([member(1, 5, {0: 5}), member(2, 6, {0: None})], [EARLY]),
        ([member(1, 5, {0: 5}), member(1, 6, {1: 6}), member(2, 6, {0: 6})], []),
        ([member(1, 5, {0: 5}), member(1, None), member(2, 6, {0: 6})], []),
        ([member(1, 5, {0: 5}), member(1, -2, {0: 0}), member(2, 6, {0: 6})], [EARLY]),
        ([member(1, 5, {0: 5}), group(None), member(2, 6, {0: 6})], []),
        ([member(1, 5, {0: 5}), member(2, 6, {0: 6}, name="h")], []),
        ([member(1, 5, {0: 5}), UNREADABLE, member(2, 6, {0: 6})], []),
        # Who was given it too early has it from then on.
        ([member(1, 5, {0: 5}), member(2, 6, {0: 6}), member(1, 7), member(1, 8, {0: 8})], [EARLY, EARLY]),
    ],
)
def test_a_partition_is_released_before_it_is_assigned(
    story: GroupStory, records: list[Record], ids: list[str]
) -> None:
    assert of(story, *records) == ids


def test_partitions_of_different_topics_are_different(story: GroupStory) -> None:
    other = member(2, 5, {0: 5})
    other[4][0][0] = "AAAAAAAAAAMAAAAAAAAABA"
    assert of(story, member(1, 5, {0: 5}), other) == []


def test_the_findings_convince(story: GroupStory) -> None:
    first = wrote(story, group(6), target(6), member(1, 5, {0: 5}))
    second = wrote(story, member(2, 6, {0: 6}), target(7), first=3, before=0)
    early, ahead = judged(story).anomalies
    assert early.summary == (
        f"__consumer_offsets/3@3: the epoch of member member-2 of {GROUP} is 6, "
        f"and it is assigned partition 0 of topic {TOPIC_ID}, which member-1 has."
    )
    assert early.explanation == (
        f"At offset 2 the epoch of member member-1 of {GROUP} is 5; the member has {TOPIC_ID}/0.",
        f"At offset 3 the epoch of member member-2 of {GROUP} is 6; the member has {TOPIC_ID}/0.",
        "All records between them were read.",
    )
    assert (early.subject, early.witness) == (f"{GROUP} member-2", (first, second))
    assert ahead.summary == (
        f"__consumer_offsets/3@4: the epoch of {GROUP}'s target assignment is 7, "
        f"and the epoch of {GROUP} is 6."
    )
    assert ahead.subject == GROUP


def test_groups_without_an_operation_of_a_client_are_judged_too(story: GroupStory) -> None:
    wrote(story, group(5, "h"), group(5, "h"))
    result = judged(story)
    assert result.counts == {BACK: 1}
    assert result.figures["h"]["records_in_log"] == 2
    assert "records_in_log" not in result.figures["another"]


def test_what_can_not_be_decoded_leaves_the_result_unknown() -> None:
    story = GroupStory()
    wrote(story, group(5), UNREADABLE)
    result = judged(story)
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == "__consumer_offsets/3 has records of groups that could not be decoded"


def test_a_log_of_commits_alone_has_nothing_to_compare(story: GroupStory) -> None:
    story.commits(1, {0: 7})
    wrote(story, committed(0, 7))
    assert found(story) == []
    assert "records_in_log" not in judged(story).figures[GROUP]


def test_a_gap_parts_what_is_compared(story: GroupStory) -> None:
    wrote(story, group(5), member(1, 5, {0: 5}))
    wrote(story, group(5), member(2, 5, {0: 5}), first=3, before=None)
    assert found(story) == []
    wrote(story, target(5), first=2, before=0)
    assert sorted(found(story)) == [EARLY, BACK]


def test_the_log_of_a_later_leader_goes_on(story: GroupStory) -> None:
    wrote(story, group(5), target(5), member(1, 5))
    wrote(story, group(5), member(1, 4), first=3, epoch=2, before=0)
    assert found(story) == [BACK, BACK]
    assert judged(story).figures[GROUP]["records_in_log"] == 5


def test_what_could_not_be_read_is_a_gap(story: GroupStory) -> None:
    wrote(story, group(5))
    unread = [[PARTITION, 0, 1, 2, 0, None]]
    wrote(story, first=1, before=0, stretches=unread)
    wrote(story, group(5), first=2, before=0)
    assert found(story) == []


def test_a_deposed_leaders_records_are_judged_by_themselves_and_once(story: GroupStory) -> None:
    wrote(story, group(5), group(5), group(6))
    wrote(story, group(6), member(1, 6, {0: 6}), first=3)  # appended by the deposed leader
    wrote(story, group(7), member(2, 6, {0: 6}), first=3, epoch=2, before=0)
    assert found(story) == [BACK, BACK]
    assert judged(story).figures[GROUP]["records_in_log"] == 7


def test_a_loss_that_was_permitted_may_explain_a_finding() -> None:
    story = GroupStory()
    story.setup("another", modern=(GROUP,), unclean=True)
    wrote(story, group(5), group(4))
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {BACK: 1})


@pytest.mark.parametrize(("later_ns", "validity"), [(0, Validity.UNKNOWN), (1, Validity.INVALID)])
def test_a_loss_after_the_records_were_read_explains_nothing(
    story: GroupStory, monkeypatch: pytest.MonkeyPatch, later_ns: int, validity: Validity
) -> None:
    wrote(story, group(5), group(4))
    (found_one,) = judged(story).anomalies
    assert found_one.time_ns is not None
    loss = Loss("an unclean election", NEVER, found_one.time_ns + later_ns)
    monkeypatch.setattr(excuses, "losses", lambda *_: (loss,))
    assert judged(story).validity is validity


@pytest.mark.parametrize(
    ("records", "epoch", "ids"),
    [
        ([*JOINED], 5, []),
        ([*JOINED, member(1, None), group(6)], 5, [FENCED]),
        ([group(5), target(5)], 5, [FENCED]),
        ([*JOINED], 6, [FENCED]),
        # In an older epoch, in which the member had the partition, or had it not.
        ([*JOINED, group(6), target(6), member(1, 6, {0: 5, 1: 5})], 5, []),
        ([*JOINED, group(6), target(6), member(1, 6, {0: 6, 1: 5})], 5, [FENCED]),
        ([*JOINED, group(6), target(6), member(1, 6, {1: 5})], 5, [FENCED]),
        ([*JOINED, group(6), target(6), member(1, 6, {0: None})], 5, [FENCED]),
        ([*JOINED, member(1, -2, {0: 0})], 5, [FENCED]),
        # Before 4.3 records have no epochs of assignments, and only the same epoch will do.
        ([group(5), target(5), member(1, 5, {0: None})], 5, []),
        # Of the group not all is known, or it does not exist.
        ([member(1, 5)], 6, []),
        ([UNREADABLE, group(5), target(5), member(2, 5)], 5, []),
        ([UNREADABLE, group(None), group(5), target(5), member(2, 5)], 5, [FENCED]),
        ([group(5), group(None)], 5, []),
        ([group(5, "h")], 5, []),
    ],
)
def test_an_acknowledged_commit_of_a_member(
    story: GroupStory, records: list[Record], epoch: int, ids: list[str]
) -> None:
    story.commits(1, {0: 7}, generation=epoch)
    wrote(story, *records, committed(0, 7), member(1, None))
    assert found(story) == ids


def test_a_commit_whose_log_was_not_read_from_its_beginning(story: GroupStory) -> None:
    story.commits(1, {0: 7})
    wrote(story, group(6), target(6), member(2, 6), committed(0, 7), first=1, before=None)
    assert found(story) == []


@pytest.mark.parametrize("outcome", [FAIL, INFO, None])
def test_a_commit_that_was_not_acknowledged(story: GroupStory, outcome: object) -> None:
    story.commits(1, {0: 7}, outcome)  # type: ignore[arg-type]
    wrote(story, group(5), target(5), committed(0, 7))
    assert found(story) == []


def test_commits_that_are_not_of_one_request_and_one_record(story: GroupStory) -> None:
    for offset in (7, 8, 8, 9):
        story.commits(1, {0: offset})
    rows = [committed(0, 7), committed(0, 8), committed(0, 7)]
    wrote(story, group(5), target(5), *rows)
    assert found(story) == []
    assert judged(story).figures[GROUP]["commits_in_log"] == 0


def test_a_commit_without_a_membership_or_within_a_transaction(story: GroupStory) -> None:
    story.commits(1, {0: 7})
    story.resets(2, {0: 8})
    inside = [[PARTITION, 0, 2, 9, "data", [[2, GROUP, TOPIC, 0, 7]]]]
    wrote(
        story,
        group(5),
        target(5),
        ["none"],
        committed(0, 8),
        groups=[
            [PARTITION, 0, 0, *group(5)],
            [PARTITION, 0, 1, *target(5)],
        ],
        transactional=inside,
    )
    assert found(story) == []


def test_the_finding_about_a_commit_convinces(story: GroupStory) -> None:
    began = story.commits(1, {0: 7, 1: 8})
    at = wrote(story, *JOINED, committed(1, 8), member(1, None), committed(0, 7))
    (anomaly,) = (one for one in judged(story).anomalies if one.id == FENCED)
    assert anomaly.summary == (
        f"__consumer_offsets/3@5: a commit of {TOPIC}/0@7 by member member-1 of {GROUP} "
        "in epoch 5 was acknowledged."
    )
    assert anomaly.explanation == (
        "The commit was appended in leader epoch 0.",
        f"At offset 4 member member-1 of {GROUP} is removed.",
        "All records of the group up to the commit were read.",
    )
    assert anomaly.witness == (began, began + 1, at)
    assert judged(story).figures[GROUP]["commits_in_log"] == 2


def test_a_commit_of_a_member_of_which_the_log_has_nothing(story: GroupStory) -> None:
    story.commits(1, {0: 7})
    wrote(story, group(5), target(5), committed(0, 7))
    (anomaly,) = (one for one in judged(story).anomalies if one.id == FENCED)
    assert anomaly.explanation[1] == "Before it the log has no record of that member."
