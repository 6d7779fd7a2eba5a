"""Sequences that brokers do not know any more of producers whose records they had acknowledged.

A producer numbers its batches in each partition.  It is told that its sequence is out of order where the
batch before is not in the leader's log.  That shows a loss only if all before had been acknowledged:

- the operation tells of no other trouble: an earlier batch of it may have been given up before it arrived;
- each of its records in question is in a partition of which nothing was acknowledged by the same operation;
- the producer, which is replaced after anything but success, had records acknowledged in these partitions.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec

from checkers.client_errors.kinds import SEQUENCE_LOST
from checkers.client_errors.told import OUT_OF_ORDER, UNKNOWN_PRODUCER, codes_in, nothing_but
from checkers.columns import PartitionName
from checkers.history import INVOKE, OK, History, Operation, once
from checkers.licences import licences_of
from checkers.setup import Setup
from checkers.shapes import is_answered
from checkers.verdict import Anomaly

_CODES = frozenset((OUT_OF_ORDER, UNKNOWN_PRODUCER))


def told_of_sequences(history: History) -> list[Operation]:
    """Sends that ended with an error about their sequence."""
    return [o for o in history.of("send") if o.error is not None and codes_in(o.error) & _CODES]


def lost_sequences(history: History, setup: Setup) -> Iterator[Anomaly]:
    """Errors about sequences: illegal where nothing but a loss that nobody permitted explains them."""
    for operation in told_of_sequences(history):
        if is_answered(operation.value):
            yield _judged(history, setup, operation)


def _judged(history: History, setup: Setup, operation: Operation) -> Anomaly:
    partitions = _partitions(operation, acknowledged=False)
    before = _acknowledged_before(history, operation, partitions)
    doubt = _doubt(setup, operation, partitions, before) or _licence(history, operation, partitions)
    told = ", ".join(f"{operation.key}/{number}" for number in sorted(partitions))
    anomaly = SEQUENCE_LOST.found(
        f"Process {operation.process} was told of {told}: {operation.error}",
        subject=f"process {operation.process}",
        time_ns=operation.time_ns,
        witness=(*(each.index for each in before), operation.index),
        explanation=(
            f"The producer of process {operation.process} had had records acknowledged in {told}.",
            "The leader did not know the batch before the one that it refused, so it has lost that.",
        ),
    )
    return anomaly if doubt is None else msgspec.structs.replace(anomaly, illegal=False, licence=doubt)


def _doubt(
    setup: Setup, operation: Operation, partitions: frozenset[int], before: Sequence[Operation]
) -> str | None:
    """Why an error shows no loss, whatever the brokers did; None where it does."""
    workload = setup.workload
    if str(workload.acks) != "all" or not workload.idempotent:
        return "the producer did not wait for all replicas, or was not idempotent"
    if workload.is_durable(operation.process):
        return "each attempt of this process is a new producer's"
    if not nothing_but(operation.error or "", _CODES):
        return "other trouble is told as well: an earlier batch may have been given up before it arrived"
    if not partitions or partitions & _partitions(operation, acknowledged=True):
        return "other records of the same operation were acknowledged in that partition, perhaps out of turn"
    if not before:
        return "nothing that this producer had sent there was acknowledged before"
    return None


def _licence(history: History, operation: Operation, partitions: frozenset[int]) -> str | None:
    """What permits that the leader of one of some partitions lost records by then; None if nothing does."""
    licences = licences_of(history)
    permits = (
        permit
        for number in sorted(partitions)
        for permit in licences.of(PartitionName(str(operation.key), number))
    )
    return next((permit.text for permit in permits if permit.event.from_ns <= operation.time_ns), None)


def _partitions(operation: Operation, *, acknowledged: bool) -> frozenset[int]:
    """Partitions of those records of an operation that were acknowledged, or of those that were not."""
    if isinstance(operation.value, dict):
        return frozenset((operation.value["partition"],)) if acknowledged else frozenset()
    return frozenset(entry[0] for entry in operation.value if (entry[3] == OK) is acknowledged)


@once
def _ended_by_process(history: History) -> dict[int | str, list[Operation]]:
    """Completions of sends by their process, in order."""
    found: dict[int | str, list[Operation]] = defaultdict(list)
    for operation in history.of("send"):
        if operation.type is not INVOKE:
            found[operation.process].append(operation)
    return found


def _acknowledged_before(
    history: History, operation: Operation, partitions: frozenset[int]
) -> list[Operation]:
    """The same producer's latest sends that were acknowledged in each partition; empty if one lacks."""
    missing = set(partitions)
    found: list[Operation] = []
    mine = _ended_by_process(history)[operation.process]
    for earlier in reversed(mine[: bisect_left(mine, operation.index, key=attrgetter("index"))]):
        if not missing:
            return found[::-1]
        if earlier.type is not OK or earlier.key != operation.key:
            return []
        told = _partitions(earlier, acknowledged=True) & missing
        if told:
            found.append(earlier)
            missing -= told
    return [] if missing else found[::-1]
