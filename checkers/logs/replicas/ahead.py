"""Producers for which a broker knows a later number than its log has: ``producer-ahead``.

When a broker truncates a log, it resets its state of the producers whose records were removed (KIP-98;
``UnifiedLog.truncateTo``, ``ProducerStateManager.truncateAndReload``).  If a broker keeps such a number and
leads later, it treats the producer's next attempt to append these records as a duplicate.  It then
acknowledges records that are not in the log.

Brokers are asked before the disks are read, and again after that.  A number is compared only if both answers
have it.  If the log was truncated or appended to in between, the second answer shows the new state.  So a
number that is in both answers belongs to a batch that was in the log when it was read.  Only the epoch of the
last batch in the log is compared, and only if that epoch has records: markers have no numbers.

The cleaner keeps the last batch of a producer, as far as the broker knows, without records if need be.  If a
later batch of the producer is truncated after the cleaning, the batch before it, which is then the last one
again, may be gone.  The broker knows its number all the same, and rightly.  So in a compacted topic a number
is no finding if the log of another in-sync replica has it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from checkers.columns.tables import NEVER
from checkers.evidence.replicas import ReplicaLog
from checkers.history.observed import PRODUCERS
from checkers.history.operations import History, once
from checkers.logs.replicas.anomalies import PRODUCER_AHEAD
from checkers.logs.replicas.comparison import ComparedRange
from checkers.logs.replicas.forgotten_producers import (
    NUMBERS,
    DescribedProducers,
    Last,
    Replica,
    answered,
    answered_after,
    answers_of,
    known_of,
    last_of,
)
from checkers.verdict.verdict import Anomaly

_NONE = -1


@once
def _answers(history: History) -> dict[Replica, list[DescribedProducers]]:
    """All answers of each broker for each partition, in order; refusals are left out."""
    found: dict[Replica, list[DescribedProducers]] = {}
    for replica, answer in answered(history):
        if answer is not None:
            found.setdefault(replica, []).append(answer)
    return found


def _answer_before(history: History, log: ReplicaLog) -> DescribedProducers | None:
    """The last answer of a broker before its log was read."""
    answers = _answers(history).get((log.node, log.partition), [])
    return next((each for each in reversed(answers) if each.time_ns <= log.seen.began_ns), None)


def unanswered_before(history: History, logs: Sequence[ReplicaLog]) -> list[str]:
    """Brokers without an answer before their logs were read, if brokers were asked then.

    Histories of earlier versions have no such answers.

    Args:
        history: has the brokers' answers.
        logs: the logs of the in-sync replicas.
    """
    asked_ns = min((operation.time_ns for operation in history.observed(PRODUCERS)), default=NEVER)
    return [
        f"{log.node} did not answer which producers it knew of {log.partition} before its log was read"
        for log in logs
        if asked_ns <= log.seen.began_ns and _answer_before(history, log) is None
    ]


def find_ahead(
    history: History,
    logs: Sequence[ReplicaLog],
    committed: ComparedRange,
    figures: Counter[str],
    *,
    compacted: bool,
) -> Iterator[Anomaly]:
    """At most one finding for each log, for the producer that is farthest ahead of it.

    Args:
        history: has the brokers' answers.
        logs: the logs of the in-sync replicas.
        committed: the committed range, with the reason why these logs are judged.
        figures: counts the producers that were compared.
        compacted: whether the topic is compacted.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    answers = answers_of(history)
    elsewhere = _numbers_of(logs) if compacted else frozenset()
    for log in logs:
        answer, again = _answer_before(history, log), answers.get((log.node, log.partition))
        if answer is None or again is None or not answered_after(log, again):
            continue
        last = last_of(log, log.end)
        epoch, number = known_of(answer, last)
        again_epoch, again_number = known_of(again, last)
        compared = (epoch == last.epoch) & (number != _NONE) & (last.sequence != _NONE)
        compared &= (again_epoch == epoch) & (again_number == number)
        figures["producers_taken_back"] += int(compared.sum())
        # Numbers start again after the last one: a number is later if it is less than half of them ahead.
        named = zip(last.producer_id.tolist(), epoch.tolist(), number.tolist(), strict=True)
        compared &= np.array([each not in elsewhere for each in named], bool)
        by = np.where(compared, (number - last.sequence) % NUMBERS, 0)
        wrong = np.flatnonzero((by > 0) & (by < NUMBERS // 2))
        if len(wrong):
            yield _found((log, answer), last, int(wrong[np.argmax(by[wrong])]), committed, len(wrong))


def _numbers_of(logs: Sequence[ReplicaLog]) -> frozenset[tuple[int, int, int]]:
    """Producer, epoch and number of the last batches of all producers, in any of the logs."""
    lasts = (last_of(log, log.end) for log in logs)
    return frozenset(
        each
        for last in lasts
        for each in zip(last.producer_id.tolist(), last.epoch.tolist(), last.sequence.tolist(), strict=True)
    )


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
            f"The broker answered which producers it knows at {answer.time_ns / 1e9:.3f} s, and later again.",
            f"The log of {log.node} was read from {log.seen.began_ns / 1e9:.3f} s on.",
            f"The broker knows later numbers of {number} of {len(last.producer_id)} producers with batches.",
        ),
    )
