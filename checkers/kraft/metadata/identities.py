"""Topic ids of topics created again under the same name (KIP-516), by clients and the metadata log.

An id is random, belongs to one topic, and is never assigned again.  If a name is used again, all brokers
report the new topic's id after some time.
"""

from collections.abc import Iterator
from itertools import pairwise

from checkers.columns.tables import NEVER
from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.evidence.metadata_log import MetadataLog, append_times, farthest
from checkers.history.observed import NODE
from checkers.history.operations import History, Operation
from checkers.history.replicas import MetadataRecord
from checkers.kraft.metadata.anomalies import CREATED_TWICE, RETURNED_TOPIC_ID, REUSED_TOPIC_ID
from checkers.kraft.metadata.findings import IdReport, first_reports, found_by, may_repeat
from checkers.kraft.metadata.loading import Change, Metadata, TopicListing, acknowledged_id
from checkers.kraft.metadata.topic_lives import lives_of
from checkers.verdict.verdict import Anomaly

_SEEN_WITHIN_NS = 3_000_000_000
"""Within this time after a process ended or started, an observer has recorded it."""


def find_identities(history: History, metadata: Metadata) -> Iterator[Anomaly]:
    """All anomalies of topic ids.

    Raises:
        KeyError, TypeError: a record of the metadata log lacks a field that Kafka writes.
    """
    windows = fault_windows(history)
    yield from _reused(metadata)
    yield from _created_twice(metadata, windows)
    yield from _returned(history, metadata, windows)
    log = farthest(history)
    if log is not None:
        yield from _in_log(history, log)


def _reused(metadata: Metadata) -> Iterator[Anomaly]:
    """Creations whose id was reported by another creation, or before the creation was requested."""
    first: dict[str, tuple[str, Operation]] = {}
    for name, reports in first_reports(metadata).items():
        for report in reports.values():
            earliest = first.get(report.topic_id)
            if earliest is None or report.operation.index < earliest[1].index:
                first[report.topic_id] = (name, report.operation)
    answered: dict[str, tuple[str, Operation]] = {}
    for name, change in _in_order(metadata):
        topic_id = acknowledged_id(change)
        if topic_id is None:
            continue
        before = answered.setdefault(topic_id, (name, change.last))
        known = first[topic_id]
        # A list with a topic whose creation had not begun shows a phantom, which another rule reports.
        begun = (each.begin.index < known[1].index for each in metadata.created.get(known[0], ()))
        if before[1] is change.last and known[1].index < change.begin.index and any(begun):
            before = known
        if before[1] is not change.last:
            summary = f"{name} was created with the id {topic_id}, which {before[0]} had before."
            yield found_by(REUSED_TOPIC_ID, name, summary, [before[1], change.last])


def _in_order(metadata: Metadata) -> list[tuple[str, Change]]:
    """Creations in the order of their ends, with their names."""
    made = ((name, change) for name, changes in metadata.created.items() for change in changes)
    return sorted(made, key=lambda each: each[1].last.index)


def _created_twice(metadata: Metadata, windows: tuple[FaultWindow, ...]) -> Iterator[Anomaly]:
    """Two acknowledged creations, where certainly no deletion of the first topic was between them."""
    for name in metadata.created:
        lives = lives_of(metadata, name)
        for place, (before, after) in enumerate(pairwise(lives)):
            first, second = before.creation, after.creation
            deleting = any(each.begin.index < second.last.index for each in after.deletions)
            repeated = (may_repeat(each, windows) for life in lives[:place] for each in life.deletions)
            if (
                first.acknowledged
                and second.acknowledged
                and first.last.index < second.begin.index
                and before.kept
                and before.settled
                and not deleting
                and not any(repeated)
            ):
                summary = f"{name} was created twice without a deletion in between."
                yield found_by(CREATED_TWICE, name, summary, [first.last, second.last])


def _returned(history: History, metadata: Metadata, windows: tuple[FaultWindow, ...]) -> Iterator[Anomaly]:
    """Brokers that reported an older id of a name than before, while no process ended or started."""
    reports = first_reports(metadata)
    answers = {
        (name, acknowledged_id(change)): change
        for name, changes in metadata.created.items()
        for change in changes
    }
    newest: dict[tuple[str, str], tuple[Change, TopicListing]] = {}
    for listing in metadata.listings:
        for name, topic_id in sorted(listing.topics.items()):
            if topic_id is None:
                continue
            place = (listing.listener, name)
            known = newest.get(place)
            same = known is not None and acknowledged_id(known[0]) == topic_id
            if known is not None and not same and _is_older(reports[name][topic_id], known[0]):
                if known[1].end.index < listing.begin.index and _one_life(
                    history, windows, known[1], listing
                ):
                    summary = f"{listing.listener} reported the new id of {name}, and then the old one again."
                    yield found_by(RETURNED_TOPIC_ID, name, summary, [known[1].end, listing.end])
                continue
            change = answers.get((name, topic_id))
            if change is not None and (known is None or known[0].begin.index < change.begin.index):
                newest[place] = (change, listing)


def _is_older(report: IdReport, creation: Change) -> bool:
    return report.operation.index < creation.begin.index


def _one_life(
    history: History, windows: tuple[FaultWindow, ...], before: TopicListing, after: TopicListing
) -> bool:
    """Whether certainly no broker's process changed between two lists of a broker.

    A list contains only the listener, and not the node that has it.
    """
    from_ns, to_ns = before.begin.time_ns, after.end.time_ns + _SEEN_WITHIN_NS
    return not (
        any(window.ends_processes and window.overlaps(from_ns, to_ns) for window in windows)
        or any(from_ns <= operation.time_ns <= to_ns for operation in history.observed(NODE))
    )


def _in_log(history: History, log: MetadataLog) -> Iterator[Anomaly]:
    """Records that create a topic with an id that was already assigned, or under a name that is in use.

    The content of a snapshot counts only if the log continues from its end.  Otherwise it may come from later
    records.
    """
    ids: dict[str, str] = {}
    live: dict[str, str] = {}
    for offset, epoch, kind, data in [*_snapshot(log), *log.seen.records]:
        if kind == "REMOVE_TOPIC_RECORD":
            live.pop(ids.get(data["topicId"], ""), None)
        if kind != "TOPIC_RECORD":
            continue
        name, topic_id = data["name"], data["topicId"]
        to_ns = append_times(history).span(offset, epoch).to_ns
        time_ns = None if to_ns == NEVER else to_ns
        where = f"Offset {offset} of the metadata log creates {name} with the id {topic_id}"
        found = None
        if topic_id in ids:
            found = REUSED_TOPIC_ID, f"which {ids[topic_id]} had before"
        elif name in live:
            found = CREATED_TWICE, f"while the topic of that name with the id {live[name]} exists"
        if found is not None:
            kind_found, why = found
            yield kind_found.found(
                f"{where}, {why}.",
                subject=name,
                time_ns=time_ns,
                witness=(log.operation.index,),
                explanation=(f"The record is {data}.",),
            )
        ids[topic_id], live[name] = name, topic_id


def _snapshot(log: MetadataLog) -> list[MetadataRecord]:
    """Records of the newest snapshot, if the log does not begin before its end."""
    seen = log.seen
    if seen.checkpoint is None or not seen.records:
        return []
    ends = int(seen.checkpoint[0].partition("-")[0])
    return list(seen.checkpoint[1]) if ends <= seen.records[0].offset else []
