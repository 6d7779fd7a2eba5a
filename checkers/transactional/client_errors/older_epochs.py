"""Producers that were fenced by an older instance of their transactional id.

After some errors an instance asks to raise its epoch: it sends InitProducerId with its producer id and epoch
(KIP-360).  If the epoch is not the newest, another instance has been initialised since, and the request must
be fenced without any effect.  Coordinators compare the epoch when they raise it
(``TransactionMetadata.prepareIncrementProducerEpoch``).  But during a transaction they fence the current
producer first, and compare only its id (``TransactionCoordinator.prepareInitProducerIdTransit``).

Libraries do not report these requests, so only scripts of raw requests can show this.  They record them as
initialisations with ``raises``.
"""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET

from checkers.evidence.named_errors import FENCED, OLD_EPOCH, SCRIPT, TXN_STATE, codes_in
from checkers.evidence.producers import OperationPair, initialisations, producer_of, transactions
from checkers.history.operations import FAIL, History, once
from checkers.history.setup import Setup
from checkers.history.transactions import ProducerInitialised, ProducerRequested
from checkers.licences.decisions import lost_state
from checkers.transactional.client_errors.anomalies import FENCED_BY_OLDER_EPOCH
from checkers.transactional.client_errors.fencing import may_have_timed_out
from checkers.verdict.verdict import Anomaly

_REFUSALS = frozenset((FENCED, OLD_EPOCH, TXN_STATE))
"""With transaction.version 2, Kafka 4.1 to 4.4 answer the third one instead of the first (KAFKA-20785)."""


@once
def refused_scripts(history: History) -> tuple[OperationPair, ...]:
    """Transactions of raw clients that were refused because of their producer or their state.

    Only those of ids for which a client asked to raise an epoch.
    """
    raised = {each.begun.key for each in initialisations(history) if (each.begun.value or {}).get("raises")}
    return tuple(
        call
        for call in transactions(history)
        if call.ended is not None
        and call.begun.key in raised
        and codes_in(call.ended.error or "") & _REFUSALS
        and (call.begun.value or {}).get("client") == SCRIPT
    )


def fenced_by_older(history: History, setup: Setup) -> Iterator[Anomaly]:
    """One finding for each transaction that only requests with an older epoch can have ended.

    It is legal if the coordinator may have lost the newest epoch.

    Raises:
        msgspec.ValidationError: an initialisation is not as docs/histories.md says.
    """
    for call in refused_scripts(history):
        producer = producer_of(history, call)
        if producer is None or producer.ended is None or may_have_timed_out(setup, call, producer):
            continue
        newest = msgspec.convert(producer.ended.value, ProducerInitialised)
        later = _later(history, call, producer)
        older = [raised for raised in map(_raised, later) if raised is not None and _is_older(raised, newest)]
        if older and len(older) == len(later):
            yield _found(history, call, producer, later, older)


def _later(history: History, call: OperationPair, producer: OperationPair) -> list[OperationPair]:
    """Initialisations of the id that may have been executed after the producer's and before the refusal.

    One that is refused may have been executed in part, unless a new instance failed before it sent anything.
    """
    until_ns = (call.ended or call.begun).time_ns
    return [
        each
        for each in initialisations(history)
        if each is not producer
        and each.begun.key == call.begun.key
        and each.begun.time_ns <= until_ns
        and each.to_ns >= producer.begun.time_ns
        and not (each.ended is not None and each.ended.type is FAIL and _raised(each) is None)
    ]


def _raised(call: OperationPair) -> tuple[int, int] | None:
    """Producer id and epoch that a request is to raise; None if it is of a new instance."""
    raises = msgspec.convert(call.begun.value, ProducerRequested).raises
    return None if raises is UNSET else raises


def _is_older(raised: tuple[int, int], newest: ProducerInitialised) -> bool:
    return newest.epoch is not None and raised[0] == newest.producer_id and raised[1] < newest.epoch


def _found(
    history: History,
    call: OperationPair,
    producer: OperationPair,
    later: Sequence[OperationPair],
    older: Sequence[tuple[int, int]],
) -> Anomaly:
    ended, initialised = call.ended or call.begun, producer.ended or producer.begun
    instances = ", ".join(f"producer {number}, epoch {epoch}" for number, epoch in sorted(set(older)))
    newest = "producer {producer_id}, epoch {epoch}".format_map(initialised.value)
    anomaly = FENCED_BY_OLDER_EPOCH.found(
        f"Process {ended.process} was fenced by an older instance of {ended.key}: {ended.error}",
        subject=f"transactional id {ended.key}",
        time_ns=ended.time_ns,
        witness=(initialised.index, *(each.begun.index for each in later), call.begun.index, ended.index),
        explanation=(
            f"Process {ended.process} had the newest instance: {newest}.",
            f"Its transaction had begun {(ended.time_ns - call.begun.time_ns) / 1e9:.1f} s before, in time.",
            f"Only older instances sent InitProducerId later: {instances}.",
        ),
    )
    lost = lost_state(history, str(ended.key), producer.begun.time_ns, ended.time_ns)
    return anomaly if lost is None else msgspec.structs.replace(anomaly, illegal=False, licence=lost)
