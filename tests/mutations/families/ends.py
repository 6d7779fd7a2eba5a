"""Where replicas' logs end on the brokers' disks, against what was acknowledged and returned."""

from typing import Any

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import Acked, acked
from tests.mutations.partitions import Stretch, stretches
from tests.mutations.suite import VALID, invalid, mutation

RUNS = ("ends",)
"""Runs in which ends were read."""


def _look(edit: Edit) -> tuple[Stretch, Acked, Operation]:
    """A state that lasts, a record that was acknowledged in it, and the first look after that."""
    places = []
    for stretch in stretches(edit.original, least_s=3, least_acked=2):
        state = stretch.state
        looks = [o for o in edit.original.observed("ends") if stretch.from_ns < o.time_ns < stretch.to_ns]
        records = [
            record
            for record in acked(edit.original)
            if (record.topic, record.partition) == (state.topic, state.partition)
            and stretch.from_ns < record.time_ns < stretch.to_ns
        ]
        # The first is left out: it may have been sent before the stretch.
        for record in records[len(records) // 2 :]:
            after = next((look for look in looks if look.value["began_ns"] > record.time_ns), None)
            if after is not None:
                places.append((stretch, record, after))
    place: tuple[Stretch, Acked, Operation] = edit.chosen(places)
    return place


def _named(edit: Edit, number: int) -> str:
    nodes = next(iter(edit.original.of("setup"))).value["nodes"]
    return next(str(node["name"]) for node in nodes if node["id"] == number)


def _ended(edit: Edit, number: int, further: int) -> None:
    """Let the log of a replica end a number of offsets behind a record that was acknowledged, in one look."""
    _, record, look = _look(edit)

    def change(value: dict[str, Any]) -> None:
        for entry in value["nodes"][_named(edit, number)][record.topic]:
            if entry[0] == record.partition:
                entry[1] = record.offset + further

    edit.change(look.index, change)


@mutation("ends", invalid("acked-without-member"), RUNS, 4)
def a_member_without_an_acknowledged_record(edit: Edit) -> None:
    """The log of a follower in sync ends before a record that was acknowledged."""
    state = _look(edit)[0].state
    _ended(edit, next(one for one in state.isr if one != state.leader), 0)


@mutation("ends", invalid("acked-without-member"), RUNS, 2)
def a_leader_without_an_acknowledged_record(edit: Edit) -> None:
    """The log of the leader ends before a record that was acknowledged."""
    _ended(edit, _look(edit)[0].state.leader, 0)


@mutation("ends", VALID, RUNS, 3)
def a_member_with_all_that_was_acknowledged(edit: Edit) -> None:
    """The log of a follower in sync ends after all acknowledged records, and before the next ones."""
    stretch, _, look = _look(edit)
    state = stretch.state
    acknowledged = [
        record
        for record in acked(edit.original)
        if (record.topic, record.partition) == (state.topic, state.partition)
        and record.time_ns <= look.time_ns
    ]
    highest = max(record.offset for record in acknowledged)
    name = _named(edit, next(one for one in state.isr if one != state.leader))

    def change(value: dict[str, Any]) -> None:
        for entry in value["nodes"][name][state.topic]:
            if entry[0] == state.partition:
                entry[1] = highest + 1

    edit.change(look.index, change)


@mutation("ends", VALID, RUNS, 2)
def a_disk_that_could_not_be_read(edit: Edit) -> None:
    """One observation lacks one of the nodes."""
    stretch, _, look = _look(edit)
    name = _named(edit, stretch.state.leader)
    edit.change(look.index, lambda value: value["nodes"].pop(name) and None)
