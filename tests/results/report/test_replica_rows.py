"""Replicas side by side: where logs differ first, what is alike, what is not recorded."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from checkers.columns.tables import PartitionName
from checkers.evidence.replicas import METADATA_PARTITION
from checkers.history.operations import History, Operation, OperationType
from checkers.judge import judge
from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.report import render_report
from results.report.cards.cards import cards_of
from results.report.cards.pictures import Pictures
from results.report.cards.replicas.replica_rows import ReplicaRow, ReplicaTables, SideBySide
from results.report.cards.witness import witnessed
from results.report.size_limits import STEPS
from results.run.observation import observe
from tests.checkers.logs.replicas.replica_histories import (
    Batch,
    history_of,
    leads,
    metadata,
    observed,
    recovered,
    replica,
    replicated,
    unread,
)
from tests.results.report.test_report import Outline

LOG = PartitionName("log-0", 0)
DASH = "\N{EN DASH}"
ALIKE = [Batch(n, producer_id=7, producer_epoch=0, base_sequence=n, crc=n + 1) for n in range(20)]


def other(at: int, **fields: Any) -> list[Batch]:
    """The same log, with another batch at an offset."""
    return [*ALIKE[:at], ALIKE[at]._replace(**fields), *ALIKE[at + 1 :]]


def table(
    logs: Mapping[str, Sequence[Batch] | Mapping[str, Any]],
    offset: int | None,
    end: int = 20,
    **settings: Any,
) -> SideBySide:
    made = ReplicaTables(replicated(logs, end, **settings)).of(LOG, offset)
    assert made is not None
    return made


def noted(history: History, node: str, entries: Sequence[Sequence[int]]) -> History:
    value = {"began_ns": 0, "topic": "log-0", "partition": 0, "entries": list(entries)}
    index = len(history.operations)
    observation = Operation(
        index, 6, "observer-replicas", OperationType.OK, "observe", "leader-epochs", value, node=node
    )
    return msgspec.structs.replace(history, operations=(*history.operations, observation))


def kinds(made: SideBySide) -> list[tuple[str, str]]:
    return [(row.kind, row.offsets or row.text) for row in made.rows]


def first(made: SideBySide) -> ReplicaRow:
    (row,) = [row for row in made.rows if row.first]
    return row


def test_the_first_difference_stands_among_some_rows_that_are_alike() -> None:
    made = table({"n1": ALIKE, "n2": other(10, crc=99), "n3": ALIKE}, 10)
    assert kinds(made) == [
        ("fold", f"0{DASH}6"),
        ("alike", "7"),
        ("alike", "8"),
        ("alike", "9"),
        ("batch", "10"),
        ("alike", "11"),
        ("alike", "12"),
        ("alike", "13"),
        ("fold", f"14{DASH}19"),
    ]
    assert made.rows[0].text == "7 ranges, alike on all replicas"
    assert made.summary == (
        "The replicas hold the same batches below offset 10.",
        "At 10 they differ: n1, n3 have CRC 0x0000000b; n2 has CRC 0x00000063.",
    )
    assert [part.text for part in first(made).cells[1] if part.differs] == ["CRC 0x00000063"]
    assert [part.text for part in first(made).cells[0]] == [
        "batch 10",
        "epoch 0",
        "1 record",
        "producer id 7 epoch 0",
        "sequence 10",
        "CRC 0x0000000b",
    ]


def test_columns_show_node_offsets_and_who_was_in_sync() -> None:
    made = table({"n1": ALIKE, "n2": ALIKE[:15], "n3": ALIKE}, 15, isr=(1, 3), leader=3)
    assert [(column.node, *column.texts) for column in made.columns] == [
        ("n1", f"offsets 0{DASH}19", "in the ISR"),
        ("n2", f"offsets 0{DASH}14", "not in the ISR"),
        ("n3", f"offsets 0{DASH}19", "leader after recovery"),
    ]
    assert [part.text for part in first(made).cells[1]] == ["no batch: the log ends at 15"]


def test_without_an_offset_the_first_difference_is_found() -> None:
    assert first(table({"n1": ALIKE, "n2": other(4, leader_epoch=1)}, None)).offsets == "4"
    assert ReplicaTables(replicated({"n1": ALIKE, "n2": ALIKE}, 20)).of(LOG, None) is None


def test_where_all_are_alike_that_is_stated() -> None:
    made = table({"n1": ALIKE, "n2": ALIKE}, 5)
    assert not [row for row in made.rows if row.kind == "batch"]
    assert made.summary[1].startswith("At 5 all hold: batch 5, epoch 0, 1 record, producer id 7 epoch 0")


def test_a_gap_and_batches_of_other_lengths_cut_ranges() -> None:
    wide = [*ALIKE[:10], Batch(10, 5, crc=50), *ALIKE[15:]]
    made = table({"n1": wide, "n2": [*ALIKE[:12], *ALIKE[13:]]}, 10)
    assert [row.offsets for row in made.rows if row.kind == "batch"] == ["10", "11", "12", "13", "14"]
    gap = next(row for row in made.rows if row.offsets == "12")
    assert next(part.text for part in gap.cells[0]) == f"batch 10{DASH}14"
    assert [part.text for part in gap.cells[1]] == ["no batch"]


def test_what_lies_further_on_is_counted() -> None:
    changed = [*ALIKE[:3], *(batch._replace(crc=1000) for batch in ALIKE[3:])]
    made = table({"n1": ALIKE, "n2": changed}, 3)
    assert (made.rows[-1].offsets, made.rows[-1].text) == (f"9{DASH}19", "11 ranges, all of them differ")
    assert len([row for row in made.rows if row.kind == "batch"]) == 6
    behind = table({"n1": ALIKE, "n2": changed}, 12)
    assert behind.summary[0] == "9 ranges below offset 12 differ as well."


def test_ranges_between_two_differences_are_folded() -> None:
    made = table({"n1": ALIKE, "n2": [*other(8, crc=0)[:13], *other(13, crc=0)[13:]]}, 8)
    assert ("fold", f"9{DASH}12") in kinds(made)
    assert [row.offsets for row in made.rows if row.kind == "batch"] == ["8", "13"]


def test_what_a_replica_removed_or_did_not_commit_is_no_difference() -> None:
    late = replica(ALIKE[10:], log_start=10)
    made = table({"n1": ALIKE, "n2": late, "n3": ALIKE[:18]}, 12, end=18)
    assert not [row for row in made.rows if row.kind == "batch"]
    assert made.rows[0].text == "9 ranges, alike on all replicas"
    assert made.rows[-1].text.endswith("alike on all replicas")
    early = table({"n1": [ALIKE[0]._replace(crc=9), *ALIKE[1:]], "n2": late, "n3": ALIKE}, 0)
    assert [part.text for part in first(early).cells[1]] == ["not kept: the log begins at 10"]


def test_high_watermark_and_starts_of_epochs_are_marked() -> None:
    history = replicated({"n1": ALIKE, "n2": other(10, leader_epoch=1)}, 12)
    history = noted(noted(history, "n1", [(0, 0), (1, 11)]), "n2", [(0, 0), (1, 10)])
    made = ReplicaTables(history).of(LOG, 10)
    assert made is not None
    marks = [row.text for row in made.rows if row.kind == "mark"]
    assert marks == [
        "leader epoch 1 starts at 10, as noted by n2",
        "leader epoch 1 starts at 11, as noted by n1",
        "high watermark 12: offsets below are committed",
    ]
    at = [row.text or row.offsets for row in made.rows]
    assert at.index("high watermark 12: offsets below are committed") > at.index("10")


def test_what_is_not_recorded_is_stated() -> None:
    compacted = {"topics": [{"name": "log-0", "partitions": 1, "config": {"cleanup.policy": "compact"}}]}
    notes = table({"n1": ALIKE, "n2": ALIKE, "n3": unread()}, 3, setup=compacted).notes
    assert notes == (
        "The log on n3 could not be read: PermissionError: Permission denied.",
        (
            "High watermark 20: the end that final reads listed. The high watermark that each replica "
            "wrote to its disk is not recorded."
        ),
        "The history does not record where the leader epochs of this partition began.",
        "The topic is compacted: each broker rewrites its batches by itself, so they may differ.",
    )
    history = history_of(
        *(observed(node, replica(ALIKE)) for node in ("n1", "n2")), observed("n3", replica([]))
    )
    made = ReplicaTables(history).of(LOG, 3)
    assert made is not None
    assert made.notes[:2] == (
        "The log on n3 has no batch; it begins and ends at 0.",
        "The history has no high watermark of this partition.",
    )
    assert [column.texts for column in made.columns] == [(f"offsets 0{DASH}19",)] * 2


def test_one_log_alone_or_none_makes_no_table() -> None:
    assert ReplicaTables(replicated({"n1": ALIKE, "n2": unread()}, 20)).of(LOG, 3) is None
    assert ReplicaTables(replicated({}, 20)).of(LOG, 3) is None
    broken = history_of(
        Operation(0, 1, "observer-replicas", OperationType.OK, "observe", "replica", {"count": -1})
    )
    assert ReplicaTables(broken).of(LOG, 3) is None


def test_metadata_logs_stand_side_by_side_too() -> None:
    observations = [observed("n1", metadata(ALIKE)), observed("n2", metadata(other(6, crc=77)))]
    made = ReplicaTables(history_of(recovered(), leads("n1", 9), *observations)).of(METADATA_PARTITION, 6)
    assert made is not None
    assert first(made).offsets == "6"
    assert made.notes == ("High watermark 9: as the last leader of the quorum reported it.",)


def test_more_replicas_than_there_is_room_for_are_named() -> None:
    logs = {f"n{number}": ALIKE for number in range(10, 21)}
    made = table(logs, 3)
    assert len(made.columns) == 9
    assert "The log on n20 is not shown." in made.notes


@pytest.mark.parametrize(
    ("control", "label"),
    [(0, "abort marker"), (1, "commit marker"), (2, "leader change"), (99, "control batch")],
)
def test_control_batches_are_named(control: int, label: str) -> None:
    marked = other(5, attributes=0x30, control=control, producer_id=-1, base_sequence=-1)
    made = table({"n1": marked, "n2": ALIKE}, 5)
    assert label in [part.text for part in first(made).cells[0]]
    assert "no producer id" in [part.text for part in first(made).cells[0]]
    transactional = table({"n1": other(5, attributes=0x10), "n2": ALIKE}, 5)
    assert "transactional" in [part.text for part in first(transactional).cells[0]]


def test_a_page_shows_the_table_of_what_the_judge_found() -> None:
    history = replicated({"n1": ALIKE, "n2": other(10, crc=99), "n3": ALIKE}, 20)
    verdict = judge(history)
    page = Outline(render_report(history, verdict))
    assert "first difference" in page.text
    assert "Replicas of log-0/0 side by side, as read from the disks at the end" in page.text
    assert ("th", {"scope": "row"}) in page.tags
    assert page.of_class("replicas") == 1


def test_tables_for_which_there_is_no_room_are_counted() -> None:
    history = replicated({"n1": ALIKE, "n2": other(10, crc=99), "n3": ALIKE}, 20)
    verdict, seen = judge(history), witnessed(history, ())
    limits = msgspec.structs.replace(STEPS[0], replicas=0)
    pictures = Pictures(history, seen.calls, observe(history), limits)
    found = cards_of(verdict, seen, limits, pictures=pictures)
    assert (found.all[0].replicas, found.tables_left_out) == (None, 1)


def test_a_cause_without_a_table_is_not_counted_as_left_out() -> None:
    history = replicated({"n1": ALIKE, "n2": unread()}, 20)
    lost = Anomaly("lost-write", "3 is gone", "g", "s", subject=f"{LOG}@3", witness=(0,))
    verdict, seen = Verdict(Validity.INVALID, (result_of("log", [lost]),)), witnessed(history, ())
    limits = msgspec.structs.replace(STEPS[0], replicas=0)
    pictures = Pictures(history, seen.calls, observe(history), limits)
    found = cards_of(verdict, seen, limits, pictures=pictures)
    assert (found.all[0].replicas, found.tables_left_out) == (None, 0)


def test_hostile_names_and_errors_stay_text() -> None:
    text = '<script>alert(1)</script>"\u202e\x1b[2J'
    logs: dict[str, Any] = {text: ALIKE, "n2": other(10, crc=99), "n3": unread(error=text)}
    history = replicated(logs, 20, isr=(), leader=None)
    page = render_report(history, judge(history))
    assert page.count("<script>") == 1
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_only_the_first_difference_is_called_so() -> None:
    twice = [*other(4, crc=99)[:10], ALIKE[10]._replace(crc=98), *ALIKE[11:]]
    made = table({"n1": ALIKE, "n2": twice}, 10)
    assert [row.offsets for row in made.rows if row.kind == "batch"] == ["10"]
    assert not [row for row in made.rows if row.first]
    assert made.summary[0] == "1 range below offset 10 differs as well."


def test_an_offset_that_no_log_reaches_is_not_taken_for_the_nearest_range() -> None:
    made = table({"n1": ALIKE, "n2": ALIKE}, 30)
    message = f"None of these logs has a batch at offset 30; their batches span 0{DASH}19."
    assert made.summary[0] == message
    assert made.summary[2].startswith("At 19 all hold: batch 19")


def test_logs_whose_batches_end_before_they_begin_have_no_table() -> None:
    empty = [Batch(5, 0)]
    assert ReplicaTables(replicated({"n1": empty, "n2": empty}, 20)).of(LOG, 5) is None
    assert ReplicaTables(replicated({"n1": empty, "n2": empty}, 20)).of(LOG, None) is None
