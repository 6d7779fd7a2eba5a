"""Judges acknowledged records in histories of other harnesses, which have no final reads.

By Jepsen's rule (jepsen.tests.kafka, lost-write) a record is lost if no reader received it although one
received a later record.  Records after the last received record may be lag.  They are reported as ``unseen``,
which is legal.
"""

from collections.abc import Iterator

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers
from checkers.logs.log.findings import Example, LogFinding
from checkers.logs.log.licensing import replaced_since, vanished
from checkers.logs.log.partition import PartitionLog
from checkers.logs.log.survival import once, spread
from checkers.logs.log.texts import LogTexts, split_facts


def find_in_passing(log: PartitionLog) -> Iterator[LogFinding]:
    """Find lost-write and unseen in one partition."""
    claims = log.claims
    promised = claims.acknowledged & log.visibility.always
    never_read = once(log, promised & ~spread(log, claims.returned))
    if not len(never_read):
        return
    reads = log.columns.reads
    highest = int(reads.offset[log.reads].max(initial=NONE))
    behind = claims.offset[never_read] < highest
    passed: Booleans = behind & (claims.offset[never_read] != NONE)
    yield from _lost(log, never_read[passed])
    yield from _unseen(log, never_read[~passed])


def _lost(log: PartitionLog, rows: Integers) -> Iterator[LogFinding]:
    """Records that no reader received, below a record that a reader received."""
    if not len(rows):
        return
    claims, log_texts = log.claims, LogTexts(log)
    passing = _first_beyond(log, claims.offset[rows])

    def example(index: int) -> Example:
        claim, read = int(rows[index]), int(passing[index])
        witness, lines = split_facts(log_texts.claim(claim), log_texts.returned(read))
        subject = log_texts.subject(log_texts.offset_of(claim))
        value = log_texts.value_of(claim)
        beyond = int(log.columns.reads.offset[read])
        summary = f"{value!r} was acknowledged at {subject}; offset {beyond} was read, {value!r} never was"
        return Example(subject, summary, witness, (*lines, f"{value!r} was never returned to a client."))

    read_ns = log.columns.calls.completed_ns[log.columns.reads.call[passing]]
    until_ns = np.maximum(read_ns, claims.known_ns[rows])
    replaced_ns = replaced_since(log, claims.returned)
    licensed = vanished(log, rows, until_ns, log.kept[rows], replaced_ns)
    yield LogFinding("lost-write", until_ns, claims.offset[rows], *licensed, example)


def _first_beyond(log: PartitionLog, offsets: Integers) -> Integers:
    """For each offset, the earliest row of `Reads` above it, which must exist."""
    highest = np.maximum.accumulate(log.columns.reads.offset[log.reads])
    return log.reads[np.searchsorted(highest, offsets, side="right")]


def _unseen(log: PartitionLog, rows: Integers) -> Iterator[LogFinding]:
    """Acknowledged records above all records that readers received, or without a reported offset."""
    if not len(rows):
        return
    claims, log_texts = log.claims, LogTexts(log)

    def example(index: int) -> Example:
        claim = int(rows[index])
        witness, lines = split_facts(log_texts.claim(claim))
        subject = log_texts.subject(log_texts.offset_of(claim))
        summary = (
            f"{log_texts.value_of(claim)!r} was acknowledged at {subject}; neither it nor any later "
            "record was ever read"
        )
        return Example(subject, summary, witness, lines)

    yield LogFinding(
        "unseen", claims.known_ns[rows], claims.offset[rows], np.zeros_like(rows), (None,), example
    )
