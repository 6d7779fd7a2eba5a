"""Anomalies of any history of registers, with their proofs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import Booleans, Integers
from checkers.registers.anomalies import ABORTED_READ, NONLINEARIZABLE, PHANTOM
from checkers.registers.texts import Fact, RegisterTexts, witness_of
from checkers.registers.zones import Conflicts, Zones, conflicts_of, read_early
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly


class Proof(NamedTuple):
    """The texts of a finding."""

    subject: str
    summary: str
    facts: list[Fact]


Describe = Callable[[int], Proof]
"""The texts of the i-th finding."""


class SeenAnomaly(NamedTuple):
    """An anomaly, with its rank and the stamp at which it was seen."""

    rank: int
    stamp: int
    anomaly: Anomaly


@dataclass(slots=True)
class RegisterFindings:
    """Anomalies found so far: the earliest of each kind, and the exact number of each id."""

    texts: RegisterTexts
    found: list[SeenAnomaly] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(
        self, kind: AnomalyKind, seen: Integers, describe: Describe, *, rank: int = 0, illegal: bool = True
    ) -> None:
        """Add anomalies of one kind; only the first few, by the stamp at which they were seen, are reported.

        Those of one id are listed by rank.
        """
        if not len(seen):
            return
        self.counts[kind.id] = self.counts.get(kind.id, 0) + len(seen)
        legality = msgspec.structs.replace(kind, illegal=illegal)
        for index in np.argsort(seen, kind="stable")[:EXAMPLES_PER_ANOMALY].tolist():
            subject, summary, facts = describe(index)
            witness = witness_of(facts)
            anomaly = legality.found(
                summary,
                subject=subject,
                time_ns=self.texts.operations[witness[-1]].time_ns,
                witness=witness,
                explanation=(text for _, text in facts),
            )
            self.found.append(SeenAnomaly(rank, int(seen[index]), anomaly))


def find_unwritten(findings: RegisterFindings, chosen: Booleans) -> None:
    """Find the chosen clusters without a write: ``G1a`` if a write failed, otherwise ``phantom``."""
    texts, zones = findings.texts, findings.texts.zones
    some = np.flatnonzero(chosen & (zones.writes == 0))
    if not len(some):
        return
    failed = texts.registers.failed
    last = {
        pair: row for row, pair in enumerate(zip(failed.key.tolist(), failed.value.tolist(), strict=True))
    }
    rows = [
        last.get(pair, -1) for pair in zip(zones.key[some].tolist(), zones.value[some].tolist(), strict=True)
    ]
    failure = np.array(rows, dtype=np.int64)
    aborted, phantom = some[failure >= 0], some[failure < 0]
    failure = failure[failure >= 0]

    def describe_aborted(index: int) -> Proof:
        zone = int(aborted[index])
        summary = f"{texts.subject(zone)} had the value {texts.value(zone)}, whose write had failed."
        facts = [texts.failed(int(failure[index])), texts.first_to_end(zone)]
        return Proof(texts.subject(zone), summary, facts)

    def describe_phantom(index: int) -> Proof:
        zone = int(phantom[index])
        summary = f"{texts.subject(zone)} had the value {texts.value(zone)}, which was never written."
        return Proof(texts.subject(zone), summary, [texts.first_to_end(zone)])

    findings.add(ABORTED_READ, zones.finish[aborted], describe_aborted)
    findings.add(PHANTOM, zones.finish[phantom], describe_phantom)


def find_conflicts(findings: RegisterFindings, chosen: Booleans, *, stale_allowed: bool) -> None:
    """Find values of the chosen clusters that no linearization explains: ``nonlinearizable``.

    A value counts once: if it was returned before its write began, or otherwise if its zone conflicts with a
    zone that begins earlier.

    Args:
        findings: collects the findings.
        chosen: clusters with exactly one write, of registers whose values are unique.
        stale_allowed: whether a read may return an old value; a value before its write is never allowed.
    """
    texts, zones = findings.texts, findings.texts.zones
    early = np.flatnonzero(chosen & read_early(zones))
    chosen = chosen & ~read_early(zones)
    conflicts = conflicts_of(zones, chosen)

    def describe_early(index: int) -> Proof:
        return _early_texts(texts, int(early[index]))

    def describe_conflict(index: int) -> Proof:
        return _conflict_texts(texts, int(conflicts.within[index]), int(conflicts.zone[index]))

    findings.add(NONLINEARIZABLE, zones.write_start[early], describe_early)
    findings.add(
        NONLINEARIZABLE, _seen(zones, conflicts), describe_conflict, rank=1, illegal=not stale_allowed
    )


def _seen(zones: Zones, conflicts: Conflicts) -> Integers:
    ends = [np.maximum(zones.start[each], zones.finish[each]) for each in (conflicts.zone, conflicts.within)]
    return np.maximum(*ends)


def _early_texts(texts: RegisterTexts, zone: int) -> Proof:
    subject = texts.subject(zone)
    summary = f"{subject} was read with the value {texts.value(zone)} before the write of that value began."
    return Proof(subject, summary, [texts.first_to_end(zone), texts.began(texts.write_of(zone))])


def _conflict_texts(texts: RegisterTexts, within: int, zone: int) -> Proof:
    subject, zones = texts.subject(zone), texts.zones
    older, newer = texts.value(within), texts.value(zone)
    facts = [texts.first_to_end(within), texts.last_to_begin(within)]
    held = f"So {subject} held {older} from the first of these to the second."
    if zones.finish[zone] < zones.start[zone]:
        more = [texts.first_to_end(zone), texts.last_to_begin(zone)]
        also = f"So it held {newer} from the first of these to the second, and both at one time between."
        summary = f"{subject} must have held {older} and {newer} at one time."
    else:
        more = [texts.last_to_begin(zone), texts.first_to_end(zone)]
        also = f"So it held {newer} at some time between these two, where it held {older} throughout."
        summary = f"{subject} must have held {newer} at a time at which it held {older} throughout."
    return Proof(subject, summary, [*facts, (facts[-1][0], held), *more, (more[-1][0], also)])
