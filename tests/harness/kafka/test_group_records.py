"""Records of groups are decoded from bytes that Kafka wrote, and whatever else stands there fails nothing."""

import pytest

from harness.kafka.segments.group_records import GroupRecord, group_record_of
from harness.kafka.segments.offset_commits import read_commits
from tests.harness.fakes.commits import batch, commit
from tests.harness.fakes.group_records import TOPIC_ID, assigned, epoch, group_key, member_key

GROUP_KEY, TARGET_KEY = "0003 0009 6772757070652dc3bc", "0006 0009 6772757070652dc3bc"
MEMBER_KEY = "0008 0009 6772757070652dc3bc 0003 6d2d31"
HELD = (
    "0000 0000012c 0000012b 01 02 00000000000000010000000000000002 03 00000000 00000005 01 00 09 03 00000007 "
    "0000012c 02 00000000000000030000000000000004 02 00000001 00 00 00"
)
NAME = "gruppe-ü"
UNREADABLE = GroupRecord("unreadable")
SECOND_ID = "AAAAAAAAAAMAAAAAAAAABA"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (GROUP_KEY, "0000 0000012c 00", GroupRecord("group", NAME, "", 300)),
        (GROUP_KEY, "0000 0000012d 01 00 08 000000000000004d", GroupRecord("group", NAME, "", 301)),
        (TARGET_KEY, "0000 0000012e 01 00 08 0000018bcfe56800", GroupRecord("target", NAME, "", 302)),
        (MEMBER_KEY, "0000 fffffffe 0000012b 00 01 01 00", GroupRecord("member", NAME, "m-1", -2, [])),
        (
            MEMBER_KEY,
            HELD,
            GroupRecord(
                "member", NAME, "m-1", 300, [(TOPIC_ID, 0, 7), (TOPIC_ID, 5, 300), (SECOND_ID, 1, None)]
            ),
        ),
    ],
)
def test_what_kafka_4_3_1_writes(key: str, value: str, expected: GroupRecord) -> None:
    """The bytes are those of its own keys and values, with and without tagged fields."""
    assert group_record_of(bytes.fromhex(key), bytes.fromhex(value)) == expected


@pytest.mark.parametrize(
    "value",
    [
        "0003 0008 636f6e73756d6572 0000012c ffff ffff 0000018bcfe56800 00000000",
        "0000 0000 0000012c ffff ffff 00000000",
        "0004 09 636f6e73756d6572 0000012c 00 00 0000018bcfe56800 01 00",
        "0004 01 0000012c 00 00 0000018bcfe56800 01 00",
    ],
)
def test_the_generation_of_a_classic_group(value: str) -> None:
    key = group_key(NAME, 2)
    assert group_record_of(key, bytes.fromhex(value)) == GroupRecord("classic", NAME, "", 300)
    assert group_record_of(key, bytes.fromhex(value)[:4]) == UNREADABLE


def test_records_without_a_value() -> None:
    assert group_record_of(group_key("g", 2), None) == GroupRecord("classic", "g")
    assert group_record_of(group_key("g"), None) == GroupRecord("group", "g")
    assert group_record_of(group_key("g", 6), None) == GroupRecord("target", "g")
    assert group_record_of(member_key("g", "m"), None) == GroupRecord("member", "g", "m")


def test_of_a_subscription_only_the_key_is_decoded() -> None:
    key = b"\0\5\0\1g\0\1m"
    assert group_record_of(key, b"?") == GroupRecord("subscription", "g", "m", 0)
    assert group_record_of(key, None) == GroupRecord("subscription", "g", "m")
    assert group_record_of(key[:-1], b"?") == GroupRecord("unreadable")


@pytest.mark.parametrize("key", [None, b"", b"\0", b"\0\1", b"\0\7\0\1g\0\1m", b"\0\x0b\0\1g"])
def test_records_of_other_types(key: bytes | None) -> None:
    assert group_record_of(key, b"\0\0\0\0\0\1\0") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\0\3", epoch(1)),
        (group_key("g")[:-1], None),
        (member_key("g", "m")[:-2], None),
        (b"\0\3\0\1\xff", epoch(1)),
        (b"\0\3\xff\xffx", epoch(1)),
        (group_key("g"), epoch(1, version=1)),
        (group_key("g"), epoch(1)[:5]),
        (member_key("g", "m"), assigned(1, {0: 1, 1: 1}, epochs=1)),
        (member_key("g", "m"), epoch(1) + b"\0" * 4 + b"\xff\xff\xff\x7f"),
        (member_key("g", "m"), epoch(1) + b"\0" * 4 + b"\xff" * 9),
    ],
)
def test_what_can_not_be_read_is_reported_as_such(key: bytes, value: bytes | None) -> None:
    assert group_record_of(key, value) == UNREADABLE


def test_a_member_that_is_cut_short_anywhere() -> None:
    whole = assigned(7, {0: 5, 3: 6})
    for size in range(len(whole) - 1):
        assert group_record_of(member_key("g", "m"), whole[:size]) == UNREADABLE


def test_tagged_fields_that_a_later_kafka_adds_are_skipped() -> None:
    read = group_record_of(member_key("g", "m"), assigned(7, {0: 5}, before=b"\5\2ab"))
    assert read == GroupRecord("member", "g", "m", 7, [(TOPIC_ID, 0, 5)])
    read = group_record_of(member_key("g", "m"), assigned(7, {0: 5}, tag=9))
    assert read == GroupRecord("member", "g", "m", 7, [(TOPIC_ID, 0, None)])


def test_arrays_that_are_null() -> None:
    value = bytes.fromhex("0000 00000001 00000001 00 00 00 00")
    assert group_record_of(member_key("g", "m"), value) == GroupRecord("member", "g", "m", 1, [])


def test_records_of_groups_with_their_offsets_in_the_log() -> None:
    (one,) = read_commits(
        batch(40, commit(7), (group_key("g"), epoch(5)), (member_key("g", "m"), b""))
    ).batches
    assert one.rows == [(40, "g", "t", 0, 7)]
    assert one.groups == [(41, GroupRecord("group", "g", "", 5)), (42, UNREADABLE)]
