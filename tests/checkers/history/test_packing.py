"""Tables of numbers are packed into texts and unpacked again; what is no such table is refused."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.packing import (
    Types,
    no_rows,
    pack,
    packed_rows,
    problem_with,
    require_places,
    unpack,
    unpacked_rows,
)

TYPES: Types = {"offset": np.dtype("<i8"), "kind": np.dtype("<i1")}
ROWS = [(2**40, -1), (2**40 + 1, 127)]


@given(st.sampled_from(sorted(TYPES)), st.data())
def test_a_column_comes_back_as_it_was(name: str, data: st.DataObject) -> None:
    limits = np.iinfo(TYPES[name])
    column = data.draw(st.lists(st.integers(int(limits.min), int(limits.max))))

    text = pack(np.array(column, dtype=TYPES[name]), name, TYPES)

    assert text.isascii()
    assert unpack(text, name, len(column), TYPES).tolist() == column


@pytest.mark.parametrize("text", ["é", "no base64!", "AAAA", pack(np.zeros(1), "kind", TYPES)])
def test_what_is_no_column_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="column offset"):
        unpack(text, "offset", 1, TYPES)


@pytest.mark.parametrize(("count", "found"), [(2, "more"), (1, "more"), (4, "3")])
def test_a_column_of_another_length_is_refused(count: int, found: str) -> None:
    with pytest.raises(ValueError, match=f"Expected {count} numbers in column kind, got {found}"):
        unpack(pack(np.zeros(3), "kind", TYPES), "kind", count, TYPES)


def test_rows_come_back_as_they_were() -> None:
    columns = unpacked_rows(packed_rows(ROWS, TYPES), 2, TYPES, "records")
    assert {name: column.tolist() for name, column in columns.items()} == {
        "offset": [2**40, 2**40 + 1],
        "kind": [-1, 127],
    }
    assert {name: column.dtype for name, column in columns.items()} == TYPES


def test_a_table_without_rows() -> None:
    for columns in (no_rows(TYPES), unpacked_rows(packed_rows([], TYPES), 0, TYPES, "records")):
        assert {name: (len(column), column.dtype) for name, column in columns.items()} == {
            "offset": (0, TYPES["offset"]),
            "kind": (0, TYPES["kind"]),
        }


def test_a_number_that_its_column_can_not_have_is_refused() -> None:
    with pytest.raises(OverflowError):
        packed_rows([(0, 128)], TYPES)


@pytest.mark.parametrize("rows", [[(0,)], [(0, 1, 2)], [(0, 1), (2,)], [(0, 1, 2, 3)]])
def test_rows_of_another_width_are_refused(rows: Sequence[Sequence[int]]) -> None:
    with pytest.raises(ValueError, match="argument 2 is"):
        packed_rows(rows, TYPES)


@pytest.mark.parametrize(
    ("count", "lacking", "problem"),
    [
        (2, "kind", "Expected a column kind"),
        (3, "", "Expected 3 numbers in column offset, got 2"),
        (1, "", "Expected 1 numbers in column offset, got more"),
    ],
)
def test_what_is_no_such_table_is_refused(count: int, lacking: str, problem: str) -> None:
    packed = {name: text for name, text in packed_rows(ROWS, TYPES).items() if name != lacking}
    assert problem_with(lambda table: unpacked_rows(table, count, TYPES, "batches"), packed) == problem


def test_more_rows_than_characters_are_refused() -> None:
    packed = packed_rows(ROWS, TYPES)
    size = sum(map(len, packed.values()))
    with pytest.raises(ValueError, match=f"at most {size} batches in columns of so .*, got 1,000,000"):
        unpacked_rows(packed, 10**6, TYPES, "batches")


@pytest.mark.parametrize(
    ("numbers", "least", "problem"),
    [
        ([0, 1], 0, None),
        ([-1, 1], -1, None),
        ([], 0, None),
        ([0, 2], 0, "Expected numbers from 0 to 1 in column place"),
        ([-1], 0, "Expected numbers from 0 to 1 in column place"),
        ([-2], -1, "Expected numbers from -1 to 1 in column place"),
    ],
)
def test_numbers_are_places_in_a_list(numbers: list[int], least: int, problem: str | None) -> None:
    columns = {"place": np.array(numbers, dtype=np.int32)}
    assert (
        problem_with(lambda table: require_places(table, "place", ["a", "b"], least=least), columns)
        == problem
    )
