"""Edges between Kafka's transactions, and the reason for each.

Offsets order the records of a partition, so no order has to be inferred.  A ww edge leads from each record to
the next one, a wr edge from a record to each reader, and an rw edge from a reader to the record after the
last one that it received.  Real time adds no edges, because a consumer may lag.
"""

import numpy as np

from checkers.columns.tables import NONE, Integers, SendOutcome
from checkers.transactional.transactions.cycles.cycle import CycleStep
from checkers.transactional.transactions.graph.dependencies import EdgeKind, Graph, GraphBuilder
from checkers.transactional.transactions.kafka.records import KafkaTransactions
from checkers.transactional.transactions.operations.coding import Index
from checkers.transactional.transactions.proofs.words import micro_operations


def graph_of(kafka: KafkaTransactions) -> Graph:
    """The graph with all dependencies.

    The reference of a ww edge is the later row of `Records`, that of a wr or rw edge the row of
    `ConsumedRecords`.
    """
    builder = _builder(kafka)
    records = kafka.records
    rows = np.flatnonzero(records.partition[1:] == records.partition[:-1]) + 1
    builder.add(EdgeKind.WW, records.node[rows - 1], records.node[rows], rows)
    _add_wr(builder, kafka, np.arange(len(kafka.given.node)))
    _add_rw(builder, kafka)
    return builder.graph()


def flow_of(kafka: KafkaTransactions) -> Graph:
    """The graph with only the wr edges of read_committed readers."""
    builder = _builder(kafka)
    _add_wr(builder, kafka, np.flatnonzero(kafka.given.committed))
    return builder.graph()


def own_records(kafka: KafkaTransactions) -> Integers:
    """Rows of `ConsumedRecords` in which a transaction received its own record as a committed one.

    This is a cycle of one transaction, which is not an edge: a transaction receives records before its
    commit.
    """
    rows = np.flatnonzero(kafka.given.committed)
    given, records = kafka.given, kafka.records
    found = Index(records.partition, records.offset).find(given.partition[rows], given.offset[rows])
    known = found != NONE
    rows, found = rows[known], found[known]
    own: Integers = rows[records.node[found] == given.node[rows]]
    return own


def _builder(kafka: KafkaTransactions) -> GraphBuilder:
    sends = kafka.columns.sends
    rows = np.flatnonzero(~sends.transactional)
    ended = np.where(sends.outcome[rows] == SendOutcome.OK, sends.complete_op[rows], NONE)
    return GraphBuilder(
        np.concatenate((kafka.operations.begin, sends.invoke_op[rows])),
        np.concatenate((kafka.operations.end, ended)),
    )


def _add_wr(builder: GraphBuilder, kafka: KafkaTransactions, rows: Integers) -> None:
    given, records = kafka.given, kafka.records
    found = Index(records.partition, records.offset).find(given.partition[rows], given.offset[rows])
    rows, found = rows[found != NONE], found[found != NONE]
    builder.add(EdgeKind.WR, records.node[found], given.node[rows], rows)


def _add_rw(builder: GraphBuilder, kafka: KafkaTransactions) -> None:
    """Add rw edges from the last record of a partition that one call returned to an assigned consumer."""
    given, records = kafka.given, kafka.records
    assigned = np.append(kafka.columns.calls.assignment >= 0, [False])
    rows = np.flatnonzero((given.call != NONE) & assigned[given.call])
    rows = rows[np.lexsort((rows, given.offset[rows], given.partition[rows], given.call[rows]))]
    last = np.ones(len(rows), dtype=np.bool_)
    same = (given.call[rows][1:] == given.call[rows][:-1]) & (
        given.partition[rows][1:] == given.partition[rows][:-1]
    )
    last[:-1] = ~same
    rows = rows[last]
    # Offsets may be as large as 2⁶², so their ranks are compared.
    known, rank = np.unique(records.offset, return_inverse=True)
    codes = records.partition * (len(known) + 1) + rank
    reached = np.searchsorted(known, given.offset[rows], side="right")
    following = np.searchsorted(codes, given.partition[rows] * (len(known) + 1) + reached, side="left")
    partition = np.append(records.partition, NONE)
    fits = partition[following] == given.partition[rows]
    builder.add(EdgeKind.RW, given.node[rows[fits]], records.node[following[fits]], rows[fits])


class KafkaStory:
    """Describes transactions, polls and single records, and the reasons for edges.

    Args:
        kafka: the history.
        graph: its graph.
    """

    def __init__(self, kafka: KafkaTransactions, graph: Graph) -> None:
        self._kafka = kafka
        self._graph = graph

    def transaction(self, number: int) -> str:
        """The transaction's micro-operations, or the polled records, or the single record."""
        operations = self._kafka.operations
        if number < len(operations.begin):
            value = operations.values[number]
            if "mops" in value:
                return micro_operations(value["mops"])
            return micro_operations([["poll", *chunk] for chunk in value.get("records", ())])
        row = self._kafka.alone(number)
        sends = self._kafka.columns.sends
        name = self._kafka.partition(int(sends.partition[row]))
        value = self._kafka.columns.value_named(int(sends.value[row]))
        return micro_operations([["send", name.topic, name.partition, value]])

    def operations(self, number: int) -> tuple[int, ...]:
        """Positions of its invocation and its completion, if they exist."""
        operations = self._kafka.operations
        if number < len(operations.begin):
            return operations.positions(number)
        row, sends = self._kafka.alone(number), self._kafka.columns.sends
        both = (int(sends.invoke_op[row]), int(sends.complete_op[row]))
        return tuple(position for position in both if position != NONE)

    def time_ns(self, number: int) -> int:
        """The time of the last of its operations."""
        return self._kafka.history.operations[self.operations(number)[-1]].time_ns

    def because(self, step: CycleStep, source: str, target: str) -> str:
        """Why an edge holds."""
        reference = int(self._graph.edges.reference[step.edge])
        records, given = self._kafka.records, self._kafka.given
        if step.kind is EdgeKind.WW:
            name = self._kafka.partition(int(records.partition[reference]))
            one, other = int(records.offset[reference - 1]), int(records.offset[reference])
            return f"a record of {source} is at {name}@{one}, and one of {target} at {name}@{other}"
        name = self._kafka.partition(int(given.partition[reference]))
        offset = int(given.offset[reference])
        if step.kind is EdgeKind.WR:
            return f"{target} received the record of {source} at {name}@{offset}"
        mine = (records.node == step.target) & (records.partition == given.partition[reference])
        place = int(records.offset[mine & (records.offset > offset)].min())
        return f"{source} read {name} to offset {offset}, and {target} wrote the record at {name}@{place}"
