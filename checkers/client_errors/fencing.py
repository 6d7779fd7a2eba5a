"""Transactions that were refused to a producer that nobody had replaced, and whose time was not up.

What explains a refusal, and makes it none of ours: somebody else initialised the transactional id, or may
have; the transaction may have exceeded its timeout, by which the coordinator aborts it and raises the epoch
(KIP-890; how it is told then differs: KAFKA-19690, KAFKA-20785); or ``__transaction_state`` may have lost
records legally.  What leaves a doubt: other trouble within the transaction, after which libraries raise the
epoch by themselves (KIP-360), and an initialisation that the library may have asked for twice, of which the
first attempt may have come last.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.client_errors.kinds import FENCED_WITHOUT_RIVAL, TRANSACTION_FORGOTTEN
from checkers.client_errors.told import (
    FENCED,
    OLD_EPOCH,
    PRODUCER_ID_MAPPING,
    SCRIPT,
    TXN_STATE,
    codes_in,
    nothing_but,
)
from checkers.columns import NEVER
from checkers.coordinators import TRANSACTIONS_TOPIC
from checkers.history import FAIL, INVOKE, OK, History, Operation, once
from checkers.licences.internal import may_have_lost
from checkers.setup import Setup
from checkers.shapes import sends_of
from checkers.verdict import Anomaly

_FENCING = frozenset((FENCED, OLD_EPOCH))
_FORGETTING = frozenset((TXN_STATE, PRODUCER_ID_MAPPING))
_CODES = _FENCING | _FORGETTING
_NS_PER_MS = 1_000_000
_ASKED_ONCE_NS = 1_000_000_000
"""Within this no library has given an attempt up: its requests may take two seconds."""


class Call(NamedTuple):
    """An operation from its invocation to its completion; `ended` is None where it has none."""

    begun: Operation
    ended: Operation | None

    @property
    def to_ns(self) -> int:
        """When it took effect at the latest: no one knows of what was not acknowledged."""
        return self.ended.time_ns if self.ended is not None and self.ended.type is OK else NEVER


@once
def refused_transactions(history: History) -> tuple[Call, ...]:
    """Transactions that ended with an error of fencing, or of a state that the coordinator forgot."""
    return tuple(
        call
        for call in _transactions(history)
        if call.ended is not None
        and codes_in(call.ended.error or "") & _CODES
        and (call.begun.value or {}).get("client") != SCRIPT
    )


def refusals(history: History, setup: Setup) -> Iterator[Anomaly]:
    """Refusals that nothing explains; illegal where nothing leaves a doubt either."""
    lost = may_have_lost(history, TRANSACTIONS_TOPIC) if refused_transactions(history) else None
    for call in refused_transactions(history) if lost is None else ():
        producer = _producer(history, call)
        if not _rivals(history, call, producer) and not _timed_out(setup, call):
            yield _found(history, call, producer)


def _found(history: History, call: Call, producer: Call | None) -> Anomaly:
    ended = call.ended or call.begun
    fenced = bool(codes_in(ended.error or "") & _FENCING)
    doubt = _doubt(history, call, producer, fenced=fenced)
    kind = FENCED_WITHOUT_RIVAL if fenced else TRANSACTION_FORGOTTEN
    begun = () if producer is None or producer.ended is None else (producer.ended.index,)
    anomaly = kind.found(
        f"Process {ended.process} was refused a transaction of {ended.key}: {ended.error}",
        subject=f"transactional id {ended.key}",
        time_ns=ended.time_ns,
        witness=(*begun, call.begun.index, ended.index),
        explanation=(
            f"Process {ended.process} had initialised {ended.key}, and nobody else did since, or may have.",
            f"The transaction had begun {(ended.time_ns - call.begun.time_ns) / 1e9:.1f} s before, in time.",
        ),
    )
    return anomaly if doubt is None else msgspec.structs.replace(anomaly, illegal=False, licence=doubt)


def _doubt(history: History, call: Call, producer: Call | None, *, fenced: bool) -> str | None:
    """Why a refusal may be the client's own doing; None where it can't be."""
    ended = call.ended or call.begun
    if producer is None or producer.ended is None:
        return "no acknowledged initialisation of this producer is in the history"
    if not nothing_but(ended.error or "", _CODES):
        return "other trouble is told as well, after which libraries raise the epoch by themselves (KIP-360)"
    if producer.ended.time_ns - producer.begun.time_ns > _ASKED_ONCE_NS:
        return "the initialisation took long: an earlier attempt of it may have come later"
    if not fenced and not all(len(mop) > _OFFSET and mop[_OFFSET] is not None for mop in sends_of(ended)):
        return "not all of its records were acknowledged, so it need not have been under way"
    if not _ended_well(history, call, producer):
        return "it was this producer's first transaction: an attempt to initialise it may have come late"
    return None


_OFFSET = 4
"""Place of the offset in a send of a completed transaction."""


def _producer(history: History, call: Call) -> Call | None:
    """The latest acknowledged initialisation of the transactional id by the transaction's own process."""
    mine = [
        each
        for each in _initialisations(history)
        if each.begun.process == call.begun.process
        and each.begun.key == call.begun.key
        and each.begun.index < call.begun.index
        and each.to_ns != NEVER
    ]
    return mine[-1] if mine else None


def _rivals(history: History, call: Call, producer: Call | None) -> bool:
    """Whether anybody else may have initialised the transactional id since its producer did."""
    since_ns = 0 if producer is None else producer.begun.time_ns
    until_ns = NEVER if call.ended is None else call.ended.time_ns
    return any(
        each is not producer
        and each.begun.key == call.begun.key
        and not (each.ended is not None and each.ended.type is FAIL)
        and each.begun.time_ns <= until_ns
        and each.to_ns >= since_ns
        for each in _initialisations(history)
    )


def _timed_out(setup: Setup, call: Call) -> bool:
    """Whether a transaction may have exceeded its timeout; also where that is not known."""
    timeout_ms = setup.workload.transaction_timeout_ms
    if timeout_ms is None or call.ended is None:
        return True
    return call.ended.time_ns - call.begun.time_ns >= timeout_ms * _NS_PER_MS


def _ended_well(history: History, call: Call, producer: Call) -> bool:
    """Whether an earlier transaction of the same producer was committed, or aborted on purpose."""
    return any(
        each.begun.process == call.begun.process
        and each.begun.key == call.begun.key
        and producer.begun.index < each.begun.index < call.begun.index
        and each.ended is not None
        and each.ended.error is None
        for each in _transactions(history)
    )


@once
def _transactions(history: History) -> tuple[Call, ...]:
    return tuple(_calls(history.of("txn")))


@once
def _initialisations(history: History) -> tuple[Call, ...]:
    return tuple(_calls(history.of("init-transactions")))


def _calls(operations: Sequence[Operation]) -> Iterator[Call]:
    """Invocations with their completions, in the order of completion; what has none comes last."""
    open_: dict[int | str, Operation] = {}
    for operation in operations:
        if operation.type is INVOKE:
            open_[operation.process] = operation
        elif operation.process in open_:
            yield Call(open_.pop(operation.process), operation)
    yield from (Call(begun, None) for begun in open_.values())
