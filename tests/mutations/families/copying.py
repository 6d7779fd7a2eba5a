"""Records that are copied exactly once: copies without offsets, offsets without copies, copies of copies."""

from functools import partial
from itertools import pairwise
from typing import Any

from tests.mutations.edits import Edit
from tests.mutations.families.transactions import committed, sent
from tests.mutations.looking import FAIL, INFO, OK, final_reads, pairs, without_offsets
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUNS = ("copy",)


def _offsets(edit: Edit) -> Any:
    return next(o for o in edit.original.of("committed-offsets") if o.type is OK)


@mutation("copying", invalid("copy-lost"), RUNS, 4)
def a_transactions_copies_are_gone(edit: Edit) -> None:
    """No reader finds any copy of a committed transaction, and the disks agree with that."""
    for topic, number, _, offset in sent(edit.chosen(committed(edit))):
        for read in final_reads(edit.original, topic, number):
            edit.change(read.index, partial(without_offsets, partition=number, lost={offset}))


@mutation("copying", invalid("copy-duplicated"), RUNS, 3)
def two_transactions_copied_the_same_input(edit: Edit) -> None:
    """Two committed transactions, one after the other, report that they copied the same record."""
    calls = [
        (i, o) for i, o in pairs(edit.original, "txn") if o.type is OK and o.value.get("consumed") and sent(o)
    ]
    first, second = edit.chosen(pairwise(calls))
    topic, number, offsets, values = first[1].value["consumed"][0]

    def change(value: dict[str, Any]) -> None:
        chunk = value["consumed"][0]
        rest = [[chunk[0], chunk[1], chunk[2][1:], chunk[3][1:]]] if len(chunk[2]) > 1 else []
        value["consumed"] = [[topic, number, offsets[:1], values[:1]], *rest, *value["consumed"][1:]]

    for o in second:
        edit.change(o.index, change)


@mutation("copying", invalid("copy-without-offsets", "committed-offset-unasked"), RUNS, 4)
def the_groups_offset_is_nowhere(edit: Edit) -> None:
    """The group has no offset of a partition whose records committed transactions had copied."""
    answer = _offsets(edit)

    def change(value: dict[str, Any]) -> None:
        value["offsets"][edit.place][1] = None

    edit.change(answer.index, change)


@mutation("copying", invalid("copy-without-offsets"), RUNS, 4)
def the_groups_offset_is_an_old_one(edit: Edit) -> None:
    """The group's offset is that of a transaction of long ago."""
    answer = _offsets(edit)
    partition, now = answer.value["offsets"][edit.place]
    asked = [
        offset
        for o in committed(edit)
        for mop in o.value["mops"]
        if mop[0] == "offsets"
        for number, offset in mop[3]
        if number == partition and offset < now
    ]

    def change(value: dict[str, Any]) -> None:
        value["offsets"][edit.place][1] = asked[len(asked) // 2]

    edit.change(answer.index, change)


@mutation("copying", invalid("committed-offset-unasked"), RUNS, 3)
def the_groups_offset_is_between_two_transactions(edit: Edit) -> None:
    """The group's offset is one above that of every transaction."""
    answer = _offsets(edit)

    def change(value: dict[str, Any]) -> None:
        value["offsets"][edit.place][1] += 1

    edit.change(answer.index, change)


@mutation("copying", invalid("G1a", "marker-against-answer"), RUNS, 3)
def a_commit_that_was_an_abort(edit: Edit) -> None:
    """A transaction whose copies are read was aborted, as its coordinator acknowledged."""
    ok = edit.chosen(o for o in committed(edit) if o.value.get("consumed"))
    edit.change(ok.index, lambda value: value.update(ended="abort"))
    edit.set(ok.index, type=FAIL)


@mutation("copying", unknown("committed-offsets"), RUNS, 1)
def nobody_told_where_the_group_goes_on(edit: Edit) -> None:
    """The group's offsets were requested at the end, and no coordinator answered."""
    edit.set(_offsets(edit).index, type=FAIL, value=None, error="COORDINATOR_LOAD_IN_PROGRESS")


@mutation("copying", VALID, RUNS, 3)
def a_transaction_is_of_unknown_fate(edit: Edit) -> None:
    """The answer to the commit of a transaction is lost; its copies and its offsets are there."""
    last = {o.process: o for o in committed(edit)}
    ok = edit.chosen(o for o in committed(edit) if o is not last[o.process])
    edit.change(ok.index, lambda value: value.update(ended=None))
    edit.set(ok.index, type=INFO, error="_TIMED_OUT")
    for o in edit.original.operations:
        if o.process == ok.process and o.index > ok.index:
            edit.set(o.index, process=987_000)


@mutation("copying", VALID, RUNS, 3)
def an_attempt_that_was_aborted(edit: Edit) -> None:
    """One more transaction was aborted before any of its copies was sent."""
    began, ok = edit.chosen((i, o) for i, o in pairs(edit.original, "txn") if o.type is OK)
    mops = [mop for mop in ok.value["mops"] if mop[0] != "send"]
    value = {"client": ok.value["client"], "end": "commit", "mops": mops, "consumed": []}
    times_ns = (ok.time_ns + 1, ok.time_ns + 2)
    answer = value | {"ended": "abort", "ending_ns": ok.time_ns + 1}
    edit.add_call(988_000, "txn", ok.key, times_ns, (value, answer), ended=FAIL, error=None)
    del began


@mutation("copying", VALID, RUNS, 1)
def the_groups_offsets_are_asked_for_again(edit: Edit) -> None:
    """The group's offsets are asked for a second time, and are the same."""
    answer = _offsets(edit)
    asked = {"topic": answer.value["topic"]}
    times_ns = (answer.time_ns + 1, answer.time_ns + 2)
    edit.add_call(989_000, "committed-offsets", answer.key, times_ns, (asked, answer.value))
