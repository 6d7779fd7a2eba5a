"""Cycles: finds a short one in a component, and derives its anomaly from its edges."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, NONE
from checkers.transactional.transactions.graph.adjacency import Adjacency
from checkers.transactional.transactions.graph.components import RW_KINDS, Rows, is_rw, layered
from checkers.transactional.transactions.graph.dependencies import EdgeKind, Graph, Nodes
from checkers.transactional.transactions.models.consistency import Layer, suffixed

VISITS = 4_000_000
"""Number of edges that the search in one component may visit before it uses the best result so far."""
STARTS = 64
"""The largest number of edges of one component from which a cycle is searched."""


class CycleStep(NamedTuple):
    """A step of a cycle: one transaction comes before another.

    Attributes:
        source: the transaction that comes first.
        target: the transaction that comes later.
        kind: the kind of the dependency; never `EdgeKind.VIA`.
        edge: row in the graph of the edge that leaves the source, `NONE` for real time.
        last: row of the edge that enters the target; the same row unless there are joints in between.
    """

    source: int
    target: int
    kind: EdgeKind
    edge: int
    last: int


Cycle = tuple[CycleStep, ...]


@dataclass(frozen=True, slots=True)
class Component:
    """Edges between the nodes of one component, nodes renumbered from 0.

    Attributes:
        graph: the graph that it is part of.
        nodes: shape (nodes,), the graph's number of each node, ascending.
        edge: shape (n,), the graph's row of each edge.
        source: shape (n,), local.
        target: shape (n,), local.
    """

    graph: Graph
    nodes: Rows
    edge: Rows
    source: Nodes
    target: Nodes


def part_of(graph: Graph, edge: Rows) -> Component:
    """The part of a graph that consists of some of its edges."""
    ends = np.concatenate((graph.edges.source[edge], graph.edges.target[edge]))
    nodes, local = np.unique(ends, return_inverse=True)
    half = len(edge)
    return Component(
        graph, nodes.astype(np.int64), edge, local[:half].astype(np.int32), local[half:].astype(np.int32)
    )


def any_cycle(part: Component) -> Cycle:
    """A short cycle of a strongly connected part; the shortest one if the part is small."""
    search = _Search(part, np.arange(len(part.edge)), len(part.nodes), part.source, part.target)
    return _shortest(part, search.cycles(search.starts()))


def cycle_without_neighbours(part: Component) -> tuple[Cycle, bool]:
    """A cycle with a single anti-dependency if one is found, otherwise one without two adjacent ones.

    Args:
        part: a component of the unfolded graph, folded again.

    Returns:
        The cycle, and whether the search for a single anti-dependency was complete or successful.
    """
    kind = part.graph.edges.kind[part.edge]
    anti = is_rw(kind)
    plain = np.flatnonzero(~anti)
    single = _Search(part, plain, len(part.nodes), part.source[plain], part.target[plain])
    candidates = single.ranked(np.flatnonzero(anti))
    found = list(islice(single.cycles(candidates[: single.affordable]), STARTS))
    if found:
        return _shortest(part, found), True
    source, target, rows = layered(part.source, part.target, kind, len(part.nodes))
    search = _Search(part, rows, 2 * len(part.nodes), source, target)
    starts = search.ranked(np.flatnonzero(anti))[: min(STARTS, search.affordable)]
    walks = list(search.cycles(starts, shift=len(part.nodes)))
    simple = [walk for walk in walks if len({int(part.source[row]) for row in walk}) == len(walk)]
    return _shortest(part, simple or walks), len(candidates) <= single.affordable


class _Search:
    """Breadth-first searches over some edges of a part.

    Args:
        part: the part.
        rows: shape (m,), rows of the part that may be used.
        nodes: number of nodes.
        source: shape (m,), source of each edge.
        target: shape (m,), target of each edge.
    """

    def __init__(self, part: Component, rows: Rows, nodes: int, source: Nodes, target: Nodes) -> None:
        self._part = part
        self._nodes = nodes
        self._adjacency = Adjacency(source, target, nodes)
        kind = part.graph.edges.kind[part.edge[rows]]
        order = np.lexsort((rows, kind, target, source))
        self._rows = rows[order]
        self._hops = source[order].astype(np.int64) * nodes + target[order]

    @property
    def affordable(self) -> int:
        """Number of searches that the budget allows."""
        return int(max(4, VISITS // max(1, len(self._hops))))

    def starts(self) -> Rows:
        """Edges from which a cycle is searched."""
        return self.ranked(np.arange(len(self._part.edge)))[: min(STARTS, self.affordable)]

    def ranked(self, rows: Rows) -> Rows:
        """Edges of the part, those first whose target ended longest before their source began."""
        graph, part = self._part.graph, self._part
        source, target = part.nodes[part.source[rows]], part.nodes[part.target[rows]]
        last = graph.transactions - 1
        known = (source <= last) & (target <= last)
        ended = graph.end[np.minimum(target, last)]
        back = graph.begin[np.minimum(source, last)] - ended
        back = np.where(known & (ended != NONE), back, np.iinfo(np.int64).min + 1)
        return rows[np.lexsort((rows, -back))]

    def cycles(self, starts: Rows, shift: int = 0) -> Iterator[list[int]]:
        """The shortest cycle through each edge, if there is one, as rows of the part.

        Args:
            starts: rows of the part.
            shift: in an unfolded graph, the number that is added to their targets' numbers.
        """
        for row in starts.tolist():
            path = self._path(int(self._part.target[row]) + shift, int(self._part.source[row]))
            if path is not None:
                yield [row, *path]

    def _path(self, first: int, last: int) -> list[int] | None:
        """Rows of the shortest path between two nodes."""
        before = self._adjacency.breadth_first(first)
        if before[last] < 0 and first != last:
            return None
        nodes = [last]
        while nodes[-1] != first:
            nodes.append(int(before[nodes[-1]]))
        nodes.reverse()
        hops = [one * self._nodes + other for one, other in pairwise(nodes)]
        return [int(row) for row in self._rows[np.searchsorted(self._hops, hops)]]


def _shortest(part: Component, cycles: Iterable[list[int]]) -> Cycle:
    """The shortest of some cycles, counted in transactions; the first of equal ones."""
    return min((_shortened(part.graph, _steps(part, rows)) for rows in cycles), key=len)


def _steps(part: Component, rows: list[int]) -> Cycle:
    """The cycle of transactions for a cycle of edges, from the transaction that began first."""
    graph = part.graph
    edges = [int(part.edge[row]) for row in rows]
    sources = [int(graph.edges.source[edge]) for edge in edges]
    shown = [place for place, node in enumerate(sources) if node < graph.transactions]
    steps = []
    for place, following in zip(shown, [*shown[1:], shown[0] + len(edges)], strict=True):
        kind = EdgeKind(graph.edges.kind[edges[place]])
        edge, last = edges[place], edges[(following - 1) % len(edges)]
        target = int(graph.edges.target[last])
        steps.append(CycleStep(sources[place], target, kind, edge, last))
    return _rotated(graph, steps)


def _rotated(graph: Graph, steps: list[CycleStep]) -> Cycle:
    first = min(range(len(steps)), key=lambda place: (int(graph.begin[steps[place].source]), place))
    return (*steps[first:], *steps[:first])


def _shortened(graph: Graph, cycle: Cycle) -> Cycle:
    """The same cycle with its longest path of real time as one step, if it depends on real time."""
    while layer_of(cycle) is Layer.REALTIME:
        shorter = _over_longest(graph, cycle)
        if len(shorter) >= len(cycle):
            break
        cycle = shorter
    return cycle


def _over_longest(graph: Graph, cycle: Cycle) -> Cycle:
    """A cycle with one path of real time as one step: the longest path from the earliest completions."""
    sources = np.array([step.source for step in cycle])
    ends, begins = graph.end[sources], graph.begin[sources]
    best, size = (0, 0), len(cycle)
    for place in np.argsort(np.where(ends == NONE, NEVER, ends), kind="stable")[:STARTS].tolist():
        reached = np.flatnonzero(np.roll(begins, -place)[1:] > ends[place])
        if ends[place] != NONE and len(reached) and int(reached[-1]) > best[0]:
            best = int(reached[-1]), place
    length, place = best
    turned = (*cycle[place:], *cycle[:place])
    over = CycleStep(turned[0].source, turned[length].target, EdgeKind.REALTIME, NONE, NONE)
    return cycle if not length else _rotated(graph, [over, *turned[length + 1 : size]])


def layer_of(cycle: Cycle) -> Layer:
    """The order on which a cycle depends."""
    kinds = {step.kind for step in cycle}
    if kinds & {EdgeKind.REALTIME, EdgeKind.RW_BY_TIME}:
        return Layer.REALTIME
    return (
        Layer.PROCESS
        if kinds & {EdgeKind.PROCESS, EdgeKind.WW_BY_PROCESS, EdgeKind.RW_BY_PROCESS}
        else Layer.DATA
    )


def name_of(cycle: Cycle) -> str:
    """The anomaly that a cycle shows (Adya, 1999, chapter 4; Kingsbury and Alvaro, Elle, 2020)."""
    anti = [step.kind in RW_KINDS for step in cycle]
    count = sum(anti)
    adjacent = any(one and other for one, other in zip(anti, [*anti[1:], anti[0]], strict=True))
    if count == 0:
        name = "G1c" if any(step.kind is EdgeKind.WR for step in cycle) else "G0"
    elif count == 1:
        name = "G-single"
    else:
        name = "G2-item" if adjacent else "G-nonadjacent"
    return suffixed(name, layer_of(cycle))
