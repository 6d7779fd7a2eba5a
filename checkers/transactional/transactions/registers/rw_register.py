"""Judges Elle's rw-register histories: transactions that write registers with unique values and read them.

1. The value of a read identifies the version that it saw.  The order of versions is inferred where it is
   certain (`registers.edges`).
2. Anomalies of single reads and transactions are ``internal``, ``G1a``, ``G1b``, ``lost-update``,
   ``phantom``, ``cyclic-versions`` (`registers.findings`).
3. Edges are derived from versions, and cycles from edges (`proofs.judging`).
"""

from functools import partial

from checkers.history.operations import History
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
from checkers.transactional.transactions.registers.edges import RegisterStory, graph_of
from checkers.transactional.transactions.registers.findings import find_in_registers, unclear_write
from checkers.transactional.transactions.registers.orders import (
    NOTHING_DECLARED,
    Declared,
    certain_order,
    contested_versions,
)
from checkers.transactional.transactions.registers.versions import registers_of
from checkers.verdict.verdict import CheckerResult, result_of

CHECKER = "rw-register"
"""Name of the checker, as in verdicts."""


def check_rw_register(
    history: History,
    model: ConsistencyModel = ConsistencyModel.STRICT_SERIALIZABLE,
    declared: Declared = NOTHING_DECLARED,
    begin: object = None,
) -> CheckerResult:
    """Judge an rw-register history.

    Args:
        history: operations whose value is a list of ``["w", key, value]``, values unique for each key, and
            ``["r", key, value]`` (null in an invocation, and for the initial state); real time is the order
            of operations.
        model: the consistency model that the history must satisfy; anomalies that it allows are reported as
            legal.
        declared: properties of each key, independent of the model.
        begin: initial value of every register; or a map from keys to initial values, null for others.
    """
    # If transactions may read any write, the write of a transaction need not follow its read.
    if model is not ConsistencyModel.READ_UNCOMMITTED:
        declared = declared._replace(writes_follow_reads=True)
    try:
        transactions = transactions_of(history, names_of_transactions(history))
        registers = registers_of(transactions, micro_operations_of(transactions, "w"), begin)
    except UnreadableError as error:
        return result_of(CHECKER, [], unknown_because=str(error))
    certain = certain_order(registers, declared)
    graph = graph_of(registers, declared, certain)
    story = RegisterStory(history, registers, graph)
    judged = judge_edges(graph, story, lambda identity: forbids(model, identity))
    unclear = unclear_write(registers)
    unsettled = Unsettled(
        graph, partial(contested_versions, registers), lambda key: shown(registers.operations.keys[key])
    )
    return result_with(
        CHECKER,
        judged,
        find_in_registers(registers, story, model, certain),
        partial(of_orders, unsettled, story, model),
        sizes={
            "transactions": len(transactions.begin),
            "micro_operations": len(registers.operations.key),
            "keys": len(registers.operations.keys),
        },
        doubts=[*history.damage, *transactions.malformed, *([unclear] if unclear else [])],
        model=model,
    )
