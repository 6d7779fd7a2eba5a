"""Producers with an old epoch whose error was not about the epoch, but about their transaction's state.

A coordinator that aborts a transaction after its timeout raises the producer's epoch.  If the producer goes
on, leaders answer INVALID_PRODUCER_EPOCH, after which it may abort and begin another transaction.  Leaders
that look for the ongoing transaction before they look at the epoch answer INVALID_TXN_STATE, which is fatal
(KAFKA-19690).  A coordinator answers a late commit with PRODUCER_FENCED, which ends the producer, but not its
application.  With transaction.version 2 it takes the request for a retry, because its own epoch is one ahead
as after any end of a transaction, and answers INVALID_TXN_STATE (KAFKA-20785).

The script ``timed-out-producer`` sends one request with records of two partitions of one leader, after which
the transaction times out.  The coordinator's answer about the second partition shows that the epoch is old,
and the leader had appended the marker with the new epoch before it answered.

The script ``late-commit`` delays a commit until the transaction has timed out.  Before the commit arrives, it
reads the producer's epoch from the coordinator (DescribeTransactions).
"""

from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from checkers.history.error_codes import ErrorCode
from checkers.history.operations import OK, History
from checkers.history.transactions import ScriptPlayed
from checkers.transactional.client_errors.anomalies import OLD_EPOCH_HIDDEN
from checkers.verdict.verdict import Anomaly

_HIDDEN = (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_EPOCH)


def hidden_epochs(history: History) -> Iterator[Anomaly]:
    """One finding for each script in which a broker hid that the producer's epoch was old.

    Raises:
        msgspec.ValidationError: the answers of a script are not as docs/histories.md says.
    """
    for operation in history.of("control"):
        if operation.type is not OK:
            continue
        played = msgspec.convert(operation.value, ScriptPlayed)
        newer_by = 0 if played.newer_by is UNSET else played.newer_by
        if played.late_commit_error == ErrorCode.INVALID_TXN_STATE and newer_by > 0:
            yield OLD_EPOCH_HIDDEN.found(
                "A commit that arrived after its transaction had timed out was answered INVALID_TXN_STATE.",
                subject="coordinator",
                time_ns=operation.time_ns,
                witness=(operation.index,),
                explanation=(
                    f"The coordinator had reported before that the producer's epoch was newer by {newer_by}.",
                ),
            )
        if played.timed_out_errors == _HIDDEN:
            yield OLD_EPOCH_HIDDEN.found(
                "After its transaction had timed out, a producer was answered INVALID_TXN_STATE.",
                subject="partition 0",
                time_ns=operation.time_ns,
                witness=(operation.index,),
                explanation=(
                    "The same answer says INVALID_PRODUCER_EPOCH about another partition of that leader.",
                ),
            )
