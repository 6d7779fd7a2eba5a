"""Judges transactions by the graph of their dependencies.

The method is Adya's (Weak Consistency, 1999), which Kingsbury and Alvaro applied to clients' observations
(Elle: Inferring Isolation Anomalies from Experimental Observations, 2020).

**Fronts** find the dependencies, each for one kind of history:

- `check_list_append`: lists that are appended to; a read shows the whole order of versions (`lists`).
- `check_rw_register`: registers with unique values; the order of versions is inferred (`registers`).
- `check_transactions`: Kafka's own transactions; offsets are the order of versions (`kafka`).

**The kernel** judges the edges of any front:

1. A front adds its edges to a `GraphBuilder`: ``ww``, ``wr`` and ``rw`` with a reference that it can explain
   later; the order of processes; real time by a chain of barriers, so that n transactions need at most 4 n
   edges; fans, for readers that miss many writers, in linear size too.
2.  `find_cycles` searches for strongly connected components.  If there is none, the history is valid after
    one pass.
3.  Otherwise each class of anomalies is searched for in the sub-graph of its edge kinds: ``G0`` in ww, and
    ``G1c`` in ww and wr.  Cycles without two adjacent rw (``G-single``, ``G-nonadjacent``) are searched for
    in an unfolding of the graph that has only such cycles, and ``G2-item`` in the rest.  This is repeated
    with the order of processes and with real time.  A component is named by the first class that it shows;
    forbidden classes come before allowed ones.  Components are counted, not cycles.
4.  A breadth-first search finds a short cycle to show, within a budget.  If the budget ends the search for a
    stronger class, the proof states this, and the history is still invalid.
5.  If nothing illegal was found in a small history, all undetermined orders of versions are tried
   (`cycles.version_orders`).  If no order explains the history, it is invalid.
6.  `judge_edges` makes a proof from each cycle, with the models that it rules out; `draw_cycle` draws it.

To judge edges of another source: build a `Graph`, write a `GraphDescriber` (what a transaction is, why an
edge holds), and call ``judge_edges(graph, story, forbidden)`` with a function that reports which anomaly ids
are illegal.

Real time is the order of operations in the history.  A transaction with an unknown outcome counts as
committed if one of its writes was read; otherwise it has no edges.
"""

from checkers.transactional.transactions.graph.dependencies import EdgeKind, Graph, GraphBuilder
from checkers.transactional.transactions.kafka.transactions import ENTRY, check_transactions
from checkers.transactional.transactions.lists.list_append import check_list_append
from checkers.transactional.transactions.models.consistency import ConsistencyModel
from checkers.transactional.transactions.proofs.drawing import draw_cycle
from checkers.transactional.transactions.proofs.judging import GraphDescriber, GraphResult, judge_edges
from checkers.transactional.transactions.registers.orders import NOTHING_DECLARED, Declared
from checkers.transactional.transactions.registers.rw_register import check_rw_register

__all__ = [
    "ENTRY",
    "NOTHING_DECLARED",
    "ConsistencyModel",
    "Declared",
    "EdgeKind",
    "Graph",
    "GraphBuilder",
    "GraphDescriber",
    "GraphResult",
    "check_list_append",
    "check_rw_register",
    "check_transactions",
    "draw_cycle",
    "judge_edges",
]
