"""A loss excuses what the log of a share coordinator has only if a state may have begun again after it."""

from collections.abc import Sequence

import pytest

from checkers.columns.tables import GroupPartition
from checkers.evidence.coordinators import OFFSETS_TOPIC, SHARES_TOPIC
from checkers.history.operations import OK, History
from checkers.history.share_states import EVIDENCE_SHARES, SHARE_STATES, Kind
from checkers.licences.internal import Loss
from checkers.share_groups import appended, check_share_groups, excuses
from checkers.share_groups.initialised import Initialised
from checkers.share_groups.loading import share_groups_of
from checkers.verdict.verdict import Validity
from tests.checkers.share_groups.share_histories import GROUP, TOPIC, ShareStory, ended
from tests.checkers.share_groups.share_state_histories import MADE, Record, done, states

PLACE = GroupPartition(GROUP, TOPIC, 0)
S = 1_000_000_000
AGAIN = Record(kind=Kind.SNAPSHOT, snapshot=1, state=5, start=-1)
"""The state is initialised again, with a higher state epoch."""
SAME_EPOCH = AGAIN._replace(state=0)
ACCEPTED_S = 50
"""Record 11 is accepted by this time, after all others."""


def after(*records: Record) -> tuple[Record, ...]:
    """A log with the first 11 records accepted, then these, and then record 11."""
    last = Record(
        [(11, 11, 2, 1)], snapshot=max(record.snapshot for record in records), start=records[-1].start
    )
    return (MADE._replace(start=0), Record([(0, 10, 2, 1)], start=5), *records, last)


def history(*records: Record, partition: int = 0, **changes: object) -> History:
    """A run in which 12 records were accepted, with this log of a share coordinator."""
    story = ShareStory()
    story.setup(GROUP, evidence=[EVIDENCE_SHARES])
    story.sends(*range(12))
    story.polls(1, dict.fromkeys(range(12), 1))
    story.acknowledges(1, range(11))
    story.now_ns = (ACCEPTED_S - 1) * S
    story.polls(1, {11: 2})
    story.acknowledges(1, [11])
    story.now_ns = 60 * S
    story.add("replicas", OK, "observe", SHARE_STATES, states(*records, partition=partition, **changes))
    return ended(story)


def may_follow(recorded: History, lost_s: int, row: int | None = None, place: GroupPartition = PLACE) -> bool:
    loss = Loss("lost", 100 * S, lost_s * S)
    return Initialised(recorded, share_groups_of(recorded)).may_follow(loss, place, row)


@pytest.mark.parametrize(("lost_s", "follows"), [(10, True), (49, True), (51, False)])
def test_a_state_that_begins_again_before_a_later_acceptance(lost_s: int, follows: bool) -> None:  # noqa: FBT001 - a case
    """Its record was appended before the answer to that acceptance."""
    assert may_follow(history(*after(AGAIN)), lost_s) is follows


def test_a_state_that_begins_again_after_all_acceptances_may_follow_any_loss() -> None:
    assert may_follow(history(*after(done(5))[:-1], done(11), AGAIN), 59)


@pytest.mark.parametrize(("row", "follows"), [(1, False), (2, True), (3, True), (None, True)])
def test_only_records_up_to_the_finding_count(row: int | None, follows: bool) -> None:  # noqa: FBT001 - a case
    assert may_follow(history(*after(AGAIN)), 10, row) is follows


def test_the_first_initialisation_is_not_another_one() -> None:
    first = Record(kind=Kind.SNAPSHOT, start=-1)
    assert not may_follow(history(first, Record([(0, 11, 2, 1)])), 0)


def test_the_first_record_that_is_left_may_be_another_initialisation() -> None:
    first = Record(kind=Kind.SNAPSHOT, start=-1, offset=4)
    assert may_follow(history(first, Record([(0, 11, 2, 1)], offset=5)), 55)


def test_snapshots_of_a_leader_and_other_share_partitions_do_not_count() -> None:
    snapshot = Record([(0, 10, 2, 1)], Kind.SNAPSHOT, 1, 5, leader=3)
    assert not may_follow(history(*after(snapshot)), 0)
    assert not may_follow(history(*after(AGAIN)), 0, place=GroupPartition("other", TOPIC, 0))


def test_if_the_log_may_have_lost_records_answers_show_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appended, "may_have_lost", lambda *_: "lost")
    assert may_follow(history(*after(AGAIN)), 55)


def test_if_an_administrator_sets_start_offsets_answers_show_no_time() -> None:
    recorded = history(*after(AGAIN))
    story = ShareStory()
    story.operations = list(recorded.operations)
    story.alters(0)
    assert may_follow(story.history(), 55)


INITIALISED, BACK, SNAPSHOT = (
    f"share-{name}" for name in ("state-initialised-again", "state-start-back", "snapshot-incomplete")
)


@pytest.mark.parametrize("topic", [OFFSETS_TOPIC, SHARES_TOPIC])
@pytest.mark.parametrize(
    ("records", "rule"),
    [
        ((AGAIN,), INITIALISED),
        ((SAME_EPOCH._replace(start=5),), SNAPSHOT),
    ],
)
@pytest.mark.parametrize(("lost_s", "illegal"), [(10, False), (55, True)])
def test_a_state_begins_again(
    monkeypatch: pytest.MonkeyPatch,
    topic: str,
    records: Sequence[Record],
    rule: str,
    lost_s: int,
    *,
    illegal: bool,
) -> None:
    """Only a loss before that explains it."""
    lose(monkeypatch, topic, lost_s)
    result = check_share_groups(history(*after(*records)))
    assert {anomaly.illegal for anomaly in result.anomalies if anomaly.id == rule} == {illegal}


@pytest.mark.parametrize("topic", [OFFSETS_TOPIC, SHARES_TOPIC])
@pytest.mark.parametrize(
    ("records", "rule"),
    [
        ((Record([(0, 3, 2, 1)], Kind.SNAPSHOT, 1, 0, leader=1, start=5),), SNAPSHOT),
        ((Record([(5, 5, 2, 1)], start=5, snapshot=7),), "share-state-epoch-back"),
    ],
)
def test_a_record_of_a_leader_is_wrong(
    monkeypatch: pytest.MonkeyPatch, topic: str, records: Sequence[Record], rule: str
) -> None:
    """No state begins again, so no loss explains it, whenever the record was appended."""
    lose(monkeypatch, topic, 10)
    result = check_share_groups(history(*after(*records)))
    assert {anomaly.illegal for anomaly in result.anomalies if anomaly.id == rule} == {True}


@pytest.mark.parametrize(("topic", "illegal"), [(OFFSETS_TOPIC, True), (SHARES_TOPIC, False)])
def test_a_start_offset_goes_back(monkeypatch: pytest.MonkeyPatch, topic: str, *, illegal: bool) -> None:
    """The log of states may have lost the record that set it; the leader has read it."""
    lose(monkeypatch, topic, 10)
    result = check_share_groups(history(*after(Record([(5, 5, 2, 1)], start=3))))
    assert {anomaly.illegal for anomaly in result.anomalies if anomaly.id == BACK} == {illegal}
    if not illegal:
        assert (result.validity, result.open_anomalies) == (Validity.UNKNOWN, (BACK,))
        unread = history(*after(Record([(5, 5, 2, 1)], start=3)), unread=[0])
        assert check_share_groups(unread).open_anomalies == ()


@pytest.mark.parametrize(("topic", "illegal"), [(OFFSETS_TOPIC, True), (SHARES_TOPIC, False)])
def test_an_answer_without_a_state(monkeypatch: pytest.MonkeyPatch, topic: str, *, illegal: bool) -> None:
    """The log of states may have lost it, also if no state begins again."""
    lose(monkeypatch, topic, 10)
    result = check_share_groups(history(MADE, Record([(0, 10, 2, 1)])))
    (anomaly,) = result.anomalies
    assert (anomaly.id, anomaly.illegal) == ("share-answered-early", illegal)
    assert result.validity is (Validity.INVALID if illegal else Validity.UNKNOWN)
    assert result.open_anomalies == (() if illegal else ("share-answered-early",))


def test_all_that_may_follow_from_one_loss_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is given once, with the first of them."""
    lose(monkeypatch, SHARES_TOPIC, 10)
    result = check_share_groups(history(*after(Record([(5, 5, 2, 1)], start=3), AGAIN)))
    assert result.validity is Validity.UNKNOWN
    assert str(result.unknown_because).count("may follow from lost") == 1
    assert set(result.open_anomalies) == set(result.counts) >= {BACK, INITIALISED}


def lose(monkeypatch: pytest.MonkeyPatch, topic: str, lost_s: int) -> None:
    """Let a topic have lost records, from a time on."""
    loss = Loss("lost", 100 * S, lost_s * S)
    monkeypatch.setattr(excuses, "losses", lambda _, asked, *__: (loss,) if asked == topic else ())
