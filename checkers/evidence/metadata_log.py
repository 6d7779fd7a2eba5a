"""The longest metadata log, when its records were appended, and up to what time it is complete.

Records have no times of their own.  The quorum leaders' reports about their logs bound these times.  A record
below a reported high watermark had been appended before the answer.  A record at or above the reported end of
the leader's log, in the record's epoch, had not been appended when the request was sent.

The log with the newest epoch is used.  If several have it, the longest is used; of equally long ones, the one
with the lowest start.  If that log belongs to a replica that lagged or was isolated, leaders have reported
more records than it has.
"""

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER, NONE
from checkers.evidence.metadata_whole import thinned_logs
from checkers.history.operations import History, Operation, once
from checkers.history.packing import unpack
from checkers.history.quorum import leaders_seen
from checkers.history.replicas import COLUMN_TYPES, METADATA_LOG, MetadataLogSeen


class TimeBounds(NamedTuple):
    """When something began, or a record was appended: after one time, and before another; nanoseconds."""

    from_ns: int
    to_ns: int

    def meets(self, from_ns: int, to_ns: int) -> bool:
        """Whether it may have happened between these times."""
        return self.from_ns <= to_ns and from_ns <= self.to_ns


class MetadataLog(NamedTuple):
    """A node's metadata log.

    Attributes:
        operation: the observation that reports it.
        seen: its content.
        epoch: epoch of its last record, -1 if it has no record.
        end: offset after its last record; if records are missing at its end, offset after the last present
            record.
    """

    operation: Operation
    seen: MetadataLogSeen
    epoch: int
    end: int


@once
def farthest(history: History) -> MetadataLog | None:
    """The metadata log that reaches farthest of those that could be read; None if none could be read.

    A log with missing records is taken only if there is no other.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: a column of its batches is not as docs/histories.md says.
    """
    logs = [_log(operation) for operation in history.observed(METADATA_LOG)]
    readable = [log for log in logs if log.seen.error is None and log.seen.decoder_error is None]
    thinned = thinned_logs(history)
    whole = [log for log in readable if log.operation.index not in thinned]
    return max(
        whole or readable, key=lambda log: (log.epoch, log.end, -(log.seen.log_start or 0)), default=None
    )


def _log(operation: Operation) -> MetadataLog:
    seen = msgspec.convert(operation.value, MetadataLogSeen)
    epoch = max((record.epoch for record in seen.records), default=-1)
    return MetadataLog(operation, seen, epoch, _end(seen, epoch))


def _end(seen: MetadataLogSeen, epoch: int) -> int:
    """The offset at which its records end.

    Records that change nothing are left out if each is alone in its batch.  So records are missing if a batch
    after the last decoded record has several records, control records, or a later epoch.
    """
    end = seen.end or 0
    last = seen.records[-1].offset if seen.records else (seen.log_start or 0) - 1
    if last + 1 >= end or not seen.count:
        return end
    base, until, control, epochs = (
        unpack(seen.batches[name], name, seen.count, COLUMN_TYPES) for name in _BATCH_COLUMNS
    )
    more = (base > last) & ((until > base) | (control > NONE) | (epochs > epoch))
    return last + 1 if more.any() else end


_BATCH_COLUMNS = ("base_offset", "last_offset", "control", "leader_epoch")


class AppendTimes:
    """Bounds of the times at which records of the metadata log were appended.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an answer of the quorum is not as docs/histories.md says.
    """

    def __init__(self, history: History) -> None:
        ends: dict[int, list[tuple[int, int]]] = {}
        committed: list[tuple[int, int]] = []
        self._watermarks: set[tuple[int, int]] = set()
        for operation, seen in leaders_seen(history):
            end = max((v.log_end_offset for v in seen.voters if v.id == seen.leader_id), default=NONE)
            if end != NONE:
                ends.setdefault(seen.leader_epoch, []).append((end, seen.began_ns))
            if NONE < end < seen.high_watermark:
                continue  # an answer that contradicts itself gives no times
            committed.append((seen.high_watermark, operation.time_ns))
            self._watermarks.add((seen.leader_epoch, seen.high_watermark))
        self._ends = {epoch: _latest_up_to(some) for epoch, some in ends.items()}
        self._committed = _earliest_from(committed)

    def span(self, offset: int, epoch: int) -> TimeBounds:
        """When the record at an offset, in one epoch of the quorum, was appended."""
        ends, asked_ns = self._ends.get(epoch, ([], []))
        place = bisect_right(ends, offset) - 1
        marks, answered_ns = self._committed
        above = bisect_right(marks, offset)
        return TimeBounds(
            asked_ns[place] if place >= 0 else 0,
            answered_ns[above] if above < len(marks) else NEVER,
        )

    def complete_until_ns(self, log: MetadataLog) -> int:
        """The time up to which a log certainly contains all committed records; `NEVER` if nothing is missing.

        A log is incomplete if a high watermark above its end was reported.  It is also incomplete if a high
        watermark of a later epoch was reported, because at least the new leader's record is committed in that
        epoch.  The log is then complete up to the last record of its own epoch that was reported as
        committed: when that record was appended, no later epoch had begun, and all records before it are in
        the log.  If a leader of an earlier epoch had reported more records, committed records are lost, and
        nothing is certain.
        """
        newest, end = log.epoch, log.end
        beyond = {epoch for epoch, mark in self._watermarks if mark > end}
        beyond |= {epoch for epoch, mark in self._watermarks if epoch > newest and mark != NONE}
        if not beyond:
            return NEVER
        committed = min(max((m for epoch, m in self._watermarks if epoch == newest), default=0), end)
        return 0 if min(beyond) < newest else self.span(committed - 1, newest).from_ns


append_times = once(AppendTimes)
"""Returns the `AppendTimes` of a history."""


def _latest_up_to(reported: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Offsets, ascending, and for each the latest time reported for any offset up to it."""
    reported.sort()
    return [offset for offset, _ in reported], list(accumulate((time_ns for _, time_ns in reported), max))


def _earliest_from(reported: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Offsets, ascending, and for each the earliest time reported for any offset from it on."""
    reported.sort()
    times_ns = list(accumulate((time_ns for _, time_ns in reversed(reported)), min))
    return [offset for offset, _ in reported], times_ns[::-1]
