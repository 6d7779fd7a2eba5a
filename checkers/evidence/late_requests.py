"""Requests of producers that a coordinator may have executed after another producer began.

Client libraries repeat requests whose answers are late, and do not report it.  A request that was sent before
an outage may be delivered after it.  Such requests end a transaction that they were not meant for:

* InitProducerId of another producer with the same transactional id: the coordinator aborts the ongoing
  transaction and raises the epoch.
* InitProducerId with a producer id and an epoch, by which a library raises its epoch after some errors
  (KIP-360).  While a transaction is ongoing, the coordinator compares the id, but not the epoch
  (``TransactionCoordinator.prepareInitProducerIdTransit`` of Kafka 4.4.0; docs/findings.md).
* EndTxn for an earlier transaction with the same epoch (KAFKA-17754), in version 1 of the protocol.  With a
  new epoch for each transaction (KIP-890) the coordinator refuses it.

InitProducerId raises the epoch, so after it the coordinator refuses to commit the transaction.  If the commit
was acknowledged, no such request ended the transaction before.

In the same way a change that was acknowledged, such as a committed offset, may be executed a second time.
"""

from collections.abc import Collection, Iterable, Iterator

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.evidence.named_errors import FENCING, FIRST_PROTOCOL, FORGETTING, SCRIPT, nothing_but
from checkers.evidence.producers import (
    OperationPair,
    asked_ns,
    earlier_transactions,
    initialisations,
    is_committed,
    is_decided,
    producer_of,
    transactions,
)
from checkers.history.operations import OK, History, Operation, once
from checkers.history.transactions import sends_of
from checkers.history.units import NS_PER_S

ASKED_ONCE_NS = 1_000_000_000
"""Within this time no library gives up an attempt, because its request timeout is two seconds."""
DELAYED_NS = 3 * NS_PER_S
"""How long after a fault requests may arrive that were sent during the fault; clients wait 2.5 s."""
DELIVERED_NS = 20 * NS_PER_S
"""Within this time, requests in the buffer of a closed connection are delivered or given up.

Faults take up to about 10 s; see `_arrived_ns`.
"""


@once
def delayed_spans(history: History) -> tuple[tuple[int, int], ...]:
    """The periods in which requests may be delayed, from faults until a while after them, nanoseconds.

    A process that is killed loses the requests that it had received, so they are not executed late.
    """
    return tuple((window.invoked_ns, _later(window.end_ns, DELAYED_NS)) for window in _holding(history))


def _holding(history: History) -> Iterator[FaultWindow]:
    return (window for window in fault_windows(history) if not window.down)


def _later(end_ns: int, by_ns: int) -> int:
    return min(end_ns, NEVER - by_ns) + by_ns


def _arrived_ns(history: History, from_ns: int, to_ns: int) -> int:
    """When all attempts of a request have arrived or were given up, if faults delayed them; 0 if none did.

    TCP repeats what was not acknowledged at intervals that double, so it arrives at most about as long after
    an outage as the outage took.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        from_ns: when it was requested.
        to_ns: when its client had an answer, or gave up.
    """
    arrivals = (
        _later(window.end_ns, max(DELAYED_NS, min(window.end_ns - window.invoked_ns, DELIVERED_NS)))
        for window in _holding(history)
        if window.invoked_ns <= to_ns and from_ns <= _later(window.end_ns, DELAYED_NS)
    )
    return max(arrivals, default=0)


def executed_ns(history: History, from_ns: int, to_ns: int) -> int:
    """The time by which an acknowledged request was executed for the last time, nanoseconds.

    A client sends it again once it has waited in vain for an answer.  If a fault delays the first one, it may
    be executed last, a while after the fault.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        from_ns: when it was requested.
        to_ns: when it was acknowledged.
    """
    if to_ns - from_ns <= ASKED_ONCE_NS:
        return to_ns
    return max(to_ns, _arrived_ns(history, from_ns, to_ns))


def given_up_ns(history: History, call: OperationPair) -> int:
    """The time after which no attempt of a request arrives that got no answer; `NEVER` if it is unknown.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        call: the request; its client has closed the connection when it gave up.
    """
    if call.ended is None:
        return NEVER
    over_ns = call.ended.time_ns
    return max(over_ns + DELIVERED_NS, _arrived_ns(history, call.begun.time_ns, over_ns))


def late_request(history: History, call: OperationPair, at_ns: int) -> str | None:
    """Why a late request may have ended a transaction; None if none can have.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        call: the transaction.
        at_ns: the time by which it may have ended, before its end was requested.
    """
    began = None
    if not is_committed(call):
        began = raised_late(history, call.begun, call.begun, at_ns) or initialised_late(
            history, call.begun, at_ns
        )
    return began or _of_producer(history, call, at_ns)


def raised_late(history: History, begun: Operation, before: Operation, at_ns: int) -> str | None:
    """Whether an earlier producer's request to raise the epoch may have arrived late: why, or None.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        begun: the transaction's invocation.
        before: the earlier transaction, which had the error, began before this operation.
        at_ns: the time by which the transaction may have ended.
    """
    found = any(
        each.begun.key == begun.key
        and each.begun.index < before.index
        and _is_of_library(each)
        and _may_raise(each)
        and at_ns - _over_ns(each) <= DELIVERED_NS
        for each in transactions(history)
    )
    if not found:
        return None
    return (
        "an earlier producer had errors after which libraries raise the epoch themselves (KIP-360): its "
        "request may have arrived late, and its epoch is not compared during a transaction"
    )


def initialised_late(history: History, begun: Operation, at_ns: int) -> str | None:
    """Whether an earlier attempt to initialise the transactional id may have arrived late: why, or None.

    The initialisation itself was acknowledged before the transaction began, but took long.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        begun: the transaction's invocation.
        at_ns: the time by which the transaction may have ended.
    """
    found = any(
        each.begun.key == begun.key
        and each.ended is not None
        and each.ended.type is OK
        and each.ended.index < begun.index
        and _is_of_library(each)
        and each.ended.time_ns - each.begun.time_ns > ASKED_ONCE_NS
        and at_ns <= _tried_ns(history, each.begun.time_ns, each.ended.time_ns)
        for each in initialisations(history)
    )
    return "an initialisation took long: an earlier attempt of it may have arrived later" if found else None


def ended_late(earlier: Iterable[OperationPair], at_ns: int) -> str | None:
    """Whether the end of an earlier transaction with the same epoch may have arrived late: why, or None.

    Args:
        earlier: the earlier transactions of the producer.
        at_ns: the time by which the transaction may have ended.
    """
    if any(not ended_once(each) and at_ns - _over_ns(each) <= DELIVERED_NS for each in earlier):
        return (
            "the end of an earlier transaction of this producer may have been requested twice (KAFKA-17754)"
        )
    return None


def has_epoch_of_earlier(call: OperationPair) -> bool:
    """Whether a transaction may have the same epoch as the transaction of its producer before it."""
    value = None if call.ended is None else call.ended.value
    return not isinstance(value, dict) or value.get("version", FIRST_PROTOCOL) == FIRST_PROTOCOL


def ended_once(call: OperationPair) -> bool:
    """Whether the end of a transaction was certainly requested only once."""
    ended = call.ended
    return ended is not None and is_decided(call) and ended.time_ns - asked_ns(call) <= ASKED_ONCE_NS


def sent_twice(history: History, call: OperationPair, partitions: Collection[PartitionName]) -> bool:
    """Whether a library may have sent a batch twice, so that a copy of it arrived during a transaction.

    The batch is of this transaction, or of an earlier one of the same producer, which took longer than an
    attempt.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        call: the transaction.
        partitions: those to one of which the batch was sent.
    """
    producer = producer_of(history, call)
    earlier = [] if producer is None else earlier_transactions(history, call, producer)
    near = (each for each in earlier if call.begun.time_ns - _over_ns(each) <= DELIVERED_NS)
    long = (each for each in (call, *near) if _over_ns(each) - each.begun.time_ns > ASKED_ONCE_NS)
    return any(PartitionName(*send[1:3]) in partitions for each in long for send in sends_of(each.begun))


def _tried_ns(history: History, from_ns: int, to_ns: int) -> int:
    """Until when an earlier attempt of an acknowledged request may arrive, if the request took long.

    What delayed it took at most as long as the request did, or was a fault, which may hold one connection
    only.
    """
    late_ns = to_ns - from_ns + ASKED_ONCE_NS
    return max(to_ns + late_ns, _arrived_ns(history, from_ns, to_ns))


def _of_producer(history: History, call: OperationPair, at_ns: int) -> str | None:
    producer = producer_of(history, call)
    if not _is_of_library(call) or producer is None:
        return None
    earlier = earlier_transactions(history, call, producer)
    first = not is_committed(call) and not any(map(is_decided, earlier))
    if first and at_ns - producer.to_ns <= DELIVERED_NS:
        return "it was this producer's first transaction: an attempt to initialise it may have arrived late"
    return ended_late(earlier, at_ns) if has_epoch_of_earlier(call) else None


def _over_ns(call: OperationPair) -> int:
    return (call.ended or call.begun).time_ns


def _is_of_library(call: OperationPair) -> bool:
    return (call.begun.value or {}).get("client") != SCRIPT


def _may_raise(call: OperationPair) -> bool:
    """Whether a transaction had an error after which its library may raise the epoch."""
    error = None if call.ended is None else call.ended.error
    return error is not None and not nothing_but(error, FENCING | FORGETTING)
