"""Assigns records of the metadata log to requests, if one name was created or deleted several times.

A request with a known topic id gets the record with that id.  Each other request, in order, gets the next
record that may have been appended between the request and the answer.  No record is assigned twice.
"""

from collections.abc import Sequence
from typing import NamedTuple

from checkers.kraft.metadata.logged import BEFORE, LoggedRecord


class AcknowledgedChange(NamedTuple):
    """An acknowledged change: when it was requested and answered, and the topic's id if known."""

    asked_ns: int
    answered_ns: int
    topic_id: str | None


class TopicChange(NamedTuple):
    """A record that created or removed a topic of the name, and that topic's id."""

    topic_id: str
    record: LoggedRecord


def matched(
    calls: Sequence[AcknowledgedChange], places: Sequence[TopicChange]
) -> list[tuple[LoggedRecord, ...]]:
    """The record of each request; none if the log has no unassigned record for it.

    Args:
        calls: the requests, in order, one after the other.
        places: the records, in the order of the log.
    """
    known_ids = {call.topic_id for call in calls}
    free = [place.record for place in places if place.topic_id not in known_ids]
    found: list[tuple[LoggedRecord, ...]] = []
    for number, call in enumerate(calls):
        if call.topic_id is not None:
            found.append(tuple(place.record for place in places if place.topic_id == call.topic_id))
            continue
        free = [record for record in free if record is BEFORE or record.span.to_ns >= call.asked_ns]
        later = sum(each.topic_id is None for each in calls[number + 1 :])
        fits = bool(free) and (free[0].span.from_ns <= call.answered_ns or len(free) > later)
        found.append((free.pop(0),) if fits else ())
    return found
