"""Disks that were wiped or lost what was not yet on them: when too many copies of a partition were hit.

A copy that was hit counts until its broker is in sync again: until another broker, which had told that it is
not, tells that it is, or until it is told in sync in a leader epoch that is newer than the strike.  With
acks=all and ``min.insync.replicas`` k a record is on k replicas at least, so k wiped ones may have been all
that had it.  Where the metadata log tells who was in sync, or eligible, it is no licence that spared one of
those: each has all that is committed.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from checkers.columns import NEVER, PartitionName
from checkers.faults import FaultWindow
from checkers.history import History
from checkers.licences.permits import Event
from checkers.licences.scene import Scene, View
from checkers.licences.unclean import bounded, epoch_after
from checkers.replicas.observed import METADATA_TOPIC
from checkers.shapes import Topic

WIPE = "wipe-disk"
DEAD = "dead-disk"
UNSYNCED = frozenset({"power-loss", DEAD})
"""Kinds after which a node has what it had synced, and may lack what it had not."""
_MIN_ISR = "min.insync.replicas"


class Strike(NamedTuple):
    """A fault that hit a copy of a partition.

    Attributes:
        window: the fault.
        replica: id of the broker whose copy it is.
        from_ns: when it began.
        to_ns: when the copy was in sync again, `NEVER` if it was not.
    """

    window: FaultWindow
    replica: int
    from_ns: int
    to_ns: int


def hits(history: History, window: FaultWindow, topic: str, partition: int | None = None) -> bool:
    """Whether a fault of a disk hit what the node had of a topic, or of one of its partitions.

    Of several log directories one may be struck alone: then what was removed decides, where that was told.
    """
    told = [history.operations[index].value or {} for index in window.operations]
    spec: dict[str, Any] = told[0].get("spec") or {}
    if window.kind not in UNSYNCED | {WIPE}:
        return False
    if spec.get("scope") == "topic" and (topic == METADATA_TOPIC or spec.get("topic") not in {None, topic}):
        return False
    removed = next((value["probe"]["removed"] for value in told if "removed" in value.get("probe", ())), None)
    if spec.get("log_dir") is None or removed is None:
        return True
    # Of the metadata log its files may be told, without the folder.
    folders = [part.rpartition("-") for path in removed for part in str(path).split("/")]
    numbers = {number for name, _, number in folders if name == topic}
    return bool(numbers) if partition is None else str(partition) in numbers


def wiped(scene: Scene) -> Iterator[Event]:
    """Times at which so many copies were wiped that no other need have had a record."""
    for topic, partition in _partitions(scene):
        strikes = _strikes(scene, partition, {WIPE})
        copies = max((len(view.replicas) for view in scene.views.get(partition, ())), default=1)
        least = min(_min_isr(scene, topic), copies)
        for strike in strikes:
            active = _active(strikes, strike)
            if len(active) >= least and not _spared(scene, partition, strike, active):
                until_ns = sorted((each.to_ns for each in active), reverse=True)[least - 1]
                text = f"{_told(active)}, of {copies} copies of {partition}, {least} in sync at least"
                yield Event(strike.from_ns, until_ns, partition, text)


def unsynced(scene: Scene) -> Iterator[Event]:
    """Times at which all copies in sync had been wiped or may have lost what was not synced."""
    for _, partition in _partitions(scene):
        strikes = _strikes(scene, partition, UNSYNCED | {WIPE})
        for strike in strikes:
            active = _active(strikes, strike)
            hit = {each.replica for each in active}
            all_hit = any(sync and hit.issuperset(sync) for sync in _in_sync(scene, partition, strike))
            if all_hit and any(each.window.kind in UNSYNCED for each in active):
                epoch = epoch_after(scene, partition, strike.from_ns)
                text, above, doubt = bounded(scene, partition, epoch)
                until_ns = max(each.to_ns for each in active)
                told = f"{_told(active)}, all copies of {partition} in sync; {text}"
                yield Event(strike.from_ns, until_ns, partition, told, above=above, doubt=doubt)


def last_wiped(scene: Scene) -> Iterator[Event]:
    """Times at which the only copy in sync was wiped, whoever else had what it had."""
    for _, partition in _partitions(scene):
        for strike in _strikes(scene, partition, {WIPE}):
            if any(sync == {strike.replica} for sync in _in_sync(scene, partition, strike)):
                text = f"{_told([strike])}, the last one in sync of {partition}"
                yield Event(strike.from_ns, strike.to_ns, partition, text)


def _partitions(scene: Scene) -> Iterator[tuple[Topic, PartitionName]]:
    """Partitions of the run's topics, if any disk was ever struck."""
    if any(window.kind in UNSYNCED or window.kind == WIPE for window in scene.windows):
        for topic in scene.setup.topics:
            for number in range(topic.partitions):
                yield topic, PartitionName(topic.name, number)


def _min_isr(scene: Scene, topic: Topic) -> int:
    return int(topic.config.get(_MIN_ISR, scene.setup.config.get(_MIN_ISR, 1)))


def _strikes(scene: Scene, partition: PartitionName, kinds: frozenset[str] | set[str]) -> list[Strike]:
    """Faults that hit copies of a partition, in the order of their beginnings."""
    views = scene.views.get(partition, [])
    holders = {replica for view in views for replica in view.replicas}
    found: list[Strike] = []
    for window in scene.windows:
        if window.kind not in kinds or not hits(scene.history, window, partition.topic, partition.partition):
            continue
        struck = {scene.ids[name] for name in window.targets if name in scene.ids} & holders
        found += [
            Strike(window, replica, window.invoked_ns, _rejoined_ns(scene, views, window, replica))
            for replica in sorted(struck)
        ]
    return found


def _rejoined_ns(scene: Scene, views: Sequence[View], window: FaultWindow, replica: int) -> int:
    """When a replica was in sync again after a fault; by what others told, `NEVER` if nobody did."""
    began_ns = window.heal_invoked_ns
    if began_ns is None:
        return NEVER
    epoch = max((v.leader_epoch for v in views if v.time_ns <= window.invoked_ns), default=NEVER)
    left: set[str] = set()
    for view in views:
        if view.began_ns < window.invoked_ns or scene.ids.get(view.node) == replica:
            continue
        if replica not in view.isr:
            left.add(view.node)
        elif view.began_ns >= began_ns and (view.node in left or view.leader_epoch > epoch):
            return view.time_ns
    return NEVER


def _active(strikes: Sequence[Strike], now: Strike) -> list[Strike]:
    """Of each replica that is hit when a strike begins, that one included, the strike that lasts longest."""
    longest: dict[int, Strike] = {}
    for strike in strikes:
        known = longest.get(strike.replica)
        if strike.from_ns <= now.from_ns <= strike.to_ns and (known is None or strike.to_ns > known.to_ns):
            longest[strike.replica] = strike
    return list(longest.values())


def _spared(scene: Scene, partition: PartitionName, strike: Strike, active: Sequence[Strike]) -> bool:
    """Whether some replica certainly was in sync or eligible when a strike began, and none had hit it."""
    hit = {each.replica for each in active}
    known = partition in scene.changes.states
    return known and not any(hit.issuperset(sync) for sync in _in_sync(scene, partition, strike))


def _in_sync(scene: Scene, partition: PartitionName, strike: Strike) -> Iterator[set[int]]:
    """Sets of replicas of which each had all that was committed, one of them when a strike befell the node.

    By the metadata log those in sync and the eligible ones (KIP-966); without it those that brokers told.
    """
    if partition not in scene.changes.states:
        yield from (set(view.isr) for view in _around(scene, partition, strike))
        return
    for state in scene.changes.possible(partition, strike.from_ns, strike.window.end_ns):
        yield {*state.isr, *state.elr}


def _around(scene: Scene, partition: PartitionName, strike: Strike) -> Iterator[View]:
    """What each broker told last before a strike, and all that was told while the node was down."""
    before: dict[str, View] = {}
    for view in scene.views.get(partition, ()):
        if view.time_ns <= strike.from_ns:
            before[view.node] = view
        elif view.began_ns <= strike.window.end_ns:
            yield view
    yield from before.values()


def _told(strikes: Sequence[Strike]) -> str:
    """Who was hit by what, in words."""
    each = [f"the disk of broker {s.replica} ({s.window.kind}, fault {s.window.id})" for s in strikes]
    return f"{' and '.join(each)} lost what it held"
