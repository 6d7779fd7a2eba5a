"""Rules for registers that Kafka stores, such as committed offsets and configs, where stale reads are legal.

A deposed group coordinator, and the metadata cache of an isolated broker, return the last value that they
knew (KIP-500: brokers apply the metadata log in order, each with its own delay).  So an old value breaks no
promise while faults last.  The following must hold nevertheless:

1.  A read in the final phase returns the last acknowledged value, or one whose write did not end before that
    write began: ``lost-value``.  A value from a cache is compared only with writes that were acknowledged
    some time before (`LAGS_NS`).  A write whose request was delayed by a fault, and sent again, may be
    executed after its acknowledgement, as long as the fault lasts (`_executed`); also in rule 2.
2.  A read that begins after recovery has succeeded returns no value that had been overwritten when recovery
    began (or, from a cache, some time before the read): ``nonmonotonic-after-heal``.  A write with an unknown
    outcome may take effect late, so its value never counts as overwritten.
3.  During the load, a read of a committed offset returns no value that was overwritten by a commit which
    every possible coordinator must know: ``stale-offset``.  A possible coordinator is a deposed one
    (`coordinating`) or a new one (`catching_up`).  A value that was written while a fault was in force, or
    shortly after, never counts as overwritten, because its request may have been executed twice.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, count
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import Booleans, Integers
from checkers.evidence.late_requests import ASKED_ONCE_NS
from checkers.history.operations import OK, Operation
from checkers.history.phases import PHASE, Phase
from checkers.registers.anomalies import LOST_VALUE, NONMONOTONIC_AFTER_HEAL, STALE_OFFSET
from checkers.registers.columns import SHIFT
from checkers.registers.coordinating import MARGIN_NS, Coordination, Span, group_of, is_offset
from checkers.registers.findings import Proof, RegisterFindings
from checkers.registers.texts import RegisterTexts
from checkers.registers.zones import Overwriting, Questions, Zones, overwritten
from checkers.verdict.kinds import AnomalyKind

_WENT = {
    LOST_VALUE.id: "lost",
    NONMONOTONIC_AFTER_HEAL.id: "went back from",
    STALE_OFFSET.id: "was not read with",
}

LAGS_NS = {"offsets": 0, "metadata": MARGIN_NS}
"""Workloads whose registers Kafka stores, and how long an answering broker may lag, nanoseconds.

Any broker reports a config from its cache, and applies the metadata log as it arrives.  Kafka promises no
time limit for that.  The margin is the same as for a deposed coordinator, which learns in the same way.
"""


@dataclass(frozen=True, slots=True)
class Milestones:
    """Stamps of the run's phases; None for phases that did not happen.

    Attributes:
        recovering: recovery began, or healing, if recovery was not recorded.
        recovered: recovery had succeeded, or else the final phase began.
        final: the final phase began.
        coordinations: by group, the periods in which its coordinator may be outdated.
        lag_ns: how long an answering broker may lag behind acknowledged writes.
        delaying: the periods in which requests may be delayed.
    """

    recovering: int | None
    recovered: int | None
    final: int | None
    coordinations: Mapping[str, Coordination] = field(default_factory=dict)
    lag_ns: int = 0
    delaying: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reads:
    """Reads whose value was written exactly once: row, cluster, register and stamp of the invocation."""

    row: Integers
    zone: Integers
    key: Integers
    start: Integers


def milestones_of(operations: Sequence[Operation]) -> Milestones:
    """Find when recovery and the final phase began."""
    marked = map(_MILESTONES.__contains__, map(attrgetter("f"), operations))
    stamps: dict[str, int] = {}
    for index in compress(count(), marked):
        operation = operations[index]
        name = f"{PHASE} {operation.key}" if operation.f == PHASE else f"{operation.f} {operation.type}"
        stamps.setdefault(name, index + SHIFT)
    final = stamps.get(f"{PHASE} {Phase.FINAL_READ}")
    phases = [stamps.get(f"{PHASE} {phase}") for phase in (Phase.RECOVER, Phase.HEAL, Phase.FINAL_READ)]
    begun = [stamps.get("recover invoke"), *phases]
    return Milestones(
        recovering=next((stamp for stamp in begun if stamp is not None), None),
        recovered=stamps.get(f"recover {OK}", final),
        final=final,
    )


_MILESTONES = frozenset({PHASE, "recover"})


class LoadReads(NamedTuple):
    """The result of judging reads of committed offsets during the load.

    Attributes:
        compared: number of reads that were compared with at least one acknowledged commit.
        undecided: number of stale reads for which the coordinator is unknown.
    """

    compared: int
    undecided: int


def find_in_kept(findings: RegisterFindings, sound: Booleans, milestones: Milestones) -> LoadReads:
    """Find violations during the load and after healing.

    Args:
        findings: collects the findings.
        sound: clusters with exactly one write, of registers whose values are unique.
        milestones: stamps of healing and of the final phase.
    """
    reads = _reads(findings.texts, sound)
    lost = np.zeros(len(reads.row), np.bool_)
    if milestones.final is not None:
        lost = _find_lost(findings, sound, reads, milestones)
    if milestones.recovered is not None and milestones.recovering is not None:
        rest = ~lost & (reads.start > milestones.recovered)
        _find_regressions(findings, sound, _only(reads, rest), milestones)
    before = np.flatnonzero(reads.start <= (milestones.recovered or findings.texts.zones.horizon))
    return _find_stale(findings, sound, _only(reads, before), milestones.coordinations)


def stale_reads(texts: RegisterTexts, sound: Booleans) -> int:
    """Count the reads that began when their value had certainly been overwritten."""
    reads, zones = _reads(texts, sound), texts.zones
    return int(
        overwritten(
            zones,
            sound,
            zones.finish,
            Questions(reads.key, reads.start, zones.finish[reads.zone]),
        ).found.sum()
    )


def unread(texts: RegisterTexts, milestones: Milestones) -> list[str]:
    """Registers that were written but never read in the final phase; empty without a final phase."""
    if milestones.final is None:
        return []
    rows = texts.registers.rows
    written = np.unique(rows.key[rows.write & (rows.start >= SHIFT)])
    read = rows.key[~rows.write & (rows.start > milestones.final)]
    return list(map(texts.key, written[~np.isin(written, read)].tolist()))


def _reads(texts: RegisterTexts, sound: Booleans) -> _Reads:
    rows = texts.registers.rows
    zone = texts.zones.zone_of_rows()
    row = np.flatnonzero(~rows.write & sound[zone])
    return _Reads(row, zone[row], rows.key[row], rows.start[row])


def _only(reads: _Reads, which: Booleans | Integers) -> _Reads:
    return _Reads(reads.row[which], reads.zone[which], reads.key[which], reads.start[which])


def _find_lost(
    findings: RegisterFindings, sound: Booleans, reads: _Reads, milestones: Milestones
) -> Booleans:
    """One anomaly for each register that lost a value.

    Returns which reads show it; none without a final phase.
    """
    zones = findings.texts.zones
    acknowledged = sound & (zones.write_finish < zones.horizon)
    ending = np.flatnonzero(reads.start > (milestones.final or zones.horizon))
    last = _only(reads, ending)
    since = _executed(findings.texts, last, milestones.delaying)
    known = _known(findings.texts, last.start, milestones.lag_ns)
    asked = overwritten(zones, acknowledged, zones.write_finish, Questions(last.key, known, since))
    showing = np.flatnonzero(asked.found)
    ended = findings.texts.registers.rows.finish[last.row[showing]]
    showing = showing[np.argsort(ended)]
    showing = showing[np.unique(last.key[showing], return_index=True)[1]]
    _add(findings, LOST_VALUE, _only(last, showing), Overwriting(asked.found[showing], asked.by[showing]))
    lost = np.zeros(len(reads.row), np.bool_)
    lost[ending] = asked.found
    return lost


def _known(texts: RegisterTexts, starts: Integers, lag_ns: int) -> Integers:
    """Stamps before which acknowledged writes must be known to the broker that answers a read.

    Args:
        texts: has the times of the stamps.
        starts: stamps at which the reads begin.
        lag_ns: how long the broker may lag.
    """
    if not lag_ns:
        return starts
    time_of = attrgetter("time_ns")
    times = (time_of(texts.operations[start - SHIFT]) for start in starts.tolist())
    known = (bisect_left(texts.operations, time_ns - lag_ns, key=time_of) + SHIFT for time_ns in times)
    return np.fromiter(known, np.int64, len(starts))


def _executed(texts: RegisterTexts, reads: _Reads, delaying: Sequence[Span]) -> Integers:
    """Stamps by which each read's value had been written for the last time.

    A commit is sent to its coordinator directly, and again only once the client has waited in vain for an
    answer.  Changes of configs are also repeated by the brokers that forward them (KIP-590), at any time.
    """
    zones = texts.zones
    start, finish = zones.write_start[reads.zone], zones.write_finish[reads.zone]
    if not delaying:
        return finish
    offset = np.fromiter((is_offset(texts.key(key)) for key in reads.key.tolist()), np.bool_, len(reads.key))
    repeated = ~offset | (_took_ns(texts, start, finish) > ASKED_ONCE_NS)
    executed = finish.copy()
    for begin, end in delaying:
        delayed = repeated & (start <= end) & (begin <= finish)
        executed = np.where(delayed, np.maximum(executed, end), executed)
    return executed


def _took_ns(texts: RegisterTexts, starts: Integers, finishes: Integers) -> Integers:
    """Time between stamps, nanoseconds; 0 for values that no operation wrote, or whose write has no end."""
    known = (starts >= SHIFT) & (finishes < texts.zones.horizon)
    spans = zip(starts[known].tolist(), finishes[known].tolist(), strict=True)
    took = np.zeros(len(starts), np.int64)
    at = texts.operations
    took[known] = [at[finish - SHIFT].time_ns - at[start - SHIFT].time_ns for start, finish in spans]
    return took


def _find_regressions(
    findings: RegisterFindings, sound: Booleans, reads: _Reads, milestones: Milestones
) -> None:
    """One anomaly for each read that returned an overwritten value."""
    zones = findings.texts.zones
    known = _known(findings.texts, reads.start, milestones.lag_ns)
    before = np.minimum(known, milestones.recovering or zones.horizon)
    question = Questions(reads.key, before, _executed(findings.texts, reads, milestones.delaying))
    asked = overwritten(zones, sound, zones.finish, question)
    by = Overwriting(asked.found[asked.found], asked.by[asked.found])
    _add(findings, NONMONOTONIC_AFTER_HEAL, _only(reads, asked.found), by)


def _find_stale(
    findings: RegisterFindings, sound: Booleans, reads: _Reads, coordinations: Mapping[str, Coordination]
) -> LoadReads:
    """One anomaly for each read of an offset that missed a commit that every coordinator must know."""
    texts, zones = findings.texts, findings.texts.zones
    acknowledged = sound & (zones.write_finish < zones.horizon)
    until, doubted = reads.start.copy(), np.zeros(len(reads.row), np.bool_)
    known, judged = doubted.copy(), doubted.copy()
    for key in np.unique(reads.key).tolist():
        coordination = coordinations.get(group_of(texts.key(key)))
        if coordination is None:
            continue
        mine = reads.key == key
        some = _only(reads, mine)
        judged[mine], known[mine] = True, coordination.known
        until[mine] = _until(some, texts.registers.rows.finish[some.row], coordination)
        doubted[mine] = _doubted(zones, some, coordination)
    written = overwritten(zones, acknowledged, zones.write_finish, Questions(reads.key, until, until * 0))
    asked = overwritten(
        zones, acknowledged, zones.write_finish, Questions(reads.key, until, zones.write_finish[reads.zone])
    )
    stale = asked.found & judged & ~doubted
    which = np.flatnonzero(stale & known)
    _add(findings, STALE_OFFSET, _only(reads, which), Overwriting(asked.found[which], asked.by[which]))
    return LoadReads(int((written.found & judged & known).sum()), int((stale & ~known).sum()))


def _until(reads: _Reads, finish: Integers, coordination: Coordination) -> Integers:
    """Stamps before which a commit must be acknowledged so that every possible coordinator must know it."""
    until = reads.start.copy()
    for begin, end in coordination.elections:
        unknown = (begin <= finish) & (reads.start <= end)
        until = np.where(unknown, np.minimum(until, begin), until)
    for known, begin, _, end in coordination.catching:
        unknown = (begin <= finish) & (reads.start <= end)
        until = np.where(unknown, np.minimum(until, known), until)
    return until


def _doubted(zones: Zones, reads: _Reads, coordination: Coordination) -> Booleans:
    """Whether each read's value was written when a fault may have delayed or repeated the request."""
    start, finish = zones.write_start[reads.zone], zones.write_finish[reads.zone]
    doubted = np.zeros(len(reads.row), np.bool_)
    for begin, end in coordination.faults:
        doubted |= (start <= end) & (begin <= finish)
    return doubted


def _add(findings: RegisterFindings, kind: AnomalyKind, reads: _Reads, asked: Overwriting) -> None:
    texts = findings.texts

    def describe(index: int) -> Proof:
        old, new = int(reads.zone[index]), int(asked.by[index])
        acknowledged = kind is not NONMONOTONIC_AFTER_HEAL
        known = texts.ended(texts.write_of(new)) if acknowledged else texts.first_to_end(new)
        facts = [
            texts.ended(texts.write_of(old)),
            texts.began(texts.write_of(new)),
            known,
            texts.began(int(reads.row[index])),
        ]
        subject = texts.subject(old)
        went = _WENT[kind.id]
        summary = f"{subject} {went} {texts.value(new)}: afterwards a read returned {texts.value(old)}."
        return Proof(subject, summary, facts)

    findings.add(kind, texts.registers.rows.finish[reads.row], describe)
