"""Whether a topic of Kafka's own may have lost records legally: offsets of groups, states of transactions.

They have no final read and no bound, so this says only whether it may be: an unclean election of one of the
topic's partitions, or disks that were struck one by one until every replica in sync of one had been, and none
of them had come back into the ISR meanwhile.
"""

from collections.abc import Iterator

from checkers.history import History
from checkers.licences.disks import active, all_hit, hits, strikes_of
from checkers.licences.scene import Scene

OFFSETS_TOPIC = "__consumer_offsets"


def may_have_lost(history: History, topic: str) -> str | None:
    """An event by which a topic may have lost acknowledged records; None where there is none.

    Where no metadata log tells of the topic, any struck disk may have been that of its only replica in sync.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    scene = Scene(history)
    states = [state for name, some in scene.changes.states.items() if name.topic == topic for state in some]
    unclean = next((state for state in states if state.unclean), None)
    if unclean is not None:
        return f"broker {unclean.leader} was elected uncleanly for {topic}"
    struck = _struck(scene, topic) if not states else next(_all_struck(scene, topic), frozenset())
    return f"disks of {topic} were struck: those of brokers {sorted(struck)}" if struck else None


def _struck(scene: Scene, topic: str) -> frozenset[int]:
    """Ids of nodes that lost what they had of a topic, or some of it, at any time."""
    names: set[str] = set()
    for window in scene.windows:
        if hits(scene.history, window, topic):
            names.update(window.targets)
    return frozenset(scene.ids[name] for name in names if name in scene.ids)


def _all_struck(scene: Scene, topic: str) -> Iterator[frozenset[int]]:
    """Ids of brokers whose strikes together may have hit all that had everything of a partition."""
    for partition in scene.changes.states:
        strikes = strikes_of(scene, partition) if partition.topic == topic else []
        for strike in strikes:
            hit = active(strikes, strike)
            untold = not scene.changes.tells(partition, strike.window.end_ns)
            if untold or all_hit(scene, partition, strike, hit):
                yield frozenset(each.replica for each in hit)
