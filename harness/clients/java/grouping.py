"""A member of a consumer group of kafka-clients, in the process that has the JVM.

Its listener of rebalances is the one callback that enters Python.  The library calls it within ``poll``, in
the thread that polls, before it returns records of the new assignment.

A member of KIP-848's protocol that was fenced in the background commits nevertheless, until its next poll, as
a client that is in no group (epoch -1; docs/findings.md).  Kafka permits that while the group is empty.  So
after a commit the member polls its paused partitions: a listener that is called there reports the loss.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from checkers.history.units import MS_PER_S
from harness.clients.administrator import AdminAnswer
from harness.clients.group import Assigned, MemberOptions, PolledRecords
from harness.clients.group_modern import pattern_of
from harness.clients.interface import ClientFailedError, Message, ReadError
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
from harness.clients.java.producing import client_config, error_text, made
from harness.clients.transactional import GroupOptions

_CONSUMER = "org.apache.kafka.clients.consumer."
_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_ASSIGNORS = {"range": "RangeAssignor", "roundrobin": "RoundRobinAssignor"}
"""The library's classes of eager client-side assignors."""


class JavaMember:
    """The other end of a `RemoteMember`; made without asking any broker."""

    def __init__(self, options: MemberOptions) -> None:
        self._options = options
        self._owned: frozenset[int] = frozenset()
        self._assigned: Assigned | None = None
        self._membership: Membership | None = None
        self._failure: str | None = None
        self._losses = 0
        self._newly_set = False
        self._early: list[Message] = []
        self._consumer = made(_CONSUMER + "KafkaConsumer", _config(options))
        listener = implemented(
            _CONSUMER + "ConsumerRebalanceListener",
            onPartitionsAssigned=self._on_assigned,
            onPartitionsRevoked=self._on_revoked,
            onPartitionsLost=self._on_lost,
        )
        try:
            self._consumer.subscribe(_wanted(options), listener)
        except JavaError as error:
            raise ClientFailedError(error_text(error)) from None

    def poll(self, max_wait_s: float) -> tuple[PolledRecords, frozenset[int]]:
        """As promised by `GroupMember.poll`, with the partitions that it owns then."""
        messages, self._early = self._early, []
        try:
            messages = messages or self._received(max_wait_s)
            moved = self._moved()
        except JavaError as error:
            raise ReadError(self._failure or error_text(error)) from None
        if self._failure is not None:
            raise ReadError(self._failure)
        assigned, self._assigned = self._assigned, None
        if assigned is not None and moved is not None:
            # The epoch grew in the same poll, after the listener had been called.
            assigned, moved = assigned._replace(membership=moved), None
        return PolledRecords(messages, assigned, moved), self._owned

    def commit(self, offsets: Mapping[int, int]) -> AdminAnswer:
        """As promised by `GroupMember.commit`; the library sends it again, so no refusal proves anything."""
        where = java("java.util.HashMap")()
        for partition, offset in offsets.items():
            where.put(self._place(partition), java(_CONSUMER + "OffsetAndMetadata")(offset))
        try:
            if self._membership is None or self._told() != self._membership:
                return AdminAnswer(OperationType.FAIL, error="the membership has ended, nothing sent")
            self._consumer.commitSync(where, duration(self._options.commit_ms / MS_PER_S))
        except JavaError as error:
            return AdminAnswer(
                OperationType.INFO, error=f"{error_text(error)} (an earlier attempt may have been appended)"
            )
        if not self._is_still(self._membership):
            return AdminAnswer(OperationType.INFO, error="in this membership, in a later one, or in none")
        return AdminAnswer(OperationType.OK)

    def close(self, timeout_s: float) -> None:
        """As promised by `GroupMember.close`."""
        try:
            self._consumer.close(duration(timeout_s / 2))
        except JavaError as error:
            why = error_text(cause_of(error))
            raise ClientFailedError(f"closing: {error_text(error)} ({why})") from None

    def _received(self, max_wait_s: float) -> list[Message]:
        """The records of one poll of the library.

        4.2 reports once, after an assignment, that partitions have no offset although the listener set it
        (KAFKA-20106).
        """
        try:
            returned = self._consumer.poll(duration(max_wait_s))
        except JavaError as error:
            if not self._newly_set or class_of(error) != "NoOffsetForPartitionException":
                raise
            self._newly_set, returned = False, ()
        return [Message(int(one.partition()), int(one.offset()), to_python(one.value())) for one in returned]

    def _is_still(self, membership: Membership) -> bool:
        """Whether this membership has certainly lasted; if not, partitions may stay paused."""
        losses = self._losses
        try:
            if self._options.modern:
                self._consumer.pause(self._consumer.assignment())
                self._early = self._received(0)
                self._consumer.resume(self._consumer.paused())
            return self._losses == losses and self._told() == membership
        except JavaError:
            # Thrown where the background has taken a partition away, and where a poll fails.
            return False

    def _told(self) -> Membership | None:
        """What the library reports as its membership."""
        known = self._consumer.groupMetadata()
        generation = int(known.generationId())
        return Membership(str(known.memberId()), generation) if generation >= 0 else None

    def _moved(self) -> Membership | None:
        """The member's epoch of KIP-848 if it is another one than before; it owns partitions."""
        if not (self._options.modern and self._owned):
            return None
        now = self._told()
        if now in (None, self._membership):
            return None
        self._membership = now
        return now

    def _on_assigned(self, places: Any) -> None:
        """Begin at the group's committed offsets, in KIP-848's protocol with the partitions kept as well."""
        added = frozenset(_partitions(places))
        if self._options.modern and self._owned and not added:
            return
        owned = self._owned | added if self._options.modern else added
        self._failure = None
        try:
            starts = self._committed(owned)
            for partition, offset in starts.items():
                self._consumer.seek(self._place(partition), offset)
            self._membership = self._told()
        except JavaError as error:
            self._failure = f"no committed offsets: {error_text(error)}"
            return
        self._owned = owned
        self._newly_set = True
        self._assigned = Assigned(starts, self._membership)

    def _on_revoked(self, places: Any) -> None:
        """The group revoked the partitions."""
        self._owned -= frozenset(_partitions(places))

    def _on_lost(self, places: Any) -> None:
        """The group continued without this member."""
        self._losses += 1
        self._on_revoked(places)

    def _committed(self, partitions: Iterable[int]) -> dict[int, int]:
        """The group's committed offsets, 0 if it has none."""
        places = {partition: self._place(partition) for partition in sorted(partitions)}
        if not places:
            return {}
        asked = java("java.util.HashSet")(listed(list(places.values())))
        known = self._consumer.committed(asked, duration(self._options.request_ms / MS_PER_S))
        found = {partition: known.get(place) for partition, place in places.items()}
        return {partition: 0 if one is None else int(one.offset()) for partition, one in found.items()}

    def _place(self, partition: int) -> Any:
        return java("org.apache.kafka.common.TopicPartition")(self._options.topic, partition)


def _partitions(places: Any) -> Iterable[int]:
    return (int(place.partition()) for place in places)


def _wanted(options: MemberOptions) -> Any:
    """What it subscribes to: the topic, or a regular expression that the coordinator evaluates."""
    if options.modern and options.pattern:
        return java(_CONSUMER + "SubscriptionPattern")(pattern_of(options.topic))
    return listed([options.topic])


def member_config(options: MemberOptions | GroupOptions, **more: object) -> dict[str, object]:
    """Configuration of every member: without auto-commit, and with an error if there is no offset."""
    return client_config(
        options.bootstrap,
        options.request_ms,
        key_deserializer=_DESERIALIZER,
        value_deserializer=_DESERIALIZER,
        group_id=options.group,
        enable_auto_commit=False,
        auto_offset_reset="none",
        default_api_timeout_ms=options.request_ms,
        max_poll_interval_ms=options.poll_interval_ms,
        max_poll_records=options.poll_records_max,
        fetch_max_wait_ms=min(250, options.request_ms - 1),
        allow_auto_create_topics=False,
        **more,
    )


def _config(options: MemberOptions) -> dict[str, object]:
    return member_config(
        options,
        **({} if options.instance is None else {"group_instance_id": options.instance}),
        **_protocol(options),
    )


def _protocol(options: MemberOptions) -> dict[str, object]:
    """The configuration of the group's protocol; before 3.7 the library knows only the classic one."""
    if options.modern:
        return {"group_protocol": "consumer", "group_remote_assignor": options.assignors[0]}
    return {
        "partition_assignment_strategy": ",".join(_CONSUMER + _ASSIGNORS[name] for name in options.assignors),
        "session_timeout_ms": options.session_ms,
        "heartbeat_interval_ms": options.heartbeat_ms,
    }
