"""At least once: a group passes a record only if a member received it, or if all tries are used up.

Each try is an acquisition.  If no member received the record, because the answer was lost, the try ends with
its lock or with the connection (`SharePartition.releaseAcquiredRecords`), and counts.  So the tries of a
record that no member received may be used up if faults, or failed polls, may have caused the loss of the
answers.

The stored, and so reported, start offset is the one before the last acknowledgement, because the leader
stores it with the next acknowledgement.  So a record that is not below it is finished in two cases: if a
broker confirmed that it was accepted or rejected, or if it was delivered as often as the limit allows,
because a release, or the end of its lock, then archives it.

If an administrator sets or deletes the start offset, the group begins again there.  Only its last life counts
(`lives`): records below its begin are not due, and the others must be delivered in it.  If an earlier change
may still be carried out, records below the begin of either are not due.
"""

from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, NONE, Columns, GroupPartition, Integers, PartitionName
from checkers.evidence.faults import fault_windows
from checkers.evidence.loading import columns_of
from checkers.history.operations import History
from checkers.history.setup import LoadSetup
from checkers.share_groups.anomalies import UNDELIVERED
from checkers.share_groups.lives import Life
from checkers.share_groups.loading import RELEASE, ShareGroups
from checkers.verdict.verdict import Anomaly


class Passed(NamedTuple):
    """The passed records of one share partition.

    Attributes:
        name: the share partition.
        offset: shape (n,), offsets of records that the group passed and no member received, ascending.
        out_of_tries: shape (n,), whether tries that were lost may have used up the limit.
        witness: request and answer that reported the highest start offset; empty if none did.
        start: the highest start offset, `NONE` if none was reported.
        open: number of other records for which no acceptance or rejection is confirmed.
    """

    name: GroupPartition
    offset: Integers
    out_of_tries: tuple[bool, ...]
    witness: tuple[int, ...]
    start: int
    open: int

    def anomaly(self, history: History, row: int) -> Anomaly:
        """The finding about one of the records."""
        name = f"{self.name}@{self.offset[row]}"
        return UNDELIVERED.found(
            f"{name} was returned to no member of the group, but the start offset was {self.start}",
            subject=name,
            time_ns=history.operations[self.witness[-1]].time_ns,
            witness=self.witness,
            explanation=[f"{len(self.offset)} records of {self.name} were returned to no member."],
        )


class Passing:
    """Compares the records that exist at the end with those that groups received.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: what members of share groups received.
        workload: the workload, which has the limit of deliveries.
    """

    def __init__(self, history: History, groups: ShareGroups, workload: LoadSetup) -> None:
        self._history = history
        self._groups = groups
        self._columns = columns_of(history)
        self._limit = workload.delivery_limit
        self._places = {name: code for code, name in enumerate(groups.places)}
        self._listed = ListedFor(self._columns, workload)

    def names(self, group: str) -> list[GroupPartition]:
        """The share partitions of a group: those that final reads found in its topics, or it received."""
        topics = self._groups.topics.get(group, set())
        there = {GroupPartition(group, *name) for name in self._listed.of(group) if name.topic in topics}
        return sorted(there.union(name for name in self._groups.places if name.group == group))

    def of(self, name: GroupPartition) -> Passed:
        """Judge one share partition."""
        listed = self._listed.of(name.group)
        there = listed.get(PartitionName(name.topic, name.partition), np.zeros(0, np.int64))
        place, groups = self._places.get(name, NONE), self._groups
        life = groups.lives.last(place)
        there = there[there >= life.due]
        answers = np.flatnonzero(groups.starts.life == life.code)
        given = groups.deliveries.offset[groups.deliveries.life == life.code]
        if not len(answers) or not life.known:
            return Passed(name, there[:0], (), (), NONE, self._open(life, there))
        best = answers[np.argmax(groups.starts.start[answers])]
        start = int(groups.starts.start[best])
        witness = (int(groups.starts.asked[best]), int(groups.starts.answered[best]))
        missing = np.setdiff1d(there, given)
        missing = missing[missing < start]
        answered_ns = self._history.operations[witness[-1]].time_ns
        lost = tuple(self._may_be_lost(name, offset, answered_ns) for offset in missing.tolist())
        return Passed(name, missing, lost, witness, start, self._open(life, there[there >= start]))

    def _open(self, life: Life, offsets: Integers) -> int:
        """Number of the offsets that are neither known to be accepted or rejected, nor out of tries.

        If it is not known whether the last life has begun, those of the lives before count too.
        """
        acks, all_ = self._groups.acknowledgements, self._groups.deliveries
        here = all_.life == life.code if life.known else all_.place == life.place
        done = acks.delivery[(acks.kind != RELEASE) & here[acks.delivery]]
        spent = here & (all_.count >= self._limit) & (self._limit > 0)
        return len(np.setdiff1d(offsets, np.concatenate((all_.offset[done], all_.offset[spent]))))

    def _may_be_lost(self, name: GroupPartition, offset: int, until_ns: int) -> bool:
        """Whether lost answers may have used up the tries of a record."""
        sent_ns = self._sent_ns(PartitionName(name.topic, name.partition), offset)
        disturbed = any(window.overlaps(sent_ns, until_ns) for window in fault_windows(self._history))
        return disturbed or name.group in self._groups.failed

    def _sent_ns(self, partition: PartitionName, offset: int) -> int:
        """When the send of a record began; 0 if no acknowledgement has its offset."""
        sends, code = self._columns.sends, self._columns.partitions.index(partition)
        rows = np.flatnonzero((sends.partition == code) & (sends.offset == offset))
        return int(sends.invoked_ns[rows].min(initial=NEVER)) if len(rows) else 0


class ListedFor:
    """The records that each share group must get: those that final reads at its isolation level returned.

    With read_committed these are records below the last stable offset, without those of aborted transactions.

    Args:
        columns: the history's columns.
        workload: the workload, which has the groups with read_committed.
    """

    def __init__(self, columns: Columns, workload: LoadSetup) -> None:
        self._committed = workload.committed
        self._everything = listed_offsets(columns)
        self._stable = listed_offsets(columns, committed=True) if workload.committed else {}

    def of(self, group: str) -> dict[PartitionName, Integers]:
        """Offsets by partition, ascending, each once."""
        return self._stable if group in self._committed else self._everything


def listed_offsets(columns: Columns, *, committed: bool = False) -> dict[PartitionName, Integers]:
    """Offsets that complete final reads of one isolation level got, by partition, ascending, distinct."""
    finals, calls, reads = columns.final_reads, columns.calls, columns.reads
    at_committed = np.array([reader.committed for reader in columns.readers], np.bool_)
    whole = finals.whole & (at_committed[calls.reader[finals.call]] == committed)
    found = {}
    for code in np.unique(finals.partition[whole]).tolist():
        calls_here = finals.call[whole & (finals.partition == code)]
        found[columns.partitions[code]] = np.unique(reads.offset[np.isin(reads.call, calls_here)])
    return found
