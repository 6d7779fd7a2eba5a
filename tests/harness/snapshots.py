"""Snapshots of clusters, by what a test says of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from checkers.history.observed import PartitionAnswer
from harness.kafka.answers import Place, QuorumAnswer, TopicAnswer
from harness.kafka.sizes import TopicSize, TopicSizes
from harness.kafka.snapshot import ClusterSnapshot
from harness.observers.view import ClusterView
from harness.vocabulary import Node


def reported_by_one_broker(
    partitions: Mapping[Place, PartitionAnswer],
) -> dict[Place, tuple[PartitionAnswer, ...]]:
    """Partitions as one broker reports them."""
    return {place: (state,) for place, state in partitions.items()}


def led(
    nodes: tuple[Node, ...], active_controller: int | None = None, leaders: Sequence[int] = (), **more: Any
) -> ClusterSnapshot:
    """A cluster with a leader of the quorum, and one of each partition of the topic ``led``."""
    size = TopicSize("led", len(leaders), len(leaders))
    states = {
        place: PartitionAnswer(place[1], leader, 0, (leader,), (leader,), None)
        for place, leader in zip(size.places, leaders, strict=True)
    }
    known: dict[str, Any] = {"reported": reported_by_one_broker(states), "topics": (size,), **more}
    return ClusterSnapshot(nodes, quorum=active(active_controller), **known)


def active(controller: int | None) -> QuorumAnswer | None:
    """The answer of a controller that leads and knows of nobody else; None where none does."""
    return None if controller is None else QuorumAnswer(0, controller, 0, 0, (), ())


def seen(view: ClusterView, *topics: str) -> ClusterSnapshot:
    """What a view has of topics."""
    made = [TopicAnswer(name, "id", 0, ()) for name in topics]
    return view.snapshot((), made, TopicSizes())


def grown(snapshot: ClusterSnapshot, size: TopicSize) -> ClusterSnapshot:
    """The same, with a first topic of that size."""
    return msgspec.structs.replace(snapshot, topics=(size,))
