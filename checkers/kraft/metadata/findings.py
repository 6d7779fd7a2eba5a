"""Anomalies of topics that are created and deleted, with their witnesses."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from checkers.evidence.faults import FaultWindow
from checkers.evidence.late_requests import ASKED_ONCE_NS, DELIVERED_NS
from checkers.history.operations import Operation
from checkers.kraft.metadata.anomalies import (
    CHANGED_TOPIC_ID,
    DIVERGENT_METADATA,
    LOST_TOPIC,
    PHANTOM_TOPIC,
    RESURRECTED_TOPIC,
)
from checkers.kraft.metadata.loading import Change, Metadata, TopicListing, acknowledged_id
from checkers.kraft.metadata.topic_lives import Life, lives_of
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

_NAMED_MAX = 5


class IdReport(NamedTuple):
    """The first time that an id was reported under a name: the id, and the operation that reported it."""

    topic_id: str
    operation: Operation


def first_reports(metadata: Metadata) -> dict[str, dict[str, IdReport]]:
    """The first report of each id by name: the answer to a creation, or a list."""
    found: dict[str, dict[str, IdReport]] = {}

    def add(name: str, topic_id: str | None, operation: Operation) -> None:
        if topic_id is not None:
            known = found.setdefault(name, {}).get(topic_id)
            if known is None or operation.index < known.operation.index:
                found[name][topic_id] = IdReport(topic_id, operation)

    for name, creations in metadata.created.items():
        for creation in creations:
            add(name, acknowledged_id(creation), creation.last)
    for listing in metadata.listings:
        for name, topic_id in listing.topics.items():
            add(name, topic_id, listing.end)
    return found


def find_phantoms(metadata: Metadata) -> Iterator[Anomaly]:
    """Topics whose creation was never requested, each where it was first listed."""
    reported: set[str] = set()
    for listing in metadata.listings:
        for name in sorted(listing.topics.keys() - reported):
            begun = [c for c in metadata.created.get(name, ()) if c.begin.index < listing.end.index]
            if not begun:
                reported.add(name)
                yield _phantom(name, listing, "no request to create it had been sent")
            elif all(change.failed for change in begun):
                reported.add(name)
                yield _phantom(name, listing, "its creation had failed", begun[-1].last)


def _phantom(name: str, listing: TopicListing, why: str, *others: Operation) -> Anomaly:
    summary = f"{listing.listener} listed {name}, but {why}."
    return found_by(PHANTOM_TOPIC, name, summary, [*others, listing.end])


def find_changed_ids(metadata: Metadata, windows: Sequence[FaultWindow] = ()) -> Iterator[Anomaly]:
    """Names with more reported ids than topics were created, each at the first list that shows this.

    A creation with an unknown outcome may have been requested twice, so nothing is known after it was
    requested.  An acknowledged one may have been too, if a fault was in force.  But its second request
    changes nothing until a deletion is requested, and arrives at most some time after the fault.

    Args:
        metadata: all requests and all lists.
        windows: the faults, during which a request may have been sent more than once.
    """
    reported: set[str] = set()
    others: dict[str, dict[str, Operation]] = {}
    for listing in metadata.listings:
        for name, topic_id in sorted(listing.topics.items()):
            begun = [c for c in metadata.created.get(name, ()) if c.begin.index < listing.end.index]
            if topic_id is None or name in reported or not all(c.acknowledged or c.failed for c in begun):
                continue
            if _created_again(begun, metadata.deleted.get(name, ()), listing, windows):
                continue
            answers = {acknowledged_id(change): change.last for change in begun if change.acknowledged}
            seen = others.setdefault(name, {})
            if topic_id in answers or topic_id in seen:
                continue
            if len(seen) < sum(change.acknowledged and acknowledged_id(change) is None for change in begun):
                seen[topic_id] = listing.end
            elif answers:
                reported.add(name)
                known = {**{each: o for each, o in answers.items() if each is not None}, **seen}
                ids = " and ".join(known)
                summary = f"{name} had the id {ids}, but {listing.listener} reported the id {topic_id}."
                yield found_by(CHANGED_TOPIC_ID, name, summary, [*known.values(), listing.end])


def _created_again(
    creations: Iterable[Change],
    deletions: Sequence[Change],
    listing: TopicListing,
    windows: Sequence[FaultWindow],
) -> bool:
    """Whether a second request of an acknowledged creation may have created another topic before a list."""
    return any(
        not deletion.failed
        and creation.begin.index < deletion.last.index
        and deletion.begin.index < listing.end.index
        and _repeats_after(creation, deletion, windows)
        for creation in creations
        if creation.acknowledged
        for deletion in deletions
    )


def _repeats_after(creation: Change, deletion: Change, windows: Sequence[FaultWindow]) -> bool:
    """Whether a second request of a creation may be executed after a deletion was requested.

    A process that is killed loses the requests that it had received.  So unless a client waited for so long
    that it sent the request again, a kill delays none.
    """
    asked, answered = creation.begin.time_ns, creation.last.time_ns
    delaying = (window for window in windows if answered - asked > ASKED_ONCE_NS or not window.down)
    return may_repeat(
        creation, [each for each in delaying if deletion.begin.time_ns - each.end_ns <= DELIVERED_NS]
    )


def find_in_final(metadata: Metadata, windows: Sequence[FaultWindow] = ()) -> Iterator[Anomaly]:
    """Topics that the last lists wrongly lack, or wrongly still have, each once.

    Args:
        metadata: all requests and all lists.
        windows: the faults, during which a request may have been sent more than once.
    """
    listings, reports = metadata.final_listings(), first_reports(metadata)
    for name in metadata.created:
        lives = lives_of(metadata, name)
        if lives:
            yield from _lost(name, lives, listings, windows)
            dead = dict(_dead(lives, reports.get(name, {}).values()))
            yield from _resurrected(name, lives, dead, listings, windows)


def _lost(
    name: str, lives: Sequence[Life], listings: Sequence[TopicListing], windows: Sequence[FaultWindow]
) -> Iterator[Anomaly]:
    last = lives[-1]
    lacking = next((each for each in listings if name not in each.topics), None)
    if lacking is None or not (last.creation.acknowledged and last.kept and last.settled):
        return
    if not any(may_repeat(each, windows) for life in lives[:-1] for each in life.deletions):
        again = "" if len(lives) == 1 else " again"
        summary = f"{name} was created{again} and not deleted, but {lacking.listener} no longer listed it."
        yield found_by(LOST_TOPIC, name, summary, [last.creation.last, lacking.end])


def may_repeat(change: Change, windows: Sequence[FaultWindow]) -> bool:
    """Whether a change that was requested once may be executed again, because a fault delayed a request."""
    return any(window.overlaps(change.begin.time_ns, change.last.time_ns) for window in windows)


def _dead(lives: Sequence[Life], reports: Iterable[IdReport]) -> Iterator[tuple[str, Change]]:
    """Ids that were known before an acknowledged deletion, with the first such deletion.

    Only one topic of a name exists at a time, so the deletion removed all of them.
    """
    for report in reports:
        gone = (
            change
            for life in lives
            for change in life.deletions
            if change.acknowledged and report.operation.index < change.begin.index
        )
        first = next(gone, None)
        if first is not None:
            yield report.topic_id, first


def _resurrected(
    name: str,
    lives: Sequence[Life],
    dead: Mapping[str, Change],
    listings: Sequence[TopicListing],
    windows: Sequence[FaultWindow],
) -> Iterator[Anomaly]:
    """Ids that a list has although their topic had been deleted.

    An id that was unknown before may come from a creation with an unknown outcome, or from the second request
    of an acknowledged one.
    """
    creations = [life.creation for life in lives]
    last = lives[-1].deleted
    certain = last is not None and all(
        each.acknowledged and not _repeats_after(each, last, windows) for each in creations
    )
    for listing in listings:
        if name not in listing.topics:
            continue
        gone = dead.get(listing.topics[name] or "", last if certain else None)
        if gone is not None and gone.last.index < listing.begin.index:
            summary = f"{name} was deleted, but {listing.listener} listed it afterwards."
            yield found_by(RESURRECTED_TOPIC, name, summary, [gone.last, listing.end])
            return


def find_divergence(metadata: Metadata) -> Iterator[Anomaly]:
    """The first of the last lists that differs from another one."""
    listings = metadata.final_listings()
    for other in listings[1:]:
        one = listings[0]
        if one.topics != other.topics:
            differing = sorted(n for n, _ in one.topics.items() ^ other.topics.items())
            names = ", ".join(dict.fromkeys(differing[: 2 * _NAMED_MAX]))
            summary = f"{one.listener} and {other.listener} last listed different topics: {names}."
            yield found_by(DIVERGENT_METADATA, other.listener, summary, [one.end, other.end])
            return


def found_by(kind: AnomalyKind, subject: str, summary: str, witness: list[Operation]) -> Anomaly:
    """An anomaly whose witness is the given operations, in their order."""
    ordered = sorted(witness, key=lambda operation: operation.index)
    return kind.found(
        summary,
        subject=subject,
        time_ns=ordered[-1].time_ns,
        witness=[operation.index for operation in ordered],
        explanation=[_sentence(operation) for operation in ordered],
    )


def _sentence(operation: Operation) -> str:
    asked = f"{operation.f} of {operation.key}" if operation.f != "list-topics" else f"{operation.key}'s list"
    return f"Operation {operation.index}: {asked} by process {operation.process} ended {operation.type}."
