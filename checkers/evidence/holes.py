"""Holes in the logs of brokers that lost power: offsets that a log lacks although a later segment goes on.

``UnifiedLog.roll`` creates the file of the next segment at once, and another thread syncs the segment before.
If the power fails in between, a file system may keep the new file, but not the last records of the one
before.  ``LogLoader.recoverLog`` recovers each segment by itself, so it accepts both.  No replica may lack
committed records, so a hole permits nothing; it only explains what was found
(``findings/roll-before-power-loss``).

A hole is recognised by what was read of the disk in the end, the segments of the log among it, and by what
the broker logged when it loaded the log.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.evidence.aborted import indexes_of
from checkers.evidence.faults import fault_windows
from checkers.evidence.log_ends import SLACK_NS, Placed, loaded_logs
from checkers.evidence.partition_changes import partition_changes
from checkers.evidence.replicas import ReplicaLog, batches_of
from checkers.history.logged import LogLoaded
from checkers.history.operations import History, once
from checkers.history.setup import recorded_setup
from checkers.verdict.places import place_of
from checkers.verdict.verdict import Anomaly

_POWER_LOSS = "power-loss"
_AS_FOUND = (
    "findings/roll-before-power-loss of docs/findings.md leaves such a hole: recovery accepts it. "
    "Another defect could leave it too."
)


class RecoveredHole(NamedTuple):
    """A hole in a log that a broker loaded after it had lost power.

    Attributes:
        log: the log, as it was read in the end.
        first: the first offset that it lacks.
        end: the base offset of the segment after the hole.
        faults: ids of the losses of power of the broker.
        loaded: what the broker logged when it loaded this log with the segment after the hole.
    """

    log: ReplicaLog
    first: int
    end: int
    faults: tuple[str, ...]
    loaded: Placed[LogLoaded]

    @property
    def explanation(self) -> tuple[str, ...]:
        """The hole and its cause, in sentences."""
        node, last = self.log.node, self.end - 1
        offsets = f"offset {last}" if last == self.first else f"offsets {self.first} to {last}"
        seen = f"{node} lacks {offsets} of {self.log.partition}, and has a segment that begins at {self.end}."
        lost = f"It lost power before ({', '.join(self.faults)})."
        loaded = f"{self.loaded.cited}, says that it loaded this log up to offset {self.loaded.logged.end}."
        return f"{seen} {lost} {loaded}", _AS_FOUND


@once
def recovered_holes(history: History) -> tuple[RecoveredHole, ...]:
    """All holes of logs that brokers loaded after they had lost power.

    Raises:
        msgspec.ValidationError, ValueError: the history is not as docs/histories.md says.
    """
    hit: dict[str, list[tuple[int, str]]] = {}
    for window in fault_windows(history):
        for node in window.targets if window.kind == _POWER_LOSS and window.proven else ():
            hit.setdefault(node, []).append((window.invoked_ns, window.id))
    if not hit:
        return ()
    loaded, meant = loaded_logs(history), recorded_setup(history)
    logs = (log for log in batches_of(history).logs if log.node in hit and log.readable)
    return tuple(
        hole
        for log in logs
        if not meant.is_compacted(log.partition.topic)
        for hole in _holes(history, log, hit[log.node], loaded)
    )


def _holes(
    history: History, log: ReplicaLog, hit: Iterable[tuple[int, str]], loaded: Iterable[Placed[LogLoaded]]
) -> Iterator[RecoveredHole]:
    index = indexes_of(history).get((log.node, log.partition))
    segments = set() if index is None else {seen.segment for seen in index.seen.segments}
    mine = [line for line in loaded if (line.node, line.name) == (log.node, log.partition)]
    for first, end in _missing(log):
        after = (
            (line, tuple(fault for since_ns, fault in hit if since_ns <= line.time_ns + SLACK_NS))
            for line in mine
            if line.logged.end >= end
        )
        line, faults = next(((line, faults) for line, faults in after if faults), (None, ()))
        if line is not None and end in segments and min(segments) <= first:
            yield RecoveredHole(log, first, end, faults, line)


def _missing(log: ReplicaLog) -> Iterator[tuple[int, int]]:
    """The first offset of each gap of a log, and the offset after it."""
    base, last = log["base_offset"], log["last_offset"]
    # Of a log that is out of order, only what no earlier batch has is missing.
    before = np.maximum.accumulate(np.r_[log.start - 1, last])[:-1]
    for row in np.flatnonzero((base > before + 1) & (base > log.start)).tolist():
        yield max(int(before[row]) + 1, log.start), int(base[row])


def with_hole(history: History, anomaly: Anomaly, after: int = 0) -> Anomaly:
    """The anomaly, explained by a hole at its offset in a log that it cites; as it is if there is none.

    The anomaly stays illegal: no replica may lack what was committed.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        anomaly: what was found.
        after: 1 if its offset is the one after what is missing, otherwise 0.
    """
    holes = _at(history, anomaly, after)
    return _explained(anomaly, (hole for hole in holes if hole.log.op in anomaly.witness))


def with_hole_of_leader(history: History, anomaly: Anomaly) -> Anomaly:
    """The anomaly, explained by a hole at its offset in the last leader's log; as it is if there is none."""

    def leads(hole: RecoveredHole) -> bool:
        states = partition_changes(history).states.get(hole.log.partition, ())
        return bool(states) and recorded_setup(history).names.get(states[-1].leader) == hole.log.node

    return _explained(anomaly, filter(leads, _at(history, anomaly)))


def _at(history: History, anomaly: Anomaly, after: int = 0) -> Iterator[RecoveredHole]:
    """The holes that have the offset of an anomaly, or the one before it."""
    place = place_of(anomaly.subject, "")
    if place.offset is None:
        return
    for hole in recovered_holes(history):
        if str(hole.log.partition) == place.name and hole.first <= place.offset - after < hole.end:
            yield hole


def _explained(anomaly: Anomaly, holes: Iterable[RecoveredHole]) -> Anomaly:
    hole = next(iter(holes), None)
    if hole is None or not anomaly.illegal:
        return anomaly
    return msgspec.structs.replace(anomaly, explanation=(*anomaly.explanation, *hole.explanation))
