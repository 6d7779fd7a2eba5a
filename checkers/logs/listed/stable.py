"""Last stable offsets: none is above a record of a transaction that was certainly open."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET

from checkers.columns.tables import NEVER, NONE, PartitionName
from checkers.evidence.late_requests import late_request
from checkers.evidence.producers import OperationPair
from checkers.history.observed import OffsetsRequested
from checkers.history.operations import INFO, INVOKE, OK, History, Operation, once
from checkers.history.setup import recorded_setup
from checkers.history.transactions import LeaderRequested, ProducerInitialised, sends_of
from checkers.history.units import NS_PER_MS
from checkers.licences.decisions import decisions_of
from checkers.logs.listed.anomalies import STABLE_AHEAD
from checkers.logs.listed.loading import (
    Found,
    ListedHistory,
    ListedLog,
    ListedPartition,
    answers,
    shown,
    worst,
)
from checkers.verdict.verdict import Anomaly


class Opened(NamedTuple):
    """A record of a transaction.

    Attributes:
        offset: the record's offset.
        from_ns: when the transaction began.
        until_ns: the time until which it is certainly open: no end was requested, and its timeout has not
            passed.
        name: its transactional id.
        operations: its invocation and its completion.
    """

    offset: int
    from_ns: int
    until_ns: int
    name: str
    operations: tuple[int, int]


def find_stable_ahead(story: ListedHistory, place: ListedLog) -> Iterator[Anomaly]:
    """Last stable offsets above a record of a transaction that had not been ended."""
    opened = opened_in(story.history).get(place.name, [])
    yield from worst(_ahead(story, place, opened))


def _ended(story: ListedHistory, one: Opened) -> str | None:
    """Why a coordinator may have ended a transaction without a request for this transaction.

    It ended the transaction as it had ended an older one, or by a request of another producer.
    """
    began, ended = one.operations
    decisions = decisions_of(story.history)
    row = int(decisions.of(np.array([began]))[0])
    if row != NONE:
        return decisions.texts[row]
    operations = story.history.operations
    return late_request(story.history, OperationPair(operations[began], operations[ended]))


def _ahead(story: ListedHistory, place: ListedLog, opened: list[Opened]) -> Iterator[Found]:
    for answer in answers(place, OffsetsRequested.STABLE):
        for one in opened:
            if one.from_ns <= answer.time_ns < one.until_ns and one.offset < answer.offset:
                since = (place.name, one.from_ns, answer.time_ns, one.offset)
                permit = story.permit(*since, removable=True) or _ended(story, one)
                yield _found(place, answer, one), permit


def _found(place: ListedLog, answer: ListedPartition, one: Opened) -> Anomaly:
    return STABLE_AHEAD.found(
        f"{answer.node} reported the last stable offset {answer.offset} of {place.name}, but from "
        f"{one.offset} on the transaction of {one.name} was open",
        subject=str(place.name),
        time_ns=answer.time_ns,
        witness=(*one.operations, answer.op),
        explanation=(
            f"Operation {one.operations[0]} began that transaction, with a record at {one.offset}.",
            f"Until {one.until_ns / 1e9:.3f} s its end was not requested and its timeout had not expired.",
            shown(answer),
        ),
    )


@once
def opened_in(history: History) -> dict[PartitionName, list[Opened]]:
    """Records of transactions with known offsets, by partition, ordered by the ends of their transactions."""
    ends = _Ends(history)
    found: dict[PartitionName, list[Opened]] = {}
    begun: dict[int | str, Operation] = {}
    for operation in history.of("txn"):
        if operation.type is INVOKE:
            begun[operation.process] = operation
            continue
        began = begun.pop(operation.process, None)
        if began is None or not isinstance(operation.value, dict):
            continue
        until_ns = ends.earliest(began, operation)
        for _, topic, partition, _, *offset in sends_of(operation):
            if offset and offset[0] is not None:
                record = Opened(
                    offset[0], began.time_ns, until_ns, str(began.key), (began.index, operation.index)
                )
                found.setdefault(PartitionName(topic, partition), []).append(record)
    return found


class _Ends:
    """The earliest times at which transactions may have ended."""

    def __init__(self, history: History) -> None:
        self._timeout_ms = recorded_setup(history).workload.transaction_timeout_ms
        self._inits = _calls(history.of("init-transactions"))
        self._aborts = [o for o in history.of("abort-transaction") if o.type is INVOKE]

    def earliest(self, began: Operation, ended: Operation) -> int:
        """When its end was first requested, by any producer, or its timeout passed; 0 if unknown.

        An initialisation of the same id may end it at any time after that request, if it was answered after
        the transaction began, or if its outcome is unknown.  If the commit was acknowledged, none did: the
        coordinator would have refused the commit, because of the epoch.
        """
        mine = [(asked, answer) for asked, answer in self._inits if asked.key == began.key]
        rivals = [
            asked.time_ns
            for asked, answer in mine
            if ended.type is not OK and (answer is None or answer.type is INFO or answer.index > began.index)
        ]
        known = [
            msgspec.convert(answer.value, ProducerInitialised)
            for _, answer in mine
            if answer is not None and answer.type is OK and answer.index < began.index
        ]
        recorded_ms = known[-1].timeout_ms if known else None
        timeout_ms = self._timeout_ms if recorded_ms is UNSET else recorded_ms
        if timeout_ms is None or "ending_ns" not in ended.value:
            return 0
        ids = {each.producer_id for each in known}
        aborts = [
            operation.time_ns
            for operation in self._aborts
            if operation.index > began.index
            and msgspec.convert(operation.value, LeaderRequested).producer_id in ids
        ]
        asked_ns = NEVER if ended.value["ending_ns"] is None else int(ended.value["ending_ns"])
        timeout_ns = began.time_ns + timeout_ms * NS_PER_MS
        return min((asked_ns, timeout_ns, *rivals, *aborts))


def _calls(operations: Iterable[Operation]) -> list[tuple[Operation, Operation | None]]:
    """Invocations in their order, each with its completion if it has one."""
    answers: dict[int, Operation] = {}
    begun: dict[int | str, int] = {}
    asked: list[Operation] = []
    for operation in operations:
        if operation.type is INVOKE:
            begun[operation.process] = operation.index
            asked.append(operation)
        elif operation.process in begun:
            answers[begun.pop(operation.process)] = operation
    return [(each, answers.get(each.index)) for each in asked]
