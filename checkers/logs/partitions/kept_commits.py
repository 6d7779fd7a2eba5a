"""What compaction has left of ``__consumer_offsets``: the last commit of each group and partition.

At the end the brokers' disks tell at which offsets records are left (``commits-left``).  What stood there was
read while it was written (`offsets_log`).  A commit must still be there unless something
replaces it: a later commit or a deletion of the same key, outside of a transaction or in one that was
committed, and below the last stable offset, for nothing is cleaned from there on.  Why nothing is found where
Kafka kept its word:

- *Something later was not read*: all must have been that stands between the commit and the replica's end,
  with deletions and the ends of transactions.
- *A replica that lags fetched what was cleaned already*, without what replaces it: only those are judged that
  end where the farthest one does, in the same leader epoch.
- *What was truncated* stands in no log that ends so, and is not asked for.  Where a permitted unclean
  election or struck disks may have truncated what had replaced a commit, this is licensed: only what is
  committed makes a cleaner remove anything, and that is not lost otherwise (`checkers.licences.internal`).
- *A disk that was struck* is not judged, nor is a log that is damaged, or whose segments are being replaced.
- *Deletions* vanish after a time; they are not asked for.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NONE, PartitionName
from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.history.observed import CommitsLeft
from checkers.history.operations import History
from checkers.licences.disks import hits
from checkers.licences.facts import Facts
from checkers.licences.internal import Loss, losses
from checkers.logs.partitions.anomalies import COMMIT_COMPACTED_AWAY
from checkers.logs.partitions.copies import Lack
from checkers.logs.partitions.offsets_log import Chain, Entry, Key, Row, Written, tells_all, written_of
from checkers.verdict.verdict import Anomaly

COMMITS_LEFT = "commits-left"
"""Key of the observation."""


class _Left(NamedTuple):
    """What one replica had at the end."""

    node: str
    op: int
    time_ns: int
    seen: CommitsLeft

    @property
    def tip(self) -> Row:
        """The last record's place."""
        return Row(self.seen.end - 1, self.seen.epoch)

    def has(self, offset: int) -> bool:
        """Whether a record stands at an offset."""
        place = bisect_right(self.seen.left, offset, key=lambda stretch: stretch[0]) - 1
        return place >= 0 and offset < self.seen.left[place][1]


class CommitsKept:
    """Commits that must be left, and those of them that are not.

    Args:
        facts: the history.

    Attributes:
        figures: how many were looked for, in all replicas together.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """

    def __init__(self, facts: Facts) -> None:
        self.figures: dict[str, int] = {}
        self._facts = facts
        self._looked_for = 0
        self._found: list[Anomaly] = []
        left = _left(facts.history)
        if not left or not tells_all(facts.history):
            return
        for number, replicas in left.items():
            partition = PartitionName(OFFSETS_TOPIC, number)
            part = written_of(facts.history).get(number)
            if part is not None and not part.unreadable:
                self._found += self._gone(partition, part, _farthest(facts, partition, replicas))
        self.figures = {"kept_commits_looked_for": self._looked_for}

    def lacking(self) -> Iterator[Lack]:
        """What breaks the rule."""
        if self._found:
            yield Lack(COMMIT_COMPACTED_AWAY, len(self._found), self._found)

    def _gone(self, partition: PartitionName, part: Written, replicas: Sequence[_Left]) -> Iterator[Anomaly]:
        log = part.chain(replicas[0].tip) if replicas else None
        if log is None:
            return
        due = sorted(_due(part, log))
        lost = losses(self._facts.history, OFFSETS_TOPIC, partition.partition)
        for replica in replicas:
            for row, entry in due:
                if row.offset >= replica.seen.log_start:
                    self._looked_for += 1
                    if not replica.has(row.offset):
                        licence = next((one.text for one in lost if _excuses(one, row)), None)
                        found = _found(partition, replica, row, entry)
                        yield msgspec.structs.replace(found, illegal=licence is None, licence=licence)


def _left(history: History) -> dict[int, list[_Left]]:
    """What the replicas of each partition had that could be read whole."""
    found: dict[int, list[_Left]] = defaultdict(list)
    for operation in history.observed(COMMITS_LEFT):
        seen = msgspec.convert(operation.value, CommitsLeft)
        if seen.error is None and seen.end >= max(seen.active, 1):
            found[seen.partition].append(
                _Left(operation.node or "", operation.index, operation.time_ns, seen)
            )
    return found


def _farthest(facts: Facts, partition: PartitionName, replicas: Sequence[_Left]) -> list[_Left]:
    """Those that end where the farthest one does, and whose disks nothing struck."""
    end = max((replica.seen.epoch, replica.seen.end) for replica in replicas)
    struck = {
        node
        for window in facts.windows
        if hits(facts.history, window, partition.topic, partition.partition)
        for node in window.targets
    }
    return [one for one in replicas if (one.seen.epoch, one.seen.end) == end and one.node not in struck]


def _due(part: Written, log: Chain) -> Iterator[tuple[Row, Entry]]:
    """Commits that a log must still have, whatever was cleaned of it."""
    aborted, stable = _transactions(part, log)
    entries = {row: entry for row, entry in part.entries.items() if log.has(row) and row not in aborted}
    last: dict[Key, int] = {}
    for row, entry in entries.items():
        if row.offset < stable:
            last[entry.key] = max(row.offset, last.get(entry.key, row.offset))
    for row, entry in entries.items():
        if entry.committed != NONE and row.offset >= last.get(entry.key, 0):
            yield row, entry


def _transactions(part: Written, log: Chain) -> tuple[set[Row], float]:
    """Records of transactions that were aborted, and the first offset of one that is not over in a log."""
    ends: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for row, marker in sorted(part.markers.items()):
        if log.has(row):
            ends[marker.producer].append((row.offset, marker.aborts))
    aborted: set[Row] = set()
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


def _excuses(loss: Loss, row: Row) -> bool:
    """Whether what had replaced a record may be lost by it: that stood behind it, in no older epoch."""
    return loss.epoch is None or row.epoch < loss.epoch


def _found(partition: PartitionName, replica: _Left, row: Row, entry: Entry) -> Anomaly:
    group, topic, number = entry.key
    return COMMIT_COMPACTED_AWAY.found(
        f"{partition}: {replica.node} has no record at offset {row.offset}, where group {group} committed"
        f" offset {entry.committed} of {topic}/{number}, and nothing replaces it.",
        subject=f"{partition}@{row.offset}",
        time_ns=replica.time_ns,
        witness=(entry.op, replica.op),
        explanation=(
            f"It was appended in leader epoch {row.epoch}.",
            f"{replica.node} ends at {replica.seen.end}, in epoch {replica.seen.epoch}.",
            "All that was written between them was read, before compaction had taken anything.",
        ),
    )
