"""Loads transactions with known producers, and how brokers described them, from a history."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from checkers.history.operations import INVOKE, OK, History, Operation

MS = 1_000_000
DESCRIBED = ("describe-transaction", "describe-producer", "abort-transaction")


class Producer(NamedTuple):
    """Kafka's number for a producer, and the epoch of one initialisation of it."""

    producer_id: int
    epoch: int


class Transaction(NamedTuple):
    """One transaction.

    Attributes:
        name: its transactional id.
        open_ns: when all its records had been sent, and answered or given up.
        until_ns: so long it is certainly open: to its timeout at the earliest, its end, or a rival.
        offsets: of the records that were acknowledged, by topic and partition.
        coordinator: id of the broker that added its partitions.
        begun: its invocation.
        ended: its completion.
    """

    name: str
    open_ns: int
    until_ns: int
    offsets: dict[tuple[str, int], int]
    coordinator: int
    begun: Operation
    ended: Operation


class TransactionAnswer(NamedTuple):
    """A question to one broker, and its answer.

    Attributes:
        producer: whose transaction is meant.
        to: id of the broker.
        asked: the invocation.
        answered: the completion, `ok`.
    """

    producer: Producer
    to: int
    asked: Operation
    answered: Operation


class _Known(msgspec.Struct, frozen=True):
    producer_id: int | None = None
    epoch: int | None = None
    timeout_ms: int | None = None


class _Sent(msgspec.Struct, frozen=True):
    """A transaction that was told together with who added its partitions."""

    mops: list[list[Any]]
    sent_ns: int
    coordinator: int
    ending_ns: int | None = None


class _About(msgspec.Struct, frozen=True):
    producer_id: int
    epoch: int
    to: int


def transactions_known(history: History) -> dict[Producer, Transaction]:
    """Transactions whose producer and coordinator are known, by producer: of each the first.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    asked = [each for each in history.of("init-transactions") if each.type is INVOKE]
    inits = list(_calls(history.of("init-transactions")))
    found: dict[Producer, Transaction] = {}
    for begun, ended in _calls(history.of("txn")):
        if not isinstance(ended.value, dict) or "sent_ns" not in ended.value:
            continue
        mine = [each for each in inits if each[0].process == begun.process and each[0].key == begun.key]
        last = next((each for each in reversed(mine) if each[1].index < begun.index), None)
        known = None if last is None or last[1].type is not OK else msgspec.convert(last[1].value, _Known)
        if known is None or known.producer_id is None or known.epoch is None or known.timeout_ms is None:
            continue
        rivals = [each.time_ns for each in asked if each.key == begun.key and each.index > begun.index]
        transaction = _transaction(begun, ended, known.timeout_ms, rivals)
        found.setdefault(Producer(known.producer_id, known.epoch), transaction)
    return found


def _transaction(begun: Operation, ended: Operation, timeout_ms: int, rivals: Sequence[int]) -> Transaction:
    sent = msgspec.convert(ended.value, _Sent)
    offsets = {(topic, number): offset for _, topic, number, _, offset in sent.mops if offset is not None}
    ends = [begun.time_ns + timeout_ms * MS, *rivals]
    if sent.ending_ns is not None:
        ends.append(sent.ending_ns)
    return Transaction(str(begun.key), sent.sent_ns, min(ends), offsets, sent.coordinator, begun, ended)


def told_of(history: History, f: str) -> Iterator[TransactionAnswer]:
    """Answers of one kind, in the order of the history.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    for asked, answered in _calls(history.of(f)):
        if answered.type is OK:
            about = msgspec.convert(asked.value, _About)
            yield TransactionAnswer(Producer(about.producer_id, about.epoch), about.to, asked, answered)


def _calls(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """Invocations with their completions, in the order of completion; not those that have none."""
    begun: dict[int | str, Operation] = {}
    for operation in operations:
        if operation.type is INVOKE:
            begun[operation.process] = operation
        elif operation.process in begun:
            yield begun.pop(operation.process), operation
