"""Commits of groups, read from the brokers' files of ``__consumer_offsets`` while they are written.

Compaction removes a commit after a later one has replaced it, so most commits are gone at the end of a run.
A commit is recorded once, from the replica that had it first, together with the range of the log that was
read: a checker must know that there is no other record in this range.
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
    """Reads new batches in every replica of the offsets topic.

    Args:
        journals: journals of the run.
        disks: broker name to the folders of its log directories on the host.
        interval_s: time between observations, seconds.
    """

    def __init__(self, journals: Journals, disks: Mapping[str, Sequence[Path]], interval_s: float) -> None:
        super().__init__(journals, NAME, interval_s)
        self._disks = tuple(folder for folders in disks.values() for folder in folders)
        self._logs: dict[Path, CommitsLog] = {}
        self._known: set[tuple[int, int, int, int | None]] = set()

    def look(self) -> None:
        """Record the batches written since the last observation; an unreadable disk is left out."""
        began_ns = self.clock.now_ns()
        new: list[tuple[int, list[Placed]]] = []
        for disk in self._disks:
            for name in sorted(names_in(disk)):
                match = _REPLICA.fullmatch(name)
                if match is not None:
                    log = self._logs.setdefault(disk / name, CommitsLog(disk / name))
                    new.append((int(match[1]), list(self._new(int(match[1]), log.read()))))
        if any(placed for _, placed in new):
            self.record(COMMITS, None, commits_seen(began_ns, new))

    def _new(self, partition: int, placed: Sequence[Placed]) -> Iterator[Placed]:
        """Batches that no replica had before; batches from which compaction removed records are left out."""
        for batch, before in placed:
            place = (partition, batch.leader_epoch, batch.first, before)
            if batch.whole and place not in self._known:
                self._known.add(place)
                yield Placed(batch, before)
