"""Isolation: a share group with read_committed gets no record that is not committed.

The leader fetches up to the last stable offset, and archives the records that it acquires if an aborted
transaction has them (``SharePartition.maybeFilterAbortedTransactionalAcquiredRecords``).  These records are
not committed:

* records of a transaction that its producer saw aborted, or that it never asked to commit;
* records that final reads returned at read_uncommitted, but not at read_committed, although these went past
  them.  This shows how a transaction ended whose producer got no answer;
* records that a member got before the producer asked for the commit.

A record of the first two kinds does not count if any reader returned it at read_committed: the log has it as
committed, and rules about transactions judge that.
"""

import numpy as np

from checkers.columns.tables import NONE, Booleans, Columns, Integers, PartitionName, SendOutcome
from checkers.evidence.loading import columns_of
from checkers.history.operations import History
from checkers.history.setup import recorded_setup
from checkers.share_groups.anomalies import UNCOMMITTED_READ
from checkers.share_groups.deliveries import Found
from checkers.share_groups.earlier_rows import codes_of
from checkers.share_groups.loading import ShareGroups, times_of


def uncommitted_reads(history: History, groups: ShareGroups) -> Found:
    """Deliveries of records that were not committed to members of groups with read_committed.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: the records that members received.
    """
    columns, all_ = columns_of(history), groups.deliveries
    delivery, send = _in_transactions(history, columns, groups)
    told = columns.sends.outcome[send] == SendOutcome.ABORTED
    shown = _shown(columns, groups, delivery, send)
    early = times_of(history)[all_.answered[delivery]] < _ending_ns(history, columns.sends.complete_op[send])
    kept = shown | early
    rows, send, told, early = delivery[kept], send[kept], told[kept], early[kept]
    began, ended = columns.sends.invoke_op[send], columns.sends.complete_op[send]

    def text(row: int) -> str:
        fate = "which final reads returned at read_uncommitted, but not at read_committed"
        if told[row]:
            fate = "which was not committed"
        elif early[row]:
            fate = "whose commit was requested only later"
        return (
            f"was delivered by operation {all_.answered[rows[row]]} at read_committed, but it is a record of "
            f"the transaction of operation {began[row]}, {fate}"
        )

    witness = (began, np.where(ended == NONE, began, ended), all_.asked[rows], all_.answered[rows])
    return Found(UNCOMMITTED_READ, rows, all_.place[rows], witness, text)


def _shown(columns: Columns, groups: ShareGroups, delivery: Integers, send: Integers) -> Booleans:
    """Which delivered records belong to transactions that were aborted in the end."""
    all_, sends = groups.deliveries, columns.sends
    told = sends.outcome[send] == SendOutcome.ABORTED
    open_ = told | (sends.outcome[send] == SendOutcome.INFO)
    shown = np.zeros(len(delivery), np.bool_)
    for code in np.unique(sends.partition[send]).tolist():
        here = np.flatnonzero((sends.partition[send] == code) & open_)
        offset, value = all_.offset[delivery[here]], all_.value[delivery[here]]
        committed = _returned(columns, code, offset, value, committed=True)
        left_out = _returned(columns, code, offset, value, committed=False) & _covered(columns, code, offset)
        shown[here] = ~committed & (told[here] | left_out)
    return shown


def _ending_ns(history: History, completed: Integers) -> Integers:
    """A time before which the end of each transaction was not requested; 0 if none is known."""
    values = [None if op == NONE else history.operations[op].value for op in completed.tolist()]
    known = [0 if value is None else value.get("ending_ns") or 0 for value in values]
    return np.array(known, np.int64)


def _in_transactions(history: History, columns: Columns, groups: ShareGroups) -> tuple[Integers, Integers]:
    """Deliveries to groups with read_committed of values that were sent in transactions, and these sends."""
    committed = recorded_setup(history).workload.committed
    all_, codes = groups.deliveries, {name: code for code, name in enumerate(columns.partitions)}
    names = [PartitionName(place.topic, place.partition) for place in groups.places]
    partition = np.array([codes.get(name, NONE) for name in names] + [NONE], np.int64)[all_.place]
    mine = np.array([place.group in committed for place in groups.places] + [False], np.bool_)[all_.place]
    rows = np.flatnonzero(mine & (partition != NONE))
    sends = np.flatnonzero(columns.sends.transactional)
    both = (
        (columns.sends.partition[sends], partition[rows]),
        (columns.sends.value[sends], all_.value[rows]),
    )
    code = codes_of(*(np.concatenate(each) for each in both))
    of_send = np.full(len(code), NONE)
    of_send[code[: len(sends)]] = sends
    send = of_send[code[len(sends) :]]
    return rows[send != NONE], send[send != NONE]


def _returned(
    columns: Columns, partition: int, offset: Integers, value: Integers, *, committed: bool
) -> Booleans:
    """Which records any reader returned: at read_committed, or in a final read at read_uncommitted."""
    reads, calls = columns.reads, columns.calls
    at_committed = np.array([reader.committed for reader in columns.readers], np.bool_)
    wanted = at_committed[calls.reader] == committed
    if not committed:
        wanted &= calls.final
    rows = np.flatnonzero((reads.partition == partition) & wanted[reads.call])
    both = ((reads.offset[rows], offset), (reads.value[rows], value))
    code = codes_of(*(np.concatenate(each) for each in both))
    found: Booleans = np.isin(code[len(rows) :], code[: len(rows)])
    return found


def _covered(columns: Columns, partition: int, offset: Integers) -> Booleans:
    """Which offsets a final read at read_committed went past."""
    finals, calls = columns.final_reads, columns.calls
    covered = np.zeros(len(offset), np.bool_)
    for row in np.flatnonzero(finals.partition == partition).tolist():
        if columns.readers[calls.reader[finals.call[row]]].committed:
            covered |= (finals.start[row] <= offset) & (offset < finals.position[row])
    return covered
