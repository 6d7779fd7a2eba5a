"""The outcomes of requests without an answer: done, not done, or still undecided."""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import pairwise

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.administration import PREFERRED, Election, Reassignment
from checkers.evidence.partition_changes import NOBODY, PartitionChanges, PartitionState


class Fate(StrEnum):
    """What the metadata log shows about a request without an answer.

    * *happened*: a record makes the requested change.  Another event may have caused that record.
    * *not*: all records are known, and none makes the requested change, so the request had no effect.
    * *open*: no known record makes the requested change, but some records are not known.
    """

    HAPPENED = "happened"
    NOT = "not"
    OPEN = "open"


def fate(*, found: bool, complete: bool) -> Fate:
    """The outcome of a request.

    Args:
        found: whether a record since the request made the requested change.
        complete: whether all records up to the end are known.
    """
    if found:
        return Fate.HAPPENED
    return Fate.NOT if complete else Fate.OPEN


def counted(fates: Iterable[Fate]) -> dict[str, int]:
    """Numbers of requests by outcome; outcomes without requests are left out."""
    return {str(each): count for each, count in sorted(Counter(fates).items())}


def fate_of_election(election: Election, changes: PartitionChanges) -> Fate:
    """Whether an election was held, in any of the partitions that were requested."""
    asked = changes.states.keys() if election.asked is None else election.asked
    found = any(_elected(election, partition, changes) for partition in asked)
    return fate(found=found, complete=changes.op is not None and _all_known(asked, changes))


def fate_of_reassignment(asked: Reassignment, changes: PartitionChanges) -> Fate:
    """Whether a reassignment to the requested replicas began, or an ongoing one was cancelled."""
    return fate(found=_taken_up(asked, changes), complete=changes.is_complete(asked.partition, NEVER))


def fits(request: Reassignment, state: PartitionState) -> bool:
    """Whether a state has the requested replicas, or is being changed to them."""
    return not state.moving if request.target is None else state.target == request.target


def _all_known(partitions: Iterable[PartitionName], changes: PartitionChanges) -> bool:
    return changes.complete_until_ns == NEVER and all(each in changes.states for each in partitions)


def _elected(election: Election, partition: PartitionName, changes: PartitionChanges) -> bool:
    return any(
        after.leader == after.replicas[0] != before.leader
        if election.type == PREFERRED
        else before.leader == NOBODY
        for before, after in _since(election.request.from_ns, partition, changes)
        if after.elected
    )


def _taken_up(asked: Reassignment, changes: PartitionChanges) -> bool:
    return any(
        fits(asked, after) and (asked.target is not None or before.moving)
        for before, after in _since(asked.request.from_ns, asked.partition, changes)
    )


def _since(
    from_ns: int, partition: PartitionName, changes: PartitionChanges
) -> Iterator[tuple[PartitionState, PartitionState]]:
    """Each state that may have begun since a time, with the state before it."""
    for before, after in pairwise(changes.states.get(partition, ())):
        if changes.span(after).to_ns >= from_ns:
            yield before, after
