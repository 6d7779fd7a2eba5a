"""The producer ids and epochs that transactional producers received when they initialised.

A coordinator raises the epoch of a transactional id's producer with each initialisation, and appends the new
epoch before it answers.  When the epochs are used up, it assigns a new producer id (KIP-98).  It also raises
epochs when transactions end (KIP-890), and never lowers them.  So for two initialisations with one producer
id

- both have different epochs;
- if one began after the other had ended, it has the newer epoch;
- both have the same transactional id.

A repeated request is answered with the same epoch only if it contains the producer id that its sender already
has (KIP-360); a new producer has none.  The result of an initialisation is the answer to its last attempt.
Initialisations without a recorded result (librdkafka does not expose it) are left out.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

import msgspec

from checkers.evidence.producers import OperationPair, initialisations
from checkers.history.operations import OK, History, Operation
from checkers.kraft.metadata.wipes import emptied
from checkers.transactional.transactions.models.anomalies import ANOMALIES
from checkers.verdict.verdict import Anomaly


class InitialisedProducer(NamedTuple):
    """The result of one initialisation.

    Attributes:
        begun: the invocation.
        ended: the completion, an ``ok``.
        producer_id: Kafka's number for the transactional id.
        epoch: the epoch of that producer id, which fences all earlier epochs.
    """

    begun: Operation
    ended: Operation
    producer_id: int
    epoch: int

    def __str__(self) -> str:
        return f"producer id {self.producer_id} with epoch {self.epoch}"


def given_epochs(history: History) -> list[InitialisedProducer]:
    """The reported results of initialisations, in the order of their answers."""
    found = (_given(call) for call in initialisations(history))
    return sorted((given for given in found if given is not None), key=attrgetter("ended.index"))


def epochs_given_again(history: History) -> Iterator[Anomaly]:
    """Initialisations that received the epoch of another one, or a lower epoch."""
    owner: dict[int, InitialisedProducer] = {}
    by_producer: dict[tuple[int, object], list[InitialisedProducer]] = defaultdict(list)
    for given in given_epochs(history):
        first = owner.setdefault(given.producer_id, given)
        if first.begun.key != given.begun.key:
            yield _found(history, first, given)
        by_producer[given.producer_id, given.begun.key].append(given)
    for some in by_producer.values():
        for other, given in _conflicts(some):
            yield _found(history, other, given)


def _given(call: OperationPair) -> InitialisedProducer | None:
    if call.ended is None or call.ended.type is not OK or not isinstance(call.ended.value, dict):
        return None
    producer_id, epoch = (call.ended.value.get(name) for name in ("producer_id", "epoch"))
    if not isinstance(producer_id, int) or not isinstance(epoch, int):
        return None
    # Libraries that do not know it yet return -1.
    return (
        InitialisedProducer(call.begun, call.ended, producer_id, epoch)
        if min(producer_id, epoch) >= 0
        else None
    )


def _conflicts(
    given: Sequence[InitialisedProducer],
) -> Iterator[tuple[InitialisedProducer, InitialisedProducer]]:
    """Contradicting results of one id, each after the latest earlier one that it contradicts."""
    ends = [each.ended.index for each in given]
    highest = list(accumulate((each.epoch for each in given), max))
    first: dict[int, InitialisedProducer] = {}
    for each in given:
        before = bisect_left(ends, each.begun.index)
        same = first.setdefault(each.epoch, each)
        if before and highest[before - 1] >= each.epoch:
            yield next(other for other in reversed(given[:before]) if other.epoch >= each.epoch), each
        elif same is not each:
            yield same, each


def _found(history: History, other: InitialisedProducer, given: InitialisedProducer) -> Anomaly:
    """The finding for two initialisations of one producer id.

    It is legal if the metadata log may have lost the number of the id.
    """
    names = f"{other.begun.key}", f"{given.begun.key}"
    anomaly = ANOMALIES["producer-epoch-given-again"].found(
        f"{names[1]} was initialised by process {given.ended.process} with {given}, after {names[0]} was by "
        f"process {other.ended.process} with {other}",
        subject=f"producer id {given.producer_id}",
        time_ns=given.ended.time_ns,
        witness=(other.begun.index, other.ended.index, given.begun.index, given.ended.index),
        explanation=(
            f"Process {other.ended.process} initialised {names[0]} and got {other}.",
            f"Process {given.ended.process} initialised {names[1]} and got {given}.",
        ),
    )
    wiped = emptied(history, other.begun.time_ns) if names[0] != names[1] else None
    return anomaly if wiped is None else msgspec.structs.replace(anomaly, illegal=False, licence=wiped)
