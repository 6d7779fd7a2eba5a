"""The end of each replica's log, read from the brokers' disks while they write.

A broker appends to a file before it answers a request, and the host sees the file at once.  Only headers of
batches are read, and only of batches that were added since the last observation.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from checkers.history.observed import ENDS, EndsSeen
from harness.kafka.segments.growing import LogEnd, names_in
from harness.observers.observer import Observer
from harness.record.journal import Journals

NAME = "observer-ends"
_REPLICA = re.compile(r"(.+)-(\d+)")


class _ReplicaFolder(NamedTuple):
    topic: str
    partition: int
    folder: Path


class LogEndsObserver(Observer):
    """Reads the newest segment of every replica of some topics, from the last position on.

    Args:
        journals: journals of the run.
        disks: broker name to the folders of its log directories on the host.
        topics: topics whose replicas are read.
        interval_s: time between observations, seconds.
    """

    def __init__(
        self,
        journals: Journals,
        disks: Mapping[str, Sequence[Path]],
        topics: Collection[str],
        interval_s: float,
    ) -> None:
        super().__init__(journals, NAME, interval_s)
        self._disks = {node: tuple(folders) for node, folders in disks.items()}
        self._topics = frozenset(topics)
        self._logs: dict[Path, LogEnd] = {}

    def look(self) -> None:
        """Read the end of every replica; an unreadable disk is left out."""
        began_ns = self.clock.now_ns()
        nodes = {node: self._ends(disks) for node, disks in self._disks.items()}
        readable = {node: ends for node, ends in nodes.items() if ends}
        self.record_changes(ENDS, None, EndsSeen(began_ns, readable))

    def _ends(self, disks: Sequence[Path]) -> dict[str, list[tuple[int, int]]]:
        found: dict[str, list[tuple[int, int]]] = {}
        for disk in disks:
            for replica in self._replicas(disk):
                end = self._logs.setdefault(replica.folder, LogEnd(replica.folder)).read()
                if end is not None:
                    found.setdefault(replica.topic, []).append((replica.partition, end))
        return found

    def _replicas(self, disk: Path) -> Iterator[_ReplicaFolder]:
        for name in sorted(names_in(disk)):
            match = _REPLICA.fullmatch(name)
            if match is not None and match[1] in self._topics:
                yield _ReplicaFolder(match[1], int(match[2]), disk / name)
