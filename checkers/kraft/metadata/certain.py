"""The topics that the metadata log certainly has, or certainly lacks; this needs the complete log.

A log proves that something never existed if it begins with the cluster's first record, lacks no record, and
reaches as far as the node that reported it can have known.  If a controller's disk was wiped, and the wipe
may be the reason why something is missing in the log, the log proves nothing (`wipes`).
"""

from typing import NamedTuple

from checkers.columns.tables import PartitionName
from checkers.evidence.metadata_log import append_times
from checkers.evidence.metadata_whole import thinned_logs
from checkers.history.observed import began_ns
from checkers.history.operations import History, once
from checkers.kraft.metadata.logged import TopicLogged, logged
from checkers.kraft.metadata.wipes import emptied


class CertainTopics(NamedTuple):
    """All topics that ever existed.

    Attributes:
        topics: the topics that were created under each name, in the order of the log.
        until_ns: all records that were committed by this time are in the log; nanoseconds.
        op: index of the observation that reports the log.
    """

    topics: dict[str, list[TopicLogged]]
    until_ns: int
    op: int

    def made_ns(self, partition: PartitionName) -> int | None:
        """When a topic of that name with such a partition may first have been created; None if never."""
        made = (
            topic.made.span.from_ns
            for topic in self.topics.get(partition.topic, ())
            if partition.partition in topic.replicas
        )
        return min(made, default=None)

    def removed_by(self, topic: str, time_ns: int) -> bool:
        """Whether a topic of that name may have been removed before a time."""
        return any(
            each.removed is not None and each.removed.span.from_ns <= time_ns
            for each in self.topics.get(topic, ())
        )


@once
def certain_topics(history: History) -> CertainTopics | None:
    """The topics of the metadata log that reaches farthest; None if that log can't prove absence.

    Raises:
        msgspec.ValidationError, ValueError: an observation is not as docs/histories.md says.
        KeyError, TypeError: a record of the log lacks a field that Kafka writes.
    """
    found = logged(history)
    if found is None or not found.whole or found.log.operation.index in thinned_logs(history):
        return None
    read_ns = began_ns(found.log.operation)
    until_ns = min(read_ns, found.until_ns, append_times(history).complete_until_ns(found.log))
    return CertainTopics(found.topics, until_ns, found.log.operation.index)


def certain_at(history: History, time_ns: int) -> CertainTopics | None:
    """Return `certain_topics` if the log covers everything that was known at a time; else None.

    Raises:
        msgspec.ValidationError, ValueError: an observation, or the set-up, is not as docs/histories.md says.
        KeyError, TypeError: a record of the log lacks a field that Kafka writes.
    """
    found = certain_topics(history)
    known = found is not None and time_ns <= found.until_ns and emptied(history, time_ns) is None
    return found if known else None
