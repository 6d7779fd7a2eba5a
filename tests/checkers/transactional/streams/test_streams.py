"""Exactly once is judged by what is in the output: clean runs are silent, every change of one is found."""

import random
from collections.abc import Callable, Iterable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.columns.tables import PartitionName
from checkers.history.fitting import misfit_of
from checkers.history.operations import Operation
from checkers.licences.permits import LicenceEvent, Licences, Permit
from checkers.transactional.streams import check_streams, excuses
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.transactional.streams.streams_histories import (
    CHANGELOG,
    FAIL,
    GROUP,
    INVOKE,
    LAST,
    LOAD,
    S_NS,
    SOURCE,
    TARGET,
    StreamsStory,
    simulated,
)

SEEDS = st.integers(0, 10_000)
Change = Callable[[StreamsStory], None]


def judged(story: StreamsStory) -> CheckerResult:
    return check_streams(story.history())


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_an_application_that_processes_exactly_once_is_valid(seed: int) -> None:
    story = simulated(seed)
    result = judged(story)
    assert result.validity is Validity.VALID, (result.anomalies, result.assumptions, result.unknown_because)
    assert result.counts == {}
    assert (result.figures["inputs"], result.figures["outputs"]) == (240, 240)


def test_the_history_is_one_that_is_documented() -> None:
    for operation in simulated(1).history().operations:
        if operation.f in {"streams-status", "read-output", "committed-offsets"}:
            assert misfit_of(operation) is None


def missing(story: StreamsStory) -> None:
    """An output is gone."""
    story.outputs[0].remove(story.row(0, 40))


def doubled(story: StreamsStory) -> None:
    """An output is there twice."""
    story.outputs[0].append([900, *story.row(0, 40)[1:]])


def ahead(story: StreamsStory) -> None:
    """The group's offset is before the last output."""
    story.before = {0: 119, 1: 120}


def miscounted(story: StreamsStory) -> None:
    """A count is one too high."""
    story.row(0, 40)[5] += 1


def invented(story: StreamsStory) -> None:
    """An output stands for a record that is not there, and that the group has passed."""
    story.before = {0: 701, 1: 120}
    story.outputs[0].append([900, LOAD[0], 0, 700, "3", 1, 3])


def altered(story: StreamsStory) -> None:
    """An output has another value."""
    story.row(0, 40)[6] += 5


def rekeyed(story: StreamsStory) -> None:
    """An output has another key."""
    story.row(0, 40)[4] = "7"


def swapped(story: StreamsStory) -> None:
    """Two outputs change places."""
    first, second = story.row(0, 40), story.row(0, 41)
    first[0], second[0] = second[0], first[0]


def moved(story: StreamsStory) -> None:
    """An output is in another partition than its input."""
    row = story.row(0, 40)
    story.outputs[0].remove(row)
    story.outputs[1].append([950, *row[1:]])


CHANGES: dict[Change, str] = {
    missing: "streams-lost",
    doubled: "streams-duplicated",
    ahead: "streams-without-offsets",
    miscounted: "streams-count-wrong",
    invented: "streams-invented",
    altered: "streams-invented",
    rekeyed: "streams-invented",
    swapped: "streams-reordered",
    moved: "streams-misplaced",
}


@pytest.mark.parametrize(("change", "rule"), CHANGES.items())
def test_every_change_is_found_by_its_rule(change: Change, rule: str) -> None:
    story = simulated(3)
    change(story)
    result = judged(story)
    assert result.validity is Validity.INVALID
    assert result.counts == {rule: 1}
    (found,) = result.anomalies
    assert found.subject is not None
    assert found.subject.startswith("streams-in/0@")
    assert found.witness


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_work_that_is_done_again_is_duplicated_and_counted_too_high(seed: int) -> None:
    story = simulated(seed)
    begin = random.Random(seed).randrange(10, 80)
    again = [row for row in story.outputs[1] if begin <= row[3] < begin + 10]
    seen = {row[4]: sum(one[4] == row[4] for one in again) for row in again}
    for number, row in enumerate(again):
        story.outputs[1].append([900 + number, LAST, *row[2:5], row[5] + seen[row[4]], row[6]])
    assert judged(story).counts == {"streams-count-wrong": 10, "streams-duplicated": 10}


def test_a_state_that_begins_anew_is_counted_too_low() -> None:
    story = simulated(5)
    for row in story.outputs[0]:
        if row[3] >= 60:
            row[5] = 1 + sum(one[4] == row[4] and 60 <= one[3] < row[3] for one in story.outputs[0])
    assert set(judged(story).counts) == {"streams-count-wrong"}


def test_a_record_of_another_writer_is_invented() -> None:
    story = simulated(3)
    story.foreign = {1: [(950, "other")]}
    (found,) = judged(story).anomalies
    assert (found.id, found.subject) == ("streams-invented", "streams-out/1@950")


def test_an_older_offset_counts_too_for_what_is_lost() -> None:
    story = simulated(3)
    missing(story)
    story.after = {0: 20, 1: 120}
    assert judged(story).counts["streams-lost"] == 1


def test_records_that_the_group_has_not_passed_need_no_output() -> None:
    story = simulated(3)
    story.outputs[0] = [row for row in story.outputs[0] if row[3] < 100]
    story.before = {0: 100, 1: 120}
    result = judged(story)
    assert result.counts == {}
    assert (result.validity, [one.name for one in result.assumptions if not one.met]) == (
        Validity.UNKNOWN,
        ["input-processed"],
    )
    assert result.assumptions[2].observed == "0: 100 of 120"


@pytest.mark.parametrize("after", [{0: None, 1: 120}, {1: 120}])
def test_a_partition_that_was_never_processed_leaves_no_valid_result(after: dict[int, int | None]) -> None:
    story = simulated(3)
    story.outputs[0] = []
    story.before = after
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert result.assumptions[2].observed == "0: 0 of 120"
    assert ("is unknown from before" in (result.unknown_because or "")) is (0 not in after)


def test_the_end_of_the_input_may_be_markers() -> None:
    story = simulated(3)
    story.before = {0: 120, 1: 122}
    story.ends = {0: 123, 1: 122}
    assert judged(story).validity is Validity.VALID


def test_an_answer_without_a_partition_of_the_input_leaves_no_valid_result() -> None:
    story = simulated(3)
    story.after = story.before
    story.before = {1: 120}
    missing(story)
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert (
        result.unknown_because
        == "the group's offset of streams-in/0 is unknown from before the output was read"
    )


def test_offsets_above_the_end_of_the_input_leave_no_valid_result() -> None:
    story = simulated(3)
    story.ends = {0: 119, 1: 120}
    result = judged(story)
    assert result.validity is Validity.UNKNOWN
    assert "streams-in/0@120, and final reads found its end at 119" in (result.unknown_because or "")


def test_a_record_that_was_appended_after_the_final_reads_is_not_invented() -> None:
    story = simulated(3)
    story.ends = {0: 120, 1: 120}
    story.outputs[0].append([900, LAST, 0, 120, "3", 1, 3])
    story.before = {0: 121, 1: 120}
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert "an output stands for streams-in/0@120" in (result.unknown_because or "")


@pytest.mark.parametrize("sent_s", [5, 35])
def test_records_that_were_sent_before_or_after_all_faults_show_nothing(sent_s: int) -> None:
    story = simulated(3)
    story.sent_s = sent_s
    result = judged(story)
    assert result.validity is Validity.UNKNOWN
    assert [one.name for one in result.assumptions if not one.met] == ["members-worked", "records-counted"]
    assert [one.observed for one in result.assumptions[:2]] == ["0", "0"]


def test_a_member_that_no_operation_names_leaves_no_valid_result() -> None:
    story = simulated(3)
    story.row(0, 40)[1] = "ghost"
    result = judged(story)
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == "no operation names ghost, which wrote output"


def test_the_last_exception_is_named_if_members_did_not_work() -> None:
    story = simulated(3)
    story.state = "ERROR"
    history = story.history()
    told = [
        msgspec.structs.replace(o, value=o.value | {"exception": "no tasks"})
        if o.f == "streams-status" and o.value["member"] == LOAD[1]
        else o
        for o in history.operations
    ]
    worked, *_ = check_streams(type(history)("run", "", tuple(told))).assumptions
    assert worked.observed == "0; last exception, of streams-0-5-1: no tasks"


def test_a_member_that_was_not_made_is_named_if_members_did_not_work() -> None:
    story = simulated(3)
    story.running = ()
    who = {"member": "streams-0-6-1", "last": False}
    story.more = [Operation(0, 20 * S_NS, 101, FAIL, "streams-status", GROUP, who)]
    history = story.history()
    told = [*history.operations[:-1], msgspec.structs.replace(history.operations[-1], error="no memory")]
    worked, *_ = check_streams(type(history)("run", "", tuple(told))).assumptions
    assert worked.observed == "0; last exception, of streams-0-6-1: no memory"


def test_sends_may_be_runs() -> None:
    story = simulated(3)
    history = story.history()
    runs = [
        Operation(0, o.time_ns, o.process, o.type, o.f, o.key, {"partition": p, "first": value, "count": 1})
        for o in history.operations
        if o.f == "send"
        for p, value in o.value
    ]
    others = [o for o in history.operations if o.f != "send"]
    told = [
        msgspec.structs.replace(o, index=index) for index, o in enumerate([*others[:1], *runs, *others[1:]])
    ]
    assert check_streams(type(history)("run", "", tuple(told))).validity is Validity.VALID


@pytest.mark.parametrize("place", [(SOURCE, 0), (TARGET, 1)])
def test_what_was_not_read_leaves_no_valid_result(place: tuple[str, int]) -> None:
    story = simulated(3)
    story.unread = {place}
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert result.unknown_because == f"{place[0]}/{place[1]} was not read to the end"


def test_an_output_that_nobody_tried_to_read_leaves_no_valid_result() -> None:
    history = simulated(3).history()
    kept = tuple(o for o in history.operations if o.f != "read-output" or o.value["partition"] == 0)
    result = check_streams(type(history)("run", "", kept))
    assert result.validity is Validity.UNKNOWN
    assert "streams-out/1 was not read" in (result.unknown_because or "")


@pytest.mark.parametrize("which", ["before", "after"])
def test_unknown_offsets_leave_no_valid_result(which: str) -> None:
    story = simulated(3)
    if which == "before":
        story.after, story.before = story.before, None
    else:
        story.unanswered_after = True
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert which in (result.unknown_because or "")


def test_a_last_member_that_processes_everything_shows_nothing() -> None:
    story = simulated(3)
    for rows in story.outputs.values():
        for row in rows:
            row[1] = LAST
    story.running = ()
    result = judged(story)
    assert result.validity is Validity.UNKNOWN
    assert [one.name for one in result.assumptions if not one.met] == ["members-worked", "records-counted"]


def test_one_member_that_worked_is_not_enough() -> None:
    story = simulated(3)
    story.running = LOAD[:1]
    worked, *_ = judged(story).assumptions
    assert (worked.met, worked.observed) == (False, "1: streams-0-4-1")


def test_members_that_processed_nothing_during_the_fault_are_not_enough() -> None:
    story = simulated(3)
    story.processed = (200, 200)
    worked, *_ = judged(story).assumptions
    assert not worked.met


def test_members_without_a_committed_output_are_not_enough() -> None:
    story = simulated(3)
    story.running = (LOAD[0], "streams-0-6-1")
    worked, *_ = judged(story).assumptions
    assert worked.observed == "1: streams-0-4-1"


def test_other_workloads_are_not_judged() -> None:
    story = simulated(3)
    story.kind = "copy"
    assert judged(story).validity is Validity.NOT_EXERCISED


def _with_election(
    story: StreamsStory, topic: str, partition: int, *, at_the_end: bool = False
) -> CheckerResult:
    """The result if unclean leaders were requested for a partition."""
    asked = {"partitions": [[topic, partition]], "to": "n1"}
    at_ns = 10**12 if at_the_end else 0
    story.more = [Operation(0, at_ns, "admin", INVOKE, "elect-leaders", "unclean", asked)]
    return judged(story)


_OF_INPUT = {*CHANGES} - {moved}
_OF_OUTPUT = {missing, doubled, ahead, swapped}
_OF_OFFSETS = {doubled, ahead, miscounted, swapped}


@pytest.mark.parametrize(
    ("topic", "explained"),
    [
        (SOURCE, _OF_INPUT),
        (TARGET, _OF_OUTPUT),
        (CHANGELOG, {miscounted}),
        ("__consumer_offsets", _OF_OFFSETS),
    ],
)
@pytest.mark.parametrize("change", CHANGES)
def test_a_loss_explains_what_it_can_cause_and_no_more(
    change: Change, topic: str, explained: set[Change]
) -> None:
    story = simulated(3)
    change(story)
    result = _with_election(story, topic, 0)
    assert any(anomaly.illegal for anomaly in result.anomalies) is (change not in explained)
    assert (result.validity is Validity.INVALID) is (change not in explained)
    late = _with_election(story, topic, 0, at_the_end=True)
    assert late.validity is Validity.INVALID


@pytest.mark.parametrize("topic", [SOURCE, TARGET, CHANGELOG])
@pytest.mark.parametrize("change", CHANGES)
def test_a_loss_in_another_partition_explains_nothing(change: Change, topic: str) -> None:
    story = simulated(3)
    change(story)
    assert _with_election(story, topic, 1).validity is Validity.INVALID


@pytest.mark.parametrize("change", CHANGES)
def test_a_guess_about_lost_transactions_leaves_neither_a_finding_nor_a_valid_result(change: Change) -> None:
    story = simulated(3)
    change(story)
    result = _with_election(story, "__transaction_state", 0)
    if CHANGES[change] in {"streams-invented", "streams-misplaced"}:
        assert result.validity is Validity.INVALID
    else:
        assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
        assert "lost decision" in (result.unknown_because or "")


def _permitting(monkeypatch: pytest.MonkeyPatch, topic: str, event: LicenceEvent) -> None:
    permits = Licences({topic: [Permit(event, True, "permitted")]})  # noqa: FBT003 - a named tuple
    monkeypatch.setattr(excuses, "licences_of", lambda _history: permits)


@pytest.mark.parametrize(("above", "illegal"), [(40, False), (41, True)])
def test_a_truncation_explains_no_missing_output_of_a_record_that_it_kept(
    monkeypatch: pytest.MonkeyPatch, above: int, *, illegal: bool
) -> None:
    event = LicenceEvent(0, 10**12, PartitionName(SOURCE, 0), "an election", above=above)
    _permitting(monkeypatch, SOURCE, event)
    story = simulated(3)
    missing(story)
    assert [one.illegal for one in judged(story).anomalies] == [illegal]


@pytest.mark.parametrize(
    ("topic", "explained"),
    [
        (SOURCE, {altered, rekeyed, miscounted}),
        (TARGET, set[Change]()),
        (CHANGELOG, {miscounted}),
    ],
)
@pytest.mark.parametrize("change", CHANGES)
def test_a_later_start_of_a_log_explains_that_records_are_gone(
    monkeypatch: pytest.MonkeyPatch, change: Change, topic: str, explained: set[Change]
) -> None:
    event = LicenceEvent(0, 10**12, PartitionName(topic, 0), "a deletion", below=50)
    _permitting(monkeypatch, topic, event)
    story = simulated(3)
    change(story)
    assert {one.illegal for one in judged(story).anomalies} == {change not in explained}


@pytest.mark.parametrize(("topic", "end_s", "illegal"), [(TARGET, 14, True), (TARGET, 16, False)])
def test_an_event_before_a_record_was_sent_explains_nothing_about_it(
    monkeypatch: pytest.MonkeyPatch, topic: str, end_s: int, *, illegal: bool
) -> None:
    event = LicenceEvent(0, end_s * S_NS, PartitionName(topic, 0), "an election")
    _permitting(monkeypatch, topic, event)
    story = simulated(3)
    missing(story)
    assert [one.illegal for one in judged(story).anomalies] == [illegal]


@pytest.mark.parametrize(("end_s", "illegal"), [(4, True), (10, False)])
def test_a_truncation_of_the_input_explains_later_records_but_not_all_records(
    monkeypatch: pytest.MonkeyPatch, end_s: int, *, illegal: bool
) -> None:
    event = LicenceEvent(0, end_s * S_NS, PartitionName(SOURCE, 0), "an election")
    _permitting(monkeypatch, SOURCE, event)
    story = simulated(3)
    missing(story)
    first = Operation(0, 5 * S_NS, 1, INVOKE, "send", SOURCE, [[0, 10**7]])
    history = story.history()
    told = [*history.operations[:1], first, *history.operations[1:]]
    told = [msgspec.structs.replace(o, index=index) for index, o in enumerate(told)]
    result = check_streams(type(history)("run", "", tuple(told)))
    assert [one.illegal for one in result.anomalies] == [illegal]


def test_lost_offsets_explain_no_count_that_is_too_low() -> None:
    story = simulated(3)
    story.row(0, 40)[5] -= 1
    result = _with_election(story, "__consumer_offsets", 0)
    assert [one.illegal for one in result.anomalies] == [True]


@pytest.mark.parametrize(("below", "illegal"), [(700, True), (701, False)])
def test_a_later_start_of_the_input_explains_no_missing_record_above_it(
    monkeypatch: pytest.MonkeyPatch, below: int, *, illegal: bool
) -> None:
    event = LicenceEvent(0, 10**12, PartitionName(SOURCE, 0), "a deletion", below=below)
    _permitting(monkeypatch, SOURCE, event)
    story = simulated(3)
    invented(story)
    assert [one.illegal for one in judged(story).anomalies] == [illegal]


@pytest.mark.parametrize(("lost", "illegal"), [(range(50), {False}), ([40], {True})])
def test_a_later_start_of_the_output_explains_missing_outputs_before_all_others(
    monkeypatch: pytest.MonkeyPatch, lost: Iterable[int], *, illegal: set[bool]
) -> None:
    event = LicenceEvent(0, 10**12, PartitionName(TARGET, 0), "a deletion", below=90)
    _permitting(monkeypatch, TARGET, event)
    story = simulated(3)
    for offset in lost:
        story.outputs[0].remove(story.row(0, offset))
    assert {one.illegal for one in judged(story).anomalies} == illegal


def test_a_licence_with_a_doubt_leaves_no_valid_result(monkeypatch: pytest.MonkeyPatch) -> None:
    event = LicenceEvent(0, 10**12, PartitionName(TARGET, 0), "an election", doubt="no log has it")
    _permitting(monkeypatch, TARGET, event)
    story = simulated(3)
    missing(story)
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert "no log has it" in (result.unknown_because or "")


def test_without_faults_members_must_have_worked_during_the_load() -> None:
    story = simulated(3)
    story.phases = {"load": 1, "final-read": 39}
    story.faulty = False
    assert judged(story).validity is Validity.VALID
    story.phases = {"load": 25, "final-read": 39}
    assert not judged(story).assumptions[0].met


def test_members_that_were_never_running_are_not_enough() -> None:
    story = simulated(3)
    story.state = "REBALANCING"
    assert not judged(story).assumptions[0].met


def test_members_that_begin_during_a_fault_count_from_nothing() -> None:
    story = simulated(3)
    story.processed = (200, 200)
    story.reported_s = (50, 12, 20)
    assert judged(story).assumptions[0].met


def test_topics_that_the_setup_does_not_name_leave_no_valid_result() -> None:
    history = simulated(3).history()
    (setup, *others) = history.operations
    nameless = msgspec.structs.replace(setup, value={**setup.value, "topics": []})
    result = check_streams(type(history)("run", "", (nameless, *others)))
    assert result.validity is Validity.UNKNOWN
    assert "does not name the topics" in (result.unknown_because or "")


def test_operations_on_other_topics_and_groups_are_left_out() -> None:
    story = simulated(3)
    history = story.history()
    keys = {"final-read": "other-0", "read-output": "other-0", "streams-status": "other"}
    keys["committed-offsets"] = "other"
    more = [
        msgspec.structs.replace(o, index=len(history.operations) + at, key=keys[o.f])
        for at, o in enumerate(o for o in history.operations if o.f in keys and o.type is not INVOKE)
    ]
    result = check_streams(type(history)("run", "", (*history.operations, *more)))
    assert result == judged(story)
