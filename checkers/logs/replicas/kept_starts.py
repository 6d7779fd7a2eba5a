"""Starts of logs on disk: they must include deletions before a clean stop, or long ago (KIP-107).

A broker writes where its logs begin (``log-start-offset-checkpoint``) every
``log.flush.start.offset.checkpoint.interval.ms``, a minute, and when it stops cleanly.  Of a log that begins
where its first segment does, it writes nothing: then the name of that segment tells the start.  DeleteRecords
is answered once every live replica has moved its start in memory.  So a replica that was in sync until the
answer has the start on its disk at the end, if its broker

- ran as one process from before the request for an interval after the answer, or
- ran as one process from before the request until it was stopped after the answer, and exited cleanly.  What
  it did later is no matter: it began with the start that it had written.

Retention and deletions of segments only raise a start.  What could lower it is not judged: an unclean
election, a disk that was struck, half a batch that a fault wrote, a replica that moved, a topic that was
deleted or is compacted.  Where the metadata log does not tell all states of a partition, nothing is judged.
"""

from collections import Counter
from collections.abc import Iterator

from checkers.evidence.partition_changes import NOBODY, PartitionState
from checkers.evidence.replicas import ReplicaLog, batches_of
from checkers.history.operations import History
from checkers.history.units import NS_PER_MS
from checkers.licences.disks import strikes_of
from checkers.licences.facts import Facts
from checkers.logs.partitions.lives import held_up_ns, one_life
from checkers.logs.replicas.anomalies import DELETION_NOT_KEPT
from checkers.logs.replicas.limits import limits_of
from checkers.logs.replicas.removed import CLEAN_CODES, MARGIN_NS, Deletion, Licensing, deletions_of
from checkers.verdict.verdict import Anomaly

LATE_NS = 15_000_000_000
"""How late a broker on a busy host may write its file."""
_INTERVALS_MS = {
    "log.flush.start.offset.checkpoint.interval.ms": 60_000,
    "log.initial.task.delay.ms": 30_000,
}
"""Properties by which a broker writes the starts again, and for the first time, with Kafka's defaults."""
_STOP, _TORN = "stop", "torn-write"


def find_not_kept(history: History, figures: Counter[str]) -> Iterator[Anomaly]:
    """At most one finding for each replica, of the largest offset.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        figures: counts the deletions that a replica's disk had to have, once for each replica.
    """
    deletions = deletions_of(history)
    if not deletions:
        return
    promises = _Promises(history)
    for log in batches_of(history).logs:
        of_it = deletions.get(log.partition, []) if promises.concern(log) else []
        due = [(each, why) for each in of_it if (why := promises.why(each, log)) is not None]
        figures["deletions_on_disk"] += len(due)
        behind = [(each, why) for each, why in due if log.start < each.below]
        yield from (_found(each, log, why) for each, why in behind[:1])


class _Promises:
    """Tells which deletions the disk of a replica must have, and why."""

    def __init__(self, history: History) -> None:
        self._facts = Facts(history)
        self._licensing = Licensing(history)
        self._removed = {operation.key for operation in history.of("delete-topic")}
        self._compacted = limits_of(history, self._facts.setup).compacted

    def concern(self, log: ReplicaLog) -> bool:
        """Whether a start was read that the log of a topic of the run has, which nobody deleted."""
        topic = log.partition.topic
        return (
            log.readable
            and log.seen.log_start is not None
            and topic not in self._removed | self._compacted
            and self._facts.setup.is_of_topic(topic, log.seen.topic_id)
        )

    def why(self, deletion: Deletion, log: ReplicaLog) -> str | None:
        """Why the start on a disk can't be below a deletion; None where it may be."""
        if not self._moved(deletion, log) or self._lowered(deletion, log):
            return None
        return self._stopped(deletion, log) or self._ran(deletion, log)

    def _moved(self, deletion: Deletion, log: ReplicaLog) -> bool:
        """Whether the leader certainly had to wait for this replica before it answered."""
        changes, number = self._facts.changes, self._facts.ids.get(log.node)
        if number is None or not changes.tells(log.partition, log.seen.began_ns):
            return False
        states = changes.possible(log.partition, deletion.from_ns - MARGIN_NS, deletion.to_ns)
        in_sync = all(state.leader != NOBODY and number in state.isr for state in states)
        return in_sync and len({state.leader_epoch for state in states}) == 1

    def _lowered(self, deletion: Deletion, log: ReplicaLog) -> bool:
        """Whether the replica may have truncated what was committed, or be another one."""
        facts, where, number = self._facts, log.partition, self._facts.ids[log.node]
        earlier = facts.changes.possible(where, 0, log.seen.began_ns)
        states = facts.changes.possible(where, deletion.from_ns - MARGIN_NS, log.seen.began_ns)
        return (
            any(state.unclean or state.last_leader or state.recovering for state in earlier)
            or not all(number in state.replicas for state in states)
            or len({_directory(state, number) for state in states}) != 1
            or any(strike.to_ns >= deletion.from_ns for strike in strikes_of(facts, where))
            or any(each.kind == _TORN and each.end_ns >= deletion.from_ns for each in facts.windows)
            or self._licensing.truncated(deletion) is not None
        )

    def _stopped(self, deletion: Deletion, log: ReplicaLog) -> str | None:
        """That the process that had moved the start was stopped later, and exited cleanly."""
        from_ns, node = deletion.from_ns - MARGIN_NS, log.node
        ended = [w for w in self._facts.windows if w.ends_processes and w.concerns(node)]
        first = next((window for window in ended if window.end_ns >= from_ns), None)
        lives = self._facts.history.observed("node")
        told = next((o for o in lives if o.node == node and o.time_ns >= from_ns), None)
        if first is None or first.kind != _STOP or first.invoked_ns <= deletion.to_ns or told is None:
            return None
        exited = told.value["status"] == "exited" and told.value.get("exit_code") in CLEAN_CODES
        if not exited or not first.invoked_ns <= told.time_ns <= log.seen.began_ns:
            return None
        return f"It was stopped at {first.invoked_ns / 1e9:.1f} s ({first.id}), and exited cleanly."

    def _ran(self, deletion: Deletion, log: ReplicaLog) -> str | None:
        """That the process that had moved the start ran for long enough, without what holds it up."""
        to_ns, until_ns = deletion.to_ns, log.seen.began_ns
        holding = (w for w in self._facts.windows if w.concerns(log.node) and not w.cut)
        ran_ns = until_ns - to_ns - held_up_ns(holding, to_ns, until_ns)
        due_ns = self._interval_ns(log.node) + LATE_NS
        if ran_ns < due_ns or not one_life(self._facts, log.node, deletion.from_ns - MARGIN_NS, until_ns):
            return None
        return f"Its process ran on for {ran_ns / 1e9:.1f} s; it may take {due_ns / 1e9:.0f} s."

    def _interval_ns(self, node: str) -> int:
        """How long a broker may take until it writes the starts of its logs."""
        setup = self._facts.setup
        config = setup.config | setup.node_config.get(node, {})
        return max(int(config.get(name, ms)) for name, ms in _INTERVALS_MS.items()) * NS_PER_MS


def _directory(state: PartitionState, number: int) -> str | None:
    return dict(zip(state.replicas, state.directories, strict=False)).get(number)


def _found(deletion: Deletion, log: ReplicaLog, why: str) -> Anomaly:
    where, below = log.partition, deletion.below
    return DELETION_NOT_KEPT.found(
        f"on the disk of {log.node} the log of {where} begins at {log.start}, although its records below "
        f"{below} had been deleted",
        subject=f"{where}@{log.start}",
        time_ns=log.time_ns,
        witness=(*deletion.operations, log.op),
        explanation=(
            *deletion.told,
            f"{log.node} was in sync, so by then it had moved the start of its log.",
            why,
            f"At {log.seen.began_ns / 1e9:.1f} s its disk said that the log begins at {log.start}.",
        ),
    )
