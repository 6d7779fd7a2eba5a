"""Counts the anomalies of the log checker, and the records that it judged, over all partitions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from checkers.columns.tables import NONE, Columns, SendOutcome, Sends
from checkers.history.phases import Phase
from checkers.history.units import NS_PER_S
from checkers.logs.log.attribution import Attribution, DuplicatedBy
from checkers.logs.log.claims import found_in
from checkers.logs.log.findings import LogFinding
from checkers.logs.log.partition import PartitionLog
from checkers.logs.log.poll_order import lag_of
from checkers.logs.log.screening import Screening
from checkers.verdict.tallies import AnomalyTally
from checkers.verdict.verdict import Anomaly, Assumption, OpenAnomaly

_Name = TypeVar("_Name", bound=str)


class PartitionsResult(msgspec.Struct, frozen=True, kw_only=True):
    """The contribution of some partitions to the result; each partition of a history is in one part.

    Attributes:
        counts: exact number of anomalies per id.
        legal: number of legal anomalies.
        anomalies: examples, by partition.
        tallies: numbers of anomalies, by partition.
        open_anomalies: those of which it is unknown whether they are licensed, by partition, each once.
        duplicates_by: number of duplicates by cause.
        distinct: number of known records.
        resolved: number of sends with an unknown outcome whose record a reader found.
        undecided: number of known records that no final read decides.
        lag: largest number of known records that a poll lagged behind.
    """

    counts: dict[str, int] = {}
    legal: dict[str, int] = {}
    anomalies: tuple[Anomaly, ...] = ()
    tallies: tuple[AnomalyTally, ...] = ()
    open_anomalies: tuple[OpenAnomaly, ...] = ()
    duplicates_by: dict[DuplicatedBy, int] = {}
    distinct: int = 0
    resolved: int = 0
    undecided: int = 0
    lag: int = 0


def joined(parts: Sequence[PartitionsResult]) -> PartitionsResult:
    """Combine parts, which must be in the order of their partitions."""
    return PartitionsResult(
        counts=_sums(part.counts for part in parts),
        legal=_sums(part.legal for part in parts),
        anomalies=tuple(anomaly for part in parts for anomaly in part.anomalies),
        tallies=tuple(tally for part in parts for tally in part.tallies),
        open_anomalies=tuple(dict.fromkeys(one for part in parts for one in part.open_anomalies)),
        duplicates_by=_sums(part.duplicates_by for part in parts),
        distinct=sum(part.distinct for part in parts),
        resolved=sum(part.resolved for part in parts),
        undecided=sum(part.undecided for part in parts),
        lag=max((part.lag for part in parts), default=0),
    )


def _sums(counts: Iterable[dict[_Name, int]]) -> dict[_Name, int]:
    sums: dict[_Name, int] = {}
    for some in counts:
        for name, count in some.items():
            sums[name] = sums.get(name, 0) + count
    return sums


class PartitionSums:
    """Sums over the partitions of one part.

    Attributes:
        undecided: number of claims that no final read decides.
    """

    def __init__(self) -> None:
        self.undecided = 0
        self._counts: dict[str, int] = {}
        self._legal: dict[str, int] = {}
        self._examples: list[Anomaly] = []
        self._tallies: list[AnomalyTally] = []
        self._distinct = 0
        self._resolved = 0
        self._lag = 0
        self._open: dict[OpenAnomaly, None] = {}
        self._duplicates_by: dict[DuplicatedBy, int] = {}

    def add(self, log: PartitionLog, findings: list[LogFinding]) -> None:
        """Add the log of one partition and its findings."""
        for found in findings:
            if len(found.time_ns):
                self._count(found)
                self._tallies.extend(found.tallies(str(log.name)))
                self._open.update(dict.fromkeys(_open(log, found)))
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
            self._counts["unseen"] = self._legal["unseen"] = screening.unseen

    def show(self, findings: list[LogFinding]) -> None:
        """Add examples of anomalies that are counted already."""
        for found in findings:
            self._examples.extend(found.anomalies())

    def add_duplicates(self, attribution: Attribution) -> None:
        """Add the causes of a partition's duplicates."""
        self._duplicates_by = _sums((self._duplicates_by, attribution.counts))

    def part(self) -> PartitionsResult:
        """Return everything that was added, as one part of the history."""
        return PartitionsResult(
            counts=self._counts,
            legal=self._legal,
            anomalies=tuple(self._examples),
            tallies=tuple(self._tallies),
            open_anomalies=tuple(self._open),
            duplicates_by=self._duplicates_by,
            distinct=self._distinct,
            resolved=self._resolved,
            undecided=self.undecided,
            lag=self._lag,
        )

    def _count(self, found: LogFinding) -> None:
        self._counts[found.id] = self._counts.get(found.id, 0) + len(found.time_ns)
        legal = int((found.licence != NONE).sum())
        if legal:
            self._legal[found.id] = self._legal.get(found.id, 0) + legal
        self._examples.extend(found.anomalies())


class LogOverview(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a whole history, which are collected before any partition is judged.

    Attributes:
        partitions: how many partitions there are.
        outcomes: how many records were sent with each `SendOutcome`.
        polled: records that polls returned.
        final: records that final reads returned.
        acknowledged_per_s: acknowledged records per second.
        assumptions: whether the final reads are complete, if the run had to make final reads.
        damage: parts of the history that could not be read.
        keyless: why records of some topics have no keys, one text each.
        foreign: whether another harness recorded it.
    """

    partitions: int
    outcomes: tuple[int, ...]
    polled: int
    final: int
    acknowledged_per_s: float
    assumptions: tuple[Assumption, ...]
    damage: tuple[str, ...]
    keyless: tuple[str, ...]
    foreign: bool

    @property
    def exercised(self) -> bool:
        """Whether anything was sent or read."""
        return bool(sum(self.outcomes) or self.polled or self.final)

    def unknown_because(self, found: PartitionsResult) -> str | None:
        """Why anomalies may have been missed in a history without illegal ones; None if none was missed."""
        unmet = [assumption.observed for assumption in self.assumptions if not assumption.met]
        reasons = [*self.damage, *(f"the final read is incomplete: {observed}" for observed in unmet)]
        if self.foreign and not found.distinct:
            reasons.append("nothing was acknowledged at an offset, and nothing was read")
        reasons += self.keyless
        if found.undecided:
            reasons.append(f"no final read covers {found.undecided} known records")
        return "; ".join(reasons) or None

    def figures(self, found: PartitionsResult) -> dict[str, object]:
        """The measured figures.

        A record counts each time that it is acknowledged or returned.
        """
        return {
            "partitions": self.partitions,
            "acknowledged_records": self.outcomes[SendOutcome.OK],
            "failed_records": self.outcomes[SendOutcome.FAIL],
            "aborted_records": self.outcomes[SendOutcome.ABORTED],
            "indeterminate_records": self.outcomes[SendOutcome.INFO],
            "indeterminate_found_records": found.resolved,
            "polled_records": self.polled,
            "final_read_records": self.final,
            "distinct_records": found.distinct,
            "undecided_records": found.undecided,
            "lag_records_max": found.lag,
            "acknowledged_records_per_s": self.acknowledged_per_s,
            "duplicates_by": {str(by): n for by, n in sorted(found.duplicates_by.items())},
            "legal_anomalies": dict(sorted(found.legal.items())),
        }


def overview_of(columns: Columns, damage: tuple[str, ...] = ()) -> LogOverview:
    """Collect the facts about a whole history.

    Args:
        columns: all columns of the history.
        damage: parts of the history that could not be read.
    """
    outcomes = np.bincount(columns.sends.outcome, minlength=len(SendOutcome)).tolist()
    final = int(columns.calls.final[columns.reads.call].sum())
    return LogOverview(
        partitions=len(columns.partitions),
        outcomes=tuple(outcomes),
        polled=len(columns.reads.value) - final,
        final=final,
        acknowledged_per_s=_rate(columns.sends, columns.phases),
        assumptions=() if columns.foreign else (final_read_complete(columns),),
        damage=damage,
        keyless=tuple(
            f"topic {topic} is compacted, and the setup record has no keys"
            for topic, keys in columns.keys.items()
            if keys is None
        ),
        foreign=columns.foreign,
    )


def _open(log: PartitionLog, found: LogFinding) -> Iterator[OpenAnomaly]:
    """The id of anomalies that count as licensed, with each reason why it is uncertain that they are."""
    for row in np.unique(found.licence[found.licence != NONE]).tolist():
        # Rows after those of the permits are licences that no event gives.
        if row < len(log.permits) and found.texts[row] == log.licences[row]:
            doubt = log.permits[row].event.doubt
            if doubt is not None:
                yield OpenAnomaly(found.id, doubt)
        elif found.texts[row] in log.decisions.texts:
            yield OpenAnomaly(found.id, f"{found.id} may follow from {found.texts[row]}")


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
        expected=f"{partitions * readers} final reads to the end (partitions x readers: "
        f"{partitions} x {readers})",
        observed=f"{whole} final reads to the end",
    )


def _resolved(log: PartitionLog) -> int:
    """Number of sends with an unknown outcome that a reader found; for transactions, a read_committed one."""
    sends, claims = log.columns.sends, log.claims
    open_sends = log.sends[sends.outcome[log.sends] == SendOutcome.INFO]
    found = np.unique(claims.value[claims.returned & log.visibility.always])
    return int((found_in(found, sends.value[open_sends]) != NONE).sum())


def _rate(sends: Sends, phases: dict[str, int]) -> float:
    """Acknowledged records per second, in the load phase or, without phases, in the whole history."""
    acked_ns = sends.completed_ns[sends.outcome == SendOutcome.OK]
    if not len(acked_ns):
        return 0.0
    began_ns = phases.get(Phase.LOAD, int(sends.invoked_ns.min()))
    ended_ns = phases.get(Phase.HEAL, int(acked_ns.max()))
    within = int(((acked_ns >= began_ns) & (acked_ns <= ended_ns)).sum())
    return round(within * NS_PER_S / max(ended_ns - began_ns, 1), 1)
