"""Judges the order of appends, against real time and against the order in which a process sent."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers, SendOutcome
from checkers.logs.log.claims import at, found_in
from checkers.logs.log.findings import Example, LogFinding
from checkers.logs.log.licensing import truncated
from checkers.logs.log.partition import PartitionLog
from checkers.logs.log.texts import Fact, LogTexts, split_facts

_NOT_IDEMPOTENT = "the producers were not idempotent: a retried batch may be appended after later ones"
_ACKS_UNKNOWN = "an imported history does not record the producers' acks; with acks=1 the log end may go back"


def find_in_order(log: PartitionLog) -> Iterator[LogFinding]:
    """Find realtime-order, nonmonotonic-send and int-nonmonotonic-send in one partition."""
    yield from _realtime(log)
    yield from _nonmonotonic(log)


def _realtime(log: PartitionLog) -> Iterator[LogFinding]:
    """Records below an offset that was acknowledged or read before their send started.

    The offsets are sorted by the time at which they became known.  Their prefix maximum is the known end of
    the log at each time.  One binary search for each record finds the end that was known at its send.
    """
    claims, horizon, log_texts = log.claims, log.horizon, LogTexts(log)
    late = np.flatnonzero((claims.sent != NONE) & (claims.offset != NONE))
    began_ns = log.sent.invoked_ns[claims.sent[late]]
    before = np.searchsorted(horizon.known_ns, began_ns, side="left")
    reached = np.append(horizon.highest, NONE)[before - 1]
    wrong = np.flatnonzero(reached > claims.offset[late])
    if not len(wrong):
        return
    late = late[wrong]
    early = horizon.claim[np.searchsorted(horizon.highest, reached[wrong], side="left")]

    def example(index: int) -> Example:
        one, other = int(early[index]), int(late[index])
        send = int(log.sent.send[claims.sent[other]])
        witness, lines = split_facts(log_texts.claim(one), log_texts.invocation(send), log_texts.claim(other))
        subject = log_texts.subject(log_texts.offset_of(other))
        summary = (
            f"{log_texts.value_of(other)!r} is at {subject}, below offset {log_texts.offset_of(one)}, "
            "which was known before its send began"
        )
        return Example(subject, summary, witness, lines)

    until_ns = np.maximum(claims.known_ns[late], claims.known_ns[early])
    # The record at the lower offset was appended there after the log had been truncated below it.
    since_ns, lowest = claims.since_ns[early], claims.offset[late]
    known_ns = claims.known_ns[early]
    licence, texts = truncated(log, since_ns, until_ns, log.kept[early], lowest, known_ns=known_ns)
    # Or a deposed leader appended it, and its log was truncated later.
    since_ns, known_ns = claims.since_ns[late], claims.known_ns[late]
    own, _ = truncated(log, since_ns, until_ns, log.kept[late], lowest, known_ns=known_ns)
    licence = np.where((licence == NONE) & ~log.kept[late], own, licence)
    if log.columns.foreign:
        licence, texts = np.where(licence == NONE, len(texts), licence), (*texts, _ACKS_UNKNOWN)
    yield LogFinding("realtime-order", until_ns, claims.offset[late], licence, texts, example)


class _Placed(NamedTuple):
    """Sends with a known offset, ordered by process, then by time of sending.

    Attributes:
        row: row of `Sends`.
        offset: the record's offset.
        claim: the claim of readers that reports it, `NONE` if the acknowledgement reports it.
    """

    row: Integers
    offset: Integers
    claim: Integers

    def chosen(self, which: Integers) -> "_Placed":
        """Return some of the sends."""
        return _Placed(self.row[which], self.offset[which], self.claim[which])


def _placed(log: PartitionLog) -> _Placed:
    """Sends with the offset of their acknowledgement; in imported histories, also with that of readers."""
    sends, rows = log.columns.sends, log.sends
    offset, claim = sends.offset[rows], np.full(len(rows), NONE)
    if log.columns.foreign:
        # If other harnesses lose an acknowledgement, the offset comes from readers if all report the same.
        of_value = found_in(log.sent.value, sends.value[rows])
        silent = (offset == NONE) & (sends.outcome[rows] != SendOutcome.FAIL)
        claim = np.where(silent, at(_sole_claims(log), of_value, NONE), NONE)
        offset = np.where(claim == NONE, offset, at(log.claims.offset, claim, NONE))
    known = np.flatnonzero(offset != NONE)
    order = known[np.argsort(sends.process[rows[known]], kind="stable")]
    return _Placed(rows[order], offset[order], claim[order])


def _sole_claims(log: PartitionLog) -> Integers:
    """Each sent value's only claim with an offset; `NONE` if it has none or several, or was sent twice."""
    claims, count = log.claims, len(log.sent.value)
    found = np.flatnonzero((claims.sent != NONE) & (claims.offset != NONE))
    once = np.bincount(claims.sent[found], minlength=count) == 1
    once &= np.bincount(found_in(log.sent.value, log.columns.sends.value[log.sends]), minlength=count) == 1
    sole = np.full(count, NONE)
    sole[claims.sent[found]] = found
    return np.where(once, sole, NONE)


def _nonmonotonic(log: PartitionLog) -> Iterator[LogFinding]:
    """Consecutive sends of one process whose offsets decrease, within one batch and between batches."""
    sends, placed = log.columns.sends, _placed(log)
    one, other = placed.row[:-1], placed.row[1:]
    down = (sends.process[one] == sends.process[other]) & (placed.offset[:-1] > placed.offset[1:])
    together = sends.invoke_op[one] == sends.invoke_op[other]
    for within in (True, False):
        wrong = np.flatnonzero(down & (together == within))
        if len(wrong):
            yield _descent(log, placed.chosen(wrong), placed.chosen(wrong + 1), within=within)


def _descent(log: PartitionLog, one: _Placed, other: _Placed, *, within: bool) -> LogFinding:
    """Pairs of sends with decreasing offsets, within one batch or from one batch to another."""
    sends, log_texts = log.columns.sends, LogTexts(log)

    def lines_of(placed: _Placed, index: int) -> list[Fact]:
        row, claim = int(placed.row[index]), int(placed.claim[index])
        if claim == NONE:
            return [log_texts.acknowledgement(row)]
        return [log_texts.invocation(row), log_texts.returned(int(log.claims.read[claim]))]

    def example(index: int) -> Example:
        witness, lines = split_facts(*lines_of(one, index), *lines_of(other, index))
        subject = log_texts.subject(int(other.offset[index]))
        first, second = (
            log.columns.value_named(int(sends.value[placed.row[index]])) for placed in (one, other)
        )
        summary = f"one process sent {second!r} after {first!r}, but {second!r} is before it at {subject}"
        return Example(subject, summary, witness, lines)

    since_ns, until_ns = sends.invoked_ns[one.row], _reported_ns(log, other)
    known_ns = _reported_ns(log, one)
    licence, texts = truncated(log, since_ns, until_ns, _was_kept(log, one), other.offset, known_ns=known_ns)
    # Or a deposed leader appended the second record, and its log was truncated later.
    kept, since_ns = _was_kept(log, other), sends.invoked_ns[other.row]
    own, _ = truncated(log, since_ns, until_ns, kept, other.offset, known_ns=until_ns)
    licence = np.where((licence == NONE) & ~kept, own, licence)
    if not within:
        return LogFinding("nonmonotonic-send", until_ns, other.offset, licence, texts, example)
    if not log.columns.idempotent:
        relaxed = (licence == NONE) & ~log.columns.is_strict(one.row)
        licence, texts = np.where(relaxed, len(texts), licence), (*texts, _NOT_IDEMPOTENT)
    return LogFinding("int-nonmonotonic-send", until_ns, other.offset, licence, texts, example)


def _reported_ns(log: PartitionLog, placed: _Placed) -> Integers:
    """When the offsets of some sends were reported."""
    acknowledged = placed.claim == NONE
    completed_ns = log.columns.sends.completed_ns[placed.row]
    return np.where(acknowledged, completed_ns, at(log.claims.known_ns, placed.claim, NONE))


def _was_kept(log: PartitionLog, placed: _Placed) -> Booleans:
    """Whether the records of some sends were received by a reader, or on every in-sync replica."""
    sends, claims = log.columns.sends, log.claims
    slot = found_in(claims.slots, placed.offset)
    kept: Booleans = log.kept[slot] & (claims.value[slot] == sends.value[placed.row])
    return kept
