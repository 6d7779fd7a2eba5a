"""Findings of transactions that a lost decision may explain, or a marker that a replica missed.

A coordinator keeps the states of its transactional ids in one partition of ``__transaction_state``.  If that
partition may have lost records, there are three consequences (KIP-98).  An acknowledged commit may never be
carried out, or only in some of its partitions.  Markers of an earlier decision may be written again, and end
the transaction that is open at that time.  And a raised epoch may return to its former value, so that no
producer is fenced.

In a compacted topic a leader may have missed a marker (`checkers.licences.missed_markers`).

A loss before a transaction began, or after it was completely carried out, does not affect it
(`checkers.licences.decisions`).  Nor does a loss before an epoch was raised affect that epoch.
"""

from collections.abc import Iterable, Iterator

import msgspec
import numpy as np

from checkers.columns.tables import NEVER, NONE, PartitionName
from checkers.evidence.coordinators import TRANSACTIONS_TOPIC
from checkers.history.operations import INVOKE, OK, History
from checkers.history.transactions import sends_of
from checkers.licences.decisions import decisions_of, lost_state
from checkers.licences.internal import may_have_lost
from checkers.licences.missed_markers import missed_markers
from checkers.verdict.verdict import Anomaly

OF_DECISIONS = frozenset({"torn-transaction", "precommitted-read"})
"""Anomalies that a lost decision may cause."""
OF_EPOCHS = frozenset({"zombie-accepted", "producer-epoch-given-again"})
"""Anomalies that may be seen if the epoch of the witness's first initialisation is lost."""
OF_ANYBODY = frozenset({"hanging-transaction"})
"""Anomalies that a lost decision may cause, of any transactional id that wrote to the partition."""


def excused(history: History, found: Iterable[Anomaly]) -> Iterator[Anomaly]:
    """The findings; a finding is legal, with a licence, if a lost state may explain it.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    for anomaly in found:
        lost = _lost(history, anomaly) if anomaly.illegal else None
        yield anomaly if lost is None else msgspec.structs.replace(anomaly, illegal=False, licence=lost)


def _lost(history: History, anomaly: Anomaly) -> str | None:
    missed = [each.leaders for name, each in missed_markers(history).items() if str(name) == anomaly.subject]
    if anomaly.id in OF_ANYBODY:
        texts = (text for each in missed for text in each.texts)
        return _state_lost(history, anomaly) or next(texts, None)
    if anomaly.id in OF_DECISIONS:
        witness = np.array(anomaly.witness, dtype=np.int64)
        found = ((each.texts, each.of(witness)) for each in (decisions_of(history), *missed))
        return next((texts[row] for texts, rows in found for row in rows.tolist() if row != NONE), None)
    return _epoch_lost(history, anomaly) if anomaly.id in OF_EPOCHS else None


def _state_lost(history: History, anomaly: Anomaly) -> str | None:
    """An event by which an id that wrote to the anomaly's partition may have lost its state by then."""
    until_ns = NEVER if anomaly.time_ns is None else anomaly.time_ns
    ids = {
        str(operation.key)
        for operation in history.of("txn")
        if operation.type is INVOKE
        and any(str(PartitionName(str(mop[1]), mop[2])) == anomaly.subject for mop in sends_of(operation))
    }
    if not ids:
        return may_have_lost(history, TRANSACTIONS_TOPIC, until_ns=until_ns)
    return next(filter(None, (lost_state(history, each, 0, until_ns) for each in sorted(ids))), None)


def _epoch_lost(history: History, anomaly: Anomaly) -> str | None:
    operations = [history.operations[index] for index in anomaly.witness]
    given = [operation for operation in operations if operation.f == "init-transactions"]
    if len({str(operation.key) for operation in given}) != 1:
        return None
    # A request without an answer may have been executed at any time.
    unanswered = operations[-1].type is not OK
    until_ns = NEVER if unanswered else max(operation.time_ns for operation in operations)
    return lost_state(history, str(given[0].key), given[0].time_ns, until_ns)
