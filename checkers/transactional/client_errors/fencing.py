"""Producers that were fenced although no other producer replaced them and no timeout expired.

A refusal is explained, and not reported, in two cases.  Another producer initialised the transactional id, or
may have.  Or the transaction may have exceeded its timeout, after which the coordinator aborts it and raises
the epoch (KIP-890; how this is reported differs: KAFKA-19690, KAFKA-20785).

A refusal is in doubt in five cases.  The coordinator's partition of ``__transaction_state`` may have legally
lost the producer's last request, so that an older epoch or another transaction is in force.  There was
another error within the transaction, after which libraries raise the epoch by themselves (KIP-360).  The
library may have sent an initialisation twice, and the first attempt may have been executed last.  Or an
earlier producer of the transactional id had such an error, and its request to raise the epoch was delivered
late.  This request names the producer's id and epoch.  While a transaction is ongoing, the coordinator
compares the id, but not the epoch: it aborts the transaction and fences its producer
(``TransactionCoordinator.prepareInitProducerIdTransit`` of Kafka 4.4.0; docs/findings.md).  Or an earlier
transaction of this producer was aborted by a request that was sent twice, and the first one aborted this
transaction, which has the same epoch (KAFKA-17754).

Batches that a leader refused have other reasons: see `verification`.
"""

from collections.abc import Iterator, Sequence

import msgspec

from checkers.columns.tables import NEVER
from checkers.evidence.features import TRANSACTION_VERSION, levels_in_run
from checkers.evidence.late_requests import (
    ASKED_ONCE_NS,
    ended_late,
    has_epoch_of_earlier,
    initialised_late,
    raised_late,
)
from checkers.evidence.named_errors import (
    FENCING,
    FIRST_PROTOCOL,
    FORGETTING,
    KAFKA_CLIENTS,
    SCRIPT,
    TXN_STATE,
    codes_in,
    nothing_but,
)
from checkers.evidence.producers import (
    OperationPair,
    asked_ns,
    earlier_transactions,
    initialisations,
    is_acknowledged,
    is_decided,
    producer_of,
    transactions,
)
from checkers.history.operations import FAIL, History, once
from checkers.history.setup import Setup
from checkers.history.transactions import sends_of
from checkers.history.units import NS_PER_MS
from checkers.licences.decisions import lost_state
from checkers.transactional.client_errors.anomalies import FENCED_WITHOUT_RIVAL, TRANSACTION_FORGOTTEN
from checkers.transactional.client_errors.verification import doubt_of_refusal, refused_by_leader
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly

_CODES = FENCING | FORGETTING
_EPOCH_FOR_EACH = 2
"""Level of ``transaction.version`` since which a producer has a new epoch for each transaction (KIP-890)."""


@once
def refused_transactions(history: History) -> tuple[OperationPair, ...]:
    """Transactions that ended with a fencing error, or with an error about a forgotten state."""
    return tuple(
        call
        for call in transactions(history)
        if call.ended is not None
        and codes_in(call.ended.error or "") & _CODES
        and (call.begun.value or {}).get("client") != SCRIPT
    )


def refusals(history: History, setup: Setup) -> Iterator[Anomaly]:
    """Refusals that nothing explains.

    They are illegal if they are not in doubt.
    """
    for call in refused_transactions(history):
        producer = producer_of(history, call)
        if refused_by_leader(call):
            yield _unknown_partition(call, producer, doubt_of_refusal(history, call, producer))
        elif not _rivals(history, call, producer) and not may_have_timed_out(setup, call, producer):
            yield _found(history, call, producer)


def _unknown_partition(call: OperationPair, producer: OperationPair | None, doubt: str | None) -> Anomaly:
    ended = call.ended or call.begun
    return _anomaly(
        TRANSACTION_FORGOTTEN,
        call,
        producer,
        (
            f"Process {ended.process} sent records after the coordinator had added their partition.",
            "The coordinator then did not know the partition, although it knew the producer and its epoch.",
        ),
        doubt,
    )


def _found(history: History, call: OperationPair, producer: OperationPair | None) -> Anomaly:
    ended = call.ended or call.begun
    fenced = bool(codes_in(ended.error or "") & FENCING)
    doubt = _doubt(history, call, producer, fenced=fenced)
    return _anomaly(
        FENCED_WITHOUT_RIVAL if fenced else TRANSACTION_FORGOTTEN,
        call,
        producer,
        (
            (
                f"Process {ended.process} had initialised {ended.key}, and no other process did since, "
                "or may have."
            ),
            f"The transaction had begun {(ended.time_ns - call.begun.time_ns) / 1e9:.1f} s before, in time.",
        ),
        doubt,
    )


def _anomaly(
    kind: AnomalyKind,
    call: OperationPair,
    producer: OperationPair | None,
    explanation: tuple[str, ...],
    doubt: str | None,
) -> Anomaly:
    ended = call.ended or call.begun
    begun = () if producer is None or producer.ended is None else (producer.ended.index,)
    anomaly = kind.found(
        f"Process {ended.process} was refused a transaction of {ended.key}: {ended.error}",
        subject=f"transactional id {ended.key}",
        time_ns=ended.time_ns,
        witness=(*begun, call.begun.index, ended.index),
        explanation=explanation,
    )
    return anomaly if doubt is None else msgspec.structs.replace(anomaly, illegal=False, licence=doubt)


def _doubt(
    history: History, call: OperationPair, producer: OperationPair | None, *, fenced: bool
) -> str | None:
    """Why the client itself may have caused a refusal; None if it can't have."""
    ended = call.ended or call.begun
    if producer is None or producer.ended is None:
        return "no acknowledged initialisation of this producer is in the history"
    if not nothing_but(ended.error or "", _CODES):
        return (
            "other errors are reported as well, after which client libraries raise the epoch "
            "themselves (KIP-360)"
        )
    if producer.ended.time_ns - producer.begun.time_ns > ASKED_ONCE_NS:
        return "the initialisation took long: an earlier attempt of it may have arrived later"
    if not fenced and not all(map(is_acknowledged, sends_of(ended))):
        return "not all of its records were acknowledged, so it may not have been ongoing"
    decided = _decided(history, call, producer)
    if not decided:
        return "it was this producer's first transaction: an attempt to initialise it may have arrived late"
    decisive = fenced or _hides_epochs(history, call)
    late = _late(history, call, producer) if decisive else None
    return late or _ended_late(history, call, producer) or _lost(history, call, producer, decided)


def _ended_late(history: History, call: OperationPair, producer: OperationPair) -> str | None:
    """Whether a late request may have ended the transaction instead of an earlier one of the same epoch.

    Its epoch is the same only in version 1 of the protocol.  The request does not raise it, and the
    coordinator still knows the producer, so it answers INVALID_TXN_STATE.
    """
    ended = call.ended or call.begun
    if not has_epoch_of_earlier(call) or not nothing_but(ended.error or "", (TXN_STATE,)):
        return None
    return ended_late(earlier_transactions(history, call, producer), ended.time_ns)


def _late(history: History, call: OperationPair, producer: OperationPair) -> str | None:
    """Why a late request of an earlier producer may have ended the transaction; None if none can have.

    That producer's transaction began before the newest producer was initialised, and may have ended later.
    """
    until_ns = (call.ended or call.begun).time_ns
    return raised_late(history, call.begun, producer.begun, until_ns) or initialised_late(
        history, call.begun, until_ns
    )


def _hides_epochs(history: History, call: OperationPair) -> bool:
    """Whether a commit with an epoch that is one too old is answered like one without a transaction.

    With an epoch for each transaction it may be a retry (KIP-890), so INVALID_TXN_STATE is the answer if the
    transaction was aborted (KAFKA-20785).  Of the libraries only kafka-clients has such epochs,
    since 4.0.
    """
    ended = call.ended or call.begun
    newest = max(levels_in_run(history, TRANSACTION_VERSION)) >= _EPOCH_FOR_EACH
    client = (call.begun.value or {}).get("client")
    first = (ended.value or {}).get("version") == FIRST_PROTOCOL
    return newest and client in KAFKA_CLIENTS and not first and TXN_STATE in codes_in(ended.error or "")


def _lost(
    history: History, call: OperationPair, producer: OperationPair, decided: Sequence[OperationPair]
) -> str | None:
    """An event by which the coordinator may have lost its last decision for a producer.

    The coordinator knows decisions that it makes after a loss, so an earlier loss does not explain a later
    refusal.
    """
    asked = [producer.begun.time_ns, *map(asked_ns, decided)]
    ended = call.ended or call.begun
    return lost_state(history, str(call.begun.key), max(asked), ended.time_ns)


def _rivals(history: History, call: OperationPair, producer: OperationPair | None) -> bool:
    """Whether another producer may have initialised the transactional id since the call's producer did."""
    since_ns = 0 if producer is None else producer.begun.time_ns
    until_ns = NEVER if call.ended is None else call.ended.time_ns
    return any(
        each is not producer
        and each.begun.key == call.begun.key
        and not (each.ended is not None and each.ended.type is FAIL)
        and each.begun.time_ns <= until_ns
        and each.to_ns >= since_ns
        for each in initialisations(history)
    )


def may_have_timed_out(setup: Setup, call: OperationPair, producer: OperationPair | None) -> bool:
    """Whether a transaction may have exceeded its timeout, or this is unknown.

    The timeout that its producer requested at initialisation has precedence over that of the workload.
    """
    asked = None if producer is None else producer.begun.value
    own = asked.get("timeout_ms") if isinstance(asked, dict) else None
    timeout_ms = own if isinstance(own, int) else setup.workload.transaction_timeout_ms
    if timeout_ms is None or call.ended is None:
        return True
    return call.ended.time_ns - call.begun.time_ns >= timeout_ms * NS_PER_MS


def _decided(history: History, call: OperationPair, producer: OperationPair) -> list[OperationPair]:
    """Earlier transactions of the same producer that the coordinator ended as the producer requested."""
    return [each for each in earlier_transactions(history, call, producer) if is_decided(each)]
