"""The transaction checkers against brute force: every order of at most six transactions, every model."""

import pytest

from checkers.transactional.transactions import ConsistencyModel, check_list_append, check_rw_register
from checkers.verdict.verdict import Validity
from tests.checkers.transactional.transactions.model_oracle import allows
from tests.checkers.transactional.transactions.tiny_histories import tiny
from tests.checkers.transactional.transactions.transaction_histories import history_of

_M = ConsistencyModel
MODELS = tuple(ConsistencyModel)
HISTORIES = 1_200
"""Of each notation, each held to one model; all nine in turn."""


@pytest.mark.slow
@pytest.mark.no_cover  # tracing takes as long as judging, and other tests reach every branch
@pytest.mark.parametrize("registers", [False, True], ids=["lists", "registers"])
def test_the_checkers_say_what_the_definitions_say(*, registers: bool) -> None:
    check = check_rw_register if registers else check_list_append
    agreed = {True: 0, False: 0}
    for seed in range(HISTORIES):
        history, model = tiny(seed, registers=registers), MODELS[seed % len(MODELS)]
        expected = allows(model, history)
        result = check(history, model)
        assert (result.validity is Validity.VALID) == expected, (seed, model, result.counts)
        agreed[expected] += 1
    assert min(agreed.values()) > HISTORIES / 4


@pytest.mark.slow
@pytest.mark.no_cover  # tracing takes as long as judging, and other tests reach every branch
def test_registers_that_begin_with_something_are_judged_by_the_definitions_too() -> None:
    agreed = {True: 0, False: 0}
    for seed in range(300):
        history, model = tiny(seed, registers=True, begin=99), MODELS[seed % len(MODELS)]
        expected = allows(model, history, 99)
        result = check_rw_register(history, model, begin=99)
        assert (result.validity is Validity.VALID) == expected, (seed, model, result.counts)
        agreed[expected] += 1
    assert min(agreed.values()) > 50


WEAKEST = (
    # Adya (1999): dirty write, H-wcycle: T1 and T2 write x and y in two orders.
    ("lists", "0 > ax1 ay1\n 1 > ax2 ay2\n 0 < ax1 ay1\n 1 < ax2 ay2\n 2 rx12 ry21", None),
    # H1: dirty read of a transfer that is not done (Berenson and others, 1995).
    ("registers", "0 > wx10 wx40\n 1 > rx\n 0 < wx10 wx40\n 1 < rx10", _M.READ_UNCOMMITTED),
    # An aborted read.
    ("registers", "0 > wx1\n 0 ! wx1\n 1 rx1", _M.READ_UNCOMMITTED),
    # H2: read skew, which a reader at read committed may see.
    ("registers", "0 wx5 wy5\n 1 > rx ry\n 2 > wx1 wy9\n 2 < wx1 wy9\n 1 < rx5 ry9", _M.READ_COMMITTED),
    # Lost update (P4).
    ("registers", "0 wx1\n 1 > rx wx2\n 2 > rx wx3\n 1 < rx1 wx2\n 2 < rx1 wx3", _M.READ_COMMITTED),
    # H5: write skew (A5B), the classic of snapshot isolation.
    (
        "registers",
        "0 wx5 wy5\n 1 > rx ry wy4\n 2 > rx ry wx4\n 1 < rx5 ry5 wy4\n 2 < rx5 ry5 wx4",
        _M.SNAPSHOT_ISOLATION,
    ),
    # A read-only transaction that only snapshot isolation allows (Fekete, O'Neil and O'Neil, 2004).
    (
        "registers",
        "1 > rx ry wx1\n 2 > ry wy2\n 2 < ry_ wy2\n 3 rx_ ry2\n 1 < rx_ ry_ wx1",
        _M.SNAPSHOT_ISOLATION,
    ),
    # A long fork, which parallel snapshot isolation allows and snapshot isolation does not.
    (
        "registers",
        "0 > wx1\n 1 > wy1\n 2 > rx ry\n 3 > rx ry\n 0 < wx1\n 1 < wy1\n 2 < rx1 ry_\n 3 < rx_ ry1",
        _M.READ_COMMITTED,
    ),
    # Elle's paper, figure 1 and 3 in miniature: a read that misses an append that it depends on.
    ("lists", "0 > ax1 ay1\n 1 > rx ry\n 0 < ax1 ay1\n 1 < rx1 ry", _M.READ_COMMITTED),
    # Kingsbury and Alvaro, section 7: a transaction appends and does not see it.
    ("lists", "0 ax6 rx", _M.READ_COMMITTED),
    # Circular information flow.
    ("lists", "0 > ax1 ry\n 1 > ay1 rx\n 0 < ax1 ry1\n 1 < ay1 rx1", _M.READ_UNCOMMITTED),
    # A read of what the reader itself does later, which Elle calls a future read: G1c of one transaction.
    ("registers", "0 rx1 wx1", _M.READ_UNCOMMITTED),
    ("lists", "0 rx1 ax1", _M.READ_UNCOMMITTED),
    # Stale reads: only real time forbids them.
    ("registers", "0 wx1\n 1 rx_", _M.STRONG_SESSION_SERIALIZABLE),
    ("lists", "0 ax1\n 0 rx", _M.SERIALIZABLE),
    ("registers", "0 wx1\n 0 rx1", _M.STRICT_SERIALIZABLE),
)
"""Textbook histories, each with the strongest model on the way to strict serializability that allows it."""

_CHAIN = (
    _M.READ_UNCOMMITTED,
    _M.READ_COMMITTED,
    _M.SNAPSHOT_ISOLATION,
    _M.SERIALIZABLE,
    _M.STRONG_SESSION_SERIALIZABLE,
    _M.STRICT_SERIALIZABLE,
)


@pytest.mark.parametrize(("notation", "text", "strongest"), WEAKEST)
def test_textbook_histories(notation: str, text: str, strongest: ConsistencyModel | None) -> None:
    """The oracle judges them as the books do, and so do the checkers."""
    registers = notation == "registers"
    history = history_of(text, registers=registers)
    allowed = () if strongest is None else _CHAIN[: _CHAIN.index(strongest) + 1]
    assert tuple(model for model in _CHAIN if allows(model, history)) == allowed
    check = check_rw_register if registers else check_list_append
    assert tuple(m for m in _CHAIN if check(history, m).validity is Validity.VALID) == allowed
