"""Batches on disks: of one replica or of all of them, changed, lost, doubled, out of order or sequence."""

from functools import partial
from typing import Any

import numpy as np

from checkers.history.operations import Operation
from tests.mutations.batches import Columns, columns_kept_but, kept, rewritten, unpacked
from tests.mutations.edits import Edit
from tests.mutations.families.records import LOGS
from tests.mutations.looking import replicas, settled, settled_record
from tests.mutations.partitions import own
from tests.mutations.suite import VALID, invalid, mutation, unknown

DISKS = (*LOGS, "txn", "copy")


def logs(edit: Edit) -> list[Operation]:
    """Replicas of the run's own topics with ten batches or more."""
    return [
        o
        for o in edit.original.observed("replica")
        if o.value["error"] is None and o.value["count"] >= 10 and o.value["topic"] in own(edit.original)
    ]


def middle(columns: Columns) -> int:
    """A data batch in the middle of a log."""
    data = np.flatnonzero(columns["control"] == -1)
    return int(data[len(data) // 2])


@mutation("batches", invalid("replica-divergence"), DISKS, 2)
def another_content_on_one_replica(edit: Edit) -> None:
    """One replica's batch in the middle of the log has another checksum than the others'."""
    replica = edit.chosen(logs(edit))
    edit.change(replica.index, rewritten(_other_crc))


def _other_crc(columns: Columns) -> None:
    columns["crc"][middle(columns)] ^= 0x5A5A5A5A


@mutation("batches", invalid("replica-divergence"), DISKS, 2)
def one_missing_on_one_replica(edit: Edit) -> None:
    """One replica lacks a batch in the middle of its log, and has those before and after it."""
    replica = edit.chosen(logs(edit))
    edit.change(replica.index, rewritten(lambda c: columns_kept_but(c, middle(c))))


@mutation("batches", invalid("short-replica"), DISKS, 2)
def one_replica_ends_early(edit: Edit) -> None:
    """A replica in sync has only the first half of the log, after recovery."""
    replica = edit.chosen(logs(edit))
    edit.change(replica.index, rewritten(lambda c: kept(c, slice(0, middle(c)))))


@mutation("batches", invalid("leader-epoch-regression"), DISKS, 2)
def epoch_goes_back(edit: Edit) -> None:
    """Along one replica's log the leader epochs increase and then decrease."""
    replica = edit.chosen(logs(edit))
    edit.change(replica.index, rewritten(_epoch_rises_for_one))


def _epoch_rises_for_one(columns: Columns) -> None:
    columns["leader_epoch"][middle(columns)] += 3


@mutation("batches", invalid("overlapping-batches"), DISKS, 1)
def two_at_one_offset(edit: Edit) -> None:
    """A batch of one replica begins before the end of the previous batch."""
    replica = edit.chosen(logs(edit))
    edit.change(replica.index, rewritten(_overlap))


def _overlap(columns: Columns) -> None:
    columns["base_offset"][middle(columns)] -= 1


@mutation("batches", invalid("duplicate-batch"), LOGS, 2)
def sequence_twice(edit: Edit) -> None:
    """All replicas hold a batch of an idempotent producer a second time, at the end of the log."""
    record = edit.chosen(settled(edit.original))
    for replica in replicas(edit.original, record.topic, record.partition):
        edit.change(replica.index, rewritten(lambda c: _repeat(c, record.offset)))


def _repeat(columns: Columns, offset: int) -> Columns:
    row = int((columns["base_offset"] <= offset).sum()) - 1
    again = kept(columns, [*range(len(columns["count"])), row])
    length = int(again["last_offset"][row] - again["base_offset"][row])
    again["base_offset"][-1] = columns["last_offset"][-1] + 1
    again["last_offset"][-1] = again["base_offset"][-1] + length
    again["leader_epoch"][-1] = columns["leader_epoch"][-1]
    return again


@mutation("batches", invalid("corrupt-batch"), DISKS, 1)
def damaged(edit: Edit) -> None:
    """A running broker keeps a batch whose checksum is not that of its content."""
    replica = edit.chosen(logs(edit))
    reason = ["00000000000000000000.log", 4096, 17, "CRC-32C is 0x1, should be 0x2"]
    edit.change(replica.index, lambda value: value["corrupt"].append(reason))


@mutation("batches", invalid("sequence-gap"), LOGS, 2)
def sequence_jumps(edit: Edit) -> None:
    """On all replicas an idempotent producer's sequence numbers jump by five within its epoch."""
    record = settled_record(edit)
    for replica in replicas(edit.original, record.topic, record.partition):
        edit.change(replica.index, rewritten(lambda c: _jump(c, record.offset)))


@mutation("batches", invalid("producer-epoch-regression"), DISKS, 2)
def old_producer_epoch(edit: Edit) -> None:
    """On all replicas the last batch of an idempotent producer has the previous epoch."""
    record = edit.chosen(settled(edit.original))
    for replica in replicas(edit.original, record.topic, record.partition):
        edit.change(replica.index, rewritten(lambda c: _in_old_epoch(c, record.offset)))


def _in_old_epoch(columns: Columns, offset: int) -> Columns:
    row = int((columns["base_offset"] <= offset).sum()) - 1
    columns["producer_epoch"][columns["producer_id"] == columns["producer_id"][row]] += 1
    again = _repeat(columns, offset)
    again["producer_epoch"][-1] -= 1
    return again


def _jump(columns: Columns, offset: int) -> None:
    row = int((columns["base_offset"] <= offset).sum()) - 1
    mine = columns["producer_id"] == columns["producer_id"][row]
    columns["base_sequence"][mine & (columns["base_offset"] >= columns["base_offset"][row])] += 5


@mutation("batches", invalid("offset-gap"), LOGS, 3)
def read_and_on_no_disk(edit: Edit) -> None:
    """No replica holds the batch of a record that was acknowledged and that all final reads return."""
    record = settled_record(edit)
    for replica in replicas(edit.original, record.topic, record.partition):
        edit.change(replica.index, rewritten(lambda c: _without(c, record.offset)))


def _without(columns: Columns, offset: int) -> Columns:
    return columns_kept_but(columns, int((columns["base_offset"] <= offset).sum()) - 1)


@mutation("batches", invalid("lost-write", "short-replica"), LOGS, 2)
def disks_end_below_what_was_read(edit: Edit) -> None:
    """The logs of all replicas end below acknowledged records that all final reads returned before."""
    record = settled_record(edit)
    for replica in replicas(edit.original, record.topic, record.partition):
        edit.change(replica.index, rewritten(lambda c: kept(c, c["base_offset"] < record.offset)))


@mutation("batches", invalid("epoch-without-election"), LOGS, 2)
def epoch_that_no_election_began(edit: Edit) -> None:
    """The last batches of all replicas are of a leader epoch that the metadata log never began."""
    record = edit.chosen(settled(edit.original))
    for replica in replicas(edit.original, record.topic, record.partition):
        edit.change(replica.index, rewritten(_last_epoch_rises))
    for seen in edit.original.observed("leader-epochs"):
        if (seen.value["topic"], seen.value["partition"]) == (record.topic, record.partition):
            start = _last_start(edit, record)
            edit.change(seen.index, partial(_note, start=start))


def _note(value: dict[str, Any], start: int) -> None:
    value["entries"].append([value["entries"][-1][0] + 9, start])


def _last_epoch_rises(columns: Columns) -> None:
    columns["leader_epoch"][-1] = columns["leader_epoch"].max() + 9


def _last_start(edit: Edit, record: Any) -> int:
    first = replicas(edit.original, record.topic, record.partition)[0]
    return int(unpacked(first.value)["base_offset"][-1])


@mutation("batches", unknown("replica|could not be read|disk"), LOGS, 1)
def a_log_could_not_be_read(edit: Edit) -> None:
    """One replica's log could not be read, so it is unknown whether it agrees with the others."""
    replica = edit.chosen(logs(edit))
    edit.change(
        replica.index,
        lambda value: value.update(
            batches={}, count=0, end=None, log_start=None, bytes=0, segments=0, error="Input/output error"
        ),
    )


@mutation("batches", VALID, DISKS, 1)
def a_tail_is_being_written(edit: Edit) -> None:
    """A replica's last segment ends with an incomplete batch, as during a write."""
    replica = edit.chosen(logs(edit))
    tail = ["00000000000000000000.log", replica.value["bytes"], 61, "cut"]
    edit.change(replica.index, lambda value: value.update(tail=tail))


@mutation("batches", VALID, DISKS, 1)
def replicas_are_read_in_another_order(edit: Edit) -> None:
    """The observations of two nodes' disks are in the other order."""
    some = logs(edit)
    first, second = some[0], some[-1]
    edit.set(first.index, value=second.value, node=second.node)
    edit.set(second.index, value=first.value, node=first.node)
