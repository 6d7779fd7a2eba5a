"""What topics that come and go show, with proofs."""

from collections.abc import Iterator

from checkers.history import Operation
from checkers.kinds import AnomalyKind
from checkers.metadata.kinds import (
    CHANGED_TOPIC_ID,
    DIVERGENT_METADATA,
    LOST_TOPIC,
    PHANTOM_TOPIC,
    RESURRECTED_TOPIC,
)
from checkers.metadata.loading import Change, Listing, Metadata, told_id
from checkers.verdict import Anomaly

_NAMED_MAX = 5


def find_phantoms(metadata: Metadata) -> Iterator[Anomaly]:
    """Topics that nobody had created, each where it was seen first."""
    told: set[str] = set()
    for listing in metadata.listings:
        for name in sorted(listing.topics.keys() - told):
            change = metadata.created.get(name)
            if change is None or change.begin.index > listing.end.index:
                told.add(name)
                yield _phantom(name, listing, "nobody had begun to create it")
            elif change.failed:
                told.add(name)
                yield _phantom(name, listing, "its creation had failed", change.last)


def _phantom(name: str, listing: Listing, why: str, *others: Operation) -> Anomaly:
    summary = f"{listing.listener} listed {name}, but {why}."
    return _found(PHANTOM_TOPIC, name, summary, [*others, listing.end])


def find_changed_ids(metadata: Metadata) -> Iterator[Anomaly]:
    """Topics of which two ids were told, each at the first contradiction."""
    known: dict[str, tuple[str, Operation]] = {}
    told: set[str] = set()
    for name, change in metadata.created.items():
        topic_id = told_id(change)
        if topic_id is not None:
            known[name] = (topic_id, change.last)
    for listing in metadata.listings:
        for name, topic_id in sorted(listing.topics.items()):
            if topic_id is None or name in told or not _acknowledged(metadata.created.get(name)):
                continue
            before, source = known.setdefault(name, (topic_id, listing.end))
            if topic_id != before:
                told.add(name)
                summary = f"{name} had the id {before}, and {listing.listener} told the id {topic_id}."
                yield _found(CHANGED_TOPIC_ID, name, summary, [source, listing.end])


def find_in_final(metadata: Metadata) -> Iterator[Anomaly]:
    """Topics that the last lists lack or still have, each once."""
    listings = metadata.final_listings()
    for name, change in metadata.created.items():
        deletions = metadata.deleted.get(name, [])
        lacking = next((each for each in listings if name not in each.topics), None)
        if lacking is not None and change.acknowledged and all(each.failed for each in deletions):
            summary = f"{name} was created, nobody deleted it, and {lacking.listener} no longer listed it."
            yield _found(LOST_TOPIC, name, summary, [change.last, lacking.end])
        having = next((each for each in listings if name in each.topics), None)
        gone = next((each for each in deletions if each.acknowledged), None)
        if having is not None and gone is not None and gone.last.index < having.begin.index:
            summary = f"{name} was deleted, and {having.listener} listed it afterwards."
            yield _found(RESURRECTED_TOPIC, name, summary, [gone.last, having.end])


def find_divergence(metadata: Metadata) -> Iterator[Anomaly]:
    """The first last list that differs from another."""
    listings = metadata.final_listings()
    for other in listings[1:]:
        one = listings[0]
        if one.topics != other.topics:
            differing = sorted(n for n, _ in one.topics.items() ^ other.topics.items())
            names = ", ".join(dict.fromkeys(differing[: 2 * _NAMED_MAX]))
            summary = f"{one.listener} and {other.listener} last listed different topics: {names}."
            yield _found(DIVERGENT_METADATA, other.listener, summary, [one.end, other.end])
            return


def _acknowledged(change: Change | None) -> bool:
    return change is not None and change.acknowledged


def _found(kind: AnomalyKind, subject: str, summary: str, witness: list[Operation]) -> Anomaly:
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
