"""Offsets that are deleted, alone or with their group: what is answered of them afterwards is changed."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import FAIL, INFO, OK, pairs, phase_ns
from tests.mutations.suite import VALID, invalid, mutation

FAMILY = "erasures"
RUN = ("erasures",)
COMMIT, DELETE, FETCH = "commit-offset", "delete-offsets", "fetch-offsets"
_OTHER = 987_654_321


class Seen(NamedTuple):
    """A fetch that was answered, and what had been done by then to one of the partitions.

    Attributes:
        asked: the fetch.
        answered: its answer.
        partition: the partition.
        offset: its offset in the answer, if it has one.
        change: the last change of it, which was acknowledged.
        before: values that it had before that.
        final: whether it was asked for in the phase final-read.
    """

    asked: Operation
    answered: Operation
    partition: int
    offset: int | None
    change: Operation
    before: tuple[int, ...]
    final: bool


def _seen(edit: Edit) -> Iterator[Seen]:
    """Fetches of what only acknowledged changes were asked of."""
    final_ns = phase_ns(edit.original, "final-read")
    changes: dict[tuple[str, int], list[Operation]] = {}
    unsure: set[tuple[str, int]] = set()
    for asked, answered in pairs(edit.original, COMMIT, DELETE, FETCH):
        value = asked.value
        if asked.f != FETCH:
            numbers = (0, 1) if value["partition"] is None else (value["partition"],)
            places = [(str(asked.key), number) for number in numbers]
            if answered.type is OK:
                for place in places:
                    changes.setdefault(place, []).append(answered)
            elif answered.type is INFO:
                unsure.update(places)
        elif answered.type is OK:
            for partition, offset in answered.value["offsets"]:
                place = (str(asked.key), partition)
                done = changes.get(place, [])
                named = any(each.value["partition"] is not None for each in done)
                if done and named and place not in unsure:
                    values = tuple(each.value["offset"] for each in done[:-1] if each.f == COMMIT)
                    final = asked.time_ns > final_ns
                    yield Seen(asked, answered, partition, offset, done[-1], values, final)


def _by_who_knows(edit: Edit, f: str) -> list[Seen]:
    """Fetches from the broker that had acknowledged the last change, which was of one kind."""
    return [
        each
        for each in _seen(edit)
        if each.change.f == f and each.asked.value["to"] == each.change.value["to"]
    ]


def _tell(edit: Edit, seen: Seen, offset: int | None) -> None:
    def change(value: dict[str, Any]) -> None:
        for entry in value["offsets"]:
            if entry[0] == seen.partition:
                entry[1] = offset

    edit.change(seen.answered.index, change)


@mutation(FAMILY, invalid("deleted-offset-returned"), RUN, 3)
def a_deleted_offset_is_told(edit: Edit) -> None:
    """The broker that acknowledged the deletion of an offset returns it."""
    some = [each for each in _by_who_knows(edit, DELETE) if each.change.value["partition"] is not None]
    seen = edit.chosen(each for each in some if each.before)
    _tell(edit, seen, seen.before[-1])


@mutation(FAMILY, invalid("deleted-offset-returned"), RUN, 3)
def an_offset_of_a_deleted_group_is_told(edit: Edit) -> None:
    """The broker that acknowledged the deletion of a group returns an offset of it."""
    some = [each for each in _by_who_knows(edit, DELETE) if each.change.value["partition"] is None]
    seen = edit.chosen(each for each in some if each.before)
    _tell(edit, seen, seen.before[-1])


@mutation(FAMILY, invalid("deleted-offset-returned"), RUN, 2)
def a_deleted_offset_is_back_in_the_end(edit: Edit) -> None:
    """After recovery some broker returns an offset that was deleted."""
    seen = edit.chosen(each for each in _seen(edit) if each.final and each.offset is None and each.before)
    _tell(edit, seen, seen.before[-1])


@mutation(FAMILY, invalid("kept-offset-lost"), RUN, 3)
def a_committed_offset_is_not_told(edit: Edit) -> None:
    """The broker that acknowledged a group's commit returns no offset."""
    _tell(edit, edit.chosen(_by_who_knows(edit, COMMIT)), None)


@mutation(FAMILY, invalid("kept-offset-lost"), RUN, 3)
def an_old_offset_is_told(edit: Edit) -> None:
    """A group's second to last committed offset is returned instead of its last one."""
    seen = edit.chosen(each for each in _by_who_knows(edit, COMMIT) if each.before)
    _tell(edit, seen, seen.before[-1])


@mutation(FAMILY, invalid("kept-offset-lost"), RUN, 2)
def an_offset_is_told_that_nobody_committed(edit: Edit) -> None:
    """An offset of a group is returned that nobody committed."""
    _tell(edit, edit.chosen(_by_who_knows(edit, COMMIT)), _OTHER)


@mutation(FAMILY, invalid("kept-offset-lost"), RUN, 2)
def a_committed_offset_is_lost_in_the_end(edit: Edit) -> None:
    """After recovery some broker returns no offset of a group that had committed one."""
    _tell(edit, edit.chosen(each for each in _seen(edit) if each.final and each.offset is not None), None)


@mutation(FAMILY, invalid("kept-offset-lost"), RUN, 2)
def a_deletion_takes_the_other_partition_too(edit: Edit) -> None:
    """A group's offset in one partition was deleted, and that in the other one is not returned either."""
    places = []
    for seen in _by_who_knows(edit, COMMIT):
        one_alone = [
            o
            for o in edit.original.of(DELETE)
            if o.type is OK
            and o.key == seen.asked.key
            and o.value["partition"] == 1 - seen.partition
            and seen.change.time_ns < o.time_ns < seen.asked.time_ns
        ]
        places += [seen] if one_alone else []
    _tell(edit, edit.chosen(places), None)


def _no_group(edit: Edit, some: list[Seen], to: int | None = None) -> None:
    """Let a deletion be refused right after a fetch, as there were no such group."""
    seen = edit.chosen(each for each in some if not each.final)
    asked = {"topic": "offsets-0", "partition": seen.partition, "to": to or seen.change.value["to"]}
    times_ns = (seen.answered.time_ns + 1000, seen.answered.time_ns + 2000)
    error = "error 69 (there is no such group)"
    values = (asked, asked | {"code": 69})
    edit.add_call(983_000, DELETE, seen.asked.key, times_ns, values, ended=FAIL, error=error)


@mutation(FAMILY, invalid("kept-offset-lost"), RUN, 2)
def a_group_that_has_offsets_is_unknown(edit: Edit) -> None:
    """The broker that acknowledged a group's commit answers that the group does not exist."""
    _no_group(edit, _by_who_knows(edit, COMMIT))


@mutation(FAMILY, VALID, RUN, 2)
def a_group_that_was_deleted_is_unknown(edit: Edit) -> None:
    """A broker answers that a group does not exist after it was deleted."""
    some = _by_who_knows(edit, DELETE)
    _no_group(edit, [each for each in some if each.change.value["partition"] is None])


@mutation(FAMILY, VALID, RUN, 2)
def a_group_that_another_broker_does_not_know(edit: Edit) -> None:
    """A broker that acknowledged no commit of a group with offsets answers that it does not exist."""
    some = _by_who_knows(edit, COMMIT)
    _no_group(edit, some, edit.chosen(some).change.value["to"] % 3 + 1)


@mutation(FAMILY, VALID, RUN, 2)
def another_broker_tells_what_was(edit: Edit) -> None:
    """During the load a broker that did not acknowledge the deletion returns the old offset."""
    some = [each for each in _by_who_knows(edit, DELETE) if each.before and not each.final]
    seen = edit.chosen(some)
    _tell(edit, seen, seen.before[-1])
    other = seen.asked.value["to"] % 3 + 1
    for o in (seen.asked, seen.answered):
        edit.change(o.index, lambda value: value | {"to": other})


@mutation(FAMILY, VALID, RUN, 3)
def a_fetch_was_not_answered(edit: Edit) -> None:
    """A fetch of a group's offsets got no answer."""
    seen = edit.chosen(each for each in _seen(edit) if not each.final)
    edit.set(seen.answered.index, type=FAIL, value=seen.asked.value, error="timed out")


def _without_code(value: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name != "code"}


@mutation(FAMILY, VALID, RUN, 3)
def a_deletion_of_unknown_fate(edit: Edit) -> None:
    """A deletion got no answer, and no offset is returned afterwards."""
    seen = edit.chosen(each for each in _by_who_knows(edit, DELETE) if each.before)
    edit.set(seen.change.index, type=INFO, value=_without_code(seen.change.value), error="timed out")


@mutation(FAMILY, VALID, RUN, 2)
def a_deletion_of_unknown_fate_that_came_to_nothing(edit: Edit) -> None:
    """A deletion got no answer, and the old offset is returned until it changes again."""
    some = [
        each
        for each in _by_who_knows(edit, DELETE)
        if each.change.value["partition"] is not None and each.before
    ]
    seen = edit.chosen(each for each in some if _is_there(edit, each))
    edit.set(seen.change.index, type=INFO, value=_without_code(seen.change.value), error="timed out")
    for each in _seen(edit):
        if each.change.index == seen.change.index and each.partition == seen.partition:
            _tell(edit, each, seen.before[-1])


def _is_there(edit: Edit, seen: Seen) -> bool:
    """Whether the change before the last one was a commit, by the broker that is asked."""
    before = [
        o
        for _, o in pairs(edit.original, COMMIT, DELETE)
        if o.key == seen.asked.key
        and o.type is OK
        and o.index < seen.change.index
        and o.value["partition"] in {None, seen.partition}
    ]
    return bool(before) and before[-1].f == COMMIT


@mutation(FAMILY, VALID, RUN, 2)
def an_answer_twice(edit: Edit) -> None:
    """A group's offsets are requested twice in a row, and are the same."""
    seen = edit.chosen(_seen(edit))
    times_ns = (seen.answered.time_ns + 1000, seen.answered.time_ns + 2000)
    edit.add_call(982_000, FETCH, seen.asked.key, times_ns, (seen.asked.value, seen.answered.value))
