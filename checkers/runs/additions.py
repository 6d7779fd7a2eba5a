"""Whether the load used the partitions that were added; otherwise the verdict does not cover them.

For a single partition, too little time may be left, or a fault may keep it from getting its first leader.  So
it is enough that one of them was used.
"""

from checkers.columns.sends import AcknowledgedSends
from checkers.evidence.faults import FOREVER_NS
from checkers.evidence.topic_partitions import partitions_by
from checkers.history.operations import History
from checkers.history.phases import Phase, phase_began_ns
from checkers.verdict.verdict import Assumption

_IN_TIME_NS = 15_000_000_000
"""How long before healing a partition must have existed; this is longer than most faults last."""


def additions_loaded(acked: AcknowledgedSends, history: History) -> list[Assumption]:
    """If partitions were added in time, require that one of them acknowledged a record before the heal began.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    began_ns = phase_began_ns(history, Phase.HEAL)
    ended_ns = FOREVER_NS if began_ns is None else began_ns
    in_time = partitions_by(history, ended_ns - _IN_TIME_NS)
    added = {tuple(each.name) for each in in_time if each.added and each.loaded}
    if not added:
        return []
    rows = acked.time_ns < ended_ns
    pairs = zip(acked.topic[rows].tolist(), acked.partition[rows].tolist(), strict=True)
    loaded = added & {(acked.topics[topic], partition) for topic, partition in set(pairs)}
    return [
        Assumption(
            "added-partitions-loaded",
            bool(loaded),
            "a record acknowledged before phase heal by one of the partitions that were added early enough",
            f"by {len(loaded)} of {len(added)}",
        )
    ]
