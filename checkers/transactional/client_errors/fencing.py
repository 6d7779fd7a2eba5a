"""Producers that were fenced although no other producer replaced them and no timeout expired.

A refusal is explained, and not reported, in two cases.  Another producer initialised the transactional id, or
may have.  Or the transaction may have exceeded its timeout, after which the coordinator aborts it and raises
the epoch (KIP-890; how this is reported differs: KAFKA-19690, KAFKA-20785).

A refusal is in doubt in five cases.  The coordinator's partition of ``__transaction_state`` may have legally
lost the producer's last request, so that an older epoch or another transaction is in force.  There was
another error within the transaction, after which libraries raise the epoch by themselves (KIP-360).  A
library may have sent an initialisation twice, and the first attempt may have been executed last.  Or an
earlier producer of the transactional id had such an error, and its request to raise the epoch was delivered
late.  This request names the producer's id and epoch.  While a transaction is ongoing, the coordinator
compares the id, but not the epoch: it aborts the transaction and fences its producer
(``TransactionCoordinator.prepareInitProducerIdTransit`` of Kafka 4.4.0; docs/findings.md).  Or an earlier
transaction of this producer was aborted by a request that was sent twice, and the first one aborted this
transaction, which has the same epoch (KAFKA-17754).

While the coordinator ends transactions as their producer requests, it knows the producer's epoch.  So only
requests count that may have been executed after the end of the producer's last decided transaction was
requested, or else after its initialisation was; `late_requests` says until when they may arrive.

Batches that a leader refused have other reasons: see `verification`.
"""

from collections.abc import Iterator

import msgspec

from checkers.columns.tables import NEVER
from checkers.evidence.features import TRANSACTION_VERSION, levels_in_run
from checkers.evidence.late_requests import (
    ended_late,
    given_up_ns,
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
            continue
        known_ns = _known_ns(history, call, producer)
        if not _rivals(history, call, producer, known_ns) and not may_have_timed_out(setup, call, producer):
            yield _found(history, call, producer, known_ns)


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


def _found(history: History, call: OperationPair, producer: OperationPair | None, known_ns: int) -> Anomaly:
    ended = call.ended or call.begun
    fenced = bool(codes_in(ended.error or "") & FENCING)
    doubt = _doubt(history, call, producer, known_ns, fenced=fenced)
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
    history: History, call: OperationPair, producer: OperationPair | None, known_ns: int, *, fenced: bool
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
    if not fenced and not all(map(is_acknowledged, sends_of(ended))):
        return "not all of its records were acknowledged, so it may not have been ongoing"
    decisive = fenced or _hides_epochs(history, call)
    raised = raised_late(history, call.begun, producer.begun, known_ns) if decisive else None
    return (
        raised
        or initialised_late(history, call.begun, known_ns)
        or _ended_late(history, call, producer)
        or lost_state(history, str(call.begun.key), known_ns, ended.time_ns)
    )


def _ended_late(history: History, call: OperationPair, producer: OperationPair) -> str | None:
    """Whether a late request may have ended the transaction instead of an earlier one of the same epoch.

    Its epoch is the same only in version 1 of the protocol.  The request does not raise it, and the
    coordinator still knows the producer, so it answers INVALID_TXN_STATE.
    """
    ended = call.ended or call.begun
    if not has_epoch_of_earlier(call) or not nothing_but(ended.error or "", (TXN_STATE,)):
        return None
    return ended_late(history, call, producer)


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


def _known_ns(history: History, call: OperationPair, producer: OperationPair | None) -> int:
    """The latest time at which the coordinator certainly still had to accept the producer's epoch.

    The producer's last transaction that was ended as it requested, or else its initialisation, was requested
    then.  0 without an initialisation.
    """
    if producer is None:
        return 0
    decided = (each for each in earlier_transactions(history, call, producer) if is_decided(each))
    return max([producer.begun.time_ns, *map(asked_ns, decided)])


def _rivals(history: History, call: OperationPair, producer: OperationPair | None, known_ns: int) -> bool:
    """Whether another producer may have initialised the transactional id since the call's producer did."""
    until_ns = NEVER if call.ended is None else call.ended.time_ns
    return any(
        each is not producer
        and each.begun.key == call.begun.key
        and not (each.ended is not None and each.ended.type is FAIL)
        and each.begun.time_ns <= until_ns
        and _executed_ns(history, each) >= known_ns
        for each in initialisations(history)
    )


def _executed_ns(history: History, initialisation: OperationPair) -> int:
    """The latest time at which an initialisation took effect; further attempts of it are in doubt."""
    acknowledged = initialisation.to_ns != NEVER
    return initialisation.to_ns if acknowledged else given_up_ns(history, initialisation)


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
