"""Whether compaction kept the last commit of each group and partition in ``__consumer_offsets``.

At the end the brokers' disks show at which offsets records are left (``commits-left``).  The contents of the
records were read while they were written (`checkers.evidence.offsets_log`).  A commit must still exist unless
a later record replaces it: a commit or deletion of the same key, outside of a transaction or in a committed
one, below the last stable offset.  Records at or above that offset are not cleaned.  Reasons why a correct
Kafka causes no finding:

- *A later record was not read*: everything between the commit and the replica's end must have been read,
  including deletions and the ends of transactions.
- *A replica that lags fetched a cleaned log* without the records that replace others: only replicas that end
  where the most advanced one does, in the same leader epoch, are judged.
- *Truncated records* are in no log that ends there, and are not expected.  If a permitted unclean election or
  disk faults may have truncated the records that had replaced a commit, the finding is licensed.  A cleaner
  removes a record only because of a committed one, and committed records are not lost otherwise
  (`checkers.licences.internal`).
- *A disk that was hit by a fault* is not judged, nor is a damaged log, or a log whose segments are being
  replaced.
- *Deletions* are removed after a time, so they are not expected.

A leader's active segment is never cleaned.  Records that the leader appended to it in its current epoch have
replaced nothing in the leader's own log, because no replica that fetched them and cleaned by them has led
since.  So the last record of each key before them must exist too.  If another replica cleaned a record before
that epoch, a committed record had replaced it, and that record is in the leader's log as well.  And records
above all ranges that brokers logged as cleaned replace nothing, on any replica
(`checkers.evidence.cleanings`).
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NONE, PartitionName
from checkers.evidence.cleanings import Cleaned, cleaned_by
from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.evidence.offsets_log import (
    Chain,
    Key,
    OffsetRecord,
    RecordPlace,
    Written,
    has_all_records,
    written_of,
)
from checkers.evidence.partition_changes import NOBODY
from checkers.history.observed import CommitsLeft
from checkers.history.operations import History
from checkers.licences.disks import hits
from checkers.licences.facts import Facts
from checkers.licences.internal import Loss, losses
from checkers.logs.partitions.anomalies import COMMIT_COMPACTED_AWAY, COMMIT_COMPACTED_EARLY
from checkers.logs.partitions.copies import Violations
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

COMMITS_LEFT = "commits-left"
"""The key of the observation."""


class _Left(NamedTuple):
    """The records that one replica had at the end."""

    node: str
    op: int
    time_ns: int
    seen: CommitsLeft

    @property
    def tip(self) -> RecordPlace:
        """The position of the last record."""
        return RecordPlace(self.seen.end - 1, self.seen.epoch)

    def has(self, offset: int) -> bool:
        """Whether the replica has a record at an offset."""
        place = bisect_right(self.seen.left, offset, key=lambda stretch: stretch[0]) - 1
        return place >= 0 and offset < self.seen.left[place][1]


class _Bounds(NamedTuple):
    """Bounds from which no record has replaced earlier records in a replica.

    Attributes:
        active: start of the segment that the replica writes to, and the epoch in which it leads; None if it
            does not lead.
        cleaned: offset up to which brokers had cleaned; None if unknown.
    """

    active: RecordPlace | None
    cleaned: Cleaned | None

    @property
    def any(self) -> bool:
        """Whether any bound is known."""
        return self.active is not None or self.cleaned is not None

    def passed(self, row: RecordPlace) -> bool:
        """Whether a cleaning may have read a record."""
        active, cleaned = self.active, self.cleaned
        written_to = active is not None and row.epoch == active.epoch and row.offset >= active.offset
        return not written_to and (cleaned is None or row.offset < cleaned.end)


class CommitsKept:
    """Commits that must still exist, and those that are missing.

    Args:
        facts: the history.

    Attributes:
        figures: numbers of expected commits, summed over all replicas: commits that no record replaces, and
            commits that are replaced only by records that were not cleaned yet.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """

    def __init__(self, facts: Facts) -> None:
        self.figures: dict[str, int] = {}
        self._facts = facts
        self._looked_for: Counter[str] = Counter()
        self._found: list[Anomaly] = []
        left = _left(facts.history)
        if not left or not has_all_records(facts.history):
            return
        for number, replicas in left.items():
            partition = PartitionName(OFFSETS_TOPIC, number)
            part = written_of(facts.history).get(number)
            if part is not None and not part.unreadable:
                self._found += self._gone(partition, part, _farthest(facts, partition, replicas))
        looked_for = self._looked_for
        self.figures = {
            "kept_commits_looked_for": looked_for[COMMIT_COMPACTED_AWAY.id],
            "commits_not_yet_replaced": looked_for[COMMIT_COMPACTED_EARLY.id],
        }

    def lacking(self) -> Iterator[Violations]:
        """The violations of the rules."""
        for kind in (COMMIT_COMPACTED_AWAY, COMMIT_COMPACTED_EARLY):
            found = [anomaly for anomaly in self._found if anomaly.id == kind.id]
            if found:
                yield Violations(kind, len(found), found)

    def _gone(self, partition: PartitionName, part: Written, replicas: Sequence[_Left]) -> Iterator[Anomaly]:
        log = part.chain(replicas[0].tip) if replicas else None
        if log is None:
            return
        due = dict(_due(part, log))
        lost = losses(self._facts.history, OFFSETS_TOPIC, partition.partition)
        for replica in replicas:
            bounds = self._bounds(partition, replica)
            early = dict(_due(part, log, bounds.passed)) if bounds.any else {}
            for row, entry in sorted((due | early).items()):
                if row.offset >= replica.seen.log_start:
                    kind = COMMIT_COMPACTED_AWAY if row in due else COMMIT_COMPACTED_EARLY
                    self._looked_for[kind.id] += 1
                    if not replica.has(row.offset):
                        licence = next((one.text for one in lost if _excuses(one, row)), None)
                        found = _found(kind, partition, (replica, bounds), row, entry)
                        yield msgspec.structs.replace(found, illegal=licence is None, licence=licence)

    def _bounds(self, partition: PartitionName, replica: _Left) -> _Bounds:
        epoch = _leads_in(self._facts, partition, replica)
        return _Bounds(
            None if epoch is None else RecordPlace(replica.seen.active, epoch),
            cleaned_by(self._facts.history, partition, replica.time_ns),
        )


def _leads_in(facts: Facts, partition: PartitionName, replica: _Left) -> int | None:
    """The epoch in which a replica led while it was read; None if it did not lead, or if unknown."""
    if not facts.changes.is_complete(partition, replica.time_ns):
        return None
    states = facts.changes.possible(partition, replica.seen.began_ns, replica.time_ns)
    led = {(state.leader, state.leader_epoch) for state in states}
    leader, epoch = led.pop() if len(led) == 1 else (NOBODY, NONE)
    return epoch if leader != NOBODY and facts.ids.get(replica.node) == leader else None


def _left(history: History) -> dict[int, list[_Left]]:
    """The contents of each partition's replicas that could be read completely."""
    found: dict[int, list[_Left]] = defaultdict(list)
    for operation in history.observed(COMMITS_LEFT):
        seen = msgspec.convert(operation.value, CommitsLeft)
        if seen.error is None and seen.end >= max(seen.active, 1):
            found[seen.partition].append(
                _Left(operation.node or "", operation.index, operation.time_ns, seen)
            )
    return found


def _farthest(facts: Facts, partition: PartitionName, replicas: Sequence[_Left]) -> list[_Left]:
    """Replicas that end where the most advanced one does, and whose disks no fault hit."""
    end = max((replica.seen.epoch, replica.seen.end) for replica in replicas)
    hit_nodes = {
        node
        for window in facts.windows
        if hits(facts.history, window, partition.topic, partition.partition)
        for node in window.targets
    }
    return [one for one in replicas if (one.seen.epoch, one.seen.end) == end and one.node not in hit_nodes]


def _due(
    part: Written, log: Chain, cleanable: Callable[[RecordPlace], bool] = lambda _: True
) -> Iterator[tuple[RecordPlace, OffsetRecord]]:
    """Commits that a log must still have after any cleaning.

    Args:
        part: the records that were read.
        log: the log up to its end.
        cleanable: whether a record may have replaced earlier records.
    """
    aborted, stable = _transactions(part, log)
    entries = {row: entry for row, entry in part.entries.items() if log.has(row) and row not in aborted}
    last: dict[Key, int] = {}
    for row, entry in entries.items():
        if row.offset < stable and cleanable(row):
            last[entry.key] = max(row.offset, last.get(entry.key, row.offset))
    for row, entry in entries.items():
        if entry.committed != NONE and row.offset >= last.get(entry.key, 0):
            yield row, entry


def _transactions(part: Written, log: Chain) -> tuple[set[RecordPlace], float]:
    """Records of aborted transactions, and the first offset of a transaction that has not ended in a log."""
    ends: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for row, marker in sorted(part.markers.items()):
        if log.has(row):
            ends[marker.producer].append((row.offset, marker.aborts))
    aborted: set[RecordPlace] = set()
    stable = float("inf")
    spoken = part.opened | {row: e.producer for row, e in part.entries.items() if e.producer != NONE}
    for row, producer in spoken.items():
        if log.has(row):
            ended = next((aborts for offset, aborts in ends[producer] if offset > row.offset), None)
            if ended is None:
                stable = min(stable, row.offset)
            elif ended:
                aborted.add(row)
    return aborted, stable


def _excuses(loss: Loss, row: RecordPlace) -> bool:
    """Whether a record's replacement may be lost.  It was above the record, in no older epoch."""
    return loss.epoch is None or row.epoch < loss.epoch


def _found(
    kind: AnomalyKind,
    partition: PartitionName,
    there: tuple[_Left, _Bounds],
    row: RecordPlace,
    entry: OffsetRecord,
) -> Anomaly:
    group, topic, number = entry.key
    replica, (active, cleaned) = there
    early = kind is COMMIT_COMPACTED_EARLY
    evidence = (
        *(
            ()
            if active is None
            else (f"{replica.node} led, and its active segment begins at {active.offset}.",)
        ),
        *(() if cleaned is None else (cleaned.text,)),
    )
    replaced = "what replaces it was not cleaned yet" if early else "no later record replaces it"
    return kind.found(
        f"{partition}: {replica.node} has no record at offset {row.offset}, where group {group} committed "
        f"offset {entry.committed} of {topic}/{number}, and {replaced}.",
        subject=f"{partition}@{row.offset}",
        time_ns=replica.time_ns,
        witness=(entry.op, replica.op, *(() if cleaned is None or not early else (cleaned.op,))),
        explanation=(
            f"It was appended in leader epoch {row.epoch}.",
            f"{replica.node} ends at {replica.seen.end}, in epoch {replica.seen.epoch}.",
            *(evidence if early else ()),
            "All records between them were read before compaction removed any.",
        ),
    )
