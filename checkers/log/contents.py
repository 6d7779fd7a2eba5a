"""Judges what stands in a partition: foreign, failed and doubled values, and offsets with two of them."""

from collections.abc import Iterator

import numpy as np

from checkers.columns import NONE, Booleans, Integers
from checkers.licences import first_permit
from checkers.log.claims import Claims
from checkers.log.findings import Example, Found, illegal
from checkers.log.partition import PartitionLog
from checkers.log.telling import Teller, told

_NOT_IDEMPOTENT = "the producers were not idempotent: a retried send may append again"


def find_in_contents(log: PartitionLog) -> Iterator[Found]:
    """Find phantom, G1a, duplicate and inconsistent-offsets in one partition."""
    yield from _phantoms(log)
    yield from _aborted(log)
    yield from _duplicates(log)
    yield from _inconsistent(log)


def _phantoms(log: PartitionLog) -> Iterator[Found]:
    """Values that nobody sent to this partition."""
    claims, teller = log.claims, Teller(log)
    rows = np.flatnonzero(claims.sent == NONE)

    def example(index: int) -> Example:
        claim = int(rows[index])
        value = teller.value_of(claim)
        elsewhere = _sent_elsewhere(log, int(claims.value[claim]))
        said = f"was sent to {elsewhere} only" if elsewhere else "was never sent"
        witness, lines = told(teller.claim(claim))
        subject = teller.subject(teller.offset_of(claim))
        return Example(subject, f"{value!r} stands at {subject} but {said}", witness, (*lines, f"It {said}."))

    yield illegal("phantom", claims.known_ns[rows], example)


def _aborted(log: PartitionLog) -> Iterator[Found]:
    """Values that were returned although every attempt to send them definitely failed."""
    claims, teller = log.claims, Teller(log)
    was_sent = np.flatnonzero(claims.sent != NONE)
    rows = was_sent[log.sent.possible[claims.sent[was_sent]] == 0]

    def example(index: int) -> Example:
        claim = int(rows[index])
        send = int(log.sent.send[claims.sent[claim]])
        witness, lines = told(teller.failure(send), teller.claim(claim))
        subject = teller.subject(teller.offset_of(claim))
        value = teller.value_of(claim)
        return Example(subject, f"{value!r} was read at {subject} although its send failed", witness, lines)

    yield illegal("G1a", claims.known_ns[rows], example)


def _duplicates(log: PartitionLog) -> Iterator[Found]:
    """Values at more offsets than their sends can account for; contested offsets are not counted."""
    claims, teller = log.claims, Teller(log)
    rows = np.flatnonzero((claims.sent != NONE) & (claims.offset != NONE) & ~claims.contested)
    sent = claims.sent[rows]
    places = np.bincount(sent, minlength=len(log.sent.value))
    doubled = np.flatnonzero((places > log.sent.possible) & (log.sent.possible > 0))
    if not len(doubled):
        return
    rows = rows[np.argsort(sent, kind="stable")]
    first = (np.cumsum(places) - places)[doubled]
    pairs = np.stack((rows[first], rows[first + places[doubled] - 1]))
    since_ns = claims.since_ns[pairs].min(axis=0)
    until_ns = claims.known_ns[pairs].max(axis=0)

    def example(index: int) -> Example:
        one, other = pairs[:, index].tolist()
        offsets = f"{teller.offset_of(one)} and {teller.offset_of(other)}"
        witness, lines = told(teller.claim(one), teller.claim(other))
        subject = teller.subject(teller.offset_of(other))
        value = teller.value_of(one)
        copies = int(places[doubled[index]])
        return Example(
            subject, f"{value!r} stands at {copies} offsets of {teller.name}: {offsets}", witness, lines
        )

    if log.columns.idempotent:
        licence = first_permit(log.permits, since_ns, until_ns, np.ones(len(doubled), np.bool_))
        yield Found("duplicate", until_ns, licence, log.licences, example)
    else:
        yield Found("duplicate", until_ns, np.zeros_like(since_ns), (_NOT_IDEMPOTENT,), example)


def _inconsistent(log: PartitionLog) -> Iterator[Found]:
    """Offsets at which several values stood."""
    claims, teller = log.claims, Teller(log)
    slots = np.unique(claims.slot[claims.contested])
    if not len(slots):
        return
    rivals = _rivals(claims, slots)
    since_ns = claims.since_ns[rivals].min(axis=0)
    until_ns = claims.known_ns[rivals[1]]
    returned: Booleans = claims.returned[rivals[0]] & claims.returned[rivals[1]]

    def example(index: int) -> Example:
        one, other = rivals[:, index].tolist()
        subject = teller.subject(teller.offset_of(one))
        witness, lines = told(teller.claim(one), teller.claim(other))
        summary = f"{subject} is {teller.value_of(one)!r} to one and {teller.value_of(other)!r} to another"
        return Example(subject, summary, witness, lines)

    licence = first_permit(log.permits, since_ns, until_ns, returned)
    yield Found("inconsistent-offsets", until_ns, licence, log.licences, example)


def _rivals(claims: Claims, slots: Integers) -> Integers:
    """Two claims of each contested slot, shape (2, slots), the earlier first.

    Both were returned to readers wherever two were: such a contradiction is the graver one.
    """
    rows = np.flatnonzero(claims.contested)
    rows = rows[np.lexsort((claims.known_ns[rows], ~claims.returned[rows], claims.slot[rows]))]
    first = np.searchsorted(claims.slot[rows], slots)
    pairs = np.stack((rows[first], rows[first + 1]))
    turned = claims.known_ns[pairs[0]] > claims.known_ns[pairs[1]]
    return np.where(turned, pairs[::-1], pairs)


def _sent_elsewhere(log: PartitionLog, value: int) -> str:
    """Names of the partitions to which a value was sent."""
    sends = log.columns.sends
    codes = np.unique(sends.partition[sends.value == value])
    return ", ".join(str(log.columns.partitions[code]) for code in codes.tolist())
