"""kafka-python's member of a group behind the interface.

Version 3.0 serves rebalances within poll, on its network thread, so the listener is a coroutine.  Its own
synchronous commit sends the request again after errors and timeouts.  Here one request is sent, so a refusal
proves that nothing was committed.
"""

import time
from collections.abc import Iterable, Mapping

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import BrokerResponseError, CommitFailedError
from kafka.structs import OffsetAndMetadata

from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from checkers.history.units import MS_PER_S
from harness.clients.administrator import AdminAnswer
from harness.clients.administrator_errors import classify_commit
from harness.clients.group import Assigned, MemberOptions, PolledRecords
from harness.clients.interface import ReadError
from harness.clients.kafka_python import polled_in_group
from harness.clients.kafka_python_making import end_consumer, made_client, subscribe
from harness.record.journal import describe


class KafkaPythonMember:
    """A `GroupMember`.

    Raises:
        ClientFailedError: no broker answered.
    """

    def __init__(self, options: MemberOptions) -> None:
        self._options = options
        self._consumer = made_client(
            KafkaConsumer,
            options.bootstrap,
            group_id=options.group,
            group_instance_id=options.instance,
            enable_auto_commit=False,
            auto_offset_reset="none",
            partition_assignment_strategy=(RangePartitionAssignor,),
            request_timeout_ms=options.request_ms,
            session_timeout_ms=options.session_ms,
            heartbeat_interval_ms=options.heartbeat_ms,
            max_poll_interval_ms=options.poll_interval_ms,
            fetch_max_wait_ms=250,
            max_poll_records=options.poll_records_max,
            bootstrap_timeout_ms=options.connect_ms,
            allow_auto_create_topics=False,
        )
        self._coordinator = self._consumer._coordinator  # noqa: SLF001 - nothing public sends one commit once
        self._listener = _Listener(self._consumer, options)
        subscribe(self._consumer, options.topic, self._listener)

    @property
    def owned(self) -> frozenset[int]:
        """As promised by `GroupMember.owned`."""
        return self._listener.owned

    def poll(self, max_wait_s: float) -> PolledRecords:
        """As promised by `GroupMember.poll`."""
        messages = polled_in_group(self._consumer, max_wait_s)
        return PolledRecords(messages, self._listener.taken())

    def commit(self, offsets: Mapping[int, int]) -> AdminAnswer:
        """As promised by `GroupMember.commit`."""
        deadline = time.monotonic() + self._options.commit_ms / MS_PER_S
        where = {
            TopicPartition(self._options.topic, partition): OffsetAndMetadata(offset, "", -1)
            for partition, offset in offsets.items()
        }
        try:
            ready = self._coordinator.ensure_coordinator_ready(timeout_ms=self._options.commit_ms)
        except Exception as error:  # noqa: BLE001 - after any error of the library nothing was sent
            return AdminAnswer(OperationType.FAIL, error=f"{describe(error)} (no coordinator, nothing sent)")
        if not ready:
            return AdminAnswer(OperationType.FAIL, error="no coordinator was found, nothing sent")
        try:
            return self._sent_once(where, deadline)
        except Exception as error:  # noqa: BLE001 - every error of the library is recorded as the commit's outcome
            return AdminAnswer(OperationType.INFO, error=describe(error))

    def _sent_once(self, where: Mapping[TopicPartition, OffsetAndMetadata], deadline: float) -> AdminAnswer:
        manager = self._coordinator._manager  # noqa: SLF001 - as the library's own commits do
        future = manager.call_soon(self._coordinator._send_offset_commit_request, where)  # noqa: SLF001 - as above
        try:
            manager.run(manager.wait_for, future, max(0.0, deadline - time.monotonic()) * MS_PER_S)
        except Exception as error:  # noqa: BLE001 - the commit's outcome is that of its future, not of the wait
            if not future.is_done:
                return AdminAnswer(OperationType.INFO, error=f"no answer to OffsetCommit: {describe(error)}")
        return AdminAnswer(OperationType.OK) if future.exception is None else refused(future.exception)

    def close(self, timeout_s: float) -> None:
        """As promised by `GroupMember.close`."""
        end_consumer(self._consumer, timeout_s, "kafka-python's group member")


def refused(error: Exception) -> AdminAnswer:
    """The outcome of a commit, given the error of its only attempt.

    CommitFailedError means ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID or REBALANCE_IN_PROGRESS, or that the
    membership ended before anything was sent.
    """
    if isinstance(error, CommitFailedError):
        return AdminAnswer(
            OperationType.FAIL, error=f"{describe(error)} (the member is verified before the append)"
        )
    if isinstance(error, BrokerResponseError) and error.errno is not None:
        outcome, text = classify_commit(int(error.errno), describe(error), only_attempt=True)
        return AdminAnswer(outcome, error=text)
    return AdminAnswer(OperationType.INFO, error=describe(error))


class _Listener(AsyncConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    """Begins every assignment at the group's committed offsets."""

    def __init__(self, consumer: KafkaConsumer, options: MemberOptions) -> None:
        self._consumer = consumer
        self._options = options
        self._assigned: Assigned | None = None
        self._failure: str | None = None
        self.owned: frozenset[int] = frozenset()

    def taken(self) -> Assigned | None:
        """The assignment that is new since the last call.

        Raises:
            ReadError: its committed offsets could not be read.
        """
        if self._failure is not None:
            raise ReadError(self._failure)
        assigned, self._assigned = self._assigned, None
        return assigned

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Forget the partitions; the library itself also removes them."""
        del revoked
        self.owned = frozenset()

    async def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        """The group continued without this member."""
        del lost
        self.owned = frozenset()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Fetch the committed offsets and seek to them, before any record is fetched."""
        places = sorted(assigned)
        coordinator = self._consumer._coordinator  # noqa: SLF001 - the public call would wait for this very thread
        try:
            known = await coordinator.fetch_committed_offsets_async(
                places, timeout_ms=self._options.request_ms
            )
        except Exception as error:  # noqa: BLE001 - reported by the poll that calls this
            self._failure = f"no committed offsets: {describe(error)}"
            return
        starts = {place.partition: known[place].offset if place in known else 0 for place in places}
        for place in places:
            self._consumer.seek(place, starts[place.partition])
        told = self._consumer.group_metadata()
        self.owned = frozenset(starts)
        self._assigned = Assigned(starts, Membership(told.member_id, told.generation_id))
