"""The types of requests and answers about topics that are created and deleted during a run.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

import msgspec


class TopicRequested(msgspec.Struct, frozen=True):
    """A requested topic: number of partitions, and number of replicas of each."""

    partitions: int
    replication_factor: int


class TopicCreated(TopicRequested, frozen=True):
    """A created topic, with its id; None if the answer does not report it."""

    topic_id: str | None = None


class TopicConfigured(msgspec.Struct, frozen=True):
    """A config of a topic, and the value that it is to have."""

    config: str
    value: str


class TopicById(msgspec.Struct, frozen=True):
    """A topic from which records are fetched."""

    topic_id: str


class RecordsFetched(TopicById, frozen=True):
    """Start of the first partition; offset and value of each record, a text for a foreign value."""

    log_start: int
    records: tuple[tuple[int, int | str], ...]


class RecordRequested(TopicById, frozen=True):
    """A record to append to the first partition, and the id of the intended topic."""

    value: int


class RecordAppended(RecordRequested, frozen=True):
    """An appended record with its offset; None if the answer does not report it."""

    offset: int | None
