"""Edges between the transactions of a list-append history, and the reason for each."""

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers, SendOutcome
from checkers.history.operations import History
from checkers.transactional.transactions.cycles.cycle import CycleStep
from checkers.transactional.transactions.cycles.version_orders import Contested, Version
from checkers.transactional.transactions.graph.dependencies import EdgeKind, Graph, GraphBuilder
from checkers.transactional.transactions.lists.versions import Lists, is_last
from checkers.transactional.transactions.proofs.words import micro_operations, shown


def graph_of(lists: Lists, *, disputed_too: bool = True) -> Graph:
    """All edges between a history's transactions.

    A transaction with an unknown outcome counts as committed if one of its elements was read.  An element of
    a committed transaction that no read shows comes after the longest read of its key, at an unknown
    position.

    The reference of a ww edge is the target's row of appends, that of a wr or rw edge the row of the read.

    Args:
        lists: the history.
        disputed_too: whether the longest read of a key shows its order although other reads contradict it.
    """
    transactions = lists.transactions
    builder = GraphBuilder(transactions.begin, transactions.end)
    part = taking_part(lists)
    before, after = good_neighbours(lists.elements.good)
    _add_ww(builder, lists, before, disputed_too=disputed_too)
    _add_wr(builder, lists)
    _add_rw(builder, lists, after)
    _add_unread(builder, lists, before)
    builder.add_process_order(transactions.process, part)
    builder.add_real_time(part)
    return builder.graph()


def taking_part(lists: Lists) -> Booleans:
    """Which transactions certainly committed."""
    part: Booleans = lists.transactions.outcome == SendOutcome.OK
    append = lists.elements.append[lists.elements.good]
    part[lists.appends.transaction[append]] = True
    return part


def good_neighbours(good: Booleans) -> tuple[Integers, Integers]:
    """For each row, the last good row up to it and the first good row from it on; `NONE` if there is none."""
    rows = np.arange(len(good))
    before = np.maximum.accumulate(np.where(good, rows, NONE))
    after = np.minimum.accumulate(np.where(good, rows, len(good))[::-1])[::-1]
    return before, np.where(after == len(good), NONE, after)


def _add_ww(builder: GraphBuilder, lists: Lists, before: Integers, *, disputed_too: bool) -> None:
    elements, appends = lists.elements, lists.appends
    rows = np.flatnonzero(elements.good[1:]) + 1
    if not disputed_too:
        rows = rows[~_disputed(lists)[elements.key[rows]]]
    earlier = before[rows - 1]
    rows = rows[(earlier != NONE) & (elements.key[earlier] == elements.key[rows])]
    target = elements.append[rows]
    source = elements.append[before[rows - 1]]
    builder.add(EdgeKind.WW, appends.transaction[source], appends.transaction[target], target)


def _add_wr(builder: GraphBuilder, lists: Lists) -> None:
    elements, reads = lists.elements, lists.reads
    rows = np.flatnonzero(reads.agrees & (reads.length > 0))
    last = elements.base[reads.key[rows]] + reads.length[rows] - 1
    rows = rows[elements.good[last]]
    source = elements.append[elements.base[reads.key[rows]] + reads.length[rows] - 1]
    builder.add(EdgeKind.WR, lists.appends.transaction[source], reads.transaction[rows], rows)


def _add_rw(builder: GraphBuilder, lists: Lists, after: Integers) -> None:
    elements, reads = lists.elements, lists.reads
    following = elements.base[reads.key] + reads.length
    rows = np.flatnonzero(reads.agrees & (following < elements.base[reads.key + 1]))
    target = after[following[rows]]
    fits = (target != NONE) & (elements.key[target] == reads.key[rows])
    rows, target = rows[fits], target[fits]
    writer = lists.appends.transaction[elements.append[target]]
    builder.add(EdgeKind.RW, reads.transaction[rows], writer, rows)


def unread_of(lists: Lists) -> Integers:
    """Rows of committed appends that no read shows, of keys with consistent reads; each writer's last."""
    appends = lists.appends
    committed = taking_part(lists)[appends.transaction]
    unread = committed & appends.clear & (appends.place == NONE)
    free = np.flatnonzero(unread & ~_disputed(lists)[appends.key])
    return free[is_last(appends.transaction[free], appends.key[free])]


def _disputed(lists: Lists) -> Booleans:
    """For each key, whether its reads contradict each other."""
    disputed = np.zeros(len(lists.operations.keys), dtype=np.bool_)
    disputed[lists.reads.key[~lists.reads.agrees]] = True
    return disputed


def _add_unread(builder: GraphBuilder, lists: Lists, before: Integers) -> None:
    """Order the writers and readers of a key's last known version before those with unread appends."""
    elements, appends, reads = lists.elements, lists.appends, lists.reads
    unread = unread_of(lists)
    if not len(unread):
        return
    last = elements.base[appends.key[unread] + 1] - 1
    row = np.full(len(last), NONE)
    held = last >= elements.base[appends.key[unread]]
    row[held] = before[last[held]]
    known = row != NONE
    known[known] = elements.key[row[known]] == appends.key[unread[known]]
    source = appends.transaction[elements.append[row[known]]]
    builder.add(EdgeKind.WW, source, appends.transaction[unread[known]], unread[known])
    wanted = np.zeros(len(lists.operations.keys), dtype=np.bool_)
    wanted[appends.key[unread]] = True
    size = np.diff(elements.base)
    rows = np.flatnonzero(wanted[reads.key] & (reads.length == size[reads.key]))
    builder.add_fans(
        (reads.transaction[rows], reads.key[rows], rows), (appends.transaction[unread], appends.key[unread])
    )


def contested_appends(lists: Lists) -> list[Contested]:
    """Appends of each key that no read shows, if there are several."""
    by_key: dict[int, list[Version]] = {}
    for row in unread_of(lists).tolist():
        version = Version(int(lists.appends.transaction[row]), ())
        by_key.setdefault(int(lists.appends.key[row]), []).append(version)
    return [Contested(key, tuple(some)) for key, some in by_key.items() if len(some) > 1]


class ListStory:
    """Describes the transactions and the reasons for edges.

    Args:
        history: the history.
        lists: its lists.
        graph: its graph.
    """

    def __init__(self, history: History, lists: Lists, graph: Graph) -> None:
        self._history = history
        self._lists = lists
        self._graph = graph

    def transaction(self, number: int) -> str:
        """The micro-operations of a transaction."""
        return micro_operations(self._lists.transactions.values[number])

    def operations(self, number: int) -> tuple[int, ...]:
        """Positions of its invocation and its completion, if they exist."""
        return self._lists.transactions.positions(number)

    def time_ns(self, number: int) -> int:
        """The time of the last of its operations."""
        return self._history.operations[self.operations(number)[-1]].time_ns

    def because(self, step: CycleStep, source: str, target: str) -> str:
        """Why an edge holds."""
        reference = int(self._graph.edges.reference[step.edge])
        if step.kind is EdgeKind.WW:
            return self._written(step, reference, source, target)
        contents = self._lists.contents(reference)
        key = shown(self._lists.key_of(int(self._lists.reads.key[reference])))
        if step.kind is EdgeKind.WR:
            return (
                f"{source} appended {shown(contents[-1])} to {key}, and {target} read {shown(contents)} of it"
            )
        missed = shown(self._missed(step.target, reference))
        state = f"{shown(contents)} of {key}" if contents else f"{key} empty"
        return f"{source} read {state}, and {target} appended {missed}, which is not in it"

    def _written(self, step: CycleStep, append: int, source: str, target: str) -> str:
        lists = self._lists
        key = int(lists.appends.key[append])
        element, name = shown(lists.element(append)), shown(lists.key_of(key))
        place = int(lists.appends.place[append])
        base, end = lists.elements.base[key : key + 2].tolist()
        rows = lists.elements.append[base : end if place == NONE else base + place]
        mine = [int(row) for row in rows if row >= 0 and lists.appends.transaction[row] == step.source]
        earlier = shown(lists.element(mine[-1]))
        behind = "after it" if place != NONE else "after all elements of it that were read"
        return f"{source} appended {earlier} to {name}, and {target} appended {element} {behind}"

    def _missed(self, transaction: int, read: int) -> object:
        """An element that a transaction appended to the key of a read that does not show it."""
        lists = self._lists
        low, high = np.searchsorted(lists.appends.transaction, [transaction, transaction + 1])
        key, length = lists.reads.key[read], lists.reads.length[read]
        places = lists.appends.place
        rows = (row for row in range(int(low), int(high)) if lists.appends.key[row] == key)
        return lists.element(next(row for row in rows if places[row] == NONE or places[row] >= length))
