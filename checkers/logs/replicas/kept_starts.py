"""Starts of logs on disk reflect all deletions from before a clean stop, or from long ago (KIP-107).

A broker writes the starts of its logs (``log-start-offset-checkpoint``) every
``log.flush.start.offset.checkpoint.interval.ms``, one minute, and when it stops cleanly.  It writes no entry
for a log that starts where its first segment does, because the name of that segment then gives the start.
DeleteRecords is answered once every live replica has moved its start in memory.  So a replica that was in
sync until the answer has the start on its disk later, if its broker

- ran as one process from before the request for an interval after the answer, or
- ran as one process from before the request until it was stopped after the answer, and exited cleanly.  Later
  processes do not matter, because they begin with the start that was written.

Disks are read at the end, and a broker logs the start of each log when it loads it.

Retention and deletions of segments only raise a start.  Replicas whose start may have been lowered are not
judged: after an unclean election, after a disk fault, after half a batch that a fault wrote, after a move of
the replica, and in topics that were deleted or are compacted.  If the metadata log lacks states of a
partition, the partition is not judged.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from checkers.columns.tables import PartitionName
from checkers.evidence.log_ends import SLACK_NS, loaded_logs
from checkers.evidence.partition_changes import NOBODY, PartitionState
from checkers.evidence.replicas import batches_of
from checkers.history.observed import nodes_seen
from checkers.history.operations import History, Operation
from checkers.history.units import NS_PER_MS
from checkers.licences.disks import copy_faults_of
from checkers.licences.facts import Facts
from checkers.logs.partitions.broker_lives import held_up_ns, one_life
from checkers.logs.replicas.anomalies import DELETION_NOT_KEPT
from checkers.logs.replicas.deleted_records import (
    CLEAN_CODES,
    MARGIN_NS,
    Licensing,
    RecordsDeletion,
    deletions_of,
)
from checkers.logs.replicas.limits import limits_of
from checkers.verdict.verdict import Anomaly

LATE_NS = 15_000_000_000
"""How late a broker on a busy host may write its checkpoint file."""
_INTERVALS_MS = {
    "log.flush.start.offset.checkpoint.interval.ms": 60_000,
    "log.initial.task.delay.ms": 30_000,
}
"""Properties for the interval and the initial delay of writing starts, with Kafka's defaults."""


class _Start(NamedTuple):
    """Start of a log on disk.

    Attributes:
        where: the partition.
        node: node of the disk.
        start: the offset.
        topic_id: topic id of the log; None if not reported.
        from_ns: earliest time at which the log started at that offset; the process that loaded the log did
            not start before.
        until_ns: latest time at which the log started at that offset.
        op: index of the observation.
        text: how it is known.
    """

    where: PartitionName
    node: str
    start: int
    topic_id: str | None
    from_ns: int
    until_ns: int
    op: int
    text: str


def find_not_kept(history: History, figures: Counter[str]) -> Iterator[Anomaly]:
    """At most one finding for each log that was read or loaded, for the largest offset.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        figures: counts the deletions that a replica's disk had to reflect, once for each time it was read.
    """
    deletions = deletions_of(history)
    if not deletions:
        return
    promises = _Promises(history)
    for start in (*_read(history), *_loaded(history)):
        of_it = deletions.get(start.where, []) if promises.concern(start) else []
        due = [(each, why) for each in of_it if (why := promises.why(each, start)) is not None]
        figures["deletions_on_disk"] += len(due)
        behind = [(each, why) for each, why in due if start.start < each.below]
        yield from (_found(each, start, why) for each, why in behind[:1])


def _read(history: History) -> Iterator[_Start]:
    """Starts of the logs that were read at the end."""
    for log in batches_of(history).logs:
        seen = log.seen
        if log.readable and seen.log_start is not None:
            text = f"At {seen.began_ns / 1e9:.1f} s its disk said that the log begins at {log.start}."
            at_ns = seen.began_ns
            yield _Start(log.partition, log.node, log.start, seen.topic_id, at_ns, at_ns, log.op, text)


def _loaded(history: History) -> Iterator[_Start]:
    """Starts of logs that brokers loaded when they started."""
    for load in loaded_logs(history):
        if load.logged.start is not None:
            text = f"{load.cited}: it loads the log, which begins at {load.logged.start}."
            times_ns = (load.time_ns - SLACK_NS, load.time_ns + SLACK_NS)
            yield _Start(load.name, load.node, load.logged.start, None, *times_ns, load.index, text)


class _Promises:
    """Finds deletions that the disk of a replica must reflect, and why."""

    def __init__(self, history: History) -> None:
        self._facts = Facts(history)
        self._licensing = Licensing(history)
        self._removed = {operation.key for operation in history.of("delete-topic")}
        self._compacted = limits_of(history, self._facts.setup).compacted

    def concern(self, start: _Start) -> bool:
        """Whether a start belongs to a topic of the run that was not deleted."""
        topic = start.where.topic
        return topic not in self._removed | self._compacted and self._facts.setup.is_of_topic(
            topic, start.topic_id
        )

    def why(self, deletion: RecordsDeletion, start: _Start) -> str | None:
        """Why the start on a disk can't be below a deletion; None if it may be."""
        early = start.from_ns <= deletion.to_ns
        if early or not self._moved(deletion, start) or self._lowered(deletion, start):
            return None
        return self._stopped(deletion, start) or self._ran(deletion, start)

    def _moved(self, deletion: RecordsDeletion, start: _Start) -> bool:
        """Whether the leader certainly had to wait for this replica before it answered."""
        changes, number = self._facts.changes, self._facts.ids.get(start.node)
        if number is None or not changes.is_complete(start.where, start.until_ns):
            return False
        states = changes.possible(start.where, deletion.from_ns - MARGIN_NS, deletion.to_ns)
        in_sync = all(state.leader != NOBODY and number in state.isr for state in states)
        return in_sync and len({state.leader_epoch for state in states}) == 1

    def _lowered(self, deletion: RecordsDeletion, start: _Start) -> bool:
        """Whether the replica may have truncated committed records, or may be another replica.

        Earlier events do not matter, because the replica was in sync and had reported its start to the
        leader.
        """
        facts, where, number = self._facts, start.where, self._facts.ids[start.node]
        states = facts.changes.possible(where, deletion.from_ns - MARGIN_NS, start.until_ns)
        return (
            any(state.unclean or state.last_leader or state.recovering for state in states)
            or not all(number in state.replicas for state in states)
            or len({_directory(state, number) for state in states}) != 1
            or any(fault.to_ns >= deletion.from_ns for fault in copy_faults_of(facts, where))
            or any(each.tears_writes and each.end_ns >= deletion.from_ns for each in facts.windows)
            or self._licensing.truncated(deletion) is not None
        )

    def _stopped(self, deletion: RecordsDeletion, start: _Start) -> str | None:
        """A text if the process that had moved the start was stopped later and exited cleanly; else None."""
        from_ns, node = deletion.from_ns - MARGIN_NS, start.node
        ended = [w for w in self._facts.windows if w.ends_processes and w.concerns(node)]
        first = next((window for window in ended if window.end_ns >= from_ns), None)
        if first is None or not first.stops or first.invoked_ns <= deletion.to_ns:
            return None
        exited = self._exited(node, from_ns)
        if exited is None or not first.invoked_ns <= exited.time_ns <= start.until_ns:
            return None
        return f"It was stopped at {first.invoked_ns / 1e9:.1f} s ({first.id}), and exited cleanly."

    def _exited(self, node: str, from_ns: int) -> Operation | None:
        """The first observation after a node's process ended cleanly; None if it may not have."""
        lives = nodes_seen(self._facts.history, node)
        since = [each for each in lives if each.operation.time_ns >= from_ns]
        ended = next((each for each in since if each.value.exited), None)
        if ended is None or ended.value.exit_code not in CLEAN_CODES:
            return None
        before = [each for each in lives if each.operation.time_ns < from_ns][-1:]
        # A process that was paused continues as the same process.
        begun = {each.value.started_at for each in before + since[: since.index(ended) + 1]}
        return ended.operation if len(begun) == 1 and None not in begun else None

    def _ran(self, deletion: RecordsDeletion, start: _Start) -> str | None:
        """A text if the process that moved the start ran long enough, apart from faults; else None."""
        to_ns, until_ns = deletion.to_ns, start.from_ns
        holding = (w for w in self._facts.windows if w.concerns(start.node) and not w.cut)
        ran_ns = until_ns - to_ns - held_up_ns(holding, to_ns, until_ns)
        due_ns = self._interval_ns(start.node) + LATE_NS
        if ran_ns < due_ns or not one_life(self._facts, start.node, deletion.from_ns - MARGIN_NS, until_ns):
            return None
        return f"Its process ran on for {ran_ns / 1e9:.1f} s; it may take {due_ns / 1e9:.0f} s."

    def _interval_ns(self, node: str) -> int:
        """The longest time until a broker writes the starts of its logs."""
        setup = self._facts.setup
        config = setup.config | setup.node_config.get(node, {})
        return max(int(config.get(name, ms)) for name, ms in _INTERVALS_MS.items()) * NS_PER_MS


def _directory(state: PartitionState, number: int) -> str | None:
    return dict(zip(state.replicas, state.directories, strict=False)).get(number)


def _found(deletion: RecordsDeletion, start: _Start, why: str) -> Anomaly:
    where, below = start.where, deletion.below
    return DELETION_NOT_KEPT.found(
        f"on the disk of {start.node} the log of {where} begins at {start.start}, although its records below "
        f"{below} had been deleted",
        subject=f"{where}@{start.start}",
        time_ns=start.until_ns,
        witness=(*deletion.operations, start.op),
        explanation=(
            *deletion.texts,
            f"{start.node} was in sync, so by then it had moved the start of its log.",
            why,
            start.text,
        ),
    )
