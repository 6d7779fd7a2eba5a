"""The types of requests and answers about topics that are created and deleted during a run.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

import msgspec


class TopicRequested(msgspec.Struct, frozen=True):
    """A topic that is to be created: how many partitions, and how many replicas of each."""

    partitions: int
    replication_factor: int


class TopicCreated(TopicRequested, frozen=True):
    """And its id; None if the answer does not report it."""

    topic_id: str | None = None


class TopicConfigured(msgspec.Struct, frozen=True):
    """A config of a topic, and the value that it is to have."""

    config: str
    value: str


class TopicById(msgspec.Struct, frozen=True):
    """A topic of which records are fetched."""

    topic_id: str


class RecordsFetched(TopicById, frozen=True):
    """Where its first partition begins, and offset and value of each record; a text for a foreign value."""

    log_start: int
    records: tuple[tuple[int, int | str], ...]


class RecordRequested(TopicById, frozen=True):
    """A record that is to be appended to the first partition, and the id of the topic that is meant."""

    value: int


class RecordAppended(RecordRequested, frozen=True):
    """And its offset; None if the answer does not report it."""

    offset: int | None
