"""Records that readers are given and replicas hold: lost, doubled, exchanged, passed over, out of order."""

from itertools import pairwise
from typing import Any

from checkers.history.operations import Operation
from tests.mutations.batches import kept, rewritten
from tests.mutations.edits import Edit
from tests.mutations.looking import (
    FAIL,
    INFO,
    SECOND_NS,
    acked,
    by_partition,
    chunks,
    final_reads,
    pairs,
    phase_ns,
    polls,
    replace_value,
    replicas,
    settled,
    settled_record,
    without_offsets,
)
from tests.mutations.suite import VALID, invalid, mutation

LOGS = ("chaos", "bulk", "smoke", "moves", "voters", "disks", "format-1")
POLLED = tuple(name for name in LOGS if name != "bulk")
_LOST = ("lost-write",)


@mutation("records", invalid(*_LOST), LOGS, 3)
def lost_tail(edit: Edit) -> None:
    """A partition loses its log from an acknowledged record on: final reads and disks end there."""
    record = settled_record(edit)
    cut = record.offset
    for read in final_reads(edit.original, record.topic, record.partition):
        edit.change(read.index, lambda value: _end_at(value, record.partition, cut))
    for replica in replicas(edit.original, record.topic, record.partition):
        edit.change(replica.index, rewritten(lambda c: kept(c, c["base_offset"] < cut)))


def _end_at(value: dict[str, Any], partition: int, cut: int) -> None:
    without_offsets(value, partition, range(cut, 2**62))
    value["end"] = value["position"] = cut


@mutation("records", invalid(*_LOST, "unseen"), LOGS, 3)
def not_in_final_reads(edit: Edit) -> None:
    """No final read returns an acknowledged record, although disks hold it and later ones are read."""
    record = settled_record(edit)
    for read in final_reads(edit.original, record.topic, record.partition):
        edit.change(read.index, lambda value: without_offsets(value, record.partition, {record.offset}))


@mutation("records", invalid("client-disagreement", "poll-skip", "int-poll-skip"), LOGS, 2)
def not_in_one_final_read(edit: Edit) -> None:
    """One of the final readers does not get an acknowledged record that the others get."""
    record = settled_record(edit)
    read = edit.draw.choice(final_reads(edit.original, record.topic, record.partition))
    edit.change(read.index, lambda value: without_offsets(value, record.partition, {record.offset}))


@mutation("records", invalid("inconsistent-offsets"), LOGS, 3)
def exchanged_in_final_reads(edit: Edit) -> None:
    """Final reads return two acknowledged records at each other's offsets."""
    first, second = _neighbours(edit)
    for read in final_reads(edit.original, first.topic, first.partition):
        edit.change(read.index, lambda value: _exchange(value, first, second))


@mutation("records", invalid("inconsistent-offsets", "client-disagreement"), LOGS, 2)
def exchanged_in_one_final_read(edit: Edit) -> None:
    """One final read returns two acknowledged records at each other's offsets."""
    first, second = _neighbours(edit)
    read = edit.draw.choice(final_reads(edit.original, first.topic, first.partition))
    edit.change(read.index, lambda value: _exchange(value, first, second))


def _neighbours(edit: Edit) -> tuple[Any, Any]:
    """Two acknowledged records of a partition, one after the other."""
    ordered = [sorted(some, key=lambda r: r.offset) for some in by_partition(settled(edit.original)).values()]
    chosen: tuple[Any, Any] = edit.chosen(pair for some in ordered for pair in pairwise(some))
    return chosen


def _exchange(value: dict[str, Any], first: Any, second: Any) -> None:
    replace_value(value, first.partition, first.offset, second.value)
    replace_value(value, first.partition, second.offset, first.value)


@mutation("records", invalid("phantom"), POLLED, 2)
def value_that_nobody_sent(edit: Edit) -> None:
    """A poll returns a value of a worker that nobody sent."""
    poll = edit.chosen(polls(edit.original))
    edit.change(poll.index, lambda value: _first_becomes(value, 998_000_000_001))


@mutation("records", invalid("phantom"), LOGS, 2)
def foreign_bytes(edit: Edit) -> None:
    """All final reads return, instead of a record, bytes that no producer of the run wrote."""
    record = settled_record(edit)
    for read in final_reads(edit.original, record.topic, record.partition):
        edit.change(read.index, lambda v: replace_value(v, record.partition, record.offset, "\\x00rubbish"))


def _first_becomes(value: dict[str, Any], given: Any) -> None:
    value["records"][0][2][0] = given


@mutation("records", invalid("phantom"), POLLED, 2)
def record_of_another_partition(edit: Edit) -> None:
    """A poll returns, in one partition, a value that was only sent to another partition."""
    poll = edit.chosen(p for p in polls(edit.original) if len(p.value["records"]) > 1)
    edit.change(poll.index, lambda value: _first_becomes(value, value["records"][1][2][0]))


@mutation("records", invalid("duplicate"), LOGS, 3)
def record_twice(edit: Edit) -> None:
    """Every final read returns an acknowledged record of an idempotent producer again, at the log's end."""
    record = settled_record(edit)
    for read in final_reads(edit.original, record.topic, record.partition):
        edit.change(read.index, lambda value: _again(value, record))


def _again(value: dict[str, Any], record: Any) -> None:
    value["records"].append([record.partition, [value["end"]], [record.value]])
    value["end"] += 1
    value["position"] += 1


@mutation("records", invalid("int-poll-skip"), POLLED, 2)
def poll_leaves_one_out(edit: Edit) -> None:
    """A poll returns the records before and after an acknowledged one, but not that one."""
    known = {(r.topic, r.partition, r.offset) for r in acked(edit.original)}
    places = [
        (poll.index, number, position)
        for poll in polls(edit.original)
        for number, position, offset, _ in chunks(poll.value)
        if 0 < position < len(poll.value["records"][number][1]) - 1
        and (poll.key, poll.value["records"][number][0], offset) in known
    ]
    index, number, position = edit.chosen(places)
    edit.change(
        index, lambda value: [value["records"][number][part].pop(position) for part in (1, 2)] and None
    )


@mutation("records", invalid("poll-skip"), POLLED, 2)
def poll_is_passed_over(edit: Edit) -> None:
    """A consumer's poll returns nothing, and its next poll begins after the records that were due."""
    history = edit.original
    last_ns = phase_ns(history, "heal") - 5 * SECOND_NS
    known = {(r.topic, r.partition, r.offset) for r in acked(history)}
    asked = {ok.index: invoked for invoked, ok in pairs(history, "poll")}
    places = [
        poll
        for poll in polls(history)
        if poll.time_ns < last_ns
        and poll.index in asked
        and any(
            (poll.key, poll.value["records"][n][0], offset) in known for n, _, offset, _ in chunks(poll.value)
        )
        and _polled_later(poll, polls(history))
    ]
    poll = edit.chosen(places)
    edit.change(poll.index, lambda value: value.update(records=[]))


def _polled_later(poll: Operation, all_polls: list[Operation]) -> bool:
    """Whether the same process is given later records of each of these partitions in its next poll or so."""
    wanted = {chunk[0] for chunk in poll.value["records"]}
    mine = [o for o in all_polls if o.process == poll.process and o.index > poll.index]
    return wanted <= {chunk[0] for o in mine for chunk in o.value["records"]}


@mutation("records", invalid("int-nonmonotonic-poll"), POLLED, 2)
def poll_backwards(edit: Edit) -> None:
    """A poll returns the records of a partition in reverse order."""
    places = [p for p in polls(edit.original) if len(p.value["records"][0][1]) > 1]
    poll = edit.chosen(places)
    edit.change(poll.index, lambda value: [part.reverse() for part in value["records"][0][1:]] and None)


@mutation("records", invalid("nonmonotonic-poll"), POLLED, 2)
def poll_once_more(edit: Edit) -> None:
    """A consumer without a new assignment gets the same records again from its next poll."""
    found = polls(edit.original)
    later: dict[int | str, Operation] = {}
    places = []
    for poll in reversed(found):
        if poll.process in later:
            places.append((poll, later[poll.process]))
        later[poll.process] = poll
    poll, following = edit.chosen(places[::-1])
    edit.change(following.index, lambda value: value.update(records=poll.value["records"] + value["records"]))


@mutation("records", invalid("G1a"), LOGS, 2)
def refused_record_is_read(edit: Edit) -> None:
    """A send was certainly refused, and readers got its records."""
    sends = {r.index for r in settled(edit.original)}
    invoked, ok = (
        edit.chosen(
            (i, o) for i, o in pairs(edit.original, "send") if o.index in sends and isinstance(o.value, list)
        )
        if edit.name != "bulk"
        else edit.chosen((i, o) for i, o in pairs(edit.original, "send") if o.index in sends)
    )
    value = [[partition, value, None, "fail"] for partition, value in _listed(invoked.value)]
    edit.set(ok.index, type=FAIL, value=value, error="NotEnoughReplicasError")


def _listed(value: Any) -> list[tuple[int, int]]:
    if isinstance(value, dict):
        first = value["first"]
        return [(value["partition"], number) for number in range(first, first + value["count"])]
    return [(entry[0], entry[1]) for entry in value]


@mutation("records", invalid("inconsistent-offsets"), POLLED, 2)
def poll_disagrees_with_the_end(edit: Edit) -> None:
    """A poll returned two records at each other's offsets; final reads and acknowledgements differ."""
    places = [p for p in polls(edit.original) if len(p.value["records"][0][1]) > 1]
    poll = edit.chosen(places)
    edit.change(poll.index, lambda value: _swap_values(value["records"][0][2]))


def _swap_values(values: list[Any]) -> None:
    values[0], values[1] = values[1], values[0]


@mutation("records", VALID, POLLED, 2)
def read_again_by_another(edit: Edit) -> None:
    """A consumer with a new assignment gets records again, which is allowed."""
    history = edit.original
    poll = edit.chosen(p for p in polls(history) if p.time_ns < phase_ns(history, "heal"))
    assigned = [[number, offsets[0]] for number, offsets, _ in poll.value["records"]]
    process, time_ns = 910_000 + edit.place, phase_ns(history, "heal") - 1_000_000
    edit.add_call(process, "assign", poll.key, (time_ns, time_ns + 1), (assigned, assigned))
    asked = next(i.value for i, o in pairs(history, "poll") if o.index == poll.index)
    edit.add_call(process, "poll", poll.key, (time_ns + 2, time_ns + 3), (asked, poll.value))


@mutation("records", VALID, POLLED, 2)
def poll_cut_in_two(edit: Edit) -> None:
    """A poll returns the first half of its records, and a second poll right after it the rest."""
    history = edit.original
    places = [
        (i, o) for i, o in pairs(history, "poll") if o.value["records"] and len(o.value["records"][0][1]) > 1
    ]
    invoked, poll = edit.chosen(places)
    number, offsets, values = poll.value["records"][0]
    half = len(offsets) // 2
    edit.change(poll.index, lambda value: value.update(records=[[number, offsets[:half], values[:half]]]))
    rest = [[number, offsets[half:], values[half:]], *poll.value["records"][1:]]
    edit.add_call(
        poll.process,
        "poll",
        poll.key,
        (poll.time_ns, poll.time_ns),
        (invoked.value, poll.value | {"records": rest}),
    )


@mutation("records", VALID, LOGS, 2)
def unknown_send_without_a_trace(edit: Edit) -> None:
    """A send with an unknown outcome is added, and its record is nowhere: it may not have happened."""
    history = edit.original
    record = edit.chosen(settled(history))
    asked = [[record.partition, 997_000_000_001]]
    answer = [[record.partition, 997_000_000_001, None, "info"]]
    times_ns = (record.time_ns, record.time_ns + 1000)
    edit.add_call(
        920_000, "send", record.topic, times_ns, (asked, answer), ended=INFO, error="KafkaTimeoutError"
    )
