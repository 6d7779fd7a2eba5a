"""Requests for feature levels, and the levels that nodes report: none of the recorded runs has any."""

from typing import Any

from tests.mutations.edits import Edit
from tests.mutations.looking import FAIL, SECOND_NS, settled_ns
from tests.mutations.suite import VALID, invalid, mutation

FAMILY = "feature-levels"
RUNS = ("smoke", "txn")
FEATURE = "transaction.version"


def _levels(edit: Edit) -> dict[str, int]:
    levels: dict[str, int] = edit.original.of("setup")[0].value["features"]
    return levels


def _report(edit: Edit, at_s: float, node: str, epoch: int, **changed: int) -> None:
    """Let a node report its levels, some seconds after everything had settled."""
    like = edit.original.observed("partitions")[0]
    time_ns = settled_ns(edit.original) + round(at_s * SECOND_NS)
    levels = _levels(edit) | {name.replace("_", "."): level for name, level in changed.items()}
    value: dict[str, Any] = {
        "began_ns": time_ns - 1,
        "epoch": epoch,
        "levels": {name: level for name, level in levels.items() if level},
        "supported": {FEATURE: [0, 2]},
    }
    edit.add(like, time_ns, process=f"observer-features-{node}", key="features", value=value, node=node)


def _ask(edit: Edit, level: int, upgrade_type: str, *, code: int = 0, only: bool = False) -> None:
    """Request a level of the feature; it takes a second from the time when everything had settled."""
    asked = {"level": level, "upgrade_type": upgrade_type, "to": "n1"} | (
        {"validate_only": True} if only else {}
    )
    answered = asked | {"code": code, "message": None, "took_ms": 1_000}
    from_ns = settled_ns(edit.original)
    times, values = (from_ns, from_ns + SECOND_NS), (asked, answered)
    if code:
        edit.add_call(
            "admin", "update-feature", FEATURE, times, values, ended=FAIL, error=f"Kafka answered {code}"
        )
    else:
        edit.add_call("admin", "update-feature", FEATURE, times, values)


@mutation(FAMILY, VALID, RUNS, 1)
def a_level_that_is_lowered_on_all_nodes(edit: Edit) -> None:
    """A level is lowered by a safe downgrade, and two nodes report this, one after the other."""
    _ask(edit, 1, "safe-downgrade")
    for at_s, node, epoch, level in (
        (-1, "n1", 500, 2),
        (2, "n1", 510, 1),
        (2.1, "n2", 505, 2),
        (3, "n2", 511, 1),
    ):
        _report(edit, at_s, node, epoch, transaction_version=level)


@mutation(FAMILY, VALID, RUNS, 1)
def a_level_that_is_refused_and_stays(edit: Edit) -> None:
    """An upgrade to a lower level is refused, and a node reports the level that it had."""
    _ask(edit, 1, "upgrade", code=95)
    _report(edit, -1, "n1", 500)
    _report(edit, 2, "n1", 501)


@mutation(FAMILY, invalid("feature-change-not-refused"), RUNS, 1)
def a_level_that_is_lowered_by_an_upgrade(edit: Edit) -> None:
    """An upgrade to a lower level is accepted."""
    _ask(edit, 1, "upgrade")


@mutation(FAMILY, invalid("feature-change-not-refused"), RUNS, 1)
def a_level_that_is_too_new(edit: Edit) -> None:
    """A level is found valid that a broker does not support."""
    _report(edit, -1, "n1", 500)
    _ask(edit, 3, "upgrade", only=True)
    _report(edit, 2, "n1", 501)


@mutation(FAMILY, invalid("unrequested-feature-level"), RUNS, 1)
def a_level_that_was_refused(edit: Edit) -> None:
    """A node reports a level that was refused."""
    _report(edit, -1, "n1", 500)
    _ask(edit, 1, "upgrade", code=95)
    _report(edit, 2, "n2", 501, transaction_version=1)


@mutation(FAMILY, invalid("unrequested-feature-level"), RUNS, 1)
def a_level_that_was_only_checked(edit: Edit) -> None:
    """A node reports a level that was only validated."""
    _report(edit, -1, "n1", 500)
    _ask(edit, 1, "safe-downgrade", only=True)
    _report(edit, 2, "n2", 501, transaction_version=1)


@mutation(FAMILY, invalid("feature-level-went-back"), RUNS, 1)
def a_level_that_comes_back(edit: Edit) -> None:
    """A lowered level is the former one again, in a later epoch."""
    _report(edit, -1, "n1", 500)
    _ask(edit, 1, "safe-downgrade")
    _report(edit, 2, "n1", 510, transaction_version=1)
    _report(edit, 3, "n2", 511)


@mutation(FAMILY, invalid("divergent-feature-levels"), RUNS, 1)
def two_levels_in_one_epoch(edit: Edit) -> None:
    """Two nodes report different levels in one epoch."""
    _report(edit, -1, "n1", 500)
    _ask(edit, 1, "safe-downgrade")
    _report(edit, 2, "n1", 510, transaction_version=1)
    _report(edit, 3, "n2", 510)


@mutation(FAMILY, invalid("features-epoch-went-back"), RUNS, 1)
def an_older_epoch(edit: Edit) -> None:
    """A node reports an older epoch than half a second before."""
    _report(edit, 1, "n1", 500)
    _report(edit, 1.5, "n1", 499)


@mutation(FAMILY, invalid("feature-level-behind"), RUNS, 1)
def a_level_that_a_node_never_gets(edit: Edit) -> None:
    """A node reports for 20 seconds after a level was acknowledged, and not once that level."""
    _report(edit, -1, "n1", 500)
    _ask(edit, 1, "safe-downgrade")
    for at_s in range(1, 22):
        _report(edit, at_s, "n2", 505)
