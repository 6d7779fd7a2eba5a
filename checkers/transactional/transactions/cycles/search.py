"""Searches a graph for anomalies.

Each component with a cycle is named by the strongest anomaly that it shows.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import Booleans
from checkers.transactional.transactions.cycles.cycle import (
    Cycle,
    any_cycle,
    cycle_without_neighbours,
    name_of,
    part_of,
)
from checkers.transactional.transactions.graph.components import RW_KINDS, Rows, components_of, layered
from checkers.transactional.transactions.graph.dependencies import EdgeKind, Graph
from checkers.transactional.transactions.models.consistency import Layer, suffixed

WITNESSES = 20
"""Components of one class in which a cycle is searched; further components are only counted."""
CLASSIFIED_MAX = 500
"""Components without adjacent anti-dependencies that are classified; others count as the weaker class."""

_DATA = (EdgeKind.WW, EdgeKind.WR, EdgeKind.RW, EdgeKind.VIA)
_BY_LAYER = {
    Layer.DATA: (),
    Layer.PROCESS: (EdgeKind.PROCESS, EdgeKind.WW_BY_PROCESS, EdgeKind.RW_BY_PROCESS),
    # Real time contains the order of each process.
    Layer.REALTIME: (EdgeKind.REALTIME, EdgeKind.RW_BY_TIME, EdgeKind.WW_BY_PROCESS, EdgeKind.RW_BY_PROCESS),
}


class Anomalous(NamedTuple):
    """A component with a cycle.

    Attributes:
        id: the anomaly that it shows, e.g. ``G1c-process``.
        cycle: the cycle.
        exact: whether a stronger anomaly in the same component is excluded; false if a search was cut short.
    """

    id: str
    cycle: Cycle
    exact: bool


@dataclass(frozen=True, slots=True)
class CyclicComponents:
    """All components with cycles.

    Attributes:
        found: at least `WITNESSES` of each class, if there are that many, in the order of the search.
        counts: number of components of each id.
        cyclic: number of components with a cycle in the whole graph.
        largest: number of nodes in the largest of them.
    """

    found: tuple[Anomalous, ...]
    counts: dict[str, int]
    cyclic: int
    largest: int


class _Class(NamedTuple):
    name: str
    layer: Layer

    @property
    def id(self) -> str:
        return suffixed(self.name, self.layer)

    @property
    def kinds(self) -> tuple[EdgeKind, ...]:
        data = {"G0": (EdgeKind.WW,), "G1c": (EdgeKind.WW, EdgeKind.WR)}.get(self.name, _DATA)
        more = _BY_LAYER[self.layer]
        return (*data, *(kind for kind in more if kind not in RW_KINDS or data is _DATA))


CLASSES = tuple(_Class(name, layer) for layer in Layer for name in ("G0", "G1c", "G-nonadjacent", "G2-item"))
"""Classes of components that are searched for, strongest first; G-single is found with G-nonadjacent."""


def find_cycles(graph: Graph, forbidden: Callable[[str], bool]) -> CyclicComponents:
    """Name every component of a graph that has a cycle.

    Without a cycle this costs one pass.  A component is named by the first class that it shows, forbidden
    classes before legal ones, so that a legal class does not hide a forbidden one.

    Args:
        graph: the graph.
        forbidden: whether the model forbids an anomaly id.
    """
    edges = graph.edges
    # Real time, if it is known, contains the order of each process.
    timed = bool((edges.kind == EdgeKind.REALTIME).any())
    rows = np.flatnonzero(edges.kind != EdgeKind.PROCESS) if timed else np.arange(len(edges.kind))
    whole = components_of(edges.source[rows], edges.target[rows], graph.nodes)
    cyclic = whole.numbers
    if not len(cyclic):
        return CyclicComponents((), {}, 0, 0)
    label = whole.label
    within = whole.cyclic[label[edges.source]] & (label[edges.source] == label[edges.target])
    region = _Region(graph, np.flatnonzero(within))
    counts: dict[str, int] = {}
    found = []
    for each in sorted(CLASSES, key=lambda each: not forbidden(each.id)):
        for one in region.of_class(each):
            found.extend([one] if one.cycle else [])
            counts[one.id] = counts.get(one.id, 0) + 1
    largest = int(np.bincount(label[whole.cyclic[label]]).max())
    return CyclicComponents(tuple(found), counts, len(cyclic), largest)


class _Region:
    """The part of a graph that has cycles.

    Args:
        graph: the graph.
        rows: the edges within components.
    """

    def __init__(self, graph: Graph, rows: Rows) -> None:
        self._graph = graph
        self._part = part_of(graph, rows)
        self._kind = graph.edges.kind[rows]
        self._cyclic: dict[Layer, bool] = {}
        self._explained = np.zeros(len(self._part.nodes), dtype=np.bool_)

    def of_class(self, each: _Class) -> Iterator[Anomalous]:
        """Components that show a class and no class that was searched before."""
        if not self._has_cycles(each.layer):
            return
        rows = np.flatnonzero(np.isin(self._kind, each.kinds))
        unfold = each.name == "G-nonadjacent"
        groups = self._unfolded(rows) if unfold else self._plain(rows)
        for place, group in enumerate(groups):
            # One component of the graph may unfold into two that are equal when folded again.
            if self._explained[self._part.source[group]].any():
                continue
            self._explained[self._part.source[group]] = True
            if place >= (CLASSIFIED_MAX if unfold else WITNESSES):
                yield Anomalous(each.id, (), exact=False)
                continue
            part = part_of(self._graph, self._part.edge[group])
            cycle, exact = cycle_without_neighbours(part) if unfold else (any_cycle(part), True)
            yield Anomalous(name_of(cycle), cycle, exact)

    def _has_cycles(self, layer: Layer) -> bool:
        """Whether there is any cycle of a layer's kinds; otherwise no class has to be searched."""
        if layer not in self._cyclic:
            rows = np.flatnonzero(np.isin(self._kind, _Class("G2-item", layer).kinds))
            source, target = self._part.source[rows], self._part.target[rows]
            components = components_of(source, target, len(self._part.nodes))
            self._cyclic[layer] = bool(components.cyclic.any())
        return self._cyclic[layer]

    def _plain(self, rows: Rows) -> Iterable[Rows]:
        source, target = self._part.source[rows], self._part.target[rows]
        components = components_of(source, target, len(self._part.nodes))
        label = components.label
        within = components.cyclic[label[source]] & (label[source] == label[target])
        explained = np.bincount(label[self._explained], minlength=len(components.cyclic)) > 0
        within &= ~explained[label[source]]
        return _grouped(rows[within], label[source[within]])

    def _unfolded(self, rows: Rows) -> Iterable[Rows]:
        nodes = len(self._part.nodes)
        source, target, of = layered(
            self._part.source[rows], self._part.target[rows], self._kind[rows], nodes
        )
        components = components_of(source, target, 2 * nodes)
        label = components.label
        within = components.cyclic[label[source]] & (label[source] == label[target])
        twice = np.concatenate((self._explained, self._explained))
        explained = np.bincount(label[twice], minlength=len(components.cyclic)) > 0
        within &= ~explained[label[source]]
        return [_distinct(group) for group in _grouped(rows[of[within]], label[source[within]])]


def _distinct(rows: Rows) -> Rows:
    """Distinct rows in order; faster than numpy's unique, which hashes."""
    ordered = np.sort(rows)
    first: Booleans = np.diff(ordered, prepend=-1) != 0
    return ordered[first]


def _grouped(rows: Rows, label: Rows) -> list[Rows]:
    """Rows by label; groups in the order of their first row."""
    if not len(rows):
        return []
    order = np.argsort(label, kind="stable")
    bounds = np.flatnonzero(np.diff(label[order])) + 1
    groups = np.split(rows[order], bounds)
    return sorted(groups, key=lambda group: int(group.min()))
