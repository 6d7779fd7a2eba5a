"""Which records of a partition a read_committed reader must, may, or must not receive.

A record that was sent outside of transactions is visible to all readers once it is in the log.  A record of a
transaction is visible to read_committed readers if and only if the transaction was committed (KIP-98).  If
the outcome is unknown, one read_committed reader that received the record proves that it was committed.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Columns, Integers, SendOutcome
from checkers.logs.log.claims import Claims, SentValues, at, first_of, found_in, is_row


@dataclass(frozen=True, slots=True)
class Visibility:
    """The claims that read_committed readers may receive.

    Attributes:
        transactions: whether any record was sent in a transaction, even if it is not known to be in the log.
        transactional: shape (claims,), whether the value was sent in a transaction.
        always: shape (claims,), whether these readers must receive it, because it is known to be committed.
        never: shape (claims,), whether these readers must not receive it, because every transaction that sent
            it was aborted.
        read: shape (claims,), row of the earliest return to such a reader in `Reads`, `NONE` if there is
            none. Without transactions it is not needed, and all rows are `NONE`.
    """

    transactions: bool
    transactional: Booleans
    always: Booleans
    never: Booleans
    read: Integers


def visibility_of(
    columns: Columns, send_rows: Integers, read_rows: Integers, sent: SentValues, claims: Claims
) -> Visibility:
    """Judge the claims of one partition.

    Args:
        columns: the whole history.
        send_rows: sends to the partition, ascending.
        read_rows: reads of the partition, ascending.
        sent: the values sent to the partition.
        claims: the values and their offsets.
    """
    size = len(claims.value)
    if not columns.sends.transactional[send_rows].any():
        none = np.zeros(size, dtype=np.bool_)
        return Visibility(
            transactions=False, transactional=none, always=~none, never=none, read=np.full(size, NONE)
        )
    committed = np.array([reader.committed for reader in columns.readers], dtype=np.bool_)
    by_committed = np.flatnonzero(committed[columns.calls.reader[columns.reads.call[read_rows]]])
    read = first_of(size, claims.of_read[by_committed], read_rows[by_committed])
    fates = _fates(columns, send_rows, sent, claims)
    acked = at(columns.sends.outcome, claims.ack, NONE)
    never = np.where(acked == NONE, fates.aborted, acked == SendOutcome.ABORTED)
    always = np.where(acked == NONE, fates.certain, acked == SendOutcome.OK) | (is_row(read) & ~never)
    return Visibility(
        transactions=True, transactional=fates.transactional, always=always, never=never, read=read
    )


class _Fates(NamedTuple):
    """For each claim's value: sent in a transaction; certainly not aborted; aborted in every attempt."""

    transactional: Booleans
    certain: Booleans
    aborted: Booleans


def _fates(columns: Columns, rows: Integers, sent: SentValues, claims: Claims) -> _Fates:
    sends = columns.sends
    value = found_in(sent.value, sends.value[rows])
    outcome, transactional = sends.outcome[rows], sends.transactional[rows]
    aborted = outcome == SendOutcome.ABORTED
    doubtful = transactional & (outcome == SendOutcome.INFO)

    def counted(chosen: Booleans) -> Integers:
        """Number of chosen sends of each value; a last row with 0 is for values that were never sent."""
        return np.bincount(value[chosen], minlength=len(sent.value) + 1)

    withheld = counted(aborted)
    certain = (withheld + counted(doubtful)) == 0
    always_withheld = (withheld > 0) & (withheld == np.append(sent.possible, 0))
    return _Fates(
        transactional=(counted(transactional) > 0)[claims.sent],
        certain=certain[claims.sent],
        aborted=always_withheld[claims.sent],
    )
