"""Records of transactions' states are decoded as Kafka encodes them, and damage is noticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.kafka.segments.coordinator_log import read_segment
from harness.kafka.segments.transaction_states import StateRecord, state_of
from tests.harness.fakes.commits import batch
from tests.harness.fakes.transaction_states import (
    EMPTY_0,
    EMPTY_1,
    KEY,
    PREPARED_0,
    PREPARED_1,
    State,
    key,
    value,
)

NAME = "writer-ä1"
EMPTY = StateRecord(NAME, 0, 7, 0, timeout_ms=6000, updated_ms=1_700_000_000_001)
PREPARED = StateRecord(
    NAME,
    2,
    2**40,
    32767,
    timeout_ms=6000,
    partitions=(("txn-0", (3, 0)), ("__consumer_offsets", (1,))),
    updated_ms=1_700_000_000_002,
    started_ms=1_700_000_000_001,
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (EMPTY_0, EMPTY),
        (EMPTY_1, EMPTY),
        (PREPARED_0, PREPARED),
        (
            PREPARED_1,
            PREPARED._replace(previous_producer_id=6, next_producer_id=9, version=2, next_producer_epoch=4),
        ),
        (None, StateRecord(NAME)),
    ],
)
def test_what_kafka_encoded(content: bytes | None, expected: StateRecord) -> None:
    assert state_of(KEY, content) == expected


def test_unknown_tagged_fields_are_skipped() -> None:
    assert state_of(KEY, EMPTY_1[:-1] + b"\x01\x09\x02ab") == EMPTY


def test_a_key_of_another_version_is_no_state() -> None:
    assert state_of(key("a", version=1), value(State())) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (None, EMPTY_0),
        (b"\0", EMPTY_0),
        (KEY[:-1], EMPTY_0),
        (KEY, b""),
        (KEY, EMPTY_0 + b"\0"),
        (KEY, value(State(), version=2)),
        (KEY, value(State(status=9))),
        (KEY, value(State(status=-1))),
        (KEY, PREPARED_0[:-20]),
        (KEY, PREPARED_1[:-1]),
        (KEY, EMPTY_1[:-1] + b"\x01\x00\x02ab"),
        (KEY, EMPTY_1[:-1] + b"\x01\x09\x03ab"),
        (KEY, PREPARED_0[:17] + b"\0\0\0\1\0\1a\x7f\0\0\0" + bytes(16)),
        (KEY, PREPARED_1[:17] + b"\2\x7fab" + bytes(16)),
    ],
)
def test_other_bytes_are_refused(name: bytes | None, content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any text will do
        state_of(name, content)


@given(st.binary(max_size=80), st.just(KEY) | st.binary(max_size=20))
def test_whatever_the_bytes_are_only_a_value_error_is_raised(data: bytes, name: bytes) -> None:
    try:
        state_of(name, data)
    except ValueError:
        return


FIRST = batch(4, (key("a"), value(State(1, 8, 3, {"t": [2]}))), (key("b"), None), epoch=5)
OTHER = batch(6, (key("a", version=3), b"?"), (key("b"), value(State())), epoch=6)


def test_a_segment() -> None:
    read = read_segment(FIRST + OTHER, state_of)
    assert [(one.offset, one.leader_epoch, one.record.transactional_id) for one in read.records] == [
        (4, 5, "a"),
        (5, 5, "b"),
        (7, 6, "b"),
    ]
    assert read.records[0].record.partitions == (("t", (2,)),)
    assert read[1:] == ([], 8, 6, False, False)


def test_only_the_end_of_a_segment() -> None:
    assert read_segment(FIRST + OTHER, None) == ([], [], 8, 6, False, False)


def test_an_empty_segment() -> None:
    assert read_segment(b"", state_of) == ([], [], None, -1, False, False)


@pytest.mark.parametrize(
    ("data", "ends"),
    [
        (FIRST + OTHER[:-1], (6, False, True)),
        (FIRST + OTHER[:9], (6, False, True)),
        (FIRST + bytes(90), (6, False, True)),
        (FIRST + b"\1" * 90, (6, True, True)),
        (FIRST + OTHER[:-1] + b"?", (6, True, False)),
        (OTHER[:-1] + b"?", (None, True, False)),
    ],
)
def test_what_follows_the_last_whole_batch(data: bytes, ends: tuple[int | None, bool, bool]) -> None:
    read = read_segment(data, state_of)
    assert (read.end, read.damaged, read.unfinished) == ends


def test_batches_that_can_not_be_decoded() -> None:
    packed = batch(4, (key("a"), value(State())), compression=1)
    broken = batch(5, (key("a"), b"?"), (key("b"), value(State())))
    read = read_segment(packed + broken + batch(7, (key("c"), None)), state_of)
    assert (read.unread, [one.offset for one in read.records]) == ([4, 5], [7])
