"""A record that was archived has a dead letter, unless a broker logged that it could not write one."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from checkers.columns.tables import PartitionName
from checkers.history.logged import NODE_LOG
from checkers.history.operations import INVOKE, OK
from checkers.history.share_states import EVIDENCE_SHARES, SHARE_STATES, Delivery, Kind
from checkers.judge import judge
from checkers.licences.permits import LicenceEvent, Permit
from checkers.share_groups import missing_letters
from checkers.share_groups.dead_letters import check_dead_letters
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.share_groups.share_histories import GROUP, LIMIT, TOPIC, ShareStory, value_at
from tests.checkers.share_groups.share_state_histories import FREE, GONE, MADE, Record, done, states
from tests.checkers.share_groups.test_dead_letters import QUEUE, headers, reads

GOING = Delivery.ARCHIVING
TEXT = "2026-11-20T21:57:57,000 ERROR Failed to write to DLQ, proceeding to ARCHIVED regardless."
ENOUGH = (MADE, done(12, state=GOING), done(12, state=GONE), done(0))
"""Record 12 is archived, and record 0 was accepted later."""


def rejecting(kind: str = "reject", count: int = 1) -> ShareStory:
    """A member settles record 12; then it accepts record 0, 60 s after the run began."""
    story = ShareStory()
    story.setup(
        GROUP,
        evidence=[EVIDENCE_SHARES],
        nodes=[
            {"name": "b1", "id": 1, "roles": ["broker"]},
            {"name": "c1", "id": 2, "roles": ["controller"]},
        ],
    )
    story.operations[0].value["workload"]["dead_letters"] = True
    story.sends(*range(14))
    story.now_ns = 59_000_000_000
    story.polls(1, dict.fromkeys(range(12), 1) | {12: count, 13: 1})
    story.acknowledges(1, [12], kind)
    story.now_ns = 60_000_000_000
    story.acknowledges(1, [0])
    return story


def told(
    story: ShareStory, *records: Record, letters: Sequence[int] = (13,), listed: Sequence[int] = range(14)
) -> CheckerResult:
    """The queue is read, and then the log of the share coordinator; it has these records."""
    reads(story, *((headers(offset, LIMIT), value_at(offset)) for offset in letters))
    story.lists(*listed)
    story.add("replicas", OK, "observe", SHARE_STATES, states(*(records or ENOUGH)))
    return check_dead_letters(story.history())


def logs(story: ShareStory, at_s: float | None, text: str = TEXT, node: str = "b1", **more: Any) -> None:
    """A node logs a line at a time of the run."""
    began = datetime(2026, 11, 20, 21, 56, 57, tzinfo=UTC)
    at = None if at_s is None else f"{began + timedelta(seconds=at_s):%FT%T},000"
    value = {"line": 7, "at": at, "level": "ERROR", "text": text} | more
    story.add("node-logs", OK, "observe", NODE_LOG, value)
    story.operations[-1] = msgspec.structs.replace(story.operations[-1], node=node)


@pytest.mark.parametrize(
    "records",
    [
        ENOUGH,
        (MADE, done(12, state=GONE), done(0)),
        (MADE, done(12, state=FREE), done(12, state=GOING), done(12, state=GONE), done(0)),
        (
            MADE,
            done(12, state=GOING),
            Record([(10, 13, GONE, 1)], Kind.SNAPSHOT, 1, 0),
            done(0)._replace(snapshot=1),
        ),
    ],
)
def test_a_rejected_record_without_a_dead_letter(records: Sequence[Record]) -> None:
    result = told(rejecting(), *records)
    assert (result.validity, result.counts) == (Validity.INVALID, {"dead-letter-missing": 1})
    (anomaly,) = result.anomalies
    assert anomaly.subject == f"{GROUP}: {TOPIC}/0@12"
    assert "is Archived by __share_group_state/0@" in anomaly.summary


def test_records_with_a_dead_letter_are_compared() -> None:
    result = told(rejecting(), letters=[12])
    assert (result.validity, result.counts) == (Validity.VALID, {})
    assert result.figures["archived_compared"] == 1


@pytest.mark.parametrize(
    "records",
    [
        # It is still Archiving, and its leader may still write the dead letter.
        (MADE, done(12, state=GOING), done(0)),
        # It was accepted after all: the rejection was not carried out.
        (MADE, done(12), done(0)),
        # It may have been archived after the queue was read.
        (MADE, done(12, state=GOING), done(0), done(12, state=GONE)),
    ],
)
def test_records_for_which_no_dead_letter_is_due_yet(records: Sequence[Record]) -> None:
    result = told(rejecting(), *records)
    assert (result.validity, result.counts) == (Validity.VALID, {})
    assert result.figures["archived_compared"] == 0


@pytest.mark.parametrize("ends", [Record(kind=Kind.REMOVED), Record(kind=Kind.SNAPSHOT, snapshot=1, state=5)])
def test_a_state_that_was_deleted_or_begun_again(ends: Record) -> None:
    """What was archived before has a dead letter; what was Archiving before need not have become Archived."""
    log = (MADE, done(12, state=GOING), ends, done(12, state=GONE), done(0))
    assert told(rejecting("accept"), *log).counts == {}
    log = (MADE, done(12, state=GOING), done(12, state=GONE), ends, done(0))
    assert told(rejecting("accept"), *log).counts == {"dead-letter-missing": 1}


def test_a_rejected_record_that_an_administrator_may_have_skipped() -> None:
    story = rejecting()
    story.alters(13)
    assert told(story, MADE, done(12, state=GONE), done(0)).counts == {}


def test_a_record_that_was_deleted_from_its_topic() -> None:
    assert told(rejecting(), listed=range(12)).counts == {}


def test_a_record_that_was_accepted_and_archived_without_a_known_reason() -> None:
    """Nobody rejected it, and it can be delivered again."""
    assert told(rejecting("accept"), MADE, done(12, state=GONE), done(0)).counts == {}


def test_a_record_at_the_limit_of_deliveries() -> None:
    story = rejecting("release", LIMIT)
    result = told(story, MADE, done(12, state=GONE, count=LIMIT), done(0))
    assert result.counts == {"dead-letter-missing": 1}


def test_a_record_that_no_member_received() -> None:
    """All answers were lost; the log has it as Archiving."""
    story = rejecting("accept")
    log = (MADE, done(5, state=GOING, count=LIMIT), done(5, state=GONE, count=LIMIT), done(0))
    assert told(story, *log).counts == {"dead-letter-missing": 1}


@pytest.mark.parametrize(("at_s", "explains"), [(58, True), (61, True), (62, True), (50, False), (70, False)])
def test_a_broker_logged_that_it_could_not_write_a_dead_letter(at_s: int, explains: bool) -> None:  # noqa: FBT001
    """The record was received at 59 s and archived by 60 s; times of lines are uncertain by 2 s."""
    story = rejecting()
    logs(story, at_s)
    result = told(story)
    assert result.counts == ({} if explains else {"dead-letter-missing": 1})
    assert result.validity is (Validity.VALID if explains else Validity.INVALID)
    assert result.figures["dead_letters_failed"] == explains


def test_a_failure_before_a_second_rejection_counts_from_the_first_delivery() -> None:
    """The first rejection was carried out, and its answer was lost; the second one was ignored."""
    story = ShareStory()
    story.setup(GROUP, evidence=[EVIDENCE_SHARES])
    story.operations[0].value["workload"]["dead_letters"] = True
    story.sends(*range(14))
    story.now_ns = 30_000_000_000
    story.polls(1, {12: 1})
    story.acknowledges(1, [12], "reject", outcome=None)
    story.now_ns = 50_000_000_000
    story.polls(2, {12: 2, 0: 1})
    story.acknowledges(2, [12], "reject")
    story.acknowledges(2, [0])
    logs(story, 40)
    assert told(story).counts == {}


@pytest.mark.parametrize(
    ("more", "explains"),
    [
        ({"at_s": None}, True),
        ({"at_s": 60, "node": "c1"}, False),
        ({"at_s": 60, "text": "2026-11-20T21:57:57,000 ERROR Unable to write"}, False),
    ],
)
def test_lines_without_a_time_of_controllers_and_of_other_errors(
    more: dict[str, Any],
    explains: bool,  # noqa: FBT001 - a case
) -> None:
    story = rejecting()
    logs(story, **more)
    assert told(story).counts == ({} if explains else {"dead-letter-missing": 1})


def undecided(result: CheckerResult) -> str:
    """Why a missing dead letter may have another reason."""
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {"dead-letter-missing": 1})
    return str(result.unknown_because)


def test_lines_of_a_broker_were_left_out() -> None:
    story = rejecting()
    logs(story, None, "7 further lines", line=None, unjudged=True)
    assert "may follow from b1 logged 7 further lines" in undecided(told(story))


def test_a_process_of_a_broker_was_ended_meanwhile() -> None:
    story = rejecting()
    plan = {"id": "f1", "kind": "kill", "target": "b1"}
    story.add("nemesis", INVOKE, "inject", "f1", plan)
    story.add("nemesis", OK, "inject", "f1", {**plan, "targets": ["b1"]})
    assert "may follow from f1 (kill of b1)" in undecided(told(story))


def test_it_is_unknown_when_a_record_was_archived() -> None:
    """The log lacks its beginning, or a node that may have had the only copy of it lost its disk."""
    late = (MADE._replace(offset=3), done(12, state=GONE)._replace(offset=4), done(0)._replace(offset=5))
    assert "may follow from __share_group_state/0 lacks records" in undecided(told(rejecting(), *late))
    story = rejecting()
    plan = {"id": "f1", "kind": "wipe-disk", "target": "b1"}
    story.add("nemesis", INVOKE, "inject", "f1", plan)
    story.add("nemesis", OK, "inject", "f1", {**plan, "targets": ["b1"]})
    assert "may follow from damage to disks of replicas of __share_group_state" in undecided(told(story))


@pytest.mark.parametrize(("at_s", "explains"), [(60, True), (90, False)])
def test_a_process_of_a_broker_was_seen_to_have_ended(at_s: int, explains: bool) -> None:  # noqa: FBT001 - a case
    story = rejecting()
    story.now_ns = at_s * 1_000_000_000
    story.add("nodes", OK, "observe", "node", {"status": "exited", "exit_code": 1})
    story.operations[-1] = msgspec.structs.replace(story.operations[-1], node="b1")
    result = told(story)
    assert result.validity is (Validity.UNKNOWN if explains else Validity.INVALID)


@pytest.mark.parametrize(("to_s", "explains"), [(10, False), (80, True)])
def test_a_permitted_loss_in_the_queue(monkeypatch: pytest.MonkeyPatch, to_s: int, explains: bool) -> None:  # noqa: FBT001 - a case
    class Licences:
        def of(self, name: PartitionName) -> tuple[Permit, ...]:
            assert name == PartitionName(f"dlq.{GROUP}", 0)
            event = LicenceEvent(0, to_s * 1_000_000_000, name, "a disk was lost")
            return (Permit(event, covers_returned=True, text="a disk was lost"),)

    monkeypatch.setattr(missing_letters, "licences_of", lambda _: Licences())
    result = told(rejecting())
    assert result.validity is (Validity.UNKNOWN if explains else Validity.INVALID)


@pytest.mark.parametrize("read", [[], [0], [39]], ids=["none", "the first", "the last"])
def test_a_queue_that_was_not_read_from_its_first_record_to_the_last(read: list[int]) -> None:
    story = rejecting()
    asked, records = {"group": GROUP, "partition": 0}, [[at, headers(13, LIMIT), value_at(13)] for at in read]
    story.add("letters", INVOKE, "dead-letters", QUEUE, asked)
    story.add("letters", OK, "dead-letters", QUEUE, asked | {"end": 40, "records": records})
    story.lists(*range(14))
    story.add("replicas", OK, "observe", SHARE_STATES, states(*ENOUGH))
    result = check_dead_letters(story.history())
    assert "dead-letter-missing" not in result.counts
    assert f"the dead-letter queue of {GROUP} was not read completely" in (result.unknown_because or "")


def test_a_record_that_was_received_only_in_a_later_life_of_its_state() -> None:
    """All answers of the first life were lost; a broker logged the failure before the reception."""
    story = rejecting()
    logs(story, 30)
    ends = Record(kind=Kind.REMOVED)
    result = told(story, MADE, done(12, state=GOING), done(12, state=GONE), ends, done(0))
    assert (result.counts, result.figures["dead_letters_failed"]) == ({}, 1)


def test_a_partition_of_the_queue_that_nobody_asked_for() -> None:
    story = rejecting()
    queue = {"name": f"dlq.{GROUP}", "partitions": 2, "loaded": False, "read": False}
    story.operations[0].value["topics"].append(queue)
    result = told(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert result.unknown_because == f"the dead-letter queue of {GROUP} was not read completely"


def test_a_log_that_was_not_read() -> None:
    story = rejecting()
    reads(story, (headers(13, LIMIT), value_at(13)))
    result = check_dead_letters(story.history())
    assert result.validity is Validity.VALID
    story.add("replicas", OK, "observe", SHARE_STATES, states(error="gone", columns={}, batches={}))
    result = check_dead_letters(story.history())
    assert (result.validity, result.unknown_because) == (
        Validity.UNKNOWN,
        "__share_group_state-0 was not read: gone",
    )


@pytest.mark.parametrize(
    ("lacking", "what"),
    [("nodes", None), ("nemesis", None), ("worker-1", None), (None, "all"), (None, "beginning")],
)
def test_without_the_logs_and_journals_it_is_unknown(lacking: str | None, what: str | None) -> None:
    story = rejecting()
    if what is not None:
        story.add("node-logs", OK, "observe", "log-lacking", {"what": what, "why": "gone"})
        story.operations[-1] = msgspec.structs.replace(story.operations[-1], node="b1")
    told(story)
    missing = frozenset() if lacking is None else frozenset({lacking})
    history = msgspec.structs.replace(story.history(), lacking=missing)
    (result,) = (one for one in judge(history).results if one.checker == "dead-letters")
    assert (result.validity, result.anomalies) == (Validity.UNKNOWN, ())
