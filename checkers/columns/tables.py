"""Converts a history to columns: NumPy arrays with one row per record sent, returned, or assigned.

Checkers compute over these arrays and never loop over records in Python.  Names become small integers:
partitions, readers and processes in the order of their first appearance.  A value that is an integer from 0
is its own code; any other JSON value has a negative code, which `Columns.value_named` looks up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

NEVER = np.iinfo(np.int64).max
"""The time of events that did not happen during the history."""
NONE = -1
"""The value for no offset, no operation, or no row."""


class SendOutcome(IntEnum):
    """The outcome of one sent record."""

    OK = 0
    FAIL = 1
    INFO = 2
    ABORTED = 3
    """Its transaction did not commit: it may be in the log, but no read_committed reader receives it."""


class PartitionName(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"


class GroupPartition(NamedTuple):
    """A partition that a group, or a share group, reads."""

    group: str
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.group}: {self.topic}/{self.partition}"


class ReaderName(NamedTuple):
    """A client and its isolation level."""

    client: str
    isolation: str

    @property
    def committed(self) -> bool:
        """Whether it reads only committed records."""
        return self.isolation == "read_committed"

    def __str__(self) -> str:
        return f"{self.client} ({self.isolation})"


@dataclass(frozen=True, slots=True)
class Sends:
    """Sent records, one row each, in the order of invocation and, within a batch, in the order of the batch.

    So the rows of one process are in the order in which it sent them.

    Attributes:
        partition: code of the partition.
        value: the record's value, or its code.
        offset: its offset by the acknowledgement, `NONE` if the acknowledgement has none.  Records of aborted
            or undecided transactions may have one too.
        outcome: a `SendOutcome`.
        process: code of the process.
        invoked_ns: time of the invocation, nanoseconds.
        completed_ns: time of the completion, nanoseconds; `NEVER` if there is none.
        invoke_op: index of the invocation in the history.
        complete_op: index of the completion in the history, `NONE` if there is none.
        transactional: whether it was sent in a transaction.
    """

    partition: Integers
    value: Integers
    offset: Integers
    outcome: Integers
    process: Integers
    invoked_ns: Integers
    completed_ns: Integers
    invoke_op: Integers
    complete_op: Integers
    transactional: Booleans


@dataclass(frozen=True, slots=True)
class Reads:
    """Returned records, one row each, in the order of completion and, within a completion, as returned.

    Attributes:
        partition: code of the partition.
        offset: the record's offset.
        value: the record's value, or its code.
        call: row of `Calls` that returned it.
    """

    partition: Integers
    offset: Integers
    value: Integers
    call: Integers


@dataclass(frozen=True, slots=True)
class Calls:
    """Polls and final reads that returned, one row each, in the order of completion.

    Attributes:
        op: index of the completion in the history.
        process: code of the process.
        reader: code of client and isolation level.
        assignment: number of the assignment in which it polled; a final read has its own number.
        final: whether it is a final read.
        invoked_ns: time of the invocation, nanoseconds.
        completed_ns: time of the completion, nanoseconds.
    """

    op: Integers
    process: Integers
    reader: Integers
    assignment: Integers
    final: Booleans
    invoked_ns: Integers
    completed_ns: Integers


@dataclass(frozen=True, slots=True)
class Assigns:
    """Partitions that consumers were assigned, one row each.

    Attributes:
        assignment: number of the assignment, unique in the history.
        partition: code of the partition.
        offset: offset at which reading begins.
        op: index of the operation in the history.
    """

    assignment: Integers
    partition: Integers
    offset: Integers
    op: Integers


@dataclass(frozen=True, slots=True)
class FinalReads:
    """Final reads that reported how far they read, one row each.

    Attributes:
        call: row of `Calls`.
        partition: code of the partition.
        start: first offset of the log, as listed before reading.
        end: end of the log, as listed before reading.
        position: offset at which reading stopped.
        listed_ns: a time before which start and end were not listed, nanoseconds.
        whole: whether it reached the listed end.
    """

    call: Integers
    partition: Integers
    start: Integers
    end: Integers
    position: Integers
    listed_ns: Integers
    whole: Booleans


class Tombstones(NamedTuple):
    """Records of a compacted topic that mark their keys as deleted, and how long they are kept.

    Compaction removes earlier records of the key, and the tombstone itself when ``delete.retention.ms`` have
    passed (Kafka documentation, Design, Log Compaction).  This time counts from the cleaning that found the
    tombstone (KIP-534), so the tombstone is kept at least that long after its send.

    Attributes:
        keys: a record's key is its value modulo this.
        every: a value is a tombstone if its quotient by `keys` is one less than a multiple of this number.
        kept_ns: the least time for which they are kept.
    """

    keys: int
    every: int
    kept_ns: int

    def among(self, values: Integers) -> Booleans:
        """Whether each of some values belongs to a tombstone."""
        marks: Booleans = (values >= 0) & ((values // self.keys + 1) % self.every == 0)
        return marks


@dataclass(frozen=True, slots=True)
class Columns:
    """A history as columns.

    Attributes:
        partitions: names by code: those of the set-up, then others in order of appearance.
        readers: clients and isolation levels by code.
        others: values that are not integers from 0; the code of ``others[i]`` is ``-1 - i``.
        sends: sent records.
        reads: returned records.
        calls: operations that returned records.
        assigns: the offsets at which consumers began.
        final_reads: the ranges that final reads covered.
        final_readers: codes of readers that began a final read of any partition.
        phases: name and start of each phase, nanoseconds.
        acks: the acks setting of producers: ``all``, ``1`` or ``0``.
        idempotent: whether producers were idempotent.
        pipelined: whether they had several batches in flight to one partition.
        durable: shape (processes,), which processes were idempotent and had acks=all.
        keys: for compacted topics: a record's key is its value modulo this; None if unknown.
        tombstones: tombstones of compacted topics, if there are any.
        foreign: whether another harness recorded it, so that there is no set-up and no final reads are
            expected.
    """

    partitions: tuple[PartitionName, ...]
    readers: tuple[ReaderName, ...]
    others: tuple[object, ...]
    sends: Sends
    reads: Reads
    calls: Calls
    assigns: Assigns
    final_reads: FinalReads
    final_readers: tuple[int, ...]
    phases: dict[str, int]
    acks: str = "all"
    idempotent: bool = True
    pipelined: bool = False
    durable: Booleans = field(default_factory=lambda: np.zeros(0, np.bool_))
    keys: Mapping[str, int | None] = field(default_factory=dict)
    tombstones: Mapping[str, Tombstones] = field(default_factory=dict)
    foreign: bool = False

    def is_strict(self, rows: Integers) -> Booleans:
        """Which sends were idempotent and waited for all replicas, independent of other sends.

        Transactions require both (KIP-98).
        """
        durable = np.append(self.durable, np.False_)
        process = np.minimum(self.sends.process[rows], len(self.durable))
        strict: Booleans = self.sends.transactional[rows] | durable[process]
        return strict

    def value_named(self, code: int) -> object:
        """The value of a code."""
        return int(code) if code >= 0 else self.others[-1 - code]
