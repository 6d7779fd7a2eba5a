"""Starts of followers' logs: DeleteRecords is answered after every live replica moved its start (KIP-107).

Every replica reports the start of its log, not only the leader.  A leader waits for all replicas that are
alive according to its metadata.  So consider a follower that was in sync, and thus unfenced, from before the
request until its own answer, in one process and under one leader: its log starts at or above the offset.
There are exceptions:

- The leader remembers the start that a follower reported in an earlier process, which may have been lost
  since. So an offset counts only if no earlier request deleted up to it, and nothing else removes records.
- The log of a follower that truncates may start lower.  A follower truncates under a new leader, or after an
  unclean election.
- A replica in another log directory is another log.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.partition_changes import PartitionState
from checkers.history.observed import STARTS, StartsSeen
from checkers.history.operations import History, once
from checkers.logs.listed.anomalies import DELETED_EARLY
from checkers.logs.listed.loading import ListedHistory
from checkers.logs.partitions.broker_lives import one_life
from checkers.logs.replicas.deleted_records import MARGIN_NS, RecordsDeletion, deletions_of
from checkers.verdict.verdict import Anomaly

_REACH_NS = 60_000_000_000
"""How long before an answer a deletion may be that is compared with it; older ones had earlier answers."""


class ReportedLogStart(NamedTuple):
    """The start of a partition's log, as a broker reported it.

    Attributes:
        op: index of the observation.
        node: the broker's name.
        began_ns: when it was asked.
        time_ns: when its answer arrived.
        offset: the start.
    """

    op: int
    node: str
    began_ns: int
    time_ns: int
    offset: int


@once
def starts_of(history: History) -> dict[PartitionName, list[ReportedLogStart]]:
    """All starts that brokers reported, by partition, in the order of the answers.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    found: dict[PartitionName, list[ReportedLogStart]] = {}
    for operation in history.observed(STARTS):
        seen = msgspec.convert(operation.value, StartsSeen)
        for topic, rows in seen.topics.items():
            for number, error, offset in rows:
                if not error:
                    start = ReportedLogStart(
                        operation.index, operation.node or "", seen.began_ns, operation.time_ns, offset
                    )
                    found.setdefault(PartitionName(topic, number), []).append(start)
    return found


def find_early(story: ListedHistory, figures: Counter[str]) -> Iterator[Anomaly]:
    """At most one follower of each partition whose log started below an acknowledged deletion.

    Args:
        story: the history.
        figures: counts the answers of followers that had to have moved their starts.
    """
    deletions = deletions_of(story.history)
    for name, starts in starts_of(story.history).items():
        of_it = [] if story.retained(name) else deletions.get(name, [])
        judged = [
            (deletion, start)
            for start in starts
            for deletion in of_it
            if start.began_ns - _REACH_NS < deletion.to_ns < start.began_ns
            and _had_to_move(story, name, deletion, start)
        ]
        figures["starts_of_followers"] += len(judged)
        early = [(deletion, start) for deletion, start in judged if start.offset < deletion.below]
        yield from (_found(name, *each) for each in early[:1])


def _had_to_move(
    story: ListedHistory, name: PartitionName, deletion: RecordsDeletion, start: ReportedLogStart
) -> bool:
    """Whether the leader certainly had to wait for this broker, which can't have lost its start since."""
    changes, number = story.facts.changes, story.facts.ids.get(start.node)
    from_ns = deletion.from_ns - MARGIN_NS
    if number is None or not changes.is_complete(name, start.time_ns):
        return False
    if story.deletable_below(name, deletion.from_ns - 1) >= deletion.below:
        return False
    states = changes.possible(name, from_ns, start.time_ns)
    earlier = changes.possible(name, 0, start.time_ns)
    return (
        all(_follows(state, number) for state in states)
        and len({(state.leader_epoch, state.directories) for state in states}) == 1
        and not any(state.unclean or state.recovering for state in earlier)
        and one_life(story.facts, start.node, from_ns, start.time_ns)
    )


def _follows(state: PartitionState, number: int) -> bool:
    return state.leader not in {-1, number} and number in state.isr


def _found(name: PartitionName, deletion: RecordsDeletion, start: ReportedLogStart) -> Anomaly:
    return DELETED_EARLY.found(
        f"{start.node} reported that its log of {name} begins at {start.offset} after DeleteRecords "
        f"up to {deletion.below} had been acknowledged",
        subject=str(name),
        time_ns=start.time_ns,
        witness=(*deletion.operations, start.op),
        explanation=(
            *deletion.texts,
            f"{start.node} was asked at {start.began_ns / 1e9:.3f} s and answered {start.offset}.",
            "It was in sync from before the request until then, with no restart and no other leader.",
        ),
    )
