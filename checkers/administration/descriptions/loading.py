"""Loads transactions with known producers, and brokers' descriptions of them, from a history."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET

from checkers.evidence.late_requests import given_up_ns
from checkers.evidence.producers import OperationPair, initialisations
from checkers.history.operations import INFO, INVOKE, OK, History, Operation
from checkers.history.transactions import (
    CoordinatorRequested,
    LeaderRequested,
    ProducerInitialised,
    TxnSend,
    TxnSent,
)
from checkers.history.units import NS_PER_MS

Described_co = TypeVar("Described_co", bound=CoordinatorRequested | LeaderRequested, covariant=True)


class Producer(NamedTuple):
    """A producer id, and the epoch of one of its initialisations."""

    producer_id: int
    epoch: int


class DescribedTransaction(NamedTuple):
    """One transaction.

    Attributes:
        name: its transactional id.
        open_ns: when all its records had been sent, and were answered or given up.
        until_ns: time until which it is certainly open: the earliest of its timeout, its end, and a rival.
        offsets: offsets of the acknowledged records, by topic and partition.
        unanswered: topics and partitions of records without an answer, which may be appended later.
        ending_ns: a time before which its end was not requested; None if it never was.
        coordinator: id of the broker that added its partitions.
        leaders: id of the broker that the record was sent to, by the partition as a text.
        begun: its invocation.
        ended: its completion.
    """

    name: str
    open_ns: int
    until_ns: int
    offsets: dict[tuple[str, int], int]
    unanswered: frozenset[tuple[str, int]]
    ending_ns: int | None
    coordinator: int
    leaders: Mapping[str, int]
    begun: Operation
    ended: Operation


class TransactionAnswer(NamedTuple, Generic[Described_co]):
    """A request to one broker, and its answer.

    Attributes:
        described: the request and the answer.
        asked: the invocation.
        answered: the completion, `ok`.
    """

    described: Described_co
    asked: Operation
    answered: Operation

    @property
    def producer(self) -> Producer:
        """The producer of the described transaction."""
        return Producer(self.described.producer_id, self.described.epoch)

    @property
    def to(self) -> int:
        """Id of the broker."""
        return self.described.to


def transactions_known(history: History) -> dict[Producer, DescribedTransaction]:
    """Transactions whose producer and coordinator are known; the first of each producer.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    inits = list(_calls(history.of("init-transactions")))
    found: dict[Producer, DescribedTransaction] = {}
    for begun, ended in _calls(history.of("txn")):
        if not isinstance(ended.value, dict) or "sent_ns" not in ended.value:
            continue
        mine = [each for each in inits if each[0].process == begun.process and each[0].key == begun.key]
        last = next((each for each in reversed(mine) if each[1].index < begun.index), None)
        given = None if last is None or last[1].type is not OK else last[1].value
        known = None if given is None else msgspec.convert(given, ProducerInitialised)
        if known is None or known.producer_id is None or known.epoch is None or known.timeout_ms is UNSET:
            continue
        rivals = [each.begun.time_ns for each in initialisations(history) if _may_end(history, each, begun)]
        transaction = _transaction(begun, ended, known.timeout_ms, rivals)
        found.setdefault(Producer(known.producer_id, known.epoch), transaction)
    return found


def _may_end(history: History, initialisation: OperationPair, begun: Operation) -> bool:
    """Whether an initialisation may abort a transaction: it may be executed after the transaction began.

    One that got no answer may have waited in a connection that its client had given up, and be executed after
    a later initialisation was.
    """
    asked, ended = initialisation
    if asked.key != begun.key:
        return False
    if ended is None or ended.type is INFO:
        return begun.time_ns <= given_up_ns(history, initialisation)
    return ended.index > begun.index


def _transaction(
    begun: Operation, ended: Operation, timeout_ms: int, rivals: Sequence[int]
) -> DescribedTransaction:
    sent = msgspec.convert(ended.value, TxnSent)
    sends = [mop for mop in sent.mops if isinstance(mop, TxnSend)]
    offsets = {(send.topic, send.partition): send.offset for send in sends if send.offset is not None}
    unanswered = frozenset((send.topic, send.partition) for send in sends if send.offset is None)
    ends = [begun.time_ns + timeout_ms * NS_PER_MS, *rivals]
    if sent.ending_ns is not None:
        ends.append(sent.ending_ns)
    return DescribedTransaction(
        name=str(begun.key),
        open_ns=sent.sent_ns,
        until_ns=min(ends),
        offsets=offsets,
        unanswered=unanswered,
        ending_ns=sent.ending_ns,
        coordinator=sent.coordinator,
        leaders=sent.leaders,
        begun=begun,
        ended=ended,
    )


def answers_of(
    history: History, f: str, kind: type[Described_co]
) -> Iterator[TransactionAnswer[Described_co]]:
    """Answers of one kind to one function, in the order of the history.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    for asked, answered in _calls(history.of(f)):
        if answered.type is OK:
            yield TransactionAnswer(msgspec.convert(answered.value, kind), asked, answered)


def _calls(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """Invocations with their completions, in the order of completion, without those that have none."""
    begun: dict[int | str, Operation] = {}
    for operation in operations:
        if operation.type is INVOKE:
            begun[operation.process] = operation
        elif operation.process in begun:
            yield begun.pop(operation.process), operation
