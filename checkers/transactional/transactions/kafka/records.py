"""Records of Kafka's transactions as columns: their offsets, transactions and readers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Columns, Integers, PartitionName, SendOutcome
from checkers.evidence.loading import columns_of
from checkers.history.operations import INVOKE, History
from checkers.transactional.transactions.operations.coding import Index
from checkers.transactional.transactions.operations.loading import Transactions, transactions_of

_Chunk = tuple[str, int, list[int], object]
"""Topic, partition, offsets and values of records that a transaction consumed."""
READ_COMMITTED = "read_committed"
"""The isolation level at which records of aborted and open transactions are not returned."""


class Records(NamedTuple):
    """Records that certainly took effect, by partition and offset; the first one if an offset has several.

    Attributes:
        partition: code of the partition.
        offset: offset of the record.
        node: node that sent it.
        send: row of `Columns.sends`.
    """

    partition: Integers
    offset: Integers
    node: Integers
    send: Integers


class ConsumedRecords(NamedTuple):
    """Records that polls returned and transactions consumed, one row each.

    Attributes:
        partition: code of the partition.
        offset: offset of the record.
        node: node that received it.
        committed: whether it was read with read_committed.
        call: row of `Columns.calls`, `NONE` for records that a transaction reports as consumed.
    """

    partition: Integers
    offset: Integers
    node: Integers
    committed: Booleans
    call: Integers


@dataclass(frozen=True, slots=True)
class KafkaTransactions:
    """A history of Kafka transactions in columns.

    Nodes are its operations ``txn`` and ``poll`` in the order of invocation, then every record that was sent
    outside of transactions.

    Attributes:
        history: the history.
        columns: the columns of its log.
        operations: its transactions and polls.
        node_of_send: shape (sends,), the node that sent each row of `Columns.sends`.
        read: shape (sends,), row of the first of `Columns.reads` that returned each record at read_committed,
            `NONE` without one.
        offset: shape (sends,), offset of each record, by its acknowledgement or by a reader; `NONE` if
            unknown.
        records: records that took effect.
        given: records that readers received.
        ending_ns: shape (operations,), time before which neither commit nor abort was requested, nanoseconds;
            `NONE` if not reported.
    """

    history: History
    columns: Columns
    operations: Transactions
    node_of_send: Integers
    read: Integers
    offset: Integers
    records: Records
    given: ConsumedRecords
    ending_ns: Integers

    @property
    def seen(self) -> Booleans:
        """Whether some read_committed reader received each record; shape (sends,)."""
        seen: Booleans = self.read != NONE
        return seen

    def partition(self, code: int) -> PartitionName:
        """A partition by its code."""
        return self.columns.partitions[code]

    def alone(self, node: int) -> int:
        """Row of the record that a node stands for, if the node is not an operation."""
        return int(np.argmax(self.node_of_send == node))


def kafka_transactions_of(history: History) -> KafkaTransactions:
    """Load a history.

    Args:
        history: as `checkers.history.reading.read_history` returns it: its shapes are not checked again here.
    """
    columns = columns_of(history)
    operations = transactions_of(history, ("txn", "poll"))
    values = [value if isinstance(value, dict) else {} for value in operations.values]
    operations = replace(operations, values=values)
    node_of = np.full(len(history.operations) + 1, NONE, dtype=np.int64)
    for positions in (operations.begin, operations.completion):
        known = positions != NONE
        node_of[positions[known]] = np.flatnonzero(known)
    sends, reads = columns.sends, columns.reads
    single = ~sends.transactional
    node = node_of[sends.invoke_op]
    node[single] = len(operations.begin) + np.arange(int(single.sum()))
    committed = _committed(columns)[columns.calls.reader[reads.call]]
    where = Index(reads.partition, reads.value).find(sends.partition, sends.value)
    found = np.append(reads.offset, NONE)[where]
    offset = np.where(sends.offset == NONE, found, sends.offset)
    chosen = np.flatnonzero(committed)
    first = Index(reads.partition[chosen], reads.value[chosen]).find(sends.partition, sends.value)
    read = np.append(chosen, NONE)[first]
    return KafkaTransactions(
        history,
        columns,
        operations,
        node,
        read,
        offset,
        _records(columns, node, offset, read != NONE),
        _given(columns, operations, node_of, committed),
        np.array([_ending_ns(history, each) for each in operations.completion.tolist()], dtype=np.int64),
    )


def _ending_ns(history: History, completion: int) -> int:
    """The earliest time when the end of an operation was requested; `NONE` if not reported."""
    value = None if completion == NONE else history.operations[completion].value
    ending_ns = value.get("ending_ns") if isinstance(value, dict) else None
    return NONE if ending_ns is None else ending_ns


def _committed(columns: Columns) -> Booleans:
    """For each reader, whether it reads only committed records."""
    return np.array([reader.isolation == READ_COMMITTED for reader in columns.readers], dtype=np.bool_)


def _records(columns: Columns, node: Integers, offset: Integers, seen: Booleans) -> Records:
    sends = columns.sends
    took_effect = (sends.outcome == SendOutcome.OK) | ((sends.outcome == SendOutcome.INFO) & seen)
    rows = np.flatnonzero(took_effect & (offset != NONE) & (node != NONE))
    rows = rows[np.lexsort((rows, offset[rows], sends.partition[rows]))]
    distinct = np.ones(len(rows), dtype=np.bool_)
    same_offset = offset[rows][1:] == offset[rows][:-1]
    distinct[1:] = ~(same_offset & (sends.partition[rows][1:] == sends.partition[rows][:-1]))
    rows = rows[distinct]
    return Records(sends.partition[rows], offset[rows], node[rows], rows)


def _given(
    columns: Columns, operations: Transactions, node_of: Integers, committed: Booleans
) -> ConsumedRecords:
    reads, calls = columns.reads, columns.calls
    node = node_of[calls.op[reads.call]]
    rows = np.flatnonzero(~calls.final[reads.call] & (node != NONE))
    consumed = np.array(list(_consumed(columns, operations)), dtype=np.int64).reshape(-1, 3)
    return ConsumedRecords(
        np.concatenate((reads.partition[rows], consumed[:, 0])),
        np.concatenate((reads.offset[rows], consumed[:, 1])),
        np.concatenate((node[rows], consumed[:, 2])),
        np.concatenate((committed[rows], np.ones(len(consumed), dtype=np.bool_))),
        np.concatenate((reads.call[rows], np.full(len(consumed), NONE, dtype=np.int64))),
    )


def _consumed(columns: Columns, operations: Transactions) -> Iterator[tuple[int, int, int]]:
    """Partition, offset and node of every record that a transaction reports as consumed."""
    codes = {name: code for code, name in enumerate(columns.partitions)}
    for node, value in enumerate(operations.values):
        for topic, partition, offsets, _ in _chunks(value):
            code = codes.get(PartitionName(topic, partition), NONE)
            yield from ((code, offset, node) for offset in offsets if code != NONE)


def _chunks(value: Mapping[str, Sequence[_Chunk] | None]) -> Sequence[_Chunk]:
    return value.get("consumed") or ()


def has_transactions(history: History) -> bool:
    """Whether the history has transactions to judge."""
    return any(o.type is INVOKE for o in history.of("txn"))
