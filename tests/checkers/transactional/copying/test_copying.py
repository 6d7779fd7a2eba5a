"""Exactly once is judged by what there is in the end: clean runs are silent, every change of one is found."""

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.history.fitting import misfit_of
from checkers.history.operations import Operation, OperationType
from checkers.licences.internal import Loss
from checkers.transactional.copying import check_copying, excuses
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.transactional.copying.copy_histories import (
    FAIL,
    INFO,
    OK,
    SOURCE,
    TARGET,
    CopyStory,
    simulated,
)

SEEDS = st.integers(0, 10_000)


def judged(story: CopyStory) -> CheckerResult:
    return check_copying(story.history())


def small() -> CopyStory:
    """Three records of one partition, nothing copied yet."""
    return CopyStory(inputs={(0, 0): 1, (0, 1): 2, (0, 2): 3}, committed={0: None})


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_a_group_that_copies_exactly_once_is_valid(seed: int) -> None:
    story = simulated(seed)
    result = judged(story)
    assert result.validity is Validity.VALID, (result.anomalies, result.assumptions, result.unknown_because)
    assert result.counts == {}
    assert result.figures["inputs"] == len(story.inputs)
    assert result.figures["copies"] == len(story.outputs)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_a_visible_copy_that_is_taken_away_is_missed(seed: int) -> None:
    story = simulated(seed)
    del story.outputs[random.Random(seed).choice(sorted(story.outputs))]
    result = judged(story)
    assert result.validity is Validity.INVALID
    assert result.counts == {"copy-lost": 1}


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_a_second_copy_is_found(seed: int) -> None:
    story = simulated(seed)
    copied = {value: where for where, value in story.outputs.items()}
    invoked = [o for o in story.attempts if o.type is OperationType.INVOKE]
    chosen = random.Random(seed).choice([o for o in invoked if o.value["mops"][0][3] in copied])
    topic, partition, offsets, _ = chosen.value["consumed"][0]
    story.attempt(FAIL, [(partition, offsets[0])], visible=True)
    result = judged(story)
    assert topic == SOURCE
    assert result.counts == {"copy-duplicated": 1}
    assert result.anomalies[0].subject == f"copy-in/{partition}@{offsets[0]}"
    assert len(result.anomalies[0].explanation) == 2


def _besides_unasked(story: CopyStory) -> dict[str, int]:
    counts = dict(judged(story).counts)
    counts.pop("committed-offset-unasked", None)
    return counts


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_offsets_that_went_back_are_found(seed: int) -> None:
    story = simulated(seed)
    assert story.committed is not None
    story.committed[1] = 0
    expected = sum(partition == 1 for partition, _ in story.outputs)
    assert _besides_unasked(story) == {"copy-without-offsets": expected}


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_offsets_beyond_what_was_copied_are_found(seed: int) -> None:
    story = simulated(seed)
    assert story.committed is not None
    left = [offset for p, offset in story.inputs if p == 0 and offset >= (story.committed[0] or 0)]
    story.committed[0] = 1_000
    assert _besides_unasked(story) == ({"copy-lost": len(left)} if left else {})


def test_an_acknowledged_copy_that_nobody_sees_is_lost_without_the_groups_offsets_too() -> None:
    story = small()
    story.committed = None
    story.attempt(OK, [(0, 0), (0, 1)])
    story.outputs.popitem()
    (lost,) = judged(story).anomalies
    assert (lost.id, lost.subject) == ("copy-lost", "copy-in/0@1")
    assert lost.witness == (0, 1)
    assert lost.explanation[-1] == "The group's offset is 2 (operation 1)."


def test_a_committed_copy_without_offsets_of_its_own_must_be_there() -> None:
    story = small()
    story.committed = None
    story.attempt(OK, [(0, 0)], visible=False, offsets={})
    (lost,) = judged(story).anomalies
    assert lost.explanation == ("1 transactions tried to copy it. None of the copies is visible.",)


def test_without_the_groups_offsets_no_copy_is_reported_ahead_of_them() -> None:
    story = small()
    story.committed = None
    story.attempt(INFO, [(0, 0)], visible=True)
    assert judged(story).counts == {}


def test_the_same_copy_twice_is_two_copies() -> None:
    story = small()
    (value,) = story.attempt(OK, [(0, 0)])
    story.committed = {0: 1}
    story.appear(0, value)
    (found,) = judged(story).anomalies
    assert found.id == "copy-duplicated"
    assert found.witness[:2] == (0, 1)
    assert "copy-out/0@2" in found.explanation[1]


def test_the_explanation_of_a_copy_without_offsets_names_both() -> None:
    story = small()
    (value,) = story.attempt(INFO, [(0, 1)], visible=True)
    story.committed = {0: 1}
    anomalies = {anomaly.id: anomaly for anomaly in judged(story).anomalies}
    found = anomalies["copy-without-offsets"]
    assert found.explanation == (
        f"The transaction of operation 0 sent {value}, which is at copy-out/0@0.",
        "The group's offset is 1 (operation 8).",
    )
    assert anomalies["copy-lost"].subject == "copy-in/0@0"


def test_records_that_are_no_copies_are_passed_over() -> None:
    story = small()
    story.attempt(OK, [(0, 0)])
    story.committed = {0: 1}
    for strange in (77, "a text", True, 2**63, -1, None, {"a": 1}):
        story.appear(0, strange)
    assert judged(story).counts == {}


def test_a_copy_whose_value_is_no_number_can_not_be_found_again() -> None:
    story = small()
    story.attempt(INFO, [(0, 0)], visible=False)
    story.attempts[0].value["mops"][0][3] = "a text"
    assert judged(story).counts == {}


@pytest.mark.parametrize("where", [(TARGET, 0), (SOURCE, 1)])
def test_a_partition_that_was_not_read_leaves_doubt(where: tuple[str, int]) -> None:
    story = simulated(3)
    story.unread.add(where)
    result = judged(story)
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == (
        f"no final read at read_committed came to the end of {where[0]}/{where[1]}"
    )


def test_copies_behind_an_open_transaction_are_not_lost() -> None:
    story = simulated(3)
    story.outputs = {where: value for where, value in story.outputs.items() if where < (1, 20)}
    assert judged(story).counts["copy-lost"] > 0
    story.hidden.add(1)
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert result.unknown_because == "no final read at read_committed came to the end of copy-out/1"


def test_a_final_read_that_came_to_no_end_is_none() -> None:
    story = simulated(3)
    history = story.history()
    short = [
        msgspec.structs.replace(o, type=INFO) if o.f == "final-read" and o.key == TARGET else o
        for o in history.operations
    ]
    result = check_copying(msgspec.structs.replace(history, operations=tuple(short)))
    assert result.unknown_because == (
        "no final read at read_committed came to the end of copy-out/0, copy-out/1"
    )


def test_too_few_copies_say_nothing() -> None:
    story = small()
    story.attempt(OK, [(0, 0)])
    story.committed = {0: 1}
    result = judged(story)
    assert result.validity is Validity.UNKNOWN
    assert [assumption.observed for assumption in result.assumptions] == ["1"]


def _with_election(
    story: CopyStory, topic: str, partition: int, *, at_the_end: bool = False
) -> CheckerResult:
    """Judged with a request for an unclean election, of which nobody knows what became."""
    story.setup = {
        "kafka_version": "4.3.1",
        "topics": [{"name": SOURCE, "partitions": 2}, {"name": TARGET, "partitions": 2}],
        "workload": {"kind": "copy"},
    }
    history = story.history()
    asked = {"partitions": [[topic, partition]], "to": "n1"}
    last = len(history.operations)
    at_ns = last if at_the_end else 0
    election = Operation(last, at_ns, "admin", OperationType.INVOKE, "elect-leaders", "unclean", asked)
    return check_copying(msgspec.structs.replace(history, operations=(*history.operations, election)))


def _missing(story: CopyStory) -> None:
    story.attempt(OK, [(0, 0)], visible=False)


def _doubled(story: CopyStory) -> None:
    story.attempt(OK, [(0, 0)])
    story.attempt(OK, [(0, 0)])
    story.committed = {0: 1}


def _ahead(story: CopyStory) -> None:
    story.attempt(OK, [(0, 0)])


@pytest.mark.parametrize(
    ("topic", "partition", "illegal"),
    [
        (SOURCE, 0, False),
        (TARGET, 0, False),
        ("__consumer_offsets", 3, False),
        ("__transaction_state", 3, False),
        (SOURCE, 1, True),
        (TARGET, 1, True),
    ],
)
@pytest.mark.parametrize("change", [_missing, _doubled, _ahead])
def test_an_event_permits_what_concerns_its_partition_alone(
    change: Callable[[CopyStory], None], topic: str, partition: int, *, illegal: bool
) -> None:
    story = small()
    change(story)
    result = _with_election(story, topic, partition)
    assert {anomaly.illegal for anomaly in result.anomalies} == {illegal}
    assert all((anomaly.licence is None) is illegal for anomaly in result.anomalies)
    assert (result.validity is Validity.INVALID) is illegal


@pytest.mark.parametrize("topic", [SOURCE, TARGET, "__consumer_offsets"])
@pytest.mark.parametrize("change", [_missing, _doubled, _ahead])
def test_no_event_after_the_last_read_explains_what_was_read(
    change: Callable[[CopyStory], None], topic: str
) -> None:
    story = small()
    change(story)
    result = _with_election(story, topic, 0, at_the_end=True)
    assert result.validity is Validity.INVALID


@pytest.mark.parametrize("topic", [SOURCE, TARGET])
@pytest.mark.parametrize(("change", "illegal"), [(_missing, False), (_doubled, True), (_ahead, True)])
def test_a_deletion_explains_a_missing_copy_alone(
    change: Callable[[CopyStory], None], topic: str, *, illegal: bool
) -> None:
    story = small()
    change(story)
    offsets = [[0, 1]]
    deletion = Operation(0, 0, "admin", OperationType.INVOKE, "delete-records", topic, offsets)
    topics = [{"name": name, "partitions": 2} for name in (SOURCE, TARGET)]
    story.setup = {"kafka_version": "4.3.1", "topics": topics, "workload": {"kind": "copy"}}
    history = story.history()
    deletion = msgspec.structs.replace(deletion, index=len(history.operations))
    result = check_copying(msgspec.structs.replace(history, operations=(*history.operations, deletion)))
    assert {anomaly.illegal for anomaly in result.anomalies} == {illegal}


@pytest.mark.parametrize(("from_ns", "until_ns", "illegal"), [(0, 0, True), (0, 99, False), (99, 99, True)])
@pytest.mark.parametrize("change", [_missing, _doubled, _ahead])
def test_a_loss_of_offsets_concerns_what_was_tried_before_it_was_over(
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[CopyStory], None],
    from_ns: int,
    until_ns: int,
    *,
    illegal: bool,
) -> None:
    story = small()
    change(story)
    story.setup = {"kafka_version": "4.3.1", "workload": {"kind": "copy"}}
    monkeypatch.setattr(excuses, "losses", lambda *_: (Loss("a loss", until_ns, from_ns),))
    assert {anomaly.illegal for anomaly in judged(story).anomalies} == {illegal}


def test_what_concerns_a_group_concerns_all_its_inputs() -> None:
    story = small()
    story.attempt(OK, [(0, 0), (0, 1)], visible=False)
    result = _with_election(story, "__consumer_offsets", 3)
    assert result.counts == {"copy-lost": 2}
    assert not any(anomaly.illegal for anomaly in result.anomalies)


def test_an_input_that_nobody_copied_concerns_its_own_partition() -> None:
    story = small()
    story.committed = {0: 1}
    story.attempts = []
    story.attempt(FAIL, [(0, 1)], offsets={0: 1})
    assert [a.illegal for a in _with_election(story, SOURCE, 0).anomalies] == [False]
    assert [a.illegal for a in _with_election(story, TARGET, 0).anomalies] == [True]


def test_a_copy_workload_that_did_nothing_is_not_green() -> None:
    story = CopyStory(setup={"workload": {"kind": "copy"}})
    assert judged(story).validity is Validity.UNKNOWN


@pytest.mark.parametrize("setup", [None, {"workload": {"kind": "txn"}}, {}])
def test_without_copies_there_is_nothing_to_say(setup: dict[str, Any] | None) -> None:
    story = CopyStory(setup=setup)
    story.attempts = [
        Operation(0, 0, 1, OperationType.INVOKE, "txn", "t", {"client": "c", "mops": []}),
        Operation(0, 0, 1, OK, "txn", "t", {"client": "c", "mops": []}),
    ]
    result = judged(story)
    assert result.validity is Validity.NOT_EXERCISED
    assert result.figures == {"inputs": 0, "copies": 0, "aborted_attempts": 0}


def test_aborted_attempts_are_counted_by_record() -> None:
    story = small()
    story.attempt(FAIL, [(0, 0), (0, 1)])
    story.attempt(None, [(0, 0)])
    assert judged(story).figures["aborted_attempts"] == 2


def test_offsets_of_other_groups_and_reads_without_an_end_are_passed_over() -> None:
    story = small()
    story.attempt(OK, [(0, 0)])
    story.committed = {0: 1, 7: 5}
    history = story.history()
    half = [
        Operation(o.index, o.time_ns, o.process, INFO, o.f, o.key, None)
        if o.f == "committed-offsets" and o.type is OK
        else o
        for o in history.operations
    ]
    assert check_copying(history).counts == {}
    assert check_copying(type(history)("run", "", tuple(half), ("a line is cut short",))).counts == {}


@pytest.mark.parametrize(
    ("mops", "consumed", "problem"),
    [
        ([["send", "o", 0, 1]], [["i", 0, [5], [7]]], None),
        ([["send", "o", 0, 1]], [["i", 0, [5, 6], [7]]], "Expected as many values as offsets"),
        ([["send", "o", 0, 1]], [["i", 0, [5, 6], [7, 8]]], "Expected one send for each record consumed"),
        ([], [["i", 0, [5], [7]]], "Expected one send for each record consumed"),
        ([["send", "o", 0, 1]], [], None),
    ],
)
def test_each_record_that_was_consumed_is_answered_by_one_send(
    mops: list[Any], consumed: list[Any], problem: str | None
) -> None:
    value = {"client": "c", "mops": mops, "consumed": consumed}
    misfit = misfit_of(Operation(0, 0, 1, OperationType.INVOKE, "txn", "t", value))
    assert (misfit and misfit.problem) == problem


def test_a_groups_offsets_have_a_shape() -> None:
    answer = {"topic": "t", "offsets": [[0, 5], [1, None]]}
    assert misfit_of(Operation(0, 0, 1, OK, "committed-offsets", "g", answer)) is None
    assert misfit_of(Operation(0, 0, 1, OK, "committed-offsets", "g", {"topic": "t"})) is not None


@pytest.mark.parametrize("offset", [2, 7])
def test_an_offset_that_nobody_asked_for_is_found(offset: int) -> None:
    story = small()
    story.attempt(OK, [(0, 0)])
    story.committed = {0: offset}
    (found,) = [a for a in judged(story).anomalies if a.id == "committed-offset-unasked"]
    assert found.illegal
    assert f"continues at {offset} of" in found.summary
    assert found.explanation[1] == "The largest offset that a transaction asked to commit there is 1."


def test_an_offset_that_an_aborted_transaction_asked_for_was_asked_for() -> None:
    story = small()
    story.attempt(OK, [(0, 0)])
    story.attempt(FAIL, [(0, 1)])
    story.committed = {0: 2}
    assert "committed-offset-unasked" not in judged(story).counts


def test_of_partitions_without_commits_and_answers_without_an_offset_nothing_is_reported() -> None:
    story = small()
    story.attempt(OK, [(0, 0)])
    story.committed = {0: None, 5: 3}
    assert "committed-offset-unasked" not in judged(story).counts
