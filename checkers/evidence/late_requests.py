"""Requests of producers that a coordinator may have executed after another producer began.

Client libraries repeat requests whose answers are late, and do not report it.  A request that was sent before
an outage may be delivered after it.  Such requests end a transaction that they were not meant for:

* InitProducerId of a producer with the same transactional id: the coordinator aborts the ongoing transaction
  and raises the epoch.  It also raises the epoch between transactions.
* InitProducerId with a producer id and an epoch, by which a library raises its epoch after some errors
  (KIP-360).  While a transaction is ongoing, the coordinator compares the id, but not the epoch
  (``TransactionCoordinator.prepareInitProducerIdTransit`` of Kafka 4.4.0; docs/findings.md).  Between
  transactions it compares the epoch too, and refuses one that is older.
* EndTxn for an earlier transaction with the same epoch (KAFKA-17754), in version 1 of the protocol.  With a
  new epoch for each transaction (KIP-890) the coordinator refuses it.

InitProducerId raises the epoch, so after it the coordinator refuses to end a transaction of the epoch before.
If the end of a transaction was acknowledged, no such request was executed before that end was requested.

In the same way a change that was acknowledged, such as a committed offset, may be executed a second time.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.evidence.named_errors import (
    FENCED,
    FENCING,
    FIRST_PROTOCOL,
    FORGETTING,
    KAFKA_CLIENTS,
    KAFKA_PYTHON,
    LIBRDKAFKA,
    SCRIPT,
    nothing_but,
)
from checkers.evidence.producers import (
    OperationPair,
    asked_ns,
    earlier_transactions,
    initialisations,
    is_acknowledged,
    is_committed,
    producer_of,
    transactions,
)
from checkers.history.operations import FAIL, OK, History, Operation, once
from checkers.history.setup import recorded_setup
from checkers.history.transactions import PRODUCER_CLOSED, ProducerClosed, sends_of
from checkers.history.units import NS_PER_S

ASKED_ONCE_NS = 1_000_000_000
"""Within this time no library gives up an attempt, because its request timeout is two seconds."""
DELAYED_NS = 3 * NS_PER_S
"""How long after a fault requests may arrive that were sent during the fault; clients wait 2.5 s."""
DELIVERED_NS = 20 * NS_PER_S
"""Within this time, requests in the buffer of a closed connection are delivered or given up.

Faults take up to about 10 s; see `_arrived_ns`.
"""
_OTHERS = ""
"""Stands for nodes that no fault names; a fault whose targets are not known concerns them too."""


@once
def delayed_spans(history: History) -> tuple[tuple[int, int], ...]:
    """The periods in which requests may be delayed, from faults until a while after them, nanoseconds.

    A process that is killed loses the requests that it had received, so they are not executed late.
    """
    return tuple((window.invoked_ns, _later(window.end_ns, DELAYED_NS)) for window in _holding(history))


def _holding(history: History) -> Iterator[FaultWindow]:
    return (window for window in fault_windows(history) if not window.down)


@once
def _between_client_and_coordinator(history: History) -> tuple[FaultWindow, ...]:
    """Faults that may delay requests of producers to their coordinator.

    Partitions cut nodes off from each other, not from clients.  A coordinator that can't replicate the new
    state of a producer has received the request, and answers CONCURRENT_TRANSACTIONS to all others until it
    has carried it out or given it up.
    """
    return tuple(window for window in _holding(history) if not window.cut)


def _later(end_ns: int, by_ns: int) -> int:
    return min(end_ns, NEVER - by_ns) + by_ns


def _arrived_ns(windows: Iterable[FaultWindow], from_ns: int, to_ns: int) -> int:
    """When all attempts of a request have arrived or were given up, if faults delayed them; 0 if none did.

    TCP repeats what was not acknowledged at intervals that double, so it arrives at most about as long after
    an outage as the outage took.

    Args:
        windows: the faults.
        from_ns: when it was requested.
        to_ns: when its client had an answer, or gave up.
    """
    arrivals = (
        _later(window.end_ns, max(DELAYED_NS, min(window.end_ns - window.invoked_ns, DELIVERED_NS)))
        for window in windows
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
    return max(to_ns, _arrived_ns(_holding(history), from_ns, to_ns))


def late_request(history: History, call: OperationPair) -> str | None:
    """Why a late request may have ended a transaction before its end was requested; None if none can have.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        call: the transaction.
    """
    began, from_ns = None, call.begun.time_ns
    if not is_committed(call):
        began = raised_late(history, call.begun, call.begun, from_ns) or initialised_late(
            history, call.begun, from_ns
        )
    producer = producer_of(history, call)
    if began is not None or producer is None or not _is_of_library(call) or not has_epoch_of_earlier(call):
        return began
    return ended_late(history, call, producer)


def raised_late(history: History, begun: Operation, before: Operation, from_ns: int) -> str | None:
    """Whether an earlier producer's request to raise the epoch may have arrived late: why, or None.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        begun: the transaction's invocation.
        before: the earlier transaction, which had the error, began before this operation.
        from_ns: the request did not end the transaction before.
    """
    found = any(
        each.begun.key == begun.key
        and each.begun.index < before.index
        and _may_raise(each)
        and from_ns <= _raise_arrives_ns(history, each)
        for each in transactions(history)
    )
    if not found:
        return None
    return (
        "an earlier producer had errors after which libraries raise the epoch themselves (KIP-360): its "
        "request may have arrived late, and its epoch is not compared during a transaction"
    )


def _may_raise(call: OperationPair) -> bool:
    """Whether a transaction had an error after which its library may raise the epoch.

    librdkafka 2.16 and kafka-clients do so when they abort, and never after a request to commit.  With a new
    epoch for each transaction kafka-clients do not do so at all
    (``TransactionManager.needToTriggerEpochBumpFromClient``).  kafka-python 3.0 does so, without an abort,
    when a leader refuses a batch because of its sequence number or epoch (``Sender._complete_batch``), and
    therefore also when another producer has fenced it.
    """
    ended = call.ended
    if ended is None or ended.error is None or ended.type is not FAIL or not _is_of_library(call):
        return False
    client = _client_of(call)
    if client == KAFKA_PYTHON:
        return not nothing_but(ended.error, FORGETTING | {FENCED}) and not _has_all(ended)
    if nothing_but(ended.error, FENCING | FORGETTING):
        return False
    return client not in KAFKA_CLIENTS or has_epoch_of_earlier(call)


def _has_all(ended: Operation) -> bool:
    """Whether all records of a transaction were acknowledged."""
    return all(map(is_acknowledged, sends_of(ended)))


def _raise_arrives_ns(history: History, call: OperationPair) -> int:
    """Until when the request to raise the epoch may arrive that followed an error; 0 if it arrived at once.

    librdkafka and kafka-clients send it once the transaction has ended, and report only then that it was
    aborted (``rd_kafka_txn_endtxn_complete``, ``TransactionManager.beginCompletingTransaction``).
    """
    ended = call.ended or call.begun
    aborted = isinstance(ended.value, dict) and ended.value.get("ended") == "abort"
    if aborted and _client_of(call) != KAFKA_PYTHON:
        return _tried_ns(history, asked_ns(call), ended.time_ns)
    return given_up_ns(history, call)


def given_up_ns(history: History, call: OperationPair) -> int:
    """The time after which no attempt of a request arrives that got no answer; `NEVER` if it is unknown.

    A client that gives up closes its connections.  A broker then executes what it had received, within
    `DELAYED_NS`, unless a fault prevents it, or another fault that begins meanwhile.  A connection has one
    broker, so only faults of the same broker can delay a request one after the other.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        call: the request; without a completion it may arrive at any time.
    """
    closed_ns = _closed_ns(history, call)
    if closed_ns == NEVER:
        return NEVER
    windows = _between_client_and_coordinator(history)
    nodes = {_OTHERS, *(node for window in windows for node in window.targets)}
    of_each = ([window for window in windows if window.concerns(node)] for node in nodes)
    return max(_held_ns(some, call.begun.time_ns, closed_ns) for some in of_each)


def _closed_ns(history: History, call: OperationPair) -> int:
    """The time after which the client of a request without an answer sends nothing; `NEVER` if it is unknown.

    A producer is closed right after such a request, and before its worker does anything else.  Until then all
    libraries may repeat the request.  librdkafka ends in ``rd_kafka_destroy``, which returns when all threads
    of the producer have ended; what it had sent may still be in the buffers of closed sockets.  The limit
    ``message.timeout.ms`` does not help: it is for records, not for initialisations and ends of transactions.

    Before the closes were recorded (`Setup.producers_end`), krucible's errors could keep a producer of
    librdkafka alive after it was closed, until Python looked for cycles, so nothing is known.
    """
    if call.ended is None:
        return NEVER
    if _is_of_library(call) and recorded_setup(history).producers_end:
        return _recorded_close_ns(history, call.ended)
    return NEVER if _client_of(call) == LIBRDKAFKA else call.ended.time_ns


def _recorded_close_ns(history: History, ended: Operation) -> int:
    """When the producer of a request was closed; `NEVER` if no record says so, or it did not end."""
    closes = _closes(history).get((_worker(history, ended), str(ended.key)), ())
    closed = next((close for close in closes if close.index > ended.index), None)
    if closed is None or not msgspec.convert(closed.value, ProducerClosed).ended:
        return NEVER
    return closed.time_ns


@once
def _closes(history: History) -> dict[tuple[int | str, str], list[Operation]]:
    """The records of closed producers, by their worker and transactional id, in order."""
    found: dict[tuple[int | str, str], list[Operation]] = {}
    for operation in history.of(PRODUCER_CLOSED):
        found.setdefault((_worker(history, operation), str(operation.key)), []).append(operation)
    return found


def _worker(history: History, operation: Operation) -> int | str:
    """What a process and its successors have in common: a process with an unknown outcome is succeeded."""
    workers, process = recorded_setup(history).workload.workers, operation.process
    return process if isinstance(process, str) or not workers else process % workers


def _held_ns(windows: Sequence[FaultWindow], from_ns: int, over_ns: int) -> int:
    most_ns = max(over_ns + DELIVERED_NS, _arrived_ns(windows, from_ns, over_ns))
    until_ns = over_ns + DELAYED_NS
    while until_ns < most_ns and (later_ns := _arrived_ns(windows, from_ns, until_ns)) > until_ns:
        until_ns = later_ns
    return min(until_ns, most_ns)


def _tried_ns(history: History, from_ns: int, to_ns: int) -> int:
    """Until when an earlier attempt of an acknowledged request may arrive; 0 if there was only one attempt.

    What delayed it took at most as long as the request did, or was a fault, which may hold one connection
    only.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        from_ns: when it was requested.
        to_ns: when it was acknowledged.
    """
    took_ns = to_ns - from_ns
    if took_ns <= ASKED_ONCE_NS:
        return 0
    held_ns = _arrived_ns(_between_client_and_coordinator(history), from_ns, to_ns)
    return max(to_ns + took_ns + ASKED_ONCE_NS, held_ns)


def initialised_late(history: History, begun: Operation, from_ns: int) -> str | None:
    """Whether an earlier attempt to initialise the transactional id may have arrived late: why, or None.

    The initialisation itself was acknowledged before the transaction began, but took long.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        begun: the transaction's invocation.
        from_ns: the attempt was not executed before, because the coordinator knew the producer's epoch.
    """
    found = any(
        each.begun.key == begun.key
        and each.ended is not None
        and each.ended.type is OK
        and each.ended.index < begun.index
        and _is_of_library(each)
        and from_ns <= _tried_ns(history, each.begun.time_ns, each.ended.time_ns)
        for each in initialisations(history)
    )
    return "an initialisation took long: an earlier attempt of it may have arrived later" if found else None


def ended_late(history: History, call: OperationPair, producer: OperationPair) -> str | None:
    """Whether the end of an earlier transaction with the same epoch may have arrived late: why, or None.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        call: the transaction that it may have ended.
        producer: the initialisation of its producer.
    """
    earlier = earlier_transactions(history, call, producer)
    if not any(call.begun.time_ns <= _end_arrives_ns(history, each) for each in earlier):
        return None
    return "the end of an earlier transaction of this producer may have been requested twice (KAFKA-17754)"


def _end_arrives_ns(history: History, call: OperationPair) -> int:
    """Until when the request to end a transaction may arrive another time; 0 if it can't."""
    if call.ended is not None and call.ended.error is None:
        return _tried_ns(history, asked_ns(call), call.ended.time_ns)
    return given_up_ns(history, call)


def has_epoch_of_earlier(call: OperationPair) -> bool:
    """Whether a transaction may have the same epoch as the transaction of its producer before it."""
    value = None if call.ended is None else call.ended.value
    return not isinstance(value, dict) or value.get("version", FIRST_PROTOCOL) == FIRST_PROTOCOL


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


def _over_ns(call: OperationPair) -> int:
    return (call.ended or call.begun).time_ns


def _is_of_library(call: OperationPair) -> bool:
    """Whether a library made the requests, which may repeat them; a script sends each once."""
    return _client_of(call) != SCRIPT


def _client_of(call: OperationPair) -> object:
    return (call.begun.value or {}).get("client")
