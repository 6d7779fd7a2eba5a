"""The latest that observers have seen, for whoever must know now who leads."""

import threading
import time
from collections.abc import Callable, Mapping

from harness.administration.reassignments import Ongoing
from harness.kafka.answers import PartitionAnswer, QuorumAnswer, TopicAnswer

FRESH_S = 3.0
"""Older sights are of a node that fell silent; what it believed says nothing about now."""


class ClusterView:
    """What every node last said of leaders; safe to share between threads.

    Args:
        fresh_s: how old a sight may be to count.
        clock: seconds, monotonic.
    """

    def __init__(self, fresh_s: float = FRESH_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._fresh_s = fresh_s
        self._clock = clock
        self._lock = threading.Lock()
        self._controllers: dict[str, tuple[float, QuorumAnswer]] = {}
        self._brokers: dict[str, tuple[float, Mapping[str, TopicAnswer]]] = {}
        self._ongoing: tuple[float, tuple[Ongoing, ...]] | None = None
        self._answers = 0
        self._out: dict[tuple[str, int, int], int] = {}

    def saw_controller(self, node: str, answer: QuorumAnswer | None) -> None:
        """A controller answered as the leader, or did not."""
        with self._lock:
            self._controllers.pop(node, None)
            if answer is not None:
                self._controllers[node] = (self._clock(), answer)

    def saw_topics(self, node: str, topics: Mapping[str, TopicAnswer]) -> None:
        """A broker told of topics."""
        with self._lock:
            self._brokers[node] = (self._clock(), topics)
            self._answers += 1
            for name, topic in topics.items():
                for state in topic.partitions:
                    for replica in set(state.replicas).difference(state.isr):
                        self._out[name, state.partition, replica] = self._answers

    def saw_reassignments(self, ongoing: tuple[Ongoing, ...]) -> None:
        """The controller told of the reassignments that go on."""
        with self._lock:
            self._ongoing = (self._clock(), ongoing)

    def ongoing(self) -> tuple[Ongoing, ...] | None:
        """The reassignments that go on, None if nobody told lately."""
        with self._lock:
            return self._ongoing[1] if self._ongoing is not None and self._fresh(self._ongoing[0]) else None

    def active_controller(self) -> int | None:
        """Id of the controller that leads in the highest epoch, None if none said so lately."""
        quorum = self.quorum()
        return None if quorum is None else quorum.leader_id

    def quorum(self) -> QuorumAnswer | None:
        """The answer of the controller that leads in the highest epoch, None if none said so lately."""
        with self._lock:
            leading = [answer for at, answer in self._controllers.values() if self._fresh(at)]
        return max(leading, key=lambda answer: (answer.leader_epoch, answer.leader_id), default=None)

    def told_by(self, node: str) -> Mapping[str, TopicAnswer]:
        """What a broker told of topics, by their names; nothing if it told nothing lately."""
        with self._lock:
            at, topics = self._brokers.get(node, (-self._fresh_s, {}))
            return topics if self._fresh(at) else {}

    def partition(self, topic: str, partition: int) -> PartitionAnswer | None:
        """The partition as the broker with the newest leader epoch sees it, None if none told lately.

        Among brokers that know the same epoch the one who told last is believed.
        """
        with self._lock:
            told = self._told(topic)
        states = [
            (state.leader_epoch, at, state)
            for at, answer in told
            for state in answer.partitions
            if state.partition == partition
        ]
        return max(states, key=lambda one: one[:2])[2] if states else None

    def size(self, topic: str) -> int:
        """How many partitions of a topic any broker told of lately."""
        with self._lock:
            told = self._told(topic)
        return max((state.partition + 1 for _, answer in told for state in answer.partitions), default=0)

    def tellings(self, topic: str, partition: int) -> tuple[PartitionAnswer, ...]:
        """The partition as each broker that told lately sees it."""
        with self._lock:
            told = self._told(topic)
        return tuple(
            state for _, answer in told for state in answer.partitions if state.partition == partition
        )

    def out_of_sync(self) -> tuple[int, dict[tuple[str, int, int], int]]:
        """How many answers of brokers were heard, and which one told last that a replica is not in sync.

        Replicas by topic, partition and id; answers by their number, counted from 1.
        """
        with self._lock:
            return self._answers, dict(self._out)

    def leader_of(self, topic: str, partition: int) -> int | None:
        """Id of the partition's leader, None if it has none or nobody told lately."""
        state = self.partition(topic, partition)
        return None if state is None or state.leader < 0 else state.leader

    def leaders(self, topic: str) -> tuple[int, ...]:
        """Leaders of the partitions that have one, in the order of the partitions."""
        with self._lock:
            told = [answer for _, answer in self._told(topic)]
        partitions = sorted({state.partition for answer in told for state in answer.partitions})
        found = (self.leader_of(topic, partition) for partition in partitions)
        return tuple(leader for leader in found if leader is not None)

    def _told(self, topic: str) -> list[tuple[float, TopicAnswer]]:
        return [(at, seen[topic]) for at, seen in self._brokers.values() if self._fresh(at) and topic in seen]

    def _fresh(self, at: float) -> bool:
        return self._clock() - at <= self._fresh_s
