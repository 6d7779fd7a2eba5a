"""confluent-kafka's (librdkafka's) member of a group behind the interface.

Rebalances are served within poll, because callbacks are registered.  librdkafka sends a commit again after
some errors, so no refusal proves that nothing was committed.  A member that left because it did not poll
would commit as a client that is in no group, which Kafka permits while the group is empty.  So its membership
is compared before every commit.
"""

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from checkers.history.units import MS_PER_S
from harness.clients.administrator import AdminAnswer
from harness.clients.bounded import within
from harness.clients.confluent import error_text, made
from harness.clients.confluent_groups import Subscription, decline_all, member_config, membership_of
from harness.clients.group import Assigned, MemberOptions, PolledRecords
from harness.clients.interface import ClientFailedError, Message, ReadError


class ConfluentMember:
    """A `GroupMember`; made without asking any broker."""

    def __init__(self, options: MemberOptions) -> None:
        self._options = options
        self._assigned: Assigned | None = None
        self._failure: str | None = None
        self._membership: Membership | None = None
        self._later: deque[PolledRecords] = deque()
        self._returned = threading.Event()
        self._returned.set()
        self._owned: frozenset[int] = frozenset()
        self._consumer = made(
            Consumer,
            member_config(
                options,
                **({} if options.instance is None else {"group_instance_id": options.instance}),
                **self._protocol(),
            ),
        )
        self._subscription = Subscription(
            self._consumer,
            self._wanted(),
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            decline=self._decline,
            leaves=options.instance is None or options.modern,
        )

    @property
    def owned(self) -> frozenset[int]:
        """See `GroupMember.owned`; empty until the poll that reports a new assignment."""
        return frozenset() if self._later else self._owned

    def poll(self, max_wait_s: float) -> PolledRecords:
        """As promised by `GroupMember.poll`."""
        if self._later:
            return self._later.popleft()
        try:
            first = self._consumer.poll(max_wait_s)
            assigned, self._assigned = self._assigned, None
            more = [] if first is None else self._rest()
        except Exception as error:
            raise ReadError(error_text(error)) from error
        if self._failure is not None:
            raise ReadError(self._failure)
        messages = _messages([] if first is None else [first])
        later, self._assigned = self._assigned, None
        if later is None:
            return PolledRecords(messages + _messages(more), assigned)
        self._later.append(PolledRecords(_messages(more), later))
        return PolledRecords(messages, assigned)

    def commit(self, offsets: Mapping[int, int]) -> AdminAnswer:
        """As promised by `GroupMember.commit`."""
        try:
            known = membership_of(self._consumer.consumer_group_metadata())
        except Exception as error:  # noqa: BLE001 - after any error of the library nothing was sent
            return AdminAnswer(OperationType.FAIL, error=f"{error_text(error)}, nothing sent")
        if self._membership is None or known != self._membership:
            return AdminAnswer(OperationType.FAIL, error="the membership has ended, nothing sent")
        where = [TopicPartition(self._options.topic, p, offset) for p, offset in offsets.items()]
        answered: list[TopicPartition] = []
        self._returned.clear()

        def ask() -> None:
            try:
                answered.extend(self._consumer.commit(offsets=where, asynchronous=False))
            finally:
                self._returned.set()

        try:
            within(self._options.commit_ms / MS_PER_S, "the commit", ask)
        except ClientFailedError as error:
            return AdminAnswer(OperationType.INFO, error=str(error))
        failed = [place.error for place in answered if place.error is not None]
        if failed or len(answered) < len(where):
            text = "; ".join(f"{error.name()}: {error.str()}" for error in failed[:3])
            return AdminAnswer(
                OperationType.INFO, error=f"{text} (an earlier attempt may have been appended)"
            )
        return AdminAnswer(OperationType.OK)

    def close(self, timeout_s: float) -> None:
        """See `GroupMember.close`; waits for a commit that has not returned and still uses the client."""

        def end() -> None:
            self._returned.wait()
            self._subscription.close()

        within(timeout_s, "closing confluent-kafka's group member", end)

    def _rest(self) -> list[Any]:
        """Further records that are already available."""
        more: list[Any] = self._consumer.consume(num_messages=self._options.poll_records_max - 1, timeout=0)
        return more

    def _protocol(self) -> dict[str, object]:
        """The library's configuration of the group's protocol."""
        return {
            "partition_assignment_strategy": ",".join(self._options.assignors),
            "session_timeout_ms": self._options.session_ms,
            "heartbeat_interval_ms": self._options.heartbeat_ms,
        }

    def _wanted(self) -> str:
        """The topic to which it subscribes."""
        return self._options.topic

    def _committed(self, consumer: Consumer, partitions: Iterable[int]) -> dict[int, int] | None:
        """The group's committed offsets, 0 if it has none; None after an error, which poll reports."""
        self._failure = None
        asked = [TopicPartition(self._options.topic, partition) for partition in partitions]
        try:
            known = consumer.committed(asked, timeout=self._options.request_ms / MS_PER_S)
            failed = [place.error for place in known if place.error is not None]
            if failed:
                self._failure = f"no committed offsets: {failed[0].name()}: {failed[0].str()}"
        except Exception as error:  # noqa: BLE001 - reported by the poll that calls this
            self._failure = f"no committed offsets: {error_text(error)}"
        return None if self._failure else {place.partition: max(place.offset, 0) for place in known}

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Begin at the group's committed offsets."""
        starts = self._committed(consumer, [place.partition for place in partitions])
        if starts is None:
            consumer.assign([])
            return
        consumer.assign([TopicPartition(self._options.topic, p, offset) for p, offset in starts.items()])
        self._membership = membership_of(consumer.consumer_group_metadata())
        self._owned = frozenset(starts)
        self._assigned = Assigned(starts, self._membership)

    def _decline(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Take part in no further assignment, within `close`."""
        decline_all(consumer, partitions)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """The group revoked the partitions, or continued without this member."""
        del partitions
        self._owned = frozenset()
        self._membership = None
        consumer.unassign()


def _messages(returned: list[Any]) -> list[Message]:
    """The records returned.

    Raises:
        ReadError: there was an error among them; the caller closes this member, so that the next one reads
            the records that came with it.
    """
    failed = [message.error() for message in returned if message.error() is not None]
    if failed:
        raise ReadError("; ".join(f"{error.name()}: {error.str()}" for error in failed[:3]))
    return [Message(m.partition(), m.offset(), m.value()) for m in returned]
