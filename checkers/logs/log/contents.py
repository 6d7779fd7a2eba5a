"""Judges the contents of a partition: phantom, failed and duplicate values, and contradicting offsets."""

from collections.abc import Iterator

import numpy as np

from checkers.columns.tables import NEVER, NONE, Booleans, Integers, SendOutcome
from checkers.logs.log.attribution import Attributing
from checkers.logs.log.claims import at, found_in, is_row
from checkers.logs.log.findings import Example, LogFinding, illegal
from checkers.logs.log.licensing import truncated, undone
from checkers.logs.log.partition import PartitionLog
from checkers.logs.log.texts import LogTexts, split_facts

_NOT_IDEMPOTENT = "the producers were not idempotent: a retried send may append again"
_GIVEN_UP = (
    "the client gave up its delivery and had already sent it with another sequence number: "
    "idempotence ends with the producer's epoch"
)
_IN_NEW_EPOCH = (
    "the client had several batches in flight and sent this one again in a new epoch: librdkafka "
    "begins one when a batch is refused because of another before it (confluentinc/librdkafka "
    "issue 4953), and idempotence ends with the producer's epoch"
)
_REFUSED = (
    "a broker refused a batch of this producer as out of order, and had not got the one before it: "
    "librdkafka begins a new epoch then and sends again what may have been appended "
    "(confluentinc/librdkafka issue 4953), and idempotence ends with the producer's epoch"
)


def find_in_contents(log: PartitionLog, attributing: Attributing) -> Iterator[LogFinding]:
    """Find phantom, G1a, duplicate and inconsistent-offsets in one partition.

    Args:
        log: the partition.
        attributing: finds the causes of duplicates.
    """
    yield from _phantoms(log)
    yield from _aborted(log)
    yield from _duplicates(log, attributing)
    yield from _inconsistent(log)


def _phantoms(log: PartitionLog) -> Iterator[LogFinding]:
    """Values that were never sent to this partition."""
    claims, log_texts = log.claims, LogTexts(log)
    rows = np.flatnonzero(claims.sent == NONE)

    def example(index: int) -> Example:
        claim = int(rows[index])
        value = log_texts.value_of(claim)
        elsewhere = _sent_elsewhere(log, int(claims.value[claim]))
        fate = f"was sent to {elsewhere} only" if elsewhere else "was never sent"
        witness, lines = split_facts(log_texts.claim(claim))
        subject = log_texts.subject(log_texts.offset_of(claim))
        return Example(subject, f"{value!r} is at {subject} but {fate}", witness, (*lines, f"It {fate}."))

    yield illegal("phantom", claims.known_ns[rows], claims.offset[rows], example)


def _aborted(log: PartitionLog) -> Iterator[LogFinding]:
    """Values that were returned although every attempt to send them definitely failed or was aborted.

    A record of an aborted transaction stays in the log, where read_uncommitted readers find it.
    """
    claims, log_texts = log.claims, LogTexts(log)
    failed = (claims.sent != NONE) & (np.append(log.sent.possible, 0)[claims.sent] == 0)
    aborted = log.visibility.never & is_row(log.visibility.read)
    rows = np.flatnonzero(failed | aborted)

    def example(index: int) -> Example:
        claim = int(rows[index])
        subject = log_texts.subject(log_texts.offset_of(claim))
        value = log_texts.value_of(claim)
        if failed[claim]:
            witness, lines = split_facts(log_texts.failure(int(send[claim])), log_texts.claim(claim))
            summary = f"{value!r} was read at {subject} although its send failed"
        else:
            read = int(log.visibility.read[claim])
            witness, lines = split_facts(log_texts.abort(int(send[claim])), log_texts.returned(read))
            summary = f"{value!r} was read at {subject} by a read_committed reader although it was aborted"
        return Example(subject, summary, witness, lines)

    send = at(log.sent.send, claims.sent, NONE)
    read_ns = read_at_ns(log, log.visibility.read[rows])
    none = np.full(len(rows), NONE, dtype=np.int64)
    licensed = undone(log, send[rows], ~failed[rows], (none, ()))
    seen_ns = np.where(failed[rows], claims.known_ns[rows], read_ns)
    yield LogFinding("G1a", seen_ns, claims.offset[rows], *licensed, example)


def _duplicates(log: PartitionLog, attributing: Attributing) -> Iterator[LogFinding]:
    """Values at more offsets than their sends explain; contested offsets are not counted."""
    claims, log_texts = log.claims, LogTexts(log)
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
    attribution = attributing(log.name, claims.offset[pairs], claims.known_ns[pairs[1]])

    def example(index: int) -> Example:
        one, other = pairs[:, index].tolist()
        offsets = f"{log_texts.offset_of(one)} and {log_texts.offset_of(other)}"
        witness, lines = split_facts(log_texts.claim(one), log_texts.claim(other))
        subject = log_texts.subject(log_texts.offset_of(other))
        value = log_texts.value_of(one)
        copies = int(places[doubled[index]])
        summary = f"{value!r} is at {copies} offsets of {log_texts.name}: {offsets}"
        return Example(subject, summary, witness, (*lines, attribution.lines[index]))

    kept = np.ones(len(doubled), np.bool_)
    known_ns, lowest = claims.known_ns[pairs].min(axis=0), claims.offset[pairs].min(axis=0)
    licence, texts = truncated(log, since_ns, until_ns, kept, lowest, known_ns=known_ns)
    if not log.columns.idempotent:
        relaxed = (licence == NONE) & ~_sent_strictly(log)[doubled] & ~attribution.of_broker
        licence, texts = np.where(relaxed, len(texts), licence), (*texts, _NOT_IDEMPOTENT)
    given_up = (licence == NONE) & attribution.of_client & _given_up(log)[doubled]
    licence, texts = np.where(given_up, len(texts), licence), (*texts, _GIVEN_UP)
    refused = (licence == NONE) & attribution.after_refusal
    licence, texts = np.where(refused, len(texts), licence), (*texts, _REFUSED)
    if log.columns.pipelined:
        renewed = (licence == NONE) & attribution.in_new_epoch & ~_sent_strictly(log)[doubled]
        licence, texts = np.where(renewed, len(texts), licence), (*texts, _IN_NEW_EPOCH)
    yield LogFinding("duplicate", until_ns, claims.offset[pairs[1]], licence, texts, example)


def _given_up(log: PartitionLog) -> Booleans:
    """Which sent values were in a batch of which the client gave up some records."""
    sends = log.columns.sends
    operations = np.unique(sends.invoke_op[sends.outcome == SendOutcome.INFO])
    rows = log.sends[np.isin(sends.invoke_op[log.sends], operations)]
    places = found_in(log.sent.value, sends.value[rows])
    return np.bincount(places, minlength=len(log.sent.value)) > 0


def _sent_strictly(log: PartitionLog) -> Booleans:
    """Which sent values were sent by idempotent producers only."""
    value = found_in(log.sent.value, log.columns.sends.value[log.sends])
    careless = value[~log.columns.is_strict(log.sends)]
    strict: Booleans = np.bincount(careless, minlength=len(log.sent.value)) == 0
    return strict


def _inconsistent(log: PartitionLog) -> Iterator[LogFinding]:
    """Offsets at which several values were reported."""
    claims, log_texts = log.claims, LogTexts(log)
    slots = np.unique(claims.slot[claims.contested])
    if not len(slots):
        return
    rivals = _rivals(log, slots)
    since_ns = claims.since_ns[rivals].min(axis=0)
    until_ns = claims.known_ns[rivals[1]]
    kept: Booleans = log.kept[rivals[0]] & log.kept[rivals[1]]

    def example(index: int) -> Example:
        one, other = rivals[:, index].tolist()
        subject = log_texts.subject(log_texts.offset_of(one))
        witness, lines = split_facts(log_texts.claim(one), log_texts.claim(other))
        summary = f"{subject} was {log_texts.value_of(one)!r} first and {log_texts.value_of(other)!r} later"
        return Example(subject, summary, witness, lines)

    # The record that was known first was truncated; the other record may have been written before it.
    known_ns = claims.known_ns[rivals[0]]
    licensed = truncated(log, since_ns, until_ns, kept, claims.slots[slots], known_ns=known_ns)
    yield LogFinding("inconsistent-offsets", until_ns, claims.offset[rivals[0]], *licensed, example)


def read_at_ns(log: PartitionLog, rows: Integers) -> Integers:
    """When rows of `Reads` were returned; `NEVER` for `NONE`."""
    return at(log.columns.calls.completed_ns, at(log.columns.reads.call, rows, NONE), NEVER)


def _rivals(log: PartitionLog, slots: Integers) -> Integers:
    """Two claims of each contested slot, shape (2, slots), the earlier claim first.

    If two claims of a slot were returned to readers, or kept, these two are chosen, because that
    contradiction is worse.
    """
    claims = log.claims
    rows = np.flatnonzero(claims.contested)
    rows = rows[np.lexsort((claims.known_ns[rows], ~log.kept[rows], claims.slot[rows]))]
    first = np.searchsorted(claims.slot[rows], slots)
    pairs = np.stack((rows[first], rows[first + 1]))
    turned = claims.known_ns[pairs[0]] > claims.known_ns[pairs[1]]
    return np.where(turned, pairs[::-1], pairs)


def _sent_elsewhere(log: PartitionLog, value: int) -> str:
    """Names of the partitions to which a value was sent."""
    sends = log.columns.sends
    codes = np.unique(sends.partition[sends.value == value])
    return ", ".join(str(log.columns.partitions[code]) for code in codes.tolist())
