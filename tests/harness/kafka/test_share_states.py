"""Records of share groups' states are decoded as Kafka encodes them, and damage is noticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.share_states import Kind
from harness.kafka.segments.share_states import SharePlace, ShareStateRecord, StateBatch, share_state_of
from tests.harness.fakes.share_states import (
    EMPTY_UPDATE,
    INITIAL,
    SNAPSHOT,
    SNAPSHOT_KEY,
    TOPIC_ID,
    UPDATE,
    UPDATE_KEY,
    ShareState,
    key,
    snapshot,
    update,
)

PLACE = SharePlace("share-ä1", TOPIC_ID, 2)
BATCHES = (StateBatch(300, 309, 2, 1), StateBatch(310, 310, 4, 5))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (SNAPSHOT_KEY, SNAPSHOT, ShareStateRecord(PLACE, Kind.SNAPSHOT, 3, 1, 7, 300, BATCHES)),
        (SNAPSHOT_KEY, INITIAL, ShareStateRecord(PLACE, Kind.SNAPSHOT, 0, 0, -1, -1)),
        (
            UPDATE_KEY,
            UPDATE,
            ShareStateRecord(PLACE, Kind.UPDATE, 3, -1, 7, -1, (StateBatch(311, 400, 0, 2),)),
        ),
        (UPDATE_KEY, EMPTY_UPDATE, ShareStateRecord(PLACE, Kind.UPDATE, 3, -1, 7, 5)),
        (SNAPSHOT_KEY, None, ShareStateRecord(PLACE)),
    ],
)
def test_what_kafka_encoded(name: bytes, content: bytes | None, expected: ShareStateRecord) -> None:
    assert share_state_of(name, content) == expected


def test_the_bytes_of_the_fakes_are_those_of_kafka() -> None:
    assert snapshot(ShareState())[:2] + update(ShareState(3, 7, 5))[2:] == INITIAL[:2] + EMPTY_UPDATE[2:]


def test_tagged_fields_are_skipped() -> None:
    state = share_state_of(key("a"), snapshot(ShareState(), end=b"\x01\x09\x02ab"))
    assert state is not None
    assert state.kind == Kind.SNAPSHOT


def test_a_key_of_another_type_is_no_state() -> None:
    assert share_state_of(key("a", kind=2), snapshot(ShareState())) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (None, INITIAL),
        (b"\0", INITIAL),
        (SNAPSHOT_KEY[:-1], INITIAL),
        (SNAPSHOT_KEY, b""),
        (SNAPSHOT_KEY, INITIAL + b"\0"),
        (SNAPSHOT_KEY, SNAPSHOT[:-9]),
        (SNAPSHOT_KEY, snapshot(ShareState(), version=1)),
        (SNAPSHOT_KEY, snapshot(ShareState(), end=b"\x01\x09\x03ab")),
        (SNAPSHOT_KEY, snapshot(ShareState(batches=[(5, 4, 0, 1)]))),
        (SNAPSHOT_KEY, snapshot(ShareState(batches=[(-1, 4, 0, 1)]))),
        (UPDATE_KEY, EMPTY_UPDATE[:-2] + b"\0\0"),
        (UPDATE_KEY, EMPTY_UPDATE[:-2] + b"\x7f\0"),
    ],
)
def test_other_bytes_are_refused(name: bytes | None, content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any text will do
        share_state_of(name, content)


@given(st.binary(max_size=80), st.sampled_from([SNAPSHOT_KEY, UPDATE_KEY]) | st.binary(max_size=30))
def test_whatever_the_bytes_are_only_a_value_error_is_raised(data: bytes, name: bytes) -> None:
    try:
        share_state_of(name, data)
    except ValueError:
        return
