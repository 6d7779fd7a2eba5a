"""Numbers of variable length (KIP-98, KIP-482): seven bits per byte, the lowest first."""

_MORE = 0x80
"""The bit that marks a continued number."""
BITS_MAX, LONG_BITS_MAX = 35, 70
"""Bits of the longest number of 32 bits and of 64 bits."""


def unsigned(data: bytes, at: int, bits_max: int = BITS_MAX) -> tuple[int, int]:
    """An unsigned number and the position after it.

    Raises:
        ValueError: it has too many bits.
        IndexError: the bytes end before it does.
    """
    value = data[at]
    if value < _MORE:
        return value, at + 1
    value, shift = value & ~_MORE, 7
    while shift < bits_max:
        at += 1
        byte = data[at]
        value |= (byte & ~_MORE) << shift
        if byte < _MORE:
            return value, at + 1
        shift += 7
    raise ValueError("a number that does not end")


def signed(data: bytes, at: int) -> tuple[int, int]:
    """A signed number in zigzag encoding and the position after it; raises the errors of `unsigned`."""
    value, at = unsigned(data, at, LONG_BITS_MAX)
    return (value >> 1) ^ -(value & 1), at
