"""Adjacency matrices, and scipy's algorithms on them.

scipy takes half as long to load as all checkers, and most histories have no transactions.  So it is loaded
when the first matrix is created.
"""

from typing import TYPE_CHECKING, cast

import numpy as np

from checkers.transactional.transactions.graph.dependencies import Nodes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Adjacency:
    """The edges of a graph, each once.

    Args:
        source: shape (n,), source of each edge.
        target: shape (n,), target of each edge.
        nodes: number of nodes.
    """

    def __init__(self, source: Nodes, target: Nodes, nodes: int) -> None:
        from scipy.sparse import coo_matrix  # noqa: PLC0415 - see the module's docstring

        ones = np.ones(len(source), dtype=np.float64)
        self._matrix: csr_matrix = coo_matrix((ones, (source, target)), shape=(nodes, nodes)).tocsr()

    def strong_components(self) -> tuple[int, Nodes]:
        """The number of strongly connected components, and the component number of each node."""
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - see the module's docstring

        count, label = connected_components(self._matrix, directed=True, connection="strong")
        return int(count), cast("Nodes", label)

    def breadth_first(self, first: int) -> Nodes:
        """The predecessor of each node on a shortest path from a first node; negative if there is no path."""
        from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415 - see the module's docstring

        _, before = breadth_first_order(self._matrix, first, directed=True, return_predecessors=True)
        return cast("Nodes", before)
