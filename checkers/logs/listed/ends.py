"""Ends of partitions: none is below an acknowledged, read or listed offset, or above what was sent so far."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE
from checkers.history.observed import OffsetsRequested
from checkers.licences.missed_markers import missed_markers
from checkers.logs.listed.anomalies import END_AHEAD, END_BEHIND
from checkers.logs.listed.clients import client_reads
from checkers.logs.listed.loading import (
    Found,
    ListedHistory,
    ListedLog,
    ListedPartition,
    SentRecords,
    answers,
    running_maximum,
    shown,
    worst,
)
from checkers.verdict.verdict import Anomaly


class _Bounds(NamedTuple):
    """Lower bounds of the ends that leaders report later.

    Attributes:
        time_ns: when each became known; a leader at that time or later must know it.
        since_ns: the time since which a loss explains that a leader does not know it.  Of equal bounds, the
            one with the latest such time counts.
        offset: the bounds.
        operations: for each, the operations that show it.
        text: a description of the bounds.
    """

    time_ns: Sequence[int]
    since_ns: Sequence[int]
    offset: Sequence[int]
    operations: Sequence[tuple[int, ...]]
    text: str


def find_behind(story: ListedHistory, place: ListedLog) -> Iterator[Anomaly]:
    """Ends below an offset that had been acknowledged, read or reported before the request.

    A leader answers once its high watermark has reached the start of its epoch (KIP-207).  So it reports
    everything that earlier leaders had committed.  Without transactions the last stable offset is the high
    watermark.  With transactions it is compared only with other last stable offsets.  It may go back if the
    leader may have missed the marker of a transaction in a compacted topic.  Of an application of Kafka
    Streams, ends that clients listed are judged too, and what they read counts; transactional topics of it
    are only read at read_committed.
    """
    latest, stable = _ends(place, OffsetsRequested.LATEST), _ends(place, OffsetsRequested.STABLE)
    acked = _acked(story.sent(place.name))
    read = [_read(story, place, polled=polled) for polled in (True, False)]
    if story.transactional(place.name):
        groups = [(latest, [acked, *read, _bounds_of([*latest, *stable])])]
        groups.append((stable, [*read, _bounds_of(stable)]))
    else:
        every = sorted([*latest, *stable], key=lambda answer: answer.op)
        groups = [(every, [acked, *read, _bounds_of(every)])]
    for judged, bounds in groups:
        for each in bounds:
            yield from worst(_behind(story, place, judged, each))


def _ends(place: ListedLog, what: OffsetsRequested) -> list[ListedPartition]:
    """The answers of one kind to observers and to clients."""
    return [*answers(place, what), *(answer for answer in place.to_clients if answer.what == what)]


def _read(story: ListedHistory, place: ListedLog, *, polled: bool) -> _Bounds:
    """What was read, by polls or otherwise; a loss since a send explains more than one since a read."""
    reads = [read for read in client_reads(story.history).get(place.name, ()) if read.polled == polled]
    times_ns, since_ns = [read.time_ns for read in reads], [read.since_ns for read in reads]
    operations = [(read.operation,) for read in reads]
    offsets = [read.offset for read in reads]
    return _Bounds(times_ns, since_ns, offsets, operations, "polled" if polled else "read")


def _acked(sent: SentRecords) -> _Bounds:
    rows = np.flatnonzero(sent.kept)
    completed_ns = sent.completed_ns[rows].tolist()
    operations = [(op,) for op in sent.op[rows].tolist()]
    return _Bounds(completed_ns, completed_ns, (sent.offset[rows] + 1).tolist(), operations, "acknowledged")


def _bounds_of(some: Sequence[ListedPartition]) -> _Bounds:
    times_ns, fences_ns = [answer.time_ns for answer in some], [answer.fence_ns for answer in some]
    return _Bounds(
        times_ns, fences_ns, [answer.offset for answer in some], [(answer.op,) for answer in some], "reported"
    )


def _behind(
    story: ListedHistory, place: ListedLog, judged: Sequence[ListedPartition], bounds: _Bounds
) -> Iterator[Found]:
    times_ns, rows = running_maximum(bounds.time_ns, bounds.offset, bounds.since_ns)
    for answer in judged:
        at = int(np.searchsorted(times_ns, answer.fence_ns, side="right")) - 1
        row = int(rows[at]) if at >= 0 else NONE
        if row == NONE or bounds.offset[row] <= answer.offset:
            continue
        due = bounds.offset[row]
        anomaly = END_BEHIND.found(
            f"{answer.node} reported the end offset {answer.offset} of {place.name}, but {due} had been "
            f"{bounds.text}",
            subject=str(place.name),
            time_ns=answer.time_ns,
            witness=(*bounds.operations[row], answer.op),
            explanation=(
                _known(bounds, row),
                shown(answer),
                f"No later epoch had begun by {answer.fence_ns / 1e9:.3f} s.",
            ),
        )
        times = (bounds.since_ns[row], answer.time_ns)
        permit = story.permit(place.name, *times, due - 1, known_ns=bounds.time_ns[row])
        yield anomaly, permit or _missed(story, answer, place)


def _missed(story: ListedHistory, answer: ListedPartition, place: ListedLog) -> str | None:
    """Why a leader may take a transaction for open that had ended; None for other ends."""
    missed = missed_markers(story.history).get(place.name)
    if missed is None or answer.what != OffsetsRequested.STABLE:
        return None
    return next(iter(missed.leaders.texts), None)


def _known(bounds: _Bounds, row: int) -> str:
    (op, *_), seconds = bounds.operations[row], bounds.time_ns[row] / 1e9
    return f"Offset {bounds.offset[row]} had been {bounds.text} by {seconds:.3f} s: operation {op}."


def find_ahead(story: ListedHistory, place: ListedLog) -> Iterator[Anomaly]:
    """Offsets above a record that was sent only after the offset had been reported.

    If only the leader had to have a record, another leader may have other records at its offset.
    """
    every = story.sent(place.name)
    sent = every.at(np.flatnonzero(every.kept))
    order = np.argsort(sent.invoked_ns, kind="stable")[::-1]
    lowest = np.minimum.accumulate(sent.offset[order])[::-1]
    invoked_ns, order = sent.invoked_ns[order][::-1], order[::-1]
    found: list[Found] = []
    for answer in place.listings:
        at = int(np.searchsorted(invoked_ns, answer.time_ns, side="right"))
        ends = answer.what in {OffsetsRequested.LATEST, OffsetsRequested.STABLE, OffsetsRequested.EARLIEST}
        if at == len(order) or answer.offset < lowest[at] + ends:
            continue
        row = order[at:][sent.offset[order[at:]] == lowest[at]][0]
        offset, op = int(sent.offset[row]), int(sent.op[row])
        anomaly = END_AHEAD.found(
            f"{answer.node} reported offset {answer.offset} of {place.name} ({answer.what}), but the "
            f"record at {offset} was sent later",
            subject=str(place.name),
            time_ns=answer.time_ns,
            witness=(answer.op, op),
            explanation=(
                shown(answer),
                f"The record at {offset} was sent at {sent.invoked_ns[row] / 1e9:.3f} s: operation {op}.",
            ),
        )
        found.append(
            (anomaly, story.permit(place.name, answer.fence_ns, int(sent.completed_ns[row]), offset))
        )
    yield from worst(found)
