"""What nodes log of the ends of logs: as they start, and as leaders take replicas out of an ISR."""

from datetime import datetime, timedelta
from typing import Any

from checkers.history.operations import Operation
from checkers.kraft.quorum.views import views_of
from tests.mutations.edits import Edit
from tests.mutations.families.votes import controllers
from tests.mutations.looking import Acked, acked
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUNS = ("smoke", "elections", "votes", "bulk")
"""Runs in which no fault hit a disk."""
_LATER_NS = 5_000_000_000


def _logged(edit: Edit, key: str, node: str, **value: Any) -> None:
    """Let a node's log have a line that was written a while after all else."""
    last: Operation = edit.original.operations[-1]
    time_ns = last.time_ns + _LATER_NS
    at = datetime.fromisoformat(edit.original.began_at) + timedelta(microseconds=time_ns // 1000)
    line = {"line": 9_000, "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
    edit.add(last, time_ns, process="runner", f="observe", key=key, node=node, value=line | value)


def _last(edit: Edit) -> tuple[str, Acked]:
    """A broker that is in sync at the end, and the last record that was acknowledged of a partition."""
    recovered = next(o for o in edit.original.of("recover") if "partitions" in (o.value or {}))
    nodes = next(iter(edit.original.of("setup"))).value["nodes"]
    names = {node["id"]: node["name"] for node in nodes}
    rows = recovered.value["partitions"]
    row = edit.chosen(rows)
    of_it = [a for a in acked(edit.original) if (a.topic, a.partition) == (row["topic"], row["partition"])]
    return names[row["isr"][edit.place % len(row["isr"])]], max(of_it, key=lambda each: each.offset)


def _load(edit: Edit, further: int) -> None:
    node, record = _last(edit)
    where = {"topic": record.topic, "partition": record.partition}
    _logged(edit, "loaded", node, **where, end=record.offset + further)


@mutation("log-ends", invalid("replica-end-regression"), RUNS, 3)
def loaded_without_its_last_record(edit: Edit) -> None:
    """A broker restarts and loads a log that ends below records acknowledged while it was in sync."""
    _load(edit, 0)


@mutation("log-ends", VALID, RUNS, 3)
def loaded_with_its_last_record(edit: Edit) -> None:
    """A broker restarts and loads a log that ends after all acknowledged records."""
    _load(edit, 1)


def _load_metadata(edit: Edit, further: int) -> None:
    """A voter loads its metadata log, that ends a little beside what it had of what was committed."""
    names = controllers(edit)
    last = views_of(edit.original).claims[-1]
    voter = edit.chosen(voter for voter in last.voters if voter.id in names)
    ends = [
        min(voter_state.log_end_offset, claim.high_watermark)
        for claim in views_of(edit.original).claims
        for voter_state in claim.voters
        if voter_state.id == voter.id
    ]
    where = {"topic": "__cluster_metadata", "partition": 0}
    _logged(edit, "loaded", names[voter.id], **where, end=max(ends) + further)


@mutation("log-ends", invalid("voter-end-regression"), RUNS, 2)
def a_voter_loads_less_than_it_had(edit: Edit) -> None:
    """A voter restarts and loads a metadata log that lacks the last committed record that it had."""
    _load_metadata(edit, -1)


@mutation("log-ends", VALID, RUNS, 2)
def a_voter_loads_what_it_had(edit: Edit) -> None:
    """A voter restarts and loads a metadata log that ends where its leader reported its end."""
    _load_metadata(edit, 0)


def _shrink(edit: Edit, behind: int, passed: int = 1) -> None:
    """A leader takes a replica out of the ISR that had fetched up to a little below its high watermark."""
    _, record = _last(edit)
    recovered = next(o for o in edit.original.of("recover") if "partitions" in (o.value or {}))
    row = next(
        row
        for row in recovered.value["partitions"]
        if (row["topic"], row["partition"]) == (record.topic, record.partition)
    )
    out = next(replica for replica in row["isr"] if replica != row["leader"])
    nodes = next(iter(edit.original.of("setup"))).value["nodes"]
    leader = next(node["name"] for node in nodes if node["id"] == row["leader"])
    mark = record.offset + passed
    ends = {"high_watermark": mark, "end": mark + 1, "isr": row["isr"]}
    where = {"topic": record.topic, "partition": record.partition}
    _logged(edit, "isr-shrunk", leader, **where, **ends, out=[[out, mark - behind]])


@mutation("log-ends", invalid("high-watermark-beyond-member"), RUNS, 2)
def a_mark_beyond_a_member(edit: Edit) -> None:
    """A leader removes a member of the ISR that had not fetched up to its high watermark."""
    _shrink(edit, 1)


@mutation("log-ends", VALID, RUNS, 2)
def a_mark_at_a_members_end(edit: Edit) -> None:
    """A leader removes a member of the ISR that had fetched up to its high watermark."""
    _shrink(edit, 0)


@mutation("log-ends", invalid("acked-beyond-high-watermark"), RUNS, 2)
def a_mark_below_what_was_acknowledged(edit: Edit) -> None:
    """A leader logs a high watermark that is not above the last acknowledged record."""
    _shrink(edit, 0, 0)


def _truncate(edit: Edit, behind: int) -> None:
    """A broker cuts off its log at, or a little below, its high watermark."""
    node, record = _last(edit)
    where = {"topic": record.topic, "partition": record.partition}
    mark = record.offset + 1
    _logged(edit, "truncated", node, **where, end=mark - behind, high_watermark=mark)


@mutation("log-ends", invalid("truncated-below-high-watermark"), RUNS, 2)
def a_follower_cuts_off_what_was_committed(edit: Edit) -> None:
    """A follower truncates the last record below its high watermark; all elections were clean."""
    _truncate(edit, 1)


@mutation("log-ends", VALID, RUNS, 2)
def a_follower_cuts_off_what_was_not_committed(edit: Edit) -> None:
    """A follower truncates its log to its high watermark."""
    _truncate(edit, 0)


def _cut(edit: Edit, behind: int) -> None:
    """A broker cuts off its log at, or a little below, the end of the last record that it had in sync."""
    node, record = _last(edit)
    where = {"topic": record.topic, "partition": record.partition}
    _logged(edit, "log-cut", node, **where, end=record.offset + 1 - behind)


@mutation("log-ends", invalid("truncated-committed"), RUNS, 2)
def a_follower_removes_what_was_acknowledged(edit: Edit) -> None:
    """A follower truncates its log to the last record that was acknowledged while it was in sync."""
    _cut(edit, 1)


@mutation("log-ends", VALID, RUNS, 2)
def a_follower_removes_what_was_not_acknowledged(edit: Edit) -> None:
    """A follower truncates its log after the last record that was acknowledged while it was in sync."""
    _cut(edit, 0)


@mutation("log-ends", unknown("logs that brokers truncated"), RUNS[:2], 1)
def cuts_are_left_out(edit: Edit) -> None:
    """Lines about truncated logs were left out of the record, those of followers that removed records."""
    _left_out(edit, "log-cut")


def _left_out(edit: Edit, kind: str) -> None:
    """A broker's log had more lines of a kind than the run recorded."""
    last = edit.original.operations[-1]
    nodes = next(iter(edit.original.of("setup"))).value["nodes"]
    node = edit.chosen(node["name"] for node in nodes if "broker" in node["roles"])
    value = {"what": kind, "why": "only the first 50,000 of 50,001 entries are recorded"}
    edit.add(last, last.time_ns, process="runner", f="observe", key="log-lacking", node=node, value=value)


@mutation("log-ends", unknown("logs that brokers loaded"), RUNS[:2], 1)
def loads_are_left_out(edit: Edit) -> None:
    """Lines about logs that a broker loaded were left out of the record."""
    _left_out(edit, "loaded")


@mutation("log-ends", unknown("ISRs that brokers shrank"), RUNS[:2], 1)
def shrunk_isrs_are_left_out(edit: Edit) -> None:
    """Lines about ISRs that a broker shrank were left out of the record."""
    _left_out(edit, "isr-shrunk")


@mutation("log-ends", unknown("logs that brokers truncated"), RUNS[:2], 1)
def truncations_are_left_out(edit: Edit) -> None:
    """Lines about logs that a broker truncated were left out of the record."""
    _left_out(edit, "truncated")


@mutation("log-ends", VALID, RUNS[:2], 1)
def begun_epochs_are_left_out(edit: Edit) -> None:
    """Lines about leader epochs that a broker began were left out, and no record was lost."""
    _left_out(edit, "epoch-begun")
