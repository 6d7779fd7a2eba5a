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
    ("record", "expected"),
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
def test_foreign_records_are_decoded_as_text(record: bytes | None, expected: str) -> None:
    assert ValueCodec("run").decode(record) == expected


@given(st.binary(max_size=400))
def test_any_record_can_be_decoded_to_200_characters(record: bytes) -> None:
    text = ValueCodec("a run").decode(record)
    assert isinstance(text, str)
    assert len(text) <= 200
    assert text.isascii()
