"""States of partitions, those that coordinators keep their state in among them, by the metadata log."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from checkers.columns import NEVER, PartitionName
from checkers.coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from checkers.history import History
from checkers.partition_changes import NOBODY, PartitionChanges, PartitionState, partition_changes
from results.states.tracks import Booleans, Integers, Track, Visited, Word, beside, joined, walked
from results.states.trouble import TROUBLES, WELL, Trouble

ACTORS = {OFFSETS_TOPIC: "group-coordinator", TRANSACTIONS_TOPIC: "transaction-coordinator"}
"""What a partition is called whose leader coordinates; all others are called *partition*."""
PARTITION = "partition"
LED = ("nobody", *TROUBLES)
"""What a leader may be: there is none, or what befalls its node."""
ISR = ("empty", "one", "some", "full")
"""How many are in sync; *full* with all replicas that are wanted."""
WORDS = (
    Word("leader", LED),
    Word("others", ("", *TROUBLES[1:], *(f"all-{name}" for name in TROUBLES[1:]))),
    Word("isr", ISR),
    Word("elr", ("", "some")),
    Word("moving", ("", "yes")),
    Word("unclean", ("", "yes")),
)
"""Others: the gravest that befalls any replica in sync beside the leader, and whether all are befallen.  ELR:
whether anybody is eligible (KIP-966).  Moving: a reassignment goes on.  Unclean: the leader was elected so
and has not yet told that it recovered (KIP-704)."""
EVENTS = ("", "elected", "elected-eligible", "elected-unclean")
"""What a record that names a leader tells; the empty one is any other, and a fault's beginning or end."""
_SOME, _FULL = 2, 3


def partitions_visited(history: History, trouble: Trouble) -> Visited:
    """States and transitions of all partitions whose topics lived to the end.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    changes = partition_changes(history)
    return joined(_visited(name, states, changes, trouble) for name, states in changes.states.items())


def leaders_of(name: PartitionName, changes: PartitionChanges, trouble: Trouble) -> Track:
    """A partition's leader: the node's column, whether there is nobody, how many elections there were."""
    states = changes.states[name]
    columns = trouble.columns([state.leader for state in states])
    nobody = [state.leader == NOBODY for state in states]
    elections = np.cumsum([state.elected for state in states])
    return Track(_times(states, changes), np.stack((columns, nobody, elections), axis=1))


def logged(changes: PartitionChanges) -> Mapping[PartitionName, Track]:
    """What the log tells of each partition: ISR, ELR, moving, unclean, the event of `EVENTS`, nobody."""
    return {name: Track(_times(some, changes), _told(some)) for name, some in changes.states.items()}


def moves(changes: PartitionChanges) -> Iterator[tuple[int, int]]:
    """Beginning and end of every time for which a partition moved."""
    for states in changes.states.values():
        times = [*_times(states, changes).tolist(), NEVER]
        for state, from_ns, to_ns in zip(states, times[:-1], times[1:], strict=True):
            if state.moving:
                yield from_ns, to_ns


def _times(states: Sequence[PartitionState], changes: PartitionChanges) -> Integers:
    """When each state was known to have begun at the latest; where nothing told, at the earliest."""
    known = map(changes.span, states)
    times = [span.from_ns if span.to_ns == NEVER else span.to_ns for span in known]
    return np.maximum.accumulate(np.array(times, np.int64))


def _visited(
    name: PartitionName, states: Sequence[PartitionState], changes: PartitionChanges, trouble: Trouble
) -> Visited:
    leaders, told = leaders_of(name, changes, trouble), Track(_times(states, changes), _told(states))
    laid = beside(trouble.nodes, told)
    struck, state = laid.places
    troubles = trouble.nodes.rows[struck]
    leader, nobody, _ = leaders.rows[state].T
    leading = np.where(nobody, 0, troubles[np.arange(len(troubles)), leader] + 1)
    hit = np.where(_others(states, trouble)[state], troubles, WELL)
    every = ((hit > WELL).sum(axis=1) == _others(states, trouble).sum(axis=1)[state]) & (hit > WELL).any(
        axis=1
    )
    others = hit.max(axis=1) + every * (len(TROUBLES) - 1)
    *row, event, _ = told.rows[state].T
    rows = np.stack((leading, others, *row), axis=1)
    # A fault's beginning or end is no election, whatever record came before it.
    return walked(ACTORS.get(name.topic, PARTITION), WORDS, rows, EVENTS, np.where(laid.owner == 1, event, 0))


def _told(states: Sequence[PartitionState]) -> Integers:
    return np.array(
        [
            (_isr(one), bool(one.elr), one.moving, one.recovering, _event(one), one.leader == NOBODY)
            for one in states
        ],
        np.int64,
    )


def _isr(state: PartitionState) -> int:
    return _FULL if set(state.isr) >= set(state.target) else min(len(state.isr), _SOME)


def _event(state: PartitionState) -> int:
    if not state.elected:
        return 0
    if state.unclean or state.last_leader:
        return 3
    return 2 if state.was_eligible else 1


def _others(states: Sequence[PartitionState], trouble: Trouble) -> Booleans:
    """Who is in sync beside the leader, shape (states, nodes + 1)."""
    members = np.zeros((len(states), trouble.nobody + 1), np.bool_)
    for place, state in enumerate(states):
        members[place, trouble.columns([one for one in state.isr if one != state.leader])] = True
    return members
