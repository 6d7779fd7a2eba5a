"""Elections that a controller writes together with the return of a broker.

When a controller unfences a broker, the same event elects a leader for each partition that has none and for
which the broker may be elected: it is in the ISR, or the ISR is empty and it is in the ELR
(``ReplicationControlManager.handleBrokerUnfenced``; KIP-966).  The changes of partitions directly follow the
record that unfences the broker, without a gap; records that say nothing are not in the history.

A series of such changes that no other record of the same epoch ends is not judged, nor one that ends with a
record that could not be decoded, which may be one of them.  Nor is a broker whose
disk was replaced or failed, because its directory may be offline.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from checkers.columns.tables import PartitionName
from checkers.evidence.faults import FaultWindow
from checkers.evidence.partition_changes import CHANGED, NOBODY, PartitionChange, PartitionState
from checkers.history.replicas import OPAQUE, MetadataRecord

_OF_DISKS = frozenset(("dead-disk", "wipe-disk"))


class MissedElection(NamedTuple):
    """A partition that got no leader although a broker that may lead it returned.

    Attributes:
        record: the record that unfenced the broker.
        broker: its id.
        partition: the partition.
        state: the partition's state then.
    """

    record: MetadataRecord
    broker: int
    partition: PartitionName
    state: PartitionState


class Returns:
    """The last return of a broker, and the partitions that have to get a leader by it.

    Args:
        names: the brokers' names by their ids.
        windows: the faults of the run.

    Attributes:
        judged: number of elections that were due.
    """

    def __init__(self, names: dict[int, str], windows: Iterable[FaultWindow]) -> None:
        of_disks = [window for window in windows if window.kind in _OF_DISKS]
        self._hit = {number for number, name in names.items() if any(w.concerns(name) for w in of_disks)}
        self._due: dict[PartitionName, MissedElection] = {}
        self._next = 0
        self.judged = 0

    def ended_by(self, record: MetadataRecord) -> Iterator[MissedElection]:
        """The elections that are missing if a record ends the series."""
        offset, epoch, kind, _ = record
        follows, self._next = offset == self._next, offset + 1
        if kind != CHANGED or not follows:
            missing, self._due = self._due, {}
            if kind != OPAQUE:
                yield from (missed for missed in missing.values() if missed.record.epoch == epoch)

    def begin(
        self,
        record: MetadataRecord,
        broker: int,
        held: Iterable[tuple[PartitionName, PartitionState]],
        *,
        eligible: bool,
    ) -> None:
        """Note what has to follow the return of a broker.

        Args:
            record: the record that unfences it.
            broker: its id.
            held: partitions that have it in their ISR or ELR.
            eligible: whether the cluster keeps eligible leader replicas.
        """
        if broker in self._hit:
            return
        for partition, state in held:
            in_elr = eligible and not state.isr and broker in state.elr
            if state.leader == NOBODY and broker in state.replicas and (broker in state.isr or in_elr):
                self._due[partition] = MissedElection(record, broker, partition, state)
        self.judged += len(self._due)

    def take(self, step: PartitionChange) -> None:
        """Note a change of a partition."""
        if step.after is not None and step.after.leader != NOBODY:
            self._due.pop(step.partition, None)
