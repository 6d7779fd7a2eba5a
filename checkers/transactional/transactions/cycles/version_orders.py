"""Tries all version orders that are not determined, in small histories.

The order of two writes is unknown if no transaction replaced a register's version after reading it, or if no
transaction read two appends.  To decide whether *some* order explains a history is NP-complete
(Papadimitriou, The Serializability of Concurrent Database Updates, 1979; Biswas and Enea, On the Complexity
of Checking Transactional Consistency, 2019), so it is done within a budget:

1.  For two versions of one key, each order adds edges: from writer to writer, and from the readers of the
   earlier one to the writer of the later one.  If the edges of one order close a cycle that the model
   forbids, the other order holds.
2.  That is repeated until nothing changes.  If neither order is possible for a pair, no order explains the
   history.
3.  The other pairs are ordered as the writers completed.  That usually finds an explanation if there is one.
4.  If it does not, every order is tried, one pair after the other.

For snapshot isolation the graph is unfolded first, so that only cycles without two adjacent anti-dependencies
count (`components.layered`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, NONE
from checkers.transactional.transactions.graph.components import layered
from checkers.transactional.transactions.graph.dependencies import EdgeKind, Graph
from checkers.transactional.transactions.models.consistency import RULES, ConsistencyModel, Layer

TRANSACTIONS_MAX = 128
"""The largest number of transactions of a history in which orders are tried."""
PAIRS_MAX = 1_000
"""The largest number of pairs of versions that are put in order; with more, the result is unknown."""
TRIES_MAX = 300
"""The largest number of assumptions about the orders of pairs, after which the search gives up."""

_ROUNDS = 4
"""Number of attempts to order pairs without assumptions, each starting with the pairs that failed before."""
_OF_LAYER = {
    Layer.DATA: frozenset({EdgeKind.WW, EdgeKind.WR, EdgeKind.RW, EdgeKind.VIA}),
    Layer.PROCESS: frozenset(EdgeKind) - {EdgeKind.REALTIME, EdgeKind.RW_BY_TIME},
    Layer.REALTIME: frozenset(EdgeKind),
}


class Version(NamedTuple):
    """A version of a key whose position is unknown.

    Attributes:
        writer: the transaction that wrote it.
        readers: transactions that read it.
    """

    writer: int
    readers: tuple[int, ...]


class Contested(NamedTuple):
    """Versions of one key whose order is unknown.

    Attributes:
        key: code of the key.
        versions: its versions; each has a different writer.
    """

    key: int
    versions: tuple[Version, ...]


class _Exhausted(Exception):  # noqa: N818 - it ends a search, it is no error
    """The budget is exhausted."""


def unexplained(graph: Graph, contested: Sequence[Contested], model: ConsistencyModel) -> tuple[int, ...]:
    """Transactions that no version order explains together; none if some order does, or may.

    Args:
        graph: a graph without any cycle that the model forbids.
        contested: versions to be ordered.
        model: a model that forbids cycles with anti-dependencies.
    """
    chosen = frozenset(range(graph.transactions))
    if not _contradicts(graph, contested, model, chosen):
        return ()
    for number in range(graph.transactions):
        if _contradicts(graph, contested, model, chosen - {number}):
            chosen -= {number}
    return tuple(sorted(chosen))


def _contradicts(
    graph: Graph, contested: Sequence[Contested], model: ConsistencyModel, chosen: frozenset[int]
) -> bool:
    """Whether no version order explains the chosen transactions, even if there were no others.

    False also if the budget is exhausted before that is known.
    """
    snapshots = "G2-item" not in RULES[model].anomalies
    order = _Order(graph, RULES[model].layer, chosen, snapshots=snapshots)
    ends = np.where(graph.end == NONE, NEVER, graph.end)
    pairs = [
        (one, other)
        for each in contested
        for one, other in combinations(sorted(each.versions, key=lambda one: int(ends[one.writer])), 2)
        if one.writer in chosen and other.writer in chosen
    ]
    if len(pairs) > PAIRS_MAX:
        return False
    left = _settled(order, pairs)
    if left is None:
        return True
    for _ in range(_ROUNDS):
        place = _first_misfit(order.copy(), left)
        if place is None:
            return False
        # The pairs that are hardest to order come first, so that unrelated pairs are not tried.
        left = [left[place], *left[:place], *left[place + 1 :]]
    try:
        return not _some_order(order, left, iter(range(TRIES_MAX)))
    except _Exhausted:
        return False


def _first_misfit(order: "_Order", pairs: list[tuple[Version, Version]]) -> int | None:
    """Order one pair after the other, as given or reversed; return the first pair that allows neither."""
    for place, (one, other) in enumerate(pairs):
        earlier, later = (one, other) if order.admits(one, other) else (other, one)
        if not order.admits(earlier, later):
            return place
        order.add(earlier, later)
    return None


def _some_order(order: "_Order", pairs: list[tuple[Version, Version]], tries: Iterator[int]) -> bool:
    """Whether all pairs can be ordered.

    Raises:
        _Exhausted: there are no tries left.
    """
    left = _settled(order, pairs)
    if not left:
        return left is not None
    (one, other), *rest = left
    for earlier, later in ((one, other), (other, one)):
        if next(tries, None) is None:
            raise _Exhausted
        attempt = order.copy()
        attempt.add(earlier, later)
        if _some_order(attempt, rest, tries):
            return True
    return False


def _settled(order: "_Order", pairs: list[tuple[Version, Version]]) -> list[tuple[Version, Version]] | None:
    """Order the pairs that allow only one order.

    Returns the remaining pairs, or None if a pair allows neither.
    """
    while True:
        left = []
        for one, other in pairs:
            forward, backward = order.admits(one, other), order.admits(other, one)
            if forward and backward:
                left.append((one, other))
            elif forward:
                order.add(one, other)
            elif backward:
                order.add(other, one)
            else:
                return None
        if len(left) == len(pairs):
            return left
        pairs = left


class _Order:
    """The nodes that each node reaches, as one bit set (an int) for each node.

    Args:
        graph: the graph.
        layer: the last layer whose edges count.
        chosen: transactions that count.
        snapshots: whether to unfold the graph.
    """

    def __init__(self, graph: Graph, layer: Layer, chosen: frozenset[int], *, snapshots: bool) -> None:
        edges = graph.edges
        counts = np.ones(graph.nodes, dtype=np.bool_)
        counts[: graph.transactions] = False
        counts[list(chosen)] = True
        rows = np.isin(edges.kind, list(_OF_LAYER[layer])) & counts[edges.source] & counts[edges.target]
        source, target, kind = edges.source[rows], edges.target[rows], edges.kind[rows]
        self._chosen = chosen
        self._shift = graph.nodes if snapshots else 0
        if snapshots:
            source, target, _ = layered(source, target, kind, graph.nodes)
        self._after = [0] * (graph.nodes + self._shift)
        self._before = [0] * (graph.nodes + self._shift)
        for one, other in zip(source.tolist(), target.tolist(), strict=True):
            self._link(one, other)

    def copy(self) -> "_Order":
        """Return a copy of the order, which can be extended."""
        other = object.__new__(_Order)
        other._chosen, other._shift = self._chosen, self._shift
        other._after, other._before = self._after.copy(), self._before.copy()
        return other

    def admits(self, earlier: Version, later: Version) -> bool:
        """Whether no single edge of this order of two versions closes a cycle."""
        return not any(self._after[two] >> one & 1 for one, two in self._edges(earlier, later))

    def add(self, earlier: Version, later: Version) -> None:
        """Order a version before another, if that is possible.

        The new edges lead to one writer, so a cycle of several of them contains a cycle of one of them.
        """
        for one, two in self._edges(earlier, later):
            self._link(one, two)

    def _edges(self, earlier: Version, later: Version) -> Iterable[tuple[int, int]]:
        shift = self._shift
        yield earlier.writer, later.writer
        if shift:
            yield earlier.writer + shift, later.writer
        for reader in earlier.readers:
            if reader in self._chosen and reader != later.writer:
                yield reader, later.writer + shift

    def _link(self, one: int, two: int) -> None:
        """Add an edge between two nodes, and from all predecessors of one to all successors of the other."""
        if self._after[one] >> two & 1:
            return
        behind, before = self._after[two] | 1 << two, self._before[one] | 1 << one
        for node in _bits(before):
            self._after[node] |= behind
        for node in _bits(behind):
            self._before[node] |= before


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
