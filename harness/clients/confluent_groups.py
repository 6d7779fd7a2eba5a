"""How librdkafka's consumers subscribe, and leave their groups without a hang.

A callback of a rebalance asks librdkafka's main thread to change the assignment.  If the group has ended by
the time that thread takes up such a request, librdkafka 2.16 drops it without an answer
(``rd_kafka_cgrp_op_serve``; librdkafka's issue 4884 reports such a hang), and the caller waits for ever.
confluent-kafka holds the interpreter's lock in these calls, so the whole process stops.  The library's own
`close` ends the group while callbacks may still be waiting.  Therefore they are served before it.
"""

import struct
import time
from collections.abc import Callable
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, TopicPartition

from checkers.history.polls import Membership
from harness.clients.confluent import client_config, subscribe
from harness.clients.group import MemberOptions
from harness.clients.transactional import GroupOptions

_METADATA = b"CGMDv2:"
"""The beginning of librdkafka's serialised group metadata; the generation follows, in native byte order."""
_GENERATION = struct.Struct("=i")
_LEAVE_S = 0.5
"""How long to wait for a rebalance that is under way.

Then the library's `close` leaves the group.  It would hang only if an assignment arrived just then and the
group ended during the one request that declines it.  In that case `harness.run.watchdog` ends the process.
"""
_POLL_S = 0.02

Callback = Callable[[Consumer, list[TopicPartition]], object]


def member_config(options: MemberOptions | GroupOptions, **more: object) -> dict[str, object]:
    """Configuration of every member: without auto-commit, and with an error if there is no offset."""
    return client_config(
        options.bootstrap,
        options.request_ms,
        group_id=options.group,
        enable_auto_commit=False,
        enable_auto_offset_store=False,
        auto_offset_reset="error",
        max_poll_interval_ms=options.poll_interval_ms,
        check_crcs=True,
        fetch_wait_max_ms=250,
        fetch_error_backoff_ms=100,
        **more,
    )


def decline_all(consumer: Consumer, _partitions: list[TopicPartition]) -> None:
    """Accept no partition, and ask no broker."""
    consumer.assign([])


class Subscription:
    """A consumer's subscription to one topic.

    Args:
        consumer: the library's consumer.
        topic: the topic, or a regular expression.
        on_assign: called within poll with assigned partitions.
        on_revoke: called within poll and `close` with revoked partitions.
        decline: takes the place of `on_assign` in `close`; it makes a single request, of no broker.
        leaves: whether `close` leaves the group.  A static member of a classic group does not, so that it
            finds its place when it comes back (KIP-345).

    Raises:
        ClientFailedError: the library refuses.
    """

    def __init__(
        self,
        consumer: Consumer,
        topic: str,
        *,
        on_assign: Callback,
        on_revoke: Callback,
        decline: Callback = decline_all,
        leaves: bool = True,
    ) -> None:
        self._consumer = consumer
        self._assign, self._revoke, self._decline = on_assign, on_revoke, decline
        self._leaves = leaves
        self._closing = False
        self._called = False
        subscribe(consumer, topic, on_assign=self._on_assign, on_revoke=self._on_revoke)

    def close(self) -> None:
        """Leave the group, unless it stays, then close the consumer; its records and events are dropped.

        This takes `_LEAVE_S` and one request at most: the library awaits the answer to LeaveGroup.

        Raises:
            RuntimeError: it was closed before.
        """
        self._closing = True
        deadline = time.monotonic() + _LEAVE_S
        try:
            while not self._is_quiet() and time.monotonic() < deadline:
                pass
        finally:
            self._consumer.close()

    def _is_quiet(self) -> bool:
        """Ask to leave, and serve callbacks; whether none was waiting, and none can follow in a left group.

        During a rebalance the library postpones what is asked, so it is asked again.
        """
        self._called = False
        if self._leaves:
            with suppress(KafkaException):  # after a fatal error it leaves the group, but still raises
                self._consumer.unsubscribe()
        try:
            message = self._consumer.poll(_POLL_S)
        except KafkaException:  # raised by a callback; its assignment is given up in any case
            return False
        return message is None and not self._called and not (self._leaves and self._is_member())

    def _is_member(self) -> bool:
        """Whether it has an id and a generation; after it left, KIP-848's protocol leaves epoch 0."""
        known = membership_of(self._consumer.consumer_group_metadata())
        return known is not None and known.generation > 0

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._called = True
        (self._decline if self._closing else self._assign)(consumer, partitions)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._called = True
        self._revoke(consumer, partitions)


def membership_of(metadata: bytes | None) -> Membership | None:
    """The membership in librdkafka's serialised group metadata; None if the member is in no group."""
    if metadata is None or not metadata.startswith(_METADATA):
        return None
    rest = metadata[len(_METADATA) :]
    (generation,) = _GENERATION.unpack_from(rest)
    _, member, *_ = rest[_GENERATION.size :].split(b"\0")
    return Membership(member.decode(), generation) if member and generation >= 0 else None
