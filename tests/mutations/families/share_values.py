"""Records that members of share groups are given: their values, and their places in the log."""

from functools import partial
from itertools import pairwise
from typing import Any

import msgspec

from checkers.history.operations import History
from tests.mutations.edits import Edit
from tests.mutations.families.share import RUNS, Given, drained, given, later_ns, poll, tell
from tests.mutations.looking import (
    INFO,
    SECOND_NS,
    acked,
    final_reads,
    phase_ns,
    replace_value,
    without_offsets,
)
from tests.mutations.suite import VALID, invalid, mutation, unknown

UNSENT = 100_000_000
"""So much above a value of a worker is a value that it did not come to."""


def revalue(edit: Edit, one: Given, value: Any) -> None:
    """Let a poll return another value at the place of a record."""

    def change(answer: dict[str, Any]) -> None:
        for number, offsets, values, _ in answer["records"]:
            if number == one.partition and one.offset in offsets:
                values[offsets.index(one.offset)] = value

    edit.change(one.poll.index, change)


def under_load(edit: Edit) -> list[Given]:
    """Records that were delivered while producers sent."""
    until_ns = phase_ns(edit.original, "heal")
    return [one for one in given(edit.original) if one.poll.time_ns < until_ns]


def certain(edit: Edit) -> list[Given]:
    """Records under load whose sends were acknowledged."""
    acknowledged = {(record.partition, record.offset) for record in acked(edit.original)}
    return [one for one in under_load(edit) if (one.partition, one.offset) in acknowledged]


def end_of(edit: Edit, one: Given) -> int:
    """Where the log of a record's partition ends, as the final reads listed it."""
    reads = final_reads(edit.original, one.poll.key, one.partition)
    return max(int(read.value["end"]) for read in reads)


@mutation("share", invalid("share-phantom"), RUNS, 3)
def a_value_that_nobody_sent_is_delivered(edit: Edit) -> None:
    """A member is given a value of a worker that this worker did not send."""
    one = edit.chosen(given(edit.original))
    revalue(edit, one, one.value + UNSENT)


@mutation("share", invalid("share-phantom"), RUNS, 2)
def bytes_that_nobody_sent_are_delivered(edit: Edit) -> None:
    """A member is given bytes that no producer of the run wrote."""
    revalue(edit, edit.chosen(given(edit.original)), "\ufffd\ufffd")


@mutation("share", invalid("share-phantom"), RUNS, 2)
def a_value_of_another_partition_is_delivered(edit: Edit) -> None:
    """A member gets, in one partition, a value that was only sent to another partition."""
    one = edit.chosen(given(edit.original))
    other = next(each for each in given(edit.original) if each.partition != one.partition)
    revalue(edit, one, other.value)


@mutation("share", invalid("share-wrong-record"), RUNS, 3)
def two_values_are_exchanged(edit: Edit) -> None:
    """A poll returns the values of two records of a partition at each other's offsets."""
    some = given(edit.original)
    pairs = [(a, b) for a, b in pairwise(some) if a.poll is b.poll]
    one, other = edit.chosen(pair for pair in pairs if pair[0].partition == pair[1].partition)
    revalue(edit, one, other.value)
    revalue(edit, other, one.value)


@mutation("share", invalid("share-wrong-record"), RUNS, 3)
def a_value_is_delivered_in_the_place_of_another(edit: Edit) -> None:
    """After recovery a poll returns the value of the partition's first record instead of another one."""
    one = edit.chosen(drained(edit))
    first = min((o for o in given(edit.original) if o.partition == one.partition), key=lambda o: o.offset)
    revalue(edit, one, first.value)


@mutation("share", invalid("share-wrong-record"), RUNS, 2)
def a_second_delivery_has_another_value(edit: Edit) -> None:
    """A member is given, at an offset that another one was given before, the value of the next record."""
    some = {(one.partition, one.offset): one for one in under_load(edit)}
    pairs = (
        (one, some.get((one.partition, one.offset + 1)))
        for one in some.values()
        if one.settled_by is not None
    )
    one, after = edit.chosen(pair for pair in pairs if pair[1] is not None)
    poll(edit, one._replace(value=after.value), 960_000, (later_ns(one, 1), later_ns(one, 3)), one.count + 1)


@mutation("share", invalid("share-not-in-log"), RUNS, 3)
def a_record_past_the_end_is_delivered(edit: Edit) -> None:
    """Under load a member is given a record again, at an offset above the end of the log, and accepts it."""
    one = edit.chosen(o for o in certain(edit) if o.settled_by is not None)
    moved = one._replace(offset=end_of(edit, one) + 3)
    poll(edit, moved, 960_000, (later_ns(one, 1), later_ns(one, 3)), 1)
    tell(edit, moved, 960_000, (later_ns(one, 4), later_ns(one, 6)))


@mutation("share", invalid("share-not-in-log"), RUNS, 2)
def a_record_past_the_end_is_delivered_at_last(edit: Edit) -> None:
    """After the end was listed a member is given, above it, a record that was acknowledged long before."""
    one = edit.chosen(certain(edit))
    at_ns = max(o.poll.time_ns for o in drained(edit))
    moved = one._replace(offset=end_of(edit, one))
    poll(edit, moved, 960_000, (at_ns + 2 * SECOND_NS, at_ns + 3 * SECOND_NS), 1)


@mutation("share", invalid("share-not-in-log"), RUNS, 2)
def a_delivered_record_is_in_no_final_read(edit: Edit) -> None:
    """No final read returns a record that members were given; records behind it are there."""
    one = edit.chosen(certain(edit))
    for read in final_reads(edit.original, one.poll.key, one.partition):
        edit.change(read.index, lambda value: without_offsets(value, one.partition, {one.offset}))


@mutation("share", invalid("share-wrong-record"), RUNS, 2)
def final_reads_have_another_value(edit: Edit) -> None:
    """All final reads return the partition's first value where members were given another one."""
    one = edit.chosen(o for o in certain(edit) if o.offset > 0)
    for read in final_reads(edit.original, one.poll.key, one.partition):
        first = next(values[0] for number, _, values in read.value["records"] if number == one.partition)
        edit.change(
            read.index, partial(replace_value, partition=one.partition, offset=one.offset, given=first)
        )


@mutation("share", unknown(r"worker-\d"), RUNS, 2)
def a_worker_whose_journal_is_lost_may_have_sent_it(edit: Edit) -> History:
    """A member is given a value that nobody sent, and the journal of its worker lacks its end."""
    one = edit.chosen(given(edit.original))
    revalue(edit, one, one.value + UNSENT)
    worker = one.value // 1_000_000_000 % 16
    return msgspec.structs.replace(edit.history(), lacking=frozenset({f"worker-{worker}"}))


@mutation("share", unknown("share-wrong-record may only be a gap"), RUNS, 2)
def a_fault_that_is_not_recorded_may_have_changed_it(edit: Edit) -> History:
    """A poll returns another record's value, and the journal of faults lacks its end."""
    one = edit.chosen(drained(edit))
    first = min((o for o in given(edit.original) if o.partition == one.partition), key=lambda o: o.offset)
    revalue(edit, one, first.value)
    return msgspec.structs.replace(edit.history(), lacking=frozenset({"nemesis"}))


@mutation("share", VALID, RUNS, 2)
def another_group_is_given_the_same(edit: Edit) -> None:
    """A member of a second group, of which nothing is required, is given a record of the log too."""
    one = edit.chosen(given(edit.original))
    asked = one.asked.value | {"group": "share-1"}
    like = one._replace(asked=msgspec.structs.replace(one.asked, value=asked))
    poll(edit, like, 960_000, (one.poll.time_ns + 1, one.poll.time_ns + 2 * SECOND_NS), 1)


@mutation("share", VALID, RUNS, 2)
def a_run_is_divided(edit: Edit) -> None:
    """A poll returns the records of a partition in two runs, the later one first."""
    one = edit.chosen(o for o in given(edit.original) if len(o.poll.value["records"][0][1]) > 1)

    def change(value: dict[str, Any]) -> None:
        (number, *columns), *others = value["records"]
        runs = [[number, *(column[part] for column in columns)] for part in (slice(1, None), slice(1))]
        value["records"] = [*runs, *others]

    edit.change(one.poll.index, change)


@mutation("share", VALID, RUNS, 2)
def what_is_past_the_listed_end_may_be_new(edit: Edit) -> None:
    """After the end was listed a record is sent, with an unknown outcome; a member is given it there."""
    one = edit.chosen(given(edit.original))
    at_ns = max(o.poll.time_ns for o in drained(edit)) + 2 * SECOND_NS
    asked = [[one.partition, one.value + UNSENT]]
    process = 950_000
    edit.add_call(
        process, "send", one.poll.key, (at_ns, at_ns + 1), (asked, asked), ended=INFO, error="_TIMED_OUT"
    )
    new = one._replace(offset=end_of(edit, one), value=one.value + UNSENT)
    poll(edit, new, 960_000, (at_ns + 2, at_ns + SECOND_NS), 1)
    tell(edit, new, 960_000, (at_ns + SECOND_NS + 1, at_ns + 2 * SECOND_NS))
