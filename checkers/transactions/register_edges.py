"""Edges between the transactions of an rw-register history, and why each holds.

The order of versions is inferred: the initial version comes first; what a transaction wrote follows what it
read; and by real time, if a transaction that ended with one version was complete before another began with
a second one, the second follows.  What rests on the last rule has a kind of its own, `Kind.RW_BY_TIME`.
"""

import numpy as np

from checkers.columns import NONE, Booleans, Integers
from checkers.history import History
from checkers.transactions.components import components_of
from checkers.transactions.cycles import Step
from checkers.transactions.graph import Graph, GraphBuilder, Kind
from checkers.transactions.register_zones import add_by_time
from checkers.transactions.registers import Registers
from checkers.transactions.telling import micro_operations, shown


def graph_of(registers: Registers) -> Graph:
    """All that a history says about the order of its transactions.

    The reference of an edge is the row of micro-operations that shows it: the read of a wr or rw edge, the
    write of a ww edge.
    """
    transactions = registers.transactions
    builder = GraphBuilder(transactions.begin, transactions.end)
    _add_wr(builder, registers)
    _add_followers(builder, registers)
    _add_first(builder, registers)
    add_by_time(builder, registers)
    builder.add_process_order(transactions.process, registers.taking_part)
    builder.add_real_time(registers.taking_part)
    return builder.graph()


def _add_wr(builder: GraphBuilder, registers: Registers) -> None:
    rows = registers.good_reads()
    rows = rows[registers.version[rows] < registers.initial]
    builder.add(
        Kind.WR, registers.writer(registers.version[rows]), registers.operations.transaction[rows], rows
    )


def succession_of(registers: Registers) -> tuple[Integers, Integers]:
    """Version that a transaction read first, and the version by which it replaced it; one row each."""
    operations, touches = registers.operations, registers.touches
    read = touches.updates(operations, registers.ok)
    finals = np.flatnonzero(registers.final)
    codes = operations.transaction * len(operations.keys) + operations.key
    order = finals[np.argsort(codes[finals], kind="stable")]
    later = order[np.searchsorted(codes[order], codes[read])] if len(order) else read
    known = (registers.version[read] >= 0) & (registers.version[later] >= 0)
    return registers.version[read[known]], later[known]


def circular_keys(registers: Registers) -> Integers:
    """Keys whose versions follow each other in a circle."""
    earlier, later = succession_of(registers)
    apart = earlier != later
    nodes = registers.initial + len(registers.operations.keys)
    ends = earlier[apart].astype(np.int32), later[apart].astype(np.int32)
    components = components_of(*ends, nodes)
    label = components.label[ends[0]]
    within = components.cyclic[label] & (label == components.label[ends[1]])
    return np.unique(registers.operations.key[ends[1][within]])


def _add_followers(builder: GraphBuilder, registers: Registers) -> None:
    """Whoever wrote or read a version comes before whoever read and replaced it."""
    earlier, later = succession_of(registers)
    straight = ~np.isin(registers.operations.key[later], circular_keys(registers))
    earlier, later = earlier[straight], later[straight]
    target = registers.operations.transaction[later]
    source = registers.writer(earlier)
    known = (source != NONE) & registers.taking_part[source]
    builder.add(Kind.WW, source[known], target[known], later[known])
    rows = registers.good_reads()
    rows = rows[np.isin(registers.version[rows], earlier)]
    builder.add_fans(
        (registers.operations.transaction[rows], registers.version[rows], rows), (target, earlier)
    )


def _add_first(builder: GraphBuilder, registers: Registers) -> None:
    """Whoever read the initial version comes before everyone who wrote to the key."""
    operations = registers.operations
    rows = registers.good_reads()
    rows = rows[registers.version[rows] >= registers.initial]
    wanted = np.zeros(len(operations.keys), dtype=np.bool_)
    wanted[operations.key[rows]] = True
    writes = np.flatnonzero(
        registers.final & registers.taking_part[operations.transaction] & wanted[operations.key]
    )
    builder.add_fans(
        (operations.transaction[rows], operations.key[rows], rows),
        (operations.transaction[writes], operations.key[writes]),
    )


def overwritten(registers: Registers) -> Booleans:
    """Which writes were replaced by their own transaction."""
    return registers.operations.write & ~registers.final


class RegisterStory:
    """Tells what transactions did and why edges hold.

    Args:
        history: the history.
        registers: its registers.
        graph: its graph.
    """

    def __init__(self, history: History, registers: Registers, graph: Graph) -> None:
        self._history = history
        self._registers = registers
        self._graph = graph

    def transaction(self, number: int) -> str:
        """Its micro-operations."""
        return micro_operations(self._registers.transactions.values[number])

    def operations(self, number: int) -> tuple[int, ...]:
        """Its invocation and its completion, as far as there are."""
        return self._registers.transactions.positions(number)

    def time_ns(self, number: int) -> int:
        """The time of the last of its operations."""
        return self._history.operations[self.operations(number)[-1]].time_ns

    def because(self, step: Step, source: str, target: str) -> str:
        """Why an edge holds."""
        registers = self._registers
        row = int(self._graph.edges.reference[step.edge])
        key, value = shown(registers.key_of(row)), shown(registers.value(row))
        if step.kind is Kind.WR:
            return f"{source} wrote {value} to {key}, and {target} read it"
        if step.kind is Kind.WW:
            return f"{target} read what {source} had written to {key}, and replaced it by {value}"
        other = shown(self._written(step.target, int(registers.operations.key[row])))
        how = " later, in the order of real time" if step.kind is Kind.RW_BY_TIME else ", which replaced it"
        return f"{source} read {value} of {key}, and {target} wrote {other}{how}"

    def _written(self, transaction: int, key: int) -> object:
        """The last that a transaction wrote to a key."""
        operations = self._registers.operations
        low, high = np.searchsorted(operations.transaction, [transaction, transaction + 1])
        mine = [row for row in range(int(low), int(high)) if operations.key[row] == key]
        return self._registers.value(next(row for row in reversed(mine) if operations.write[row]))
