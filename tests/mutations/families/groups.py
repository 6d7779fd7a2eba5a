"""Consumer groups, registers kept in Kafka (committed offsets, configs) and topics."""

from typing import Any

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import (
    FAIL,
    INFO,
    INVOKE,
    OK,
    SECOND_NS,
    acked,
    pairs,
    phase_ns,
    without_offsets,
)
from tests.mutations.suite import VALID, invalid, mutation

GROUPS = ("groups",)
REGISTERS = ("offsets", "metadata")


def assignments(edit: Edit, least: int = 1) -> list[Operation]:
    """Polls in which a group's member was assigned partitions somewhere behind their beginning."""
    return [
        o
        for o in edit.original.of("poll")
        if o.type is OK
        and o.value.get("group")
        and any(offset >= least for _, offset in o.value.get("assigned") or ())
    ]


def commits(edit: Edit) -> list[tuple[Operation, Operation]]:
    """Offsets that a group's members committed, with success."""
    return [(i, o) for i, o in pairs(edit.original, "commit") if o.type is OK]


@mutation("groups", invalid("committed-offset-lost"), GROUPS, 3)
def an_assignment_begins_below_what_was_committed(edit: Edit) -> None:
    """A member is assigned a partition at its beginning, although its group had committed offsets of it."""
    poll = edit.chosen(assignments(edit, 50))

    def change(value: dict[str, Any]) -> None:
        for entry in value["assigned"]:
            entry[1] = 0

    edit.change(poll.index, change)


@mutation("groups", invalid("undelivered", "committed-offset-lost", "poll-skip"), GROUPS, 3)
def records_that_no_member_is_given(edit: Edit) -> None:
    """No member of a group ever gets some acknowledged records, and the group's offsets pass them."""
    record = edit.chosen(r for r in acked(edit.original) if r.offset > 20)
    lost = set(range(record.offset, record.offset + 3))
    group = next(o.value["group"] for o in assignments(edit))
    for poll in edit.original.of("poll"):
        if poll.type is OK and poll.value.get("group") == group and poll.value["records"]:
            edit.change(poll.index, lambda value: without_offsets(value, record.partition, lost))


@mutation("groups", invalid("zombie-commit"), GROUPS, 3)
def a_commit_of_an_old_generation(edit: Edit) -> None:
    """A commit of a generation is acknowledged long after a newer one had begun."""
    later = [(i, o) for i, o in commits(edit) if o.value["membership"] and o.value["membership"][1] > 3]
    invoked, done = edit.chosen(later)

    def change(value: dict[str, Any]) -> None:
        value["membership"][1] = 1

    edit.change(invoked.index, change)
    edit.change(done.index, change)


@mutation("groups", invalid("two-owners"), GROUPS, 2)
def two_members_own_a_partition(edit: Edit) -> None:
    """Two members of one generation are assigned the same partition."""
    polls = [o for o in edit.original.of("poll") if o.type is OK and o.value.get("assigned")]
    places = []
    for first in polls:
        for second in polls:
            if first.index < second.index and first.process != second.process:
                mine, other = first.value.get("membership"), second.value.get("membership")
                same = first.value.get("group") == second.value.get("group")
                if same and mine and other and mine[1] == other[1] and mine[0] != other[0]:
                    places.append((first, second))
    first, second = edit.chosen(places)
    edit.change(second.index, lambda value: value["assigned"].append(first.value["assigned"][0]))


@mutation("groups", VALID, GROUPS, 3)
def a_commit_is_refused(edit: Edit) -> None:
    """A member's second commit of the same offset is refused, and the group continues."""
    invoked, done = edit.chosen(commits(edit)[:-4])
    at_ns = done.time_ns + 1
    edit.add(invoked, at_ns, process=960_000)
    edit.add(done, at_ns + 1, process=960_000, type=FAIL, error="ILLEGAL_GENERATION")


@mutation("groups", VALID, GROUPS, 3)
def records_are_given_twice(edit: Edit) -> None:
    """A member is assigned a partition below its group's last commit, and gets records again."""
    invoked, done = edit.chosen(commits(edit)[3:])
    edit.set(done.index, type=INFO, error="_TIMED_OUT")
    del invoked


def registers(edit: Edit, f: str) -> list[tuple[Operation, Operation]]:
    """Writes or reads of registers that were answered."""
    return [(i, o) for i, o in pairs(edit.original, f) if o.type is OK]


@mutation("offsets", invalid("phantom"), REGISTERS, 4)
def a_value_that_nobody_wrote(edit: Edit) -> None:
    """A read returns a value of a register that nobody wrote."""
    _, read = edit.chosen(registers(edit, "read"))
    edit.set(read.index, value=993_000_001)


@mutation("offsets", invalid("lost-value"), REGISTERS, 4)
def nothing_after_recovery(edit: Edit) -> None:
    """After recovery a register is empty although writes of it were acknowledged."""
    from_ns = phase_ns(edit.original, "final-read")
    reads = [o for _, o in registers(edit, "read") if o.time_ns > from_ns and o.value is not None]
    key = edit.chosen(sorted({o.key for o in reads}))
    for o in reads:
        if o.key == key:
            edit.set(o.index, value=None)


@mutation("offsets", invalid("lost-value", "nonmonotonic-after-heal"), REGISTERS, 4)
def an_old_value_after_recovery(edit: Edit) -> None:
    """After recovery a register has a value that was overwritten, and acknowledged so, long before."""
    history = edit.original
    from_ns = phase_ns(history, "final-read")
    reads = [o for _, o in registers(edit, "read") if o.time_ns > from_ns and o.value is not None]
    writes: dict[Any, list[Operation]] = {}
    for _, o in registers(edit, "write"):
        writes.setdefault(o.key, []).append(o)
    key = edit.chosen(sorted({o.key for o in reads if len(writes.get(o.key, ())) > 4}))
    for o in reads:
        if o.key == key:
            edit.set(o.index, value=writes[key][0].value)


@mutation("offsets", invalid("stale-offset"), ("offsets",), 4)
def an_old_value_while_nothing_happens(edit: Edit) -> None:
    """Far from any fault a read returns an offset that was overwritten seconds before."""
    history = edit.original
    faults = [o.time_ns for f in ("inject", "heal") for o in history.of(f)]
    writes: dict[Any, list[Operation]] = {}
    for _, o in registers(edit, "write"):
        writes.setdefault(o.key, []).append(o)
    places = []
    for invoked, o in registers(edit, "read"):
        before = [w for w in writes.get(o.key, ()) if w.time_ns < invoked.time_ns - SECOND_NS]
        calm = o.time_ns < phase_ns(history, "heal") and min(faults) < o.time_ns
        near = min(abs(o.time_ns - time_ns) for time_ns in faults)
        held = any(a.time_ns < o.time_ns < b.time_ns for a, b in _held(history))
        if calm and not held and near > 4 * SECOND_NS and len(before) > 3:
            places.append((o, before[-3].value))
    read, value = edit.chosen(places)
    edit.set(read.index, value=value)


def _held(history: Any) -> list[tuple[Operation, Operation]]:
    injects = [o for o in history.of("inject") if o.type is INVOKE]
    return [
        (i, next(h for h in history.of("heal") if h.key == i.key and h.type is not INVOKE)) for i in injects
    ]


@mutation("offsets", VALID, REGISTERS, 3)
def a_read_was_not_answered(edit: Edit) -> None:
    """A read during the load got no answer."""
    last_ns = phase_ns(edit.original, "heal")
    _, read = edit.chosen((i, o) for i, o in registers(edit, "read") if o.time_ns < last_ns)
    edit.set(read.index, type=FAIL, value=None, error="CoordinatorNotAvailableError")


@mutation("offsets", VALID, ("offsets",), 3)
def a_write_was_indeterminate(edit: Edit) -> None:
    """A write that was soon overwritten has an unknown outcome."""
    writes = registers(edit, "write")
    _, write = edit.chosen(writes[: len(writes) // 2])
    edit.set(write.index, type=INFO, error="_TIMED_OUT")
    for o in edit.original.operations:
        if o.process == write.process and o.index > write.index:
            edit.set(o.index, process=985_000)


def listings(edit: Edit, after: str = "load") -> list[Operation]:
    """Lists of topics that brokers gave from a phase on."""
    from_ns = phase_ns(edit.original, after)
    return [o for o in edit.original.of("list-topics") if o.type is OK and o.value and o.time_ns > from_ns]


@mutation("topics", invalid("lost-topic", "divergent-metadata"), ("metadata",), 4)
def a_topic_is_in_no_list(edit: Edit) -> None:
    """After recovery no broker lists a topic whose creation was acknowledged."""
    name = edit.chosen(sorted({entry[0] for o in listings(edit, "final-read") for entry in o.value}))
    for o in listings(edit, "final-read"):
        edit.set(o.index, value=[entry for entry in o.value if entry[0] != name])


@mutation("topics", invalid("divergent-metadata", "lost-topic"), ("metadata",), 3)
def a_topic_is_not_in_one_list(edit: Edit) -> None:
    """After recovery one broker never lists a topic that the others list."""
    found = listings(edit, "final-read")
    broker = edit.chosen(sorted({o.key for o in found}))
    name = found[0].value[0][0]
    for o in found:
        if o.key == broker:
            edit.set(o.index, value=[entry for entry in o.value if entry[0] != name])


@mutation("topics", invalid("phantom-topic"), ("metadata",), 3)
def a_topic_that_nobody_created(edit: Edit) -> None:
    """A broker lists a topic that nobody asked for."""
    seen = edit.chosen(listings(edit))
    edit.set(seen.index, value=[*seen.value, ["made-99-99", "AbCdEfGhIjKlMnOpQrStUw"]])


@mutation("topics", invalid("changed-topic-id"), ("metadata",), 3)
def a_topic_has_another_id(edit: Edit) -> None:
    """A broker lists a topic with another id than the answer to its creation had."""
    seen = edit.chosen(listings(edit))
    edit.set(seen.index, value=[[seen.value[0][0], "AbCdEfGhIjKlMnOpQrStUw"], *seen.value[1:]])


@mutation("topics", invalid("resurrected-topic"), ("metadata",), 3)
def a_deleted_topic_is_back(edit: Edit) -> None:
    """After recovery all brokers list a topic whose deletion was acknowledged."""
    history = edit.original
    ids = {o.key: o.value["topic_id"] for o in history.of("create-topic") if o.type is OK}
    deleted = [o.key for o in history.of("delete-topic") if o.type is OK and ids.get(o.key)]
    name = edit.chosen(deleted)
    for o in history.of("list-topics"):
        if o.type is OK and o.time_ns > phase_ns(history, "final-read"):
            edit.set(o.index, value=[*o.value, [name, ids[name]]])
