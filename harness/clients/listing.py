"""ListOffsets: the start, the end and offsets by timestamp of partitions, from their leader.

Each request goes to one broker, which answers it itself.  `list_offsets` sends the leader epoch that the
broker reported, so that a broker with another epoch refuses.  The other requests send none: they show whether
a broker considers itself the leader, and where the log of any replica begins.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse

from checkers.history.observed import ListedOffset, OffsetsRequested
from harness.kafka.wire import Connection

_AT_MOST = 8
"""The last version without remote storage, for which answers by timestamp may wait."""
_ONESELF = -1
"""The replica id in requests of clients."""
_DEBUGGING = -2
"""The replica id for which every replica answers, not only the leader (`DEBUGGING_REPLICA_ID` in Kafka)."""
_ANY_EPOCH = -1


_TIMESTAMPS = {
    OffsetsRequested.LATEST: -1,
    OffsetsRequested.STABLE: -1,
    OffsetsRequested.EARLIEST: -2,
    OffsetsRequested.NEWEST: -3,
}


class OffsetAnswer(NamedTuple):
    """A broker's answer for one partition.

    Attributes:
        partition: number of the partition.
        error: Kafka's error code.
        offset: the requested offset; -1 with an error.
    """

    partition: int
    error: int
    offset: int


Epochs = Mapping[str, Mapping[int, int]]
"""Topic to partition to leader epoch."""
Places = Mapping[str, Collection[int]]
"""Topic to numbers of partitions."""


def list_offsets(
    connection: Connection, what: OffsetsRequested, epochs: Epochs, since_ms: int | None = None
) -> dict[str, list[ListedOffset]]:
    """Request one kind of offset of some partitions from a broker; refused partitions are left out.

    Args:
        connection: connection to the broker.
        what: the kind of offset.
        epochs: the partitions, with the leader epoch that the broker reported for each.
        since_ms: the timestamp of `OffsetsRequested.SINCE`.

    Raises:
        WireError: no answer.
    """
    timestamp = _TIMESTAMPS.get(what, since_ms)
    request = _request(epochs, timestamp, isolation_level=int(what is OffsetsRequested.STABLE))
    answer = connection.ask(request, ListOffsetsResponse, at_most=_AT_MOST)
    return {told.name: _listed(told.partitions, epochs[told.name]) for told in answer.topics}


def list_ends_as_consumer(connection: Connection, places: Places) -> dict[str, list[OffsetAnswer]]:
    """Request the end offsets of some partitions without a leader epoch; only a leader answers.

    Raises:
        WireError: no answer.
    """
    return _answered(connection, _request(_in_any_epoch(places), _TIMESTAMPS[OffsetsRequested.LATEST]))


def list_starts(connection: Connection, places: Places) -> dict[str, list[OffsetAnswer]]:
    """Request the start offsets of a broker's own logs of some partitions, whether it leads them or not.

    Raises:
        WireError: no answer.
    """
    request = _request(_in_any_epoch(places), _TIMESTAMPS[OffsetsRequested.EARLIEST], replica_id=_DEBUGGING)
    return _answered(connection, request)


def _in_any_epoch(places: Places) -> Epochs:
    return {name: dict.fromkeys(some, _ANY_EPOCH) for name, some in places.items()}


def _answered(connection: Connection, request: ListOffsetsRequest) -> dict[str, list[OffsetAnswer]]:
    answer = connection.ask(request, ListOffsetsResponse, at_most=_AT_MOST)
    return {
        told.name: [OffsetAnswer(one.partition_index, one.error_code, one.offset) for one in told.partitions]
        for told in answer.topics
    }


def _request(
    epochs: Epochs, timestamp: int | None, *, replica_id: int = _ONESELF, isolation_level: int = 0
) -> ListOffsetsRequest:
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
    return ListOffsetsRequest(replica_id=replica_id, isolation_level=isolation_level, topics=topics)


def _listed(partitions: Sequence[Any], epochs: Mapping[int, int]) -> list[ListedOffset]:
    return [
        ListedOffset(one.partition_index, epochs[one.partition_index], one.offset, one.timestamp)
        for one in partitions
        if not one.error_code
    ]
