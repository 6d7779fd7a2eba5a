"""Controllers that ask for votes with a disk that was emptied in the run, and with others."""

from typing import Any

from checkers.history.faults import recorded_fault
from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.families.votes import controllers
from tests.mutations.looking import FAIL
from tests.mutations.suite import VALID, invalid, mutation

FAMILY = "strange-candidates"
RUNS = ("chaos", "ends", "format-1")
WITH_VOTES = ("ends",)
"""Runs in which lines about votes were recorded; a vote in another one shows that lines are missing."""
_SECONDS = 10**9


def _emptied(edit: Edit) -> list[tuple[Operation, int, str, str]]:
    """Heals after which a controller had a new disk: its id, and the disk's old and new id."""
    ids = {name: voter for voter, name in controllers(edit).items()}
    found = []
    for heal in edit.original.of("heal"):
        fault = recorded_fault(heal)
        disk = fault.of_disk if fault is not None else None
        if fault is None or disk is None or not disk.directory_id_before or not disk.directory_id_after:
            continue
        if disk.directory_id_before != disk.directory_id_after and fault.targets[0] in ids:
            found.append(
                (heal, ids[fault.targets[0]], disk.directory_id_before, disk.directory_id_after),
            )
    return found


def _asks(edit: Edit, heal: Operation, candidate: int, disk: str) -> None:
    """Let another controller log that it refused a pre-vote, at a time that its log does not have."""
    node = next(name for voter, name in controllers(edit).items() if voter != candidate)
    value: dict[str, Any] = {"line": 90_000, "at": None, "epoch": 9_999, "candidate_id": candidate}
    value |= {"candidate_directory_id": disk, "granted": False, "pre_vote": True}
    value |= {"last_epoch": 1, "last_offset": 1, "directory_id": None}
    like = edit.original.operations[-1]
    edit.add(
        like,
        heal.time_ns + 5 * _SECONDS,
        process="runner",
        type=heal.type,
        f="observe",
        key="vote",
        value=value,
        node=node,
        error=None,
    )


@mutation(FAMILY, invalid("candidate-not-voter"), RUNS, 1)
def a_new_disk_asks(edit: Edit) -> None:
    """A controller with a new disk asks for a pre-vote, and nobody had added it."""
    heal, candidate, _, disk = edit.chosen(_emptied(edit))
    _asks(edit, heal, candidate, disk)


@mutation(FAMILY, VALID, WITH_VOTES, 1)
def an_old_disk_asks(edit: Edit) -> None:
    """A controller with the disk that it had at first asks for a pre-vote."""
    heal, candidate, disk, _ = edit.chosen(_emptied(edit))
    _asks(edit, heal, candidate, disk)


@mutation(FAMILY, VALID, WITH_VOTES, 1)
def a_new_disk_that_was_refused_as_a_voter_asks(edit: Edit) -> None:
    """A controller with a new disk asks for a pre-vote after a request to add it, which was refused."""
    heal, candidate, _, disk = edit.chosen(_emptied(edit))
    times = (heal.time_ns + _SECONDS, heal.time_ns + 2 * _SECONDS)
    asked: dict[str, Any] = {"directory_id": disk}
    answered = asked | {"code": 42, "message": None, "took_ms": 1}
    edit.add_call("admin", "add-voter", candidate, times, (asked, answered), ended=FAIL, error="refused")
    _asks(edit, heal, candidate, disk)
