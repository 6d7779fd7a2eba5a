"""Starts of logs: none is above the requested deletions, or below an acknowledged one."""

from collections.abc import Iterator

import msgspec

from checkers.history.observed import OffsetsRequested
from checkers.logs.listed.anomalies import START_AHEAD, START_BEHIND
from checkers.logs.listed.loading import ListedHistory, ListedLog, ListedPartition, answers, shown
from checkers.logs.partitions.broker_lives import one_life
from checkers.logs.replicas.deleted_records import Licensing, RecordsDeletion, deletions_of
from checkers.verdict.verdict import Anomaly


def find_starts_ahead(story: ListedHistory, place: ListedLog) -> Iterator[Anomaly]:
    """At most one start above all offsets below which a deletion had been requested."""
    if story.retained(place.name):
        return
    for answer in answers(place, OffsetsRequested.EARLIEST):
        below = story.deletable_below(place.name, answer.time_ns)
        if answer.offset > below:
            yield START_AHEAD.found(
                f"{answer.node} reported the log start offset {answer.offset} of {place.name}, but "
                f"requests deleted only records below {below}",
                subject=str(place.name),
                time_ns=answer.time_ns,
                witness=(answer.op,),
                explanation=(shown(answer), "The topic has no retention limit."),
            )
            return


def find_starts_behind(story: ListedHistory, place: ListedLog) -> Iterator[Anomaly]:
    """At most one start below an acknowledged deletion, and one that decreased within a leadership."""
    earliest = answers(place, OffsetsRequested.EARLIEST)
    deletions = deletions_of(story.history).get(place.name, [])
    yield from _undeleted(story, place, earliest, deletions)
    yield from _gone_back(story, place, earliest)


def _undeleted(
    story: ListedHistory, place: ListedLog, earliest: list[ListedPartition], deletions: list[RecordsDeletion]
) -> Iterator[Anomaly]:
    licensing, legal = Licensing(story.history), None
    for answer in earliest:
        for deletion in deletions:
            if deletion.below <= answer.offset or deletion.to_ns > answer.fence_ns:
                continue
            anomaly = START_BEHIND.found(
                f"{answer.node} reported the log start offset {answer.offset} of {place.name}, but "
                f"records below {deletion.below} had been deleted",
                subject=str(place.name),
                time_ns=answer.time_ns,
                witness=(*deletion.operations, answer.op),
                explanation=(
                    f"All records below {deletion.below} were deleted by {deletion.to_ns / 1e9:.3f} s.",
                    shown(answer),
                ),
            )
            licence = licensing.of_start(deletion)
            if licence is None:
                yield anomaly
                return
            legal = legal or msgspec.structs.replace(anomaly, illegal=False, licence=licence)
    if legal is not None:
        yield legal


def _gone_back(story: ListedHistory, place: ListedLog, earliest: list[ListedPartition]) -> Iterator[Anomaly]:
    highest: dict[tuple[str, int], ListedPartition] = {}
    for answer in earliest:
        who = (answer.node, answer.leader_epoch)
        before = highest.get(who)
        if before is None or answer.offset >= before.offset:
            highest[who] = answer
        elif one_life(story.facts, answer.node, before.began_ns, answer.time_ns):
            yield START_BEHIND.found(
                f"{answer.node} reported the log start offset {answer.offset} of {place.name} after "
                f"{before.offset}",
                subject=str(place.name),
                time_ns=answer.time_ns,
                witness=(before.op, answer.op),
                explanation=(
                    shown(before),
                    shown(answer),
                    "It was not restarted, and its leader epoch was the same.",
                ),
            )
            return
