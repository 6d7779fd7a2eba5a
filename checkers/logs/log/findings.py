"""Findings of the log checker: numbers of all anomalies, and texts of some of them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Integers
from checkers.logs.log.anomalies import ANOMALIES
from checkers.verdict.tallies import AnomalyTally, tallied
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly


class Example(NamedTuple):
    """The text of one anomaly.

    Attributes:
        subject: the place in the log, such as ``log-0/3@1042``.
        summary: one sentence with the values.
        witness: indices of the operations that prove it.
        explanation: the proof, as sentences.
    """

    subject: str
    summary: str
    witness: tuple[int, ...]
    explanation: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogFinding:
    """All anomalies of one id in one partition.

    Attributes:
        id: one of `ANOMALIES`.
        time_ns: shape (n,), when each became visible.
        offset: shape (n,), its offset, `NONE` if unknown.
        licence: shape (n,), row of `texts` that makes it legal, `NONE` if it is illegal.
        texts: the licences; None for an anomaly that is legal without one.
        example: returns the text of the i-th anomaly.
    """

    id: str
    time_ns: Integers
    offset: Integers
    licence: Integers
    texts: tuple[str | None, ...]
    example: Callable[[int], Example]

    def anomalies(self) -> Iterable[Anomaly]:
        """At most `EXAMPLES_PER_ANOMALY` anomalies, illegal ones first, then in the order of time."""
        order = np.lexsort((self.time_ns, self.licence != NONE))
        return map(self._anomaly, order[:EXAMPLES_PER_ANOMALY].tolist())

    def tallies(self, place: str) -> Iterator[AnomalyTally]:
        """Numbers of these anomalies, by legality and nearness."""
        for illegal in (True, False):
            rows = np.flatnonzero((self.licence == NONE) == illegal)
            yield from tallied(self.id, place, self.time_ns[rows], self.offset[rows], illegal=illegal)

    def _anomaly(self, index: int) -> Anomaly:
        example = self.example(index)
        licence = int(self.licence[index])
        return Anomaly(
            id=self.id,
            summary=example.summary,
            guarantee=ANOMALIES[self.id].guarantee,
            source=ANOMALIES[self.id].source,
            illegal=licence == NONE,
            subject=example.subject,
            time_ns=int(self.time_ns[index]),
            witness=example.witness,
            explanation=example.explanation,
            licence=None if licence == NONE else self.texts[licence],
        )


def illegal(
    identity: str, time_ns: Integers, offset: Integers, example: Callable[[int], Example]
) -> LogFinding:
    """Return anomalies that nothing can license."""
    return LogFinding(identity, time_ns, offset, np.full(len(time_ns), NONE, dtype=np.int64), (), example)
