"""What the log checker can find, which promise each finding breaks and where that promise is made."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Integers
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly


class Promise(NamedTuple):
    """A guarantee, and where it is made."""

    guarantee: str
    source: str


PROMISES = {
    "lost-write": Promise(
        "A record that was acknowledged with acks=all, or that a consumer was given, stays in the log as "
        "long as one in-sync replica keeps its disk; what a transaction committed stays visible.",
        "Kafka documentation, Design, Replication; KIP-966; Jepsen: lost write",
    ),
    "known-gap": Promise(
        "A record that was acknowledged with acks=all stays in the log while fewer than min.insync.replicas "
        "copies of it are destroyed; without eligible leader replicas Kafka is known not to keep that where "
        "the last replica in sync loses its disk.",
        "KIP-966, the last replica standing; krucible: never a pass",
    ),
    "duplicate": Promise(
        "An idempotent producer's record is in the log once, however often its sending is retried.",
        "KIP-98, idempotent producer; Jepsen: duplicate",
    ),
    "inconsistent-offsets": Promise(
        "An offset names one record of a partition, for every reader and at all times.",
        "Kafka documentation, Introduction, Topics and partitions; Jepsen: inconsistent offsets",
    ),
    "phantom": Promise(
        "A log holds what producers sent to that partition, and nothing else.",
        "Kafka documentation, Design, Message delivery semantics; Jepsen: garbage read",
    ),
    "G1a": Promise(
        "A record whose sending definitely failed is never returned; one whose transaction was aborted is "
        "not returned to read_committed readers.",
        "Adya, Weak Consistency (1999), G1a aborted read; KIP-98",
    ),
    "poll-skip": Promise(
        "A consumer that keeps its assignment is given every committed record in the order of offsets.",
        "Kafka documentation, Design, Consumer position; Jepsen: poll skip",
    ),
    "int-poll-skip": Promise(
        "The records of one poll leave no committed record out.",
        "Kafka documentation, Design, Consumer position; Jepsen: internal poll skip",
    ),
    "nonmonotonic-poll": Promise(
        "A consumer's position moves forward only, until it is assigned anew.",
        "Kafka documentation, Design, Consumer position; Jepsen: nonmonotonic poll",
    ),
    "int-nonmonotonic-poll": Promise(
        "The records of one poll stand in the order of their offsets.",
        "Kafka documentation, Introduction, Guarantees; Jepsen: internal nonmonotonic poll",
    ),
    "nonmonotonic-send": Promise(
        "Records that one producer sends to a partition are appended in the order in which they are sent.",
        "Kafka documentation, Introduction, Guarantees; Jepsen: nonmonotonic send",
    ),
    "int-nonmonotonic-send": Promise(
        "Records that an idempotent producer sends in one batch are appended in the order of the batch.",
        "KIP-98, idempotent producer; Jepsen: internal nonmonotonic send",
    ),
    "realtime-order": Promise(
        "A record is appended behind every record that was known to be in the log before its sending began.",
        "Kafka documentation, Design, Replicated logs; Herlihy and Wing, Linearizability (1990)",
    ),
    "unseen": Promise(
        "An acknowledged record can be read.",
        "Jepsen: unseen",
    ),
    "client-disagreement": Promise(
        "Every client at one isolation level reads the same records; without transactions, at either level.",
        "KIP-98, read_committed and the last stable offset; krucible: both clients read everything",
    ),
}
"""Every anomaly id of the log checker."""


class Example(NamedTuple):
    """One anomaly in words.

    Attributes:
        subject: the place in the log, such as ``log-0/3@1042``.
        summary: one sentence with the values.
        witness: indices of the operations that show it.
        explanation: the proof, a sentence each.
    """

    subject: str
    summary: str
    witness: tuple[int, ...]
    explanation: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """All anomalies of one id in one partition.

    Attributes:
        id: one of `PROMISES`.
        time_ns: shape (n,), when each became visible.
        licence: shape (n,), row of `texts` that makes it legal, `NONE` where it is illegal.
        texts: licences; None where it is legal without one.
        example: puts the i-th into words.
    """

    id: str
    time_ns: Integers
    licence: Integers
    texts: tuple[str | None, ...]
    example: Callable[[int], Example]

    def anomalies(self) -> Iterable[Anomaly]:
        """At most `EXAMPLES_PER_ANOMALY`, illegal ones first, each kind in the order of time."""
        order = np.lexsort((self.time_ns, self.licence != NONE))
        return map(self._anomaly, order[:EXAMPLES_PER_ANOMALY].tolist())

    def _anomaly(self, index: int) -> Anomaly:
        example = self.example(index)
        licence = int(self.licence[index])
        return Anomaly(
            id=self.id,
            summary=example.summary,
            guarantee=PROMISES[self.id].guarantee,
            source=PROMISES[self.id].source,
            illegal=licence == NONE,
            subject=example.subject,
            time_ns=int(self.time_ns[index]),
            witness=example.witness,
            explanation=example.explanation,
            licence=None if licence == NONE else self.texts[licence],
        )


def illegal(identity: str, time_ns: Integers, example: Callable[[int], Example]) -> Found:
    """Anomalies that nothing can license."""
    return Found(identity, time_ns, np.full(len(time_ns), NONE, dtype=np.int64), (), example)
