"""Times when too many replicas of a partition were wiped, or may have lost data that was not yet on disk.

With acks=all and ``min.insync.replicas`` k, a record is on at least k replicas.  So if k replicas were wiped,
they may have been the only ones that had it.  If the limit was altered during the run, the lowest value
counts.  With acks=1 the limit does not apply, and one replica may have been the only one.  If the metadata
log shows which replicas were in sync or eligible, and a fault did not hit one of them, the fault is not a
licence: each of these replicas has all committed records.
"""

from collections.abc import Iterator, Sequence

from checkers.columns.tables import PartitionName
from checkers.history.setup import Topic
from checkers.licences.disks import (
    CopyFault,
    active,
    all_hit,
    copies_at,
    copy_faults_of,
    in_sync,
)
from checkers.licences.epoch_bounds import bound_at
from checkers.licences.facts import Facts
from checkers.licences.permission import alterations
from checkers.licences.permits import LicenceEvent
from checkers.licences.unclean import epoch_after

_MIN_ISR = "min.insync.replicas"


def wiped(facts: Facts) -> Iterator[LicenceEvent]:
    """Times at which so many copies were wiped that possibly no copy of a record was left."""
    for topic, partition in _partitions(facts):
        faults = copy_faults_of(facts, partition, wiping=True)
        for fault in faults:
            hit = active(faults, fault)
            copies = copies_at(facts, partition, fault)
            least = min(_min_isr(facts, topic, fault.window.end_ns), copies)
            if len(hit) >= least and not _spared(facts, partition, fault, hit):
                until_ns = sorted((each.to_ns for each in hit), reverse=True)[least - 1]
                text = f"{_losses_text(hit)}, of {copies} copies of {partition}, {least} in sync at least"
                yield LicenceEvent(fault.from_ns, until_ns, partition, text)


def unsynced(facts: Facts) -> Iterator[LicenceEvent]:
    """Times at which every in-sync copy had been wiped, or may have lost data that was not synced."""
    for _, partition in _partitions(facts):
        faults = copy_faults_of(facts, partition)
        for fault in faults:
            hit = active(faults, fault)
            if all_hit(facts, partition, fault, hit) and any(each.window.loses_unsynced for each in hit):
                bound = bound_at(facts, partition, epoch_after(facts, partition, fault.from_ns))
                until_ns = max(each.to_ns for each in hit)
                text = f"{_losses_text(hit)}, which were all in-sync copies of {partition}"
                yield bound.limits(LicenceEvent(fault.from_ns, until_ns, partition, text))


def last_wiped(facts: Facts) -> Iterator[LicenceEvent]:
    """Times at which the only in-sync copy was wiped, whether or not other replicas had its records."""
    for _, partition in _partitions(facts):
        for fault in copy_faults_of(facts, partition, wiping=True):
            if any(sync == {fault.replica} for sync in in_sync(facts, partition, fault)):
                text = f"{_losses_text([fault])}, which was the last in-sync copy of {partition}"
                yield LicenceEvent(fault.from_ns, fault.to_ns, partition, text)


def _partitions(facts: Facts) -> Iterator[tuple[Topic, PartitionName]]:
    """The partitions of the run's topics; none if no fault ever hit a disk."""
    if any(window.hits_disks for window in facts.windows):
        topics = {topic.name: topic for topic in facts.setup.topics}
        for partition in facts.partitions:
            yield topics[partition.topic], partition


def _min_isr(facts: Facts, topic: Topic, until_ns: int) -> int:
    """The least number of replicas that had a record acknowledged by a time: the lowest limit until then."""
    if facts.leader_acknowledges_alone:
        return 1
    of_nodes = facts.setup.config.get(_MIN_ISR, 1)
    altered = (value for value, span in alterations(facts, topic, _MIN_ISR) if span.from_ns <= until_ns)
    limits = [topic.config.get(_MIN_ISR, of_nodes), *altered]
    return min(int(of_nodes if limit is None else limit) for limit in limits)


def _spared(facts: Facts, partition: PartitionName, fault: CopyFault, hit: Sequence[CopyFault]) -> bool:
    """Whether a replica that was certainly in sync or eligible when a fault began was not hit."""
    known = facts.changes.is_complete(partition, fault.window.end_ns)
    return known and not all_hit(facts, partition, fault, hit)


def _losses_text(faults: Sequence[CopyFault]) -> str:
    """A text that states which brokers were hit by which faults."""
    each = [f"the disk of broker {s.replica} ({s.window.kind}, fault {s.window.id})" for s in faults]
    return f"{' and '.join(each)} lost its data"
