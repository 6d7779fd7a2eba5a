"""Judges received records: within an assignment, a consumer receives every known record in offset order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers
from checkers.logs.log.claims import at, found_in
from checkers.logs.log.findings import Example, LogFinding
from checkers.logs.log.licensing import aborted, replaced_since, truncated, undecided, undone, vanished
from checkers.logs.log.partition import PartitionLog
from checkers.logs.log.texts import Fact, LogTexts, split_facts


@dataclass(frozen=True, slots=True)
class _Steps:
    """The records that one assignment received, each with the record received directly before.

    Attributes:
        before: row of reads that was received before, `NONE` if the step is the first of its assignment.
        assign: for a first step, the row of assigns that states where reading began.
        due: offset at which the step had to continue: after the record before, or where reading began.
        read: row of reads that was received next.
        within: whether one call returned both.
    """

    before: Integers
    assign: Integers
    due: Integers
    read: Integers
    within: Booleans

    def chosen(self, which: Booleans) -> "_Steps":
        """Return some of the steps."""
        rows = np.flatnonzero(which)
        return _Steps(
            self.before[rows], self.assign[rows], self.due[rows], self.read[rows], self.within[rows]
        )


class _Passed(NamedTuple):
    """The slots that some steps skip: ``due[low:high]`` for each step.

    Attributes:
        due: slots that the reader must receive, ascending.
        low: shape (steps,), the first slot that each step skips.
        high: shape (steps,), the slot at which each step arrives.
    """

    due: Integers
    low: Integers
    high: Integers


def find_in_polls(log: PartitionLog) -> Iterator[LogFinding]:
    """Find (int-)poll-skip and (int-)nonmonotonic-poll in one partition.

    The order of a final read is judged like that of a poll.  Records that a final read lacks are not judged
    here: they are lost writes or disagreements of clients.
    """
    steps = _steps(log)
    back = log.columns.reads.offset[steps.read] < steps.due
    for prefix, kind in (("int-", steps.within), ("", ~steps.within)):
        rows = np.flatnonzero(back & kind)
        if len(rows):
            yield _retreats(log, f"{prefix}nonmonotonic-poll", steps, rows)
    everything = np.arange(len(log.claims.slots))
    if not log.visibility.transactions:
        yield from _find_skips(log, steps, everything)
        return
    readers = np.array([reader.committed for reader in log.columns.readers], dtype=np.bool_)
    calls = log.columns.calls
    committed = readers[calls.reader[log.columns.reads.call[steps.read]]]
    always = np.flatnonzero(log.visibility.always[: len(everything)])
    yield from _find_skips(log, steps.chosen(~committed), everything)
    yield from _find_skips(log, steps.chosen(committed), always)


def _find_skips(log: PartitionLog, steps: _Steps, due: Integers) -> Iterator[LogFinding]:
    """Find steps of polls that skip slots that their readers must receive."""
    reads = log.columns.reads
    final = log.columns.calls.final[reads.call[steps.read]]
    span = np.searchsorted(log.claims.slots[due], np.stack((steps.due, reads.offset[steps.read])))
    skipped = (span[0] < span[1]) & ~final
    for prefix, kind in (("int-", steps.within), ("", ~steps.within)):
        rows = np.flatnonzero(skipped & kind)
        if len(rows):
            yield _skips(log, f"{prefix}poll-skip", steps, rows, _Passed(due, *span[:, rows]))


def _steps(log: PartitionLog) -> _Steps:
    """Pair each row with the previous row of its assignment or final read, or with the start of that."""
    reads, calls, assigns = log.columns.reads, log.columns.calls, log.columns.assigns
    call = reads.call[log.reads]
    group = calls.assignment[call]
    order = np.argsort(group, kind="stable")
    rows, group, call = log.reads[order], group[order], call[order]
    follows = np.diff(group, prepend=group[:1] - 1) == 0
    before = np.where(follows, np.roll(rows, 1), NONE)
    assign = np.where(follows, NONE, _assigned(log, group))
    due = np.where(follows, reads.offset[before] + 1, at(assigns.offset, assign, NONE))
    known = due != NONE
    within = follows & (call == np.roll(call, 1))
    return _Steps(before[known], assign[known], due[known], rows[known], within[known])


def _assigned(log: PartitionLog, group: Integers) -> Integers:
    """The row with which each assignment begins in this partition; `NONE` if there is none."""
    assigns = log.columns.assigns
    rows = log.assigns
    return at(rows, found_in(assigns.assignment[rows], group), NONE)


def _retreats(log: PartitionLog, identity: str, steps: _Steps, rows: Integers) -> LogFinding:
    """Steps to a lower offset."""
    log_texts = LogTexts(log)

    def example(index: int) -> Example:
        step = int(rows[index])
        read = int(steps.read[step])
        witness, lines = split_facts(_before(log_texts, steps, step), log_texts.returned(read))
        subject = log_texts.subject(int(log.columns.reads.offset[read]))
        summary = f"{subject} was returned where offset {int(steps.due[step])} was expected"
        return Example(subject, summary, witness, lines)

    # A client that detects a truncation goes back to the offset of the truncation (KIP-320).
    until_ns, before = _read_ns(log, steps.read[rows]), steps.before[rows]
    since_ns = np.where(before == NONE, until_ns, _read_ns(log, before))
    given, lowest = np.ones(len(rows), np.bool_), log.columns.reads.offset[steps.read[rows]]
    return LogFinding(identity, until_ns, lowest, *truncated(log, since_ns, until_ns, given, lowest), example)


def _skips(log: PartitionLog, identity: str, steps: _Steps, rows: Integers, passed: _Passed) -> LogFinding:
    """Steps over known records; a record that a reader received is preferred to one only acknowledged.

    Args:
        log: the partition.
        identity: poll-skip or int-poll-skip.
        steps: all steps.
        rows: the steps that skip records.
        passed: the slots that each of them skips.
    """
    claims, log_texts = log.claims, LogTexts(log)
    due, low, high = passed
    returned = np.flatnonzero(claims.returned[due])
    skipped = np.append(returned, len(due))[np.searchsorted(returned, low)]
    skipped = due[np.where(skipped < high, skipped, low)]

    def example(index: int) -> Example:
        step, claim = int(rows[index]), int(skipped[index])
        read = int(steps.read[step])
        witness, lines = split_facts(
            log_texts.claim(claim), _before(log_texts, steps, step), log_texts.returned(read)
        )
        subject = log_texts.subject(log_texts.offset_of(claim))
        count = int(high[index] - low[index])
        summary = f"{count} known records were skipped, {log_texts.value_of(claim)!r} at {subject} among them"
        return Example(subject, summary, witness, lines)

    time_ns = _read_ns(log, steps.read[rows])
    until_ns = np.maximum(claims.known_ns[skipped], time_ns)
    replaced_ns = replaced_since(log, ~aborted(log))
    licensed = vanished(log, skipped, until_ns, log.kept[skipped], replaced_ns)
    readers = np.array([reader.committed for reader in log.columns.readers], dtype=np.bool_)
    committed = readers[log.columns.calls.reader[log.columns.reads.call[steps.read[rows]]]]
    hidden = committed & undecided(log, skipped)
    licensed = undone(log, claims.ack[skipped], hidden, licensed)
    return LogFinding(identity, time_ns, claims.offset[skipped], *licensed, example)


def _before(log_texts: LogTexts, steps: _Steps, step: int) -> Fact:
    """The predecessor of a step: a record, or the assignment."""
    if steps.before[step] == NONE:
        return log_texts.assignment(int(steps.assign[step]))
    return log_texts.returned(int(steps.before[step]))


def _read_ns(log: PartitionLog, rows: Integers) -> Integers:
    """When records were returned."""
    return log.columns.calls.completed_ns[log.columns.reads.call[rows]]


def lag_of(log: PartitionLog) -> int:
    """The largest distance between the end of a non-empty poll and the known log end when the poll began."""
    reads, calls, horizon = log.columns.reads, log.columns.calls, log.horizon
    call = reads.call[log.reads]
    last = np.flatnonzero((np.diff(call, append=NONE) != 0) & ~calls.final[call])
    before = np.searchsorted(horizon.known_ns, calls.invoked_ns[call[last]], side="left")
    reached = np.append(horizon.highest, NONE)[before - 1]
    return int((reached - reads.offset[log.reads[last]]).max(initial=0))
