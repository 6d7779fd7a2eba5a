"""Compacted topics: what cleaning may take away of a log on one replica or all, and what it never may.

Compaction goes by offsets: the strategies of KIP-280 (timestamps, headers) were never built.  That a record
may be removed does not mean that it is: ``max.compaction.lag.ms`` (KIP-354) makes it eligible, no more.
"""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from checkers.history.operations import History, Operation, once
from tests.mutations.batches import Columns, kept, rewritten
from tests.mutations.edits import Edit, replaced
from tests.mutations.looking import (
    INFO,
    INVOKE,
    OK,
    SECOND_NS,
    Acked,
    acked,
    chunks,
    columns_of,
    final_reads,
    pairs,
    phase_ns,
    polls,
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


@once
def _by_key(history: History) -> dict[tuple[str, int, int], list[Acked]]:
    """Acknowledged records by topic, partition and key, in the order of offsets."""
    keys = next(iter(history.of("setup"))).value["workload"]["keys"]
    found: dict[tuple[str, int, int], list[Acked]] = {}
    for record in sorted(acked(history), key=lambda r: r.offset):
        found.setdefault((record.topic, record.partition, record.value % keys), []).append(record)
    return found


@once
def _places_of(history: History) -> tuple[Place, ...]:
    """All acknowledged records of compacted partitions that are left, in the order of their places."""
    held = {
        (read.key, read.value["partition"], offset)
        for read in history.of("final-read")
        if read.type is OK
        for _, _, offset, _ in chunks(read.value)
    }
    found = [
        Place(record, newer, older)
        for some in _by_key(history).values()
        for older, record, newer in zip([None, *some], some, [*some[1:], None], strict=False)
        if (record.topic, record.partition, record.offset) in held
    ]
    return tuple(sorted(found, key=lambda place: place.record[1:]))


def places_in(edit: Edit) -> tuple[Place, ...]:
    return _places_of(edit.original)


def _last(edit: Edit) -> Place:
    """The last record of a key, which has an older one."""
    places = [p for p in places_in(edit) if not p.newer and p.older and not is_tombstone(edit, p.record)]
    chosen: Place = edit.chosen(places)
    return chosen


def is_tombstone(edit: Edit, record: Acked) -> bool:
    """Whether a record marks its key as deleted."""
    return (record.value // _keys(edit) + 1) % _tombstones(edit) == 0


def _tombstones(edit: Edit) -> int:
    """One record of a key in so many is a tombstone."""
    every: int = next(iter(edit.original.of("setup"))).value["workload"]["tombstones"]
    return every


def _replaced(edit: Edit) -> Place:
    """A record that is left although a later one of its key is there; that one's segment is closed."""
    chosen: Place = edit.chosen(place for place in places_in(edit) if place.newer)
    closed_behind(edit, chosen)
    return chosen


def closed_behind(edit: Edit, place: Place) -> None:
    """Let the segment that holds the next record of a key be another one than that which is written to."""
    assert place.newer is not None
    for disk in disks_of(edit, place.record):
        end = place.newer.offset + 1
        edit.change(disk.index, partial(_active_from, end))


def _active_from(end: int, value: dict[str, Any]) -> None:
    value["active"] = max(value["active"], end)


def _nobodys(edit: Edit, record: Acked) -> int:
    """A value of the record's key that nobody sent."""
    return _NOBODYS - _NOBODYS % _keys(edit) + record.value % _keys(edit)


def _alone(edit: Edit) -> Acked:
    """The last record of a key, alone in its batch on every disk, so that counts tell whether it is there."""
    places = [
        place.record
        for place in places_in(edit)
        if not place.newer
        and not is_tombstone(edit, place.record)
        and all(left_in(o, place.record) == 1 for o in disks_of(edit, place.record))
    ]
    chosen: Acked = edit.chosen(places)
    return chosen


def left_in(disk: Operation, record: Acked) -> int:
    """How many records are left of the batch at a record's offset."""
    columns = columns_of(disk)
    return int(columns["count"][_spans(columns, record.offset)].sum())


def reads_of(edit: Edit, record: Acked) -> list[Operation]:
    return final_reads(edit.original, record.topic, record.partition)


def unread_by(edit: Edit, record: Acked, reads: Iterable[Operation]) -> None:
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


def disks_of(edit: Edit, record: Acked, *, leader: bool | None = None) -> list[Operation]:
    """Replicas of the record's partition: all, or the leader's alone, or the others."""
    found = replicas(edit.original, record.topic, record.partition)
    name = _leader(edit, record)
    return [o for o in found if leader is None or (o.node == name) is leader]


def _spans(columns: Columns, offset: int) -> Any:
    return (columns["base_offset"] <= offset) & (columns["last_offset"] >= offset)


def _holding(edit: Edit, record: Acked, *, leader: bool | None = None) -> list[Operation]:
    """Those of the replicas that have a batch at the record's offset."""
    return [o for o in disks_of(edit, record, leader=leader) if _spans(columns_of(o), record.offset).any()]


def cleaned_on(edit: Edit, record: Acked, disks: Iterable[Operation]) -> None:
    """Remove a record from its batch on some disks, as a cleaner does, and the batch if it was the last."""

    def less(columns: Columns) -> Columns:
        here = _spans(columns, record.offset)
        columns["count"][here] -= 1
        columns["crc"][here] ^= np.uint32(record.offset * 2654435761 % 2**32)
        return kept(columns, ~here | (columns["count"] > 0))

    for disk in disks:
        if _spans(columns_of(disk), record.offset).any():
            edit.change(disk.index, rewritten(less, record.offset))


@mutation("compaction", invalid("lost-write"), RUNS, 5)
def the_last_record_of_a_key_is_not_read(edit: Edit) -> None:
    """No final read returns the last acknowledged record of a key, which disks hold."""
    record = _last(edit).record
    unread_by(edit, record, reads_of(edit, record))


@mutation("compaction", invalid("lost-write"), RUNS, 5)
def the_last_record_of_a_key_is_gone(edit: Edit) -> None:
    """The last acknowledged record of a key is in no final read and on no disk."""
    record = _last(edit).record
    unread_by(edit, record, reads_of(edit, record))
    cleaned_on(edit, record, disks_of(edit, record))


@mutation("compaction", invalid("lost-write"), RUNS, 5)
def an_older_record_of_a_key_is_the_last(edit: Edit) -> None:
    """Every final read returns the second to last record of a key, and not the last one."""
    record, _, older = _last(edit)
    assert older is not None
    for read in reads_of(edit, record):
        edit.change(read.index, lambda value: _in_place_of(value, record, older))
    cleaned_on(edit, record, disks_of(edit, record))


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
    for read in reads_of(edit, record):
        edit.change(read.index, lambda v: replace_value(v, record.partition, record.offset, older.value))


@mutation("compaction", invalid("phantom"), RUNS, 5)
def a_value_of_a_key_is_invented(edit: Edit) -> None:
    """Every final read returns, as the last value of a key, a value that nobody sent."""
    record = _last(edit).record
    value = _nobodys(edit, record)
    for read in reads_of(edit, record):
        edit.change(read.index, lambda v: replace_value(v, record.partition, record.offset, value))


@mutation("compaction", invalid("inconsistent-offsets"), RUNS, 5)
def two_values_of_a_key_change_places(edit: Edit) -> None:
    """Every final read returns two remaining records of one key at each other's offsets."""
    left = {place.record for place in places_in(edit)}
    place = edit.chosen(p for p in places_in(edit) if p.newer in left)
    one, other = place.record, place.newer
    for read in reads_of(edit, one):
        edit.change(read.index, lambda v: replace_value(v, one.partition, one.offset, other.value))
        edit.change(read.index, lambda v: replace_value(v, one.partition, other.offset, one.value))


@mutation("compaction", invalid("int-nonmonotonic-poll"), RUNS, 3)
def the_order_of_a_final_read_goes_back(edit: Edit) -> None:
    """A final read returns two adjacent records in reverse order."""
    read = edit.chosen(o for o in edit.original.of("final-read") if o.type is OK)
    edit.change(read.index, _turned)


def _turned(value: dict[str, Any]) -> None:
    for part in value["records"][0][1:]:
        part[-2:] = part[-2:][::-1]


@mutation("compaction", invalid("compacted-away"), RUNS, 5)
def a_follower_has_lost_the_last_record_of_a_key(edit: Edit) -> None:
    """Final reads return the last record of a key; on the disk of one follower in sync it is gone."""
    record = _alone(edit)
    cleaned_on(edit, record, [edit.draw.choice(disks_of(edit, record, leader=False))])


@mutation("compaction", invalid("compacted-away"), RUNS, 5)
def the_leader_has_lost_the_last_record_of_a_key(edit: Edit) -> None:
    """Final reads return the last record of a key; on the leader's disk it is gone."""
    record = _alone(edit)
    cleaned_on(edit, record, disks_of(edit, record, leader=True))


@mutation("compaction", invalid("compacted-away"), RUNS, 5)
def all_disks_have_lost_the_last_record_of_a_key(edit: Edit) -> None:
    """Final reads return the last record of a key; on all disks it is gone."""
    record = _alone(edit)
    cleaned_on(edit, record, disks_of(edit, record))


@mutation("compaction", invalid("on-disk-not-read"), RUNS, 5)
def an_overwritten_record_is_on_disk_and_not_read(edit: Edit) -> None:
    """No final read returns an overwritten record that is on the disk of the leader, read later."""
    record = _replaced(edit).record
    unread_by(edit, record, reads_of(edit, record))


@mutation("compaction", invalid("client-disagreement", "on-disk-not-read"), RUNS, 5)
def an_overwritten_record_is_not_in_one_final_read(edit: Edit) -> None:
    """One final read does not return an overwritten record that is on the leader's disk later."""
    record = _replaced(edit).record
    unread_by(edit, record, [edit.draw.choice(reads_of(edit, record))])


@mutation("compaction", invalid("compacted-returned"), RUNS, 3)
def a_cleaned_record_comes_back(edit: Edit) -> None:
    """The first final reads do not return an overwritten record that a later one returns."""
    places = [(place, reads) for place in places_in(edit) if place.newer and (reads := _in_turn(edit, place))]
    place, early = edit.chosen(places)
    closed_behind(edit, place)
    record = place.record
    unread_by(edit, record, early)
    cleaned_on(edit, record, disks_of(edit, record))


@mutation("compaction", VALID, RUNS, 3)
def a_record_is_cleaned_between_final_reads(edit: Edit) -> None:
    """The first final reads return an overwritten record that no later one returns."""
    places = [(place, reads) for place in places_in(edit) if place.newer and (reads := _in_turn(edit, place))]
    place, early = edit.chosen(places)
    closed_behind(edit, place)
    record = place.record
    unread_by(edit, record, [read for read in reads_of(edit, record) if read not in early])
    cleaned_on(edit, record, disks_of(edit, record))


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
    unread_by(edit, record, reads_of(edit, record))
    cleaned_on(edit, record, disks_of(edit, record))


@mutation("compaction", VALID, RUNS, 5)
def an_overwritten_record_is_cleaned_after_the_final_reads(edit: Edit) -> None:
    """Final reads return an overwritten record, and no disk has it when it is read."""
    record = _replaced(edit).record
    cleaned_on(edit, record, disks_of(edit, record))


@mutation("compaction", VALID, RUNS, 5)
def one_follower_has_cleaned_more(edit: Edit) -> None:
    """An overwritten record is gone only from the disk of one follower: each cleans its own log."""
    place = edit.chosen([p for p in places_in(edit) if p.newer and _holding(edit, p.record, leader=False)])
    closed_behind(edit, place)
    record = place.record
    cleaned_on(edit, record, [edit.draw.choice(_holding(edit, record, leader=False))])


@mutation("compaction", VALID, RUNS, 3)
def one_follower_keeps_what_the_others_cleaned(edit: Edit) -> None:
    """Only a follower still has an overwritten record, which no final read returned."""
    place = edit.chosen([p for p in places_in(edit) if p.newer and _holding(edit, p.record, leader=False)])
    closed_behind(edit, place)
    record = place.record
    unread_by(edit, record, reads_of(edit, record))
    keeps = edit.draw.choice(_holding(edit, record, leader=False))
    cleaned_on(edit, record, [o for o in disks_of(edit, record) if o is not keeps])


@mutation("compaction", VALID, RUNS, 3)
def a_batch_without_records_is_left_on_one_replica(edit: Edit) -> None:
    """One replica has a batch without records, kept for its producer's numbers, that the others removed."""
    replica, row = edit.chosen(_gaps(edit))

    def emptied(columns: Columns) -> Columns:
        made = kept(columns, np.insert(np.arange(len(columns["count"])), row, row))
        made["base_offset"][row] = made["last_offset"][row] = columns["base_offset"][row] - 1
        made["producer_id"][row] += 500_000
        made["count"][row] = 0
        return made

    edit.change(replica.index, rewritten(emptied))


def _of_compacted(edit: Edit) -> list[Operation]:
    topics = {place.record.topic for place in places_in(edit)}
    return [
        o for o in edit.original.observed("replica") if o.value["topic"] in topics and o.value["count"] > 9
    ]


def _gaps(edit: Edit) -> list[tuple[Operation, int]]:
    """Rows of replicas that all have alike, and before which no replica has the offset."""
    return [
        (replica, row)
        for replica, columns, others in _with_others(edit)
        for row in _alike(columns, others)
        if not any(_spans(other, columns["base_offset"][row] - 1).any() for other in others)
    ]


def _with_others(edit: Edit) -> Iterator[tuple[Operation, Columns, list[Columns]]]:
    """Replicas of compacted partitions, the batches of each, and those of all."""
    for replica in _of_compacted(edit):
        disks = replicas(edit.original, replica.value["topic"], replica.value["partition"])
        yield replica, columns_of(replica), [columns_of(disk) for disk in disks]


def _alike(columns: Columns, others: list[Columns]) -> list[int]:
    """Rows but the first and the last that all have with as many records."""
    rows = range(1, len(columns["count"]) - 1)
    return [row for row in rows if all(_has(other, columns, row) for other in others)]


@mutation("compaction", unknown("compaction-ran"), RUNS, 1)
def nothing_was_cleaned(edit: Edit) -> None:
    """Every final read returns all that was ever acknowledged: nothing was compacted."""
    for read in edit.original.of("final-read"):
        if read.type is OK:
            every = sorted(
                (r.offset, r.value)
                for r in acked(edit.original)
                if (r.topic, r.partition) == (read.key, read.value["partition"])
            )
            number = read.value["partition"]
            records = [[number, [offset for offset, _ in every], [value for _, value in every]]]
            edit.change(read.index, partial(replaced, records=records))


def _common(edit: Edit) -> tuple[Operation, int]:
    """A replica of a compacted partition, and a row that all replicas have with as many records."""
    places = [
        (replica, row) for replica, columns, others in _with_others(edit) for row in _alike(columns, others)
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
    """A batch has lower offsets on one replica than on the others: a record must keep its offset."""
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
    """One replica's log begins after records that nobody deleted and that the others still have."""
    replica = edit.chosen(_of_compacted(edit))
    start = int(columns_of(replica)["base_offset"][5])
    edit.change(replica.index, rewritten(lambda c: kept(c, slice(5, None))))
    edit.change(replica.index, lambda value: value.update(log_start=start))


@mutation("compaction", invalid("lost-write"), RUNS, 3)
def a_send_of_unknown_fate_replaces_nothing(edit: Edit) -> None:
    """The last record of a key is gone; a later send of the key has an unknown outcome, and is nowhere."""
    record = _last(edit).record
    unread_by(edit, record, reads_of(edit, record))
    cleaned_on(edit, record, disks_of(edit, record))
    value = _nobodys(edit, record)
    asked, answer = [[record.partition, value]], [[record.partition, value, None, "info"]]
    times_ns = (record.time_ns, record.time_ns + 1000)
    edit.add_call(
        920_000, "send", record.topic, times_ns, (asked, answer), ended=INFO, error="KafkaTimeoutError"
    )


@mutation("compaction", VALID, RUNS, 3)
def a_send_of_unknown_fate_replaces_the_last_record(edit: Edit) -> None:
    """The last send of a key has an unknown outcome; final reads return it, and older ones are gone."""
    record = _last(edit).record

    def unanswered(value: Any) -> None:
        for entry in value:
            if entry[1] == record.value:
                entry[2:] = [None, "info"]

    edit.change(record.index, unanswered)


@mutation("compaction", invalid("int-poll-skip", "poll-skip"), RUNS, 3)
def a_poll_passes_over_a_record_before_it_is_overwritten(edit: Edit) -> None:
    """A poll skips a record although the next record of that key was sent only after the poll."""
    history = edit.original
    began_ns = {
        value: began.time_ns
        for began in history.of("send")
        if began.type is INVOKE
        for _, value in began.value
    }
    next_ns = {
        (record.partition, record.offset): began_ns[newer.value]
        for some in _by_key(history).values()
        for record, newer in pairwise(some)
    }
    places = [
        (poll.index, number, offset)
        for poll in polls(history)
        for number, offsets, _ in poll.value["records"]
        for offset in offsets[1:-1]
        if next_ns.get((number, offset), 0) > poll.time_ns
    ]
    index, number, offset = edit.chosen(places)
    edit.change(index, lambda value: without_offsets(value, number, {offset}))


@mutation("compaction", VALID, RUNS, 3)
def a_reader_passes_over_a_record_that_was_overwritten(edit: Edit) -> None:
    """A consumer that begins after the load does not get a record whose key was sent again before."""
    history = edit.original
    overwritten = {(r.partition, r.offset) for some in _by_key(history).values() for r in some[:-1]}
    places = [
        (poll, number, offset)
        for poll in polls(history)
        if poll.time_ns < phase_ns(history, "heal") - 5 * SECOND_NS
        for number, offsets, _ in poll.value["records"]
        for offset in offsets[1:-1]
        if (number, offset) in overwritten
    ]
    poll, number, offset = edit.chosen(places)
    value = deepcopy(poll.value)
    without_offsets(value, number, {offset})
    assigned = [[chunk, offsets[0]] for chunk, offsets, _ in value["records"]]
    process, time_ns = 910_000 + edit.place, phase_ns(history, "heal") - 1_000_000
    edit.add_call(process, "assign", poll.key, (time_ns, time_ns + 1), (assigned, assigned))
    asked = {"client": value["client"], "isolation": value["isolation"]}
    edit.add_call(process, "poll", poll.key, (time_ns + 2, time_ns + 3), (asked, value))


@mutation("compaction", invalid("compacted-early"), RUNS, 5)
def a_record_is_gone_before_it_can_be_cleaned(edit: Edit) -> None:
    """A record is gone everywhere, and all later ones of its key are in the active segment."""
    record = edit.chosen(_replaced_in_active(edit)).record
    unread_by(edit, record, reads_of(edit, record))
    cleaned_on(edit, record, disks_of(edit, record))


@mutation("compaction", invalid("compacted-early"), RUNS, 3)
def a_record_is_cleaned_too_early_after_it_was_read(edit: Edit) -> None:
    """Final reads return a record whose next one is in the active segment; the leader's disk lacks it."""
    record = edit.chosen(_replaced_in_active(edit)).record
    cleaned_on(edit, record, disks_of(edit, record, leader=True))


def _replaced_in_active(edit: Edit) -> list[Place]:
    """Records, no tombstones, whose next one of their key is in the leader's active segment, of its epoch."""
    found = []
    for place in places_in(edit):
        if place.newer and not is_tombstone(edit, place.record):
            (leader,) = disks_of(edit, place.record, leader=True)
            columns = columns_of(leader)
            epochs = columns["leader_epoch"][_spans(columns, place.newer.offset)]
            of_epoch = len(epochs) > 0 and epochs[0] == columns["leader_epoch"][-1]
            if of_epoch and place.newer.offset >= leader.value["active"]:
                found.append(place)
    return found


def _tell_cleanings(edit: Edit, record: Acked, end: int) -> None:
    """Let all nodes tell, after all else, that they cleaned the record's partition up to an offset."""
    last = edit.original.operations[-1]
    time_ns = last.time_ns + SECOND_NS
    for node in next(iter(edit.original.of("setup"))).value["nodes"]:
        value = {"began_ns": time_ns, "logs": [[record.topic, record.partition, end, 9_000]]}
        observation = {
            "process": "runner",
            "f": "observe",
            "key": "cleaned",
            "node": node["name"],
            "value": value,
        }
        edit.add(last, time_ns, **observation)


@mutation("compaction", invalid("compacted-early"), RUNS, 3)
def a_follower_has_removed_what_nobody_had_cleaned(edit: Edit) -> None:
    """A follower lacks a record, and the next one of its key is after all that brokers cleaned."""
    places = [place for place in places_in(edit) if place.newer and not is_tombstone(edit, place.record)]
    record = edit.chosen(p for p in places if p.newer and p.newer.offset >= _farthest(edit, p.record)).record
    _tell_cleanings(edit, record, _farthest(edit, record))
    cleaned_on(edit, record, [edit.draw.choice(_holding(edit, record, leader=False))])


@mutation("compaction", VALID, RUNS, 3)
def a_follower_has_removed_what_was_replaced(edit: Edit) -> None:
    """A follower lacks a record, and brokers had cleaned beyond the next one of its key."""
    places = [
        place for place in places_in(edit) if place.newer and _holding(edit, place.record, leader=False)
    ]
    place = edit.chosen(places)
    record, newer = place.record, place.newer
    closed_behind(edit, place)
    _tell_cleanings(edit, record, max(_farthest(edit, record), newer.offset + 1))
    cleaned_on(edit, record, [edit.draw.choice(_holding(edit, record, leader=False))])


def _farthest(edit: Edit, record: Acked) -> int:
    """Where the farthest active segment of the replicas begins."""
    return max(int(o.value["active"]) for o in disks_of(edit, record))


def _last_tombstones(edit: Edit, least_ns: int, most_ns: int) -> list[Place]:
    """Tombstones that are the last records of their keys, sent so long before final reads began."""
    read_ns = phase_ns(edit.original, "final-read")
    return [
        place
        for place in places_in(edit)
        if not place.newer
        and place.older
        and is_tombstone(edit, place.record)
        and least_ns < read_ns - place.record.time_ns < most_ns
    ]


@mutation("compaction", invalid("lost-write"), RUNS, 3)
def a_tombstone_is_gone_early(edit: Edit) -> None:
    """A tombstone, the last record of its key, is gone two seconds after it was sent, not three."""
    record = edit.chosen(_last_tombstones(edit, 0, 2 * SECOND_NS)).record
    unread_by(edit, record, reads_of(edit, record))
    cleaned_on(edit, record, disks_of(edit, record))


@mutation("compaction", VALID, RUNS, 2)
def a_tombstone_is_gone_in_time(edit: Edit) -> None:
    """More than three seconds after it was sent, a tombstone is gone, with all that it deleted."""
    mark = edit.chosen(_last_tombstones(edit, 3 * SECOND_NS, 2**62)).record
    keys = _keys(edit)
    for place in places_in(edit):
        record = place.record
        if (record.partition, record.value % keys) == (mark.partition, mark.value % keys):
            closed_behind(edit, Place(record, mark, None))
            unread_by(edit, record, reads_of(edit, record))
            cleaned_on(edit, record, disks_of(edit, record))


@mutation("compaction", invalid("compacted-away"), RUNS, 2)
def a_follower_has_lost_a_tombstone_early(edit: Edit) -> None:
    """Final reads return a tombstone; a follower lacks it, although three seconds have not passed."""
    record = edit.chosen(_last_tombstones(edit, 0, SECOND_NS // 2)).record
    cleaned_on(edit, record, [edit.draw.choice(disks_of(edit, record, leader=False))])


@mutation("compaction", VALID, RUNS, 2)
def a_follower_has_removed_a_tombstone(edit: Edit) -> None:
    """Final reads return a tombstone; a follower lacks it, more than three seconds after it was sent."""
    record = edit.chosen(_last_tombstones(edit, 3 * SECOND_NS, 2**62)).record
    cleaned_on(edit, record, [edit.draw.choice(disks_of(edit, record, leader=False))])


@mutation("compaction", invalid("deleted-key-returned"), RUNS, 2)
def a_deleted_key_is_back(edit: Edit) -> None:
    """A tombstone is gone in time, but final reads return the value before it; the leader never left."""
    struck = {node for o in edit.original.of("inject") if o.type is OK for node in o.value["targets"]}
    places = [
        place
        for place in _last_tombstones(edit, 3 * SECOND_NS, 2**62)
        if _leader(edit, place.record) not in struck
    ]
    record, _, older = edit.chosen(places)
    for read in reads_of(edit, record):
        edit.change(read.index, lambda value: _in_place_of(value, record, older))
    cleaned_on(edit, record, disks_of(edit, record))


@mutation("compaction", VALID, RUNS, 3)
def a_tombstone_of_unknown_fate_deleted_a_key(edit: Edit) -> None:
    """The last record of a key is gone; a tombstone was sent later, with an unknown outcome."""
    latest_ns = phase_ns(edit.original, "final-read") - 4 * SECOND_NS
    places = [
        place.record
        for place in places_in(edit)
        if not place.newer and place.record.time_ns < latest_ns and not is_tombstone(edit, place.record)
    ]
    record = edit.chosen(places)
    unread_by(edit, record, reads_of(edit, record))
    cleaned_on(edit, record, disks_of(edit, record))
    value = _nobodys(edit, record)
    while (value // _keys(edit) + 1) % _tombstones(edit):
        value += _keys(edit)
    asked, answer = [[record.partition, value]], [[record.partition, value, None, "info"]]
    times_ns = (record.time_ns, record.time_ns + 1000)
    edit.add_call(
        920_000, "send", record.topic, times_ns, (asked, answer), ended=INFO, error="KafkaTimeoutError"
    )
