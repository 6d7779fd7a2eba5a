"""Counts what the log checker found and how much it looked at, over all partitions."""

from typing import Any

import numpy as np

from checkers.columns import NONE, Columns, Outcome, Sends
from checkers.log.claims import found_in
from checkers.log.findings import Found
from checkers.log.partition import PartitionLog
from checkers.log.polls import lag_of
from checkers.verdict import Anomaly, Assumption

_NS_PER_S = 1_000_000_000


class Tally:
    """Sums over partitions.

    Attributes:
        counts: exact number of anomalies per id.
        legal: how many of them are legal.
        undecided: claims on which no final read decides.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.legal: dict[str, int] = {}
        self.undecided = 0
        self._examples: list[Anomaly] = []
        self._distinct = 0
        self._resolved = 0
        self._lag = 0

    def add(self, log: PartitionLog, findings: list[Found]) -> None:
        """Add one partition."""
        for found in findings:
            if len(found.time_ns):
                self._count(found)
        self._distinct += len(log.claims.slots)
        self._resolved += _resolved(log)
        self._lag = max(self._lag, lag_of(log))

    def anomalies(self) -> list[Anomaly]:
        """Examples: illegal ones first, in the order of time."""
        return sorted(self._examples, key=lambda anomaly: (not anomaly.illegal, anomaly.time_ns))

    def unknown_because(self, assumption: Assumption, damage: tuple[str, ...]) -> str | None:
        """Why a history without illegal anomalies is not valid; None if it is."""
        reasons = list(damage)
        if not assumption.met:
            reasons.append(f"the final read is not complete: {assumption.observed}")
        if self.undecided:
            reasons.append(f"no final read decides on {self.undecided} known records")
        return "; ".join(reasons) or None

    def figures(self, columns: Columns) -> dict[str, Any]:
        """Numbers worth keeping; records count each time that they are acknowledged or returned."""
        outcome = np.bincount(columns.sends.outcome, minlength=len(Outcome))
        final = int(columns.calls.final[columns.reads.call].sum())
        return {
            "partitions": len(columns.partitions),
            "acknowledged_records": int(outcome[Outcome.OK]),
            "failed_records": int(outcome[Outcome.FAIL]),
            "indeterminate_records": int(outcome[Outcome.INFO]),
            "indeterminate_found_records": self._resolved,
            "polled_records": len(columns.reads.value) - final,
            "final_read_records": final,
            "distinct_records": self._distinct,
            "undecided_records": self.undecided,
            "lag_records_max": self._lag,
            "acknowledged_records_per_s": _rate(columns.sends, columns.phases),
            "legal_anomalies": dict(sorted(self.legal.items())),
        }

    def _count(self, found: Found) -> None:
        self.counts[found.id] = self.counts.get(found.id, 0) + len(found.time_ns)
        legal = int((found.licence != NONE).sum())
        if legal:
            self.legal[found.id] = self.legal.get(found.id, 0) + legal
        self._examples.extend(found.anomalies())


def final_read_complete(columns: Columns) -> Assumption:
    """Whether every partition was read to its end by every reader that took part in the final read."""
    final, calls = columns.final_reads, columns.calls
    partitions, readers = len(columns.partitions), max(len(columns.final_readers), 1)
    pairs = final.partition * len(columns.readers) + calls.reader[final.call]
    whole = len(np.unique(pairs[final.whole]))
    return Assumption(
        name="final-read-complete",
        met=whole == partitions * readers and whole > 0,
        expected=f"{partitions * readers} final reads to the end: {partitions} partitions, {readers} readers",
        observed=f"{whole} final reads to the end",
    )


def _resolved(log: PartitionLog) -> int:
    """How many sends of unknown fate some reader found."""
    sends, claims = log.columns.sends, log.claims
    open_sends = log.sends[sends.outcome[log.sends] == Outcome.INFO]
    return int((found_in(np.unique(claims.value[claims.returned]), sends.value[open_sends]) != NONE).sum())


def _rate(sends: Sends, phases: dict[str, int]) -> float:
    """Acknowledged records a second, in the load phase or, without phases, over all of the history."""
    acked_ns = sends.completed_ns[sends.outcome == Outcome.OK]
    if not len(acked_ns):
        return 0.0
    began_ns = phases.get("load", int(sends.invoked_ns.min()))
    ended_ns = phases.get("heal", int(acked_ns.max()))
    within = int(((acked_ns >= began_ns) & (acked_ns <= ended_ns)).sum())
    return round(within * _NS_PER_S / max(ended_ns - began_ns, 1), 1)
