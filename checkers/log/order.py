"""Judges the order of appending, against real time and against the order in which a process sent."""

from collections.abc import Iterator

import numpy as np

from checkers.columns import NONE, Booleans, Integers
from checkers.log.claims import found_in
from checkers.log.findings import Example, Found
from checkers.log.licensing import truncated
from checkers.log.partition import PartitionLog
from checkers.log.telling import Teller, told

_NOT_IDEMPOTENT = "the producers were not idempotent: a retried batch may be appended behind later ones"
_ACKS_UNKNOWN = "an imported history does not tell what producers waited for; with acks=1 the end may go back"


def find_in_order(log: PartitionLog) -> Iterator[Found]:
    """Find realtime-order, nonmonotonic-send and int-nonmonotonic-send in one partition."""
    yield from _realtime(log)
    yield from _nonmonotonic(log)


def _realtime(log: PartitionLog) -> Iterator[Found]:
    """Records below an offset that was known, by acknowledgement or reading, before their sending began.

    Sorted by the time at which they became known, the prefix maximum of the offsets is the end of the log as
    far as it is known at any time; one binary search for each record asks where it was.
    """
    claims, horizon, teller = log.claims, log.horizon, Teller(log)
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
        witness, lines = told(teller.claim(one), teller.invocation(send), teller.claim(other))
        subject = teller.subject(teller.offset_of(other))
        summary = (
            f"{teller.value_of(other)!r} stands at {subject}, below offset {teller.offset_of(one)} that was "
            "known before its sending began"
        )
        return Example(subject, summary, witness, lines)

    until_ns = np.maximum(claims.known_ns[late], claims.known_ns[early])
    # What stands at the lower offset was appended there after the log had been cut off below it.
    since_ns, lowest = claims.since_ns[early], claims.offset[late]
    licence, texts = truncated(log, since_ns, until_ns, log.kept[early], lowest)
    if log.columns.foreign:
        licence, texts = np.where(licence == NONE, len(texts), licence), (*texts, _ACKS_UNKNOWN)
    yield Found("realtime-order", until_ns, licence, texts, example)


def _nonmonotonic(log: PartitionLog) -> Iterator[Found]:
    """Acknowledged neighbours of one process whose offsets go down, in one batch and between batches."""
    sends = log.columns.sends
    rows = log.sends[sends.offset[log.sends] != NONE]
    rows = rows[np.argsort(sends.process[rows], kind="stable")]
    one, other = rows[:-1], rows[1:]
    down = (sends.process[one] == sends.process[other]) & (sends.offset[one] > sends.offset[other])
    together = sends.invoke_op[one] == sends.invoke_op[other]
    for within in (True, False):
        wrong = np.flatnonzero(down & (together == within))
        if len(wrong):
            yield _descent(log, one[wrong], other[wrong], within=within)


def _descent(log: PartitionLog, one: Integers, other: Integers, *, within: bool) -> Found:
    """Pairs of sends, each in one batch or each in two."""
    sends, teller = log.columns.sends, Teller(log)

    def example(index: int) -> Example:
        rows = int(one[index]), int(other[index])
        witness, lines = told(*(teller.acknowledgement(row) for row in rows))
        subject = teller.subject(int(sends.offset[rows[1]]))
        first, second = (log.columns.value_named(int(sends.value[row])) for row in rows)
        summary = f"{second!r} was sent after {first!r} by one process, but stands before it at {subject}"
        return Example(subject, summary, witness, lines)

    since_ns, until_ns = sends.invoked_ns[one], sends.completed_ns[other]
    licence, texts = truncated(log, since_ns, until_ns, _was_kept(log, one), sends.offset[other])
    if not within:
        return Found("nonmonotonic-send", until_ns, licence, texts, example)
    if not log.columns.idempotent:
        relaxed = (licence == NONE) & ~log.columns.is_strict(one)
        licence, texts = np.where(relaxed, len(texts), licence), (*texts, _NOT_IDEMPOTENT)
    return Found("int-nonmonotonic-send", until_ns, licence, texts, example)


def _was_kept(log: PartitionLog, rows: Integers) -> Booleans:
    """Whether the records that some sends appended were given to a reader, or on every in-sync replica."""
    sends, claims = log.columns.sends, log.claims
    slot = found_in(claims.slots, sends.offset[rows])
    kept: Booleans = log.kept[slot] & (claims.value[slot] == sends.value[rows])
    return kept
