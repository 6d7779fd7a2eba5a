"""Sequence numbers that brokers forgot although they had acknowledged the producer's records.

A producer numbers its batches in each partition.  It receives OUT_OF_ORDER_SEQUENCE_NUMBER if the previous
batch is not in the leader's log.  This shows a loss only if all earlier batches had been acknowledged:

- the operation reports no other error: an earlier batch of it may have expired before it arrived;
- each of its records in question is in a partition of which the same operation got no acknowledgement;
- the producer, which is replaced after anything but success, had records acknowledged in these partitions.

A transactional producer is idempotent and waits for all replicas, and its numbers continue from one
transaction to the next.  If it has a new epoch for each transaction (KIP-890), the first batch is always in
order, even after a loss.  A producer with an outdated epoch gets another error.

A leader that has to verify a transaction (KIP-890, for producers without a new epoch for each) remembers the
lowest sequence number that it has had to verify since then, and refuses all higher ones.  An unanswered batch
that was sent again may arrive a second time after its successors.  It is refused, and so are the batches
after it, although nothing was lost (docs/findings.md).  librdkafka reports that it had sent a batch of the
partition again.  kafka-clients and kafka-python do not report it, so for these libraries the duration of the
transaction, and of earlier ones of the producer with records in that partition, decides whether a batch may
have been sent again.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.features import TRANSACTION_VERSION, levels_in_run
from checkers.evidence.late_requests import sent_twice
from checkers.evidence.named_errors import (
    FIRST_PROTOCOL,
    KAFKA_CLIENTS,
    OUT_OF_ORDER,
    SCRIPT,
    UNKNOWN_PRODUCER,
    codes_in,
    nothing_but,
)
from checkers.evidence.producers import transactions
from checkers.history.operations import INVOKE, OK, History, Operation, once
from checkers.history.sends import is_answered
from checkers.history.setup import Setup
from checkers.history.transactions import sends_of
from checkers.licences import licences_of
from checkers.transactional.client_errors.anomalies import SEQUENCE_LOST
from checkers.verdict.verdict import Anomaly

_CODES = frozenset((OUT_OF_ORDER, UNKNOWN_PRODUCER))
_TRANSACTION = "txn"
_BEGINNING = "init-transactions"
_SENT_AGAIN = "last partition error _TIMED_OUT (actions Retry"
_SILENT = KAFKA_CLIENTS | {"kafka-python"}
"""Libraries that do not report that they sent a batch again."""
_WITHOUT_VERIFICATION = 2
"""Level of ``transaction.version`` since which leaders do not verify kafka-clients' batches (KIP-890)."""
_OFFSET = 4
"""Index of the offset in a send of a completed transaction."""


def sequence_errors(history: History) -> list[Operation]:
    """Sends and transactions that ended with an error about their sequence."""
    ended = (o for f in ("send", _TRANSACTION) for o in history.of(f) if o.error is not None)
    return [operation for operation in ended if codes_in(operation.error or "") & _CODES]


def lost_sequences(history: History, setup: Setup) -> Iterator[Anomaly]:
    """Errors about sequence numbers.

    An error is illegal if only a loss that was not permitted explains it.
    """
    for operation in sequence_errors(history):
        if _names_records(operation):
            yield _judged(history, setup, operation)


def _names_records(operation: Operation) -> bool:
    if operation.f != _TRANSACTION:
        return is_answered(operation.value)
    value = operation.value if isinstance(operation.value, dict) else {}
    return bool(value.get("mops")) and value.get("client") != SCRIPT


def _judged(history: History, setup: Setup, operation: Operation) -> Anomaly:
    partitions = _partitions(operation, acknowledged=False)
    before = _acknowledged_before(history, operation, partitions)
    own = _own_doubt(history, setup, operation, partitions)
    doubt = own or _doubt(operation, partitions, before) or _licence(history, operation, partitions, before)
    names = ", ".join(map(str, sorted(partitions)))
    anomaly = SEQUENCE_LOST.found(
        f"Process {operation.process} got an error for {names}: {operation.error}",
        subject=f"process {operation.process}",
        time_ns=operation.time_ns,
        witness=(*(each.index for each in before), operation.index),
        explanation=(
            f"The producer of process {operation.process} had had records acknowledged in {names}.",
            "The leader did not know the batch before the one that it refused, so it has lost that batch.",
        ),
    )
    return anomaly if doubt is None else msgspec.structs.replace(anomaly, illegal=False, licence=doubt)


def _own_doubt(
    history: History, setup: Setup, operation: Operation, partitions: frozenset[PartitionName]
) -> str | None:
    """Why an error of this producer proves no loss; None if it may prove one."""
    if operation.f != _TRANSACTION:
        return _of_send(setup, operation)
    return _of_transaction(history, operation, partitions)


def _doubt(
    operation: Operation, partitions: frozenset[PartitionName], before: Sequence[Operation]
) -> str | None:
    """Why an error proves no loss; None if it proves a loss."""
    if not nothing_but(operation.error or "", _CODES):
        return "other errors are reported as well: an earlier batch may have been given up before it arrived"
    if not partitions or partitions & _partitions(operation, acknowledged=True):
        return "other records of the same operation were acknowledged in that partition, perhaps out of order"
    if not before:
        return "no earlier record of this producer was acknowledged there"
    return None


def _of_send(setup: Setup, operation: Operation) -> str | None:
    workload = setup.workload
    if str(workload.acks) != "all" or not workload.idempotent:
        return "the producer did not wait for all replicas, or was not idempotent"
    if workload.is_durable(operation.process):
        return "each attempt of this process is a new producer's"
    return None


def _of_transaction(
    history: History, operation: Operation, partitions: frozenset[PartitionName]
) -> str | None:
    if _SENT_AGAIN in (operation.error or ""):
        return (
            "a batch was sent there twice, and if the copy arrives last the leader refuses all "
            "batches after it"
        )
    verified = (
        min(levels_in_run(history, TRANSACTION_VERSION)) < _WITHOUT_VERIFICATION
        or operation.value.get("version") == FIRST_PROTOCOL
    )
    client = operation.value.get("client")
    call = next(each for each in transactions(history) if each.ended is operation)
    if verified and client in _SILENT and sent_twice(history, call, partitions):
        return f"a batch may have been sent there twice, which {client} does not report"
    return None


def _licence(
    history: History, operation: Operation, partitions: frozenset[PartitionName], before: Sequence[Operation]
) -> str | None:
    """A licence for a loss, by the leader of one of some partitions, of the records that were acknowledged.

    What had ended before these were sent did not remove them.
    """
    licences = licences_of(history)
    since_ns = min(_not_sent_before_ns(history, each) for each in before)
    events = ((permit, permit.event) for each in sorted(partitions) for permit in licences.of(each))
    covers = (p.text for p, event in events if event.from_ns <= operation.time_ns and event.to_ns >= since_ns)
    return next(covers, None)


def _not_sent_before_ns(history: History, operation: Operation) -> int:
    """When the process had completed the operation before this one; 0 if this is its first."""
    mine = _ended_by_process(history)[operation.process]
    place = bisect_left(mine, operation.index, key=attrgetter("index"))
    return mine[place - 1].time_ns if place else 0


def _partitions(operation: Operation, *, acknowledged: bool) -> frozenset[PartitionName]:
    """Partitions of an operation's records that were acknowledged, or of those that were not."""
    records: Iterator[tuple[PartitionName, bool]]
    if operation.f == _TRANSACTION:
        sends = sends_of(operation)
        records = (
            (PartitionName(str(topic), partition), bool(offset) and offset[0] is not None)
            for _, topic, partition, _, *offset in sends
        )
    elif isinstance(operation.value, dict):
        records = iter([(PartitionName(str(operation.key), operation.value["partition"]), True)])
    else:
        records = (
            (PartitionName(str(operation.key), partition), outcome == OK)
            for partition, _, _, outcome in operation.value
        )
    return frozenset(partition for partition, ok in records if ok is acknowledged)


@once
def _ended_by_process(history: History) -> dict[int | str, list[Operation]]:
    """Completions of sends, transactions and initialisations by process, in order."""
    found: dict[int | str, list[Operation]] = defaultdict(list)
    for f in ("send", _TRANSACTION, _BEGINNING):
        for operation in history.of(f):
            if operation.type is not INVOKE:
                found[operation.process].append(operation)
    for operations in found.values():
        operations.sort(key=attrgetter("index"))
    return found


def _acknowledged_before(
    history: History, operation: Operation, partitions: frozenset[PartitionName]
) -> list[Operation]:
    """The producer's latest acknowledged operation in each partition; empty if a partition has none."""
    missing = set(partitions)
    found: list[Operation] = []
    mine = _ended_by_process(history)[operation.process]
    for earlier in reversed(mine[: bisect_left(mine, operation.index, key=attrgetter("index"))]):
        if not missing:
            return found[::-1]
        if not _by_same_producer(earlier, operation):
            return []
        acked = _partitions(earlier, acknowledged=True) & missing
        if acked:
            found.append(earlier)
            missing -= acked
    return [] if missing else found[::-1]


def _by_same_producer(earlier: Operation, operation: Operation) -> bool:
    """Whether an operation was carried out by the same producer as an earlier operation of its process.

    After an operation that failed with an error, a worker makes a new producer.
    """
    if (earlier.f, earlier.key) != (operation.f, operation.key):
        return False
    # A transaction that was aborted on purpose ends as failed, without an error.
    return earlier.error is None if operation.f == _TRANSACTION else earlier.type is OK
