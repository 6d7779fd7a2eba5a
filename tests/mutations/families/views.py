"""What brokers tell of partitions, against the metadata log, each other, and what recovery claims."""

from typing import Any

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import SECOND_NS, phase_ns
from tests.mutations.partitions import own, views_say
from tests.mutations.suite import VALID, invalid, mutation

RUNS = ("chaos", "smoke", "moves", "disks", "txn", "groups", "bulk")


def entries(edit: Edit) -> list[tuple[Operation, str, list[Any]]]:
    """Each partition of the run's own topics with a leader, in each view before the load's end."""
    history = edit.original
    last_ns = phase_ns(history, "heal")
    return [
        (view, topic, entry)
        for view in history.observed("partitions")
        if view.time_ns < last_ns
        for topic, rows in view.value.get("topics", {}).items()
        if topic in own(history)
        for entry in rows
        if entry[1] >= 0 and len(entry[4]) > 1
    ]


def _changed(edit: Edit, place: int, given: Any) -> None:
    """Let one view tell something else of one partition."""
    view, topic, chosen = edit.chosen(entries(edit))

    def change(value: dict[str, Any]) -> None:
        for entry in value["topics"][topic]:
            if entry[0] == chosen[0]:
                entry[place] = given(entry)

    edit.change(view.index, change)


@mutation("views", invalid("two-partition-leaders", "view-without-record"), RUNS, 3)
def another_leader_in_the_same_epoch(edit: Edit) -> None:
    """A broker reports another leader of a partition than all others in that leader epoch."""
    _changed(edit, 1, lambda entry: next(r for r in entry[3] if r != entry[1]))


@mutation("views", invalid("view-without-record"), RUNS, 3)
def an_isr_that_the_log_never_had(edit: Edit) -> None:
    """A broker reports an ISR that the metadata log never had in that leader epoch."""
    _changed(edit, 4, lambda _: [88])


@mutation("views", invalid("view-without-record"), RUNS, 3)
def a_leader_epoch_that_never_was(edit: Edit) -> None:
    """A broker reports a leader epoch that the metadata log has not reached at the end of the run."""
    _changed(edit, 2, lambda entry: entry[2] + 50)


@mutation("views", invalid("view-without-record"), RUNS, 2)
def replicas_that_the_log_never_had(edit: Edit) -> None:
    """A broker reports replicas of a partition that the metadata log never had."""
    _changed(edit, 3, lambda entry: [*entry[3][:-1], 88])


@mutation("views", invalid("view-without-record"), RUNS, 2)
def eligible_replicas_that_the_log_never_had(edit: Edit) -> None:
    """A broker reports eligible leader replicas that the metadata log never had."""
    _changed(edit, 5, lambda _: [88])


@mutation("views", invalid("recovery-denied"), RUNS, 2)
def recovery_that_all_views_deny(edit: Edit) -> None:
    """After recovery was recorded, every broker reports an ISR without one of the replicas."""
    history = edit.original
    topic, partition = edit.chosen((t, p) for t in sorted(own(history)) for p in range(2))
    from_ns = phase_ns(history, "recover")
    changed = views_say(edit, topic, partition, (from_ns, 2**62), _without_the_last)
    if not changed:
        edit.give_up("no view after recovery")


def _without_the_last(entry: list[Any]) -> None:
    entry[4] = [replica for replica in entry[4] if replica != entry[3][-1]]


@mutation("views", VALID, RUNS, 3)
def a_view_comes_a_little_late(edit: Edit) -> None:
    """A broker's answer arrives later, before its next one."""
    places = []
    following: dict[str | int, int] = {}
    for view in reversed(edit.original.observed("partitions")):
        if view.process in following:
            places.append((view, (following[view.process] - view.time_ns) // 2))
        following[view.process] = view.time_ns
    view, late_ns = edit.chosen(places)
    edit.set(view.index, time_ns=view.time_ns + min(late_ns, SECOND_NS // 4))


@mutation("views", VALID, RUNS, 2)
def a_view_is_told_again(edit: Edit) -> None:
    """A broker gives the same answer again a moment later."""
    view = edit.chosen(edit.original.observed("partitions"))
    edit.add(view, view.time_ns + 1000)


@mutation("views", VALID, RUNS, 2)
def one_view_is_not_there(edit: Edit) -> None:
    """One of many answers of a broker was not recorded; those before and after it suffice."""
    middle = edit.original.observed("partitions")[5:-5]
    edit.drop(edit.chosen(middle).index)


@mutation("views", VALID, RUNS, 2)
def the_order_of_replicas_in_the_isr(edit: Edit) -> None:
    """A broker reports the members of an ISR in another order."""
    _changed(edit, 4, lambda entry: entry[4][::-1])
