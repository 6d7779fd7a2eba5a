"""Judges the leader epochs of Kafka's internal topics, whose batches are not recorded.

Like those of the run's topics the notes ascend, and report no epoch that no election began.  Replicas that
were in sync all the time since recovery ended noted the same beginnings as the leader, but of the first epoch
that they know (KIP-101).  These topics are compacted, and a replica that fetched a cleaned log again knows
the first offset that is left; but only segments that are closed are cleaned, and Kafka's own topics keep
theirs open for a week or 100 MiB.  Nothing is compared where a config says otherwise.
"""

from collections.abc import Iterator, Sequence

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.leader_epochs import Noted
from checkers.evidence.partition_changes import partition_changes
from checkers.history.operations import INVOKE, History
from checkers.history.setup import Setup
from checkers.logs.replicas.epochs import find_different_starts, find_disordered
from checkers.logs.replicas.limits import Limits
from checkers.logs.replicas.together import Stretch
from checkers.verdict.verdict import Anomaly

_CLOSING = ("log.roll.", "log.segment.", "offsets.topic.segment.", "transaction.state.log.segment.")
"""How properties begin by which nodes close segments earlier."""
_EVERYTHING = 2**62


def find_in_own(history: History, notes: Sequence[Noted], meant: Setup, limits: Limits) -> Iterator[Anomaly]:
    """Find what is wrong with the notes of one partition's replicas.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        notes: what each replica noted, of one partition; at least one.
        meant: what the setup says.
        limits: where less is promised.
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


def _steady(
    history: History, partition: PartitionName, meant: Setup
) -> tuple[str, frozenset[str], Stretch] | None:
    """Who led since recovery ended, and who was in sync with it; None where others led, or nobody knows."""
    changes = partition_changes(history)
    recovered = [operation for operation in history.of("recover") if operation.type is not INVOKE]
    if not recovered or not changes.tells(partition, NEVER):
        return None
    states = changes.possible(partition, recovered[-1].time_ns, NEVER)
    if len({(state.leader, state.leader_epoch) for state in states}) != 1:
        return None
    members = frozenset.intersection(*(frozenset(state.isr) for state in states))
    nodes = frozenset(meant.names.get(number, str(number)) for number in members)
    leader = meant.names.get(states[0].leader, str(states[0].leader))
    reason = f"{', '.join(sorted(nodes))} were in sync since recovery ended, and {leader} led."
    witness = (recovered[-1].index, *(() if changes.op is None else (changes.op,)))
    return leader, nodes, Stretch(0, _EVERYTHING, witness, reason)


def _closes_early(meant: Setup) -> bool:
    """Whether any node was told to close segments earlier than it does by default."""
    configs = [meant.config, *meant.node_config.values()]
    return any(name.startswith(_CLOSING) for config in configs for name in config)
