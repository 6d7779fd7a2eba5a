"""Compares lists of topics with the metadata log, by topic id.

A broker's list comes from committed records, so it has no id that the log did not have at that time.  The
list may be outdated while faults last.  The last list of each broker, in the final phase, is not older than
`SETTLED_NS`.
"""

from typing import NamedTuple

from checkers.kraft.metadata.anomalies import LISTED_AGAINST_LOG
from checkers.kraft.metadata.findings import found_by
from checkers.kraft.metadata.loading import Metadata, TopicListing
from checkers.kraft.metadata.logged import LoggedMetadata, TopicLogged
from checkers.verdict.verdict import Anomaly

SETTLED_NS = 10_000_000_000
"""A record that was committed this long before the last list was requested has reached every broker."""


class ListingsResult(NamedTuple):
    """The result of comparing the lists.

    Attributes:
        anomalies: topics that contradict the log, each once.
        figures: number of compared ids, in all lists and in the last ones.
    """

    anomalies: list[Anomaly]
    figures: dict[str, int]


def judge_listed(metadata: Metadata, log: LoggedMetadata) -> ListingsResult:
    """Compare all lists with the metadata log.

    Args:
        metadata: the lists.
        log: the metadata log that reaches farthest.
    """
    by_id = {topic.topic_id: (name, topic) for name, some in log.topics.items() for topic in some}
    figures = {"ids_listed": sum(len(listing.topics) for listing in metadata.listings), "ids_finally_due": 0}
    found: dict[tuple[str, str], Anomaly] = {}
    for listing in metadata.listings:
        for name, topic_id in listing.topics.items():
            if topic_id is not None and (name, topic_id) not in found:
                why = _unlogged(listing, name, by_id.get(topic_id), log)
                if why is not None:
                    found[name, topic_id] = _against(listing, name, topic_id, why, log)
    for listing in metadata.final_listings():
        for name in metadata.created:
            for topic in log.topics.get(name, ()):
                figures["ids_finally_due"] += 1
                why = _at_the_end(listing, name, topic)
                if why is not None:
                    found.setdefault(
                        (name, topic.topic_id), _against(listing, name, topic.topic_id, why, log)
                    )
    return ListingsResult(list(found.values()), figures)


def _unlogged(
    listing: TopicListing, name: str, logged: tuple[str, TopicLogged] | None, log: LoggedMetadata
) -> str | None:
    """The reason why a list can't have a topic; None if there is none."""
    if logged is None:
        complete = log.whole and listing.end.time_ns <= log.until_ns
        return "the metadata log never created a topic with that id" if complete else None
    named, topic = logged
    if named != name:
        return f"the metadata log created {named} with that id"
    if topic.made.span.from_ns > listing.end.time_ns:
        return f"the record that created it, at offset {topic.made.offset}, was appended later"
    return None


def _at_the_end(listing: TopicListing, name: str, topic: TopicLogged) -> str | None:
    """The contradiction between a last list and a topic that the log created; None if there is none."""
    settled_ns, removed = listing.begin.time_ns - SETTLED_NS, topic.removed
    if name in listing.topics and listing.topics[name] in {None, topic.topic_id}:
        if listing.topics[name] is None or removed is None or removed.span.to_ns > settled_ns:
            return None
        return f"the record at offset {removed.offset} had removed it"
    if topic.made.span.to_ns <= settled_ns and (
        removed is None or removed.span.from_ns > listing.end.time_ns
    ):
        return f"the record at offset {topic.made.offset} had created it, but it is not in the list"
    return None


def _against(listing: TopicListing, name: str, topic_id: str, why: str, log: LoggedMetadata) -> Anomaly:
    summary = (
        f"{listing.listener}'s list contradicts the metadata log on {name} with the id {topic_id}: {why}."
    )
    return found_by(LISTED_AGAINST_LOG, name, summary, [listing.end, log.log.operation])
