"""Starts of the cluster before the one that became ready, and what was recorded of them."""

from typing import Any

from checkers.history.operations import History
from tests.mutations.edits import Edit
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUNS = ("smoke", "chaos", "txn", "voters", "deletions")
_READY: dict[str, Any] = {"ready": True, "took_s": 9.5, "load_per_cpu": 0.4}
_NOT_READY: dict[str, Any] = {
    "ready": False,
    "took_s": 90.2,
    "waited_for": "brokers that are unfenced",
    "load_per_cpu": 3.1,
    "sentences": ["n2 truncated its metadata log to offset 0"],
    "died": [],
}
_DIED = {"node": "n2", "exit_code": 1, "said": "FATAL Encountered fatal fault: Error loading metadata"}


def _starts(edit: Edit, *values: dict[str, Any]) -> None:
    """Let a run have had these starts before its setup."""
    setup = next(iter(edit.original.of("setup")))
    for number, value in enumerate(values, start=1):
        at_ns = setup.time_ns - len(values) + number - 1
        edit.add(setup, at_ns, process="runner", f="start", key=str(number), value=value)


@mutation("starts", VALID, RUNS, 1)
def ready_at_once(edit: Edit) -> None:
    """The first start became ready."""
    _starts(edit, _READY)


@mutation("starts", VALID, RUNS, 1)
def ready_at_the_second_start(edit: Edit) -> None:
    """The first start did not become ready within krucible's own bound, and the second one did."""
    _starts(edit, _NOT_READY, _READY)


@mutation("starts", VALID, ("smoke", "voters"), 1)
def ready_at_the_third_start(edit: Edit) -> None:
    """Two starts did not become ready, one of them without a record of why, and the third one did."""
    _starts(edit, _NOT_READY, _NOT_READY | {"sentences": [], "waited_for": None}, _READY)


@mutation("starts", invalid("node-died-at-start"), RUNS, 1)
def a_node_died_at_the_first_start(edit: Edit) -> None:
    """A node of the first cluster ended by itself, by a fatal fault; the second start became ready."""
    _starts(edit, _NOT_READY | {"died": [_DIED]}, _READY)


@mutation("starts", invalid("node-died-at-start"), RUNS, 1)
def nodes_died_at_every_start(edit: Edit) -> History:
    """In all three starts a node ended by itself, and none became ready, so that there was no load."""
    return _never_ready(edit, _NOT_READY | {"died": [_DIED, _DIED | {"node": "n3"}]})


@mutation("starts", unknown("start"), RUNS, 1)
def never_ready(edit: Edit) -> History:
    """None of three starts became ready, for no reason that shows a broken promise; there was no load."""
    return _never_ready(edit, _NOT_READY)


def _never_ready(edit: Edit, value: dict[str, Any]) -> History:
    setup = next(iter(edit.original.of("setup")))
    edit.drop(*[o.index for o in edit.original.operations if o.f != "journal"])
    for number in range(1, 4):
        edit.add(setup, setup.time_ns + number, process="runner", f="start", key=str(number), value=value)
    return edit.history()


@mutation("starts", unknown("shape|start"), ("smoke", "txn"), 1)
def told_in_another_shape(edit: Edit) -> None:
    """The record of a start does not have the format of histories."""
    _starts(edit, {"ready": "perhaps"})


@mutation("starts", VALID, ("smoke", "chaos"), 1)
def a_start_is_told_twice(edit: Edit) -> None:
    """The start that became ready is recorded twice."""
    _starts(edit, _READY, _READY)
