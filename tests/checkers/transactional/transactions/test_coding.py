"""Values as integers, and the index that finds them."""

import numpy as np
import pytest

from checkers.columns.tables import NONE
from checkers.transactional.transactions.operations.coding import Index, coded, integers_of, plain_integers


def test_values_of_different_types_are_different() -> None:
    values = [1, 1.0, True, "1", None, [1], {"a": 1}, 1, [1], float("nan"), float("nan")]
    result = coded(values)
    assert result.codes.tolist() == [0, 1, 2, 3, 4, 5, 6, 0, 5, 7, 7]
    assert result.names[:7] == (1, 1.0, True, "1", None, [1], {"a": 1})


def test_integers_stand_for_themselves_where_they_fit() -> None:
    found = plain_integers([1, -5])
    assert found is not None
    assert found.tolist() == [1, -5]
    assert plain_integers([1, 2**63]) is None
    assert plain_integers([1, True]) is None
    one, other = integers_of([2**70, 1], [1, 2**70])
    assert one.tolist() == other.tolist()[::-1]


@pytest.mark.parametrize(
    "values",
    [[0, 1, 2, 3], [-7, 10**9, 3, 5 * 10**9], [-(2**63), 2**63 - 1, 0, 5], [4, 4, 4, 4]],
)
def test_an_index_finds_pairs(values: list[int]) -> None:
    """Dense, sparse, and so wide that differences leave the range."""
    group, value = np.array([0, 1, 2, 3]), np.array(values)
    index = Index(group, value)
    assert index.find(group, value).tolist() == [0, 1, 2, 3]
    assert index.find(group[::-1], value).tolist() == [0 if len(set(values)) == 1 else NONE] * 0 + [
        3 - row if values[3 - row] == values[row] else NONE for row in range(4)
    ]
    assert index.find(np.array([9, 0]), np.array([values[0], values[0] + 1])).tolist() == [NONE, NONE]
    assert not len(index.repeated)


@pytest.mark.parametrize("step", [1, 10**6, 2**61])
def test_an_index_finds_the_first_of_equals(step: int) -> None:
    value = np.array([step, 0, step, step])
    index = Index(np.zeros(4, dtype=np.int64), value)
    assert index.find(np.zeros(1, dtype=np.int64), value[:1]).tolist() == [0]
    assert index.repeated.tolist() == [2, 3]


def test_an_empty_index_finds_nothing() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert Index(nothing, nothing).find(np.array([0]), np.array([0])).tolist() == [NONE]
