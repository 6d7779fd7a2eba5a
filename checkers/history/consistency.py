"""Conditions of values in a history that types can't express."""

import msgspec

from checkers.history.polls import FinalRead, FinalReadPart, Polled
from checkers.history.sends import Answered, AnsweredRun, Sent, UnansweredRun
from checkers.history.transactions import Txn, TxnPoll, TxnSend


def problem_of(value: object, kind: object) -> str | None:
    """Why a value does not have a type; None if it has."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def all_or_nothing(value: FinalReadPart) -> str | None:
    """Why a part of a final read is neither complete nor empty; None if it is one of both."""
    present = [limit is not None for limit in (value.start, value.end, value.position)]
    if all(present) or not (any(present) or value.records):
        return of_its_partition(value)
    return "Expected start, end and position, or none of them and no records"


def of_its_partition(value: FinalRead | FinalReadPart) -> str | None:
    """Why records do not belong to the partition that was read; None if they do."""
    if any(partition != value.partition for partition, _, _ in value.records):
        return f"Expected records of partition {value.partition} alone"
    return paired(value)


def paired(value: Polled | FinalRead | FinalReadPart | TxnPoll) -> str | None:
    """Why records do not have a value for each offset; None if they do."""
    if all(len(offsets) == len(values) for _, offsets, values in value.records):
        return None
    return "Expected as many values as offsets"


def requested_or_answered(value: list[object] | UnansweredRun | None) -> str | None:
    """Why records of a send are neither requested nor answered ones; None if they are."""
    if value is None or isinstance(value, UnansweredRun):
        return None
    pairs = all(isinstance(entry, list) and len(entry) == len(("partition", "value")) for entry in value)
    return problem_of(value, Sent if pairs else Answered)


def filled(value: list[object] | AnsweredRun) -> str | None:
    """Why the stretches of an answered run do not have its number of records; None if they do."""
    if isinstance(value, list) or sum(count for _, count in value.offsets) == value.count:
        return None
    return f"Expected stretches of {value.count} records together"


def transaction_paired(value: Txn) -> str | None:
    """Why what a transaction consumed and sent does not fit together; None if it does."""
    if any(len(offsets) != len(values) for _, _, offsets, values in value.consumed):
        return "Expected as many values as offsets"
    answers = sum(isinstance(mop, TxnSend) for mop in value.mops)
    if value.consumed and answers != sum(len(offsets) for _, _, offsets, _ in value.consumed):
        return "Expected one send for each record consumed"
    polls = (mop for mop in value.mops if isinstance(mop, TxnPoll))
    return next(filter(None, map(paired, polls)), None)


def perhaps_paired(value: Txn | None) -> str | None:
    """As `transaction_paired`; None if there is no transaction."""
    return None if value is None else transaction_paired(value)
