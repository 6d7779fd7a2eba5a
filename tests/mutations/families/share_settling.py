"""Share groups after the recovery: what their last member must be given, and may acknowledge."""

from typing import Any

from tests.mutations.edits import Edit, replaced
from tests.mutations.families.share import MS_NS, RUNS, drained, sent, withhold
from tests.mutations.looking import OK, SECOND_NS, pairs, phase_ns
from tests.mutations.suite import invalid, mutation


@mutation("share", invalid("share-stuck"), RUNS, 3)
def a_record_that_nobody_gets_although_the_last_member_polls_for_long(edit: Edit) -> None:
    """No member gets a record that was sent after the recovery, although the last one polls for long."""
    recovered_ns = max(o.time_ns for o in edit.original.of("recover"))
    one = edit.chosen(sent(edit, recovered_ns, phase_ns(edit.original, "final-read")))
    withhold(edit, one.partition, one.offset)
    for operation in edit.original.of("share-offsets"):
        if operation.type is OK:
            edit.change(operation.index, lambda value: start_at_most(value, one.partition, one.offset))
    last = max((done for _, done in pairs(edit.original, "share-poll")), key=lambda done: done.index)
    later = last.time_ns + 61 * SECOND_NS
    asked = {name: last.value[name] for name in ("client", "group", "consumer", "prefetches")}
    values = (asked, asked | {"records": []})
    edit.add_call(last.process, "share-poll", last.key, (later, later + MS_NS), values)


@mutation("share", invalid("share-lock-lost"), RUNS, 3)
def a_member_does_not_hold_what_it_was_given(edit: Edit) -> None:
    """An acknowledgement is refused at once, because its member does not hold the records."""
    error = "InvalidRecordStateException: The record state is invalid."
    place, partition = edit.chosen(
        (one.settled_by[1].index, one.partition) for one in drained(edit) if one.confirmed and one.settled_by
    )
    edit.change(place, lambda value: replaced(value, refused=[[partition, error]]))


def start_at_most(value: dict[str, Any], partition: int, start: int) -> None:
    """Let the start offset of a partition be no higher than this one."""
    value["offsets"] = [
        [number, min(start_offset, start) if number == partition else start_offset]
        for number, start_offset in value["offsets"]
    ]
