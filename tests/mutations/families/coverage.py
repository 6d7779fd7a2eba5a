"""Coverage in time: observers that fell silent, and what nobody saw at all, although no journal is cut."""

from collections.abc import Callable
from typing import Any

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import FAIL, INFO, INVOKE, OK, SECOND_NS, phase_ns
from tests.mutations.partitions import own
from tests.mutations.suite import VALID, mutation, unknown

RUNS = ("smoke", "txn", "groups", "metadata", "deletions", "chaos")
SILENT_NS = 10 * SECOND_NS
MOMENT_NS = 3 * SECOND_NS


def _whole_nodes(edit: Edit, role: str) -> list[str]:
    """Nodes with a role that no fault hit."""
    hit = {t for o in edit.original.of("inject") for t in (o.value or {}).get("targets", ())}
    nodes = next(iter(edit.original.of("setup"))).value["nodes"]
    return [n["name"] for n in nodes if role in n["roles"] and n["name"] not in hit]


def _silent(edit: Edit, key: str, role: str, for_ns: int) -> None:
    """Let nothing be recorded of a node for a while within the load."""
    node = edit.chosen(_whole_nodes(edit, role))
    first_ns, last_ns = phase_ns(edit.original, "load"), phase_ns(edit.original, "heal")
    from_ns = first_ns + (last_ns - first_ns) // 3
    lost = [
        o for o in edit.original.observed(key) if o.node == node and from_ns < o.time_ns < from_ns + for_ns
    ]
    edit.drop(*[o.index for o in lost])


@mutation("coverage", unknown("quorum-covered"), RUNS, 1)
def a_controller_was_not_asked_for_long(edit: Edit) -> None:
    """For ten seconds no answer of a controller that was up was recorded."""
    _silent(edit, "quorum", "controller", SILENT_NS)


@mutation("coverage", unknown("quorum-state-covered"), RUNS, 1)
def a_file_was_not_read_for_long(edit: Edit) -> None:
    """For ten seconds nothing was recorded of the quorum-state file of a node that was up."""
    _silent(edit, "quorum-state", "controller", SILENT_NS)


@mutation("coverage", unknown("partitions-covered"), RUNS, 1)
def a_broker_was_not_asked_for_long(edit: Edit) -> None:
    """For ten seconds no view of a broker that was up was recorded."""
    _silent(edit, "partitions", "broker", SILENT_NS)


@mutation("coverage", VALID, RUNS, 1)
def a_controller_was_silent_for_a_moment(edit: Edit) -> None:
    """For a second and a half no answer of a controller was recorded, as on a busy host."""
    _silent(edit, "quorum", "controller", MOMENT_NS // 2)


@mutation("coverage", VALID, RUNS, 1)
def a_file_was_not_read_for_a_moment(edit: Edit) -> None:
    """For three seconds nothing was recorded of a node's quorum-state file."""
    _silent(edit, "quorum-state", "controller", MOMENT_NS)


@mutation("coverage", VALID, RUNS, 1)
def a_broker_was_silent_for_a_moment(edit: Edit) -> None:
    """For three seconds no view of a broker was recorded."""
    _silent(edit, "partitions", "broker", MOMENT_NS)


def _none(edit: Edit, key: str, wanted: Callable[[Operation], bool] = lambda _: True) -> None:
    edit.drop(*[o.index for o in edit.original.observed(key) if wanted(o)])


@mutation("coverage", unknown("views-covered|partitions-covered"), RUNS, 1)
def no_broker_told_of_a_partition(edit: Edit) -> None:
    """No view of any broker has one of the partitions."""
    topic = max(own(edit.original))
    for view in edit.original.observed("partitions"):
        entries = view.value["topics"].get(topic, [])
        if any(entry[0] == 0 for entry in entries):
            kept = [entry for entry in entries if entry[0] != 0]
            value = view.value | {"topics": view.value["topics"] | {topic: kept}}
            edit.set(view.index, value=value)


@mutation("coverage", unknown("views-covered|partitions-covered"), RUNS, 1)
def no_broker_told_of_anything(edit: Edit) -> None:
    """No view of any broker was recorded, although no journal is cut."""
    _none(edit, "partitions")


@mutation("coverage", unknown("quorum-covered|leader-views"), RUNS, 1)
def no_controller_answered(edit: Edit) -> None:
    """No answer of any controller was recorded, although no journal is cut."""
    _none(edit, "quorum")


@mutation("coverage", unknown("quorum-state-covered|quorum-state-views"), RUNS, 1)
def no_file_was_read(edit: Edit) -> None:
    """No quorum-state file was read, although no journal is cut."""
    _none(edit, "quorum-state")


@mutation("coverage", unknown("leader-epochs-covered"), RUNS, 1)
def a_checkpoint_was_not_read(edit: Edit) -> None:
    """The leader-epoch checkpoint of one replica that has records was not read."""
    found = edit.original.observed("leader-epochs")
    edit.drop(
        edit.chosen(o for o in found if o.value["entries"] and o.value["topic"] in own(edit.original)).index
    )


@mutation("coverage", unknown("leader-epochs-covered"), RUNS, 1)
def no_checkpoint_was_read(edit: Edit) -> None:
    """No leader-epoch checkpoint of any replica was read."""
    _none(edit, "leader-epochs")


@mutation("coverage", unknown("replica|disk|log"), RUNS, 1)
def no_log_was_read(edit: Edit) -> None:
    """No replica's log was read from any disk, although the run means to."""
    _none(edit, "replica")


@mutation("coverage", unknown("replica|disk|log"), RUNS, 1)
def the_disks_of_one_node_were_not_read(edit: Edit) -> None:
    """Nothing was read from the disk of a node that has replicas."""
    node = edit.chosen(sorted({o.node for o in edit.original.observed("replica")}))
    for key in ("replica", "leader-epochs"):
        _none(edit, key, lambda o: o.node == node)


@mutation("coverage", unknown("metadata"), RUNS, 1)
def no_metadata_log_was_read(edit: Edit) -> None:
    """No node's metadata log was read, although the run means to."""
    _none(edit, "metadata-log")


@mutation("coverage", VALID, RUNS, 1)
def one_more_answer_is_an_error(edit: Edit) -> None:
    """An answer of a controller is followed by an error of the same controller."""
    seen = edit.chosen(edit.original.observed("quorum"))
    edit.add(seen, seen.time_ns + 1000, value={"began_ns": seen.value["began_ns"], "answer": "error"})


_LAST = {"groups": "poll", "metadata": "list-topics", "offsets": "read", "copy": "committed-offsets"}


@mutation("coverage", unknown("final-"), tuple(_LAST), 1)
def nobody_answered_at_the_end(edit: Edit) -> None:
    """No request of the workload after recovery was answered."""
    from_ns = phase_ns(edit.original, "final-read")
    before = {o.process for o in edit.original.operations if o.time_ns < from_ns}
    for o in (o for f in (_LAST[edit.name], "commit") for o in edit.original.of(f)):
        late = o.time_ns > from_ns and o.type is not INVOKE
        if late and (edit.name != "groups" or o.process not in before):
            value: Any = o.value if edit.name == "groups" else None
            edit.set(o.index, type=FAIL, value=value, error="_TRANSPORT: Broker transport failure")


@mutation("coverage", unknown("acked|acknowledged"), ("smoke", "groups", "deletions", "moves"), 1)
def nothing_was_acknowledged_after_the_faults(edit: Edit) -> None:
    """From the first fault on no send was answered, so nothing shows what the faults did."""
    first_ns = min(o.time_ns for o in edit.original.of("inject"))
    for o in edit.original.of("send"):
        if o.type is OK and first_ns < o.time_ns:
            answer = [[entry[0], entry[1], None, "info"] for entry in o.value]
            edit.set(o.index, type=INFO, value=answer, error="_MSG_TIMED_OUT: Local: Message timed out")
