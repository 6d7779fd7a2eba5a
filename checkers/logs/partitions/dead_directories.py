"""Brokers that continue to lead although the partition's log directory has failed (KIP-112).

If the harness made a directory fail under a running broker, every write to it fails.  After the first failed
write, of a record or of the checkpoints every five seconds, the broker takes the directory offline and
notifies the controller (`failed_directories`).  Client libraries hide the error answers and retry, so
unacknowledged records are the evidence.  Suppose that two processes have sent records to a partition in that
directory, while all its replicas were in sync, so that no record was refused beforehand.  Then another broker
must lead the partition after `BOUND_NS`.  Every other fault counts as a disturbance, because acknowledgements
of other partitions may wait for any broker, and requests may wait behind them.
"""

from collections.abc import Iterator

import numpy as np

from checkers.columns.tables import NEVER, NONE, Columns, Integers, PartitionName
from checkers.evidence.faults import FaultWindow, recorded_faults
from checkers.history.operations import History
from checkers.licences.disks import DEAD
from checkers.licences.facts import Facts
from checkers.logs.partitions.anomalies import FAILED_DIRECTORY_LED
from checkers.logs.partitions.broker_lives import held_up_ns
from checkers.logs.partitions.brokers import answers_of
from checkers.logs.partitions.failed_directories import BOUND_NS, commits, directory_led
from checkers.verdict.verdict import Anomaly


def dead_directories(facts: Facts, columns: Columns) -> Iterator[Anomaly]:
    """Find partitions with a leader that remains in a dead directory, at most one finding for each fault.

    Args:
        facts: the history.
        columns: the columns of the history.
    """
    for window in facts.windows:
        dead = _directories_of(facts.history, window)
        if dead and len(window.targets) == 1 and window.heal_invoked_ns is not None:
            found = (_found_in(facts, columns, window, dead, name) for name in facts.changes.states)
            yield from [anomaly for anomaly in found if anomaly is not None][:1]


def _directories_of(history: History, window: FaultWindow) -> frozenset[str]:
    """Ids of the directories that certainly failed by a fault while their broker continued to run."""
    probes = (
        [recorded.of_disk for recorded in recorded_faults(history, window)] if window.kind == DEAD else []
    )
    ids = (each for probe in probes if probe.running for each in probe.directory_ids)
    return frozenset(each for each in ids if each is not None)


def _found_in(
    facts: Facts, columns: Columns, window: FaultWindow, dead: frozenset[str], name: PartitionName
) -> Anomaly | None:
    from_ns, (node,) = window.effective_ns or 0, window.targets
    to_ns = _last_answer_ns(facts, node, window)
    rows = _sent(columns, name, from_ns, to_ns)
    sends = columns.sends
    acknowledged = (sends.offset[rows] != NONE) & (sends.completed_ns[rows] <= to_ns)
    sent_ns = _second_ns(columns, rows)
    others = [each for each in facts.windows if each is not window]
    certain = (
        to_ns - sent_ns - held_up_ns(others, sent_ns, to_ns) >= BOUND_NS
        and not acknowledged.any()
        and facts.changes.is_complete(name, to_ns)
        and directory_led(facts, name, facts.ids.get(node, NONE), from_ns, to_ns) in dead
        and _all_in_sync(facts, name, from_ns, sent_ns)
        and commits(facts.history, sent_ns, to_ns)
    )
    return _found(columns, window, name, (int(rows[0]), to_ns)) if certain else None


def _last_answer_ns(facts: Facts, node: str, window: FaultWindow) -> int:
    """When a broker received the last request that it answered before the heal; it was running then."""
    from_ns, to_ns = window.effective_ns or 0, window.heal_invoked_ns or 0
    answers = (a for a in answers_of(facts.history) if a.node == node and a.time_ns <= to_ns)
    return max((answer.began_ns for answer in answers), default=from_ns)


def _sent(columns: Columns, name: PartitionName, from_ns: int, to_ns: int) -> Integers:
    """Rows of the records that were sent to a partition between two times."""
    sends = columns.sends
    if name not in columns.partitions:
        return np.zeros(0, np.int64)
    there = sends.partition == columns.partitions.index(name)
    return np.flatnonzero(there & (from_ns <= sends.invoked_ns) & (sends.invoked_ns <= to_ns))


def _second_ns(columns: Columns, rows: Integers) -> int:
    """When a second process first sent one of some records; `NEVER` if only one process did."""
    _, first = np.unique(columns.sends.process[rows], return_index=True)
    times_ns = sorted(columns.sends.invoked_ns[rows[first]].tolist())
    return times_ns[1] if len(times_ns) > 1 else NEVER


def _all_in_sync(facts: Facts, name: PartitionName, from_ns: int, to_ns: int) -> bool:
    states = facts.changes.possible(name, from_ns, to_ns)
    return all({*state.isr} == {*state.replicas} for state in states)


def _found(columns: Columns, window: FaultWindow, name: PartitionName, seen: tuple[int, int]) -> Anomaly:
    row, to_ns = seen
    (node,) = window.targets
    return FAILED_DIRECTORY_LED.found(
        f"{node} led {name} at {to_ns / 1e9:.3f} s, although each write to its directory failed since "
        f"{(window.effective_ns or 0) / 1e9:.3f} s ({window.id}).",
        subject=str(name),
        time_ns=to_ns,
        witness=(*window.operations, int(columns.sends.invoke_op[row])),
        explanation=(
            (
                f"{window.id} made a log directory of {node} fail, in which it led {name}, and the "
                "broker kept running."
            ),
            (
                f"Since {columns.sends.invoked_ns[row] / 1e9:.3f} s records were sent, and none was "
                "acknowledged."
            ),
            "No other fault lasted that long. One controller was active and committed records.",
        ),
    )
