"""An application of Kafka Streams: outputs that are gone, doubled, miscounted or elsewhere, offsets, ends."""

from collections.abc import Callable
from typing import Any, NamedTuple

from checkers.history.operations import History, Operation
from checkers.history.setup import recorded_setup
from tests.mutations.edits import Edit
from tests.mutations.looking import (
    FAIL,
    INFO,
    OK,
    final_reads,
    pairs,
    phase_ns,
    polls,
    without_offsets,
)
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUNS = ("streams",)
FAMILY = "streams"
Row = list[Any]
"""A record of the output, as docs/histories.md has it."""
_OFFSET, _MEMBER, _PARTITION, _PLACE, _KEY, _COUNT, _VALUE = range(7)
_SEVERAL = 6
"""As many records as a member may process between two commits."""


class Found(NamedTuple):
    """A record of the output.

    Attributes:
        read: the operation that returned it.
        at: which of the records of this operation it is.
    """

    read: Operation
    at: int


def reads(history: History) -> list[Operation]:
    """Complete reads of the output, one of each partition."""
    return [o for o in history.of("read-output") if o.type is OK]


def outputs(history: History, before: int = 0) -> list[Found]:
    """Records of the output that have at least some records before and after them in their partition."""
    return [
        Found(read, at)
        for read in reads(history)
        for at in range(before, len(read.value["records"]) - before)
    ]


def _change_rows(edit: Edit, read: Operation, change: Callable[[list[Row]], object]) -> None:
    def changed(value: dict[str, Any]) -> None:
        change(value["records"])

    edit.change(read.index, changed)


def _change_row(edit: Edit, field: int, given: Callable[[Any], Any]) -> None:
    """Change a field of the output at this mutation's place."""
    found = edit.chosen(outputs(edit.original))

    def change(rows: list[Row]) -> None:
        rows[found.at][field] = given(rows[found.at][field])

    _change_rows(edit, found.read, change)


def _answers(edit: Edit) -> list[Operation]:
    """Answers about the offsets of the group, of which the last one was given after the output was read."""
    return [o for o in edit.original.of("committed-offsets") if o.type is OK]


def _set_back(edit: Edit, *answers: Operation) -> None:
    """Let the group be some records behind in the partition of this mutation's place."""

    def change(value: dict[str, Any]) -> None:
        value["offsets"][edit.place][1] -= _SEVERAL

    for answer in answers:
        edit.change(answer.index, change)


@mutation(FAMILY, invalid("streams-lost"), RUNS, 3)
def an_output_is_gone(edit: Edit) -> None:
    """A record of the input has no output, and the group has passed it."""
    found = edit.chosen(outputs(edit.original))
    _change_rows(edit, found.read, lambda rows: rows.pop(found.at))


@mutation(FAMILY, invalid("streams-lost"), RUNS, 3)
def the_outputs_of_a_transaction_are_gone(edit: Edit) -> None:
    """Several outputs that follow each other are not there, as if their transaction had been aborted."""
    found = edit.chosen(outputs(edit.original, _SEVERAL))

    def change(rows: list[Row]) -> None:
        del rows[found.at : found.at + _SEVERAL]

    _change_rows(edit, found.read, change)


@mutation(FAMILY, invalid("streams-duplicated"), RUNS, 3)
def an_output_is_there_twice(edit: Edit) -> None:
    """An output is a second time at the end of its partition."""
    found = edit.chosen(outputs(edit.original))
    end = found.read.value["end"]
    _change_rows(edit, found.read, lambda rows: rows.append([end - 1, *rows[found.at][1:]]))


@mutation(FAMILY, invalid("streams-duplicated"), RUNS, 3)
def records_are_processed_again(edit: Edit) -> None:
    """Several records are processed a second time right after the first, and counted once more."""
    found = edit.chosen(outputs(edit.original, 2 * _SEVERAL))

    def change(rows: list[Row]) -> None:
        first, after = rows[found.at][_OFFSET], found.at + _SEVERAL
        again = [[*row[:_COUNT], row[_COUNT] + 1, row[_VALUE]] for row in rows[found.at : after]]
        rows[after:after] = again
        # Offsets of markers are taken, so that the partition gets no longer.
        for offset, row in enumerate(rows[found.at :], start=first):
            row[_OFFSET] = offset

    _change_rows(edit, found.read, change)


@mutation(FAMILY, invalid("streams-without-offsets"), RUNS, 3)
def the_group_is_behind_the_output(edit: Edit) -> None:
    """After the output was read, the group's offset is below its last records."""
    _set_back(edit, _answers(edit)[-1])


@mutation(FAMILY, invalid("streams-without-offsets"), RUNS, 3)
def the_group_was_never_further(edit: Edit) -> None:
    """No answer shows that the group has passed the last records, whose outputs are committed."""
    _set_back(edit, *_answers(edit))


@mutation(FAMILY, invalid("streams-count-wrong"), RUNS, 3)
def a_count_is_one_more(edit: Edit) -> None:
    """A count is too high, as if a change of the store had been kept of an aborted transaction."""
    _change_row(edit, _COUNT, lambda count: count + 1)


@mutation(FAMILY, invalid("streams-count-wrong"), RUNS, 3)
def a_count_is_one_less(edit: Edit) -> None:
    """A count is too low, as if a change of the store had not been restored."""
    _change_row(edit, _COUNT, lambda count: count - 1)


@mutation(FAMILY, invalid("streams-count-wrong"), RUNS, 3)
def a_task_begins_with_an_empty_store(edit: Edit) -> None:
    """From one record on, a partition is counted as if there had been none before it."""
    found = edit.chosen(outputs(edit.original, 50))

    def change(rows: list[Row]) -> None:
        seen: dict[str, int] = {}
        for row in rows[: found.at]:
            seen[row[_KEY]] = row[_COUNT]
        for row in rows[found.at :]:
            row[_COUNT] -= seen.get(row[_KEY], 0)

    _change_rows(edit, found.read, change)


@mutation(FAMILY, invalid("streams-invented"), RUNS, 3)
def an_output_has_another_value(edit: Edit) -> None:
    """An output names the right record of the input, and another value with the same key."""
    _change_row(edit, _VALUE, lambda value: value + recorded_setup(edit.original).workload.counters)


@mutation(FAMILY, invalid("streams-invented"), RUNS, 3)
def an_output_has_another_key(edit: Edit) -> None:
    """An output names the right record of the input, and another key."""
    _change_row(edit, _KEY, lambda key: f"{key}0")


@mutation(FAMILY, invalid("streams-invented"), RUNS, 3)
def another_one_wrote_to_the_output(edit: Edit) -> None:
    """The output has a record that the application did not write."""
    found = edit.chosen(outputs(edit.original))
    offset = found.read.value["records"][found.at][_OFFSET]
    edit.change(found.read.index, lambda value: value["foreign"].append([offset, "a text"]))


@mutation(FAMILY, invalid("streams-reordered"), RUNS, 3)
def two_outputs_change_places(edit: Edit) -> None:
    """Two outputs that follow each other are in the other order."""
    found = edit.chosen(outputs(edit.original, 1))

    def change(rows: list[Row]) -> None:
        first, second = rows[found.at], rows[found.at + 1]
        first[_OFFSET], second[_OFFSET] = second[_OFFSET], first[_OFFSET]

    _change_rows(edit, found.read, change)


@mutation(FAMILY, invalid("streams-misplaced"), RUNS, 3)
def an_output_is_in_another_partition(edit: Edit) -> None:
    """An output is at the end of another partition than that of its input."""
    found = edit.chosen(outputs(edit.original))
    other = next(read for read in reads(edit.original) if read is not found.read)
    row = found.read.value["records"][found.at]
    _change_rows(edit, found.read, lambda rows: rows.pop(found.at))
    _change_rows(edit, other, lambda rows: rows.append([other.value["end"] - 1, *row[1:]]))


@mutation(FAMILY, invalid("listed-end-behind"), RUNS, 3)
def the_output_ends_before_what_was_read(edit: Edit) -> None:
    """After the output was read, its end is listed below the last record that was read."""
    read = edit.chosen(reads(edit.original))
    last = read.value["records"][-1][_OFFSET]
    listed = next(
        o
        for o in edit.original.of("list-end")
        if (o.type, o.key, o.value["partition"]) == (OK, read.key, read.value["partition"])
    )
    edit.change(listed.index, lambda value: value.update(end=last))


@mutation(FAMILY, invalid("listed-end-behind"), RUNS, 3)
def the_input_ends_before_what_was_polled(edit: Edit) -> None:
    """Final readers find the end of the input below the last record that its consumer got."""
    topic = recorded_setup(edit.original).topics[0].name
    number = edit.place
    last = max(
        offset
        for o in polls(edit.original)
        for partition, offsets, _ in o.value["records"]
        if partition == number
        for offset in offsets
    )

    def change(value: dict[str, Any]) -> None:
        without_offsets(value, number, set(range(last, value["end"])))
        value.update(end=last, position=last)

    for read in final_reads(edit.original, topic, number):
        edit.change(read.index, change)


@mutation(FAMILY, unknown("an output stands for streams-in/"), RUNS, 2)
def an_output_stands_for_a_later_record(edit: Edit) -> None:
    """An output stands for a record that the input may have got after it was read."""
    found = edit.chosen(reads(edit.original))
    number = found.value["partition"]
    topic = recorded_setup(edit.original).topics[0].name
    end = final_reads(edit.original, topic, number)[0].value["end"]
    row = [found.value["end"] - 1, *found.value["records"][-1][1:_PLACE], end, "1", 1, 1]
    _change_rows(edit, found, lambda rows: rows.append(row))

    def change(value: dict[str, Any]) -> None:
        value["offsets"][number][1] = end + 1

    edit.change(_answers(edit)[-1].index, change)


@mutation(FAMILY, unknown("streams-out/. was not read to the end"), RUNS, 2)
def the_output_was_not_read(edit: Edit) -> None:
    """No leader of a partition of the output answered its reader."""
    read = edit.chosen(reads(edit.original))
    asked = {"partition": read.value["partition"]}
    edit.set(read.index, type=FAIL, value=asked, error="no time was left")


@mutation(FAMILY, unknown("the group's offsets are unknown from after"), RUNS, 1)
def nobody_told_the_offsets_at_the_end(edit: Edit) -> None:
    """After the output was read, no coordinator returned the group's offsets."""
    last = _answers(edit)[-1]
    edit.set(last.index, type=FAIL, value={"topic": last.value["topic"]}, error="no time was left")


@mutation(FAMILY, unknown("no operation names .*, which wrote output"), RUNS, 2)
def a_member_that_nobody_started(edit: Edit) -> None:
    """An output was written by a member that no operation names."""
    _change_row(edit, _MEMBER, lambda _: "a-ghost")


@mutation(FAMILY, unknown("members-worked"), RUNS, 1)
def the_members_were_never_running(edit: Edit) -> None:
    """All members of the load report that they wait for their tasks; the last one processed everything."""
    for o in edit.original.of("streams-status"):
        if o.type is OK and not o.value["last"]:
            edit.change(o.index, lambda value: value.update(state="REBALANCING"))


@mutation(FAMILY, VALID, RUNS, 3)
def a_member_did_not_answer_once(edit: Edit) -> None:
    """A member is asked for its state, and does not answer in time."""
    asked = (
        done
        for _, done in pairs(edit.original, "streams-status")
        if done.type is OK and not done.value["last"]
    )
    found = edit.chosen(asked)
    who = {name: found.value[name] for name in ("member", "last")}
    edit.set(found.index, type=FAIL, value=who, error="it did not answer")


@mutation(FAMILY, VALID, RUNS, 1)
def the_groups_offsets_are_asked_for_again(edit: Edit) -> None:
    """The group's offsets are requested once more at the end, and are the same."""
    last = _answers(edit)[-1]
    times_ns = (last.time_ns + 1, last.time_ns + 2)
    asked = {"topic": last.value["topic"]}
    edit.add_call(989_000, "committed-offsets", last.key, times_ns, (asked, last.value))


@mutation(FAMILY, invalid("streams-lost"), RUNS, 3)
def an_unclean_election_that_did_not_happen_explains_nothing(edit: Edit) -> None:
    """An output is gone; an unclean election was requested, and the metadata log has none."""
    found = edit.chosen(outputs(edit.original))
    _change_rows(edit, found.read, lambda rows: rows.pop(found.at))
    where = [[found.read.key, found.read.value["partition"]]]
    asked = {"partitions": where, "to": "n1"}
    at_ns = phase_ns(edit.original, "heal") - 1
    times_ns = (at_ns, at_ns + 1)
    answer = {**asked, "code": None, "results": [], "took_ms": 1}
    edit.add_call("admin-9", "elect-leaders", "unclean", times_ns, (asked, answer), ended=INFO)
