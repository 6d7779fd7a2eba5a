"""Transactions whose decision, to commit or to abort, their coordinator's topic was permitted to lose.

The coordinator answers once its decision is in ``__transaction_state``, and has markers written afterwards
(KIP-98).  What its successor does that lacks the end of that log:

- it finds the transaction under way, and aborts it when its time is up: of what was acknowledged as committed
  the records stay in the log, and no reader of committed records is given them where no marker was before;
- it finds an older decision, whose markers it writes again: they decide on what is open by then;
- it adds the next transaction's partitions to one that was aborted, and commits both.

Nothing of this removes a record, nor takes back what a reader of committed records was given.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np

from checkers.coordinators import TRANSACTIONS_TOPIC, transactions_partition
from checkers.history import INVOKE, History
from checkers.licences.internal import Loss, losses
from checkers.licences.permits import Decisions, no_decisions

_REASON = "a decision that its coordinator has lost is no decision any more (KIP-98)"


def decisions_of(history: History) -> Decisions:
    """Find the transactions of a history that a loss of their coordinator's topic may have come upon.

    One that came before a transaction began concerns it no more: its coordinator decides anew.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    if not history.of("txn") or not losses(history, TRANSACTIONS_TOPIC):
        return no_decisions()
    found = list(_found(history))
    texts = tuple(dict.fromkeys(text for _, text in found))
    row_of = {text: row for row, text in enumerate(texts)}
    return Decisions(
        np.array([operation for operation, _ in found], dtype=np.int64),
        np.array([row_of[text] for _, text in found], dtype=np.int64),
        texts,
    )


def _found(history: History) -> Iterator[tuple[int, str]]:
    @cache
    def losses_of(transactional_id: str) -> tuple[Loss, ...]:
        place = transactions_partition(history, transactional_id)
        return losses(history, TRANSACTIONS_TOPIC, None if place is None else place.partition)

    for operation in history.of("txn"):
        if operation.type is INVOKE:
            mine = (loss for loss in losses_of(str(operation.key)) if loss.until_ns >= operation.time_ns)
            loss = next(mine, None)
            if loss is not None:
                yield operation.index, f"{TRANSACTIONS_TOPIC}: {loss.text}; {_REASON}"
