"""Counts what the log checker found and how much it looked at, over all partitions."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from checkers.columns import NONE, Columns, Outcome, Sends
from checkers.log.attribution import Attribution, Culprit
from checkers.log.claims import found_in
from checkers.log.findings import Found
from checkers.log.partition import PartitionLog
from checkers.log.polls import lag_of
from checkers.log.screening import Screening
from checkers.verdict import Anomaly, Assumption

_NS_PER_S = 1_000_000_000


class Tally:
    """Sums over partitions.

    Attributes:
        counts: exact number of anomalies per id.
        legal: how many of them are legal.
        undecided: claims on which no final read decides.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.counts: dict[str, int] = {}
        self.legal: dict[str, int] = {}
        self.undecided = 0
        self._examples: list[Anomaly] = []
        self._distinct = 0
        self._resolved = 0
        self._lag = 0
        self._doubts: dict[str, None] = {}
        self._duplicates_by: dict[Culprit, int] = {}

    def add(self, log: PartitionLog, findings: list[Found]) -> None:
        """Add one partition."""
        for found in findings:
            if len(found.time_ns):
                self._count(found)
                self._doubts.update(dict.fromkeys(_doubts(log, found)))
        self._distinct += len(log.claims.slots)
        self._resolved += _resolved(log)
        self._lag = max(self._lag, lag_of(log))

    def add_cleared(self, screening: Screening) -> None:
        """Add the partitions that screening cleared."""
        self._distinct += screening.distinct
        self._resolved += screening.resolved
        self._lag = max(self._lag, screening.lag)
        self.undecided += screening.undecided
        if screening.unseen:
            self.counts["unseen"] = self.legal["unseen"] = screening.unseen

    def show(self, findings: list[Found]) -> None:
        """Add examples of what is counted already."""
        for found in findings:
            self._examples.extend(found.anomalies())

    def add_duplicates(self, attribution: Attribution) -> None:
        """Add whose fault the duplicates of a partition are."""
        for culprit, count in attribution.counts.items():
            self._duplicates_by[culprit] = self._duplicates_by.get(culprit, 0) + count

    def anomalies(self) -> list[Anomaly]:
        """Examples: illegal ones first, in the order of time."""
        return sorted(self._examples, key=lambda anomaly: (not anomaly.illegal, anomaly.time_ns))

    def unknown_because(self, assumptions: tuple[Assumption, ...], damage: tuple[str, ...]) -> str | None:
        """Why a history without illegal anomalies is not valid; None if it is."""
        unmet = [assumption.observed for assumption in assumptions if not assumption.met]
        reasons = [*damage, *(f"the final read is not complete: {observed}" for observed in unmet)]
        if self._columns.foreign and not self._distinct:
            reasons.append("nothing was acknowledged at an offset, and nothing was read")
        for topic, keys in self._columns.keys.items():
            if keys is None:
                reasons.append(f"topic {topic} is compacted, and the set-up does not tell its keys")
        reasons.extend(self._doubts)
        if self.undecided:
            reasons.append(f"no final read decides on {self.undecided} known records")
        return "; ".join(reasons) or None

    def figures(self) -> dict[str, Any]:
        """Numbers worth keeping; records count each time that they are acknowledged or returned."""
        columns = self._columns
        outcome = np.bincount(columns.sends.outcome, minlength=len(Outcome))
        final = int(columns.calls.final[columns.reads.call].sum())
        return {
            "partitions": len(columns.partitions),
            "acknowledged_records": int(outcome[Outcome.OK]),
            "failed_records": int(outcome[Outcome.FAIL]),
            "aborted_records": int(outcome[Outcome.ABORTED]),
            "indeterminate_records": int(outcome[Outcome.INFO]),
            "indeterminate_found_records": self._resolved,
            "polled_records": len(columns.reads.value) - final,
            "final_read_records": final,
            "distinct_records": self._distinct,
            "undecided_records": self.undecided,
            "lag_records_max": self._lag,
            "acknowledged_records_per_s": _rate(columns.sends, columns.phases),
            "duplicates_by": {str(culprit): n for culprit, n in sorted(self._duplicates_by.items())},
            "legal_anomalies": dict(sorted(self.legal.items())),
        }

    def _count(self, found: Found) -> None:
        self.counts[found.id] = self.counts.get(found.id, 0) + len(found.time_ns)
        legal = int((found.licence != NONE).sum())
        if legal:
            self.legal[found.id] = self.legal.get(found.id, 0) + legal
        self._examples.extend(found.anomalies())


def _doubts(log: PartitionLog, found: Found) -> Iterator[str]:
    """Why nobody can say whether something is licensed that was taken to be."""
    for row in np.unique(found.licence[found.licence != NONE]).tolist():
        # Rows behind those of the permits are licences that no event gives.
        if row < len(log.permits) and found.texts[row] == log.licences[row]:
            doubt = log.permits[row].event.doubt
            if doubt is not None:
                yield doubt


def final_read_complete(columns: Columns) -> Assumption:
    """Whether every partition was read to its end by every reader that took part in the final read."""
    final, calls = columns.final_reads, columns.calls
    partitions, readers = len(columns.partitions), max(len(columns.final_readers), 1)
    pairs = final.partition * len(columns.readers) + calls.reader[final.call]
    complete = np.sort(pairs[final.whole])
    whole = int((np.diff(complete) != 0).sum()) + min(len(complete), 1)
    return Assumption(
        name="final-read-complete",
        met=whole == partitions * readers and whole > 0,
        expected=f"{partitions * readers} final reads to the end: {partitions} partitions, {readers} readers",
        observed=f"{whole} final reads to the end",
    )


def _resolved(log: PartitionLog) -> int:
    """How many sends of unknown fate some reader found; of transactions, a read_committed one."""
    sends, claims = log.columns.sends, log.claims
    open_sends = log.sends[sends.outcome[log.sends] == Outcome.INFO]
    found = np.unique(claims.value[claims.returned & log.visibility.always])
    return int((found_in(found, sends.value[open_sends]) != NONE).sum())


def _rate(sends: Sends, phases: dict[str, int]) -> float:
    """Acknowledged records a second, in the load phase or, without phases, over all of the history."""
    acked_ns = sends.completed_ns[sends.outcome == Outcome.OK]
    if not len(acked_ns):
        return 0.0
    began_ns = phases.get("load", int(sends.invoked_ns.min()))
    ended_ns = phases.get("heal", int(acked_ns.max()))
    within = int(((acked_ns >= began_ns) & (acked_ns <= ended_ns)).sum())
    return round(within * _NS_PER_S / max(ended_ns - began_ns, 1), 1)
