"""Judges a log: the records that producers sent, brokers acknowledged, and readers received.

Operations are those of docs/histories.md: *send* (a batch, whose records are acknowledged, failed or unknown
separately), *assign*, *poll* and *final-read*.  Values are unique, so a value identifies a record.  Offsets
are known from acknowledgements and readers, so no search is necessary: every analysis sorts the columns of
one partition at a time, or takes a prefix maximum over them.

1. Acknowledgements and readers make *claims*: a value is at an offset (`claims`).
2. The claims of one partition must not contradict each other, or the sends: ``inconsistent-offsets``,
   ``phantom``, ``G1a``, ``duplicate`` (`contents`).
3.  A known record must be in the final reads that cover it: ``lost-write``.  If no final read covers it and
   it was never read, it is ``unseen``.  Final reads must agree: ``client-disagreement`` (`survival`).
4. Offsets follow real time and the order of each process: ``realtime-order``, ``nonmonotonic-send``,
   ``int-nonmonotonic-send`` (`order`).
5. A consumer receives, within one assignment, every known record in order: ``poll-skip``,
   ``nonmonotonic-poll`` and their ``int-`` forms within one poll (`poll_order`).

A history without a set-up and without final reads comes from another harness.  For it, rule 3 uses the
records that readers passed over (`imported`).  `visibility` describes which records of transactions
read_committed readers may receive.

A send with an unknown outcome happened if a reader found its record.  A poll may return fewer records than
exist; this is lag, a figure.  A gap in the offsets is a skip only if a record is known to be in it.
Anomalies that a licence covers are reported as legal.  If final reads are missing or incomplete, violations
that are visible still count, and everything else is unknown.

The findings of a partition do not depend on other partitions.  So a history is judged in parts
(`check_part`), one part in each process.  `figures.LogOverview` has the facts about the whole run, and
combines the parts in one result.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial

import msgspec
import numpy as np

from checkers.columns.tables import Columns, Integers, PartitionName
from checkers.evidence.holes import with_hole_of_leader
from checkers.evidence.loading import columns_of
from checkers.history.operations import History
from checkers.history.sources import unassigned_damage
from checkers.licences import Licences, licences_of
from checkers.logs.log.anomalies import ANOMALIES, LOST_WRITE, NEEDS
from checkers.logs.log.attribution import Attribution, Evidence, attribute
from checkers.logs.log.contents import find_in_contents
from checkers.logs.log.figures import LogOverview, PartitionsResult, PartitionSums, joined, overview_of
from checkers.logs.log.findings import LogFinding
from checkers.logs.log.imported import find_in_passing
from checkers.logs.log.order import find_in_order
from checkers.logs.log.partition import PartitionLog, split
from checkers.logs.log.poll_order import find_in_polls
from checkers.logs.log.refused_batches import disks_of
from checkers.logs.log.screening import screened
from checkers.logs.log.survival import find_in_survival, survival_of
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

__all__ = ["ENTRY", "check_columns", "check_log", "check_part", "put_together"]

CHECKER = "log"
"""Name of the checker, as in verdicts."""


def check_log(history: History) -> CheckerResult:
    """Judge the log of a history.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
    """
    evidence = cache(lambda: disks_of(history))
    columns = columns_of(history)
    part = check_part(columns, licences_of(history), evidence)
    overview = overview_of(columns, unassigned_damage(history))
    return put_together(overview, [part], partial(with_hole_of_leader, history))


def check_columns(
    columns: Columns,
    licences: Licences | None = None,
    damage: tuple[str, ...] = (),
    evidence: Evidence | None = None,
) -> CheckerResult:
    """Judge the log of a history whose columns are already loaded.

    Args:
        columns: the history's columns.
        licences: the losses that the history permits; by default none.
        damage: parts of the history that could not be read.
        evidence: batches on the replicas' disks, and refused producers.
    """
    return put_together(overview_of(columns, damage), [check_part(columns, licences, evidence)])


def check_part(
    columns: Columns, licences: Licences | None = None, evidence: Evidence | None = None
) -> PartitionsResult:
    """Judge the partitions whose rows the columns have: all of a history, or one share (`log_shares`)."""
    tally = PartitionSums()
    rows = split(columns)
    screening = screened(rows)
    tally.add_cleared(screening)
    for code in sorted({*np.flatnonzero(screening.judged).tolist(), *screening.shown}):
        log = rows.log_of(code, licences or Licences())
        if screening.judged[code]:
            tally.add(log, _find_all(log, tally, evidence))
        else:
            tally.show(_find_unseen(log))
    return tally.part()


def put_together(
    overview: LogOverview,
    parts: Sequence[PartitionsResult],
    explained: Callable[[Anomaly], Anomaly] | None = None,
) -> CheckerResult:
    """Combine the results of all parts of a history, in the order of their partitions.

    Args:
        overview: facts about the whole history.
        parts: results of its parts.
        explained: adds a known cause to the explanation of a lost write; called only for illegal ones.
    """
    found = joined(parts)
    result = result_of(
        CHECKER,
        # Illegal anomalies first, in the order of time.
        sorted(found.anomalies, key=lambda anomaly: (not anomaly.illegal, anomaly.time_ns)),
        counts=found.counts,
        tallies=found.tallies,
        assumptions=overview.assumptions,
        figures=overview.figures(found),
        unknown_because=overview.unknown_because(found),
        open_anomalies=found.open_anomalies,
        exercised=overview.exercised,
    )
    if explained is None:
        return result
    anomalies = (
        explained(anomaly) if anomaly.illegal and anomaly.id == LOST_WRITE else anomaly
        for anomaly in result.anomalies
    )
    return msgspec.structs.replace(result, anomalies=tuple(anomalies))


def _find_all(log: PartitionLog, tally: PartitionSums, evidence: Evidence | None) -> list[LogFinding]:
    """All anomalies of one partition."""

    def attributing(partition: PartitionName, offsets: Integers, known_ns: Integers) -> Attribution:
        attribution = attribute(evidence, partition, offsets, known_ns)
        tally.add_duplicates(attribution)
        return attribution

    found = [*find_in_contents(log, attributing), *find_in_order(log), *find_in_polls(log)]
    if log.columns.foreign:
        return [*found, *find_in_passing(log)]
    survival = survival_of(log)
    tally.undecided += int(survival.undecided.sum())
    return [*found, *find_in_survival(log, survival)]


def _find_unseen(log: PartitionLog) -> list[LogFinding]:
    """Findings about unread records, in a partition for which screening found nothing else."""
    if log.columns.foreign:
        return list(find_in_passing(log))
    return list(find_in_survival(log, survival_of(log)))


ENTRY = Entry(CHECKER, check_log, ANOMALIES, NEEDS)
