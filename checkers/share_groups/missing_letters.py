"""Dead letters that are missing although no broker reported that it could not write one.

Kafka does not promise a dead letter: if the write fails for good, the record is archived all the same.  But
then its leader logs an error, before it archives the record (Kafka 4.4.0,
``SharePartition.initiateDLQAndArchive``).  The line does not name the record.  So any such line of a broker
explains a missing dead letter if it was logged between the first delivery of the record and its archiving.
This is how Kafka is made, so it is a figure and no finding.

The first delivery counts, and not the last rejection: a leader confirms, and ignores, the rejection of a
record that was archived before.

These leave it open what became of a dead letter:

* A process of a broker ended in that time: its last lines may be lost.
* A permitted loss in the queue, or in the log of the share coordinator.
* Lines of a broker's log that were left out.  If a whole log is missing, the judge drops the findings.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NONE, PartitionName
from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.evidence.log_ends import SLACK_NS
from checkers.evidence.node_logs import LETTER_FAILED, LogLine, log_lines
from checkers.history.observed import NODE, NodeSeen
from checkers.history.operations import History
from checkers.history.setup import recorded_setup
from checkers.licences import licences_of
from checkers.share_groups.archived import Archived, Place
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

MISSING = AnomalyKind(
    "dead-letter-missing",
    "A record was archived because it was rejected or delivered too often, but the dead-letter queue of the "
    "group does not have it, and no broker logged that it could not write it there.",
    "A record is archived once its dead letter was written, or once its leader has logged that this failed.",
    "KIP-1191, Archiving; Kafka 4.4.0's SharePartition.initiateDLQAndArchive, maybeResumeDlqArchiving",
)


class Compared(NamedTuple):
    """What a comparison found.

    Attributes:
        found: dead letters that are missing, with a licence if an event may explain it.
        compared: number of archived records.
        failed: how many of them have no dead letter, and a broker logged that it could not write one.
    """

    found: list[Anomaly]
    compared: int
    failed: int


class _Span(NamedTuple):
    """The times between which a record was archived, with the uncertainty of times in nodes' logs."""

    from_ns: int
    to_ns: int


def missing_letters(
    history: History,
    archived: Iterable[Archived],
    letters: Collection[Place],
    queues: Mapping[str, Collection[PartitionName]],
) -> Compared:
    """Find archived records without a dead letter.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        archived: the records that must have a dead letter.
        letters: the records that have one.
        queues: by group, the partitions of its queue.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    all_ = list(archived)
    missing = [one for one in all_ if one.place not in letters]
    excuses = _Excuses(history, queues)
    unlogged = [one for one in missing if not excuses.logged(one)]
    found = [_found(history, one, excuses.of(one)) for one in unlogged]
    return Compared(found, len(all_), len(missing) - len(unlogged))


class _Excuses:
    """Events that may explain that dead letters are missing."""

    def __init__(self, history: History, queues: Mapping[str, Collection[PartitionName]]) -> None:
        self._history = history
        self._queues = queues
        self._windows = [window for window in fault_windows(history) if window.ends_processes]
        self._exits = [one for one in history.seen(NODE, NodeSeen) if one[1].exited]
        controllers = {node.name for node in recorded_setup(history).nodes if "broker" not in node.roles}
        self._lines = [line for line in log_lines(history) if line.node not in controllers]
        self._failures = [line for line in self._lines if LETTER_FAILED in line.text]

    def logged(self, one: Archived) -> bool:
        """Whether a broker logged in time that it could not write a dead letter."""
        span = self._span(one)
        return any(_within(line, span) for line in self._failures)

    def of(self, one: Archived) -> str | None:
        """An event by which the dead letter, or the line about it, may have been lost."""
        return next(self._all(one), None)

    def _all(self, one: Archived) -> Iterator[str]:
        span, (name, _) = self._span(one), one.place
        yield from filter(None, (one.doubt,))
        for queue in self._queues.get(name.group, ()):
            permits = licences_of(self._history).of(queue)
            yield from (permit.text for permit in permits if permit.event.to_ns >= span.from_ns)
        yield from (_ending(window) for window in self._windows if window.overlaps(*span))
        for operation, _ in self._exits:
            if span.from_ns <= operation.time_ns <= span.to_ns:
                yield f"{operation.node} ended"
        yield from (f"{line.node} logged {line.text}" for line in self._lines if line.number is None)

    def _span(self, one: Archived) -> _Span:
        operations = self._history.operations
        from_ns = 0 if one.since == NONE else operations[one.since].time_ns
        return _Span(from_ns - SLACK_NS, operations[one.until].time_ns + SLACK_NS)


def _within(line: LogLine, span: _Span) -> bool:
    return not line.logged or span.from_ns <= line.time_ns <= span.to_ns


def _ending(window: FaultWindow) -> str:
    return f"{window.id} ({window.kind} of {', '.join(window.targets) or 'unknown'})"


def _found(history: History, one: Archived, licence: str | None) -> Anomaly:
    name, offset = one.place
    subject = f"{name}@{offset}"
    anomaly = MISSING.found(
        f"{subject} is Archived by {one.at}, but has no dead letter, and no broker logged that it could not "
        "write it",
        subject=subject,
        time_ns=history.operations[one.until].time_ns,
        witness=sorted({*(() if one.since == NONE else (one.since,)), one.until, one.op}),
    )
    return msgspec.structs.replace(anomaly, illegal=licence is None, licence=licence)
