"""One partition's part of the columns, which is the unit that the log checker judges."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.columns.tables import NONE, Booleans, Columns, Integers, PartitionName
from checkers.licences import Licences, Permit
from checkers.licences.permits import Decisions
from checkers.logs.log.claims import Claims, Horizon, SentValues, claims_of, horizon_of, sent_to
from checkers.logs.log.grouped import Grouped, grouped
from checkers.logs.log.visibility import Visibility, visibility_of


@dataclass(frozen=True, slots=True)
class FinalView:
    """The range that one final read of the partition covered, and the claims that it found.

    Attributes:
        call: row of `Calls`.
        start: first offset of the log when the read began.
        position: the offset at which it stopped.
        whole: whether it reached the listed end.
        listed_ns: records that were known before this time must be below the listed end.
        completed_ns: when it ended.
        committed: whether it reads only committed records.
        bounded: whether the listed end is the end of the log, and not the start of the first open
            transaction.
        saw: shape (claims,), whether it returned the record.
    """

    call: int
    start: int
    position: int
    whole: bool
    listed_ns: int
    completed_ns: int
    committed: bool
    bounded: bool
    saw: Booleans

    def covers(self, claims: Claims) -> Booleans:
        """Which claims the final read must have returned if they are true and visible to it.

        It covers the offsets that it passed, and offsets below the log's start.  If it reached the end, it
        also covers records that were known before the end was listed, at any offset: if they are above the
        end, the log has become shorter.  If a record's offset was not reported, it covers the record only if
        the log is still complete from offset 0.  For read_committed readers the log ends where the first open
        transaction starts (the last stable offset), so there the read covers only the records that it passed.
        """
        before = self.bounded & self.due(claims)
        passed = (claims.offset < self.position) | before
        return np.where(claims.offset >= 0, passed, before & (self.start == 0))

    def due(self, claims: Claims) -> Booleans:
        """Which claims were known before the listing of the end that it reached."""
        known: Booleans = self.whole & (claims.known_ns < self.listed_ns)
        return known


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """Everything that a history contains about one partition.

    Attributes:
        code: the partition's code.
        name: topic and number.
        columns: the whole history.
        sends: rows of `columns.sends` for this partition, ascending.
        reads: rows of `columns.reads` for this partition, ascending.
        sent: the values that were sent to the partition.
        claims: the values, their offsets, and the operations that reported them.
        visibility: the claims that read_committed readers may receive.
        horizon: known length of the log over time.
        finals: the final reads of the partition.
        assigns: rows of `columns.assigns` for this partition.
        kept: shape (claims,), which records a reader received, or every in-sync replica had.
        permits: the events that may license a loss.
        decisions: the transactions whose decision may have been lost, or may lack its marker here.
    """

    code: int
    name: PartitionName
    columns: Columns
    sends: Integers
    reads: Integers
    sent: SentValues
    claims: Claims
    visibility: Visibility
    horizon: Horizon
    finals: tuple[FinalView, ...]
    assigns: Integers
    kept: Booleans
    permits: tuple[Permit, ...]
    decisions: Decisions

    @property
    def licences(self) -> tuple[str, ...]:
        """Texts of the permits, in order."""
        return tuple(permit.text for permit in self.permits)

    @property
    def compacted(self) -> bool:
        """Whether later records of a key may replace older ones."""
        return self.name.topic in self.columns.keys

    @property
    def keys(self) -> int | None:
        """Modulus that gives a record's key from its value; None if unknown."""
        return self.columns.keys.get(self.name.topic)


@dataclass(frozen=True, slots=True)
class Split:
    """Rows of a history by partition.

    Attributes:
        columns: the whole history.
        sends, reads, finals, assigns: rows of the columns of that name.
    """

    columns: Columns
    sends: Grouped
    reads: Grouped
    finals: Grouped
    assigns: Grouped

    def log_of(self, code: int, licences: Licences) -> PartitionLog:
        """Return the rows of one partition and their claims.

        ``code`` is the index of the partition in `Columns.partitions`.
        """
        columns, name = self.columns, self.columns.partitions[code]
        sends, reads = self.sends.of(code), self.reads.of(code)
        sent = sent_to(columns.sends, sends)
        claims = claims_of(columns, sends, reads, sent)
        visibility = visibility_of(columns, sends, reads, sent, claims)
        return PartitionLog(
            code=code,
            name=name,
            columns=columns,
            sends=sends,
            reads=reads,
            sent=sent,
            claims=claims,
            visibility=visibility,
            horizon=horizon_of(claims),
            finals=tuple(_finals(columns, self.finals.of(code), reads, claims, visibility)),
            assigns=self.assigns.of(code),
            kept=claims.returned | _durable(columns, claims),
            permits=licences.of(name),
            decisions=licences.decisions_in(name),
        )


def split(columns: Columns) -> Split:
    """Split a history by partition."""
    count = len(columns.partitions)
    return Split(
        columns,
        sends=grouped(columns.sends.partition, count),
        reads=grouped(columns.reads.partition, count),
        finals=grouped(columns.final_reads.partition, count),
        assigns=grouped(columns.assigns.partition, count),
    )


def _durable(columns: Columns, claims: Claims) -> Booleans:
    """Acknowledgements that waited for all in-sync replicas, whatever other producers of the workload did.

    If producers wait for no replica, an acknowledgement with an offset comes from the write probe, which has
    acks=all.
    """
    durable = np.zeros(len(claims.value), dtype=np.bool_)
    if columns.acks in {"0", "1"}:
        acked = np.flatnonzero(claims.acknowledged)
        probed = (claims.offset[acked] != NONE) & (columns.acks == "0")
        durable[acked] = columns.is_strict(claims.ack[acked]) | probed
    return durable


def _finals(
    columns: Columns, rows: Integers, reads: Integers, claims: Claims, visibility: Visibility
) -> Iterator[FinalView]:
    """Final reads of a partition.

    Their rows are in the order of completion, so the rows of each read are adjacent.
    """
    final = columns.final_reads
    call_of = columns.reads.call[reads]
    for row in rows.tolist():
        call = int(final.call[row])
        committed = columns.readers[int(columns.calls.reader[call])].committed
        first, last = np.searchsorted(call_of, (call, call + 1))
        saw = np.zeros(len(claims.value), dtype=np.bool_)
        saw[claims.of_read[first:last]] = True
        yield FinalView(
            call=call,
            start=int(final.start[row]),
            position=int(final.position[row]),
            whole=bool(final.whole[row]),
            listed_ns=int(final.listed_ns[row]),
            completed_ns=int(columns.calls.completed_ns[call]),
            committed=committed,
            bounded=not (committed and visibility.transactions),
            saw=saw,
        )
