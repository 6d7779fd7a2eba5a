"""Judges transactions by the graph of their dependencies.

The method is Adya's (Weak Consistency, 1999), made to work on what clients observe by Kingsbury and Alvaro
(Elle: Inferring Isolation Anomalies from Experimental Observations, 2020).

**Fronts** find out who depends on whom, each for one kind of history:

- `check_list_append`: lists that are appended to; a read shows the whole order of versions (`lists`).
- `check_rw_register`: registers with unique values; the order of versions is inferred (`registers`).
- `check_transactions`: Kafka's own transactions; offsets are the order of versions (`kafka`).

**The kernel** judges the edges, wherever they come from:

1. A front adds its edges to a `GraphBuilder`: ``ww``, ``wr`` and ``rw`` with a reference that it can explain
   later; the order of processes; real time by a chain of barriers, so that n transactions need at most 4 n
   edges; fans, for readers that miss many writers, in linear size too.
2. `find_cycles` looks for strongly connected components.  Without any the history is valid, after one pass.
3. Where there are some, each class of anomalies is sought in the sub-graph of its kinds: ``G0`` in ww,
   ``G1c`` in ww and wr; what has no two rw in a row in an unfolding of the graph in which these are the only
   cycles (``G-single``, ``G-nonadjacent``); ``G2-item`` in what is left; then all again with the order of
   processes and with real time.  A component is named by the first class that it shows, what the model
   forbids before what it allows.  Counts are of components.
4. A breadth-first search finds a short cycle to show, within a budget; where the budget cuts the search for a
   stronger class short, the proof says so, and the history is invalid all the same.
5. Where nothing illegal was found in a small history, the orders of versions that nothing settles are tried
   (`cycles.version_orders`): none may explain it.
6. `judge_edges` reports each cycle as a proof, with the models that it rules out; `draw_cycle` draws it.

To judge edges of another source: build a `Graph`, write a `Story` (what a transaction is, why an edge holds),
and call ``judge_edges(graph, story, forbidden)`` with a function that reports which anomaly ids are illegal.

Real time is the order of operations in the history.  A transaction with an unknown outcome counts as
committed where something that it wrote was read, and gives no edges otherwise.
"""

from checkers.transactional.transactions.graph.dependencies import Graph, GraphBuilder, Kind
from checkers.transactional.transactions.kafka.transactions import ENTRY, check_transactions
from checkers.transactional.transactions.lists.list_append import check_list_append
from checkers.transactional.transactions.models.consistency import ConsistencyModel
from checkers.transactional.transactions.proofs.drawing import draw_cycle
from checkers.transactional.transactions.proofs.judging import Judged, Story, judge_edges
from checkers.transactional.transactions.registers.orders import NOTHING_DECLARED, Declared
from checkers.transactional.transactions.registers.rw_register import check_rw_register

__all__ = [
    "ENTRY",
    "NOTHING_DECLARED",
    "ConsistencyModel",
    "Declared",
    "Graph",
    "GraphBuilder",
    "Judged",
    "Kind",
    "Story",
    "check_list_append",
    "check_rw_register",
    "check_transactions",
    "draw_cycle",
    "judge_edges",
]
