"""Values are unique, and what this run did not write is never taken for one of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.workloads.values import ValueCodec, Values


def test_values_carry_their_worker() -> None:
    values = Values(3)
    assert (values.draw(), values.draw()) == (3_000_000_001, 3_000_000_002)


@given(st.integers(0, 10**17))
def test_values_survive_the_record(value: int) -> None:
    codec = ValueCodec("9f2c61d0")
    assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (b"other:5", "other:5"),
        (b"run:", "run:"),
        (b"run:05", "run:05"),
        (b"run:5\n", "run:5\\n"),
        (b"run:-5", "run:-5"),
        (b"\xff\x00", "\\xff\\x00"),
        (b"", ""),
        (None, "(null)"),
    ],
)
def test_foreign_records_are_told_as_text(record: bytes | None, told: str) -> None:
    assert ValueCodec("run").decode(record) == told


@given(st.binary(max_size=400))
def test_any_record_can_be_told_in_200_characters(record: bytes) -> None:
    told = ValueCodec("a run").decode(record)
    assert isinstance(told, str)
    assert len(told) <= 200
    assert told.isascii()
