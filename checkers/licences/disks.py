"""Disk faults: which replicas of a partition they hit, for how long, and which replicas were in sync.

A copy counts as hit until its broker has all committed records again.  The metadata log shows when this
happens: the broker joins the ISR after the heal has started, or it becomes the leader, whose log is
authoritative.  (A broker that restarts is fenced first, and leaves the ISR unless it is the last one in it:
KIP-631, KIP-966.)  Without that log, the reports of other brokers decide.  The copy is in sync again when a
broker that had reported it as out of sync reports it as in sync, or when it is reported in sync in a leader
epoch that is newer than the fault.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.faults import FaultWindow, recorded_faults
from checkers.evidence.partition_changes import PartitionState
from checkers.history.operations import History
from checkers.history.replicas import METADATA_TOPIC
from checkers.licences.facts import Facts, ReportedPartitionState

DEAD = "dead-disk"
"""The kind whose probes report which directories failed while the process kept running."""


class CopyFault(NamedTuple):
    """A fault that hit a copy of a partition.

    Attributes:
        window: the fault.
        replica: id of the broker whose copy it is.
        from_ns: when it began.
        to_ns: when the copy was in sync again, `NEVER` if it was not.
    """

    window: FaultWindow
    replica: int
    from_ns: int
    to_ns: int


def hits(history: History, window: FaultWindow, topic: str, partition: int | None = None) -> bool:
    """Whether a disk fault hit a node's data of a topic, or of one of its partitions.

    A fault may hit only one of several log directories.  In that case the list of removed files decides, if
    one was recorded.
    """
    if not window.hits_disks:
        return False
    recorded = recorded_faults(history, window)
    planned = recorded[0].planned
    if planned.scope == "topic" and (topic == METADATA_TOPIC or planned.topic not in {None, topic}):
        return False
    removed = next(
        (probe.removed for probe in (each.of_disk for each in recorded) if probe.removed is not None), None
    )
    if planned.log_dir is None or removed is None:
        return True
    # The files of the metadata log may be reported without their folder.
    folders = [part.rpartition("-") for path in removed for part in path.split("/")]
    numbers = {number for name, _, number in folders if name == topic}
    return bool(numbers) if partition is None else str(partition) in numbers


def copy_faults_of(facts: Facts, partition: PartitionName, *, wiping: bool = False) -> list[CopyFault]:
    """Faults that hit copies of a partition, or only wiping ones, in the order of their starts."""
    found: list[CopyFault] = []
    for window in facts.windows:
        if wiping and not window.wipes:
            continue
        if not hits(facts.history, window, partition.topic, partition.partition):
            continue
        hit_brokers = {facts.ids[name] for name in window.targets if name in facts.ids}
        found += [
            CopyFault(window, replica, window.invoked_ns, _rejoined_ns(facts, partition, window, replica))
            for replica in sorted(hit_brokers & _holders(facts, partition, window))
        ]
    return found


def active(faults: Sequence[CopyFault], now: CopyFault) -> list[CopyFault]:
    """For each replica that is hit when a fault begins, return its longest fault, this one included."""
    longest: dict[int, CopyFault] = {}
    for fault in faults:
        known = longest.get(fault.replica)
        if fault.from_ns <= now.from_ns <= fault.to_ns and (known is None or fault.to_ns > known.to_ns):
            longest[fault.replica] = fault
    return list(longest.values())


def all_hit(facts: Facts, partition: PartitionName, fault: CopyFault, hit: Sequence[CopyFault]) -> bool:
    """Whether these faults may have hit all replicas in sync when one of them began, if there were any."""
    replicas = {each.replica for each in hit}
    return any(sync and replicas.issuperset(sync) for sync in in_sync(facts, partition, fault))


def in_sync(facts: Facts, partition: PartitionName, fault: CopyFault) -> Iterator[set[int]]:
    """Return the sets of replicas that may have had all committed records when a fault hit the node.

    With a metadata log these are the in-sync replicas and the eligible ones (KIP-966).  Without it, they are
    the replicas that brokers reported as in sync.
    """
    window = fault.window
    if not facts.changes.is_complete(partition, window.end_ns):
        yield from (set(view.isr) for view in _around(facts, partition, fault))
        return
    for state in facts.changes.possible(partition, window.invoked_ns, window.end_ns):
        yield {*state.isr, *state.elr}


def copies_at(facts: Facts, partition: PartitionName, fault: CopyFault) -> int:
    """The least number of copies that a record had before a fault, if all replicas were in sync."""
    if not facts.changes.is_complete(partition, fault.window.end_ns):
        return max((len(view.replicas) for view in facts.views.get(partition, ())), default=1)
    states = facts.changes.possible(partition, 0, fault.window.end_ns)
    return min((len(state.original) for state in states), default=1)


def _holders(facts: Facts, partition: PartitionName, window: FaultWindow) -> set[int]:
    """Brokers that had a copy when a fault hit them; if no log shows the time, brokers that ever had one."""
    states: Sequence[PartitionState | ReportedPartitionState]
    if facts.changes.is_complete(partition, window.end_ns):
        states = facts.changes.possible(partition, window.invoked_ns, window.end_ns)
    else:
        states = [*facts.changes.states.get(partition, ()), *facts.views.get(partition, ())]
    return {replica for state in states for replica in state.replicas}


def _rejoined_ns(facts: Facts, partition: PartitionName, window: FaultWindow, replica: int) -> int:
    """When a replica had all committed records again after a fault; `NEVER` if that is not recorded."""
    if window.heal_invoked_ns is None:
        return NEVER
    for before, after in pairwise(facts.changes.states.get(partition, ())):
        entered = replica in after.isr and replica not in before.isr
        span = facts.changes.span(after)
        leads = after.elected and after.leader == replica
        if (entered or leads) and span.from_ns >= window.heal_invoked_ns:
            return span.to_ns
    if facts.changes.is_complete(partition, NEVER):
        return NEVER
    return _seen_again_ns(facts, partition, window, replica)


def _seen_again_ns(facts: Facts, partition: PartitionName, window: FaultWindow, replica: int) -> int:
    """The time that `_rejoined_ns` returns, from the reports of other brokers."""
    views = facts.views.get(partition, ())
    epoch = max((v.leader_epoch for v in views if v.time_ns <= window.invoked_ns), default=NEVER)
    left: set[str] = set()
    for view in views:
        if view.began_ns < window.invoked_ns or facts.ids.get(view.node) == replica:
            continue
        if replica not in view.isr:
            left.add(view.node)
        elif view.began_ns >= (window.heal_invoked_ns or 0) and (
            view.node in left or view.leader_epoch > epoch
        ):
            return view.time_ns
    return NEVER


def _around(facts: Facts, partition: PartitionName, fault: CopyFault) -> Iterator[ReportedPartitionState]:
    """The last report of each broker before a fault, and all reports while the node was down."""
    before: dict[str, ReportedPartitionState] = {}
    for view in facts.views.get(partition, ()):
        if view.time_ns <= fault.from_ns:
            before[view.node] = view
        elif view.began_ns <= fault.window.end_ns:
            yield view
    yield from before.values()
