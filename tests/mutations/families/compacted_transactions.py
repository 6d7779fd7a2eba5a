"""Compacted topics with transactions: records of aborted ones replace nothing, those of committed ones do.

The recorded run has no transactions.  The last record of a key is taken out of its batch, and sent in a
transaction at the same time and offset.
"""

from typing import Any

from tests.mutations.edits import Edit
from tests.mutations.families.compaction import (
    Place,
    cleaned_on,
    closed_behind,
    disks_of,
    is_tombstone,
    left_in,
    places_in,
    reads_of,
    unread_by,
)
from tests.mutations.looking import FAIL, INFO, OK, Acked, pairs, polls, without_offsets
from tests.mutations.suite import VALID, invalid, mutation

RUNS = ("compacted",)
_PROCESS = 930_000
_ENDS = {"commit": OK, "abort": FAIL, "doubt": INFO}


def _two(edit: Edit, *, alone: bool = False) -> tuple[Acked, Acked]:
    """The last two records of a key, no tombstones; both are left.

    Args:
        edit: the edit.
        alone: whether the first one is alone in its batch on every disk.
    """
    left = {place.record for place in places_in(edit) if not place.newer}
    places = [
        place
        for place in places_in(edit)
        if place.newer in left
        and not is_tombstone(edit, place.record)
        and not is_tombstone(edit, place.newer)
        and (not alone or all(left_in(disk, place.record) == 1 for disk in disks_of(edit, place.record)))
    ]
    place: Place = edit.chosen(places)
    assert place.newer is not None
    closed_behind(edit, place)
    return place.record, place.newer


def _sent_in_transaction(edit: Edit, record: Acked, end: str) -> None:
    """Let a record be that of a transaction that ended so."""
    began, ended = next(pair for pair in pairs(edit.original, "send") if pair[1].index == record.index)
    for operation in (began, ended):
        edit.change(operation.index, lambda value: [entry for entry in value if entry[1] != record.value])
    mop: list[Any] = ["send", record.topic, record.partition, record.value]
    asked: dict[str, Any] = {"client": "kafka-python", "end": "abort" if end == "abort" else "commit"}
    answer = {**asked, "mops": [[*mop, record.offset]], "ended": None if end == "doubt" else end}
    values = ({**asked, "mops": [mop]}, answer)
    times_ns = (began.time_ns, ended.time_ns)
    edit.add_call(_PROCESS, "txn", "txn-0", times_ns, values, ended=_ENDS[end])


def _gone(edit: Edit, record: Acked) -> None:
    """Let a record be on no disk and in no final read."""
    unread_by(edit, record, reads_of(edit, record))
    cleaned_on(edit, record, disks_of(edit, record))


def _never_returned(edit: Edit, record: Acked) -> None:
    """Let no poll have returned a record, and compaction have removed it."""
    for poll in polls(edit.original):
        if any(
            number == record.partition and record.offset in offsets
            for number, offsets, _ in poll.value["records"]
        ):
            edit.change(poll.index, lambda value: without_offsets(value, record.partition, {record.offset}))
    _gone(edit, record)


@mutation("compaction", VALID, RUNS, 3)
def the_last_record_of_a_key_was_aborted(edit: Edit) -> None:
    """The last record of a key was of an aborted transaction and is gone; the one before is there."""
    _, last = _two(edit)
    _sent_in_transaction(edit, last, "abort")
    _never_returned(edit, last)


@mutation("compaction", invalid("lost-write"), RUNS, 5)
def an_aborted_record_replaced_a_committed_one(edit: Edit) -> None:
    """The last record of a key was aborted, and the one before is in no final read and on no disk."""
    committed, last = _two(edit)
    _sent_in_transaction(edit, last, "abort")
    _never_returned(edit, last)
    _gone(edit, committed)


@mutation("compaction", invalid("compacted-away"), RUNS, 3)
def an_aborted_record_replaced_a_committed_one_on_disks(edit: Edit) -> None:
    """The last record of a key was aborted; final reads return the one before, and no disk has it."""
    committed, last = _two(edit, alone=True)
    _sent_in_transaction(edit, last, "abort")
    _never_returned(edit, last)
    cleaned_on(edit, committed, disks_of(edit, committed))


@mutation("compaction", VALID, RUNS, 3)
def the_record_of_a_committed_transaction_replaced_another(edit: Edit) -> None:
    """The last record of a key was of a committed transaction, and the one before is nowhere."""
    replaced, last = _two(edit)
    _sent_in_transaction(edit, last, "commit")
    _gone(edit, replaced)


@mutation("compaction", VALID, RUNS, 3)
def a_record_of_an_undecided_transaction_is_gone(edit: Edit) -> None:
    """It is unknown how the transaction of the last record of a key ended; the record is gone."""
    _, last = _two(edit)
    _sent_in_transaction(edit, last, "doubt")
    _never_returned(edit, last)


@mutation("compaction", invalid("G1a"), RUNS, 3)
def an_aborted_record_is_left_and_read_as_committed(edit: Edit) -> None:
    """All readers receive the last record of a key, whose transaction was aborted."""
    _, last = _two(edit)
    _sent_in_transaction(edit, last, "abort")
