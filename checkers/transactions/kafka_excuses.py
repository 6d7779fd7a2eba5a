"""Which findings of transactions may follow from what their coordinator's topic was permitted to lose.

A coordinator keeps the states of its transactional ids in one partition of ``__transaction_state``.  If that
may have lost records, a commit that was acknowledged may never be carried out, or in a part of its partitions
only; markers of an earlier decision may be written again, and decide on what is open by then; and an epoch
that was raised may be as it was, so that nobody is fenced (KIP-98).  What was lost before a transaction began
is no part of it.
"""

from collections.abc import Iterable, Iterator

import msgspec

from checkers.coordinators import TRANSACTIONS_TOPIC, transactions_partition
from checkers.history import History
from checkers.licences.internal import may_have_lost
from checkers.verdict import Anomaly

EXCUSABLE = frozenset({"torn-transaction", "hanging-transaction", "zombie-accepted", "precommitted-read"})
"""What a lost state may bring about; see `checkers.licences.decisions`."""


def excused(history: History, found: Iterable[Anomaly]) -> Iterator[Anomaly]:
    """The findings, legal with their licence where a lost state may explain them.

    Whose transaction hangs nobody can tell: there any partition of the coordinators' topic will do.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    for anomaly in found:
        lost = _lost(history, anomaly) if anomaly.illegal and anomaly.id in EXCUSABLE else None
        yield anomaly if lost is None else msgspec.structs.replace(anomaly, illegal=False, licence=lost)


def _lost(history: History, anomaly: Anomaly) -> str | None:
    operations = [history.operations[index] for index in anomaly.witness]
    since_ns = min((operation.time_ns for operation in operations), default=0)
    owner = next((str(operation.key) for operation in operations if operation.f == "txn"), None)
    place = None if owner is None else transactions_partition(history, owner)
    since_ns = since_ns if owner is not None else 0
    return may_have_lost(history, TRANSACTIONS_TOPIC, None if place is None else place.partition, since_ns)
