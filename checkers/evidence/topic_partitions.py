"""The partitions of the run's topics, and since when they exist; all checkers use this module for that.

The set-up has the initial number of each topic.  Partitions are added by *create-partitions* (KIP-195):

- A partition whose addition was acknowledged exists from the answer on.
- If the request has no certain answer, the metadata log decides: the partition exists from the time when its
  record certainly had been committed.
- Otherwise its existence is unknown.  What is found in it is judged like everything else, but nothing is
  required of it, such as a read to its end.

A partition is never removed: Kafka has no request for that, and a run does not delete its own topics.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.administration import AdminOperation, requests_of
from checkers.evidence.partition_changes import partition_changes
from checkers.history.operations import OK, History, once
from checkers.history.requested import PartitionsAdded
from checkers.history.setup import Topic, recorded_setup


class TopicPartition(NamedTuple):
    """A partition of one of the run's topics.

    Attributes:
        name: its topic and number.
        loaded: whether the load writes to its topic.
        read: whether the final readers read its topic.
        added: whether its creation was requested during the run.
        there_ns: time from which it certainly existed; 0 for one of the set-up, `NEVER` if its existence is
            unknown.
    """

    name: PartitionName
    loaded: bool
    read: bool
    added: bool
    there_ns: int


def partitions_of(history: History) -> list[TopicPartition]:
    """All partitions that certainly exist at the end, by topic in the set-up's order, then by number.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    return partitions_by(history, NEVER - 1)


def partitions_by(history: History, time_ns: int) -> list[TopicPartition]:
    """Partitions that certainly existed at a time.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    return [each for each in possible_partitions(history) if each.there_ns <= time_ns]


@once
def possible_partitions(history: History) -> tuple[TopicPartition, ...]:
    """Partitions that exist, and those whose existence is unknown.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    return tuple(one for topic in recorded_setup(history).topics for one in _of_topic(history, topic))


def _of_topic(history: History, topic: Topic) -> Iterator[TopicPartition]:
    for number in range(topic.partitions):
        name = PartitionName(topic.name, number)
        yield TopicPartition(name, topic.loaded, topic.read is not False, added=False, there_ns=0)
    there_ns: dict[int, int] = {}
    for request in requests_of(history, "create-partitions"):
        if request.began.key == topic.name and not request.failed:
            count = msgspec.convert(request.began.value, PartitionsAdded).count
            for number in range(topic.partitions, count):
                since_ns = _there_ns(history, request, PartitionName(topic.name, number))
                there_ns[number] = min(since_ns, there_ns.get(number, NEVER))
    for number, since_ns in sorted(there_ns.items()):
        name = PartitionName(topic.name, number)
        yield TopicPartition(name, topic.loaded, topic.read is not False, added=True, there_ns=since_ns)


def _there_ns(history: History, request: AdminOperation, name: PartitionName) -> int:
    """When a partition certainly existed: by the answer to its request, or else by the metadata log."""
    if request.ended is not None and request.ended.type is OK:
        return request.to_ns
    changes = partition_changes(history)
    states = changes.states.get(name)
    return NEVER if states is None else changes.span(states[0]).to_ns
