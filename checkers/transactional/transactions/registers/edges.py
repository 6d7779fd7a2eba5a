"""Edges between the transactions of an rw-register history, and the reason for each.

The order of versions is inferred by four rules.  The initial version comes first.  A version that a
transaction wrote follows the version that it read (`registers.orders`).  By the order of one process, a
version follows another if the process's transaction ended with the other, and its next one on that key began
with it.  By real time, a version follows another if a transaction that ended with the other was complete
before a transaction began with it (`registers.zones`).  Edges from the last two rules have separate kinds,
unless keys are declared to follow these rules.
"""

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers
from checkers.history.operations import History
from checkers.transactional.transactions.cycles.cycle import CycleStep
from checkers.transactional.transactions.graph.dependencies import EdgeKind, Graph, GraphBuilder
from checkers.transactional.transactions.proofs.words import micro_operations, shown
from checkers.transactional.transactions.registers.orders import Certain, Declared, Pairs, process_pairs
from checkers.transactional.transactions.registers.versions import RegisterTransactions
from checkers.transactional.transactions.registers.zones import add_by_time

_REPLACED = ", which replaced it"
_LATER = {
    EdgeKind.RW_BY_TIME: " later, in the order of real time",
    EdgeKind.RW_BY_PROCESS: " later, in the order in which one process met them",
    EdgeKind.WW_BY_PROCESS: " later, in the order in which one process met them",
}


def graph_of(registers: RegisterTransactions, declared: Declared, certain: Certain) -> Graph:
    """All edges between a history's transactions.

    The reference of an edge is the row of micro-operations that shows it: the read of a wr or rw edge, the
    write of a ww edge.

    Args:
        registers: the history.
        declared: the declared properties of each key.
        certain: the order of versions that follows from it.
    """
    transactions = registers.transactions
    builder = GraphBuilder(transactions.begin, transactions.end)
    _add_wr(builder, registers)
    _add_pairs(builder, registers, certain.straight(registers), (EdgeKind.WW, EdgeKind.RW))
    if not declared.sequential:
        _add_pairs(
            builder, registers, process_pairs(registers), (EdgeKind.WW_BY_PROCESS, EdgeKind.RW_BY_PROCESS)
        )
    _add_first(builder, registers)
    add_by_time(builder, registers, declared_so=declared.linearizable)
    builder.add_process_order(transactions.process, registers.taking_part)
    builder.add_real_time(registers.taking_part)
    return builder.graph()


def _add_wr(builder: GraphBuilder, registers: RegisterTransactions) -> None:
    rows = registers.good_reads()
    rows = rows[registers.version[rows] < registers.initial]
    builder.add(
        EdgeKind.WR, registers.writer(registers.version[rows]), registers.operations.transaction[rows], rows
    )


def _add_pairs(
    builder: GraphBuilder, registers: RegisterTransactions, pairs: Pairs, kinds: tuple[EdgeKind, EdgeKind]
) -> None:
    """Order the writer and readers of a version before the writer of a version that follows it.

    Args:
        builder: receives the edges.
        registers: the registers.
        pairs: pairs of versions.
        kinds: kinds of the edges from writers, and from readers.
    """
    earlier, later = pairs
    target = registers.operations.transaction[later]
    source = registers.writer(earlier)
    known = (source != NONE) & registers.taking_part[source]
    builder.add(kinds[0], source[known], target[known], later[known])
    rows = registers.good_reads()
    followed = np.zeros(registers.initial + len(registers.operations.keys), dtype=np.bool_)
    followed[earlier] = True
    rows = rows[followed[registers.version[rows]]]
    builder.add_fans(
        (registers.operations.transaction[rows], registers.version[rows], rows),
        _distinct(target, earlier),
        kinds[1],
    )


def _distinct(target: Integers, group: Integers) -> tuple[Integers, Integers]:
    """Pairs of transaction and group, each once."""
    size = int(target.max(initial=0)) + 1
    codes = np.sort(group * size + target)
    codes = codes[np.diff(codes, prepend=NONE) != 0]
    return codes % size, codes // size


def _add_first(builder: GraphBuilder, registers: RegisterTransactions) -> None:
    """Order the readers of an initial version before all writers of the key."""
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


def overwritten(registers: RegisterTransactions) -> Booleans:
    """Which writes were replaced by their own transaction."""
    return registers.operations.write & ~registers.final


class RegisterStory:
    """Describes the transactions and the reasons for edges.

    Args:
        history: the history.
        registers: its registers.
        graph: its graph.
    """

    def __init__(self, history: History, registers: RegisterTransactions, graph: Graph) -> None:
        self._history = history
        self._registers = registers
        self._graph = graph

    def transaction(self, number: int) -> str:
        """The micro-operations of a transaction."""
        return micro_operations(self._registers.transactions.values[number])

    def operations(self, number: int) -> tuple[int, ...]:
        """Positions of its invocation and its completion, if they exist."""
        return self._registers.transactions.positions(number)

    def time_ns(self, number: int) -> int:
        """The time of the last of its operations."""
        return self._history.operations[self.operations(number)[-1]].time_ns

    def because(self, step: CycleStep, source: str, target: str) -> str:
        """Why an edge holds."""
        registers = self._registers
        row = int(self._graph.edges.reference[step.edge])
        key, value = shown(registers.key_of(row)), shown(registers.value(row))
        if step.kind is EdgeKind.WR:
            return f"{source} wrote {value} to {key}, and {target} read it"
        if step.kind in {EdgeKind.WW, EdgeKind.WW_BY_PROCESS}:
            return self._overwritten(step, row, source, target)
        other = shown(self._written(step.target, int(registers.operations.key[row])))
        return f"{source} read {value} of {key}, and {target} wrote {other}{_LATER.get(step.kind, _REPLACED)}"

    def _overwritten(self, step: CycleStep, row: int, source: str, target: str) -> str:
        """Why the write of one transaction follows an operation of another."""
        code = int(self._registers.operations.key[row])
        key = shown(self._registers.key_of(row))
        other, value = (shown(self._written(number, code)) for number in (step.source, step.target))
        if step.kind is EdgeKind.WW and self._read(step.target, step.source, row):
            return f"{target} read what {source} had written to {key}, and replaced it by {value}"
        how = _LATER.get(step.kind, " later, as the order of its versions is declared to be")
        return f"{source} wrote {other} to {key}, and {target} wrote {value}{how}"

    def _read(self, reader: int, writer: int, row: int) -> bool:
        """Whether one transaction read a value that another wrote to the key of a row."""
        registers = self._registers
        mine = registers.operations.transaction == reader
        mine &= (registers.operations.key == registers.operations.key[row]) & ~registers.operations.write
        return bool((registers.writer(registers.version[mine]) == writer).any())

    def _written(self, transaction: int, key: int) -> object:
        """The last value that a transaction wrote to a key."""
        operations = self._registers.operations
        low, high = np.searchsorted(operations.transaction, [transaction, transaction + 1])
        mine = [row for row in range(int(low), int(high)) if operations.key[row] == key]
        return self._registers.value(next(row for row in reversed(mine) if operations.write[row]))
