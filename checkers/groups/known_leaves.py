"""A coordinator knows that a static member has left, if it loaded the record that says so.

A coordinator that refuses a static member logs which other member has its instance id.  Clients may not
report this, as librdkafka does not.  The refusal is wrong if the coordinator had loaded a record by which
that member had left (its epoch is -2), and nothing has changed that since then:

- A coordinator loads everything that its log has when its leader epoch begins.  It logs when it has finished,
  and in which leader epoch.  A log with a record of that epoch has all that was loaded, before the first such
  record (KIP-101).
- After that, only the coordinator itself changes what it knows, and the member comes back only by a request
  that it logs with the member's id.  The member's id must be in no other line of that coordinator between the
  end of loading and the refusal.  Records that it wrote and lost again need not be known for that.

Only that broker's log lines are compared, by their order, with one log.  So neither clocks, nor faults, nor a
deposed coordinator, nor a record that was lost afterwards explain a finding.

Nothing is found if the broker appended no record in that leader epoch, if the log was not read without gaps
from the record on, or if a record after it may be about the member: one of a classic group, or one that could
not be decoded.  Groups with members of both protocols are left to the other rules: when a group changes its
protocol, all its members are written again, and no log line names them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.evidence.node_logs import logged_at_ns
from checkers.evidence.offsets_log import Chain, GroupEntry, RecordPlace, Written, written_of
from checkers.groups.anomalies import STATIC_REFUSED
from checkers.history.logged import INSTANCE_REFUSED, InstanceRefused
from checkers.history.missing_logs import nodes_lacking
from checkers.history.observed import GroupWritten
from checkers.history.operations import History, Operation
from checkers.history.setup import recorded_setup
from checkers.verdict.verdict import Anomaly

LEFT = -2
"""Epoch of a static member that left for a while."""


class _Left(NamedTuple):
    """The record by which a member left: its position, and what was read of it."""

    place: RecordPlace
    entry: GroupEntry


def find_known_leaves(history: History, group: str) -> Iterator[Anomaly]:
    """Refusals for an instance id whose owner had left before the coordinator was loaded.

    There is one finding for each owner, about the first refusal that proves it.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        group: id of a group without classic members.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    found: set[str] = set()
    for operation in history.observed(INSTANCE_REFUSED):
        refused = msgspec.convert(operation.value, InstanceRefused)
        if refused.group == group and not refused.named and refused.owner not in found:
            left = _left_before(history, refused)
            if left is not None:
                found.add(refused.owner)
                yield _refused_by(history, operation, refused, left)


def unread_refusals(history: History, group: str) -> str | None:
    """Why refusals may be missing, for a group with static members of KIP-848's protocol; None if not.

    Raises:
        msgspec.ValidationError: the set-up is not as docs/histories.md says.
    """
    workload = recorded_setup(history).workload
    nodes = nodes_lacking(history, INSTANCE_REFUSED)
    if not nodes or group not in workload.static or group not in workload.modern:
        return None
    names = ", ".join(sorted(str(node) for node in nodes))
    return f"refusals of static members of {group} may be missing: not all such lines of {names} were read"


def _left_before(history: History, refused: InstanceRefused) -> _Left | None:
    """The record by which the owner had left before the leader epoch began; None if there is none."""
    part = written_of(history).get(refused.partition, Written())
    for chain in filter(None, (part.chain(tip) for tip in part.tips if tip.epoch == refused.epoch)):
        last = _last_before(part, chain, refused)
        if last is not None and (last.entry.record.what, last.entry.record.epoch) == ("member", LEFT):
            return last
    return None


def _last_before(part: Written, chain: Chain, refused: InstanceRefused) -> _Left | None:
    """The last record of a log, from before the leader epoch, that may say that the owner is there or not."""
    loaded = (
        _Left(place, entry)
        for place, entry in part.groups.items()
        if place.epoch < refused.epoch and chain.has(place) and _may_tell(entry.record, refused)
    )
    return max(loaded, key=lambda left: left.place.offset, default=None)


def _may_tell(record: GroupWritten, refused: InstanceRefused) -> bool:
    if record.what == "unreadable":
        return True
    if record.group != refused.group or record.epoch is None:
        return False
    return record.what == "classic" or (record.what == "member" and record.member == refused.owner)


def _refused_by(history: History, operation: Operation, refused: InstanceRefused, left: _Left) -> Anomaly:
    at = f"{PartitionName(OFFSETS_TOPIC, refused.partition)}@{left.place.offset}"
    owner = refused.owner
    logged_ns = logged_at_ns(history, refused.at)
    return STATIC_REFUSED.found(
        f"{refused.group} refused static member {refused.member}, because member {owner} had instance id "
        f"{refused.instance}, which it had released by {at}, before the coordinator loaded the group",
        subject=f"{refused.group} {owner}",
        time_ns=operation.time_ns if logged_ns is None else logged_ns,
        witness=sorted({left.entry.op, operation.index}),
        explanation=(
            f"By {at}, leader epoch {left.place.epoch}, {owner} has left: its epoch is {LEFT}.",
            f"Line {refused.loaded} of {operation.node}'s log: it has loaded leader epoch {refused.epoch}.",
            f"Between that record and this leader epoch the log has no other epoch of {owner}.",
            f"Line {refused.line}, at {refused.at}: it refuses {refused.member}.",
            f"No other line of that coordinator between these two names {owner}.",
        ),
    )
