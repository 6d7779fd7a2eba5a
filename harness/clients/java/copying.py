"""A member of a copying group of kafka-clients, in the process that has the JVM.

The library itself begins at the group's committed offsets, and waits while a transaction with such an offset
is open.  Only for partitions without a committed offset the member sets where it begins.

With KIP-848's protocol the library gives partitions back in the background unless it has a listener, even
between a poll and the end of the transaction that copies its records.  The coordinator would accept the
offsets of that transaction, because it compares the member's epoch and not its partitions.  So the member has
a listener, which the library calls only within a poll.
"""

from collections.abc import Mapping
from typing import Any

from checkers.history.polls import Membership
from checkers.history.units import MS_PER_S
from harness.clients.interface import ClientFailedError, Message, ReadError
from harness.clients.java.grouping import member_config
from harness.clients.java.jvm import (
    JavaError,
    cause_of,
    class_of,
    duration,
    implemented,
    java,
    listed,
    to_python,
)
from harness.clients.java.producing import error_text, made
from harness.clients.transactional import GroupOffsets, GroupOptions

_CONSUMER = "org.apache.kafka.clients.consumer."
_NOWHERE = "NoOffsetForPartitionException"


class JavaGroupConsumer:
    """A `GroupConsumer`; made without asking any broker."""

    def __init__(self, options: GroupOptions) -> None:
        self._options = options
        self._consumer = made(_CONSUMER + "KafkaConsumer", _config(options))
        listener = implemented(
            _CONSUMER + "ConsumerRebalanceListener",
            onPartitionsAssigned=_nothing,
            onPartitionsRevoked=_nothing,
            onPartitionsLost=_nothing,
        )
        try:
            self._consumer.subscribe(listed([options.topic]), listener)
        except JavaError as error:
            raise ClientFailedError(error_text(error)) from None

    def poll(self, max_wait_s: float) -> list[Message]:
        """As promised by `GroupConsumer.poll`."""
        try:
            returned = self._consumer.poll(duration(max_wait_s))
        except JavaError as error:
            if class_of(error) != _NOWHERE:
                raise ReadError(error_text(error)) from None
            self._begin(error.partitions())  # type: ignore[attr-defined]  # this exception has it
            return []
        return [Message(int(one.partition()), int(one.offset()), to_python(one.value())) for one in returned]

    def rewind(self, positions: Mapping[int, int]) -> None:
        """As promised by `GroupConsumer.rewind`."""
        try:
            for partition, offset in positions.items():
                self._consumer.seek(_place(self._options.topic, partition), offset)
        except JavaError as error:
            raise ReadError(error_text(error)) from None

    def membership(self) -> Membership:
        """As promised by `GroupConsumer.membership`; a client that is in no group is fenced by nothing."""
        try:
            known = self._consumer.groupMetadata()
        except JavaError as error:
            raise ReadError(error_text(error)) from None
        member, generation = str(known.memberId()), int(known.generationId())
        if generation < 0:
            raise ReadError(f"the membership has ended: generation {generation} of {member or 'nobody'}")
        return Membership(member, generation)

    def close(self, timeout_s: float) -> None:
        """As promised by `GroupConsumer.close`."""
        try:
            self._consumer.close(duration(timeout_s / 2))
        except JavaError as error:
            why = error_text(cause_of(error))
            raise ClientFailedError(f"closing: {error_text(error)} ({why})") from None

    def _begin(self, places: Any) -> None:
        """Begin at the committed offsets, which are asked for once more, or at 0 where there are none.

        4.2 was seen to report that partitions have no offset although they had one.

        Raises:
            ReadError: the offsets were not returned, or are unstable for too long.
        """
        try:
            known = self._consumer.committed(places, duration(self._options.request_ms / MS_PER_S))
            for place in places:
                committed = known.get(place)
                self._consumer.seek(place, 0 if committed is None else int(committed.offset()))
        except JavaError as error:
            raise ReadError(f"no committed offsets: {error_text(error)}") from None


def sent_offsets(offsets: GroupOffsets) -> tuple[Any, Any]:
    """The arguments of the library's ``sendOffsetsToTransaction``: the offsets, and the group's member."""
    where = java("java.util.HashMap")()
    for partition, offset in offsets.positions.items():
        where.put(_place(offsets.topic, partition), java(_CONSUMER + "OffsetAndMetadata")(offset))
    if not isinstance(offsets.membership, Membership):
        raise TypeError(f"expected the membership of a member of this library, got {offsets.membership!r}")
    member, generation = offsets.membership
    nobody = java("java.util.Optional").empty()
    metadata = java(_CONSUMER + "ConsumerGroupMetadata")(offsets.group, generation, member, nobody)
    return where, metadata


def _place(topic: str, partition: int) -> Any:
    return java("org.apache.kafka.common.TopicPartition")(topic, partition)


def _nothing(_places: Any) -> None:
    """Do nothing: that it is called in the thread that polls is enough."""


def _config(options: GroupOptions) -> dict[str, object]:
    return member_config(options, isolation_level="read_committed", **_protocol(options))


def _protocol(options: GroupOptions) -> dict[str, object]:
    """The configuration of the group's protocol; before 3.7 the library knows only the classic one."""
    if options.modern:
        return {"group_protocol": "consumer", "group_remote_assignor": "uniform"}
    return {
        "partition_assignment_strategy": _CONSUMER + "RangeAssignor",
        "session_timeout_ms": options.session_ms,
        "heartbeat_interval_ms": options.session_ms // 4,
    }
