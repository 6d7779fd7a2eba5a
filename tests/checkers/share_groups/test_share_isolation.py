"""Share groups with read_committed: they get what is committed, and nothing else."""

import numpy as np
import pytest

from checkers.columns.tables import NEVER, PartitionName
from checkers.history.operations import INVOKE, OperationType
from checkers.licences import LicenceEvent, Licences, Permit
from checkers.licences.permits import Decisions
from checkers.share_groups import check_share_groups, excuses
from checkers.share_groups.settling import STUCK_NS
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, CheckerResult, Validity
from tests.checkers.share_groups.share_histories import FAIL, GROUP, INFO, OK, TOPIC, ShareStory

UNCOMMITTED = "share-uncommitted-read"
PLAIN = range(12)
"""Offsets of records outside of transactions; those of transactions follow, then their markers."""
END = 20


def run_of(*, committed: bool = True) -> ShareStory:
    """A run whose group got and accepted all records outside of transactions."""
    story = ShareStory()
    story.setup(GROUP, committed=[GROUP] if committed else [])
    story.sends(*PLAIN)
    accepts(story, *PLAIN)
    return story


def accepts(story: ShareStory, *offsets: int) -> None:
    story.polls(1, dict.fromkeys(offsets, 1))
    story.acknowledges(1, offsets)


def judged(story: ShareStory, everything: int, *stable: int, start: int | None = END) -> CheckerResult:
    """The result if final reads find these records: all up to an offset, and these at read_committed."""
    story.starts(start)
    story.lists(*range(everything), end=END)
    story.lists(*stable, isolation="read_committed", end=END)
    return check_share_groups(story.history())


def test_records_of_aborted_transactions_are_not_due() -> None:
    story = run_of()
    story.transaction(12, 13, kind=FAIL)
    result = judged(story, 14, *PLAIN)
    assert (result.validity, result.counts, result.unknown_because) == (Validity.VALID, {}, None)


def test_a_group_of_all_records_must_get_those_of_aborted_transactions() -> None:
    story = run_of(committed=False)
    story.transaction(12, 13, kind=FAIL)
    assert judged(story, 14, *PLAIN).counts == {"share-undelivered": 2}
    story = run_of(committed=False)
    story.transaction(12, 13, kind=FAIL)
    accepts(story, 12, 13)
    assert judged(story, 14, *PLAIN).validity is Validity.VALID


def test_records_of_committed_transactions_are_due() -> None:
    story = run_of()
    story.transaction(12, 13)
    assert judged(story, 14, *PLAIN, 12, 13).counts == {"share-undelivered": 2}
    story = run_of()
    story.transaction(12, 13)
    accepts(story, 12, 13)
    assert judged(story, 14, *PLAIN, 12, 13).validity is Validity.VALID


def test_a_committed_record_that_the_group_did_not_finish_leaves_it_open() -> None:
    story = run_of()
    story.transaction(12, 13)
    result = judged(story, 14, *PLAIN, 12, 13, start=12)
    assert result.unknown_because == f"the group did not finish 2 records of {GROUP}: {TOPIC}/0"


def test_records_above_the_last_stable_offset_are_not_waited_for() -> None:
    """A transaction is open at the end, and a record outside of transactions follows it."""
    story = run_of()
    story.begins_transaction(12)
    story.sends(13)
    story.starts(12)
    story.lists(*range(14))
    story.lists(*PLAIN, isolation="read_committed")
    result = check_share_groups(story.history())
    assert (result.validity, result.counts, result.unknown_because) == (Validity.VALID, {}, None)


@pytest.mark.parametrize("committed", [True, False])
def test_a_record_of_an_aborted_transaction_is_delivered(*, committed: bool) -> None:
    story = run_of(committed=committed)
    story.transaction(12, kind=FAIL)
    accepts(story, 12)
    result = judged(story, 13, *PLAIN)
    assert result.counts == ({UNCOMMITTED: 1} if committed else {})
    if committed:
        (anomaly,) = result.anomalies
        assert (anomaly.subject, anomaly.illegal) == (f"{GROUP}: {TOPIC}/0@12", True)
        assert anomaly.witness == (7, 8, 9, 10)
        assert anomaly.summary.endswith("of the transaction of operation 7, which was not committed")


def test_final_reads_are_not_needed_if_the_producer_knows_the_end() -> None:
    story = run_of()
    story.transaction(12, kind=FAIL)
    accepts(story, 12)
    assert check_share_groups(story.history()).counts == {UNCOMMITTED: 1}


def test_a_record_that_another_reader_got_as_committed_is_no_finding() -> None:
    """The log has a commit that its producer did not ask for; that is judged elsewhere."""
    story = run_of()
    story.transaction(12, kind=FAIL)
    accepts(story, 12)
    assert judged(story, 13, *PLAIN, 12).counts == {}


@pytest.mark.parametrize("finished", [True, False])
def test_a_record_whose_transaction_has_no_known_end_may_be_delivered(*, finished: bool) -> None:
    """Its end is asked for before it is delivered, and no answer comes."""
    story = run_of()
    if finished:
        story.transaction(12, kind=INFO)
    else:
        story.begins_transaction(12)
    accepts(story, 12)
    assert check_share_groups(story.history()).counts == {}
    assert judged(story, 13, *PLAIN, 12).counts == {}


@pytest.mark.parametrize("finished", [True, False])
def test_final_reads_show_how_a_transaction_without_an_answer_ended(*, finished: bool) -> None:
    story = run_of()
    if finished:
        story.transaction(12, kind=INFO)
    else:
        story.begins_transaction(12)
    accepts(story, 12)
    result = judged(story, 13, *PLAIN)
    assert result.counts == {UNCOMMITTED: 1}
    assert "returned at read_uncommitted, but not at read_committed" in result.anomalies[0].summary


def test_final_reads_that_did_not_come_so_far_show_nothing() -> None:
    story = run_of()
    story.transaction(12, kind=INFO)
    accepts(story, 12)
    story.lists(*range(13))
    story.lists(*PLAIN, isolation="read_committed")
    assert check_share_groups(story.history()).counts == {}


def test_a_record_that_is_not_in_the_log_at_the_end_shows_nothing_of_its_transaction() -> None:
    story = run_of()
    story.transaction(12, kind=INFO)
    accepts(story, 12)
    assert judged(story, 12, *PLAIN).counts == {"share-not-in-log": 1}


@pytest.mark.parametrize(("committed", "count"), [(True, 1), (False, 0)])
def test_a_record_is_delivered_before_its_commit_is_requested(*, committed: bool, count: int) -> None:
    story = run_of(committed=committed)
    asked = story.begins_transaction(12)
    accepts(story, 12)
    story.ends_transaction(asked, 12)
    result = judged(story, 13, *PLAIN, 12)
    assert result.counts.get(UNCOMMITTED, 0) == count
    if count:
        assert result.anomalies[0].summary.endswith("whose commit was requested only later")


@pytest.mark.parametrize("kind", [OK, INFO])
def test_a_record_is_delivered_once_its_commit_is_requested(kind: OperationType) -> None:
    story = run_of()
    asked = story.begins_transaction(12)
    polled = story.begins_poll(1)
    story.ends_transaction(asked, 12, kind=kind)
    story.ends_poll(1, polled, {12: 1})
    story.acknowledges(1, [12])
    assert judged(story, 13, *PLAIN, 12).counts == {}


def test_records_that_no_transaction_sent_are_not_compared() -> None:
    story = run_of()
    story.sends(12)
    accepts(story, 12)
    assert UNCOMMITTED not in judged(story, 13, *PLAIN).counts


def of_an_aborted_transaction() -> ShareStory:
    story = run_of()
    story.transaction(12, kind=FAIL)
    accepts(story, 12)
    return story


def test_a_lost_end_of_the_log_may_explain_it(monkeypatch: pytest.MonkeyPatch) -> None:
    event = LicenceEvent(0, NEVER, PartitionName(TOPIC, 0), "an event")
    permits = [Permit(event, covers_returned=True, text="a permit")]
    monkeypatch.setattr(excuses, "licences_of", lambda _history: Licences({TOPIC: permits}))
    result = judged(of_an_aborted_transaction(), 13, *PLAIN)
    assert [anomaly.illegal for anomaly in result.anomalies] == [False]
    assert result.validity is Validity.UNKNOWN


def test_a_lost_decision_of_the_transaction_may_explain_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(operation: int) -> Licences:
        places = np.array([operation], np.int64), np.zeros(1, np.int64)
        return Licences(decisions=Decisions(*places, ("a lost state",)))

    def illegal(operation: int) -> list[bool]:
        monkeypatch.setattr(excuses, "licences_of", lambda _history: lost(operation))
        return [anomaly.illegal for anomaly in judged(of_an_aborted_transaction(), 13, *PLAIN).anomalies]

    assert illegal(7) == [False]
    assert illegal(3) == [True]


def test_findings_that_an_event_may_explain_do_not_hide_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of all transactions but the last one may have been lost."""
    story, explained = run_of(), []
    for offset in range(12, 13 + EXAMPLES_PER_ANOMALY):
        explained.append(story.begins_transaction(offset))
        story.ends_transaction(explained[-1], offset, kind=FAIL)
    last = 13 + EXAMPLES_PER_ANOMALY
    story.transaction(last, kind=FAIL)
    accepts(story, *range(12, last + 1))
    history = story.history()
    begun = [o.index for o in history.operations if o.f == "txn" and o.type is INVOKE][:-1]
    places = np.array(begun, np.int64), np.zeros(len(begun), np.int64)
    lost = Licences(decisions=Decisions(*places, ("a lost state",)))
    monkeypatch.setattr(excuses, "licences_of", lambda _history: lost)
    result = check_share_groups(history)
    assert result.validity is Validity.INVALID
    assert result.counts == {UNCOMMITTED: len(explained) + 1}
    assert [one.subject for one in result.anomalies if one.illegal] == [f"{GROUP}: {TOPIC}/0@{last}"]


@pytest.mark.parametrize(("kind", "stuck"), [(OK, 1), (FAIL, 0), (INFO, 0)])
def test_only_committed_records_are_due_after_the_recovery(kind: OperationType, stuck: int) -> None:
    """After the recovery a transaction ends, and the last member gets nothing for long."""
    story = run_of()
    story.add("runner", INVOKE, "recover", None, {"bound_ms": 60_000})
    story.add("runner", OK, "recover", None, {"took_ms": 10, "complaints": []})
    story.transaction(12, kind=kind)
    story.add("runner", INFO, "phase", "final-read")
    story.polls(1, {})
    story.now_ns += STUCK_NS
    story.polls(1, {})
    stable = (*PLAIN, 12) if stuck else PLAIN
    assert judged(story, 13, *stable, start=12).counts == ({"share-stuck": 1} if stuck else {})
