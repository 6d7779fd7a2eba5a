"""Whether a topic of Kafka's own may have lost records legally: offsets of groups, states of transactions.

They have no final read and no bound, so this says only whether it may be: an unclean election of one of the
topic's partitions, or disks that were struck one by one until every replica in sync of one had been.
"""

from checkers.history import History
from checkers.licences.disks import hits
from checkers.licences.scene import Scene
from checkers.partition_changes import PartitionState

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
    struck = _struck(scene, topic)
    if struck and (not states or any(_all_struck(state, struck) for state in states)):
        return f"disks of {topic} were struck: those of brokers {sorted(struck)}"
    return None


def _struck(scene: Scene, topic: str) -> frozenset[int]:
    """Ids of nodes that lost what they had of a topic, or some of it, at any time."""
    names: set[str] = set()
    for window in scene.windows:
        if hits(scene.history, window, topic):
            names.update(window.targets)
    return frozenset(scene.ids[name] for name in names if name in scene.ids)


def _all_struck(state: PartitionState, struck: frozenset[int]) -> bool:
    return bool(state.isr) and struck.issuperset(state.isr)
