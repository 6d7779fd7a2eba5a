"""Judges descriptions of transactions (KIP-664) against the operations of these transactions.

A deposed broker that does not know of its successor yet reports an old state.  So a broker's answer must
reflect an acknowledged operation only in two cases: the broker acknowledged it itself, or the broker leads
the partition for the first time since then, and so has loaded everything that was committed before.  For a
coordinator, the partition is one of ``__transaction_state``.

1. A transaction is ongoing, with all its partitions, from when its records were sent until the earliest of
   its timeout, its end, and an abort marker: ``open-transaction-unknown``.  An initialisation of its id that
   was never answered may have ended it, as long as it may arrive late.
2. In each partition it begins at its first record there: ``open-producer-unknown``.
3. After an abort marker was acknowledged, it is no longer open: ``aborted-transaction-open``.  The
   coordinator does not learn of that marker.  So a record that was never answered may be appended after it,
   which opens the transaction again.
4. Once a coordinator has reported that it is aborted, no commit of it is acknowledged:
   ``commit-after-abort``.

A legal loss in ``__transaction_state`` excuses 1 and 4 (`checkers.licences.decisions`).  Rules 2 and 3 apply
only if no unclean election or disk fault may have removed records from the partition's log.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from checkers.administration.descriptions.anomalies import (
    ABORTED_OPEN,
    ANOMALIES,
    COMMIT_AFTER_ABORT,
    NEEDS,
    PRODUCER_UNKNOWN,
    TRANSACTION_UNKNOWN,
)
from checkers.administration.descriptions.loading import (
    DescribedTransaction,
    Producer,
    TransactionAnswer,
    answers_of,
    transactions_known,
)
from checkers.columns.tables import PartitionName
from checkers.evidence.coordinators import transactions_partition
from checkers.evidence.partition_changes import partition_changes
from checkers.history.operations import OK, History, Operation
from checkers.history.transactions import (
    CoordinatorRequested,
    LeaderRequested,
    MarkerAnswered,
    ProducerDescribed,
    TransactionDescribed,
)
from checkers.licences.decisions import lost_state
from checkers.licences.internal import Loss, losses
from checkers.verdict.entry import Entry
from checkers.verdict.kinds import AnomalyKind
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

__all__ = ["ENTRY", "check_descriptions"]

CHECKER = "descriptions"
"""Name of the checker, as in verdicts."""
_ONGOING = "Ongoing"
_ABORTED = frozenset({"PrepareAbort", "CompleteAbort", "PrepareEpochFence"})
_NOWHERE = -1
"""The start offset of a producer without an open transaction."""


_ABORT = "abort-transaction"
AnyAnswer = TransactionAnswer[CoordinatorRequested | LeaderRequested]


class _Story(NamedTuple):
    history: History
    transactions: Mapping[Producer, DescribedTransaction]
    transaction_answers: tuple[TransactionAnswer[TransactionDescribed], ...]
    producer_answers: tuple[TransactionAnswer[ProducerDescribed], ...]
    aborts: tuple[TransactionAnswer[MarkerAnswered], ...]


def check_descriptions(history: History) -> CheckerResult:
    """Judge all descriptions; the result is not exercised if none was requested.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    story = _Story(
        history,
        transactions_known(history),
        tuple(answers_of(history, "describe-transaction", TransactionDescribed)),
        tuple(answers_of(history, "describe-producer", ProducerDescribed)),
        tuple(answers_of(history, _ABORT, MarkerAnswered)),
    )
    found = [*_unknown_transactions(story), *_producers(story), *_committed_after(story)]
    figures = {
        "transactions_described": len(story.transaction_answers),
        "producers_described": len(story.producer_answers),
        "aborted_by_administrators": len(story.aborts),
        "described_while_open": sum(
            _certainly_open(story, each) is not None for each in story.transaction_answers
        ),
    }
    return result_of(CHECKER, found, figures=figures, exercised=any(figures.values()))


def _certainly_open(story: _Story, answer: AnyAnswer) -> DescribedTransaction | None:
    """The transaction that an answer describes, if it was certainly open at that time."""
    one = story.transactions.get(answer.producer)
    if one is None or answer.asked.time_ns < one.open_ns or answer.answered.time_ns >= one.until_ns:
        return None
    return one


def _reliable(history: History, place: PartitionName | None, to: int, since_ns: int, *, own: bool) -> bool:
    """Whether a broker that answers as the leader must know everything that was acknowledged by a time.

    Args:
        history: has the leaders.
        place: the partition; None if unknown.
        to: the broker's id.
        since_ns: the time.
        own: whether the broker itself acknowledged.
    """
    if own:
        return True
    changes = partition_changes(history)
    if place is None or not changes.is_complete(place, since_ns):
        return False
    before = [state for state in changes.states[place] if changes.span(state).from_ns <= since_ns]
    return all(state.leader != to for state in before)


def _unknown_transactions(story: _Story) -> Iterator[Anomaly]:
    for answer in story.transaction_answers:
        one = _certainly_open(story, answer)
        if one is None:
            continue
        place = transactions_partition(story.history, one.name)
        if not _reliable(story.history, place, answer.to, one.open_ns, own=answer.to == one.coordinator):
            continue
        why = _not_under_way(answer, one)
        if why is not None:
            text = (
                f"The coordinator of {one.name}, broker {answer.to}, reported {why} while the "
                "transaction was open."
            )
            anomaly = _found(TRANSACTION_UNKNOWN, text, one, answer)
            yield _licensed(story, one, anomaly, answer.answered.time_ns)


def _not_under_way(answer: TransactionAnswer[TransactionDescribed], one: DescribedTransaction) -> str | None:
    """The part of an open transaction that an answer wrongly lacks; None if there is none."""
    now = answer.described
    if Producer(now.told_id, now.told_epoch) != answer.producer:
        return f"producer {now.told_id} in epoch {now.told_epoch}"
    if now.state != _ONGOING:
        return f"the state {now.state}"
    lacking = one.offsets.keys() - set(now.partitions)
    names = sorted(str(PartitionName(*each)) for each in lacking)
    return f"no partition of {', '.join(names)}" if names else None


def _producers(story: _Story) -> Iterator[Anomaly]:
    """Wrong reports of leaders about producers whose transactions were open or aborted there."""
    lost: dict[tuple[str, int], tuple[Loss, ...]] = {}
    for answer in story.producer_answers:
        place = (str(answer.asked.key), answer.described.partition)
        one, now = story.transactions.get(answer.producer), answer.described
        if one is None:
            continue
        if place not in lost:
            lost[place] = losses(story.history, *place)
        if any(loss.meets(one.begun.time_ns, answer.answered.time_ns) for loss in lost[place]):
            continue
        aborts = [each for each in story.aborts if _of(each, answer, place)]
        marked = [each for each in aborts if each.answered.time_ns <= answer.asked.time_ns]
        is_open = now.known and now.told_epoch == answer.producer.epoch and now.start_offset >= 0
        if marked and is_open and place not in one.unanswered and _heard(story, answer, marked[0], place):
            yield _aborted(one, answer, marked[0], PartitionName(*place))
        asked = any(_concerns(each, answer, place) for each in story.history.of(_ABORT))
        if place in one.offsets and not asked and _certainly_open(story, answer) is not None:
            yield from _unknown_producer(story, one, answer, PartitionName(*place))


def _heard(story: _Story, answer: AnyAnswer, abort: AnyAnswer, place: tuple[str, int]) -> bool:
    since_ns = abort.answered.time_ns
    return _reliable(story.history, PartitionName(*place), answer.to, since_ns, own=answer.to == abort.to)


def _of(abort: TransactionAnswer[MarkerAnswered], answer: AnyAnswer, place: tuple[str, int]) -> bool:
    """Whether an abort concerns the described producer in the described partition."""
    return abort.producer == answer.producer and (abort.asked.key, abort.described.partition) == place


def _concerns(asked: Operation, answer: AnyAnswer, place: tuple[str, int]) -> bool:
    """Whether a requested abort, with any outcome, may have come before an answer."""
    about = msgspec.convert(asked.value, LeaderRequested)
    return (
        asked.time_ns <= answer.answered.time_ns
        and Producer(about.producer_id, about.epoch) == answer.producer
        and (asked.key, about.partition) == place
    )


def _unknown_producer(
    story: _Story,
    one: DescribedTransaction,
    answer: TransactionAnswer[ProducerDescribed],
    place: PartitionName,
) -> Iterator[Anomaly]:
    now, offset = answer.described, one.offsets[place.topic, place.partition]
    known = now.known and now.told_epoch == answer.producer.epoch
    begins = now.start_offset if known else _NOWHERE
    own = _sent_to(one, answer)
    if begins == offset or not _reliable(story.history, place, answer.to, one.open_ns, own=own):
        return
    where = "nowhere" if begins == _NOWHERE else f"at {begins}"
    text = (
        f"The leader of {place}, broker {answer.to}, reported that the transaction of {one.name} "
        f"begins {where} there, while it was open from {offset} on."
    )
    yield _found(PRODUCER_UNKNOWN, text, one, answer)


def _sent_to(one: DescribedTransaction, answer: TransactionAnswer[ProducerDescribed]) -> bool:
    """Whether the broker that was asked is the one that acknowledged the record."""
    return answer.to == one.leaders.get(str(answer.described.partition))


def _aborted(
    one: DescribedTransaction,
    answer: TransactionAnswer[ProducerDescribed],
    abort: TransactionAnswer[MarkerAnswered],
    place: PartitionName,
) -> Anomaly:
    text = (
        f"The leader of {place} acknowledged an abort marker for {one.name}, and later broker "
        f"{answer.to} reported that the transaction is open there from offset "
        f"{answer.described.start_offset} on."
    )
    return _found(ABORTED_OPEN, text, one, answer, abort)


def _committed_after(story: _Story) -> Iterator[Anomaly]:
    for answer in story.transaction_answers:
        one, now = story.transactions.get(answer.producer), answer.described
        if one is None or one.ended.type is not OK or now.told_id != answer.producer.producer_id:
            continue
        # A broker that reports an earlier epoch has not learned of this transaction yet.
        aborted = now.state in _ABORTED and now.told_epoch >= answer.producer.epoch
        if aborted and one.ending_ns is not None and answer.answered.time_ns <= one.ending_ns:
            text = (
                f"The commit of {one.name} was acknowledged after its coordinator had reported the "
                f"state {now.state}."
            )
            yield _licensed(story, one, _found(COMMIT_AFTER_ABORT, text, one, answer), one.ended.time_ns)


def _licensed(story: _Story, one: DescribedTransaction, anomaly: Anomaly, until_ns: int) -> Anomaly:
    lost = lost_state(story.history, one.name, one.begun.time_ns, until_ns)
    return anomaly if lost is None else msgspec.structs.replace(anomaly, illegal=False, licence=lost)


def _answer(answer: AnyAnswer) -> str:
    return (
        f"Asked at {answer.asked.time_ns / 1e9:.3f} s, broker {answer.to} answered to {answer.asked.f} at"
        f" {answer.answered.time_ns / 1e9:.3f} s: {answer.answered.value}."
    )


def _operations(answers: list[AnyAnswer]) -> Iterator[int]:
    for each in answers:
        yield from (each.asked.index, each.answered.index)


def _found(
    kind: AnomalyKind, text: str, one: DescribedTransaction, answer: AnyAnswer, *others: AnyAnswer
) -> Anomaly:
    asked = sorted((answer, *others), key=lambda each: each.asked.index)
    return kind.found(
        text,
        subject=one.name,
        time_ns=answer.answered.time_ns,
        witness=sorted({one.begun.index, one.ended.index, *_operations(asked)}),
        explanation=(
            f"Operation {one.begun.index} began the transaction of {one.name}.",
            f"Its records were acknowledged by {one.open_ns / 1e9:.3f} s.",
            f"By its timeout and the requests to end it, it was open to {one.until_ns / 1e9:.3f} s at least.",
            *map(_answer, asked),
        ),
    )


ENTRY = Entry(CHECKER, check_descriptions, ANOMALIES, NEEDS)
