"""Judges what the final reads found: lost and unseen records, and records that only some readers see."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.columns import NEVER, NONE, Booleans, Integers
from checkers.licences import first_permit
from checkers.log.findings import Example, Found
from checkers.log.partition import PartitionLog
from checkers.log.telling import Teller, told


@dataclass(frozen=True, slots=True)
class Survival:
    """What the final reads say of each claim of a partition.

    Attributes:
        covering: shape (final reads, claims), whether each must have seen it.
        saw: shape (final reads, claims), whether it did.
        alive: shape (claims,), whether any final read found the value in the partition, at any offset.
        due: shape (claims,), whether it may be asked for: it was sent, and not every attempt failed.
        undecided: shape (claims,), whether it is due, and no final read found its value or decides on it.
    """

    covering: Booleans
    saw: Booleans
    alive: Booleans
    due: Booleans
    undecided: Booleans


def survival_of(log: PartitionLog) -> Survival:
    """Compare all claims of a partition with its final reads."""
    claims = log.claims
    shape = (len(log.finals), len(claims.value))
    covering, saw = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    for number, view in enumerate(log.finals):
        covering[number] = view.covers(claims)
        saw[number] = view.saw
    alive = _spread(log, np.logical_or.reduce(saw, axis=0))
    due = np.append(log.sent.possible, 0)[claims.sent] > 0
    return Survival(covering, saw, alive, due, due & ~alive & ~covering.any(axis=0))


def find_in_survival(log: PartitionLog, survival: Survival) -> Iterator[Found]:
    """Find lost-write, unseen and client-disagreement in one partition."""
    yield from _lost(log, survival)
    yield from _unseen(log, survival)
    yield from _disagreements(log, survival)


def _spread(log: PartitionLog, chosen: Booleans) -> Booleans:
    """Extend a choice of claims to all claims of the same values; values never sent here stay as they are."""
    sent = log.claims.sent
    of_value = np.zeros(len(log.sent.value) + 1, dtype=np.bool_)
    of_value[sent[chosen]] = True
    return np.where(sent == NONE, chosen, of_value[sent])


def _once(log: PartitionLog, chosen: Booleans) -> Integers:
    """The first chosen claim of each value."""
    rows = np.flatnonzero(chosen)
    _, first = np.unique(log.claims.sent[rows], return_index=True)
    return rows[np.sort(first)]


def _lost(log: PartitionLog, survival: Survival) -> Iterator[Found]:
    """Values that must be in some final read, and are in none."""
    claims, teller = log.claims, Teller(log)
    rows = _once(log, survival.due & ~survival.alive & survival.covering.any(axis=0))
    if not len(rows):
        return
    ended_ns = np.array([[view.completed_ns] for view in log.finals])
    gone_ns = np.where(survival.covering[:, rows], ended_ns, NEVER)
    finder, until_ns = gone_ns.argmin(axis=0), gone_ns.min(axis=0)

    def example(index: int) -> Example:
        claim = int(rows[index])
        view = log.finals[int(finder[index])]
        witness, lines = told(teller.claim(claim), teller.final(view))
        subject = teller.subject(teller.offset_of(claim))
        value = teller.value_of(claim)
        known = "acknowledged" if claims.ack[claim] != NONE else "returned to a reader"
        return Example(
            subject,
            f"{value!r} was {known} at {subject} and is in no final read",
            witness,
            (*lines, f"No final read of {teller.name} found {value!r}."),
        )

    kept = _spread(log, claims.returned | _durable(log))[rows]
    licence = first_permit(log.permits, claims.since_ns[rows], until_ns, kept)
    yield Found("lost-write", until_ns, licence, log.licences, example)


def _durable(log: PartitionLog) -> Booleans:
    """Acknowledgements with an offset where producers wait for none: the write probe has acks=all."""
    durable: Booleans = log.claims.acknowledged & (log.claims.offset != NONE) & (log.columns.acks == "0")
    return durable


def _unseen(log: PartitionLog, survival: Survival) -> Iterator[Found]:
    """Acknowledged values that no reader was given, where no final read decides."""
    claims, teller = log.claims, Teller(log)
    read = _spread(log, claims.returned)
    rows = _once(log, survival.undecided & claims.acknowledged & ~read)

    def example(index: int) -> Example:
        claim = int(rows[index])
        witness, lines = told(teller.claim(claim))
        subject = teller.subject(teller.offset_of(claim))
        value = teller.value_of(claim)
        summary = f"{value!r} was acknowledged at {subject}; nobody read it, and no final read covers it"
        return Example(subject, summary, witness, lines)

    yield Found("unseen", claims.known_ns[rows], np.zeros_like(rows), (None,), example)


def _disagreements(log: PartitionLog, survival: Survival) -> Iterator[Found]:
    """Records that one final read found and another, which covers them, did not."""
    claims, teller = log.claims, Teller(log)
    missed = survival.covering & ~survival.saw
    rows = np.flatnonzero(survival.saw.any(axis=0) & missed.any(axis=0) & ~claims.contested)
    if not len(rows):
        return
    finder, misser = survival.saw[:, rows].argmax(axis=0), missed[:, rows].argmax(axis=0)
    ended_ns = np.array([view.completed_ns for view in log.finals])

    def example(index: int) -> Example:
        claim = int(rows[index])
        found, not_found = log.finals[int(finder[index])], log.finals[int(misser[index])]
        witness, lines = told(teller.final(found), teller.final(not_found))
        subject = teller.subject(teller.offset_of(claim))
        readers, calls = log.columns.readers, log.columns.calls
        who, other = (readers[int(calls.reader[view.call])] for view in (found, not_found))
        summary = f"{teller.value_of(claim)!r} at {subject} is read by {who}, not by {other}"
        return Example(subject, summary, witness, lines)

    until_ns = np.maximum(ended_ns[finder], ended_ns[misser])
    returned = np.ones(len(rows), dtype=np.bool_)
    licence = first_permit(log.permits, claims.since_ns[rows], until_ns, returned)
    yield Found("client-disagreement", until_ns, licence, log.licences, example)
