"""General linearizability: whether a model allows some order of the operations of a small history.

`check_linearizable` searches for an order of a history's operations that agrees with real time and with the
rules of a `Model`.  It works for any model, and can take exponential time.  A `SearchBudget` bounds the
search; if it is exhausted, the result is unknown.  Registers with unique values are decided faster, without a
search.
"""

from checkers.registers.linearizability.canonical import UnreadableError
from checkers.registers.linearizability.check import DEFAULT, check_linearizable
from checkers.registers.linearizability.contract import INCONSISTENT, UNKNOWN, Action, Model
from checkers.registers.linearizability.models import (
    MODELS,
    cas_register,
    fifo_queue,
    mutex,
    register,
    set_of_elements,
)
from checkers.registers.linearizability.multi_register import multi_register
from checkers.registers.linearizability.search import SearchBudget

__all__ = [
    "DEFAULT",
    "INCONSISTENT",
    "MODELS",
    "UNKNOWN",
    "Action",
    "Model",
    "SearchBudget",
    "UnreadableError",
    "cas_register",
    "check_linearizable",
    "fifo_queue",
    "multi_register",
    "mutex",
    "register",
    "set_of_elements",
]
