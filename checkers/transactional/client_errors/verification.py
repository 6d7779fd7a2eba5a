"""Batches that a leader refused because the coordinator did not know their partition.

When a leader receives the first batch of a transaction, it asks the coordinator whether the partition is part
of the transaction (KIP-890).  The coordinator first checks the producer's id and epoch, and then whether a
decision is being carried out.  Only after that it looks for the partition.  So if the leader answers that the
partition was not added, no other producer has the id, and the transaction has not exceeded its timeout,
because both would have raised the epoch first.

A library sends a batch only after the coordinator acknowledged that the partition was added.  The coordinator
keeps it until the transaction ends.

Such a refusal is in doubt in two cases.  The end of an earlier transaction with the same epoch may have been
requested twice, so that the second request ended this transaction (KAFKA-17754).  Or the coordinator may have
moved: a former coordinator can answer from its old state.
"""

from checkers.evidence.coordinators import transactions_partition
from checkers.evidence.late_requests import ended_late
from checkers.evidence.named_errors import TXN_STATE, nothing_but
from checkers.evidence.partition_changes import partition_changes
from checkers.evidence.producers import OperationPair
from checkers.history.operations import History

_NOT_ADDED = "Partition was not added to the transaction"
"""The text that a leader adds to INVALID_TXN_STATE for a batch; ``kafka.server.ReplicaManager``.

kafka-python and kafka-clients 3.6 and 3.7 report it.  Later clients receive TRANSACTION_ABORTABLE without a
text.
"""


def refused_by_leader(call: OperationPair) -> bool:
    """Whether a transaction failed only because a leader learned that a partition was not added to it."""
    error = (call.ended.error if call.ended is not None else None) or ""
    return _NOT_ADDED in error and nothing_but(error, (TXN_STATE,))


def doubt_of_refusal(history: History, call: OperationPair, producer: OperationPair | None) -> str | None:
    """Why the coordinator may have been right about a partition; None if it can't have been.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        call: a transaction for which `refused_by_leader` holds.
        producer: the latest acknowledged initialisation by the process of the transaction.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    if producer is None or call.ended is None:
        return "no acknowledged initialisation of this producer is in the history"
    return ended_late(history, call, producer) or _moved(
        history, str(call.begun.key), producer.begun.time_ns, call.ended.time_ns
    )


def _moved(history: History, transactional_id: str, from_ns: int, to_ns: int) -> str | None:
    place, changes = transactions_partition(history, transactional_id), partition_changes(history)
    if place is None or not changes.is_complete(place, to_ns):
        return "it is not known which broker was the coordinator"
    terms = {(state.leader, state.leader_epoch) for state in changes.possible(place, from_ns, to_ns)}
    return None if len(terms) == 1 else "the coordinator may have moved, and the former one have answered"
