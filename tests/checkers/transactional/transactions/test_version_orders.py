"""Orders of versions that nothing settles: each is tried; where none explains a history that is reported."""

import pytest

from checkers.transactional.transactions import ConsistencyModel
from checkers.transactional.transactions.cycles import version_orders
from checkers.verdict.verdict import Validity
from tests.checkers.transactional.transactions.transaction_histories import lists, only, registers

_M = ConsistencyModel

FORCED = """
    0 > wx1 wy2
    1 > wy4 wx5
    2 > rx ry
    0 < wx1 wy2
    1 < wy4 wx5
    2 < rx1 ry{}
"""
"""One reader sees x of one transaction and y of another, both of which wrote both."""

BRANCHING = """
    0 > wx1 wa1\n 1 > wx2 wb1\n 2 > wy1 wc1\n 3 > wy2 wd1
    4 > rx rc rd\n 5 > rx rc rd\n 6 > ry ra rb\n 7 > ry ra rb
    0 < wx1 wa1\n 1 < wx2 wb1\n 2 < wy1 wc1\n 3 < wy2 wd1
    4 < rx1 rc1 rd1\n 5 < rx2 rc1 rd1\n 6 < ry1 ra1 rb1\n 7 < ry2 ra1 rb{}
"""
"""Nothing forces either order of x or of y, but each pair of orders closes a circle."""


@pytest.mark.parametrize("model", [_M.REPEATABLE_READ, _M.SNAPSHOT_ISOLATION, _M.STRICT_SERIALIZABLE])
def test_where_no_order_explains_what_was_read_there_is_none(model: ConsistencyModel) -> None:
    assert registers(FORCED.format(2), model).counts == {}
    result = registers(FORCED.format(4), model)
    assert result.counts == {"no-version-order": 1}
    assert result.validity is Validity.INVALID
    assert str(model) in result.figures["models_ruled_out"]
    anomaly = only(result)
    assert anomaly.summary == "no order of the versions of x, y explains what 3 transactions read"
    assert anomaly.witness == (0, 1, 2, 3, 4, 5)
    assert str(model) in anomaly.explanation[-1]


def test_what_read_committed_allows_is_not_sought() -> None:
    assert registers(FORCED.format(4), _M.READ_COMMITTED).validity is Validity.VALID


def test_the_witness_holds_those_alone_that_contradict_each_other() -> None:
    others = "8 wz1\n 9 rz1\n"
    assert len(only(registers(others + FORCED.format(4))).witness) == 6


def test_orders_that_only_together_are_impossible_are_found() -> None:
    assert registers(BRANCHING.format(1), _M.SERIALIZABLE).counts == {"no-version-order": 1}
    assert registers(BRANCHING.format("_"), _M.SERIALIZABLE).counts != {"no-version-order": 1}


@pytest.mark.parametrize("limit", ["TRIES_MAX", "PAIRS_MAX"])
def test_beyond_the_budget_nothing_is_reported(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_orders, limit, 1)
    assert registers(BRANCHING.format(1), _M.SERIALIZABLE).validity is Validity.VALID


def test_an_order_that_is_found_by_trying_explains_a_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_orders, "_ROUNDS", 0)
    assert registers("0 > wx1\n 1 > wx2\n 0 < wx1\n 1 < wx2", _M.SERIALIZABLE).counts == {}


def test_a_large_history_is_not_searched() -> None:
    many = "".join(f"9 wz{n}\n" for n in range(version_orders.TRANSACTIONS_MAX))
    assert registers(many + FORCED.format(4)).validity is Validity.VALID


SKEWED = """
    0 ax1
    1 > rx ay4
    2 > ry rx ay3
    3 ry ax2
    1 < rx1 ay4
    2 < ry rx12 ay3
    {}
"""


def test_appends_that_nobody_read_conflict_under_snapshots() -> None:
    """Two that miss each other's writes may not both write one key, whichever comes first."""
    result = lists(SKEWED.format(""), _M.SNAPSHOT_ISOLATION)
    assert result.counts == {"G2-item": 1, "no-version-order": 1}
    assert result.validity is Validity.INVALID
    assert lists(SKEWED.replace("ay3", "az3").format(""), _M.SNAPSHOT_ISOLATION).validity is Validity.VALID
