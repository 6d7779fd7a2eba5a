"""Share groups (KIP-932): what their members are given, what they acknowledge, and where the groups go on."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from checkers.history.operations import History, Operation, once
from tests.mutations.edits import Edit
from tests.mutations.looking import FAIL, INFO, OK, SECOND_NS, acked, pairs, phase_ns
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUNS = ("share",)
MS_NS = 1_000_000
LIMIT = 5
"""Of deliveries, as the run has it."""
LOCK_MS = 4_000
FINAL = ("accept", "reject")
SERVER_ERROR = "UNKNOWN_SERVER_ERROR: The server experienced an unexpected error when processing the request."


class Given(NamedTuple):
    """A record that a poll returned, and how its member then settled it.

    Attributes:
        poll: the poll's completion.
        asked: the poll's invocation.
        partition: number of the partition.
        offset: where the record is.
        value: of the record.
        count: its delivery count.
        settled_by: invocation and completion of the acknowledgement; None if the member sent none.
        type: of the acknowledgement.
        confirmed: whether a broker confirmed it.
    """

    poll: Operation
    asked: Operation
    partition: int
    offset: int
    value: int
    count: int  # type: ignore[assignment]  # the field has the name of a method of tuples
    settled_by: tuple[Operation, Operation] | None
    type: str
    confirmed: bool


@once
def given(history: History) -> tuple[Given, ...]:
    """Every record that a poll returned, in the order of the polls' completions."""
    found, last = [], dict[Any, tuple[Operation, Operation]]()
    acknowledgements: dict[tuple[int, int, int], tuple[tuple[Operation, Operation], str, bool]] = {}
    calls = sorted(pairs(history, "share-poll", "acknowledge"), key=lambda call: call[0].index)
    for asked, done in calls:
        if asked.f == "share-poll":
            last[asked.process] = asked, done
            continue
        refused = {number for number, _ in done.value["refused"]} if done.type is OK else None
        poll = last[asked.process][1].index
        for number, offsets, types in asked.value["acknowledgements"]:
            confirmed = refused is not None and number not in refused
            for offset, kind in zip(offsets, types, strict=True):
                acknowledgements[poll, number, offset] = (asked, done), kind, confirmed
    for asked, done in sorted(pairs(history, "share-poll"), key=lambda call: call[1].index):
        if done.type is not OK:
            continue
        for number, offsets, values, counts in done.value["records"]:
            for offset, value, count in zip(offsets, values, counts, strict=True):
                call, kind, confirmed = acknowledgements.get((done.index, number, offset), (None, "", False))
                found.append(Given(done, asked, number, offset, value, count, call, kind, confirmed))
    return tuple(found)


def drained(edit: Edit) -> list[Given]:
    """Records that the member got that drains the group after recovery, when no fault is near."""
    from_ns = phase_ns(edit.original, "final-read")
    return [one for one in given(edit.original) if one.asked.time_ns > from_ns + 2 * SECOND_NS]


def finished(edit: Edit) -> Iterator[tuple[Given, Given]]:
    """Records that were accepted or rejected under load, each with a lower one that was delivered later."""
    rest = drained(edit)
    for one in given(edit.original):
        if one.confirmed and one.type in FINAL and one.settled_by is not None:
            last_ns = one.settled_by[1].time_ns + 10 * MS_NS
            lower = (r for r in rest if r.partition == one.partition and r.offset < one.offset)
            later = next((r for r in lower if r.asked.time_ns > last_ns), None)
            if later is not None:
                yield one, later


def poll(edit: Edit, like: Given, process: int, times_ns: tuple[int, int], count: int) -> None:
    """Let a member that nobody knew before be given a record."""
    asked = like.asked.value | {"consumer": 0}
    records = [[like.partition, [like.offset], [like.value], [count]]]
    edit.add_call(process, "share-poll", like.asked.key, times_ns, (asked, asked | {"records": records}))


def tell(edit: Edit, like: Given, process: int, times_ns: tuple[int, int], kind: str = "accept") -> None:
    """Let that member acknowledge it, which a broker confirms."""
    asked = {name: like.asked.value[name] for name in ("client", "group")} | {"consumer": 0}
    asked["acknowledgements"] = [[like.partition, [like.offset], [kind]]]
    edit.add_call(process, "acknowledge", like.asked.key, times_ns, (asked, asked | {"refused": []}))


def refuse(edit: Edit, one: Given, error: str) -> None:
    """Let the acknowledgements of a partition be refused, of the request that has this record's."""
    assert one.settled_by is not None
    edit.change(one.settled_by[1].index, lambda value: value["refused"].append([one.partition, error]))


def retype(edit: Edit, one: Given, kind: str) -> None:
    """Let a member acknowledge a record otherwise."""

    def change(value: dict[str, Any]) -> None:
        for number, offsets, types in value["acknowledgements"]:
            if number == one.partition and one.offset in offsets:
                types[offsets.index(one.offset)] = kind

    assert one.settled_by is not None
    for operation in one.settled_by:
        edit.change(operation.index, change)


def recount(edit: Edit, one: Given, count: int) -> None:
    """Let a record have another delivery count."""

    def change(value: dict[str, Any]) -> None:
        for number, offsets, _, counts in value["records"]:
            if number == one.partition and one.offset in offsets:
                counts[offsets.index(one.offset)] = count

    edit.change(one.poll.index, change)


def withhold(edit: Edit, partition: int, offset: int) -> None:
    """Let no member be given a record, nor acknowledge it."""

    def without(value: dict[str, Any], name: str) -> None:
        kept = []
        for number, offsets, *columns in value[name]:
            stays = [i for i, at in enumerate(offsets) if (number, at) != (partition, offset)]
            if stays:
                kept.append([number, *([column[i] for i in stays] for column in (offsets, *columns))])
        value[name] = kept

    for one in given(edit.original):
        if (one.partition, one.offset) == (partition, offset):
            edit.change(one.poll.index, lambda value: without(value, "records"))
            for operation in one.settled_by or ():
                edit.change(operation.index, lambda value: without(value, "acknowledgements"))


def later_ns(one: Given, ms: int) -> int:
    """Some milliseconds after the acknowledgement of a record was answered."""
    assert one.settled_by is not None
    return one.settled_by[1].time_ns + ms * MS_NS


def sent(edit: Edit, after_ns: int, before_ns: int) -> list[Given]:
    """One delivery of each record below the last start offset whose sending began within some time."""
    began = {o.index: i.time_ns for i, o in pairs(edit.original, "send")}
    within = {(r.partition, r.offset) for r in acked(edit.original) if after_ns < began[r.index] < before_ns}
    starts = dict(last_starts(edit).value["offsets"])
    found = {
        (one.partition, one.offset): one for one in given(edit.original) if one.offset < starts[one.partition]
    }
    return [found[name] for name in sorted(within & found.keys())]


def last_starts(edit: Edit) -> Operation:
    """The last answer with start offsets."""
    return [o for o in edit.original.of("share-offsets") if o.type is OK][-1]


def faults_ns(edit: Edit) -> tuple[int, int]:
    """When the first fault began, and when the last one was over."""
    injected = [o.time_ns for o in edit.original.of("inject")]
    healed = [o.time_ns for o in edit.original.of("heal") if o.key is not None]
    return min(injected), max(healed)


@mutation("share", invalid("share-undelivered"), RUNS, 3)
def a_record_that_no_member_is_given(edit: Edit) -> None:
    """No member gets a record that was sent after all faults, and the group's start offset passes it."""
    one = edit.chosen(sent(edit, faults_ns(edit)[1], phase_ns(edit.original, "final-read")))
    withhold(edit, one.partition, one.offset)


@mutation("share", unknown("tries whose answers were lost"), RUNS, 3)
def tries_of_a_record_may_be_lost(edit: Edit) -> None:
    """No member gets a record that was sent before faults, which may have lost all answers with it."""
    one = edit.chosen(sent(edit, 0, faults_ns(edit)[0]))
    withhold(edit, one.partition, one.offset)


@mutation("share", invalid("acknowledged-twice"), RUNS, 3)
def a_finished_record_is_accepted_again(edit: Edit) -> None:
    """A record that was accepted or rejected is given to another member, whose acceptance is confirmed."""
    one, later = edit.chosen(finished(edit))
    poll(edit, one, 960_000, (later_ns(one, 1), later_ns(one, 3)), one.count + 1)
    tell(edit, one, 960_000, (later_ns(one, 4), min(later_ns(one, 8), later.asked.time_ns - 1)))


@mutation("share", invalid("acknowledged-twice"), RUNS, 3)
def a_finished_record_is_released(edit: Edit) -> None:
    """A record that was accepted or rejected is given to another member, whose release is confirmed."""
    one, later = edit.chosen(finished(edit))
    poll(edit, one, 960_000, (later_ns(one, 1), later_ns(one, 3)), one.count + 1)
    tell(edit, one, 960_000, (later_ns(one, 4), min(later_ns(one, 8), later.asked.time_ns - 1)), "release")


@mutation("share", invalid("acknowledged-twice"), RUNS, 2)
def two_members_accept_a_record(edit: Edit) -> None:
    """Two members get a record at the same time, and both acceptances are confirmed."""
    one, _ = edit.chosen(finished(edit))
    assert one.settled_by is not None
    edit.set(one.poll.index, time_ns=(one.asked.time_ns + one.poll.time_ns) // 2)
    begin_ns, end_ns = one.poll.time_ns, one.settled_by[1].time_ns
    step_ns = (end_ns - begin_ns) // 5
    poll(edit, one, 960_000, (one.asked.time_ns + 1, begin_ns), one.count)
    tell(edit, one, 960_000, (begin_ns + step_ns, begin_ns + 4 * step_ns))


@mutation("share", invalid("delivered-after-acknowledgement"), RUNS, 3)
def a_finished_record_comes_back(edit: Edit) -> None:
    """Far from any fault another member is given a record that was accepted or rejected long before."""
    one = edit.chosen(o for o in given(edit.original) if o.confirmed and o.type in FINAL)
    at_ns = max(o.poll.time_ns for o in drained(edit))
    poll(edit, one, 960_000, (at_ns + 2 * SECOND_NS, at_ns + 3 * SECOND_NS), one.count + 1)


@mutation("share", invalid("delivered-after-acknowledgement"), RUNS, 2)
def a_rejected_record_comes_back(edit: Edit) -> None:
    """Far from any fault a record is rejected, and given to another member half a second later."""
    one = edit.chosen(o for o in drained(edit) if o.confirmed)
    retype(edit, one, "reject")
    poll(edit, one, 960_000, (later_ns(one, 500), later_ns(one, 520)), one.count + 1)


@mutation("share", invalid("too-many-deliveries"), RUNS, 3)
def one_delivery_more_than_the_limit(edit: Edit) -> None:
    """A record is delivered with a delivery count of one more than the limit."""
    one = edit.chosen(o for o in given(edit.original) if o.count == LIMIT)
    recount(edit, one, LIMIT + 1)


@mutation("share", invalid("delivery-count-lost"), RUNS, 3)
def a_count_begins_again_after_a_release(edit: Edit) -> None:
    """Far from any fault a record is released, and the next delivery has the count of the released one."""
    one = edit.chosen(o for o in drained(edit) if o.confirmed)
    retype(edit, one, "release")
    again(edit, one, one.count)


def again(edit: Edit, one: Given, count: int, after_ms: int = 500) -> None:
    """Let another member be given a record after an acknowledgement, and accept it."""
    poll(edit, one, 960_000, (later_ns(one, after_ms), later_ns(one, after_ms + 20)), count)
    tell(edit, one, 960_000, (later_ns(one, after_ms + 25), later_ns(one, after_ms + 35)))


@mutation("share", invalid("acquired-twice"), RUNS, 2)
def a_record_that_a_member_holds_is_given_away(edit: Edit) -> None:
    """A member accepts a record that another one got meanwhile; a lower record is still available."""
    exact = [o for o in drained(edit) if o.confirmed and o.asked.time_ns < empty_ns(edit)]
    first = {o.poll.index: o for o in reversed(exact)}
    one = edit.chosen(o for o in exact if first[o.poll.index].offset < o.offset and o.partition == 1)
    lowest = first[one.poll.index]
    retype(edit, lowest, "release")
    again(edit, lowest, lowest.count + 1, 100)
    assert one.settled_by is not None
    step_ns = (one.poll.time_ns - one.asked.time_ns) // 3
    edit.set(one.poll.index, time_ns=one.asked.time_ns + step_ns)
    poll(edit, one, 970_000, (one.asked.time_ns + step_ns + MS_NS, one.poll.time_ns), one.count + 1)


def empty_ns(edit: Edit) -> int:
    """When the member that drains the group first had a poll without records."""
    process = drained(edit)[0].poll.process
    empty = (o for o in edit.original.of("share-poll") if o.process == process and o.type is OK)
    return next(o.time_ns for o in empty if not o.value["records"])


@mutation("share", invalid("share-start-went-back"), RUNS, 3)
def a_record_below_the_start_is_delivered(edit: Edit) -> None:
    """A member gets a record below the start offset whose acknowledgement was not confirmed before."""
    done = {(o.partition, o.offset) for o in given(edit.original) if o.confirmed and o.type in FINAL}
    starts = dict(last_starts(edit).value["offsets"])
    passed = (o for o in given(edit.original) if o.offset < starts[o.partition])
    one = edit.chosen(o for o in passed if (o.partition, o.offset) not in done)
    at_ns = max(o.poll.time_ns for o in drained(edit))
    poll(edit, one, 960_000, (at_ns + 2 * SECOND_NS, at_ns + 3 * SECOND_NS), one.count + 1)


@mutation("share", unknown("did not finish"), RUNS, 3)
def the_last_acknowledgement_is_lost(edit: Edit) -> None:
    """The last acknowledgements of a partition are not confirmed; its start offset stays below them."""
    last = {o.partition: o for o in given(edit.original) if o.confirmed}
    refuse(edit, edit.chosen(last[number] for number in sorted(last)), SERVER_ERROR)


@mutation("share", unknown("did not finish"), RUNS)
def no_start_offset_was_reported(edit: Edit) -> None:
    """All requests for start offsets failed, and some acknowledgements had not been confirmed."""
    for o in edit.original.of("share-offsets"):
        if o.type is OK:
            edit.set(o.index, type=FAIL, value=None, error="TimeoutException")


@mutation("share", unknown("acknowledged share-0"), RUNS)
def no_acknowledgement_was_confirmed(edit: Edit) -> None:
    """No broker confirmed an acknowledgement, although the start offsets passed the records."""
    for o in edit.original.of("acknowledge"):
        if o.type is OK:
            numbers = [number for number, _, _ in o.value["acknowledgements"]]
            refused = [[number, SERVER_ERROR] for number in numbers]
            edit.set(o.index, value=o.value | {"refused": refused})


@mutation("share", invalid("share-undelivered"), RUNS)
def a_group_without_members_goes_on(edit: Edit) -> None:
    """No member of the group polls, but its start offsets pass records that were sent after all faults."""
    edit.drop(*polled(edit))


@mutation("share", unknown("no member of share-0 polled"), RUNS)
def no_member_polled(edit: Edit) -> None:
    """No member of the group polls, and it has no start offsets."""
    edit.drop(*polled(edit))
    for o in edit.original.of("share-offsets"):
        if o.type is OK:
            none = [[number, None] for number, _ in o.value["offsets"]]
            edit.set(o.index, value=o.value | {"offsets": none})


def polled(edit: Edit) -> list[int]:
    """All polls and acknowledgements of members."""
    return [o.index for f in ("share-poll", "acknowledge") for o in edit.original.of(f)]


@mutation("share", VALID, RUNS, 3)
def a_member_holds_a_record_until_its_lock_ends(edit: Edit) -> None:
    """A member acknowledges nothing of a record; another one gets it after the end of the lock."""
    one = edit.chosen(o for o in drained(edit) if o.count == 1 and o.offset > 800)
    lock_ns = LOCK_MS * MS_NS
    poll(
        edit, one, 960_000, (one.asked.time_ns - lock_ns - 9 * MS_NS, one.asked.time_ns - lock_ns - MS_NS), 1
    )
    recount(edit, one, 2)


@mutation("share", VALID, RUNS, 3)
def a_record_is_released_and_accepted(edit: Edit) -> None:
    """A record is released, and delivered again with a count of one more; that member accepts it."""
    one = edit.chosen(o for o in drained(edit) if o.confirmed and o.count < LIMIT)
    retype(edit, one, "release")
    again(edit, one, one.count + 1)


@mutation("share", VALID, RUNS, 3)
def a_failed_acknowledgement_is_repeated(edit: Edit) -> None:
    """Acknowledgements fail; another member is given the records one by one, and accepts them."""
    one = edit.chosen(o for o in drained(edit) if o.confirmed and o.count == 1)
    refuse(edit, one, SERVER_ERROR)
    failed = [o for o in drained(edit) if o.poll is one.poll and o.partition == one.partition]
    for number, each in enumerate(failed):
        again(edit, each, each.count + 1, 100 + 40 * number)


@mutation("share", VALID, RUNS, 3)
def a_refused_acknowledgement_was_stored(edit: Edit) -> None:
    """An acknowledgement is refused, but the start offset passes its records: they were archived."""
    last = max(o.poll.index for o in drained(edit))
    one = edit.chosen(o for o in drained(edit) if o.confirmed and o.poll.index < last and o.partition == 1)
    refuse(edit, one, SERVER_ERROR)


@mutation("share", VALID, RUNS, 2)
def the_fate_of_an_acknowledgement_is_unknown(edit: Edit) -> None:
    """An acknowledgement has no answer; the start offset passes its records later."""
    one = edit.chosen(o for o in under_load(edit) if o.confirmed)
    assert one.settled_by is not None
    edit.set(one.settled_by[1].index, type=INFO, value=one.settled_by[0].value, error="TimeoutException")
    for o in edit.original.operations:
        if o.process == one.poll.process and o.index > one.settled_by[1].index:
            edit.set(o.index, process=985_000)


def under_load(edit: Edit) -> list[Given]:
    """Records below the last start offset that were delivered before all faults were healed."""
    starts = dict(last_starts(edit).value["offsets"])
    until_ns = phase_ns(edit.original, "heal")
    before = (o for o in given(edit.original) if o.poll.time_ns < until_ns)
    return [o for o in before if o.offset + 20 < starts[o.partition]]


@mutation("share", VALID, RUNS, 2)
def start_offsets_are_not_told_once(edit: Edit) -> None:
    """One request for start offsets fails; others were answered."""
    answers = [o for o in edit.original.of("share-offsets") if o.type is OK]
    edit.set(edit.chosen(answers[:-1]).index, type=FAIL, value=None, error="TimeoutException")
