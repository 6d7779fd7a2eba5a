"""confluent-kafka's member of a group of KIP-848's protocol behind the interface.

The coordinator assigns, partition by partition, and every member has an epoch of its own, which moves on
without a new assignment too; a commit carries it.  An assignment is reported as a whole nevertheless:
whenever partitions are added, all that the member has begin again where the group has committed.
"""

from collections.abc import Mapping

from confluent_kafka import Consumer, TopicPartition

from checkers.history.operations import OperationType
from harness.clients.administrator import Answer
from harness.clients.confluent import told
from harness.clients.group import Assigned, Gathered, Membership
from harness.clients.group_confluent import ConfluentMember, membership_of
from harness.clients.interface import ReadError


class ModernMember(ConfluentMember):
    """A `GroupMember`; brokers say how long its session is, and how often it sends heartbeats."""

    def poll(self, max_wait_s: float) -> Gathered:
        """See `GroupMember.poll`; reports a new epoch too."""
        gathered = super().poll(max_wait_s)
        if self._later:
            # Records of before and after it can't be distinguished: the next member reads them again.
            raise ReadError("assigned within a batch of records")
        now = self._epoch()
        if gathered.assigned is not None or not self._owned or now in (None, self._membership):
            return gathered
        self._membership = now
        return gathered._replace(membership=now)

    def commit(self, offsets: Mapping[int, int]) -> Answer:
        """As promised by `GroupMember.commit`."""
        answer = super().commit(offsets)
        if answer.outcome is OperationType.OK and self._epoch() != self._membership:
            return Answer(OperationType.INFO, error="in this epoch of the member's, or in a later one")
        return answer

    def _protocol(self) -> dict[str, object]:
        return {"group_protocol": "consumer", "group_remote_assignor": "range"}

    def _epoch(self) -> Membership | None:
        try:
            return membership_of(self._consumer.consumer_group_metadata())
        except Exception:  # noqa: BLE001 - the library knows of no membership
            return None

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Add partitions; begin with all of them where the group's committed offsets say."""
        added = frozenset(place.partition for place in partitions)
        starts = self._committed(consumer, self._owned | added)
        if starts is None:
            consumer.incremental_assign(partitions)
            return
        topic = self._options.topic
        consumer.incremental_assign([TopicPartition(topic, p, starts[p]) for p in sorted(added)])
        try:
            for partition in sorted(self._owned - added):
                consumer.seek(TopicPartition(topic, partition, starts[partition]))
        except Exception as error:  # noqa: BLE001 - told by the poll that serves this
            self._failure = f"not set back to a committed offset: {told(error)}"
            return
        self._membership = self._epoch()
        self._owned |= added
        self._assigned = Assigned(starts, self._membership)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """The group took some back, or continued without this member."""
        self._owned -= {place.partition for place in partitions}
        consumer.incremental_unassign(partitions)
