"""An instance id that its member has released is free for the next member.

A static member of KIP-848's protocol (KIP-345) has a fixed instance id.  When it leaves for a while, the
coordinator writes its epoch -2, and the next member with that instance id takes its place.  If the former
member has not left, the coordinator refuses the next one with UNRELEASED_INSTANCE_ID: another member still
uses the instance id.  The broker's text names the member that was refused and the one that it takes for the
owner; kafka-clients reports this text.  A refusal is wrong in two cases:

1. *The owner is the member itself.*  A member that gets no answer when it joins, or that was fenced, joins
   again with the same member id.  No other member uses its instance id.
2. *The owner had left.*  The log of the offsets topic had its epoch -2 before the refused request was sent,
   and has no other epoch of it after that.  A coordinator has read its log before it answers.

Reasons why a correct Kafka causes no finding of the second kind:

- *A deposed coordinator*, which does not know that record, may answer.  So its leader epoch must have been in
  the log for a time, and meanwhile no process was suspended and no network was disturbed.
- *A record that was lost* is in no final log: only the newest log that was read counts.  A leader that has
  written nothing yet has no log that is newer, so an event that permits a loss excuses the finding.
- *The owner may have come back* by a record that was not read.  So the refusal counts only if the brokers'
  disks were read once more after it.

Refusals that only the coordinators' own logs show are judged by `known_leaves`.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from checkers.columns.tables import PartitionName
from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.evidence.faults import fault_windows
from checkers.evidence.offsets_log import GroupEntry, RecordPlace, Written, last_read_ns, written_of
from checkers.groups.anomalies import STATIC_REFUSED
from checkers.groups.excuses import GroupFinding
from checkers.groups.known_leaves import LEFT
from checkers.history.operations import INFO, INVOKE, History, Operation
from checkers.verdict.verdict import Anomaly

_REFUSED = re.compile(
    r"Static member (?P<member>\S+) with instance id (?P<instance>\S+) cannot join the group because the "
    r"instance id is owned by (?P<owner>\S+) member"
)
"""The text of ``GroupMetadataManager.throwIfInstanceIdIsUnreleased``, by Kafka 4.0 to 4.4."""
_SETTLED_NS = 10_000_000_000
"""How long after an election, or a fault, a deposed coordinator may still answer."""


class _Refusal(NamedTuple):
    """A poll that failed, because its member could not join.

    Attributes:
        asked: position of the poll's invocation.
        answered: its completion.
        member: id of the member that was refused.
        instance: the instance id.
        owner: id of the member that the coordinator took for the owner.
    """

    asked: int
    answered: Operation
    member: str
    instance: str
    owner: str


class _Leaving(NamedTuple):
    """The record by which a static member left: its partition, its position, and what was read of it."""

    partition: PartitionName
    place: RecordPlace
    entry: GroupEntry


def find_unreleased(history: History, group: str) -> Iterator[GroupFinding]:
    """Members of a group that were refused for their instance id, although no other member had it.

    There is one finding for each owner and case, about the first refusal that proves it.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        group: id of the group.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    own: set[str] = set()
    left: set[str] = set()
    for refusal in _refusals(history, group):
        if refusal.owner == refusal.member:
            if refusal.owner not in own:
                own.add(refusal.owner)
                yield GroupFinding(_by_itself(group, refusal))
        elif refusal.owner not in left and (leaving := _left_before(history, group, refusal)) is not None:
            left.add(refusal.owner)
            yield GroupFinding(_after_leaving(group, refusal, leaving), by_log=True)


def _refusals(history: History, group: str) -> Iterator[_Refusal]:
    asked: dict[int | str, int] = {}
    for operation in history.of("poll"):
        if operation.type is INVOKE:
            asked[operation.process] = operation.index
            continue
        match = _REFUSED.search(operation.error or "")
        if match and operation.type is INFO and operation.value.get("group") == group:
            began = asked.get(operation.process, operation.index)
            yield _Refusal(began, operation, match["member"], match["instance"], match["owner"])


def _left_before(history: History, group: str, refusal: _Refusal) -> _Leaving | None:
    """The record by which the owner had certainly left when it was named; None if there is none."""
    sent_ns = history.operations[refusal.asked].time_ns
    if last_read_ns(history) < refusal.answered.time_ns or any(
        not window.ends_processes and window.overlaps(sent_ns - _SETTLED_NS, refusal.answered.time_ns)
        for window in fault_windows(history)
    ):
        return None
    for number, part in written_of(history).items():
        last = _last_of(part, group, refusal.owner)
        if last is not None and last.entry.op < refusal.asked:
            since = min(entry.op for place, entry in part.groups.items() if place.epoch == last.place.epoch)
            settled = history.operations[since].time_ns + _SETTLED_NS <= sent_ns
            return last._replace(partition=PartitionName(OFFSETS_TOPIC, number)) if settled else None
    return None


def _last_of(part: Written, group: str, member: str) -> _Leaving | None:
    """The last record with an epoch of a member in the newest log, if by it the member left."""
    tips = part.tips
    chain = part.chain(tips[0]) if tips else None
    if chain is None:
        return None
    mine = [
        _Leaving(PartitionName(OFFSETS_TOPIC, 0), place, entry)
        for place, entry in part.groups.items()
        if entry.record.what == "member"
        and (entry.record.group, entry.record.member) == (group, member)
        and entry.record.epoch is not None
        and chain.has(place)
    ]
    last = max(mine, key=lambda one: one.place.offset, default=None)
    return last if last is not None and last.entry.record.epoch == LEFT else None


def _by_itself(group: str, refusal: _Refusal) -> Anomaly:
    return STATIC_REFUSED.found(
        f"{group} refused its static member {refusal.member}, because its instance id {refusal.instance} "
        "was in use by that member itself",
        subject=f"{group} {refusal.owner}",
        time_ns=refusal.answered.time_ns,
        witness=sorted({refusal.asked, refusal.answered.index}),
        explanation=[f"The answer was: {refusal.answered.error}"],
    )


def _after_leaving(group: str, refusal: _Refusal, leaving: _Leaving) -> Anomaly:
    at = f"{leaving.partition}@{leaving.place.offset}"
    return STATIC_REFUSED.found(
        f"{group} refused static member {refusal.member}, because member {refusal.owner} had instance id "
        f"{refusal.instance}, which it had released by {at}",
        subject=f"{group} {refusal.owner}",
        time_ns=refusal.answered.time_ns,
        witness=sorted({leaving.entry.op, refusal.asked, refusal.answered.index}),
        explanation=[
            f"The answer was: {refusal.answered.error}",
            f"By {at}, leader epoch {leaving.place.epoch}, {refusal.owner} has left: its epoch is {LEFT}.",
            "That was read before the request was sent, and the log has no later epoch of that member.",
        ],
    )
