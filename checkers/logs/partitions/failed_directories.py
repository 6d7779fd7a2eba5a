"""Whether another replica is elected after a log directory has failed (KIP-112, KIP-858).

A broker that can't read or write a log takes the log's directory offline, answers KAFKA_STORAGE_ERROR for all
partitions in it, and notifies the active controller at once.  The controller elects other leaders, or none.
So a broker must not answer that error for `BOUND_NS`, in one leader epoch, for a partition that it leads
according to the committed metadata log, if

- its process stays the same,
- no fault except that of its disk is in force at it or at a controller (times with other faults don't count),
- and one controller is active in one epoch and continues to commit, which it does twice a second without
  load.

If the metadata log does not say in which directory a replica is, it is unknown which replicas failed with it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from checkers.columns.tables import PartitionName
from checkers.evidence.faults import FaultWindow
from checkers.evidence.partition_changes import PartitionState
from checkers.history.error_codes import ErrorCode
from checkers.history.operations import History, once
from checkers.history.quorum import leaders_seen
from checkers.history.units import NS_PER_MS
from checkers.licences.disks import DEAD
from checkers.licences.facts import Facts
from checkers.logs.partitions.anomalies import FAILED_DIRECTORY_LED
from checkers.logs.partitions.broker_lives import held_up_ns, one_process
from checkers.logs.partitions.leading import LeaderAnswer, leading_of
from checkers.verdict.verdict import Anomaly

BOUND_NS = 6_000_000_000
"""How long a broker and the controllers must be without faults until the leader must have changed.

A broker sends a heartbeat at once, then one every half second, and is fenced three seconds after the last.
"""
COMMITTING_NS = 2_000_000_000
"""How long an active controller may commit nothing; it writes a no-op record every half second."""
_RESERVED = frozenset({"AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"})
"""Ids that stand for no directory: not assigned, lost, migrating."""


class _Mark(NamedTuple):
    """An active controller's report: its time, its epoch, and the committed end."""

    time_ns: int
    leader: tuple[int, int]
    committed: int


def failed_directories(facts: Facts, figures: Counter[str]) -> Iterator[Anomaly]:
    """Find brokers that still lead partitions in failed directories, at most one finding per leader epoch.

    Args:
        facts: the history.
        figures: counts these errors of leaders, and gets the longest time without faults in which a leader
            answered them.
    """
    first: dict[tuple[str, PartitionName], LeaderAnswer] = {}
    found: set[tuple[str, PartitionName, int]] = set()
    for answer in leading_of(facts.history):
        place = (answer.node, answer.partition)
        begun = first.pop(place, answer)
        if answer.error != ErrorCode.KAFKA_STORAGE_ERROR or facts.ids.get(answer.node) != answer.leader:
            continue
        if begun.leader_epoch != answer.leader_epoch:
            begun = answer
        first[place] = begun
        figures["storage_errors_of_leaders"] += 1
        lasted_ns = _undisturbed_ns(facts, begun, answer)
        figures["failed_directory_led_ms"] = max(figures["failed_directory_led_ms"], lasted_ns // NS_PER_MS)
        if lasted_ns >= BOUND_NS and (*place, answer.leader_epoch) not in found:
            found.add((*place, answer.leader_epoch))
            yield _found(begun, answer, facts.changes.op)


def _undisturbed_ns(facts: Facts, first: LeaderAnswer, last: LeaderAnswer) -> int:
    """How long, between two answers, nothing prevented another leader's election; 0 if unknown."""
    from_ns, to_ns = first.time_ns, last.asked_ns
    certain = (
        from_ns < to_ns
        and facts.changes.is_complete(first.partition, to_ns)
        and directory_led(facts, first.partition, first.leader, from_ns, to_ns) is not None
        and _epoch_stays(facts, first, from_ns, to_ns)
        and one_process(facts, first.node, from_ns, to_ns)
        and commits(facts.history, from_ns, to_ns)
    )
    if not certain:
        return 0
    disturbing = [window for window in facts.windows if _disturbs(facts, window, first.node)]
    return max(0, to_ns - from_ns - held_up_ns(disturbing, from_ns, to_ns))


def _epoch_stays(facts: Facts, first: LeaderAnswer, from_ns: int, to_ns: int) -> bool:
    states = facts.changes.possible(first.partition, from_ns, to_ns)
    return all(state.leader_epoch == first.leader_epoch for state in states)


def directory_led(
    facts: Facts, partition: PartitionName, broker: int, from_ns: int, to_ns: int
) -> str | None:
    """Id of the directory in which a broker certainly led a partition between two times, in one leader epoch.

    None if it did not lead all the time, or not always in that directory, or if the directory is unknown.
    """
    states = facts.changes.possible(partition, from_ns, to_ns)
    led = {(state.leader, state.leader_epoch, _directory(state, broker)) for state in states}
    leader, _, directory = next(iter(led)) if len(led) == 1 else (None, 0, None)
    return directory if leader == broker and directory not in _RESERVED else None


def _directory(state: PartitionState, broker: int) -> str | None:
    placed = dict(zip(state.replicas, state.directories, strict=False))
    return placed.get(broker)


def _disturbs(facts: Facts, window: FaultWindow, node: str) -> bool:
    """Whether a fault may prevent a broker, or a controller, from doing its work."""
    if window.kind == DEAD and window.targets == (node,):
        return False
    names = {node, *(each.name for each in facts.setup.nodes if "controller" in each.roles)}
    cut = {name for pair in window.cut for name in pair}
    return bool(names & cut) or any(window.concerns(name) for name in names)


def commits(history: History, from_ns: int, to_ns: int) -> bool:
    """Whether one controller was active in one epoch, and its high watermark rose continually."""
    marks = [mark for mark in _marks(history) if from_ns <= mark.time_ns <= to_ns]
    if len({mark.leader for mark in marks}) != 1:
        return False
    rose = [after.time_ns for before, after in pairwise(marks) if after.committed > before.committed]
    return all(after - before <= COMMITTING_NS for before, after in pairwise([from_ns, *rose, to_ns]))


@once
def _marks(history: History) -> Sequence[_Mark]:
    return tuple(
        _Mark(operation.time_ns, (seen.leader_id, seen.leader_epoch), seen.high_watermark)
        for operation, seen in leaders_seen(history)
    )


def _found(first: LeaderAnswer, last: LeaderAnswer, log: int | None) -> Anomaly:
    where = first.partition
    times = f"from {first.time_ns / 1e9:.3f} s to {last.time_ns / 1e9:.3f} s"
    return FAILED_DIRECTORY_LED.found(
        f"{first.node} answered {times} that the disk of {where} has failed, but led it all the time.",
        subject=str(where),
        time_ns=last.time_ns,
        witness=tuple(op for op in (first.op, last.op, log) if op is not None),
        explanation=(
            f"{first.node} answered KAFKA_STORAGE_ERROR for {where} {times}.",
            f"By the metadata log it was the leader in epoch {first.leader_epoch} all that time.",
            "It was not restarted. One controller was active and committed records.",
        ),
    )
