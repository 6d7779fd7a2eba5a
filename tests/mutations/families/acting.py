"""Voters that nodes log that they act by, beside those that their metadata logs have."""

from datetime import datetime, timedelta
from typing import Any

from checkers.history.logged import METADATA_TRUNCATED, QUORUM_VIEW
from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import metadata_logs
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUNS = ("elections", "voters", "chaos", "moves")
_STRANGER = 199
_LATE = 9_999
_BEFORE_THE_READING = timedelta(seconds=3)


def _logs(edit: Edit) -> list[Operation]:
    """Metadata logs that begin with the voters of the first format, and have an end."""
    return [log for log in metadata_logs(edit.original) if log.value["end"] and not log.value["log_start"]]


def _last_set(log: Operation) -> list[int]:
    """The voters of the last record of them, in a log or in the snapshot that it began with."""
    records = (*(log.value.get("checkpoint") or ("", []))[1], *log.value["records"])
    return [
        sorted(each["voterId"] for each in content["voters"])
        for _, _, kind, content in records
        if kind == "KRAFT_VOTERS"
    ][-1]


def _logged(edit: Edit, log: Operation, voters: list[int], line: int = 90_000) -> None:
    """Let a node of a metadata log report that it acts by some voters, shortly before its log is read."""
    before = timedelta(microseconds=log.value["began_ns"] / 1000) - _BEFORE_THE_READING
    at = (datetime.fromisoformat(edit.original.began_at) + before).isoformat()
    value: dict[str, Any] = {"line": line, "at": at, "state": "FollowerState", "epoch": _LATE}
    view = value | {"voters": voters, "started": False}
    edit.add(log, log.time_ns + 1, key=QUORUM_VIEW, value=view)


def _truncated(edit: Edit, log: Operation, line: int) -> None:
    value = {"line": line, "at": None, "end": log.value["end"]}
    edit.add(log, log.time_ns + 1, key=METADATA_TRUNCATED, value=value)


@mutation("acting-voters", invalid("voters-not-in-log"), ("elections", "voters", "moves"), 2)
def acts_by_a_voter_that_no_record_has(edit: Edit) -> None:
    """A node acts by a voter that is in no set of its metadata log."""
    log = edit.chosen(_logs(edit))
    _logged(edit, log, [*_last_set(log), _STRANGER])


@mutation("acting-voters", invalid("voters-not-in-log"), RUNS, 2)
def acts_by_what_was_cut_off(edit: Edit) -> None:
    """A node acts by fewer voters than the last set in its log after it truncated the rest."""
    log = edit.chosen(_logs(edit))
    _truncated(edit, log, 80_000)
    _logged(edit, log, _last_set(log)[1:])


@mutation("acting-voters", VALID, RUNS, 2)
def acts_by_the_set_that_a_truncation_left(edit: Edit) -> None:
    """A node acts by other voters until it truncates its log, and by the last set in it afterwards."""
    log = edit.chosen(_logs(edit))
    _logged(edit, log, _last_set(log)[1:], line=70_000)
    _truncated(edit, log, 80_000)
    _logged(edit, log, _last_set(log))


@mutation("acting-voters", unknown("metadata-truncated"), RUNS, 1)
def truncations_are_lacking(edit: Edit) -> None:
    """Not all truncations of a node's metadata log are recorded."""
    log = edit.chosen(_logs(edit))
    lacking = {"what": METADATA_TRUNCATED, "why": "only the first of them are recorded"}
    edit.add(log, log.time_ns + 1, key="log-lacking", value=lacking)
    _logged(edit, log, _last_set(log)[1:])
