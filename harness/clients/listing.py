"""ListOffsets: where a broker says that the partitions begin and end which it leads, or stand at a time.

One request to one broker, so that whoever was asked is who answered.  It names the leader epoch that the
broker told, so that one that knows of another epoch refuses.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse

from harness.wire import Connection

_AT_MOST = 8
"""The version before those about remote storage, which answers by timestamps may wait for."""
_ONESELF = -1
"""The id of who asks, where that is no broker."""


class What(StrEnum):
    """What is asked for, in the words of histories."""

    LATEST = "latest"
    """The end of what readers of uncommitted records are given: the high watermark."""
    STABLE = "stable"
    """The end of what readers of committed records are given: the last stable offset."""
    EARLIEST = "earliest"
    """Where the log begins."""
    NEWEST = "newest"
    """The record with the largest timestamp (KIP-734)."""
    SINCE = "since"
    """The first record with a timestamp no less than one."""


_TIMESTAMPS = {What.LATEST: -1, What.STABLE: -1, What.EARLIEST: -2, What.NEWEST: -3}


class Listed(NamedTuple):
    """What a leader told of one partition.

    Attributes:
        partition: its number.
        leader_epoch: that in which the broker leads it.
        offset: what was asked for; -1: there is none.
        timestamp_ms: of the record at the offset; -1 where the answer is about no record.
    """

    partition: int
    leader_epoch: int
    offset: int
    timestamp_ms: int


Epochs = Mapping[str, Mapping[int, int]]
"""Topic to partition to leader epoch."""


def list_offsets(
    connection: Connection, what: What, epochs: Epochs, since_ms: int | None = None
) -> dict[str, list[Listed]]:
    """Ask a broker for one thing, of some partitions; those that it refused to tell are left out.

    Args:
        connection: to the broker.
        what: what is asked for.
        epochs: the partitions, with the leader epoch that the broker knows of each.
        since_ms: the timestamp of `What.SINCE`.

    Raises:
        WireError: no answer.
    """
    timestamp = _TIMESTAMPS.get(what, since_ms)
    topic = ListOffsetsRequest.ListOffsetsTopic
    topics = [
        topic(
            name=name,
            partitions=[
                topic.ListOffsetsPartition(
                    partition_index=partition, current_leader_epoch=epoch, timestamp=timestamp
                )
                for partition, epoch in some.items()
            ],
        )
        for name, some in epochs.items()
    ]
    request = ListOffsetsRequest(replica_id=_ONESELF, isolation_level=int(what is What.STABLE), topics=topics)
    answer = connection.ask(request, ListOffsetsResponse, at_most=_AT_MOST)
    return {told.name: _listed(told.partitions, epochs[told.name]) for told in answer.topics}


def _listed(partitions: Sequence[Any], epochs: Mapping[int, int]) -> list[Listed]:
    return [
        Listed(one.partition_index, epochs[one.partition_index], one.offset, one.timestamp)
        for one in partitions
        if not one.error_code
    ]
