"""The last records of partitions, without the markers of transactions that may follow them."""

import time
from collections.abc import Sequence

from harness.clients.interface import LogConsumer

_TAIL = 200
"""How many offsets of the end of a log are read."""
_POLL_S = 0.25


def last_records(client: LogConsumer, partitions: Sequence[int], timeout_s: float) -> dict[int, int]:
    """The offset of the last record of each partition that a consumer gets at its isolation level.

    Partitions without a record among their last 200 offsets are left out, and so are those that could not be
    read to their ends in time.

    Args:
        client: a consumer.
        partitions: numbers of the partitions.
        timeout_s: how long it may take, seconds.

    Raises:
        ReadError: they could not be read.
    """
    deadline = time.monotonic() + timeout_s
    found: dict[int, int] = {}
    for partition, (start, end) in client.offsets(partitions, timeout_s).items():
        last, position = -1, max(start, end - _TAIL)
        if position < end:
            client.assign({partition: position})
        while position < end and time.monotonic() < deadline:
            messages = client.poll(_POLL_S)
            last = max([last, *(message.offset for message in messages)])
            position = max(position, last + 1, client.position(partition) or 0)
        if position >= end and last >= 0:
            found[partition] = last
    return found
