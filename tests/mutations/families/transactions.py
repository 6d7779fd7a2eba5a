"""Transactions and their markers: torn, lost, aborted and read, fenced and carried on, never ended."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from checkers.history.operations import Operation
from tests.mutations.batches import Columns, columns_kept_but, rewritten
from tests.mutations.edits import Edit
from tests.mutations.looking import (
    FAIL,
    INFO,
    OK,
    SECOND_NS,
    columns_of,
    final_reads,
    pairs,
    phase_ns,
    replicas,
    settled_ns,
    without_offsets,
)
from tests.mutations.suite import VALID, invalid, mutation

RUNS = ("txn", "copy")
Sent = tuple[str, int, int, int]
"""Topic, partition, value and offset of a record."""


def sent(transaction: Operation) -> list[Sent]:
    """Records of a transaction that were acknowledged."""
    return [
        (mop[1], mop[2], mop[3], mop[4])
        for mop in transaction.value["mops"]
        if mop[0] == "send" and mop[4] is not None
    ]


def committed(edit: Edit, least: int = 1) -> list[Operation]:
    """Transactions whose commit was acknowledged, with some records at least."""
    return [o for o in edit.original.of("txn") if o.type is OK and len(sent(o)) >= least]


def aborted(edit: Edit) -> list[Operation]:
    """Transactions whose abort was acknowledged."""
    return [
        o for o in edit.original.of("txn") if o.type is FAIL and o.value.get("ended") == "abort" and sent(o)
    ]


class _Change(Protocol):
    """Changes what a final read returned of a partition."""

    def __call__(self, value: dict[str, Any], /, number: int) -> Any: ...


def _for_committed_readers(edit: Edit, change: _Change, places: Iterable[tuple[str, int]]) -> None:
    """Change what final reads at read_committed return of some partitions."""
    for topic, number in sorted(set(places)):
        for read in final_reads(edit.original, topic, number, "read_committed"):
            edit.change(read.index, partial(change, number=number))


@mutation("transactions", invalid("torn-transaction", "lost-write"), RUNS, 4)
def a_record_of_a_committed_one_is_not_read(edit: Edit) -> None:
    """Final reads at read_committed return all records of a committed transaction but one."""
    topic, number, _, offset = edit.draw.choice(sent(edit.chosen(committed(edit, 2))))
    _for_committed_readers(
        edit, lambda value, number: without_offsets(value, number, {offset}), [(topic, number)]
    )


@mutation("transactions", invalid("lost-write"), RUNS, 3)
def a_committed_one_is_not_read(edit: Edit) -> None:
    """Final reads at read_committed return no record of a committed transaction."""
    unread(edit, edit.chosen(committed(edit)))


def unread(edit: Edit, transaction: Operation) -> None:
    """Take all records of a transaction out of the final reads at read_committed."""
    records = sent(transaction)
    lost = {(t, p, offset) for t, p, _, offset in records}
    for topic, number in {(t, p) for t, p, _, _ in records}:
        offsets = {o for t, p, o in lost if (t, p) == (topic, number)}
        for read in final_reads(edit.original, topic, number, "read_committed"):
            edit.change(read.index, partial(without_offsets, partition=number, lost=offsets))


@mutation("transactions", invalid("G1a"), ("txn",), 4)
def an_aborted_one_is_read(edit: Edit) -> None:
    """Final reads at read_committed return a record of a transaction that was aborted."""
    topic, number, value, offset = sent(edit.chosen(aborted(edit)))[0]

    def change(answer: dict[str, Any], number: int) -> None:
        answer["records"].append([number, [offset], [value]])
        _sorted(answer, number)

    _for_committed_readers(edit, change, [(topic, number)])


def _sorted(answer: dict[str, Any], number: int) -> None:
    flat = sorted(
        (offset, value)
        for _, offsets, values in answer["records"]
        for offset, value in zip(offsets, values, strict=True)
    )
    answer["records"] = [[number, [offset for offset, _ in flat], [value for _, value in flat]]]


@mutation("transactions", invalid("G1a"), ("txn",), 2)
def an_aborted_one_is_polled(edit: Edit) -> None:
    """A consumer at read_committed gets a record of a transaction that was aborted."""
    polls = [
        o
        for o in edit.original.of("poll")
        if o.type is OK and o.value["isolation"] == "read_committed" and o.value["records"]
    ]
    places = []
    for transaction in aborted(edit):
        topic, number, value, offset = sent(transaction)[0]
        for poll in polls:
            for at, (chunk, offsets, _) in enumerate(poll.value["records"]):
                if poll.key == topic and chunk == number and offsets[0] < offset < offsets[-1]:
                    places.append((poll, at, offset, value))
    poll, at, offset, value = edit.chosen(places)

    def change(answer: dict[str, Any]) -> None:
        _, offsets, values = answer["records"][at]
        place = sum(o < offset for o in offsets)
        offsets.insert(place, offset)
        values.insert(place, value)

    edit.change(poll.index, change)


@mutation("transactions", invalid("precommitted-read", "G1c"), ("txn",), 3)
def read_before_its_commit_was_asked_for(edit: Edit) -> None:
    """A consumer at read_committed gets a record a second before its commit was requested."""
    commits = {
        (t, p, offset): o
        for o in committed(edit)
        if o.value.get("ending_ns") is not None
        for t, p, _, offset in sent(o)
    }
    places = []
    for poll in edit.original.of("poll"):
        if poll.type is OK and poll.value["isolation"] == "read_committed" and poll.value["records"]:
            number, offsets, _ = poll.value["records"][0]
            transaction = commits.get((poll.key, number, offsets[0]))
            if transaction is not None:
                places.append((poll, transaction))
    poll, transaction = edit.chosen(places)
    asked_ns = poll.time_ns + SECOND_NS
    late_ns = max(transaction.time_ns, asked_ns + 1_000_000)
    edit.change(transaction.index, lambda value: value.update(ending_ns=asked_ns))
    edit.set(transaction.index, time_ns=late_ns)
    for o in edit.original.operations:
        if o.process == transaction.process and o.index > transaction.index and o.time_ns <= late_ns:
            edit.set(o.index, time_ns=late_ns + 1 + o.index)


@mutation("transactions", invalid("zombie-accepted"), ("txn",), 4)
def one_of_a_fenced_producer_commits(edit: Edit) -> None:
    """A producer begins and commits a transaction after a newer instance of its id was initialised."""
    fenced(edit, edit.chosen(committed(edit)))


def fenced(edit: Edit, transaction: Operation) -> None:
    """Let a newer instance of its transactional id be initialised before a transaction began."""
    begun = {o.index: i for i, o in pairs(edit.original, "txn")}
    at_ns = begun[transaction.index].time_ns - 1_000_000
    none = {"client": "kafka-python", "producer_id": None, "epoch": None}
    times_ns = (at_ns - 1_000_000, at_ns)
    edit.add_call(970_000, "init-transactions", transaction.key, times_ns, ({"client": "kafka-python"}, none))


@mutation("transactions", invalid("hanging-transaction", "lost-write"), ("txn",), 2)
def one_never_ends(edit: Edit) -> None:
    """For readers at read_committed, a partition ends far below its end at read_uncommitted."""
    topic, number, _, offset = sent(edit.chosen(committed(edit)[len(committed(edit)) // 2 :]))[0]

    def change(value: dict[str, Any], number: int) -> None:
        without_offsets(value, number, range(offset, 2**62))
        value["end"] = value["position"] = offset

    _for_committed_readers(edit, change, [(topic, number)])


@mutation("transactions", VALID, ("txn",), 3)
def the_answer_to_a_commit_is_lost(edit: Edit) -> None:
    """A commit that was carried out timed out at its client; its records are read nevertheless."""
    last_ns = settled_ns(edit.original)
    found = [o for o in committed(edit) if o.time_ns < last_ns] or committed(edit)
    following = {o.process for o in edit.original.of("txn")}
    transaction = edit.chosen(found)
    later = {o.process for o in edit.original.operations if o.index > transaction.index}
    edit.change(transaction.index, lambda value: value.update(ended=None))
    edit.set(transaction.index, type=INFO, error="_TIMED_OUT: the coordinator did not answer")
    if transaction.process in later & following:
        for o in edit.original.operations:
            if o.process == transaction.process and o.index > transaction.index:
                edit.set(o.index, process=980_000 + edit.place)


def _marker(columns: Columns, offset: int) -> int:
    """Row of the marker that ends the transaction of the batch at an offset."""
    row = int((columns["base_offset"] <= offset).sum()) - 1
    ends = (columns["control"] >= 0) & (columns["control"] <= 1)
    later = np.flatnonzero(
        ends & (columns["producer_id"] == columns["producer_id"][row]) & (columns["base_offset"] > offset)
    )
    return int(later[0])


def _markers(edit: Edit, record: Sent, change: Callable[[Columns, int], Any]) -> None:
    """Change the marker behind a record on all replicas."""
    topic, number, _, offset = record
    for replica in replicas(edit.original, topic, number):
        edit.change(replica.index, rewritten(lambda columns: change(columns, _marker(columns, offset))))


def _becomes(columns: Columns, row: int, control: int) -> None:
    columns["control"][row] = control


_MARKERS = ("marker-against-answer",)


@mutation("markers", invalid(*_MARKERS), RUNS, 4)
def aborted_although_it_committed(edit: Edit) -> None:
    """All replicas have an abort marker after a record of a transaction whose commit was acknowledged."""
    turned(edit, edit.chosen(committed(edit)))


def turned(edit: Edit, transaction: Operation) -> None:
    """Let all replicas hold an abort marker behind the first record of a transaction."""
    _markers(edit, sent(transaction)[0], partial(_becomes, control=0))


def undone(edit: Edit, transaction: Operation) -> None:
    """Let a transaction be aborted, on all replicas and for all readers of committed records."""
    unread(edit, transaction)
    for (topic, number), record in {each[:2]: each for each in sent(transaction)}.items():
        _markers(edit, record, partial(_becomes, control=0))
        lost = {offset for t, p, _, offset in sent(transaction) if (t, p) == (topic, number)}
        for poll in edit.original.of("poll"):
            if poll.type is OK and poll.key == topic and poll.value["isolation"] == "read_committed":
                polled = ({*offsets} for n, offsets, _ in poll.value["records"] if n == number)
                if any(lost & offsets for offsets in polled):
                    edit.change(poll.index, partial(without_offsets, partition=number, lost=lost))


@mutation("markers", invalid(*_MARKERS), ("txn",), 4)
def committed_although_it_aborted(edit: Edit) -> None:
    """All replicas have a commit marker after a record of a transaction whose abort was acknowledged."""
    record = sent(edit.chosen(aborted(edit)))[0]
    _markers(edit, record, partial(_becomes, control=1))


@mutation("markers", invalid(*_MARKERS, "offset-gap", "hanging-transaction"), RUNS, 4)
def none_behind_a_committed_one(edit: Edit) -> None:
    """No replica has a marker after the records of a transaction whose commit was acknowledged."""
    record = sent(edit.chosen(committed(edit)))[0]
    _markers(edit, record, columns_kept_but)


@mutation("markers", invalid("marker-shared"), RUNS, 4)
def a_record_in_its_place(edit: Edit) -> None:
    """Instead of the marker between a producer's two transactions, all replicas have another record."""
    record = sent(edit.chosen(_followed(edit)))[0]
    _markers(edit, record, of_nobody)


def _followed(edit: Edit) -> list[Operation]:
    """Committed transactions whose producer's next one has a record in the partition of their first."""
    places: dict[tuple[str, int, int], list[tuple[int, Operation]]] = {}
    for transaction in committed(edit):
        for topic, number, _, offset in sent(transaction):
            replica = replicas(edit.original, topic, number)[0]
            columns = columns_of(replica)
            row = int((columns["base_offset"] <= offset).sum()) - 1
            key = (topic, number, int(columns["producer_id"][row]))
            places.setdefault(key, []).append((offset, transaction))
    followed = []
    for (topic, number, _), those in places.items():
        ordered = sorted(those, key=lambda each: each[0])
        for (offset, one), (_, following) in pairwise(ordered):
            first = sent(one)[0]
            if one is not following and (first[0], first[1], first[3]) == (topic, number, offset):
                followed.append(one)
    return followed


def of_nobody(columns: Columns, row: int) -> None:
    """Make a batch, or a marker, the batch of a producer without an id."""
    for name in ("control", "producer_id", "producer_epoch", "base_sequence", "coordinator_epoch"):
        columns[name][row] = -1
    columns["attributes"][row] = 0


@mutation("markers", invalid(*_MARKERS), ("txn",), 3)
def of_two_kinds_in_two_partitions(edit: Edit) -> None:
    """A transaction's marker is a commit in one partition and an abort in another one, on all replicas."""
    wide = [o for o in committed(edit, 2) if len({r[1] for r in sent(o)}) > 1]
    _markers(edit, sent(edit.chosen(wide))[-1], partial(_becomes, control=0))


@mutation("markers", invalid("replica-divergence", *_MARKERS), RUNS, 3)
def of_another_kind_on_one_replica(edit: Edit) -> None:
    """One replica has an abort marker where the others have the commit that was acknowledged."""
    topic, number, _, offset = sent(edit.chosen(committed(edit)))[0]
    replica = edit.draw.choice(replicas(edit.original, topic, number))

    def change(columns: Columns) -> None:
        row = _marker(columns, offset)
        columns["control"][row] = 0
        columns["crc"][row] ^= 0x1

    edit.change(replica.index, rewritten(change))


_COPY = ("copy-lost", "copy-duplicated", "copy-without-offsets")


@mutation("transactions", invalid(*_COPY, "torn-transaction", "lost-write"), ("copy",), 3)
def a_copy_is_lost(edit: Edit) -> None:
    """No reader and no replica has one of the copies that a committed transaction made."""
    record = edit.draw.choice(sent(edit.chosen(committed(edit))))
    for read in final_reads(edit.original, record[0], record[1]):
        edit.change(read.index, partial(without_offsets, partition=record[1], lost={record[3]}))


@mutation("transactions", invalid(*_COPY), ("copy",), 3)
def a_record_is_copied_twice(edit: Edit) -> None:
    """A second committed transaction copies the same input again."""
    history = edit.original
    ending_ns = phase_ns(history, "heal") - SECOND_NS
    calls = [(i, o) for i, o in pairs(history, "txn") if o.type is OK and o.value.get("consumed")]
    invoked, done = edit.chosen(calls)
    other = (
        next(o for _, o in calls if o.index > done.index and o.key != done.key)
        if any(o.index > done.index and o.key != done.key for _, o in calls)
        else calls[-1][1]
    )
    if other.index == done.index:
        edit.give_up("no other transaction")
    count = min(len(sent(done)), len(sent(other)))
    consumed = done.value["consumed"]
    del invoked, ending_ns
    taken = _first(consumed, count)

    def change(value: dict[str, Any]) -> None:
        rest = _behind(value["consumed"], count)
        value["consumed"] = taken + rest

    edit.change(other.index, change)
    began = next(i for i, o in pairs(history, "txn") if o.index == other.index)
    edit.change(began.index, change)


def _first(consumed: list[Any], count: int) -> list[Any]:
    found = []
    for topic, number, offsets, values in consumed:
        if count > 0:
            found.append([topic, number, offsets[:count], values[:count]])
        count -= len(offsets)
    return found


def _behind(consumed: list[Any], count: int) -> list[Any]:
    found = []
    for topic, number, offsets, values in consumed:
        if count < len(offsets):
            found.append([topic, number, offsets[max(count, 0) :], values[max(count, 0) :]])
        count -= len(offsets)
    return found


@mutation("offsets", invalid(*_COPY), ("copy",), 4)
def the_groups_offset_is_behind_its_copies(edit: Edit) -> None:
    """In the end the group's offset is below that of a committed transaction."""
    answered = next(o for o in edit.original.of("committed-offsets") if o.type is OK)
    place = edit.place % len(answered.value["offsets"])
    edit.change(answered.index, lambda value: _by(value["offsets"][place], -7))


@mutation("offsets", invalid("committed-offset-unasked"), ("copy",), 4)
def the_groups_offset_is_beyond_its_copies(edit: Edit) -> None:
    """The group's offset is above all that any transaction copied."""
    answered = next(o for o in edit.original.of("committed-offsets") if o.type is OK)
    place = edit.place % len(answered.value["offsets"])
    edit.change(answered.index, lambda value: _by(value["offsets"][place], 7))


def _by(entry: list[int], by: int) -> None:
    entry[1] += by
