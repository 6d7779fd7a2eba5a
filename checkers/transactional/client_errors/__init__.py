"""The checker of client errors: errors that Kafka promises not to return, but returned.

A fatal error ends a producer, and the next producer continues.  This alone loses no record.  But some errors
show that a broker no longer knows records that it had acknowledged, or that a producer was fenced although no
other producer had replaced it.

The checker judges sequence numbers of idempotent and transactional producers (`forgotten_sequences`), refused
transactions (`fencing`), what a script was answered after its transaction had timed out (`outdated`), and
transactions of scripts that an older instance ended (`older_epochs`).  It does not judge retriable errors
(CONCURRENT_TRANSACTIONS), errors that libraries cause themselves (INVALID_PRODUCER_EPOCH of a plain producer,
which raises its epoch after a timeout, KIP-360), and refusals of initialisations.
"""

from checkers.history.operations import INVOKE, History
from checkers.history.setup import Setup, setup_of
from checkers.history.sources import Source, lacking
from checkers.transactional.client_errors.anomalies import ANOMALIES
from checkers.transactional.client_errors.fencing import refusals, refused_transactions
from checkers.transactional.client_errors.forgotten_sequences import lost_sequences, sequence_errors
from checkers.transactional.client_errors.older_epochs import fenced_by_older, refused_scripts
from checkers.transactional.client_errors.outdated import hidden_epochs
from checkers.verdict.entry import Entry
from checkers.verdict.needs import NOTHING
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

__all__ = ["CHECKER", "ENTRY", "check_client_errors"]

CHECKER = "client-errors"
_NEEDED = (Source.CLIENTS, Source.FAULTS, Source.ADMIN, Source.MOVES, Source.DISKS)


def check_client_errors(history: History) -> CheckerResult:
    """Judge errors of clients.

    The result is unknown if evidence that could permit them is missing.

    Raises:
        KeyError, msgspec.ValidationError: the history is not as docs/histories.md says.
    """
    setup = setup_of(history)
    ended = [o for f in ("send", "txn") for o in history.of(f) if o.type is not INVOKE]
    errors = (
        len(sequence_errors(history)) + len(refused_transactions(history)) + len(refused_scripts(history))
    )
    missing = lacking(history, *(_NEEDED if errors else (Source.CLIENTS,)))
    return result_of(
        CHECKER,
        _found(history, setup) if setup is not None and missing is None else [],
        figures={
            "operations": len(ended),
            "with_errors": sum(operation.error is not None for operation in ended),
            "errors_of_sequences": len(sequence_errors(history)),
            "refused_transactions": len(refused_transactions(history)),
        },
        unknown_because=_doubt(setup, errors, missing),
        exercised=bool(ended),
    )


def _found(history: History, setup: Setup) -> list[Anomaly]:
    return [
        *lost_sequences(history, setup),
        *refusals(history, setup),
        *hidden_epochs(history),
        *fenced_by_older(history, setup),
    ]


def _doubt(setup: Setup | None, errors: int, missing: str | None) -> str | None:
    if missing is not None:
        return missing
    return (
        "without a setup record the permitted causes of an error are unknown"
        if errors and not setup
        else None
    )


ENTRY = Entry(CHECKER, check_client_errors, ANOMALIES, NOTHING)
