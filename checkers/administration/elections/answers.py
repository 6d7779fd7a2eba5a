"""Compares the answers to requests for elections with the states in the metadata log.

A controller answers from its state when the request arrives, which is between invocation and completion.  A
controller that has lost its majority, and does not know it yet, may lag by its fetch timeout.  So an answer
is wrong only if all possible states are known and none of them allows it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from checkers.administration.elections.anomalies import CONTRADICTION
from checkers.columns.tables import PartitionName
from checkers.evidence.administration import PREFERRED, UNCLEAN, AdminOperation, Election
from checkers.evidence.partition_changes import NOBODY, PartitionChanges, PartitionState
from checkers.history.error_codes import ErrorCode
from checkers.verdict.verdict import Anomaly

Behind = Callable[[AdminOperation], int]
"""How far the state of a controller that refuses a request may lag behind; nanoseconds."""


class _Rule(NamedTuple):
    """The states of a partition in which Kafka may give an answer, as a condition and as a text."""

    allows: Callable[[PartitionState], bool]
    text: str


def _preferred_leads(state: PartitionState) -> bool:
    return state.leader == state.replicas[0]


def _preferred_may_lack(state: PartitionState) -> bool:
    """Whether the preferred leader may be unavailable.

    The last in-sync replica may be down; any other in-sync replica is up.
    """
    return state.replicas[0] not in state.isr or len(state.isr) == 1


_REFUSALS: Mapping[tuple[str, int], _Rule] = {
    (PREFERRED, ErrorCode.ELECTION_NOT_NEEDED): _Rule(_preferred_leads, "the preferred replica led"),
    (PREFERRED, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE): _Rule(
        _preferred_may_lack, "the preferred replica was out of sync, or was the only in-sync replica"
    ),
    (UNCLEAN, ErrorCode.ELECTION_NOT_NEEDED): _Rule(lambda s: s.leader != NOBODY, "there was a leader"),
    (UNCLEAN, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE): _Rule(
        lambda s: s.leader == NOBODY, "there was no leader"
    ),
}


def find_contradictions(
    elections: Sequence[Election], changes: PartitionChanges, behind: Behind, *, wiped: bool
) -> Iterator[Anomaly]:
    """Find answers that no possible state allows.

    Args:
        elections: all requests.
        changes: the partitions' states.
        behind: how far the state of a controller that refuses may lag behind.
        wiped: whether a disk was wiped, after which a replica may be in sync without its directory (KIP-858).
    """
    for election in elections:
        for partition, code in election.codes.items():
            unsure = wiped and code == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
            if changes.is_complete(partition, election.request.to_ns) and not unsure:
                yield from _judged(election, partition, code, changes, behind(election.request))


def _judged(
    election: Election, partition: PartitionName, code: int, changes: PartitionChanges, behind_ns: int
) -> Iterator[Anomaly]:
    from_ns, to_ns = election.request.from_ns, election.request.to_ns
    if code == ErrorCode.NONE:
        yield from _granted(election, partition, changes)
        return
    rule = _REFUSALS.get((election.type, code))
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        rule = _Rule(lambda _: False, "the partition did not exist")
        if changes.span(changes.states[partition][0]).to_ns > from_ns - behind_ns:
            return
    states = changes.possible(partition, from_ns - behind_ns, to_ns)
    if rule is not None and states and not any(map(rule.allows, states)):
        why = f"at no time was it true that {rule.text}"
        yield _contradiction(election, partition, why, changes.op, states)


def _granted(election: Election, partition: PartitionName, changes: PartitionChanges) -> Iterator[Anomaly]:
    """The contradiction of a successful election: no leader was elected, or an unclean one was not needed."""
    states = changes.states[partition]
    pairs = [
        (before, after)
        for before, after in pairwise(states)
        if after.elected and changes.span(after).meets(election.request.from_ns, election.request.to_ns)
    ]
    if not pairs:
        yield _contradiction(election, partition, "no leader was elected meanwhile", changes.op, [])
    elif election.type == UNCLEAN and all(before.leader != NOBODY for before, _ in pairs):
        elected = [after for _, after in pairs]
        why = "each leader elected meanwhile replaced a leader"
        yield _contradiction(election, partition, why, changes.op, elected)


def _contradiction(
    election: Election, partition: PartitionName, why: str, op: int | None, states: Sequence[PartitionState]
) -> Anomaly:
    request, code = election.request, election.codes[partition]
    return CONTRADICTION.found(
        f"The {election.type} election of {partition} was answered with {code}, but {why}.",
        subject=str(partition),
        time_ns=request.to_ns,
        witness=(*request.operations, *(() if op is None else (op,))),
        explanation=map(str, states),
    )
