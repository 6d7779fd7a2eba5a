"""Compacted topics: what cleaning may take away of a log on one replica or all, and what it never may.

Compaction goes by offsets: the strategies of KIP-280 (timestamps, headers) were never built.  That a record
may be removed does not mean that it is: ``max.compaction.lag.ms`` (KIP-354) makes it eligible, no more.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from checkers.history import Operation
from tests.mutations.batches import Columns, kept, rewritten
from tests.mutations.edits import Edit
from tests.mutations.looking import (
    INFO,
    INVOKE,
    OK,
    Acked,
    acked,
    chunks,
    columns_of,
    final_reads,
    pairs,
    replace_value,
    replicas,
    without_offsets,
)
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUNS = ("compacted",)
_DIFFER = ("replica-divergence",)
_NOBODYS = 996_000_000_000


class Place(NamedTuple):
    """A record that final reads were given, and what concerns its key.

    Attributes:
        record: as it was acknowledged.
        newer: the next record of its key; None where it is the last one.
        older: the one of its key before it; None where it is the first one.
    """

    record: Acked
    newer: Acked | None
    older: Acked | None


def _keys(edit: Edit) -> int:
    """How many keys there are: a record's key is its value modulo this."""
    keys: int = next(iter(edit.original.of("setup"))).value["workload"]["keys"]
    return keys


def _by_key(edit: Edit) -> dict[tuple[str, int, int], list[Acked]]:
    """Acknowledged records by topic, partition and key, in the order of offsets."""
    found: dict[tuple[str, int, int], list[Acked]] = {}
    for record in sorted(acked(edit.original), key=lambda r: r.offset):
        found.setdefault((record.topic, record.partition, record.value % _keys(edit)), []).append(record)
    return found


def _places(edit: Edit) -> list[Place]:
    """All acknowledged records of compacted partitions that are left, in the order of their places."""
    held = {
        (read.key, read.value["partition"], offset)
        for read in edit.original.of("final-read")
        if read.type is OK
        for _, _, offset, _ in chunks(read.value)
    }
    found = [
        Place(record, newer, older)
        for some in _by_key(edit).values()
        for older, record, newer in zip([None, *some], some, [*some[1:], None], strict=False)
        if (record.topic, record.partition, record.offset) in held
    ]
    return sorted(found, key=lambda place: place.record[1:])


def _last(edit: Edit) -> Place:
    """The last record of a key, which has an older one."""
    chosen: Place = edit.chosen(place for place in _places(edit) if not place.newer and place.older)
    return chosen


def _replaced(edit: Edit) -> Place:
    """A record that is left although a later one of its key is there."""
    chosen: Place = edit.chosen(place for place in _places(edit) if place.newer)
    return chosen


def _nobodys(edit: Edit, record: Acked) -> int:
    """A value of the record's key that nobody sent."""
    return _NOBODYS - _NOBODYS % _keys(edit) + record.value % _keys(edit)


def _alone(edit: Edit) -> Acked:
    """The last record of a key, alone in its batch on every disk, so that counts tell whether it is there."""
    places = [
        place.record
        for place in _places(edit)
        if not place.newer and all(_left(o, place.record) == 1 for o in _disks(edit, place.record))
    ]
    chosen: Acked = edit.chosen(places)
    return chosen


def _left(disk: Operation, record: Acked) -> int:
    """How many records are left of the batch at a record's offset."""
    columns = columns_of(disk)
    return int(columns["count"][_spans(columns, record.offset)].sum())


def _reads(edit: Edit, record: Acked) -> list[Operation]:
    return final_reads(edit.original, record.topic, record.partition)


def _unread(edit: Edit, record: Acked, reads: Iterable[Operation]) -> None:
    """Let some final reads be given all but a record."""
    for read in reads:
        edit.change(read.index, lambda v: without_offsets(v, record.partition, {record.offset}))


def _leader(edit: Edit, record: Acked) -> str:
    """Who led the record's partition at the end."""
    recovered = [o for o in edit.original.of("recover") if o.type is OK][-1].value["partitions"]
    ids = {
        (state["topic"], state["partition"]): f"n{state['leader']}"
        for state in recovered
        if state["leader"] is not None
    }
    return ids[record.topic, record.partition]


def _disks(edit: Edit, record: Acked, *, leader: bool | None = None) -> list[Operation]:
    """Replicas of the record's partition: all, or the leader's alone, or the others."""
    found = replicas(edit.original, record.topic, record.partition)
    name = _leader(edit, record)
    return [o for o in found if leader is None or (o.node == name) is leader]


def _spans(columns: Columns, offset: int) -> Any:
    return (columns["base_offset"] <= offset) & (columns["last_offset"] >= offset)


def _holding(edit: Edit, record: Acked, *, leader: bool | None = None) -> list[Operation]:
    """Those of the replicas that have a batch at the record's offset."""
    return [o for o in _disks(edit, record, leader=leader) if _spans(columns_of(o), record.offset).any()]


def _cleaned(edit: Edit, record: Acked, disks: Iterable[Operation]) -> None:
    """Remove a record from its batch on some disks, as a cleaner does, and the batch if it was the last."""

    def less(columns: Columns) -> Columns:
        here = _spans(columns, record.offset)
        columns["count"][here] -= 1
        columns["crc"][here] ^= np.uint32(record.offset * 2654435761 % 2**32)
        return kept(columns, ~here | (columns["count"] > 0))

    for disk in disks:
        if _spans(columns_of(disk), record.offset).any():
            edit.change(disk.index, rewritten(less))


@mutation("compaction", invalid("lost-write"), RUNS, 5)
def the_last_record_of_a_key_is_not_read(edit: Edit) -> None:
    """No final read returns the last acknowledged record of a key, which disks hold."""
    record = _last(edit).record
    _unread(edit, record, _reads(edit, record))


@mutation("compaction", invalid("lost-write"), RUNS, 5)
def the_last_record_of_a_key_is_gone(edit: Edit) -> None:
    """The last acknowledged record of a key is in no final read and on no disk."""
    record = _last(edit).record
    _unread(edit, record, _reads(edit, record))
    _cleaned(edit, record, _disks(edit, record))


@mutation("compaction", invalid("lost-write"), RUNS, 5)
def an_older_record_of_a_key_is_the_last(edit: Edit) -> None:
    """The record of a key before the last one is back in every final read, and the last one is gone."""
    record, _, older = _last(edit)
    assert older is not None
    for read in _reads(edit, record):
        edit.change(read.index, lambda value: _in_place_of(value, record, older))
    _cleaned(edit, record, _disks(edit, record))


def _in_place_of(value: dict[str, Any], record: Acked, older: Acked) -> None:
    without_offsets(value, record.partition, {record.offset, older.offset})
    value["records"].insert(0, [record.partition, [older.offset], [older.value]])
    rows = sorted(
        (o, v) for _, offsets, values in value["records"] for o, v in zip(offsets, values, strict=True)
    )
    value["records"] = [[record.partition, [o for o, _ in rows], [v for _, v in rows]]]


@mutation("compaction", invalid("inconsistent-offsets"), RUNS, 5)
def an_older_value_of_a_key_stands_in_the_last_place(edit: Edit) -> None:
    """Every final read returns, at the offset of the last record of a key, the value before it."""
    record, _, older = _last(edit)
    assert older is not None
    for read in _reads(edit, record):
        edit.change(read.index, lambda v: replace_value(v, record.partition, record.offset, older.value))


@mutation("compaction", invalid("phantom"), RUNS, 5)
def a_value_of_a_key_is_invented(edit: Edit) -> None:
    """Every final read returns, in the last place of a key, a value of that key that nobody sent."""
    record = _last(edit).record
    value = _nobodys(edit, record)
    for read in _reads(edit, record):
        edit.change(read.index, lambda v: replace_value(v, record.partition, record.offset, value))


@mutation("compaction", invalid("inconsistent-offsets"), RUNS, 5)
def two_values_of_a_key_change_places(edit: Edit) -> None:
    """Every final read returns two records of one key, both left, in each other's place."""
    left = {place.record for place in _places(edit)}
    place = edit.chosen(p for p in _places(edit) if p.newer in left)
    one, other = place.record, place.newer
    for read in _reads(edit, one):
        edit.change(read.index, lambda v: replace_value(v, one.partition, one.offset, other.value))
        edit.change(read.index, lambda v: replace_value(v, one.partition, other.offset, one.value))


@mutation("compaction", invalid("int-nonmonotonic-poll"), RUNS, 3)
def the_order_of_a_final_read_goes_back(edit: Edit) -> None:
    """A final read returns two records that follow each other in the opposite order."""
    read = edit.chosen(o for o in edit.original.of("final-read") if o.type is OK)
    edit.change(read.index, _turned)


def _turned(value: dict[str, Any]) -> None:
    for part in value["records"][0][1:]:
        part[-2:] = part[-2:][::-1]


@mutation("compaction", invalid("compacted-away"), RUNS, 5)
def a_follower_has_lost_the_last_record_of_a_key(edit: Edit) -> None:
    """Final reads return the last record of a key; on the disk of one follower in sync it is gone."""
    record = _alone(edit)
    _cleaned(edit, record, [edit.draw.choice(_disks(edit, record, leader=False))])


@mutation("compaction", invalid("compacted-away"), RUNS, 5)
def the_leader_has_lost_the_last_record_of_a_key(edit: Edit) -> None:
    """Final reads return the last record of a key; on the leader's disk it is gone."""
    record = _alone(edit)
    _cleaned(edit, record, _disks(edit, record, leader=True))


@mutation("compaction", invalid("compacted-away"), RUNS, 5)
def all_disks_have_lost_the_last_record_of_a_key(edit: Edit) -> None:
    """Final reads return the last record of a key; on all disks it is gone."""
    record = _alone(edit)
    _cleaned(edit, record, _disks(edit, record))


@mutation("compaction", invalid("on-disk-not-read"), RUNS, 5)
def an_overwritten_record_is_on_disk_and_not_read(edit: Edit) -> None:
    """No final read returns an overwritten record that is on the disk of the leader, read later."""
    record = _replaced(edit).record
    _unread(edit, record, _reads(edit, record))


@mutation("compaction", invalid("client-disagreement", "on-disk-not-read"), RUNS, 5)
def an_overwritten_record_is_not_in_one_final_read(edit: Edit) -> None:
    """One final read does not return an overwritten record that is on the leader's disk later."""
    record = _replaced(edit).record
    _unread(edit, record, [edit.draw.choice(_reads(edit, record))])


@mutation("compaction", invalid("compacted-returned"), RUNS, 3)
def a_cleaned_record_comes_back(edit: Edit) -> None:
    """The first of the final reads are not given an overwritten record that a later one is given."""
    places = [
        (place.record, reads) for place in _places(edit) if place.newer and (reads := _in_turn(edit, place))
    ]
    record, early = edit.chosen(places)
    _unread(edit, record, early)
    _cleaned(edit, record, _disks(edit, record))


@mutation("compaction", VALID, RUNS, 3)
def a_record_is_cleaned_between_final_reads(edit: Edit) -> None:
    """The first of the final reads are given an overwritten record that no later one is given."""
    places = [
        (place.record, reads) for place in _places(edit) if place.newer and (reads := _in_turn(edit, place))
    ]
    record, early = edit.chosen(places)
    _unread(edit, record, [read for read in _reads(edit, record) if read not in early])
    _cleaned(edit, record, _disks(edit, record))


def _in_turn(edit: Edit, place: Place) -> list[Operation]:
    """The final reads of a partition that ended before the last one began; none where all overlap."""
    found = [
        (began, ended)
        for began, ended in pairs(edit.original, "final-read")
        if (ended.key, ended.value["partition"]) == (place.record.topic, place.record.partition)
    ]
    last_ns = max(began.time_ns for began, _ in found)
    return [ended for _, ended in found if ended.time_ns < last_ns]


@mutation("compaction", VALID, RUNS, 5)
def an_overwritten_record_is_gone(edit: Edit) -> None:
    """An overwritten record is in no final read and on no disk."""
    record = _replaced(edit).record
    _unread(edit, record, _reads(edit, record))
    _cleaned(edit, record, _disks(edit, record))


@mutation("compaction", VALID, RUNS, 5)
def an_overwritten_record_is_cleaned_after_the_final_reads(edit: Edit) -> None:
    """Final reads return an overwritten record, and no disk has it when it is read."""
    record = _replaced(edit).record
    _cleaned(edit, record, _disks(edit, record))


@mutation("compaction", VALID, RUNS, 5)
def one_follower_has_cleaned_more(edit: Edit) -> None:
    """An overwritten record is gone from the disk of one follower alone: each cleans its own log."""
    places = [p.record for p in _places(edit) if p.newer and _holding(edit, p.record, leader=False)]
    record = edit.chosen(places)
    _cleaned(edit, record, [edit.draw.choice(_holding(edit, record, leader=False))])


@mutation("compaction", VALID, RUNS, 3)
def one_follower_keeps_what_the_others_cleaned(edit: Edit) -> None:
    """A follower alone still has an overwritten record, which no final read returned."""
    places = [p.record for p in _places(edit) if p.newer and _holding(edit, p.record, leader=False)]
    record = edit.chosen(places)
    _unread(edit, record, _reads(edit, record))
    keeps = edit.draw.choice(_holding(edit, record, leader=False))
    _cleaned(edit, record, [o for o in _disks(edit, record) if o is not keeps])


@mutation("compaction", VALID, RUNS, 3)
def a_batch_without_records_is_left_on_one_replica(edit: Edit) -> None:
    """One replica has a batch without records, kept for its producer's numbers, that the others removed."""
    replica, row = edit.chosen(_gaps(edit))

    def emptied(columns: Columns) -> Columns:
        made = kept(columns, np.insert(np.arange(len(columns["count"])), row, row))
        made["base_offset"][row] = made["last_offset"][row] = columns["base_offset"][row] - 1
        made["producer_id"][row] += 1000
        made["count"][row] = 0
        return made

    edit.change(replica.index, rewritten(emptied))


def _of_compacted(edit: Edit) -> list[Operation]:
    topics = {place.record.topic for place in _places(edit)}
    return [
        o for o in edit.original.observed("replica") if o.value["topic"] in topics and o.value["count"] > 9
    ]


def _gaps(edit: Edit) -> list[tuple[Operation, int]]:
    """Rows of replicas that all have alike, and before which no replica has the offset."""
    return [
        (replica, row)
        for replica, row, others in _rows(edit)
        if all(_has(other, columns_of(replica), row) for other in others)
        and not any(_spans(other, columns_of(replica)["base_offset"][row] - 1).any() for other in others)
    ]


def _rows(edit: Edit) -> Iterator[tuple[Operation, int, list[Columns]]]:
    """Rows of replicas of compacted partitions, but the first and the last, with all replicas' batches."""
    for replica in _of_compacted(edit):
        topic, partition = replica.value["topic"], replica.value["partition"]
        others = [columns_of(o) for o in replicas(edit.original, topic, partition)]
        for row in range(1, replica.value["count"] - 1):
            yield replica, row, others


@mutation("compaction", unknown("compaction-ran"), RUNS, 1)
def nothing_was_cleaned(edit: Edit) -> None:
    """Every final read returns all that was ever acknowledged: compaction was not tried."""
    for read in edit.original.of("final-read"):
        if read.type is OK:
            every = sorted(
                (r.offset, r.value)
                for r in acked(edit.original)
                if (r.topic, r.partition) == (read.key, read.value["partition"])
            )
            number = read.value["partition"]
            records = [[number, [offset for offset, _ in every], [value for _, value in every]]]
            edit.change(read.index, lambda value, records=records: value.update(records=records))


def _common(edit: Edit) -> tuple[Operation, int]:
    """A replica of a compacted partition, and a row that all replicas have with as many records."""
    places = [
        (replica, row)
        for replica, row, others in _rows(edit)
        if all(_has(other, columns_of(replica), row) for other in others)
    ]
    chosen: tuple[Operation, int] = edit.chosen(places)
    return chosen


def _has(other: Columns, columns: Columns, row: int) -> bool:
    same = (other["base_offset"] == columns["base_offset"][row]) & (other["count"] == columns["count"][row])
    return bool(same.any())


def _altered(edit: Edit, name: str, by: int) -> None:
    """Let a batch on one replica differ from that on the others in one column."""
    replica, row = _common(edit)

    def alter(columns: Columns) -> None:
        columns[name][row] += np.array(by, columns[name].dtype)

    edit.change(replica.index, rewritten(alter))


@mutation("compaction", invalid(*_DIFFER), RUNS, 5)
def a_batch_has_another_content_on_one_replica(edit: Edit) -> None:
    """A batch with as many records as on the other replicas has another checksum on one of them."""
    _altered(edit, "crc", 1)


@mutation("compaction", invalid(*_DIFFER), RUNS, 3)
def a_batch_is_of_another_producer_on_one_replica(edit: Edit) -> None:
    """A batch on one replica is of another producer than on the others."""
    _altered(edit, "producer_id", 1000)


@mutation("compaction", invalid(*_DIFFER), RUNS, 3)
def a_batch_has_another_number_on_one_replica(edit: Edit) -> None:
    """A batch on one replica has another sequence number than on the others."""
    _altered(edit, "base_sequence", 5_000_000)


@mutation("compaction", invalid(*_DIFFER, "epoch-note-contradicted"), RUNS, 3)
def a_batch_is_of_another_epoch_on_one_replica(edit: Edit) -> None:
    """A batch on one replica is of another leader epoch than on the others."""
    _altered(edit, "leader_epoch", 1)


@mutation("compaction", invalid(*_DIFFER), RUNS, 3)
def a_batch_is_shorter_on_one_replica(edit: Edit) -> None:
    """A batch spans more offsets on the other replicas than on one: cleaning leaves the span as it was."""
    places = [
        (replica, row)
        for replica in _of_compacted(edit)
        for columns in [columns_of(replica)]
        for row in np.flatnonzero(columns["last_offset"] > columns["base_offset"])[:-1].tolist()
    ]
    replica, row = edit.chosen(places)

    def cut(columns: Columns) -> None:
        columns["last_offset"][row] -= 1

    edit.change(replica.index, rewritten(cut))


@mutation("compaction", invalid(*_DIFFER, "compacted-away"), RUNS, 3)
def a_batch_is_moved_on_one_replica(edit: Edit) -> None:
    """A batch stands at lower offsets on one replica than on the others: a record keeps its offset."""
    replica, row = edit.chosen(_gaps(edit))

    def move(columns: Columns) -> None:
        for name in ("base_offset", "last_offset"):
            columns[name][row] -= 1

    edit.change(replica.index, rewritten(move))


@mutation("compaction", invalid("short-replica"), RUNS, 3)
def a_follower_ends_early(edit: Edit) -> None:
    """The log of one follower in sync lacks its last batches."""
    replica = edit.chosen(_of_compacted(edit))
    edit.change(replica.index, rewritten(lambda c: kept(c, slice(0, -3))))


@mutation("compaction", invalid("short-replica", "compacted-away"), RUNS, 3)
def a_replica_begins_late(edit: Edit) -> None:
    """One replica's log begins behind records that are left: nobody deleted them."""
    replica = edit.chosen(_of_compacted(edit))
    start = int(columns_of(replica)["base_offset"][5])
    edit.change(replica.index, rewritten(lambda c: kept(c, slice(5, None))))
    edit.change(replica.index, lambda value: value.update(log_start=start))


@mutation("compaction", invalid("lost-write"), RUNS, 3)
def a_send_of_unknown_fate_replaces_nothing(edit: Edit) -> None:
    """The last record of a key is gone; a later send of the key has an unknown fate, and is nowhere."""
    record = _last(edit).record
    _unread(edit, record, _reads(edit, record))
    _cleaned(edit, record, _disks(edit, record))
    value = _nobodys(edit, record)
    asked, told = [[record.partition, value]], [[record.partition, value, None, "info"]]
    times_ns = (record.time_ns, record.time_ns + 1000)
    edit.add_call(
        920_000, "send", record.topic, times_ns, (asked, told), ended=INFO, error="KafkaTimeoutError"
    )


@mutation("compaction", VALID, RUNS, 3)
def a_send_of_unknown_fate_replaces_the_last_record(edit: Edit) -> None:
    """The last record of a key was sent with unknown fate, and final reads return it; older ones are gone."""
    record = _last(edit).record

    def unanswered(value: Any) -> None:
        for entry in value:
            if entry[1] == record.value:
                entry[2:] = [None, "info"]

    edit.change(record.index, unanswered)


@mutation("compaction", invalid("int-poll-skip", "poll-skip"), RUNS, 3)
def a_poll_passes_over_a_record_before_it_is_overwritten(edit: Edit) -> None:
    """A poll leaves out a record in its midst, of a key that was sent next after that poll had ended."""
    _passed_over(edit, later=True)


@mutation("compaction", VALID, RUNS, 3)
def a_poll_passes_over_a_record_that_was_overwritten(edit: Edit) -> None:
    """A poll in the load leaves out a record in its midst, of a key that had been sent again before."""
    _passed_over(edit, later=False)


def _passed_over(edit: Edit, *, later: bool) -> None:
    """Let a poll be given all but a record of a key that was sent next after it, or else before it."""
    history = edit.original
    began_ns = {
        value: began.time_ns
        for began in history.of("send")
        for _, value, *_ in began.value
        if began.type is INVOKE
    }
    next_ns = {
        (record.partition, record.offset): began_ns[newer.value]
        for some in _by_key(edit).values()
        for record, newer in pairwise(some)
    }
    places = [
        (poll.index, number, offset)
        for asked, poll in pairs(history, "poll")
        for number, offsets, _ in poll.value["records"]
        for offset in offsets[1:-1]
        if (number, offset) in next_ns
        and (next_ns[number, offset] > poll.time_ns if later else next_ns[number, offset] < asked.time_ns)
    ]
    index, number, offset = edit.chosen(places)
    edit.change(index, lambda value: without_offsets(value, number, {offset}))
