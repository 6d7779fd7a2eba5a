"""Offsets by timestamp: the first record since a time, and the newest record, compared with the sends.

A producer sets a record's timestamp when it receives the record, by the host's clock.  Each ListOffsets
request in the history relates that clock to the history's clock.

A record that was returned for a time has a known timestamp, to the millisecond.  It was below the high
watermark, so a later search since that timestamp, or an earlier one, must not skip it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers
from checkers.history.observed import OffsetsRequested
from checkers.history.units import NS_PER_MS
from checkers.logs.listed.anomalies import TIME_WRONG
from checkers.logs.listed.loading import (
    Found,
    ListedHistory,
    ListedLog,
    ListedPartition,
    SentRecords,
    shown,
    worst,
)
from checkers.verdict.verdict import Anomaly

_SLACK_NS = 50_000_000
"""The precision of timestamps and of the two clocks."""
_STEP_MAX_NS = 1_000_000_000
"""If the clock was changed by more than this, timestamps prove nothing."""
_BY_FILE = (
    "a replica that restarted and truncated its log takes the time of the truncation as the "
    "largest timestamp of a segment that lost its time index, and looks no further "
    "(docs/findings.md)"
)


def slack_ns(story: ListedHistory) -> int | None:
    """The possible error of a timestamp, nanoseconds; None if the host's clock was changed."""
    clocks = [answer.wall_ns for place in story.places for answer in place.listings]
    step = max(clocks, default=0) - min(clocks, default=0)
    return None if step > _STEP_MAX_NS else _SLACK_NS + step


def find_times(story: ListedHistory, place: ListedLog, slack: int) -> Iterator[Anomaly]:
    """At most one answer that is impossible for a log with those records.

    Args:
        story: the history.
        place: the partition.
        slack: the possible error of a timestamp, nanoseconds.
    """
    yield from worst(_wrong(story, place, slack))


def _wrong(story: ListedHistory, place: ListedLog, slack: int) -> Iterator[Found]:
    sent = story.sent(place.name)
    returned = _returned(place)
    removable = "compact" in story.topic(place.name).cleanup or story.retained(place.name)
    for answer in place.listings:
        if answer.what not in {OffsetsRequested.SINCE, OffsetsRequested.NEWEST}:
            continue
        if answer.since_ms is not None and answer.offset != NONE and answer.timestamp_ms < answer.since_ms:
            yield _found(place, answer, f"its timestamp is {answer.timestamp_ms}"), None
        if answer.offset != NONE:
            yield from _misdated(story, place, answer, sent, slack)
        if not removable:
            yield from _passed_over(story, place, answer, sent, slack)
            yield from _returned_before(story, place, answer, returned, slack)


def _misdated(
    story: ListedHistory, place: ListedLog, answer: ListedPartition, sent: SentRecords, slack: int
) -> Iterator[Found]:
    """A timestamp that no record at the offset can have."""
    rows = np.flatnonzero(sent.kept & (sent.offset == answer.offset))
    stamp_ns = answer.timestamp_ms * NS_PER_MS - answer.wall_ns
    early, late = sent.invoked_ns[rows] - slack, sent.completed_ns[rows] + slack
    if not len(rows) or bool(((early <= stamp_ns) & (stamp_ns <= late)).any()):
        return
    op, completed_ns = int(sent.op[rows[0]]), int(sent.completed_ns[rows[0]])
    text = f"the record there was sent by operation {op}, at another time than {answer.timestamp_ms}"
    since_ns, until_ns = min(answer.fence_ns, completed_ns), max(answer.time_ns, completed_ns)
    yield _found(place, answer, text, op), story.permit(place.name, since_ns, until_ns, answer.offset)


def _passed_over(
    story: ListedHistory, place: ListedLog, answer: ListedPartition, sent: SentRecords, slack: int
) -> Iterator[Found]:
    """A record, not requested to be deleted, that should have been returned instead.

    Kafka searches the first segment that has a record since the time.  If the log's start is above that
    segment, and the segment's file is not deleted yet, Kafka answers that there is no record.  So after a
    deletion this answer proves nothing.
    """
    deleted_below = story.deletable_below(place.name, answer.time_ns)
    if answer.offset == NONE and deleted_below > 0:
        return
    since_ms = answer.timestamp_ms if answer.since_ms is None else answer.since_ms
    since_ns = since_ms * NS_PER_MS - answer.wall_ns + slack
    due: Booleans = sent.kept & (sent.completed_ns <= answer.fence_ns) & (sent.invoked_ns > since_ns)
    due &= sent.offset >= deleted_below
    if answer.since_ms is not None and answer.offset != NONE:
        due &= sent.offset < answer.offset
    rows = np.flatnonzero(due)
    if not len(rows) or (answer.what == OffsetsRequested.NEWEST and answer.offset == NONE):
        return
    row = int(rows[np.argmax(sent.offset[rows])])
    op, offset = int(sent.op[row]), int(sent.offset[row])
    text = f"the record at {offset}, which operation {op} sent, is skipped"
    permit = story.permit(place.name, int(sent.completed_ns[row]), answer.time_ns, offset)
    yield _found(place, answer, text, op), permit or _hidden(story, place, answer, since_ns)


class _Returned(NamedTuple):
    """Records that leaders returned for a time; arrays of one shape.

    Attributes:
        time_ns: when the answer arrived.
        fence_ns: as in `ListedPartition`.
        offset: offset of the record.
        timestamp_ms: its timestamp.
        op: index of the observation.
    """

    time_ns: Integers
    fence_ns: Integers
    offset: Integers
    timestamp_ms: Integers
    op: Integers


def _returned(place: ListedLog) -> _Returned:
    """What was returned for times; the newest record may be given the offset of another one of its batch."""
    some = [
        answer for answer in place.listings if answer.what == OffsetsRequested.SINCE and answer.offset != NONE
    ]
    rows = [
        (answer.time_ns, answer.fence_ns, answer.offset, answer.timestamp_ms, answer.op) for answer in some
    ]
    return _Returned(*np.array(rows, np.int64).reshape(-1, 5).T)


def _returned_before(
    story: ListedHistory, place: ListedLog, answer: ListedPartition, known: _Returned, slack: int
) -> Iterator[Found]:
    """A record, returned before and not requested to be deleted, that should have been returned again."""
    deleted_below = story.deletable_below(place.name, answer.time_ns)
    if answer.since_ms is None or (answer.offset == NONE and deleted_below > 0):
        return
    due: Booleans = (known.time_ns <= answer.fence_ns) & (known.timestamp_ms >= answer.since_ms)
    due &= known.offset >= deleted_below
    if answer.offset != NONE:
        due &= known.offset < answer.offset
    rows = np.flatnonzero(due)
    if not len(rows):
        return
    row = int(rows[np.argmax(known.offset[rows])])
    op, offset, stamp_ms = (int(each[row]) for each in (known.op, known.offset, known.timestamp_ms))
    text = f"the record at {offset} has the timestamp {stamp_ms} by operation {op}, and is skipped"
    permit = story.permit(place.name, int(known.fence_ns[row]), answer.time_ns, offset)
    since_ns = answer.since_ms * NS_PER_MS - answer.wall_ns - slack
    yield _found(place, answer, text, op), permit or _hidden(story, place, answer, since_ns)


def _hidden(story: ListedHistory, place: ListedLog, answer: ListedPartition, since_ns: int) -> str | None:
    """Why Kafka may find no record since a time although one exists; None if it would find one.

    Kafka searches only the first segment whose largest timestamp is not below that time.
    """
    led_ns = story.led_from_ns(place.name, answer.leader_epoch)
    if answer.offset != NONE or since_ns > led_ns:
        return None
    windows = (window for window in story.facts.windows if window.ends_processes)
    started = any(window.concerns(answer.node) and window.invoked_ns < led_ns for window in windows)
    return _BY_FILE if started else None


def _found(place: ListedLog, answer: ListedPartition, text: str, *operations: int) -> Anomaly:
    return TIME_WRONG.found(
        f"{answer.node} reported offset {answer.offset} of {place.name} ({answer.what}): {text}",
        subject=str(place.name),
        time_ns=answer.time_ns,
        witness=(*operations, answer.op),
        explanation=(shown(answer), f"But {text}."),
    )
