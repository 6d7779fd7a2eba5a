"""confluent-kafka's member of a group of KIP-848's protocol behind the interface.

The coordinator assigns single partitions, and every member has its own epoch, which also increases without a
new assignment; commits have this epoch.  An assignment is still reported as a whole: when partitions are
added, all partitions of the member begin again at the group's committed offsets.
"""

from collections.abc import Mapping

from confluent_kafka import Consumer, TopicPartition

from checkers.history.operations import OperationType
from checkers.history.polls import Membership
from harness.clients.administrator import AdminAnswer
from harness.clients.confluent import error_text
from harness.clients.confluent_groups import membership_of
from harness.clients.group import Assigned, PolledRecords
from harness.clients.group_confluent import ConfluentMember
from harness.clients.interface import ReadError


class ModernMember(ConfluentMember):
    """A `GroupMember`; brokers set the length of its session and how often it sends heartbeats."""

    def poll(self, max_wait_s: float) -> PolledRecords:
        """See `GroupMember.poll`; reports a new epoch too."""
        gathered = super().poll(max_wait_s)
        if self._later:
            # Records before and after it can't be distinguished: the next member reads them again.
            raise ReadError("assigned within a batch of records")
        now = self._epoch()
        if gathered.assigned is not None or not self._owned or now in (None, self._membership):
            return gathered
        self._membership = now
        return gathered._replace(membership=now)

    def commit(self, offsets: Mapping[int, int]) -> AdminAnswer:
        """As promised by `GroupMember.commit`."""
        answer = super().commit(offsets)
        if answer.outcome is OperationType.OK and self._epoch() != self._membership:
            return AdminAnswer(OperationType.INFO, error="in this epoch of the member's, or in a later one")
        return answer

    def _protocol(self) -> dict[str, object]:
        return {"group_protocol": "consumer", "group_remote_assignor": self._options.assignors[0]}

    def _wanted(self) -> str:
        """The topic, or a regular expression that only its name matches."""
        return pattern_of(self._options.topic) if self._options.pattern else super()._wanted()

    def _epoch(self) -> Membership | None:
        try:
            return membership_of(self._consumer.consumer_group_metadata())
        except Exception:  # noqa: BLE001 - an error means that the library has no membership
            return None

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Add partitions; begin with all of the member's partitions at the group's committed offsets."""
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
        except Exception as error:  # noqa: BLE001 - reported by the poll that calls this
            self._failure = f"not set back to a committed offset: {error_text(error)}"
            return
        self._membership = self._epoch()
        self._owned |= added
        self._assigned = Assigned(starts, self._membership)

    def _decline(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Accept the partitions, which are revoked next: the library takes no fewer."""
        consumer.incremental_assign(partitions)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """The group revoked some partitions, or continued without this member."""
        self._owned -= {place.partition for place in partitions}
        consumer.incremental_unassign(partitions)


def pattern_of(topic: str) -> str:
    """A regular expression that only this topic's name matches, in the syntax of RE2.

    librdkafka sends what begins with ``^`` to the coordinator as an expression, in parentheses.
    """
    return f"^{topic.replace('.', '[.]')}$"
