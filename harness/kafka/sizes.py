"""The number of partitions of each topic, including partitions added during the run."""

import threading
from collections.abc import Iterable

import msgspec

from harness.kafka.answers import Place, TopicAnswer


class TopicSize(msgspec.Struct, frozen=True):
    """A topic, its number of partitions at its creation, and its currently known number."""

    name: str
    made_with: int
    now: int

    @property
    def places(self) -> list[Place]:
        """Topic and number of every partition."""
        return [(self.name, number) for number in range(self.now)]


class TopicSizes:
    """Known numbers of partitions; they only grow, and all threads of a run share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def of(self, topic: str) -> int:
        """The known number of partitions of a topic; 0 if unknown."""
        with self._lock:
            return self._counts.get(topic, 0)

    def grew(self, topic: str, count: int) -> None:
        """Record that a topic was reported to have at least this many partitions."""
        with self._lock:
            self._counts[topic] = max(count, self._counts.get(topic, 0))

    def now(self, topics: Iterable[TopicAnswer]) -> tuple[TopicSize, ...]:
        """The current sizes of topics, given the answers to their creation."""
        made = ((topic.name, len(topic.partitions)) for topic in topics)
        return tuple(TopicSize(name, count, max(count, self.of(name))) for name, count in made)

    def places(self, topics: Iterable[TopicAnswer]) -> list[Place]:
        """Topic and number of every partition, given the answers to the topics' creation."""
        return [place for size in self.now(topics) for place in size.places]
