"""Judges the final reads: lost and unseen records, and records that only some readers found."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.columns.tables import NEVER, NONE, Booleans, Integers
from checkers.logs.log.findings import Example, LogFinding, illegal
from checkers.logs.log.licensing import aborted, replaced_since, undecided, undone, vanished
from checkers.logs.log.partition import PartitionLog
from checkers.logs.log.texts import LogTexts, split_facts


@dataclass(frozen=True, slots=True)
class Survival:
    """The results of the final reads for each claim of a partition.

    Attributes:
        covering: shape (final reads, claims), whether the read must have found the claim's record.
        saw: shape (final reads, claims), whether the read found it.
        gone: shape (claims,), whether the record must exist, a final read must have found it, and none found
            its value at any offset.
        withheld: shape (claims,), the same for read_committed final reads only, for committed records of
            transactions that other final reads found.
        undecided: shape (claims,), whether the record must exist, and no final read found its value or
            decides about it.
    """

    covering: Booleans
    saw: Booleans
    gone: Booleans
    withheld: Booleans
    undecided: Booleans


def survival_of(log: PartitionLog) -> Survival:
    """Compare all claims of a partition with its final reads."""
    claims, always = log.claims, log.visibility.always
    shape = (len(log.finals), len(claims.value))
    covering, saw = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    for number, view in enumerate(log.finals):
        covers = view.covers(claims)
        covering[number] = covers & always if view.committed else covers
        saw[number] = view.saw
    alive = spread(log, np.logical_or.reduce(saw, axis=0))
    due = np.append(log.sent.possible, 0)[claims.sent] > 0
    covered = covering.any(axis=0)
    undecided = due & ~alive & ~covered
    withheld = np.zeros_like(due)
    if log.visibility.transactions and len(always):
        withheld, unanswered = _withheld(log, covering, saw)
        withheld &= due & alive
        if all(view.committed for view in log.finals):
            undecided &= always
        undecided |= due & unanswered
    return Survival(covering, saw, due & ~alive & covered, withheld, undecided)


def _withheld(log: PartitionLog, covering: Booleans, saw: Booleans) -> tuple[Booleans, Booleans]:
    """Claims that read_committed final reads must have but all lack, and claims that none of them decides.

    No read decides about records above the start of a transaction that is still open when the readers list
    the ends.
    """
    always, committed = log.visibility.always, _committed(log)
    covered = covering[committed].any(axis=0)
    absent = ~spread(log, np.logical_or.reduce(saw[committed], axis=0))
    due = np.array([view.due(log.claims) for view in log.finals if view.committed], dtype=np.bool_)
    placed = log.claims.offset != NONE
    transactional: Booleans = log.visibility.transactional
    unanswered = placed & always & absent & ~covered & due.reshape(-1, len(always)).any(axis=0)
    return transactional & always & covered & absent, unanswered


def _committed(log: PartitionLog) -> Booleans:
    """Which final reads are read_committed."""
    return np.array([view.committed for view in log.finals], dtype=np.bool_)


def find_in_survival(log: PartitionLog, survival: Survival) -> Iterator[LogFinding]:
    """Find lost-write, known-gap, unseen and client-disagreement in one partition."""
    yield from _lost(log, survival)
    yield from _unseen(log, survival)
    yield from _disagreements(log, survival)


def spread(log: PartitionLog, chosen: Booleans) -> Booleans:
    """Extend a choice of claims to all claims of the same values; claims of values never sent here stay."""
    sent = log.claims.sent
    of_value = np.zeros(len(log.sent.value) + 1, dtype=np.bool_)
    of_value[sent[chosen]] = True
    return np.where(sent == NONE, chosen, of_value[sent])


def once(log: PartitionLog, chosen: Booleans) -> Integers:
    """The first chosen claim of each value."""
    rows = np.flatnonzero(chosen)
    _, first = np.unique(log.claims.sent[rows], return_index=True)
    return rows[np.sort(first)]


def _lost(log: PartitionLog, survival: Survival) -> Iterator[LogFinding]:
    """Values that must be in some final read but are in none, or in no read_committed final read."""
    claims, log_texts = log.claims, LogTexts(log)
    rows = once(log, survival.gone | survival.withheld)
    if not len(rows):
        return
    ended_ns = np.array([[view.completed_ns] for view in log.finals])
    lacking = survival.covering[:, rows] & (_committed(log)[:, np.newaxis] | survival.gone[rows])
    gone_ns = np.where(lacking, ended_ns, NEVER)
    finder, until_ns = gone_ns.argmin(axis=0), gone_ns.min(axis=0)

    def example(index: int) -> Example:
        claim = int(rows[index])
        view = log.finals[int(finder[index])]
        witness, lines = split_facts(log_texts.claim(claim), log_texts.final(view))
        subject = log_texts.subject(log_texts.offset_of(claim))
        value = log_texts.value_of(claim)
        known = "acknowledged" if claims.ack[claim] != NONE else "returned to a reader"
        kind = "read_committed final read" if survival.withheld[claim] else "final read"
        return Example(
            subject,
            f"{value!r} was {known} at {subject} but is in no {kind}",
            witness,
            (*lines, f"No {kind} of {log_texts.name} found {value!r}."),
        )

    there = np.logical_or.reduce(survival.saw, axis=0) & ~aborted(log)
    kept = spread(log, log.kept)[rows]
    licensed = vanished(log, rows, until_ns, kept, replaced_since(log, there))
    everything = survival.covering[~_committed(log)][:, rows].any(axis=0)
    hidden = (survival.withheld[rows] | ~everything) & undecided(log, rows)
    licence, texts = undone(log, claims.ack[rows], hidden, licensed)
    yield from _without_known_gaps(
        log, LogFinding("lost-write", until_ns, claims.offset[rows], licence, texts, example)
    )


def _without_known_gaps(log: PartitionLog, lost: LogFinding) -> Iterator[LogFinding]:
    """Report losses that a known gap of Kafka explains under a separate name; they stay illegal."""
    gaps = np.flatnonzero([permit.gap for permit in log.permits])
    explained = np.isin(lost.licence, gaps)
    rows, others = np.flatnonzero(explained), np.flatnonzero(~explained)

    def example(index: int) -> Example:
        row = int(rows[index])
        shown = lost.example(row)
        because = f"This is explained, but not permitted, by {lost.texts[int(lost.licence[row])]}."
        return shown._replace(explanation=(*shown.explanation, because))

    if len(others):
        yield LogFinding(
            "lost-write",
            lost.time_ns[others],
            lost.offset[others],
            lost.licence[others],
            lost.texts,
            lambda i: lost.example(int(others[i])),
        )
    if len(rows):
        yield illegal("known-gap", lost.time_ns[rows], lost.offset[rows], example)


def _unseen(log: PartitionLog, survival: Survival) -> Iterator[LogFinding]:
    """Acknowledged values that no reader received, if no final read decides about them."""
    claims, log_texts = log.claims, LogTexts(log)
    read = spread(log, claims.returned)
    promised = claims.acknowledged & log.visibility.always
    rows = once(log, survival.undecided & promised & ~read)

    def example(index: int) -> Example:
        claim = int(rows[index])
        witness, lines = split_facts(log_texts.claim(claim))
        subject = log_texts.subject(log_texts.offset_of(claim))
        value = log_texts.value_of(claim)
        summary = f"{value!r} was acknowledged at {subject}; it was never read, and no final read covers it"
        return Example(subject, summary, witness, lines)

    yield LogFinding(
        "unseen", claims.known_ns[rows], claims.offset[rows], np.zeros_like(rows), (None,), example
    )


def _disagreements(log: PartitionLog, survival: Survival) -> Iterator[LogFinding]:
    """Records that one final read found, and that another final read covers but lacks.

    Records of a transaction may be hidden from all read_committed readers, so readers of different isolation
    levels need not agree.  Readers of one level must agree.
    """
    claims, log_texts = log.claims, LogTexts(log)
    missed = survival.covering & ~survival.saw & ~_expected(log, survival)
    rows = np.flatnonzero(survival.saw.any(axis=0) & missed.any(axis=0) & ~claims.contested)
    if not len(rows):
        return
    finder, misser = survival.saw[:, rows].argmax(axis=0), missed[:, rows].argmax(axis=0)
    ended_ns = np.array([view.completed_ns for view in log.finals])

    def example(index: int) -> Example:
        claim = int(rows[index])
        found, not_found = log.finals[int(finder[index])], log.finals[int(misser[index])]
        witness, lines = split_facts(log_texts.final(found), log_texts.final(not_found))
        subject = log_texts.subject(log_texts.offset_of(claim))
        readers, calls = log.columns.readers, log.columns.calls
        who, other = (readers[int(calls.reader[view.call])] for view in (found, not_found))
        summary = f"{log_texts.value_of(claim)!r} at {subject} was read by {who}, not by {other}"
        return Example(subject, summary, witness, lines)

    until_ns = np.maximum(ended_ns[finder], ended_ns[misser])
    returned = np.ones(len(rows), dtype=np.bool_)
    replaced_ns = replaced_since(log, ~aborted(log))
    licensed = vanished(log, rows, until_ns, returned, replaced_ns)
    yield LogFinding("client-disagreement", until_ns, claims.offset[rows], *licensed, example)


def _expected(log: PartitionLog, survival: Survival) -> Booleans:
    """Shape (final reads, claims): records of transactions that no read_committed final read found."""
    committed = _committed(log)
    hidden = log.visibility.transactional & ~survival.saw[committed].any(axis=0)
    return committed[:, np.newaxis] & hidden
