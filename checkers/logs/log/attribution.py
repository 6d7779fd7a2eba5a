"""The cause of a duplicate: a broker that appended a batch twice, or a client that sent it twice.

An idempotent producer numbers its records.  A broker that receives the same number of the same producer id
and epoch again appends nothing (KIP-98).  So if batches on a replica's disk have the same number twice, the
broker caused the duplicate.  If the number, epoch or producer id differs, the client sent the record again.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, NONE, Booleans, Integers, PartitionName
from checkers.evidence.replicas import Fates
from checkers.logs.log.refused_batches import Disks, Epoch

Evidence = Callable[[], Disks]
"""Collects the evidence of a history.  It is called only when a cause has to be found."""


Attributing = Callable[[PartitionName, Integers, Integers], "Attribution"]
"""Finds the causes of a partition's duplicates: offsets, shape (2, n); when the second was known, (n,)."""


class DuplicatedBy(StrEnum):
    """The cause of a record's second append."""

    BROKER = "broker"
    CLIENT = "client"
    UNKNOWN = "unknown"


class Attribution(NamedTuple):
    """Causes of duplicates; arrays of shape (n,).

    Attributes:
        of_broker: whether one sequence number of one producer was appended twice.
        of_client: whether the client sent it again under another sequence number.
        in_new_epoch: whether the second sequence number belongs to another epoch, or to another producer id.
        after_refusal: whether the second sequence number belongs to a later epoch of a producer, and a batch
            of that producer had been refused correctly in the epoch of the first number; False if the
            duplicate was known before any refusal.
        lines: the proof of each, as a sentence.
    """

    of_broker: Booleans
    of_client: Booleans
    in_new_epoch: Booleans
    after_refusal: Booleans
    lines: tuple[str, ...]

    @property
    def counts(self) -> dict[DuplicatedBy, int]:
        """Number of duplicates by cause; causes without duplicates are left out."""
        broker, client = int(self.of_broker.sum()), int(self.of_client.sum())
        unknown = len(self.of_broker) - broker - client
        counts = {DuplicatedBy.BROKER: broker, DuplicatedBy.CLIENT: client, DuplicatedBy.UNKNOWN: unknown}
        return {by: count for by, count in counts.items() if count}


def attribute(
    evidence: Evidence | None, partition: PartitionName, offsets: Integers, known_ns: Integers
) -> Attribution:
    """Find the causes of duplicates in one partition.

    Args:
        evidence: batches on the replicas' disks, and refused producers.
        partition: the partition.
        offsets: shape (2, n), two offsets of each duplicate.
        known_ns: shape (n,), when the record was known to be at the second offset.
    """
    if evidence is None:
        return _unknown(offsets)
    disks = evidence()
    one, other = (disks.batches.fates(partition, some) for some in offsets)
    held: Booleans = np.logical_or.reduce(one.held, axis=0) & np.logical_or.reduce(other.held, axis=0)
    numbered = held & (one.sequence != NONE) & (other.sequence != NONE)
    in_one_epoch = (one.producer_id == other.producer_id) & (one.producer_epoch == other.producer_epoch)
    same: Booleans = numbered & (one.sequence == other.sequence) & in_one_epoch
    lines = tuple(_line(one, other, index, held=bool(held[index])) for index in range(offsets.shape[1]))
    again = numbered & _refused_before(one, other, disks.refused_ns, known_ns)
    return Attribution(same, held & ~same, numbered & ~in_one_epoch, again, lines)


def _refused_before(
    one: Fates, other: Fates, refused_ns: Mapping[Epoch, int], known_ns: Integers
) -> Booleans:
    """Duplicates sent in a later epoch of a producer that had been refused correctly in the first epoch."""
    epochs = zip(one.producer_id.tolist(), one.producer_epoch.tolist(), strict=True)
    since_ns = np.array([refused_ns.get(epoch, NEVER) for epoch in epochs], dtype=np.int64)
    refused: Booleans = (since_ns != NEVER) & (since_ns <= known_ns)
    later: Booleans = (one.producer_id == other.producer_id) & (one.producer_epoch < other.producer_epoch)
    return refused & later


def _unknown(offsets: Integers) -> Attribution:
    none = np.zeros(offsets.shape[1], dtype=np.bool_)
    return Attribution(
        none,
        none,
        none,
        none,
        ("The batches of no replica show whether the client or the broker duplicated it.",) * len(none),
    )


def _line(one: Fates, other: Fates, index: int, *, held: bool) -> str:
    if not held:
        return (
            "No replica that was read has both batches, so it is unknown whether the client or "
            "the broker duplicated it."
        )
    first, second = _number(one, index), _number(other, index)
    if first == second and one.sequence[index] != NONE:
        return f"Both batches have {first}: the broker appended a retried batch twice."
    return f"The batches have {first} and {second}: the client sent the record again."


def _number(fates: Fates, index: int) -> str:
    if fates.sequence[index] == NONE:
        return "no producer id"
    return (
        f"producer id {fates.producer_id[index]}, epoch {fates.producer_epoch[index]}, "
        f"sequence {fates.sequence[index]}"
    )
