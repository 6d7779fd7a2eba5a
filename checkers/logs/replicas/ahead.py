"""Producers of which a broker knows a later number than its log has: ``producer-ahead``.

When a broker truncates a log it takes back what it knows of the producers whose records are gone (KIP-98;
``UnifiedLog.truncateTo``, ``ProducerStateManager.truncateAndReload``).  A broker that keeps such a number
takes the producer's next try to append these records for a duplicate when it leads, and acknowledges what is
not in the log.

Brokers are asked before the disks are read.  Logs of in-sync replicas lose nothing at their end then: faults
are over, and no load is left.  So what a broker had appended when it answered is on its disk.  Only the epoch
of the last batch in the log is compared, and only if that epoch has records: markers have no numbers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from checkers.evidence.replicas import ReplicaLog
from checkers.history.observed import KnownProducer
from checkers.history.operations import History, once
from checkers.logs.replicas.anomalies import PRODUCER_AHEAD
from checkers.logs.replicas.forgotten import NUMBERS, DescribedProducers, Last, Replica, answered, last_of
from checkers.logs.replicas.together import ComparedRange
from checkers.verdict.verdict import Anomaly

_NONE = -1


@once
def _first_answers(history: History) -> dict[Replica, DescribedProducers]:
    """The first answer of each broker for each partition; refusals are left out."""
    found: dict[Replica, DescribedProducers] = {}
    for replica, answer in answered(history):
        if answer is not None:
            found.setdefault(replica, answer)
    return found


def find_ahead(
    history: History, logs: Sequence[ReplicaLog], committed: ComparedRange, figures: Counter[str]
) -> Iterator[Anomaly]:
    """At most one finding for each log, of the producer that is farthest ahead of it.

    Args:
        history: has what brokers answered.
        logs: of the replicas in sync.
        committed: why they are judged.
        figures: counts the producers that were compared.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    answers = _first_answers(history)
    for log in logs:
        answer = answers.get((log.node, log.partition))
        if answer is None or answer.time_ns > log.seen.began_ns:
            continue
        last = last_of(log, log.end)
        nothing = KnownProducer(_NONE, _NONE, _NONE)
        known = [answer.known.get(number, nothing) for number in last.producer_id.tolist()]
        same = np.array([each.epoch for each in known], dtype=np.int64) == last.epoch
        number = np.array([each.sequence for each in known], dtype=np.int64)
        compared = same & (last.sequence != _NONE)
        figures["producers_taken_back"] += int(compared.sum())
        # Numbers begin again after the last one, so only what is less than half of them ahead is later.
        by = np.where(compared, (number - last.sequence) % NUMBERS, 0)
        wrong = np.flatnonzero((by > 0) & (by < NUMBERS // 2))
        if len(wrong):
            yield _found((log, answer), last, int(wrong[np.argmax(by[wrong])]), committed, len(wrong))


def _found(
    whose: tuple[ReplicaLog, DescribedProducers], last: Last, row: int, committed: ComparedRange, number: int
) -> Anomaly:
    log, answer = whose
    producer, offset = int(last.producer_id[row]), int(last.offset[row])
    known = answer.known[producer]
    return PRODUCER_AHEAD.found(
        f"{log.node} knows sequence number {known.sequence} of producer {producer} in epoch {known.epoch}, "
        f"and the last one in its log of {log.partition} is {int(last.sequence[row])}, at offset {offset}",
        subject=f"{log.partition}@{offset}",
        time_ns=answer.time_ns,
        witness=(*committed.witness, log.op, answer.op),
        explanation=(
            committed.reason,
            f"The broker answered which producers it knows at {answer.time_ns / 1e9:.3f} s.",
            f"The log of {log.node} was read from {log.seen.began_ns / 1e9:.3f} s on.",
            f"It knows later numbers of {number} of {len(last.producer_id)} producers with batches there.",
        ),
    )
