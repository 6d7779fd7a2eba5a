"""Commits in the log of the offsets topic: what was read of it, what replicas had, what compaction left."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import INFO, OK, pairs
from tests.mutations.partitions import states
from tests.mutations.suite import VALID, invalid, mutation

FAMILY = "offsets-topic"
RUN = ("offsets-topic",)
COMMITS, LEFT, ENDS = "commits", "commits-left", "ends"
OFFSETS = "__consumer_offsets"
_OTHER = 987_654_321


class Written(NamedTuple):
    """A commit that one operation alone asked for, which was acknowledged, and its only record.

    Attributes:
        asked: the operation's invocation.
        answered: its completion.
        partition: number of the partition of the offsets topic.
        epoch: leader epoch of the record.
        record: offset in the log, group, topic, partition, committed offset.
    """

    asked: Operation
    answered: Operation
    partition: int
    epoch: int
    record: list[Any]


def _records(edit: Edit) -> list[tuple[int, int, list[Any]]]:
    """Partition of the offsets topic, leader epoch, and record, of all commits; each once."""
    found = {
        (number, epoch, *record)
        for o in edit.original.observed(COMMITS)
        for number, epoch, _, _, _, records in o.value["stretches"]
        for record in records or ()
    }
    return [(number, epoch, list(record)) for number, epoch, *record in sorted(found)]


def _wheres(asked: Operation) -> list[tuple[str, str, int, int]]:
    if asked.f == "commit":
        return [(asked.key, asked.value["topic"], *each) for each in asked.value["offsets"]]
    if asked.f == "commit-offset":
        return [(asked.key, asked.value["topic"], asked.value["partition"], asked.value["offset"])]
    _, group, topic, partition = str(asked.key).split("/")
    return [(group, topic, int(partition), asked.value)]


def _written(edit: Edit) -> list[Written]:
    """In the order of their answers, those of the partition that has most, without the last ten of them."""
    calls = [
        each
        for each in pairs(edit.original, "commit", "commit-offset", "write")
        if each[0].f != "write" or str(each[0].key).startswith("offset/")
    ]
    asked: dict[tuple[Any, ...], list[tuple[Operation, Operation]]] = {}
    for call in calls:
        for where in _wheres(call[0]):
            asked.setdefault(where, []).append(call)
    rows: dict[tuple[Any, ...], list[tuple[int, int, list[Any]]]] = {}
    for row in _records(edit):
        rows.setdefault(tuple(row[2][1:]), []).append(row)
    single = [
        (each[0], rows[where][0])
        for where, each in asked.items()
        if len(each) == len(rows.get(where, ())) == 1
    ]
    found = [Written(*call, row[0], row[1], row[2]) for call, row in single if call[1].type is OK]
    numbers = [each.partition for each in found]
    most = max(set(numbers), key=numbers.count)
    return sorted((w for w in found if w.partition == most), key=lambda w: w.answered.time_ns)[:-10]


def _reread(edit: Edit, change: Callable[[list[Any]], object]) -> None:
    """Change the stretches that were read."""
    for o in edit.original.observed(COMMITS):
        edit.change(o.index, lambda value: [change(stretch) for stretch in value["stretches"]] and None)


def _take_out(edit: Edit, record: list[Any]) -> None:
    def change(stretch: list[Any]) -> None:
        if stretch[5] is not None:
            stretch[5] = [one for one in stretch[5] if one[1:] != record[1:]]

    _reread(edit, change)


@mutation(FAMILY, invalid("commit-in-no-log"), RUN, 3)
def a_commit_is_in_no_log(edit: Edit) -> None:
    """A commit was acknowledged, and no replica of the offsets topic ever had a record of it."""
    _take_out(edit, edit.chosen(_written(edit)).record)


@mutation(FAMILY, invalid("commit-in-no-log"), RUN, 3)
def a_record_commits_another_offset(edit: Edit) -> None:
    """The record of an acknowledged commit has another offset than the request."""
    record = edit.chosen(_written(edit)).record

    def change(stretch: list[Any]) -> None:
        for one in stretch[5] or ():
            if one == record:
                one[4] = _OTHER

    _reread(edit, change)


@mutation(FAMILY, VALID, RUN, 2)
def a_commit_in_no_log_that_nobody_acknowledged(edit: Edit) -> None:
    """A commit got no answer, and no replica of the offsets topic ever had a record of it."""
    one = edit.chosen(each for each in _written(edit) if len(_wheres(each.asked)) == 1)
    edit.set(one.answered.index, type=INFO, value=one.asked.value, error="timed out")
    _take_out(edit, one.record)


@mutation(FAMILY, VALID, RUN, 2)
def a_batch_that_nobody_could_read(edit: Edit) -> None:
    """A part of the offsets topic's log that has an acknowledged commit could not be read."""
    one = edit.chosen(_written(edit))

    def change(stretch: list[Any]) -> None:
        if stretch[0] == one.partition and stretch[1] == one.epoch and one.record in (stretch[5] or ()):
            stretch[5] = None

    _reread(edit, change)


@mutation(FAMILY, invalid("committed-without-member"), RUN, 2)
def a_replica_lacks_commits(edit: Edit) -> None:
    """From the first commit on, all logs of its partition, also the leader's, end before that commit."""
    one = edit.chosen(_written(edit)[:1] * edit.of)
    for o in edit.original.observed(ENDS):

        def change(value: dict[str, Any]) -> None:
            for topics in value["nodes"].values():
                for end in topics.get(OFFSETS, ()):
                    if end[0] == one.partition:
                        end[1] = min(end[1], one.record[0])

        edit.change(o.index, change)


def _last(edit: Edit) -> list[tuple[int, int]]:
    """Partition and offset of commits that are the last ones of their key, or of whom nobody replaces any."""
    newest: dict[tuple[Any, ...], tuple[int, int]] = {}
    for number, epoch, record in _records(edit):
        key = (number, *record[1:4])
        newest[key] = max(newest.get(key, (0, 0)), (record[0], epoch))
    gone = {
        (number, *key): offset
        for o in edit.original.observed(COMMITS)
        for number, _, offset, *key in o.value["deleted"]
    }
    places = [(key[0], offset) for key, (offset, _) in newest.items() if gone.get(key, 0) < offset]
    left = {
        (o.value["partition"], offset)
        for o in edit.original.observed(LEFT)
        for first, end in o.value["left"]
        for offset in range(first, end)
    }
    return sorted(place for place in places if place in left)


def _clean(
    edit: Edit, partition: int, offset: int, whose: Callable[[str | None], bool] = lambda _: True
) -> None:
    """Let replicas have lost a record: of all nodes, or of some."""
    around = ((0, offset), (offset + 1, 2**62))

    def change(value: dict[str, Any]) -> None:
        parts = [(max(a, first), min(b, end)) for first, end in value["left"] for a, b in around]
        value["left"] = [[a, b] for a, b in parts if a < b]

    for o in edit.original.observed(LEFT):
        if o.value["partition"] == partition and whose(o.node):
            edit.change(o.index, change)


@mutation(FAMILY, invalid("commit-compacted-away"), RUN, 3)
def the_last_commit_is_compacted_away(edit: Edit) -> None:
    """The last commit of a group for a partition is gone from all replicas, without a trace."""
    _clean(edit, *edit.chosen(_last(edit)))


@mutation(FAMILY, VALID, RUN, 2)
def a_deleted_commit_is_compacted_away(edit: Edit) -> None:
    """A commit is gone from all replicas, and a deletion of the same offset follows it."""
    partition, offset = edit.chosen(_last(edit))
    found = next(
        (o, stretch, record)
        for o in edit.original.observed(COMMITS)
        for stretch in o.value["stretches"]
        for record in stretch[5] or ()
        if (stretch[0], record[0]) == (partition, offset)
    )
    o, stretch, record = found
    deletion = [partition, stretch[1], offset + 1, *record[1:4]]
    edit.change(o.index, lambda value: value["deleted"].append(deletion))
    _clean(edit, partition, offset)


@mutation(FAMILY, invalid("commit-compacted-away"), RUN, 2)
def a_commit_that_an_aborted_transaction_replaces(edit: Edit) -> None:
    """A commit is gone from all replicas, and only one in an aborted transaction follows it."""
    _replaced_in_transaction(edit, "abort")


@mutation(FAMILY, VALID, RUN, 2)
def a_commit_that_a_committed_transaction_replaces(edit: Edit) -> None:
    """A commit is gone from all replicas, and one in a committed transaction follows it."""
    _replaced_in_transaction(edit, "commit")


def _deleted(edit: Edit) -> set[tuple[Any, ...]]:
    """Partition of the offsets topic, group, topic and partition of all offsets that were deleted once."""
    observations = edit.original.observed(COMMITS)
    return {(row[0], *row[3:]) for o in observations for row in o.value.get("deleted") or ()}


def _replaced_in_transaction(edit: Edit, how: str) -> None:
    """Let a record be of a transaction, with its marker just behind it, and the one before it be gone."""
    before: dict[tuple[Any, ...], tuple[int, list[Any]]] = {}
    deleted = _deleted(edit)
    places = []
    ends = {(number, epoch): record[0] for number, epoch, record in _records(edit)}
    active = _active(edit, min)
    for number, epoch, record in _records(edit):
        key = (number, *record[1:4])
        follows = key in before and before[key][0] == epoch and key not in deleted
        # A marker needs a place behind what it ends, and nothing in the last segment replaces anything.
        if follows and record[0] < min(ends[number, epoch], active[number]):
            places.append((number, epoch, before[key][1], record))
        before[key] = (epoch, record)
    last = set(_last(edit))
    number, epoch, replaced, record = edit.chosen(p for p in places if (p[0], p[3][0]) in last)
    for o in edit.original.observed(COMMITS):

        def change(value: dict[str, Any]) -> None:
            for stretch in value["stretches"]:
                if stretch[:2] == [number, epoch] and record in (stretch[5] or ()):
                    stretch[5].remove(record)
                    value["transactional"].append([number, epoch, record[0], 7, "data", [record]])
                    value["transactional"].append([number, epoch, record[0] + 1, 7, how, []])

        edit.change(o.index, change)
    _clean(edit, number, replaced[0])


def _active(edit: Edit, choose: Callable[[Iterable[int]], int]) -> dict[int, int]:
    """Of each partition the base of an active segment, of the replicas' one that is chosen."""
    found: dict[int, list[int]] = {}
    for o in edit.original.observed(LEFT):
        found.setdefault(o.value["partition"], []).append(o.value["active"])
    return {number: choose(some) for number, some in found.items()}


def _replaced_in_active(edit: Edit) -> list[tuple[int, int, str]]:
    """Partition, offset, and leader, of commits that only the leader's active segment replaces."""
    led = {state.partition: state for state in states(edit.original) if state.topic == OFFSETS}
    nodes = next(iter(edit.original.of("setup"))).value["nodes"]
    names = {node["id"]: str(node["name"]) for node in nodes}
    active = _active(edit, max)
    before: dict[tuple[Any, ...], int] = {}
    replaced: set[tuple[int, int, str]] = set()
    deleted = _deleted(edit)
    for number, epoch, record in _records(edit):
        key, state = (number, *record[1:4]), led[number]
        early = epoch == state.leader_epoch and record[0] >= active[number] > before.get(key, active[number])
        if early and key not in deleted:
            replaced.add((number, before[key], names[state.leader]))
        before[key] = record[0]
    return sorted(replaced)


def _clean_of(edit: Edit, place: tuple[int, int, str], *, leader: bool) -> None:
    """Let the leader alone, or all others, have lost a record."""
    partition, offset, name = place
    _clean(edit, partition, offset, lambda node: (node == name) == leader)


@mutation(FAMILY, invalid("commit-compacted-early"), RUN, 3)
def a_commit_is_gone_before_anything_may_replace_it(edit: Edit) -> None:
    """A commit is gone from its leader's log, and only the active segment has what replaces it."""
    _clean_of(edit, edit.chosen(_replaced_in_active(edit)), leader=True)


@mutation(FAMILY, VALID, RUN, 2)
def a_commit_that_followers_fetched_no_more(edit: Edit) -> None:
    """A commit is gone from the followers' logs, and only the active segment has what replaces it."""
    _clean_of(edit, edit.chosen(_replaced_in_active(edit)), leader=False)
