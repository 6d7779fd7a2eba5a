"""Commits of groups, read from the brokers' files of ``__consumer_offsets`` while they are written.

Compaction removes a commit that a later one replaces, so most of them are gone at a run's end.  A commit is
recorded once, from the replica that had it first, together with the part of the log that was read: a checker
must know that no other record is there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.history.observed import COMMITS
from harness.kafka.segments.commits_log import CommitsLog, Placed, commits_seen
from harness.kafka.segments.growing import names_in
from harness.observers.observer import Observer
from harness.record.journal import Journals
from harness.vocabulary import CopyWorkload, GroupsWorkload, OffsetsWorkload

NAME = "observer-commits"
COMMITTING = (OffsetsWorkload, GroupsWorkload, CopyWorkload)
"""Workloads whose clients commit offsets of groups."""
_REPLICA = re.compile(re.escape(OFFSETS_TOPIC) + r"-(\d+)")


class CommitsObserver(Observer):
    """Reads on in every replica of the offsets topic.

    Args:
        journals: where to write.
        disks: broker's name to the folders of its log directories, as the host sees them.
        interval_s: between looks.
    """

    def __init__(self, journals: Journals, disks: Mapping[str, Sequence[Path]], interval_s: float) -> None:
        super().__init__(journals, NAME, interval_s)
        self._disks = tuple(folder for folders in disks.values() for folder in folders)
        self._logs: dict[Path, CommitsLog] = {}
        self._known: set[tuple[int, int, int, int | None]] = set()

    def look(self) -> None:
        """Record what was written since the last look; a disk that can't be read now is left out."""
        began_ns = self.clock.now_ns()
        new: list[tuple[int, list[Placed]]] = []
        for disk in self._disks:
            for name in sorted(names_in(disk)):
                told = _REPLICA.fullmatch(name)
                if told is not None:
                    log = self._logs.setdefault(disk / name, CommitsLog(disk / name))
                    new.append((int(told[1]), list(self._new(int(told[1]), log.read()))))
        if any(placed for _, placed in new):
            self.record(COMMITS, None, commits_seen(began_ns, new))

    def _new(self, partition: int, placed: Sequence[Placed]) -> Iterator[Placed]:
        """Batches that no replica had before; batches that compaction has thinned are left out."""
        for batch, before in placed:
            place = (partition, batch.leader_epoch, batch.first, before)
            if batch.whole and place not in self._known:
                self._known.add(place)
                yield Placed(batch, before)
