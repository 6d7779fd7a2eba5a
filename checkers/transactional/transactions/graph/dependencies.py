"""The dependency graph, which orders transactions; it is the same for all kinds of histories.

Nodes below `Graph.transactions` are transactions; the others are *joints*, which order many transactions
before many others with a linear number of edges, and are never shown.  Joints are barriers of real time, and
chains between readers and writers.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from checkers.columns.tables import NONE, Booleans, Integers

Nodes = npt.NDArray[np.int32]
Kinds = npt.NDArray[np.uint8]


class EdgeKind(IntEnum):
    """The reason why an edge's source comes before its target (Adya, Weak Consistency, 1999, chapter 4).

    Attributes:
        WW: the target wrote the version that follows the source's.
        WR: the target read the version that the source wrote.
        RW: the source read a version that the target's replaced; an anti-dependency.
        PROCESS: one process ran both, the source first.
        REALTIME: the source was complete before the target began.
        VIA: continues from a joint that an anti-dependency entered.
        RW_BY_TIME: an anti-dependency that depends on the real-time order of two writes.
        WW_BY_PROCESS: a later version, because one process accessed both versions in this order.
        RW_BY_PROCESS: an anti-dependency that depends on the order in which one process accessed two
            versions.
    """

    WW = 0
    WR = 1
    RW = 2
    PROCESS = 3
    REALTIME = 4
    VIA = 5
    RW_BY_TIME = 6
    WW_BY_PROCESS = 7
    RW_BY_PROCESS = 8


class Edges(NamedTuple):
    """Edges, one row for each.

    Attributes:
        source: shape (n,), the node that comes first.
        target: shape (n,), the node that comes later.
        kind: shape (n,), an `EdgeKind`.
        reference: shape (n,), a number by which the front can explain the edge, such as a row of its reads.
    """

    source: Nodes
    target: Nodes
    kind: Kinds
    reference: Nodes


@dataclass(frozen=True, slots=True)
class Graph:
    """Transactions and all edges between them.

    Attributes:
        transactions: number of transactions, which are the first nodes, from 0.
        nodes: number of all nodes, joints included.
        edges: all edges, in any order.
        begin: shape (transactions,), position in the history at which each began.
        end: shape (transactions,), position at which it was known to be committed, `NONE` if never.
    """

    transactions: int
    nodes: int
    edges: Edges
    begin: Integers
    end: Integers


class GraphBuilder:
    """Collects edges and creates joints."""

    def __init__(self, begin: Integers, end: Integers) -> None:
        """Start with transactions that have no edges.

        Args:
            begin: shape (n,), position in the history at which each transaction began.
            end: shape (n,), position at which it was known to be committed, `NONE` if never.
        """
        self._begin = begin
        self._end = end
        self._nodes = len(begin)
        self._parts: list[Edges] = []

    def joints(self, count: int) -> Integers:
        """Create the nodes of a new chain, in order."""
        self._nodes += count
        return np.arange(self._nodes - count, self._nodes)

    def add(
        self, kind: EdgeKind, source: Integers, target: Integers, reference: Integers | None = None
    ) -> None:
        """Add edges of one kind; edges from a node to itself are left out."""
        apart = source != target
        if reference is None:
            reference = np.full(len(source), NONE, dtype=np.int32)
        if not apart.all():
            source, target, reference = source[apart], target[apart], reference[apart]
        self._parts.append(
            Edges(
                source.astype(np.int32),
                target.astype(np.int32),
                np.full(len(source), kind, dtype=np.uint8),
                reference.astype(np.int32),
            )
        )

    def add_process_order(self, process: Integers, taking_part: Booleans) -> None:
        """Order each transaction of a process before the next one, if it was known to be committed.

        Args:
            process: shape (n,), code of the process of each transaction.
            taking_part: shape (n,), whether it may have committed.
        """
        rows = np.flatnonzero(taking_part)
        rows = rows[np.lexsort((self._begin[rows], process[rows]))]
        follows = (process[rows][1:] == process[rows][:-1]) & (self._end[rows][:-1] != NONE)
        self.add(EdgeKind.PROCESS, rows[:-1][follows], rows[1:][follows])

    def add_real_time(self, taking_part: Booleans) -> None:
        """Order each completed transaction before all that begin later, by a chain of barriers.

        Each barrier is directly before the first invocation that follows a completion.  Completed
        transactions have edges to it.  It has edges to the next barrier, and to the transactions that begin
        before that barrier.  So n transactions need at most 4 n edges instead of n².

        Args:
            taking_part: shape (n,), whether each transaction may have committed.
        """
        ended = np.flatnonzero(taking_part & (self._end != NONE))
        ended = ended[np.argsort(self._end[ended], kind="stable")]
        begun = np.flatnonzero(taking_part)
        completed_before = np.searchsorted(self._end[ended], self._begin[begun])
        begun, completed_before = begun[completed_before > 0], completed_before[completed_before > 0]
        if not len(begun):
            return
        seen = np.zeros(len(ended) + 1, dtype=np.bool_)
        seen[completed_before] = True
        place = np.cumsum(seen) - 1
        barriers = self.joints(int(seen.sum()))
        # The barrier for the i-th completion is the first one that follows more than i completions.
        of_ended = place[: len(ended)] + 1
        known = of_ended < len(barriers)
        self.add(EdgeKind.REALTIME, ended[known], barriers[of_ended[known]])
        self.add(EdgeKind.REALTIME, barriers[:-1], barriers[1:])
        self.add(EdgeKind.REALTIME, barriers[place[completed_before]], begun)

    def add_fans(
        self,
        readers: tuple[Integers, Integers, Integers],
        writers: tuple[Integers, Integers],
        kind: EdgeKind = EdgeKind.RW,
    ) -> None:
        """Order every reader of a group before every writer of the group, except itself.

        This orders all pairs with a linear number of edges: a group's writers are attached to two chains of
        joints, one in each direction.  A reader has an edge to the start of the chain.  A reader that is also
        a writer has edges into both chains, next to its own position.

        Args:
            readers: transaction, group and reference of each reader.
            writers: transaction and group of each writer; a transaction at most once in a group.
            kind: kind of the edges that leave readers, an anti-dependency.
        """
        transaction, group = writers
        order = np.lexsort((transaction, group))
        transaction, group = transaction[order], group[order]
        reader, of, reference = readers
        first = np.searchsorted(group, of, side="left")
        last = np.searchsorted(group, of, side="right") - 1
        lone = first == last
        self.add(kind, reader[lone], transaction[first[lone]], reference[lone])
        many = first < last
        if many.any():
            bounds = (first[many], last[many])
            self._add_chains((reader[many], reference[many]), bounds, (transaction, group), kind)

    def _add_chains(
        self,
        readers: tuple[Integers, Integers],
        bounds: tuple[Integers, Integers],
        writers: tuple[Integers, Integers],
        kind: EdgeKind,
    ) -> None:
        reader, reference = readers
        transaction, group = writers
        first, last = bounds
        later, earlier = self.joints(len(transaction)), self.joints(len(transaction))
        inner = np.flatnonzero(group[1:] == group[:-1])
        self.add(EdgeKind.VIA, later, transaction)
        self.add(EdgeKind.VIA, earlier, transaction)
        self.add(EdgeKind.VIA, later[inner], later[inner + 1])
        self.add(EdgeKind.VIA, earlier[inner + 1], earlier[inner])
        place = _own_places(reader, bounds, transaction, group)
        after = np.where(place == NONE, first, place + 1)
        fits = after <= last
        self.add(kind, reader[fits], later[after[fits]], reference[fits])
        fits = (place != NONE) & (place > first)
        self.add(kind, reader[fits], earlier[place[fits] - 1], reference[fits])

    def graph(self) -> Graph:
        """Return the graph of everything that was added."""
        nothing = np.zeros(0, dtype=np.int32)
        parts = [Edges(nothing, nothing, nothing.astype(np.uint8), nothing), *self._parts]
        edges = Edges(
            source=np.concatenate([part.source for part in parts]),
            target=np.concatenate([part.target for part in parts]),
            kind=np.concatenate([part.kind for part in parts]),
            reference=np.concatenate([part.reference for part in parts]),
        )
        return Graph(len(self._begin), self._nodes, edges, self._begin, self._end)


def _own_places(
    reader: Integers, bounds: tuple[Integers, Integers], transaction: Integers, group: Integers
) -> Integers:
    """Index of each reader among the writers of its group, `NONE` if it is not a writer."""
    size = int(max(reader.max(), transaction.max())) + 1
    codes = group * size + transaction
    wanted = group[bounds[0]] * size + reader
    place = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    return np.where(codes[place] == wanted, place, NONE)
