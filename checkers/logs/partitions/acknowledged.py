"""Records that were acknowledged or read in a period in which this was impossible.

All computations use columns: a zone reads only the rows of its partition.
"""

from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Columns, Integers, PartitionName, SendOutcome
from checkers.history.units import NS_PER_S
from checkers.logs.partitions.zones import Zone
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly


class ZoneFinding(NamedTuple):
    """Violations of a rule in one zone: the number of records, and a finding for some of them."""

    kind: AnomalyKind
    number: int
    anomalies: list[Anomaly]


def acknowledged(columns: Columns) -> Booleans:
    """For each send, whether all in-sync replicas acknowledged it."""
    sends, rows = columns.sends, np.arange(len(columns.sends.value))
    acked = (sends.outcome == SendOutcome.OK) | (sends.transactional & (sends.offset != NONE))
    strict: Booleans = acked & (columns.is_strict(rows) if columns.acks != "all" else np.True_)
    return strict


class Records:
    """Records that all in-sync replicas acknowledged, and records that readers received.

    Args:
        columns: the columns of the history.
        op: index of the observation that reported the metadata log.
    """

    def __init__(self, columns: Columns, op: int) -> None:
        self._columns = columns
        self._op = op
        self._code = {partition: code for code, partition in enumerate(columns.partitions)}
        self._sends: dict[PartitionName, Integers] = {}
        self._reads: dict[PartitionName, Integers] = {}
        self._acknowledged = acknowledged(columns)

    @property
    def figures(self) -> dict[str, int]:
        """Numbers of the records that are judged."""
        return {
            "acknowledged_records": int(self._acknowledged.sum()),
            "returned_records": len(self._columns.reads.value),
        }

    def acknowledged_in(self, kind: AnomalyKind, zone: Zone) -> ZoneFinding:
        """Records that were sent and acknowledged within a zone."""
        sends = self._columns.sends
        rows = self._sent_in(zone)
        rows = rows[self._acknowledged[rows] & (sends.completed_ns[rows] <= zone.to_ns)]
        return ZoneFinding(
            kind, len(rows), [self._acked(kind, zone, row) for row in rows[:EXAMPLES_PER_ANOMALY]]
        )

    def returned_in(self, kind: AnomalyKind, zone: Zone) -> ZoneFinding:
        """Records that were sent, and returned to a reader, within a zone."""
        reads, calls = self._columns.reads, self._columns.calls
        sent = self._sent_in(zone)
        rows = self._of(zone.partition, reads.partition, self._reads) if len(sent) else sent
        completed_ns = calls.completed_ns[reads.call[rows]]
        rows = rows[(zone.from_ns <= completed_ns) & (completed_ns <= zone.to_ns)]
        rows = rows[np.isin(reads.value[rows], self._columns.sends.value[sent])]
        examples = [self._read(kind, zone, row, sent) for row in rows[:EXAMPLES_PER_ANOMALY]]
        return ZoneFinding(kind, len(rows), examples)

    def _sent_in(self, zone: Zone) -> Integers:
        """Rows of the records whose send was invoked within a zone."""
        sends = self._columns.sends
        rows = self._of(zone.partition, sends.partition, self._sends)
        return rows[(zone.from_ns <= sends.invoked_ns[rows]) & (sends.invoked_ns[rows] <= zone.to_ns)]

    def _of(
        self, partition: PartitionName, column: Integers, known: dict[PartitionName, Integers]
    ) -> Integers:
        """Rows of a partition; the result is cached."""
        if partition not in known:
            known[partition] = np.flatnonzero(column == self._code.get(partition, NONE))
        return known[partition]

    def _acked(self, kind: AnomalyKind, zone: Zone, row: int) -> Anomaly:
        sends = self._columns.sends
        value = self._columns.value_named(sends.value[row])
        times = f"sent at {_s(sends.invoked_ns[row])} and acknowledged at {_s(sends.completed_ns[row])}"
        return kind.found(
            f"Record {value} of {zone.partition} was {times}, although {_within(zone, 'acknowledged')}.",
            subject=_place(zone, int(sends.offset[row])),
            time_ns=int(sends.completed_ns[row]),
            witness=(int(sends.invoke_op[row]), int(sends.complete_op[row]), *zone.witness, self._op),
            explanation=zone.why,
        )

    def _read(self, kind: AnomalyKind, zone: Zone, row: int, sent: Integers) -> Anomaly:
        sends, reads, calls = self._columns.sends, self._columns.reads, self._columns.calls
        origin = sent[sends.value[sent] == reads.value[row]][0]
        call = reads.call[row]
        value = self._columns.value_named(reads.value[row])
        times = f"sent at {_s(sends.invoked_ns[origin])} and returned at {_s(calls.completed_ns[call])}"
        return kind.found(
            f"Record {value} of {zone.partition} was {times}, although {_within(zone, 'returned')}.",
            subject=_place(zone, int(reads.offset[row])),
            time_ns=int(calls.completed_ns[call]),
            witness=(int(sends.invoke_op[origin]), int(calls.op[call]), *zone.witness, self._op),
            explanation=zone.why,
        )


def _within(zone: Zone, verb: str) -> str:
    return f"no record that was sent from {_s(zone.from_ns)} to {_s(zone.to_ns)} could be {verb} in that time"


def _place(zone: Zone, offset: int) -> str:
    return str(zone.partition) if offset == NONE else f"{zone.partition}@{offset}"


def _s(time_ns: int) -> str:
    return f"{int(time_ns) / NS_PER_S:.3f} s"
