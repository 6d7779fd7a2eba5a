"""The latest observations, from which snapshots of the cluster are taken."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from checkers.history.observed import PartitionAnswer
from checkers.history.units import NS_PER_MS
from harness.kafka.answers import Ongoing, Place, QuorumAnswer, TopicAnswer
from harness.kafka.sizes import TopicSizes
from harness.kafka.snapshot import ClusterSnapshot
from harness.vocabulary.topology import Node

FRESH_S = 3.0
"""Older answers are ignored, because their node no longer answers."""


class ClusterView:
    """The last report of every node about leaders; safe to share between threads.

    Args:
        fresh_s: how old an answer may be to count, seconds.
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
        """Receive a controller's answer as the leader; None: it did not answer as the leader."""
        with self._lock:
            self._controllers.pop(node, None)
            if answer is not None:
                self._controllers[node] = (self._clock(), answer)

    def saw_topics(self, node: str, topics: Mapping[str, TopicAnswer]) -> None:
        """Receive a broker's report about topics."""
        with self._lock:
            self._brokers[node] = (self._clock(), topics)
            self._answers += 1
            for name, topic in topics.items():
                for state in topic.partitions:
                    for replica in set(state.replicas).difference(state.isr):
                        self._out[name, state.partition, replica] = self._answers

    def saw_reassignments(self, ongoing: tuple[Ongoing, ...]) -> None:
        """Receive the controller's report about ongoing reassignments."""
        with self._lock:
            self._ongoing = (self._clock(), ongoing)

    def reported_by(self, node: str) -> Mapping[str, TopicAnswer]:
        """A broker's latest report about topics, by their names; empty if there is no recent report."""
        with self._lock:
            at, topics = self._brokers.get(node, (-self._fresh_s, {}))
            return topics if self._fresh(at) else {}

    def snapshot(
        self, nodes: tuple[Node, ...], topics: Sequence[TopicAnswer], sizes: TopicSizes
    ) -> ClusterSnapshot:
        """A snapshot of the recent reports, at one moment.

        Args:
            nodes: all nodes.
            topics: the topics to include, as they were created.
            sizes: gets the numbers of partitions that brokers reported.
        """
        names = [topic.name for topic in topics]
        with self._lock:
            fresh = [seen for seen in self._brokers.values() if self._fresh(seen[0])]
            leading = [answer for at, answer in self._controllers.values() if self._fresh(at)]
            moving = self._ongoing if self._ongoing is not None and self._fresh(self._ongoing[0]) else None
            answers, out_of_sync = self._answers, dict(self._out)
        newest_first = [topics for _, topics in sorted(fresh, key=lambda seen: seen[0], reverse=True)]
        reported: dict[Place, list[PartitionAnswer]] = {}
        for answer in (seen[name] for seen in newest_first for name in names if name in seen):
            for state in answer.partitions:
                reported.setdefault((answer.name, state.partition), []).append(state)
        for name, number in reported:
            sizes.grew(name, number + 1)
        known = sizes.now(topics)
        return ClusterSnapshot(
            nodes,
            {place: tuple(reported.get(place, ())) for topic in known for place in topic.places},
            max(leading, key=lambda answer: (answer.leader_epoch, answer.leader_id), default=None),
            None if moving is None else moving[1],
            known,
            taken_at_ms=time.time_ns() // NS_PER_MS,
            answers=answers,
            out_of_sync=out_of_sync,
        )

    def _fresh(self, at: float) -> bool:
        return self._clock() - at <= self._fresh_s
