"""How many partitions topics have: more than at first, once some were added and somebody has told of it."""

import threading
from collections.abc import Iterable

from harness.kafka.answers import TopicAnswer


class TopicSizes:
    """What is known of topics; a number only grows, and all threads of a run share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def of(self, topic: str) -> int:
        """How many partitions a topic has, as far as anybody told; 0 where nobody did."""
        with self._lock:
            return self._counts.get(topic, 0)

    def grew(self, topic: str, count: int) -> None:
        """It was told that a topic has so many, at least."""
        with self._lock:
            self._counts[topic] = max(count, self._counts.get(topic, 0))

    def places(self, topics: Iterable[TopicAnswer]) -> list[tuple[str, int]]:
        """Topic and number of every partition, given what was told of the topics when they were made."""
        counts = {topic.name: max(len(topic.partitions), self.of(topic.name)) for topic in topics}
        return [(name, number) for name, count in counts.items() for number in range(count)]
