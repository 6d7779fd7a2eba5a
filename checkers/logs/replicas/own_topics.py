"""Judges the leader epochs of Kafka's internal topics, whose batches are not recorded.

As in the run's topics, the entries ascend, and there is no epoch without an election.  Replicas that have
been in sync since the end of recovery have the same epoch starts as the leader, except for the first epoch
that they know (KIP-101).  These topics are compacted, and a replica that fetched a cleaned log again has the
first offset that is left.  But only closed segments are cleaned, and segments of Kafka's internal topics stay
open for a week or 100 MiB.  Nothing is compared if a config changes that.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.leader_epochs import Noted
from checkers.evidence.partition_changes import partition_changes
from checkers.history.operations import INVOKE, History
from checkers.history.setup import Setup
from checkers.logs.replicas.comparison import ComparedRange
from checkers.logs.replicas.epochs import find_different_starts, find_disordered
from checkers.logs.replicas.limits import Limits
from checkers.verdict.verdict import Anomaly

_CLOSING = ("log.roll.", "log.segment.", "offsets.topic.segment.", "transaction.state.log.segment.")
"""Prefixes of properties by which nodes close segments earlier."""
_EVERYTHING = 2**62


def find_in_own(history: History, notes: Sequence[Noted], meant: Setup, limits: Limits) -> Iterator[Anomaly]:
    """Find contradictions in the epoch checkpoints of one partition's replicas.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        notes: checkpoints of the replicas of one partition; at least one.
        meant: the run's setup.
        limits: nodes and topics with weaker promises of Kafka.
    """
    sound = [noted for noted in notes if noted.node not in limits.unsynced]
    for noted in sound:
        yield from find_disordered(noted)
    steady = _steady(history, notes[0].partition, meant)
    if steady is None or _closes_early(meant):
        return
    leader, members, committed = steady
    of_members = {noted.node: noted for noted in sound if noted.node in members}
    reference = of_members.pop(leader, None)
    if reference is not None:
        for noted in of_members.values():
            yield from find_different_starts(reference, noted, committed)


class _SteadyIsr(NamedTuple):
    leader: str
    members: frozenset[str]
    committed: ComparedRange


def _steady(history: History, partition: PartitionName, meant: Setup) -> _SteadyIsr | None:
    """The leader since the end of recovery, and its ISR; None if the leader changed or is unknown."""
    changes = partition_changes(history)
    recovered = [operation for operation in history.of("recover") if operation.type is not INVOKE]
    if not recovered or not changes.is_complete(partition, NEVER):
        return None
    states = changes.possible(partition, recovered[-1].time_ns, NEVER)
    if len({(state.leader, state.leader_epoch) for state in states}) != 1:
        return None
    members = frozenset.intersection(*(frozenset(state.isr) for state in states))
    nodes = frozenset(meant.names.get(number, str(number)) for number in members)
    leader = meant.names.get(states[0].leader, str(states[0].leader))
    reason = f"{', '.join(sorted(nodes))} were in sync since recovery ended, and {leader} led."
    witness = (recovered[-1].index, *(() if changes.op is None else (changes.op,)))
    return _SteadyIsr(leader, nodes, ComparedRange(0, _EVERYTHING, witness, reason))


def _closes_early(meant: Setup) -> bool:
    """Whether any node is configured to close segments earlier than by default."""
    configs = [meant.config, *meant.node_config.values()]
    return any(name.startswith(_CLOSING) for config in configs for name in config)
