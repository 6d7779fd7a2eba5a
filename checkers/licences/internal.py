"""Whether an internal topic may have lost records legally: committed offsets, or transaction states.

These topics have no final read and no bound.  So this module only determines whether, and until when, a loss
is possible.  There are two causes.  The first is a permitted unclean election of one of the topic's
partitions (the checker of elections finds the forbidden ones).  The second is a series of disk faults that
hit all in-sync replicas of one partition before any of them had rejoined the ISR.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from checkers.columns.tables import NEVER, NONE, PartitionName
from checkers.evidence.administration import UNCLEAN, Election
from checkers.history.operations import History
from checkers.licences.disks import active, all_hit, copy_faults_of, hits
from checkers.licences.facts import Facts
from checkers.licences.permission import permitted, topic_named
from checkers.licences.requested_elections import allowed
from checkers.licences.unclean import settled_ns


class Loss(NamedTuple):
    """An event by which a topic may have lost acknowledged records.

    Attributes:
        text: what it was.
        until_ns: acknowledged changes that were requested after this time are kept; `NEVER` if unknown.
        from_ns: nothing was lost before this; 0 if unknown.
        epoch: records that were appended in this leader epoch, or later, are kept; None if unknown.
    """

    text: str
    until_ns: int
    from_ns: int = 0
    epoch: int | None = None

    def meets(self, since_ns: int, until_ns: int = NEVER) -> bool:
        """Whether a change that was requested at or after one time may have been lost by another time."""
        return self.until_ns >= since_ns and self.from_ns <= until_ns


def may_have_lost(
    history: History, topic: str, partition: int | None = None, since_ns: int = 0, until_ns: int = NEVER
) -> str | None:
    """Return an event by which a topic, or a partition, may have lost acknowledged records; None if none.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        topic: an internal topic of Kafka.
        partition: its number; None: any of them.
        since_ns: the earliest time at which the records were requested.
        until_ns: the latest time at which they can have been lost.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    met = (loss.text for loss in losses(history, topic, partition) if loss.meets(since_ns, until_ns))
    return next(met, None)


def losses(history: History, topic: str, partition: int | None = None) -> tuple[Loss, ...]:
    """Events by which a topic, or one of its partitions, may have lost acknowledged records.

    If no metadata log covers the topic to the end, any unclean election that was requested, or that configs
    allowed, may have happened since then.  If no metadata log has the topic at all, any disk that was hit may
    have held its only in-sync replica.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    facts = Facts(history)
    known = [
        name
        for name in facts.changes.states
        if name.topic == topic and (partition is None or name.partition == partition)
    ]
    unclean = [*_elected(facts, known)]
    complete = bool(known) and all(facts.changes.is_complete(name, NEVER) for name in known)
    if not complete:
        known_until_ns = facts.changes.complete_until_ns if known and partition is not None else 0
        perhaps = _unrecorded_unclean(facts, topic, partition)
        unclean += [loss._replace(from_ns=max(loss.from_ns, known_until_ns)) for loss in perhaps]
    if any(facts.changes.states[name] for name in known):
        return (*unclean, *_all_hit(facts, known))
    return (*unclean, *_any_hit(facts, topic))


def _elected(facts: Facts, partitions: Iterable[PartitionName]) -> Iterator[Loss]:
    """Unclean elections that were permitted."""
    for name in partitions:
        for state in facts.changes.states[name]:
            if state.unclean and allowed(facts, name, state):
                text = f"broker {state.leader} was elected uncleanly for {name.topic}"
                until_ns = settled_ns(facts, name, state.leader_epoch)
                yield Loss(text, until_ns, facts.changes.span(state).from_ns, state.leader_epoch)


def _of_disks(topic: str, brokers: frozenset[int], from_ns: int, until_ns: int) -> Loss:
    return Loss(f"damage to disks of replicas of {topic}, on brokers {sorted(brokers)}", until_ns, from_ns)


def _unrecorded_unclean(facts: Facts, topic: str, partition: int | None) -> Iterator[Loss]:
    """Unclean elections that no evidence shows: since a request, or since configs allowed them."""
    for election in facts.elections:
        places = _places(election, topic, partition)
        if election.type == UNCLEAN and any(map(election.may_have_elected, places)):
            text = f"operation {election.request.began.index} asked for unclean elections of {topic}"
            yield Loss(text, NEVER, election.request.from_ns)
    for allowed_ns in permitted(facts, topic_named(facts, topic)):
        yield Loss(f"configs allowed unclean elections of {topic}", NEVER, allowed_ns.from_ns)


def _places(election: Election, topic: str, partition: int | None) -> Iterable[PartitionName]:
    """The partitions of a topic that a request may concern, or the given one; number -1 stands for all."""
    if partition is not None or election.asked is None:
        return [PartitionName(topic, NONE if partition is None else partition)]
    return [place for place in election.asked if place.topic == topic]


def _any_hit(facts: Facts, topic: str) -> Iterator[Loss]:
    """Faults at any time that hit all or part of a topic's data on a node."""
    hit = [window for window in facts.windows if hits(facts.history, window, topic)]
    hit_brokers = frozenset(facts.ids[name] for window in hit for name in window.targets if name in facts.ids)
    if hit_brokers:
        yield _of_disks(topic, hit_brokers, min(window.invoked_ns for window in hit), NEVER)


def _all_hit(facts: Facts, partitions: Iterable[PartitionName]) -> Iterator[Loss]:
    """Faults that together may have hit all brokers that had all records of a partition."""
    for partition in partitions:
        faults = copy_faults_of(facts, partition)
        for fault in faults:
            hit = active(faults, fault)
            unknown = not facts.changes.is_complete(partition, fault.window.end_ns)
            if unknown or all_hit(facts, partition, fault, hit):
                brokers = frozenset(each.replica for each in hit)
                yield _of_disks(partition.topic, brokers, fault.from_ns, max(each.to_ns for each in hit))
