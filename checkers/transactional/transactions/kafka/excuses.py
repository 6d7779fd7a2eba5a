"""Findings of transactions that a permitted loss in ``__transaction_state`` may explain.

A coordinator keeps the states of its transactional ids in one partition of ``__transaction_state``.  If that
may have lost records, an acknowledged commit may never be carried out, or in a part of its partitions only;
markers of an earlier decision may be written again, and decide on what is open by then; and an epoch that was
raised may be as it was, so that nobody is fenced (KIP-98).

What was lost before a transaction began, or after all of it was done, is no part of it
(`checkers.licences.decisions`); nor is what was lost before an epoch was raised.
"""

from collections.abc import Iterable, Iterator

import msgspec
import numpy as np

from checkers.columns.tables import NEVER, NONE
from checkers.evidence.coordinators import TRANSACTIONS_TOPIC
from checkers.history.operations import OK, History
from checkers.licences.decisions import decisions_of, lost_state
from checkers.licences.internal import may_have_lost
from checkers.verdict.verdict import Anomaly

OF_DECISIONS = frozenset({"torn-transaction", "precommitted-read"})
"""What a lost decision may bring about."""
OF_EPOCHS = frozenset({"zombie-accepted", "producer-epoch-given-again"})
"""What may be seen where the epoch is lost that the first initialisation of the witness was given."""
OF_ANYBODY = frozenset({"hanging-transaction"})
"""What a lost decision may bring about of which it is unknown whose it was."""


def excused(history: History, found: Iterable[Anomaly]) -> Iterator[Anomaly]:
    """The findings, legal with their licence where a lost state may explain them.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    for anomaly in found:
        lost = _lost(history, anomaly) if anomaly.illegal else None
        yield anomaly if lost is None else msgspec.structs.replace(anomaly, illegal=False, licence=lost)


def _lost(history: History, anomaly: Anomaly) -> str | None:
    if anomaly.id in OF_ANYBODY:
        return may_have_lost(history, TRANSACTIONS_TOPIC)
    if anomaly.id in OF_DECISIONS:
        decisions = decisions_of(history)
        rows = decisions.of(np.array(anomaly.witness, dtype=np.int64))
        return next((decisions.texts[row] for row in rows.tolist() if row != NONE), None)
    return _epoch_lost(history, anomaly) if anomaly.id in OF_EPOCHS else None


def _epoch_lost(history: History, anomaly: Anomaly) -> str | None:
    operations = [history.operations[index] for index in anomaly.witness]
    given = [operation for operation in operations if operation.f == "init-transactions"]
    if len({str(operation.key) for operation in given}) != 1:
        return None
    # What has no answer may have been done at any time.
    unanswered = operations[-1].type is not OK
    until_ns = NEVER if unanswered else max(operation.time_ns for operation in operations)
    return lost_state(history, str(given[0].key), given[0].time_ns, until_ns)
