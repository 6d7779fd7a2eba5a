"""What transaction coordinators were permitted to lose: commits, aborts, and producer epochs.

A coordinator keeps the states of its transactional ids in one partition of ``__transaction_state``.  It
answers once its decision is in that log, and has markers written afterwards (KIP-98).  A new coordinator
whose log lacks the last records does one of the following:

- It finds the transaction ongoing and aborts it after its timeout.  Records that were acknowledged as
  committed stay in the log.  If no marker had been written, read_committed consumers do not receive them.
- It finds an older decision and writes its markers again.  These markers end the transaction that is open at
  that time.
- It adds the next transaction's partitions to an aborted transaction, and commits both.
- It finds an older epoch.  It refuses producers with the newer epoch, and assigns that epoch again.

None of these removes a record, or takes back what a read_committed consumer received.

A loss affects only the last transaction of a transactional id.  Before all markers of a transaction are
written, a coordinator refuses to initialise the id and to begin another transaction of it.  So all earlier
transactions were complete before the loss.  A decision that a coordinator makes after a loss is kept.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from operator import attrgetter

import numpy as np

from checkers.columns.tables import NEVER
from checkers.evidence.coordinators import TRANSACTIONS_TOPIC, transactions_partition
from checkers.evidence.producers import OperationPair, initialisations, is_decided, transactions
from checkers.history.operations import History, once
from checkers.licences.internal import Loss, losses, may_have_lost
from checkers.licences.permits import Decisions, no_decisions

_REASON = "a commit or abort that its coordinator has lost is not carried out (KIP-98)"


@once
def decisions_of(history: History) -> Decisions:
    """Find the transactions that may be affected by a loss of their coordinator's topic.

    A loss before a transaction began does not affect it, nor does a loss after all its markers were written.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    if not history.of("txn") or not losses(history, TRANSACTIONS_TOPIC):
        return no_decisions()
    found = sorted(_found(history))
    texts = tuple(dict.fromkeys(text for _, text in found))
    row_of = {text: row for row, text in enumerate(texts)}
    return Decisions(
        np.array([operation for operation, _ in found], dtype=np.int64),
        np.array([row_of[text] for _, text in found], dtype=np.int64),
        texts,
    )


def lost_state(history: History, transactional_id: str, since_ns: int, until_ns: int) -> str | None:
    """Return an event by which a coordinator may have lost an id's acknowledged state; None if there is none.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        transactional_id: the id.
        since_ns: the earliest time at which the state was requested.
        until_ns: the latest time at which it can have been lost.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    place = transactions_partition(history, transactional_id)
    number = None if place is None else place.partition
    return may_have_lost(history, TRANSACTIONS_TOPIC, number, since_ns, until_ns)


def _found(history: History) -> Iterator[tuple[int, str]]:
    @cache
    def losses_of(transactional_id: str) -> tuple[Loss, ...]:
        place = transactions_partition(history, transactional_id)
        return losses(history, TRANSACTIONS_TOPIC, None if place is None else place.partition)

    following = _Following(history)
    for call in transactions(history):
        known = losses_of(str(call.begun.key))
        done_ns = following.done_ns(call) if known else NEVER
        loss = next((one for one in known if one.meets(call.begun.time_ns, done_ns)), None)
        if loss is not None:
            yield call.begun.index, f"{TRANSACTIONS_TOPIC}: {loss.text}; {_REASON}"


class _Following:
    """Finds the coordinators' actions that show that the previous transaction was complete.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
    """

    def __init__(self, history: History) -> None:
        self._begun_by = _by_key(call for call in initialisations(history) if call.to_ns != NEVER)
        self._decided = _by_key(call for call in transactions(history) if is_decided(call))

    def done_ns(self, call: OperationPair) -> int:
        """When a transaction's decision certainly had been carried out; `NEVER` if nothing shows it.

        If the outcome of its end is unknown, the end may still be requested later, unless the id has been
        initialised since.
        """
        if call.ended is None:
            return NEVER
        after = [_first(self._begun_by, call.begun.key, call.ended.index)]
        if call.ended.error is None:
            after.append(_first(self._decided, call.begun.key, call.ended.index))
        return min(after)


_Done = tuple[list[int], list[int]]
"""Positions where calls began, ascending; for each, the earliest completion of a call from there on."""


def _by_key(calls: Iterator[OperationPair]) -> dict[object, _Done]:
    found: dict[object, list[OperationPair]] = defaultdict(list)
    for call in calls:
        found[call.begun.key].append(call)
    return {key: _done(sorted(some, key=attrgetter("begun.index"))) for key, some in found.items()}


def _done(calls: list[OperationPair]) -> _Done:
    ends = [NEVER if call.ended is None else call.ended.time_ns for call in reversed(calls)]
    return [call.begun.index for call in calls], [*accumulate(ends, min)][::-1]


def _first(by_key: dict[object, _Done], key: object, position: int) -> int:
    """When the first call of a key that began after a position was complete; `NEVER` if there is none."""
    begun, over_ns = by_key.get(key, ([], []))
    place = bisect_right(begun, position)
    return over_ns[place] if place < len(begun) else NEVER
