"""Records of ``__share_group_state`` by hand, and bytes that Kafka 4.3.1 itself encoded."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

TOPIC_ID = "AQIDBAUGBwgREhMUFRYXGA"
SNAPSHOT_KEY = bytes.fromhex("0000000973686172652dc3a4310102030405060708111213141516171800000002")
UPDATE_KEY = bytes.fromhex("0001000973686172652dc3a4310102030405060708111213141516171800000002")
SNAPSHOT = bytes.fromhex(
    "0000000000030000000100000007000000000000012c0000018bcfe568010000018bcfe5680203000000000000012c0000000000"
    "00013502000100000000000000013600000000000001360400050001000400000002"
)
INITIAL = bytes.fromhex("00000000000000000000ffffffffffffffffffffffff0000018bcfe568010000018bcfe568010100")
UPDATE = bytes.fromhex(
    "00000000000300000007ffffffffffffffff02000000000000013700000000000001900000020001000400000004"
)
EMPTY_UPDATE = bytes.fromhex("0000000000030000000700000000000000050100")
"""What Kafka's ``MessageUtil`` returns for ShareSnapshotKey, ShareUpdateKey and their values."""


class ShareState(NamedTuple):
    """A state that is to be encoded: snapshot epoch, leader epoch, start offset, batches."""

    snapshot: int = 0
    leader: int = 0
    start: int = 0
    batches: Sequence[tuple[int, int, int, int]] = ()


def key(group: str, partition: int = 0, kind: int = 0) -> bytes:
    """A ShareSnapshotKey (kind 0) or a ShareUpdateKey (1)."""
    name = group.encode()
    return struct.pack(">hh", kind, len(name)) + name + bytes(range(16)) + struct.pack(">i", partition)


def snapshot(state: ShareState, version: int = 0, end: bytes = b"\0") -> bytes:
    """A ShareSnapshotValue with the state epoch 0; `end` are its tagged fields."""
    head = struct.pack(">hiiiqqq", version, state.snapshot, 0, state.leader, state.start, 1, 1)
    return head + _batches(state) + end


def update(state: ShareState) -> bytes:
    """A ShareUpdateValue of version 0, without tagged fields."""
    return struct.pack(">hiiq", 0, state.snapshot, state.leader, state.start) + _batches(state) + b"\0"


def _batches(state: ShareState) -> bytes:
    return bytes([len(state.batches) + 1]) + b"".join(
        struct.pack(">qqbh", *batch) + b"\0" for batch in state.batches
    )
