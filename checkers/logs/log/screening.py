"""Skips small partitions that can't have findings, by one computation for all of them.

Judging a partition takes some hundred microseconds even if it has few records, and a history may have
millions of partitions.  So small partitions are screened first, by a few sorts over all of them.  Partitions
that certainly have no finding are cleared. The others are judged one by one, by the same rules as large ones.
Screening itself reports only acknowledged records that no reader had to read, because there may be millions
of them too.  A cleared partition adds to the figures exactly what judging it would have added.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers, SendOutcome
from checkers.logs.log.claims import acknowledged, at, found_in
from checkers.logs.log.grouped import group_of, later_minimum
from checkers.logs.log.partition import Split
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY

SMALL = 4096
"""A partition with more rows is not screened, because judging it alone costs little more per row.

Measured on ten thousand rows in twelve partitions: 5.6 ms screened, 20 ms one by one; on a million, 0.32 s
screened, 0.28 s one by one.
"""
BLOCK = 2**19
"""The approximate number of rows that are screened together."""


@dataclass(frozen=True, slots=True)
class Screening:
    """The partitions that have to be judged, and the figures of the others.

    Attributes:
        judged: shape (partitions,), whether each still has to be judged.
        distinct: number of records in cleared partitions.
        resolved: number of their sends with an unknown outcome whose record a reader found.
        undecided: number of their records that no final read decides.
        lag: largest number of known records that a poll of them lagged behind.
        unseen: number of their records that were never read, and that no final read had to find.
        shown: partitions of the earliest of those records, ascending, for the examples.
    """

    judged: Booleans
    distinct: int = 0
    resolved: int = 0
    undecided: int = 0
    lag: int = 0
    unseen: int = 0
    shown: tuple[int, ...] = ()


def screened(rows: Split) -> Screening:
    """Clear partitions block by block, which needs little memory and uses the CPU's caches."""
    counts = rows.sends.counts + rows.reads.counts
    judged = counts > SMALL
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.unique(np.searchsorted(ends, np.arange(BLOCK, total, BLOCK)))
    found = _Figures()
    for low, high in pairwise((0, *cuts.tolist(), len(counts))):
        small = ~judged[low:high]
        if small.any():
            _screen(_Block(rows, low, small), judged[low:high], found)
            found.keep_earliest()
    shown = tuple(sorted(set(found.unseen_in.tolist())))
    return Screening(judged, found.distinct, found.resolved, found.undecided, found.lag, found.unseen, shown)


@dataclass(slots=True)
class _Figures:
    """The contribution of all blocks to the figures; as in `Screening`.

    Attributes:
        unseen_ns: when the earliest of the unseen records became known, ascending.
        unseen_in: codes of their partitions.
    """

    distinct: int = 0
    resolved: int = 0
    undecided: int = 0
    lag: int = 0
    unseen: int = 0
    unseen_ns: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    unseen_in: Integers = field(default_factory=lambda: np.zeros(0, np.int64))

    def add_unseen(self, known_ns: Integers, codes: Integers) -> None:
        """Add records that were never read."""
        self.unseen += len(known_ns)
        self.unseen_ns = np.concatenate((self.unseen_ns, known_ns))
        self.unseen_in = np.concatenate((self.unseen_in, codes))

    def keep_earliest(self) -> None:
        """Keep only those unseen records that are used as examples."""
        earliest = np.lexsort((self.unseen_in, self.unseen_ns))[:EXAMPLES_PER_ANOMALY]
        self.unseen_ns, self.unseen_in = self.unseen_ns[earliest], self.unseen_in[earliest]


def _screen(rows: "_Block", doubt: Booleans, found: _Figures) -> None:
    """Screen the small partitions of a block: mark those that have to be judged, and add up the others."""
    doubt[rows.unfit()] = True
    slots = _slots_of(rows, doubt)
    began_ns, open_ended = _matched(rows, slots, doubt)
    late = later_minimum(slots.known_ns, group_of(slots.partition)) < began_ns
    doubt[slots.partition[late]] = True
    _check_sends(rows, doubt)
    _check_steps(rows, slots, doubt)
    undecided = _check_finals(rows, slots, doubt)
    clear = ~doubt[slots.partition]
    found.distinct += int(clear.sum())
    found.resolved += int((clear & open_ended & slots.read).sum())
    found.undecided += int((clear & undecided[slots.partition]).sum())
    found.lag = max(found.lag, _lag(rows, slots, doubt))
    unseen = clear & ~slots.read & (rows.finals == 0)[slots.partition]
    found.add_unseen(slots.known_ns[unseen], slots.partition[unseen] + rows.low)


class _Block:
    """Rows of the small partitions among some successive ones, ordered by partition; codes begin at 0."""

    def __init__(self, rows: Split, low: int, small: Booleans) -> None:
        columns = self.columns = rows.columns
        self.low = low
        self.sends = rows.sends.chosen(low, small)
        self.reads = rows.reads.chosen(low, small)
        self.assigns = rows.assigns.chosen(low, small)
        self.finals = np.diff(rows.finals.ends[low : low + len(small) + 1])
        self.of_sends = columns.sends.partition[self.sends] - low
        self.of_reads = columns.reads.partition[self.reads] - low
        self.of_assigns = columns.assigns.partition[self.assigns] - low
        self.call = columns.reads.call[self.reads]
        self.final = columns.calls.final[self.call]
        self.acked = acknowledged(columns.sends, self.sends)

    def unfit(self) -> Integers:
        """Partitions that can't be screened: with transactions, or with acknowledgements without an offset.

        In histories of other harnesses, also partitions in which only readers report offsets of sends.
        """
        sends = self.columns.sends
        answered = (sends.outcome[self.sends] != SendOutcome.FAIL) if self.columns.foreign else self.acked
        placeless = answered & (sends.offset[self.sends] == NONE)
        unfit: Integers = self.of_sends[sends.transactional[self.sends] | placeless]
        return unfit


@dataclass(frozen=True, slots=True)
class _Slots:
    """Offsets at which a record is known to be, ordered by partition and offset.

    Attributes:
        partition: its partition.
        offset: its offset.
        value: the value there, or one of them.
        known_ns: when it became known.
        read: whether a reader received it.
        of_read: slot of each read.
    """

    partition: Integers
    offset: Integers
    value: Integers
    known_ns: Integers
    read: Booleans
    of_read: Integers


def _slots_of(rows: _Block, doubt: Booleans) -> _Slots:
    """Collect the slots.

    A partition is in doubt if two values are reported at one offset, or one value at two offsets.
    """
    columns = rows.columns
    acked = rows.sends[rows.acked]
    partition = np.concatenate((rows.of_sends[rows.acked], rows.of_reads))
    offset = np.concatenate((columns.sends.offset[acked], columns.reads.offset[rows.reads]))
    order = np.lexsort((offset, partition))
    partition, offset = partition[order], offset[order]
    slot = group_of(partition, offset)
    first = np.flatnonzero(np.diff(slot, prepend=NONE))
    where, places = partition[first], offset[first]
    del partition, offset
    value = np.concatenate((columns.sends.value[acked], columns.reads.value[rows.reads]))[order]
    what = value[first]
    doubt[where[slot[value != what[slot]]]] = True
    del value
    known_ns = np.concatenate((columns.sends.completed_ns[acked], columns.calls.completed_ns[rows.call]))[
        order
    ]
    least_ns = np.minimum.reduceat(known_ns, first) if len(first) else first
    del known_ns
    slot_of = np.empty_like(slot)
    slot_of[order] = slot
    of_read = slot_of[len(acked) :]
    read = np.zeros(len(first), dtype=np.bool_)
    read[of_read] = True
    doubt[_twice(where, what)] = True
    return _Slots(where, places, what, least_ns, read, of_read)


def _twice(partition: Integers, value: Integers) -> Integers:
    """Partitions in which a value occurs twice."""
    order = np.lexsort((value, partition))
    again: Booleans = np.diff(group_of(partition[order], value[order]), prepend=NONE) == 0
    twice: Integers = partition[order[again]]
    return twice


def _matched(rows: _Block, slots: _Slots, doubt: Booleans) -> tuple[Integers, Booleans]:
    """When the send of each slot's value started, and whether its outcome was reported as unknown.

    A partition is in doubt if a value was sent twice, or was found although it was not sent or its send
    failed.
    """
    sends = rows.columns.sends
    value = sends.value[rows.sends]
    doubt[_twice(rows.of_sends, value)] = True
    partition = np.concatenate((rows.of_sends, slots.partition))
    values = np.concatenate((value, slots.value))
    order = np.lexsort((values, partition))
    place = np.empty_like(order)
    group = group_of(partition[order], values[order])
    place[order] = group
    send = np.full(int(group[-1]) + 1 if len(group) else 0, NONE)
    send[place[: len(rows.sends)]] = rows.sends
    of_slot = send[place[len(rows.sends) :]]
    outcome = at(sends.outcome, of_slot, SendOutcome.FAIL)
    doubt[slots.partition[outcome == SendOutcome.FAIL]] = True
    return at(sends.invoked_ns, of_slot, NONE), outcome == SendOutcome.INFO


def _check_sends(rows: _Block, doubt: Booleans) -> None:
    """Mark partitions in doubt if the offsets of one process decrease."""
    sends = rows.columns.sends
    acked, partition = rows.sends[rows.acked], rows.of_sends[rows.acked]
    order = np.lexsort((sends.process[acked], partition))
    group = group_of(partition[order], sends.process[acked[order]])
    offset = sends.offset[acked[order]]
    down = (group[1:] == group[:-1]) & (offset[1:] < offset[:-1])
    doubt[partition[order[1:][down]]] = True


def _check_steps(rows: _Block, slots: _Slots, doubt: Booleans) -> None:
    """Mark partitions in doubt if a reader received a record out of order or skipped a known one."""
    assignment = rows.columns.calls.assignment[rows.call]
    order = np.lexsort((assignment, rows.of_reads))
    partition, assignment = rows.of_reads[order], assignment[order]
    offset, slot = rows.columns.reads.offset[rows.reads[order]], slots.of_read[order]
    group = group_of(partition, assignment)
    follows = np.diff(group, prepend=NONE) == 0
    due = np.where(follows, np.roll(offset, 1) + 1, _assigned(rows, assignment, partition))
    before = np.maximum(slot - 1, 0)
    there = (slot > 0) & (slots.partition[before] == partition)
    passed = there & (slots.offset[before] >= due) & ~rows.final[order]
    doubt[partition[(due != NONE) & ((offset < due) | passed)]] = True


def _assigned(rows: _Block, assignment: Integers, partition: Integers) -> Integers:
    """Offset at which each assignment begins in a partition, `NONE` if not reported."""
    assigns, count = rows.columns.assigns, len(rows.finals)
    keys = assigns.assignment[rows.assigns] * count + rows.of_assigns
    order = np.argsort(keys, kind="stable")
    found = found_in(keys[order], np.where(assignment < 0, NONE, assignment * count + partition))
    return at(assigns.offset[rows.assigns[order]], found, NONE)


def _check_finals(rows: _Block, slots: _Slots, doubt: Booleans) -> Booleans:
    """Mark partitions in doubt if a final read lacks a record, or readers skipped one.

    A reader receives a record twice in one call only if it goes back, so counts show whether any record is
    missing.

    Returns:
        Partitions that no final read decides.
    """
    count, finals = len(doubt), rows.finals
    known = np.bincount(slots.partition, minlength=count)
    seen = np.bincount(rows.of_reads[rows.final], minlength=count)
    doubt[(finals > 0) & (seen != finals * known)] = True
    if rows.columns.foreign:
        last_read = np.full(count, NONE)
        read = np.flatnonzero(slots.read)
        last_read[slots.partition[read]] = read
        passed = ~slots.read & (np.arange(len(slots.read)) < last_read[slots.partition])
        doubt[slots.partition[passed]] = True
        return np.zeros(count, dtype=np.bool_)
    undecided: Booleans = finals == 0
    return undecided


def _lag(rows: _Block, slots: _Slots, doubt: Booleans) -> int:
    """As `checkers.logs.log.poll_order.lag_of`, for the polls of the cleared partitions."""
    last = (np.diff(rows.call, append=NONE) != 0) | (np.diff(rows.of_reads, append=NONE) != 0)
    last = np.flatnonzero(last & ~rows.final & ~doubt[rows.of_reads])
    partition = np.concatenate((rows.of_reads[last], slots.partition))
    time_ns = np.concatenate((rows.columns.calls.invoked_ns[rows.call[last]], slots.known_ns))
    slot = np.concatenate((np.full(len(last), NONE), np.arange(len(slots.offset))))
    order = np.lexsort((slot, time_ns, partition))
    reached = np.empty_like(slot)
    reached[order] = np.maximum.accumulate(slot[order])
    reached = reached[: len(last)]
    mine = (reached != NONE) & (at(slots.partition, reached, NONE) == rows.of_reads[last])
    behind = at(slots.offset, reached, NONE) - rows.columns.reads.offset[rows.reads[last]]
    return int(behind[mine].max(initial=0))
