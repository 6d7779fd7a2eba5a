"""Whether a topic of Kafka's own may have lost records legally: offsets of groups, states of transactions.

They have no final read and no bound, so this says only whether it may be: an unclean election of one of the
topic's partitions that somebody permitted (`checkers.elections` finds the others), or disks that were struck
one by one until every replica in sync of one had been, and none of them had come back into the ISR meanwhile.
"""

from collections.abc import Iterable, Iterator

from checkers.administration import UNCLEAN
from checkers.columns import NEVER, PartitionName
from checkers.history import History
from checkers.licences.asked import allowed
from checkers.licences.disks import active, all_hit, hits, strikes_of
from checkers.licences.permission import permitted, topic_named
from checkers.licences.scene import Scene

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"


def may_have_lost(history: History, topic: str, partition: int | None = None) -> str | None:
    """An event by which a topic, or one of its partitions, may have lost acknowledged records; None without.

    Where no metadata log tells of the topic to the end, there may have been any unclean election that
    somebody asked for or configs allowed; where none does at all, any struck disk may have been that of its
    only replica in sync.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    scene = Scene(history)
    told = [
        name
        for name in scene.changes.states
        if name.topic == topic and (partition is None or name.partition == partition)
    ]
    states = [(name, state) for name in told for state in scene.changes.states[name]]
    unclean = next((s for name, s in states if s.unclean and allowed(scene, name, s)), None)
    if unclean is not None:
        return f"broker {unclean.leader} was elected uncleanly for {topic}"
    told_of_all = bool(told) and all(scene.changes.tells(name, NEVER) for name in told)
    perhaps = None if told_of_all else _unclean_untold(scene, topic)
    if perhaps is not None:
        return perhaps
    struck = _struck(scene, topic) if not states else next(_all_struck(scene, told), frozenset())
    return f"disks of {topic} were struck: those of brokers {sorted(struck)}" if struck else None


def _unclean_untold(scene: Scene, topic: str) -> str | None:
    """What may have brought about an unclean election of which nothing tells."""
    for election in scene.elections:
        somewhere = next((where for where in election.asked or () if where.topic == topic), None)
        where = PartitionName(topic, 0) if election.asked is None else somewhere
        if election.type == UNCLEAN and where is not None and election.may_have_elected(where):
            return f"operation {election.request.began.index} asked for unclean elections of {topic}"
    if permitted(scene, topic_named(scene, topic)):
        return f"configs allowed unclean elections of {topic}"
    return None


def _struck(scene: Scene, topic: str) -> frozenset[int]:
    """Ids of nodes that lost what they had of a topic, or some of it, at any time."""
    names: set[str] = set()
    for window in scene.windows:
        if hits(scene.history, window, topic):
            names.update(window.targets)
    return frozenset(scene.ids[name] for name in names if name in scene.ids)


def _all_struck(scene: Scene, partitions: Iterable[PartitionName]) -> Iterator[frozenset[int]]:
    """Ids of brokers whose strikes together may have hit all that had everything of a partition."""
    for partition in partitions:
        strikes = strikes_of(scene, partition)
        for strike in strikes:
            hit = active(strikes, strike)
            untold = not scene.changes.tells(partition, strike.window.end_ns)
            if untold or all_hit(scene, partition, strike, hit):
                yield frozenset(each.replica for each in hit)
