"""Which records of a partition a read_committed reader must, may, or must not receive.

A record that was sent outside of transactions is visible to all readers once it is in the log.  A record of a
transaction is visible to read_committed readers if and only if the transaction was committed (KIP-98).  If
that is unknown, one such reader that received the record proves it for all of them.
"""

from dataclasses import dataclass

import numpy as np

from checkers.columns.tables import NONE, Booleans, Columns, Integers, SendOutcome
from checkers.logs.log.claims import Claims, SentValues, at, first_of, found_in, is_row


@dataclass(frozen=True, slots=True)
class Visibility:
    """Which claims read_committed readers may receive.

    Attributes:
        transactions: whether anything was sent in a transaction, known to be in the log or not.
        transactional: shape (claims,), whether the value was sent in a transaction.
        always: shape (claims,), whether they must receive it: it is known to be committed.
        never: shape (claims,), whether they must not receive it: every transaction that sent it was aborted.
        read: shape (claims,), row of the earliest return to such a reader in `Reads`, `NONE` without one.
            Without transactions it is not needed, and all are `NONE`.
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
        claims: which value is where.
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
    transactional, certain, aborted = _fates(columns, send_rows, sent, claims)
    acked = at(columns.sends.outcome, claims.ack, NONE)
    never = np.where(acked == NONE, aborted, acked == SendOutcome.ABORTED)
    always = np.where(acked == NONE, certain, acked == SendOutcome.OK) | (is_row(read) & ~never)
    return Visibility(transactions=True, transactional=transactional, always=always, never=never, read=read)


def _fates(
    columns: Columns, rows: Integers, sent: SentValues, claims: Claims
) -> tuple[Booleans, Booleans, Booleans]:
    """By value, for each claim: sent in a transaction; never withheld; withheld whichever attempt it is."""
    sends = columns.sends
    value = found_in(sent.value, sends.value[rows])
    outcome, transactional = sends.outcome[rows], sends.transactional[rows]
    aborted = outcome == SendOutcome.ABORTED
    doubtful = transactional & (outcome == SendOutcome.INFO)

    def counted(chosen: Booleans) -> Integers:
        """How many chosen sends each value has; a last row of zeros is for values never sent."""
        return np.bincount(value[chosen], minlength=len(sent.value) + 1)

    withheld = counted(aborted)
    certain = (withheld + counted(doubtful)) == 0
    always_withheld = (withheld > 0) & (withheld == np.append(sent.possible, 0))
    return (
        (counted(transactional) > 0)[claims.sent],
        certain[claims.sent],
        always_withheld[claims.sent],
    )
