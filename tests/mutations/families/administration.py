"""Admin operations, against what the metadata log and the observers tell: elections and reassignments."""

from typing import Any

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import FAIL, OK, SECOND_NS, pairs
from tests.mutations.partitions import states
from tests.mutations.suite import VALID, invalid, mutation

RUNS = ("chaos", "moves")


def _elections(edit: Edit, kind: str, code: int) -> list[tuple[Operation, int]]:
    """Answers to elections of a kind, with the place of each partition that got a code."""
    return [
        (o, at)
        for o in edit.original.of("elect-leaders")
        if o.type is OK and o.key == kind
        for at, result in enumerate(o.value["results"])
        if result[2] == code
    ]


@mutation("administration", invalid("election-contradicts-state"), ("chaos",), 1)
def elected_and_not_needed(edit: Edit) -> None:
    """An unclean election is answered with success although the partition had its leader all the time."""
    answer, at = edit.chosen(_elections(edit, "unclean", 84) or _elections(edit, "preferred", 84))

    def change(value: dict[str, Any]) -> None:
        value["results"][at][2:] = [0, None]

    edit.change(answer.index, change)


@mutation("administration", invalid("reassignment-lost", "metadata-ack-lost"), ("moves",), 2)
def a_reassignment_that_did_not_begin(edit: Edit) -> None:
    """A reassignment is acknowledged, but neither the metadata log nor any observer has it."""
    last = [o for o in edit.original.of("alter-reassignments") if o.type is OK][-1]
    at_ns = last.time_ns + SECOND_NS // 2 + edit.place * 100_000_000
    state = [s for s in states(edit.original) if s.topic == "log-0" and s.partition == 1][-1]
    others = [r for r in (1, 2, 3, 4) if r not in state.replicas]
    target = ["log-0", 1, [*state.replicas[:-1], others[0] if others else state.replicas[0]]]
    asked = {"targets": [target], "throttle_bytes_per_s": None, "to": last.value["to"]}
    answer = asked | {"code": 0, "message": None, "results": [["log-0", 1, 0, None]], "took_ms": 1}
    edit.add_call("admin-9", "alter-reassignments", None, (at_ns, at_ns + 1_000_000), (asked, answer))


@mutation("administration", VALID, RUNS, 1)
def an_admin_operation_is_refused(edit: Edit) -> None:
    """One more admin operation is requested and refused as a whole."""
    invoked, done = edit.chosen(pairs(edit.original, "alter-reassignments"))
    at_ns = done.time_ns + 200_000_000
    edit.add(invoked, at_ns, process="admin-9")
    value = done.value | {"code": 41, "message": "not the controller", "results": []}
    edit.add(done, at_ns + 1_000_000, process="admin-9", type=FAIL, value=value, error="NOT_CONTROLLER")
