"""Producers that a broker does not know although its log has their batches: ``producer-forgotten``.

For each producer in a log, a broker knows the epoch and the sequence number of the last record.  It updates
them when it appends a batch, as a leader and as a follower.  It rebuilds them from a snapshot and the log
when it starts, or truncates the log (KIP-98; ``UnifiedLog.rebuildProducerState``).

Brokers are asked again after the disks were read.  So they must know all producers that were on the disk
then, with the same or later numbers.  Only in-sync replicas are judged, below the committed end, because
nothing there is truncated any more.  Nothing is judged if brokers are configured to forget producers earlier
than after a day (``producer.id.expiration.ms``).

Compaction keeps the last batch of each producer, if necessary without its records (KIP-98).  Empty control
batches are ignored, as brokers do, because their marker was removed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import Integers, PartitionName
from checkers.evidence.replicas import ReplicaLog
from checkers.history.observed import EVIDENCE_PRODUCERS, PRODUCERS, KnownProducer, ProducersSeen
from checkers.history.operations import History, once
from checkers.history.setup import recorded_setup
from checkers.logs.replicas.anomalies import PRODUCER_FORGOTTEN
from checkers.logs.replicas.comparison import ComparedRange
from checkers.verdict.verdict import Anomaly

NUMBERS = 2**31
"""Number of sequence numbers; after the last one they start at 0 again."""
_NONE = -1


Replica = tuple[str, PartitionName]
"""A node and a partition."""


class DescribedProducers(NamedTuple):
    """A broker's answer about a partition's producers.

    Attributes:
        op: index of the observation.
        time_ns: when it was recorded.
        began_ns: when the broker was asked.
        known: the state of each producer, by producer id.
    """

    op: int
    time_ns: int
    began_ns: int
    known: Mapping[int, KnownProducer]


class Last(NamedTuple):
    """The last batch of each producer in a log, by producer id; all have the shape (producers,).

    Attributes:
        producer_id: ascending.
        epoch: the epoch of that batch, or of that marker.
        sequence: the last number of that epoch; -1 if the epoch has only markers.
        offset: the last offset of that batch.
    """

    producer_id: Integers
    epoch: Integers
    sequence: Integers
    offset: Integers


@once
def answers_of(history: History) -> dict[Replica, DescribedProducers]:
    """The last answer of each broker for each partition; none if the last answer is a refusal.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    last = dict(answered(history))
    return {replica: answer for replica, answer in last.items() if answer is not None}


def answered(history: History) -> Iterator[tuple[Replica, DescribedProducers | None]]:
    """All answers of brokers for their replicas, in order; None for a refusal.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    for operation in history.observed(PRODUCERS):
        seen = msgspec.convert(operation.value, ProducersSeen)
        for topic, partitions in seen.topics.items():
            for each in partitions:
                known = {producer.id: producer for producer in each.known}
                answer = DescribedProducers(operation.index, operation.time_ns, seen.began_ns, known)
                replica = operation.node or "", PartitionName(topic, each.partition)
                yield replica, answer if each.error == 0 else None


def unanswered(history: History, logs: Sequence[ReplicaLog]) -> list[str]:
    """Replicas whose broker was asked about the producers and did not answer, as sentences.

    Brokers that did not answer at all are covered by the assumption ``producers-covered``.
    """
    if EVIDENCE_PRODUCERS not in recorded_setup(history).evidence:
        return []
    answers, asked = answers_of(history), {operation.node for operation in history.observed(PRODUCERS)}
    return [
        f"{log.node} did not answer which producers it knows of {log.partition}"
        for log in logs
        if log.node in asked and not answered_after(log, answers.get((log.node, log.partition)))
    ]


def answered_after(log: ReplicaLog, answer: DescribedProducers | None) -> bool:
    """Whether a broker answered a request that was sent after its log was read."""
    return answer is not None and answer.began_ns >= log.time_ns


def last_of(log: ReplicaLog, end: int) -> Last:
    """The least that a broker must know, by the batches of its log that end before an offset."""
    producer = log["producer_id"]
    gone = log.control & (log["count"] == 0)
    within = (log["base_offset"] >= log.start) & (log["last_offset"] < end)
    rows = np.flatnonzero((producer >= 0) & ~gone & within)
    ids, at = np.unique(producer[rows][::-1], return_index=True)
    last = rows[::-1][at]
    epoch = log["producer_epoch"]
    # For each producer, the last batch with records among those of its last epoch.
    numbered = rows[(log["base_sequence"][rows] >= 0)]
    numbered = numbered[epoch[numbered] == epoch[last][np.searchsorted(ids, producer[numbered])]]
    having, at = np.unique(producer[numbered][::-1], return_index=True)
    row = numbered[::-1][at]
    sequence = np.full(len(ids), _NONE, dtype=np.int64)
    span = log["last_offset"][row] - log["base_offset"][row]
    sequence[np.searchsorted(ids, having)] = (log["base_sequence"][row] + span) % NUMBERS
    return Last(ids, epoch[last], sequence, log["last_offset"][last])


def known_of(answer: DescribedProducers, last: Last) -> tuple[Integers, Integers]:
    """Epoch and sequence number that an answer has of each producer in `last`; -1 where it has none."""
    nothing = KnownProducer(_NONE, _NONE, _NONE)
    known = [answer.known.get(number, nothing) for number in last.producer_id.tolist()]
    rows = np.array([(each.epoch, each.sequence) for each in known], dtype=np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def find_forgotten(
    history: History, logs: Sequence[ReplicaLog], committed: ComparedRange, figures: Counter[str]
) -> Iterator[Anomaly]:
    """At most one finding for each log, for the last batch that its broker should know.

    Args:
        history: has the brokers' answers.
        logs: the logs of the in-sync replicas.
        committed: the range in which they are judged.
        figures: counts the producers that were compared.
    """
    answers = answers_of(history)
    for log in logs:
        answer = answers.get((log.node, log.partition))
        if answer is None or not answered_after(log, answer):
            continue
        last = last_of(log, committed.end)
        figures["producers_known"] += len(last.producer_id)
        epoch, sequence = known_of(answer, last)
        behind = (epoch < last.epoch) | ((epoch == last.epoch) & (sequence < last.sequence))
        wrong = np.flatnonzero(behind)
        if len(wrong):
            row = int(wrong[np.argmax(last.offset[wrong])])
            yield _found((log, answer), last, row, committed, len(wrong))


def _found(
    whose: tuple[ReplicaLog, DescribedProducers], last: Last, row: int, committed: ComparedRange, number: int
) -> Anomaly:
    log, answer = whose
    producer, epoch = int(last.producer_id[row]), int(last.epoch[row])
    sequence, offset = int(last.sequence[row]), int(last.offset[row])
    known = answer.known.get(producer)
    upto = "" if sequence == _NONE else f" and sequence number {sequence}"
    knows = "does not know it" if known is None else f"knows epoch {known.epoch} and number {known.sequence}"
    return PRODUCER_FORGOTTEN.found(
        f"the log of {log.partition} on {log.node} has epoch {epoch}{upto} of producer {producer} at offset "
        f"{offset}, and the broker {knows}",
        subject=f"{log.partition}@{offset}",
        time_ns=answer.time_ns,
        witness=(*committed.witness, log.op, answer.op),
        explanation=(
            committed.reason,
            f"The log of {log.node} was read at {log.time_ns / 1e9:.3f} s.",
            f"The broker was asked which producers it knows at {answer.began_ns / 1e9:.3f} s.",
            f"It lacks numbers of {number} of {len(last.producer_id)} producers with batches in this log.",
        ),
    )
