"""Findings about an application that a permitted loss may explain.

Each loss explains only what it can cause:

- A loss of the input explains all rules about records of that partition: offsets are given to other records,
  counts no longer fit the log, and a group whose offset is out of range begins again.
- A loss of the output explains that outputs are missing.  If its end was truncated, a marker may be gone too,
  and a later marker may decide otherwise on the records before it.
- A loss of the changelog explains wrong counts.
- A loss of the group's offsets explains what is processed again, from an older offset and with newer counts.
  So it explains no count that is too low.
- A lost decision of a transaction coordinator explains that a transaction was committed in part.  The ids of
  the members' transactions are not known, so this is a guess: the finding is not reported, and the result is
  unknown.

If only the start of a log moved, the records before it are gone and nothing else happened: an input above it
is still there, and so is the output of a record that follows one with an output.  No loss after the last read
explains what was read.  A loss of the output that had ended before a record was sent explains nothing about
it, and a loss of another log nothing at all if it had ended before any record was sent.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, offsets_partition
from checkers.history.operations import History
from checkers.licences import Permit, licences_of
from checkers.licences.internal import may_have_lost
from checkers.transactional.streams.anomalies import (
    ANOMALIES,
    COUNT_WRONG,
    DUPLICATED,
    INVENTED,
    LOST,
    REORDERED,
    WITHOUT_OFFSETS,
)
from checkers.transactional.streams.loading import Application, Place
from checkers.transactional.streams.rules import StreamsFinding
from checkers.verdict.verdict import Anomaly

_AGAIN = frozenset({DUPLICATED.id, WITHOUT_OFFSETS.id, COUNT_WRONG.id, REORDERED.id})
"""What may follow if records are processed again from an older offset."""
_PARTLY = _AGAIN | {LOST.id}
"""What may follow if a transaction is committed in part."""
_OF_OUTPUT = frozenset({DUPLICATED.id, LOST.id, WITHOUT_OFFSETS.id, REORDERED.id})
_OF_RECORD = frozenset({LOST.id, INVENTED.id})
"""What a truncation of the input can only explain of records that it removed."""
_OF_CHANGELOG = frozenset({COUNT_WRONG.id})


class _Cause(NamedTuple):
    """A partition whose loss may explain a finding, and what its loss can cause.

    Attributes:
        where: the partition.
        truncated: rules that the truncation of its end can explain.
        begun_later: rules that a later start can explain.
        of_input: whether it is a partition of the input.
    """

    where: PartitionName
    truncated: frozenset[str]
    begun_later: frozenset[str]
    of_input: bool = False


class Excused(NamedTuple):
    """A judged anomaly, or the reason why it can't be judged."""

    anomaly: Anomaly | None
    doubt: str | None = None


class Excuses:
    """Events that may explain findings.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        loaded: its application.
    """

    def __init__(self, history: History, loaded: Application) -> None:
        self._history = history
        self._loaded = loaded
        self._lost: dict[str, str | None] = {}

    def judged(self, found: StreamsFinding) -> Excused:
        """The anomaly; it is legal, with a licence, if an event may explain it."""
        rule = found.anomaly.id
        if found.place is None:
            return Excused(found.anomaly)
        for cause in self._causes(found.place[0], found.outputs):
            for permit in licences_of(self._history).of(cause.where):
                if self._may_explain(permit, cause, found.place, rule):
                    return self._legal(found.anomaly, permit.text, permit.event.doubt)
        if rule in _AGAIN and not found.too_low and (text := self._loss(OFFSETS_TOPIC)) is not None:
            return self._legal(found.anomaly, text, None)
        if rule in _PARTLY and (text := self._loss(TRANSACTIONS_TOPIC)) is not None:
            return Excused(None, f"{rule} may follow from a lost decision on a transaction: {text}")
        return Excused(found.anomaly)

    def _causes(self, partition: int, outputs: Sequence[int]) -> Iterator[_Cause]:
        topics = self._loaded.topics
        gone = frozenset({INVENTED.id, COUNT_WRONG.id})
        yield _Cause(PartitionName(topics.source, partition), frozenset(ANOMALIES), gone, of_input=True)
        for number in dict.fromkeys(outputs):
            yield _Cause(PartitionName(topics.output, number), _OF_OUTPUT, frozenset({LOST.id}))
        yield _Cause(PartitionName(topics.changelog, partition), _OF_CHANGELOG, _OF_CHANGELOG)

    def _may_explain(self, permit: Permit, cause: _Cause, place: Place, rule: str) -> bool:
        event = permit.event
        rules = cause.truncated if event.below is None else cause.begun_later
        if rule not in rules or self._kept(permit, cause, place, rule):
            return False
        return event.from_ns <= self._loaded.read_ns and event.to_ns >= self._since_ns(cause, place)

    def _kept(self, permit: Permit, cause: _Cause, place: Place, rule: str) -> bool:
        """Whether the event certainly left the record, or its output, where it was."""
        event = permit.event
        if cause.of_input:
            truncated_later = rule in _OF_RECORD and event.above is not None and place[1] < event.above
            begun_before = rule == INVENTED.id and event.below is not None and place[1] >= event.below
            return truncated_later or begun_before
        if rule != LOST.id or event.below is None:
            return False
        return any(
            PartitionName(self._loaded.topics.output, record.partition) == cause.where
            and record.place[0] == place[0]
            and record.place[1] < place[1]
            for record in self._loaded.outputs
        )

    def _since_ns(self, cause: _Cause, place: Place) -> int:
        """Time before which an event in a log explains nothing about a record; 0 if its send is unknown.

        An earlier truncation of the input leaves the group's offset too high, so that later records are
        skipped, and an earlier loss of the changelog makes later counts wrong.
        """
        sent_ns = self._loaded.sent_ns
        first_ns = min(sent_ns.values(), default=0)
        if cause.where.topic != self._loaded.topics.output:
            return first_ns
        value = self._loaded.inputs.get(place[0], {}).get(place[1])
        return first_ns if value is None else sent_ns.get(value, first_ns)

    def _legal(self, anomaly: Anomaly, text: str, doubt: str | None) -> Excused:
        if doubt is not None:
            return Excused(None, f"{anomaly.id} may be permitted ({text}): {doubt}")
        return Excused(msgspec.structs.replace(anomaly, illegal=False, licence=text))

    def _loss(self, topic: str) -> str | None:
        """An event by which an internal topic may have lost what concerns the application."""
        if topic not in self._lost:
            number = None
            if topic == OFFSETS_TOPIC:
                place = offsets_partition(self._history, self._loaded.group)
                number = None if place is None else place.partition
            self._lost[topic] = may_have_lost(self._history, topic, number, until_ns=self._loaded.read_ns)
        return self._lost[topic]
