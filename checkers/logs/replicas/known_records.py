"""Which records of a compacted partition are known, and which of them are certainly committed.

A record of an aborted transaction replaces no other record (KIP-98; Kafka's ``Cleaner`` leaves it out when it
maps keys to their last offsets).  If it is unknown how a transaction ended, its records may have replaced
others, and may have been removed, too.
"""

from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Columns, Integers, SendOutcome
from checkers.licences.permits import Decisions


class KnownRecords(NamedTuple):
    """Records that were acknowledged or read, each offset once, without those of aborted transactions.

    Attributes:
        offset: shape (n,), ascending.
        value: shape (n,).
        committed: shape (n,), whether they are certainly committed.
    """

    offset: Integers
    value: Integers
    committed: Booleans


def known_of(columns: Columns, code: int) -> KnownRecords:
    """The known records of a partition that may be committed.

    Args:
        columns: the columns of the history.
        code: the partition's code.
    """
    sends, reads = columns.sends, columns.reads
    sent = np.flatnonzero((sends.partition == code) & (sends.offset != NONE))
    given = np.flatnonzero((reads.partition == code) & (reads.value >= 0))
    value = np.concatenate((sends.value[sent], reads.value[given]))
    offset, first = np.unique(np.concatenate((sends.offset[sent], reads.offset[given])), return_index=True)
    value = value[first]
    if not is_transactional(columns, code):
        return KnownRecords(offset, value, np.ones(len(offset), dtype=np.bool_))
    rows = np.flatnonzero(~np.isin(value, aborted_values(columns, code)))
    offset, value = offset[rows], value[rows]
    return KnownRecords(offset, value, ~np.isin(value, undecided_values(columns, code)))


def is_transactional(columns: Columns, code: int) -> bool:
    """Whether any record was sent to a partition in a transaction."""
    return bool(columns.sends.transactional[columns.sends.partition == code].any())


def aborted_values(columns: Columns, code: int) -> Integers:
    """Values of the records of a partition whose transactions certainly were not committed."""
    sends = columns.sends
    values: Integers = sends.value[(sends.partition == code) & (sends.outcome == SendOutcome.ABORTED)]
    return values


def undecided_values(columns: Columns, code: int) -> Integers:
    """Values of the records of a partition of which it is unknown whether their transactions committed.

    If a read_committed reader received a record, its transaction was committed.
    """
    sends, reads, calls = columns.sends, columns.reads, columns.calls
    open_ = sends.transactional & (sends.partition == code) & (sends.outcome == SendOutcome.INFO)
    by_committed = np.array([reader.committed for reader in columns.readers], dtype=np.bool_)
    shown = (reads.partition == code) & by_committed[calls.reader[reads.call]]
    return np.setdiff1d(sends.value[open_], reads.value[shown])


def keys_of(columns: Columns, code: int, decisions: Decisions, keys: int) -> Integers:
    """Keys of the records of some transactions in a partition.

    Args:
        columns: the columns of the history.
        code: the partition's code.
        decisions: the transactions.
        keys: a record's key is its value modulo this.
    """
    sends = columns.sends
    rows = np.flatnonzero(sends.transactional & (sends.partition == code))
    rows = rows[decisions.of(sends.invoke_op[rows]) != NONE]
    return np.unique(sends.value[rows] % keys)
