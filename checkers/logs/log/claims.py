"""Collects the claims about one partition: which value is at which offset, the reporter, and the time."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, NONE, Booleans, Columns, Integers, SendOutcome, Sends

_DENSE = 4
"""Offsets whose range is at most this many times their number are ranked by marking, others by sorting."""


@dataclass(frozen=True, slots=True)
class SentValues:
    """The distinct values that were sent to one partition, ascending.

    Attributes:
        value: the value.
        send: row of its first send.
        invoked_ns: when its first send began.
        possible: number of its sends that may have happened, which are those that did not definitely fail.
    """

    value: Integers
    send: Integers
    invoked_ns: Integers
    possible: Integers


@dataclass(frozen=True, slots=True)
class Claims:
    """The distinct pairs of offset and value that acknowledgements and readers report for one partition.

    Attributes:
        offset: the offset; `NONE` for an acknowledgement without one.
        value: the value.
        slot: row of `slots`, `NONE` without an offset.
        slots: the distinct offsets, ascending; the first claims belong to them, one each, in the same order.
        sent: row of `SentValues`, `NONE` if the value was never sent to this partition.
        ack: row of the earliest acknowledgement in `Sends`, `NONE` if there is none.
        read: row of the earliest return in `Reads`, `NONE` if there is none.
        since_ns: time before which the record did not exist: its send had not started, or no operation had
            reported it.
        known_ns: time of the earliest acknowledgement or return.
        contested: whether another value is claimed at the same offset.
        of_read: shape (reads of the partition,), the claim that each of them makes.
    """

    offset: Integers
    value: Integers
    slot: Integers
    slots: Integers
    sent: Integers
    ack: Integers
    read: Integers
    since_ns: Integers
    known_ns: Integers
    contested: Booleans
    of_read: Integers

    @property
    def returned(self) -> Booleans:
        """Whether any reader received the record."""
        return is_row(self.read)

    @property
    def acknowledged(self) -> Booleans:
        """Whether a producer received an acknowledgement for the record."""
        return is_row(self.ack)


def acknowledged(sends: Sends, rows: Integers) -> Booleans:
    """Whether each send was acknowledged.

    In a transaction that did not commit, sends with an offset were acknowledged.
    """
    acked: Booleans = (sends.outcome[rows] == SendOutcome.OK) | (sends.offset[rows] != NONE)
    return acked


def sent_to(sends: Sends, rows: Integers) -> SentValues:
    """Gather the values of some sends.

    Args:
        sends: all sends.
        rows: the rows of one partition, ascending.
    """
    values = sends.value[rows]
    order = np.argsort(values, kind="stable")
    values = values[order]
    first = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    possible = (sends.outcome[rows] != SendOutcome.FAIL)[order].astype(np.int64)
    send = rows[order[first]]
    return SentValues(values[first], send, sends.invoked_ns[send], np.add.reduceat(possible, first))


def claims_of(columns: Columns, send_rows: Integers, read_rows: Integers, sent: SentValues) -> Claims:
    """Gather the claims of one partition.

    Args:
        columns: the whole history.
        send_rows: sends to the partition, ascending.
        read_rows: reads of the partition, ascending, so in the order of completion.
        sent: the values sent to the partition.
    """
    sends, reads, calls = columns.sends, columns.reads, columns.calls
    acked = send_rows[acknowledged(sends, send_rows)]
    acked = acked[np.argsort(sends.completed_ns[acked], kind="stable")]
    with_offset = sends.offset[acked] != NONE
    placed, unplaced = acked[with_offset], acked[~with_offset]
    offsets = np.concatenate((sends.offset[placed], reads.offset[read_rows]))
    values = np.concatenate((sends.value[placed], reads.value[read_rows]))
    slots, slot_of = ranked(offsets)
    claim_of, slot, value, contested = _distinct(slot_of, values, len(slots))
    count = len(slot)
    slot = np.concatenate((slot, np.full(len(unplaced), NONE)))
    value = np.concatenate((value, sends.value[unplaced]))
    ack = first_of(len(slot), claim_of[: len(placed)], placed)
    ack[count:] = unplaced
    read = first_of(len(slot), claim_of[len(placed) :], read_rows)
    known_ns = np.minimum(
        at(sends.completed_ns, ack, NEVER), at(calls.completed_ns, at(reads.call, read, NONE), NEVER)
    )
    sent_as = found_in(sent.value, value)
    return Claims(
        offset=at(slots, slot, NONE),
        value=value,
        slot=slot,
        slots=slots,
        sent=sent_as,
        ack=ack,
        read=read,
        since_ns=np.minimum(known_ns, at(sent.invoked_ns, sent_as, NEVER)),
        known_ns=known_ns,
        contested=np.concatenate((contested, np.zeros(len(unplaced), np.bool_))),
        of_read=claim_of[len(placed) :],
    )


@dataclass(frozen=True, slots=True)
class Horizon:
    """The known length of a log over time.

    Attributes:
        claim: claims with an offset, in the order in which they became known.
        known_ns: when each became known.
        highest: the highest offset known then.
    """

    claim: Integers
    known_ns: Integers
    highest: Integers


def horizon_of(claims: Claims) -> Horizon:
    """Sort claims by the time at which they became known, and take the prefix maximum of their offsets."""
    placed = np.flatnonzero(claims.offset != NONE)
    placed = placed[np.argsort(claims.known_ns[placed], kind="stable")]
    return Horizon(placed, claims.known_ns[placed], np.maximum.accumulate(claims.offset[placed]))


def is_row(rows: Integers) -> Booleans:
    """Whether each of some rows is a row, and not `NONE`."""
    there: Booleans = rows != NONE
    return there


def ranked(offsets: Integers) -> tuple[Integers, Integers]:
    """Distinct offsets, ascending, and the rank of each offset among them."""
    if not len(offsets):
        return offsets, offsets
    lowest, highest = int(offsets.min()), int(offsets.max())
    if highest - lowest >= _DENSE * len(offsets):
        return np.unique(offsets, return_inverse=True)
    marked = np.zeros(highest - lowest + 1, dtype=np.bool_)
    marked[offsets - lowest] = True
    return np.flatnonzero(marked) + lowest, (np.cumsum(marked) - 1)[offsets - lowest]


def found_in(ascending: Integers, wanted: Integers) -> Integers:
    """Positions of values in an ascending array of distinct values; `NONE` for values that it lacks."""
    if not len(ascending):
        return np.full(len(wanted), NONE)
    position = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.where(ascending[position] == wanted, position, NONE)


def at(column: Integers, rows: Integers, missing: int) -> Integers:
    """Elements of a column at some rows, `missing` where the row is `NONE`."""
    taken = np.full(len(rows), missing, dtype=np.int64)
    there = is_row(rows)
    taken[there] = column[rows[there]]
    return taken


class _DistinctClaims(NamedTuple):
    """The claim of each row; and of each claim its slot, its value, and whether the slot has another one."""

    claim_of: Integers
    slot: Integers
    value: Integers
    contested: Booleans


def _distinct(slot_of: Integers, values: Integers, slots: int) -> _DistinctClaims:
    """Number the distinct claims of rows.

    The claim of a slot's first value has the slot's number.  Claims of other values have higher numbers.
    """
    value = np.empty(slots, dtype=np.int64)
    value[slot_of[::-1]] = values[::-1]
    other = np.flatnonzero(value[slot_of] != values)
    slot = np.arange(slots)
    contested = np.zeros(slots, dtype=np.bool_)
    if not len(other):
        return _DistinctClaims(slot_of, slot, value, contested)
    pairs, number = np.unique(np.stack((slot_of[other], values[other])), axis=1, return_inverse=True)
    contested[pairs[0]] = True
    claim_of = slot_of.copy()
    claim_of[other] = slots + number
    slot = np.concatenate((slot, pairs[0]))
    return _DistinctClaims(claim_of, slot, np.concatenate((value, pairs[1])), contested[slot])


def first_of(size: int, claim_of: Integers, rows: Integers) -> Integers:
    """The first row of each claim, of some rows.

    The rows are assigned in reverse order, because NumPy keeps the last assignment to an index.
    """
    first = np.full(size, NONE, dtype=np.int64)
    first[claim_of[::-1]] = rows[::-1]
    return first
