"""The number of partitions of each topic, including those that were added during the run."""

import threading
from collections.abc import Iterable

import msgspec

from harness.kafka.answers import Place, TopicAnswer


class TopicSize(msgspec.Struct, frozen=True):
    """A topic, how many partitions it was made with, and how many it has as far as anybody told."""

    name: str
    made_with: int
    now: int

    @property
    def places(self) -> list[Place]:
        """Topic and number of every partition."""
        return [(self.name, number) for number in range(self.now)]


class TopicSizes:
    """What is known of topics; a number only grows, and all threads of a run share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def of(self, topic: str) -> int:
        """How many partitions a topic has, as far as anybody told; 0 if nobody did."""
        with self._lock:
            return self._counts.get(topic, 0)

    def grew(self, topic: str, count: int) -> None:
        """It was told that a topic has so many, at least."""
        with self._lock:
            self._counts[topic] = max(count, self._counts.get(topic, 0))

    def now(self, topics: Iterable[TopicAnswer]) -> tuple[TopicSize, ...]:
        """The sizes of topics, given what was told of them when they were made."""
        made = ((topic.name, len(topic.partitions)) for topic in topics)
        return tuple(TopicSize(name, count, max(count, self.of(name))) for name, count in made)

    def places(self, topics: Iterable[TopicAnswer]) -> list[Place]:
        """Topic and number of every partition, given what was told of the topics when they were made."""
        return [place for size in self.now(topics) for place in size.places]
