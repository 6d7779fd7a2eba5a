"""DeleteRecords and the starts of logs: what was deleted stays so, and nothing else goes."""

from typing import Any

from checkers.history.operations import Operation
from tests.mutations.batches import kept, rewritten
from tests.mutations.edits import Edit
from tests.mutations.looking import (
    FAIL,
    INFO,
    OK,
    SECOND_NS,
    acked,
    final_reads,
    pairs,
    phase_ns,
    replicas,
    settled_ns,
    without_offsets,
)
from tests.mutations.suite import VALID, invalid, mutation

RUNS = ("deletions",)
TOPIC = "log-0"
UNANSWERED = 4
"""A partition of which a deletion was asked for that was not answered, above where its log begins."""
PARTITIONS = (0, 1, 2, 3, 5)
_BACK = invalid("deleted-records-returned")


def _partition(edit: Edit) -> int:
    chosen: int = edit.chosen(PARTITIONS)
    return chosen


def _start(edit: Edit, partition: int) -> int:
    start: int = final_reads(edit.original, TOPIC, partition)[0].value["start"]
    return start


def _values(edit: Edit, partition: int) -> dict[int, int]:
    """Value of each acknowledged record of a partition, by offset."""
    return {r.offset: r.value for r in acked(edit.original) if r.partition == partition}


def _begins_lower(edit: Edit, read: Operation, by: int) -> None:
    """Let a final read begin below what was deleted, and be given what stands there."""
    values = _values(edit, read.value["partition"])

    def change(value: dict[str, Any]) -> None:
        start = value["start"] - by
        back = [offset for offset in range(start, value["start"]) if offset in values]
        value["start"] = start
        value["records"].insert(0, [value["partition"], back, [values[offset] for offset in back]])

    edit.change(read.index, change)


def _begins_higher(edit: Edit, read: Operation, by: int) -> None:
    """Let a final read begin above what was deleted, and not be given what stands before."""

    def change(value: dict[str, Any]) -> None:
        start = value["start"] + by
        without_offsets(value, value["partition"], range(value["start"], start))
        value["start"] = start

    edit.change(read.index, change)


@mutation("deletions", _BACK, RUNS, 4)
def what_was_deleted_is_back(edit: Edit) -> None:
    """All final reads return records whose deletion was acknowledged."""
    for read in final_reads(edit.original, TOPIC, _partition(edit)):
        _begins_lower(edit, read, 25)


@mutation("deletions", _BACK, RUNS, 2)
def the_last_deleted_record_is_back(edit: Edit) -> None:
    """All final reads return one record that was deleted, the last."""
    for read in final_reads(edit.original, TOPIC, _partition(edit)):
        _begins_lower(edit, read, 1)


@mutation("deletions", _BACK, RUNS, 3)
def one_reader_is_given_what_was_deleted(edit: Edit) -> None:
    """One of the final readers gets records that were deleted."""
    _begins_lower(edit, edit.draw.choice(final_reads(edit.original, TOPIC, _partition(edit))), 10)


@mutation("deletions", _BACK, RUNS, 3)
def the_log_begins_where_it_began(edit: Edit) -> None:
    """All final readers get 0 as the start of the log, and all records from there on."""
    partition = _partition(edit)
    for read in final_reads(edit.original, TOPIC, partition):
        _begins_lower(edit, read, _start(edit, partition))


def _deleted(edit: Edit, partition: int, below: int, *, ended: Any = OK, error: str | None = None) -> None:
    """Ask for a deletion once all faults are over, before the final reads."""
    at_ns = phase_ns(edit.original, "final-read") - SECOND_NS // 10
    asked = [[partition, below]]
    edit.add_call(
        976_000, "delete-records", TOPIC, (at_ns, at_ns + 1000), (asked, asked), ended=ended, error=error
    )


@mutation("deletions", _BACK, RUNS, 3)
def acknowledged_and_not_done(edit: Edit) -> None:
    """A deletion is acknowledged, and all final reads return records below its offset."""
    partition = _partition(edit)
    _deleted(edit, partition, _start(edit, partition) + 40)


@mutation("deletions", VALID, RUNS, 2)
def acknowledged_and_done(edit: Edit) -> None:
    """A deletion is acknowledged, and all final reads begin at its offset."""
    partition = _partition(edit)
    _deleted(edit, partition, _start(edit, partition) + 40)
    for read in final_reads(edit.original, TOPIC, partition):
        _begins_higher(edit, read, 40)


@mutation("deletions", VALID, RUNS, 2)
def of_unknown_outcome_and_not_done(edit: Edit) -> None:
    """A deletion times out, and was not done."""
    partition = _partition(edit)
    _deleted(edit, partition, _start(edit, partition) + 40, ended=INFO, error="_TIMED_OUT")


@mutation("deletions", VALID, RUNS, 2)
def of_unknown_outcome_and_done(edit: Edit) -> None:
    """A deletion times out, and was done."""
    partition = _partition(edit)
    _deleted(edit, partition, _start(edit, partition) + 40, ended=INFO, error="_TIMED_OUT")
    for read in final_reads(edit.original, TOPIC, partition):
        _begins_higher(edit, read, 40)


@mutation("deletions", VALID, RUNS, 2)
def refused_and_not_done(edit: Edit) -> None:
    """A deletion is refused for certain, and was not done."""
    partition = _partition(edit)
    _deleted(edit, partition, _start(edit, partition) + 40, ended=FAIL, error="OFFSET_OUT_OF_RANGE")


@mutation("deletions", VALID, RUNS, 1)
def what_nobody_answered_was_done(edit: Edit) -> None:
    """All final reads of a partition begin at the offset of a deletion that was never answered."""
    for read in final_reads(edit.original, TOPIC, UNANSWERED):
        _begins_higher(edit, read, 999 - read.value["start"])


@mutation("deletions", invalid("lost-write"), RUNS, 1)
def more_than_what_nobody_answered(edit: Edit) -> None:
    """All final reads of a partition begin above the offset of a deletion that was never answered."""
    for read in final_reads(edit.original, TOPIC, UNANSWERED):
        _begins_higher(edit, read, 1_010 - read.value["start"])


_LOST = ("lost-write",)


@mutation("deletions", invalid(*_LOST), RUNS, 2)
def refused_and_done(edit: Edit) -> None:
    """A deletion is refused for certain, and all final reads begin at its offset."""
    partition = _partition(edit)
    _deleted(edit, partition, _start(edit, partition) + 40, ended=FAIL, error="OFFSET_OUT_OF_RANGE")
    for read in final_reads(edit.original, TOPIC, partition):
        _begins_higher(edit, read, 40)


@mutation("deletions", invalid(*_LOST), RUNS, 3)
def more_is_gone_than_was_asked_for(edit: Edit) -> None:
    """All final reads begin above the offsets of all deletions."""
    for read in final_reads(edit.original, TOPIC, _partition(edit)):
        _begins_higher(edit, read, 30)


@mutation("deletions", invalid(*_LOST), RUNS, 2)
def one_record_more_is_gone(edit: Edit) -> None:
    """All final reads begin one record above the highest offset of a deletion."""
    partition = _partition(edit)
    start = _start(edit, partition)
    above = next(offset for offset in sorted(_values(edit, partition)) if offset >= start)
    for read in final_reads(edit.original, TOPIC, partition):
        _begins_higher(edit, read, above - start + 1)


@mutation("deletions", invalid(*_LOST, "unseen", "on-disk-not-read"), RUNS, 2)
def the_first_record_that_stays_is_not_read(edit: Edit) -> None:
    """All final reads begin where they should, and lack the first record there."""
    partition = _partition(edit)
    start = _start(edit, partition)
    above = next(offset for offset in sorted(_values(edit, partition)) if offset >= start)
    for read in final_reads(edit.original, TOPIC, partition):
        edit.change(read.index, lambda value: without_offsets(value, partition, {above}))


@mutation("deletions", invalid(*_LOST, "unseen", "client-disagreement", "poll-skip"), RUNS, 3)
def one_reader_begins_too_high(edit: Edit) -> None:
    """One of the final readers gets a start of the log that is above the offsets of all deletions."""
    _begins_higher(edit, edit.draw.choice(final_reads(edit.original, TOPIC, _partition(edit))), 30)


@mutation("deletions", invalid(*_LOST), RUNS, 3)
def nobody_asked_for_a_deletion(edit: Edit) -> None:
    """The first records of a partition are gone, and no deletion was requested there."""
    partition = _partition(edit)
    edit.drop(*[o.index for o in edit.original.of("delete-records") if o.value[0][0] == partition])


@mutation("deletions", invalid(*_LOST), RUNS, 3)
def the_last_deletion_was_refused(edit: Edit) -> None:
    """The deletion that would explain where a log begins was refused for certain."""
    partition = _partition(edit)
    done = [o for _, o in pairs(edit.original, "delete-records") if o.value[0][0] == partition][-1]
    edit.set(done.index, type=FAIL, error="NOT_LEADER_OR_FOLLOWER")


@mutation("deletions", invalid(*_LOST), RUNS, 2)
def it_was_asked_for_of_another_partition(edit: Edit) -> None:
    """The deletion that would explain where a log begins was requested for another partition."""
    partition = _partition(edit)
    for o in [o for o in edit.original.of("delete-records") if o.value[0][0] == partition][-2:]:
        edit.change(o.index, lambda value: value[0].__setitem__(0, 97))


@mutation("deletions", VALID, RUNS, 2)
def the_last_answer_is_lost(edit: Edit) -> None:
    """The deletion that explains where a log begins timed out."""
    partition = _partition(edit)
    done = [o for _, o in pairs(edit.original, "delete-records") if o.value[0][0] == partition][-1]
    edit.set(done.index, type=INFO, error="_TIMED_OUT")


@mutation("deletions", VALID, RUNS, 2)
def asked_for_again(edit: Edit) -> None:
    """A deletion is requested a second time, and that is acknowledged."""
    partition = _partition(edit)
    _deleted(edit, partition, _start(edit, partition))


@mutation("deletions", VALID, RUNS, 2)
def less_is_asked_for_later(edit: Edit) -> None:
    """Later a deletion at a lower offset is acknowledged, which changes nothing."""
    partition = _partition(edit)
    _deleted(edit, partition, _start(edit, partition) // 2)


@mutation("deletions", VALID, RUNS, 2)
def a_replica_has_not_noted_its_start(edit: Edit) -> None:
    """A replica's checkpoint has an older start of its log: it is only written from time to time."""
    found = replicas(edit.original, TOPIC, _partition(edit))
    edit.change(edit.draw.choice(found).index, lambda value: value.update(log_start=0))


@mutation("deletions", VALID, RUNS, 2)
def a_replica_has_noted_its_start(edit: Edit) -> None:
    """A replica's checkpoint already has the start that the deletion asked for."""
    partition = _partition(edit)
    start = _start(edit, partition)
    for replica in replicas(edit.original, TOPIC, partition)[edit.place :]:
        edit.change(replica.index, lambda value: value.update(log_start=start))


@mutation("deletions", VALID, RUNS, 2)
def old_segments_are_removed(edit: Edit) -> None:
    """A replica has removed the batches below the offset of the deletion."""
    partition = _partition(edit)
    start = _start(edit, partition)
    replica = edit.draw.choice(replicas(edit.original, TOPIC, partition))
    edit.change(replica.index, lambda value: value.update(log_start=start))
    edit.change(replica.index, rewritten(lambda c: kept(c, c["last_offset"] >= start)))


@mutation("deletions", invalid("short-replica"), RUNS, 3)
def a_replica_removed_more(edit: Edit) -> None:
    """A replica in sync begins above the offsets of all deletions, and has removed what was below."""
    partition = _partition(edit)
    start = _start(edit, partition) + 200
    replica = edit.draw.choice(replicas(edit.original, TOPIC, partition))
    edit.change(replica.index, lambda value: value.update(log_start=start))
    edit.change(replica.index, rewritten(lambda c: kept(c, c["base_offset"] >= start)))


@mutation("deletions", invalid("short-replica"), RUNS, 2)
def all_replicas_removed_more(edit: Edit) -> None:
    """All replicas begin above the offsets of all deletions, although final reads returned more."""
    partition = _partition(edit)
    start = _start(edit, partition) + 200
    for replica in replicas(edit.original, TOPIC, partition):
        edit.change(replica.index, lambda value: value.update(log_start=start))
        edit.change(replica.index, rewritten(lambda c: kept(c, c["base_offset"] >= start)))


@mutation("deletions", invalid("offset-gap"), RUNS, 2)
def a_hole_behind_the_start(edit: Edit) -> None:
    """All replicas lack a batch above the start of the log, which final reads did not return either."""
    partition = _partition(edit)
    after = settled_ns(edit.original)
    record = next(r for r in acked(edit.original) if r.partition == partition and r.time_ns > after)

    def change(columns: Any) -> Any:
        hit = (columns["base_offset"] <= record.offset) & (columns["last_offset"] >= record.offset)
        return kept(columns, ~hit)

    for replica in replicas(edit.original, TOPIC, partition):
        edit.change(replica.index, rewritten(change))


def _assigned(edit: Edit, records: list[Any], at_ns: int) -> None:
    """Let a new consumer be assigned a partition from 0 on, and be given some records."""
    assigned = [[records[0], 0]]
    asked: dict[str, Any] = {"client": "kafka-python", "isolation": "read_uncommitted"}
    edit.add_call(977_000, "assign", TOPIC, (at_ns, at_ns + 1), (assigned, assigned))
    times_ns = (at_ns + 2, at_ns + 3)
    edit.add_call(977_000, "poll", TOPIC, times_ns, (asked, asked | {"records": [records]}))


@mutation("deletions", VALID, RUNS, 2)
def a_new_consumer_begins_at_the_start(edit: Edit) -> None:
    """A consumer that is assigned a partition at the end gets its records from the start on."""
    partition = _partition(edit)
    start = _start(edit, partition)
    values = sorted((o, v) for o, v in _values(edit, partition).items() if start <= o < start + 3)
    given = [partition, [o for o, _ in values], [v for _, v in values]]
    _assigned(edit, given, phase_ns(edit.original, "final-read") - 10)
