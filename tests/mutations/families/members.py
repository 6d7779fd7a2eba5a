"""Members of consumer groups: generations, what assignments begin at, and what a drained group was given."""

from typing import Any

from checkers.history.operations import Operation, OperationType
from tests.mutations.edits import Edit
from tests.mutations.families.groups import assignments, commits
from tests.mutations.looking import FAIL, INFO, OK, phase_ns, without_offsets
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUNS = ("groups",)


def _later_generation(edit: Edit) -> list[Operation]:
    """Polls with an assignment of a generation after the first, of groups that are drained."""
    named = set(next(iter(edit.original.of("setup"))).value["workload"]["groups"])
    return [o for o in assignments(edit, 100) if o.value["membership"][1] > 2 and o.value["group"] in named]


@mutation("groups", invalid("committed-offset-lost", "undelivered"), RUNS, 3)
def an_assignment_begins_beyond_all_commits(edit: Edit) -> None:
    """A member is assigned a partition at an offset beyond all that its group had committed."""
    poll = edit.chosen(_later_generation(edit))

    def change(value: dict[str, Any]) -> None:
        value["assigned"][0][1] += 5_000

    edit.change(poll.index, change)


@mutation("groups", invalid("committed-offset-lost"), RUNS, 3)
def an_assignment_begins_between_two_commits(edit: Edit) -> None:
    """A member is assigned a partition one record below its group's commit, at an offset never committed."""
    poll = edit.chosen(_later_generation(edit))
    known = {
        tuple(entry)
        for o in edit.original.of("commit")
        if o.key == poll.value["group"]
        for entry in o.value["offsets"]
    }

    def change(value: dict[str, Any]) -> None:
        entry = max(value["assigned"], key=lambda each: each[1])
        entry[1] -= 1
        while tuple(entry) in known:
            entry[1] -= 1

    edit.change(poll.index, change)


@mutation("groups", invalid("zombie-commit"), RUNS, 2)
def a_commit_of_the_generation_before(edit: Edit) -> None:
    """A commit is acknowledged in a generation, and the next one had begun long before."""
    newest: dict[Any, tuple[int, int]] = {}
    places = []
    calls = {o.index: i for i, o in commits(edit)}
    for o in edit.original.operations:
        if o.f == "poll" and o.type is OK and o.value.get("membership"):
            newest[o.value["group"]] = (o.value["membership"][1], o.time_ns)
        elif o.index in calls and o.value["membership"]:
            generation, time_ns = newest.get(o.key, (0, 0))
            if o.value["membership"][1] == generation > 1 and calls[o.index].time_ns > time_ns + 200_000_000:
                places.append((calls[o.index], o))
    for o in edit.chosen(places):

        def change(value: dict[str, Any]) -> None:
            value["membership"][1] -= 1

        edit.change(o.index, change)


@mutation("groups", invalid("undelivered", "int-poll-skip"), RUNS, 2)
def the_last_records_are_given_to_nobody(edit: Edit) -> None:
    """A group that read to the end never got a record shortly before it."""
    last = edit.original.of("poll")
    final_ns = phase_ns(edit.original, "final-read")
    drained = [
        o
        for o in last
        if o.type is OK and o.time_ns > final_ns and o.value.get("group") and o.value["records"]
    ]
    poll = edit.chosen(o for o in drained if len(o.value["records"][0][1]) > 4)
    partition, offsets, _ = poll.value["records"][0]
    edit.change(poll.index, lambda value: without_offsets(value, partition, {offsets[2]}))


@mutation("groups", unknown("no member read to the end|groups"), RUNS, 1)
def a_group_was_not_drained(edit: Edit) -> None:
    """At the end no member of a group got anything: its last polls returned nothing."""
    final_ns = phase_ns(edit.original, "final-read")
    before = {o.process for o in edit.original.operations if o.time_ns < final_ns}
    for o in edit.original.operations:
        if o.time_ns > final_ns and o.process not in before and o.type is OK:
            if o.f == "poll" and o.value.get("group"):
                edit.set(o.index, type=INFO, value={k: o.value[k] for k in ("client", "isolation", "group")})
            elif o.f == "commit":
                edit.set(o.index, type=FAIL, error="error 25")


@mutation("groups", unknown("rebalanced"), RUNS, 1)
def a_group_that_never_rebalanced(edit: Edit) -> None:
    """No membership of a group was recorded, so it is unknown whether it ever rebalanced."""
    group = next(iter(assignments(edit))).value["group"]
    for o in edit.original.of("poll"):
        if o.type is OK and o.value.get("group") == group and o.value.get("membership"):
            edit.set(o.index, value=o.value | {"membership": None})
    for o in edit.original.of("commit"):
        if o.key == group:
            edit.set(o.index, value=o.value | {"membership": None})


@mutation("groups", VALID, RUNS, 2)
def a_poll_got_no_answer(edit: Edit) -> None:
    """A member's poll that would have returned nothing got no answer."""
    empty = [o for o in edit.original.of("poll") if o.type is OK and o.value.get("group")]
    poll = edit.chosen(o for o in empty if not o.value["records"] and "assigned" not in o.value)
    edit.set(poll.index, type=FAIL, error="_TRANSPORT: Local: Broker transport failure")


@mutation("groups", VALID, RUNS, 2)
def a_member_left_before_it_was_assigned(edit: Edit) -> None:
    """A new member polled once, was assigned nothing and left."""
    poll = edit.chosen(_later_generation(edit))
    asked = {name: poll.value[name] for name in ("client", "isolation", "group")}
    times_ns = (poll.time_ns + 1, poll.time_ns + 2)
    edit.add_call(986_000 + edit.place, "poll", poll.key, times_ns, (asked, asked | {"records": []}))


def _commit_to_come(edit: Edit, ended: OperationType, error: str | None) -> None:
    """Let a member commit again what it committed, as in a generation far above its own."""
    done = edit.chosen(o for _, o in commits(edit) if o.value["membership"])
    member, generation = done.value["membership"]
    value = done.value | {"membership": [member, generation + 4_321]}
    times_ns = (done.time_ns + 1000, done.time_ns + 2000)
    edit.add_call(987_000, "commit", done.key, times_ns, (value, value), ended=ended, error=error)


@mutation("groups", invalid("premature-commit"), RUNS, 3)
def a_commit_of_a_generation_to_come(edit: Edit) -> None:
    """A commit of a generation far above the group's is acknowledged."""
    _commit_to_come(edit, OK, None)


@mutation("groups", VALID, RUNS, 2)
def a_commit_of_a_generation_to_come_is_refused(edit: Edit) -> None:
    """A commit of a generation far above the group's is refused."""
    _commit_to_come(edit, FAIL, "error 22 (the generation is verified before the append)")


@mutation("groups", VALID, RUNS, 2)
def a_commit_of_a_generation_to_come_got_no_answer(edit: Edit) -> None:
    """A commit of a generation far above the group's got no answer."""
    _commit_to_come(edit, INFO, "timed out")
