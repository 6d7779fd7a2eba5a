"""Tries all version orders that are not determined, in small histories.

Which of two writes came first is often unknown: if no transaction replaced a register's version after reading
it, or if no transaction read two appends.  To find whether *some* order explains a history is NP-complete
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
"""Largest history of which orders are tried."""
PAIRS_MAX = 1_000
"""Most pairs of versions that are ordered; with more, the result is unknown."""
TRIES_MAX = 300
"""Most orders of a pair that are assumed before the search gives up."""

_ROUNDS = 4
"""How often pairs are ordered without trying anything, what failed first each time."""
_OF_LAYER = {
    Layer.DATA: frozenset({EdgeKind.WW, EdgeKind.WR, EdgeKind.RW, EdgeKind.VIA}),
    Layer.PROCESS: frozenset(EdgeKind) - {EdgeKind.REALTIME, EdgeKind.RW_BY_TIME},
    Layer.REALTIME: frozenset(EdgeKind),
}


class Version(NamedTuple):
    """A version of a key whose place is not known.

    Attributes:
        writer: the transaction that wrote it.
        readers: transactions that read it.
    """

    writer: int
    readers: tuple[int, ...]


class Contested(NamedTuple):
    """Versions of one key that follow each other in some order.

    Attributes:
        key: code of the key.
        versions: its versions; each by another writer.
    """

    key: int
    versions: tuple[Version, ...]


class _Exhausted(Exception):  # noqa: N818 - it ends a search, it is no error
    """The budget is used up."""


def unexplained(graph: Graph, contested: Sequence[Contested], model: ConsistencyModel) -> tuple[int, ...]:
    """Transactions that no order of versions explains together; none where some order does, or may.

    Args:
        graph: a graph without any circle that the model forbids.
        contested: versions to be ordered.
        model: a model that forbids circles with anti-dependencies.
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
    """Whether some of the transactions alone are certainly explained by no order."""
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
        # What is hardest to order comes first, so that what has nothing to do with it is not tried.
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
    """Order what can be ordered in one way only; the pairs that are left, None if one can't be ordered."""
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
    """Which node reaches which, as one bit set (an int) for each node.

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
        """The same order, to be added to."""
        other = object.__new__(_Order)
        other._chosen, other._shift = self._chosen, self._shift
        other._after, other._before = self._after.copy(), self._before.copy()
        return other

    def admits(self, earlier: Version, later: Version) -> bool:
        """Whether no single edge of a version before another closes a circle."""
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
        """Let a node lead to another, and all before it to all behind that."""
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
