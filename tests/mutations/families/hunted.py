"""What a hunt through recorded evidence found to be judged by nobody: broken promises that came out valid."""

from typing import Any

from tests.mutations.edits import Edit
from tests.mutations.families.groups import commits
from tests.mutations.looking import INFO, OK, SECOND_NS, metadata_logs, phase_ns
from tests.mutations.partitions import own, spans, states
from tests.mutations.suite import invalid, mutation

RUNS = ("smoke", "txn", "chaos")


@mutation("views", invalid("view-without-record"), RUNS, 1)
def a_topic_that_no_log_has(edit: Edit) -> None:
    """A broker reports a topic that the metadata log never had."""
    view = edit.chosen(edit.original.observed("partitions"))
    ghost = [[0, 1, 0, [1, 2, 3], [1, 2, 3], None]]
    edit.change(view.index, lambda value: value["topics"].update({"no-such-topic": ghost}))


@mutation("views", invalid("view-went-back", "recovery-denied"), RUNS, 1)
def a_broker_forgets_a_topic(edit: Edit) -> None:
    """After recovery one broker no longer reports a topic that it reported before, and all others do."""
    from_ns, topic = phase_ns(edit.original, "recover"), max(own(edit.original))
    views = [o for o in edit.original.observed("partitions") if o.time_ns > from_ns]
    node = edit.chosen(sorted({o.node for o in views}))
    for view in (o for o in views if o.node == node):
        edit.change(view.index, lambda value: value["topics"].pop(topic) and None)


@mutation("metadata-log", invalid("change-of-nothing"), ("smoke", "txn", "groups"), 1)
def partitions_of_no_topic(edit: Edit) -> None:
    """No node's metadata log has the record that created a topic, but all have those of its partitions."""
    for log in metadata_logs(edit.original):
        last = max((r[0] for r in log.value["records"] if r[2] == "TOPIC_RECORD"), default=-1)
        kept = [r for r in log.value["records"] if r[0] != last]
        edit.set(log.index, value=log.value | {"records": kept})


@mutation("transactions", invalid("producer-epoch-given-again"), ("txn",), 1)
def two_instances_have_one_epoch(edit: Edit) -> None:
    """Two initialisations of a transactional id get the same producer id and epoch."""
    for o in edit.original.of("init-transactions"):
        if o.type is OK and o.key == "txn-0":
            edit.set(o.index, value=o.value | {"producer_id": 5, "epoch": 3})


@mutation("groups", invalid("premature-commit"), ("groups",), 1)
def a_commit_of_a_generation_that_never_was(edit: Edit) -> None:
    """A commit of a generation that the group never reached is acknowledged."""

    def change(value: dict[str, Any]) -> None:
        value["membership"][1] = 99

    for o in edit.chosen([(i, o) for i, o in commits(edit) if o.value["membership"]]):
        edit.change(o.index, change)


@mutation("administration", invalid("reassignment-without-record"), ("moves",), 1)
def a_reassignment_that_brokers_tell_of(edit: Edit) -> None:
    """Brokers report a reassignment that nobody requested and no log has."""
    for o in edit.original.observed("reassignments"):
        ghost = ["log-0", 1, [9, 8, 7], [9], [8]]
        edit.set(o.index, value=o.value | {"ongoing": [*o.value["ongoing"], ghost]})


@mutation("administration", invalid("reassignment-uncommitted"), ("moves",), 1)
def a_target_of_a_controller_that_was_deposed(edit: Edit) -> None:
    """Another target of a reassignment is requested, not answered, and listed; then a new epoch begins."""
    span = spans(edit.original)
    state, listing = edit.chosen(
        (state, listing)
        for state in states(edit.original)
        if state.data.get("addingReplicas")
        for listing in edit.original.observed("reassignments")
        if span(state.offset)[1] < listing.value["began_ns"] and listing.time_ns < span(state.until)[0]
    )
    target = [state.topic, state.partition, state.replicas[1:]]
    asked = {"targets": [target], "throttle_bytes_per_s": None, "to": listing.node}
    asked_ns = listing.value["began_ns"] - SECOND_NS // 10
    times_ns = asked_ns, asked_ns + 5 * SECOND_NS
    edit.add_call("admin-9", "alter-reassignments", None, times_ns, (asked, asked), ended=INFO)
    row = [state.topic, state.partition, state.replicas, state.replicas[-1:], state.replicas[:1]]
    edit.set(listing.index, value=listing.value | {"ongoing": [row]})
    for log in metadata_logs(edit.original):
        records = [[o, 2 if o >= state.until else epoch, *rest] for o, epoch, *rest in log.value["records"]]
        edit.set(log.index, value=log.value | {"records": records})
    for o in edit.original.observed("quorum"):
        if o.value["answer"] == "leader" and o.value["began_ns"] > span(state.until)[0]:
            edit.set(o.index, value=o.value | {"leader_epoch": 2})
