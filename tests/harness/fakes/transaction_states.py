"""Records of ``__transaction_state`` by hand, and bytes that Kafka 4.3.1 itself encoded."""

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

KEY = bytes.fromhex("0000000a7772697465722dc3a431")
EMPTY_0 = bytes.fromhex("0000000000000000000700000000177000ffffffff0000018bcfe56801ffffffffffffffff")
EMPTY_1 = bytes.fromhex("0001000000000000000700000000177000000000018bcfe56801ffffffffffffffff00")
PREPARED_0 = bytes.fromhex(
    "000000000100000000007fff000017700200000002000574786e2d3000000002000000030000000000125f5f636f6e73756d6572"
    "5f6f66667365747300000001000000010000018bcfe568020000018bcfe56801"
)
PREPARED_1 = bytes.fromhex(
    "000100000100000000007fff0000177002030674786e2d3003000000030000000000135f5f636f6e73756d65725f6f6666736574"
    "730200000001000000018bcfe568020000018bcfe56801040008000000000000000601080000000000000009020200020302"
    "0004"
)
"""What Kafka's ``MessageUtil.toVersionPrefixedBytes`` returns for a TransactionLogKey and -Values."""


class State(NamedTuple):
    """A state that is to be encoded."""

    status: int = 0
    producer: int = 7
    epoch: int = 0
    partitions: Mapping[str, Sequence[int]] | None = None


def key(name: str, version: int = 0) -> bytes:
    """A TransactionLogKey: version, transactional id."""
    return struct.pack(">hh", version, len(name.encode())) + name.encode()


def value(state: State, version: int = 0) -> bytes:
    """A TransactionLogValue of version 0, of a transaction with a timeout of 6 s."""
    head = struct.pack(">hqhib", version, state.producer, state.epoch, 6000, state.status)
    if state.partitions is None:
        return head + struct.pack(">iqq", -1, 2, 1)
    topics = b"".join(
        struct.pack(">h", len(topic)) + topic.encode() + _numbers(numbers)
        for topic, numbers in state.partitions.items()
    )
    return head + struct.pack(">i", len(state.partitions)) + topics + struct.pack(">qq", 2, 1)


def _numbers(numbers: Sequence[int]) -> bytes:
    return struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
