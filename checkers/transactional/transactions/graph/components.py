"""Strongly connected components of edges, found in one linear pass."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from checkers.columns.tables import Booleans
from checkers.transactional.transactions.graph.adjacency import Adjacency
from checkers.transactional.transactions.graph.dependencies import EdgeKind, Kinds, Nodes

Rows = npt.NDArray[np.int64]

RW_KINDS = (EdgeKind.RW, EdgeKind.RW_BY_TIME, EdgeKind.RW_BY_PROCESS)
"""The kinds of edges that are anti-dependencies."""


class Components(NamedTuple):
    """The components that have a cycle.

    Attributes:
        label: shape (nodes,), component of each node, any number.
        cyclic: shape (components,), whether each has a cycle.
    """

    label: Nodes
    cyclic: Booleans

    @property
    def numbers(self) -> Rows:
        """Labels of the components that have a cycle."""
        return np.flatnonzero(self.cyclic)


def components_of(source: Nodes, target: Nodes, nodes: int) -> Components:
    """Find the components of a graph without edges from a node to itself.

    Args:
        source: shape (n,), source of each edge.
        target: shape (n,), target of each edge.
        nodes: number of nodes.
    """
    count, label = Adjacency(source, target, nodes).strong_components()
    return Components(label, np.bincount(label, minlength=count) > 1)


def is_rw(kind: Kinds) -> Booleans:
    """Which edges are anti-dependencies."""
    return np.isin(kind, RW_KINDS)


class UnfoldedEdges(NamedTuple):
    """Source, target and row of the original edge, for each unfolded edge."""

    source: Nodes
    target: Nodes
    row: Rows


def layered(source: Nodes, target: Nodes, kind: Kinds, nodes: int) -> UnfoldedEdges:
    """Unfold a graph so that it has only the cycles without two adjacent anti-dependencies.

    Node ``nodes + v`` stands for v reached by an anti-dependency, and node v for v reached by another edge.
    No anti-dependency leaves node ``nodes + v`` (Cerone and Gotsman, 2018, theorem 9: snapshot isolation
    excludes exactly such cycles).
    """
    rw, via = is_rw(kind), kind == EdgeKind.VIA
    plain = ~rw & ~via
    rows = np.flatnonzero(plain)
    anti, onward = np.flatnonzero(rw), np.flatnonzero(via)
    begins = np.concatenate((source[rows], source[rows] + nodes, source[anti], source[onward] + nodes))
    ends = np.concatenate((target[rows], target[rows], target[anti] + nodes, target[onward] + nodes))
    return UnfoldedEdges(begins, ends, np.concatenate((rows, rows, anti, onward)))
