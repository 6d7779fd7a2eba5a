"""Judges Elle's list-append histories: transactions that append to lists and read them as a whole.

1. Reads show the order of versions: the longest read of each key is that order.  Every other read must be a
   prefix of it (`lists`); otherwise their orders are incompatible.
2. Anomalies of single reads and transactions are ``internal``, ``G1a``, ``G1b``, ``dirty-update``,
   ``lost-update``, ``duplicate-elements``, ``phantom`` (`lists.findings`).
3. Edges are derived from versions, and cycles from edges (`lists.edges`, `proofs.judging`).
"""

from functools import partial

import numpy as np

from checkers.history.operations import History
from checkers.transactional.transactions.lists.edges import ListStory, contested_appends, graph_of
from checkers.transactional.transactions.lists.findings import find_in_lists
from checkers.transactional.transactions.lists.versions import Lists, lists_of
from checkers.transactional.transactions.models.consistency import ConsistencyModel, forbids
from checkers.transactional.transactions.operations.loading import (
    UnreadableError,
    micro_operations_of,
    names_of_transactions,
    transactions_of,
)
from checkers.transactional.transactions.proofs.findings import Unsettled, of_orders
from checkers.transactional.transactions.proofs.judging import judge_edges
from checkers.transactional.transactions.proofs.words import result_with, shown
from checkers.verdict.verdict import CheckerResult, result_of

CHECKER = "list-append"
"""Name of the checker, as in verdicts."""


def check_list_append(
    history: History, model: ConsistencyModel = ConsistencyModel.STRICT_SERIALIZABLE
) -> CheckerResult:
    """Judge a list-append history.

    Args:
        history: operations whose value is a list of ``["append", key, element]`` and ``["r", key, list]``
            (null in an invocation); real time is the order of operations.
        model: the consistency model that the history must satisfy; anomalies that it allows are reported as
            legal.
    """
    try:
        transactions = transactions_of(history, names_of_transactions(history))
        lists = lists_of(transactions, micro_operations_of(transactions, "append"))
    except UnreadableError as error:
        return result_of(CHECKER, [], unknown_because=str(error))
    return _judged(history, lists, model)


def _judged(history: History, lists: Lists, model: ConsistencyModel) -> CheckerResult:
    # A transaction that may read uncommitted data may read an order that no version ever had.
    graph = graph_of(lists, disputed_too=model is not ConsistencyModel.READ_UNCOMMITTED)
    story = ListStory(history, lists, graph)
    judged = judge_edges(graph, story, lambda identity: forbids(model, identity))
    doubts = [*history.damage, *lists.transactions.malformed]
    unclear = np.flatnonzero(~lists.appends.clear)
    if len(unclear):
        row = int(unclear[0])
        what = f"{shown(lists.element(row))} to {shown(lists.key_of(int(lists.appends.key[row])))}"
        doubts.append(f"an element is appended twice, so its writer is unknown: {what}")
    unsettled = Unsettled(graph, partial(contested_appends, lists), lambda key: shown(lists.key_of(key)))
    return result_with(
        CHECKER,
        judged,
        find_in_lists(lists, story, model),
        partial(of_orders, unsettled, story, model),
        sizes={
            "transactions": len(lists.transactions.begin),
            "micro_operations": len(lists.operations.key),
            "keys": len(lists.operations.keys),
        },
        doubts=doubts,
        model=model,
    )
