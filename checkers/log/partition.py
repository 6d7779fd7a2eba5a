"""One partition's share of the columns: the unit that the log checker judges."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.columns import Booleans, Columns, Integers, PartitionName
from checkers.licences import Licences, Permit
from checkers.log.claims import Claims, Horizon, Sent, claims_of, horizon_of, sent_to


@dataclass(frozen=True, slots=True)
class FinalView:
    """What one final read of the partition covered, and which claims it saw.

    Attributes:
        call: row of `Calls`.
        start: first offset of the log when it began.
        position: where it stopped.
        whole: whether it came to the end that was listed.
        listed_ns: what was known before this must lie below the end that was listed for it.
        completed_ns: when it ended.
        saw: shape (claims,), whether it returned the record.
    """

    call: int
    start: int
    position: int
    whole: bool
    listed_ns: int
    completed_ns: int
    saw: Booleans

    def covers(self, claims: Claims) -> Booleans:
        """Which claims it must have seen if they are true.

        What it passed is covered; so is, if it came to the end, what was known before the end was listed,
        wherever it stood: then the log has become shorter.  Where no offset was told, only a log that is
        still whole from offset 0 decides.
        """
        before = self.whole & (claims.known_ns < self.listed_ns)
        passed = (claims.offset >= self.start) & ((claims.offset < self.position) | before)
        return np.where(claims.offset >= 0, passed, before & (self.start == 0))


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """Everything that a history says of one partition.

    Attributes:
        code: the partition's code.
        name: topic and number.
        columns: the whole history.
        sends: rows of `columns.sends` for this partition, ascending.
        reads: rows of `columns.reads` for this partition, ascending.
        sent: the values that were sent to it.
        claims: which value stands where, by whom.
        horizon: how far it was known to reach, as time went on.
        finals: the final reads of it.
        permits: what may license a loss.
    """

    code: int
    name: PartitionName
    columns: Columns
    sends: Integers
    reads: Integers
    sent: Sent
    claims: Claims
    horizon: Horizon
    finals: tuple[FinalView, ...]
    permits: tuple[Permit, ...]

    @property
    def licences(self) -> tuple[str, ...]:
        """Texts of the permits, in their order."""
        return tuple(permit.text for permit in self.permits)


def partitions_of(columns: Columns, licences: Licences) -> Iterator[PartitionLog]:
    """Split a history by partition, in the order of their codes; only one is held at a time."""
    count = len(columns.partitions)
    sends = _grouped(columns.sends.partition, count)
    reads = _grouped(columns.reads.partition, count)
    for code in range(count):
        yield _partition(columns, code, sends[code], reads[code], licences)


def _partition(
    columns: Columns, code: int, sends: Integers, reads: Integers, licences: Licences
) -> PartitionLog:
    name = columns.partitions[code]
    sent = sent_to(columns.sends, sends)
    claims = claims_of(columns, sends, reads, sent)
    return PartitionLog(
        code=code,
        name=name,
        columns=columns,
        sends=sends,
        reads=reads,
        sent=sent,
        claims=claims,
        horizon=horizon_of(claims),
        finals=tuple(_finals(columns, code, reads, claims)),
        permits=licences.of(name),
    )


def _finals(columns: Columns, code: int, reads: Integers, claims: Claims) -> Iterator[FinalView]:
    """Final reads of a partition; the rows of each lie side by side, being in the order of completion."""
    final = columns.final_reads
    call_of = columns.reads.call[reads]
    for row in np.flatnonzero(final.partition == code):
        call = int(final.call[row])
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
            saw=saw,
        )


def _grouped(partition: Integers, count: int) -> list[Integers]:
    """Rows of each partition, ascending; small codes are sorted by radix."""
    order = np.argsort(partition.astype(np.min_scalar_type(count)), kind="stable")
    ends = np.cumsum(np.bincount(partition, minlength=count))
    return np.split(order, ends)[:count]
