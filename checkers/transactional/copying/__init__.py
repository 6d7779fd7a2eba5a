"""Exactly once: each record below a group's offset has one visible copy, and no other record has one.

Copies are distinguished by their values: every attempt at a copy sends a new value, and the transaction's
invocation names its input (docs/histories.md, ``consumed``).

1.  ``copy-duplicated``: two copies of one input are visible to read_committed readers.
2.  ``copy-lost``: no copy of an input is visible, although the group's offset is above it, or a transaction
   that copied it was acknowledged as committed.
3.  ``copy-without-offsets``: a copy of an input is visible, although the group's offset was at or below it
   when all transactions had ended.
4.  ``committed-offset-unasked``: the group's offset is one that no transaction requested (`unrequested`).

A finding is legal if an event that removed records of its partitions may explain it (`excuses`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers, PartitionName
from checkers.history.operations import FAIL, OK, History
from checkers.history.setup import recorded_setup
from checkers.history.sources import unassigned_damage
from checkers.transactional.copying.anomalies import ANOMALIES, DUPLICATED, LOST, NEEDS, WITHOUT_OFFSETS
from checkers.transactional.copying.excuses import CopyFinding, Excuses
from checkers.transactional.copying.loading import Copying, copying_of
from checkers.transactional.copying.unrequested import find_unrequested
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import Assumption, CheckerResult, result_of

CHECKER = "copying"
COPIED_MIN = 100
"""Least number of copied records for a valid result."""


class Matched(NamedTuple):
    """Inputs and their visible copies.

    Attributes:
        inputs: shape (2, n), ascending, place and offset of each input that has a copy or must have one.
        input_of_copy: per visible copy, the column of `inputs`; `NONE` for records that no transaction with
            ``consumed`` sent.
        attempt_of_copy: per visible copy, the row of `Attempts`, `NONE` in the same cases.
        copies: visible copies of each input, shape (n,).
        owed: whether each input must have one, shape (n,).
    """

    inputs: Integers
    input_of_copy: Integers
    attempt_of_copy: Integers
    copies: Integers
    owed: Booleans


def check_copying(history: History) -> CheckerResult:
    """Judge the copies of a history; the result is not exercised if its transactions copy nothing.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
    """
    copying = copying_of(history)
    if not copying.transactions and not _means_to_copy(history):
        nothing = {"inputs": 0, "copies": 0, "aborted_attempts": 0}
        return result_of(CHECKER, [], figures=nothing, exercised=False)
    matched = _matched(copying)
    excuses = Excuses(history, copying)
    found = [
        excuses.judged(one)
        for some in (
            _duplicated(history, copying, matched),
            _lost(history, copying, matched),
            _without_offsets(history, copying, matched),
        )
        for one in some
    ]
    copied = int((matched.copies > 0).sum())
    least = f"at least {COPIED_MIN} records with a visible copy"
    return result_of(
        CHECKER,
        [*found, *find_unrequested(history)],
        assumptions=(Assumption("records-copied", copied >= COPIED_MIN, least, str(copied)),),
        figures={
            "inputs": copying.inputs.shape[1],
            "copies": copied,
            "aborted_attempts": _aborted(copying),
        },
        unknown_because=_doubt(history, copying),
    )


def _means_to_copy(history: History) -> bool:
    return recorded_setup(history).workload.kind == "copy"


def _matched(copying: Copying) -> Matched:
    attempts, visible = copying.attempts, copying.copies
    order = np.argsort(attempts.value, kind="stable")
    values = np.append(attempts.value[order], NONE)
    row = np.searchsorted(values[:-1], visible.value)
    attempt = np.where(values[row] == visible.value, np.append(order, NONE)[row], NONE)
    sources = np.stack((attempts.place, attempts.offset))
    answered = attempt[attempt != NONE]
    wanted = np.concatenate((_owed(copying), sources[:, answered]), axis=1)
    inputs, where = np.unique(wanted, axis=1, return_inverse=True)
    where = where.reshape(-1)
    owes = wanted.shape[1] - len(answered)
    owed = np.zeros(inputs.shape[1], dtype=np.bool_)
    owed[where[:owes]] = True
    input_of_copy = np.full(len(attempt), NONE, dtype=np.int64)
    input_of_copy[attempt != NONE] = where[owes:]
    copies = np.bincount(where[owes:], minlength=inputs.shape[1])
    return Matched(inputs, input_of_copy, attempt, copies, owed)


def _owed(copying: Copying) -> Integers:
    """Inputs that must have a copy: those below the group's offsets, and those of a committed transaction."""
    place, offset = copying.inputs
    bounds = np.zeros(len(copying.places), dtype=np.int64)
    for code, (bound, _) in (copying.acknowledged | copying.committed).items():
        bounds[code] = bound
    passed = copying.inputs[:, offset < bounds[place]]
    attempts = copying.attempts
    committed = np.array([t.outcome is OK for t in copying.transactions], dtype=np.bool_)
    mine = committed[attempts.transaction]
    return np.concatenate((passed, np.stack((attempts.place[mine], attempts.offset[mine]))), axis=1)


def _duplicated(history: History, copying: Copying, matched: Matched) -> Iterator[CopyFinding]:
    for index in np.flatnonzero(matched.copies > 1).tolist():
        copies = np.flatnonzero(matched.input_of_copy == index).tolist()
        anomaly = DUPLICATED.found(
            f"{_input(copying, matched, index)} has {len(copies)} visible copies",
            subject=_input(copying, matched, index),
            time_ns=_time_ns(history, copying, copies),
            witness=_witness(copying, matched, copies),
            explanation=[_copy(copying, matched, copy) for copy in copies],
        )
        yield CopyFinding(anomaly, *matched.inputs[:, index].tolist())


def _lost(history: History, copying: Copying, matched: Matched) -> Iterator[CopyFinding]:
    """Missing copies.

    Only reported if the outputs were read to their ends, because otherwise a copy may be unread.
    """
    if copying.unread:
        return
    attempts = copying.attempts
    for index in np.flatnonzero(matched.owed & (matched.copies == 0)).tolist():
        place, offset = matched.inputs[:, index].tolist()
        tried = np.flatnonzero((attempts.place == place) & (attempts.offset == offset))
        transactions = [copying.transactions[row] for row in attempts.transaction[tried].tolist()]
        group_offset = (copying.acknowledged | copying.committed).get(place)
        witness = sorted({at for transaction in transactions for at in transaction.positions})
        explanation = [f"{len(transactions)} transactions tried to copy it. None of the copies is visible."]
        if group_offset is not None:
            witness = sorted({*witness, group_offset[1]})
            explanation.append(f"The group's offset is {group_offset[0]} (operation {group_offset[1]}).")
        anomaly = LOST.found(
            f"{_input(copying, matched, index)} has no visible copy",
            subject=_input(copying, matched, index),
            time_ns=history.operations[witness[-1]].time_ns,
            witness=witness,
            explanation=explanation,
        )
        yield CopyFinding(anomaly, place, offset)


def _without_offsets(history: History, copying: Copying, matched: Matched) -> Iterator[CopyFinding]:
    """Copies without offsets.

    The group's final offsets are used, because acknowledged commits are only lower bounds.
    """
    bounds = np.full(len(copying.places) + 1, np.iinfo(np.int64).max)
    for code, (bound, _) in copying.committed.items():
        bounds[code] = bound
    place, offset = matched.inputs
    for index in np.flatnonzero((offset >= bounds[place]) & (matched.copies > 0)).tolist():
        copies = np.flatnonzero(matched.input_of_copy == index).tolist()
        bound, operation = copying.committed[int(place[index])]
        anomaly = WITHOUT_OFFSETS.found(
            f"{_input(copying, matched, index)} has a visible copy, but the group continues at {bound}",
            subject=_input(copying, matched, index),
            time_ns=history.operations[operation].time_ns,
            witness=sorted({*_witness(copying, matched, copies), operation}),
            explanation=[_copy(copying, matched, copy) for copy in copies]
            + [f"The group's offset is {bound} (operation {operation})."],
        )
        yield CopyFinding(anomaly, *matched.inputs[:, index].tolist())


def _input(copying: Copying, matched: Matched, index: int) -> str:
    code, offset = matched.inputs[:, index].tolist()
    place = copying.places[code]
    return f"{PartitionName(place.topic, place.partition)}@{offset}"


def _copy(copying: Copying, matched: Matched, copy: int) -> str:
    copies = copying.copies
    where = PartitionName(*copying.partitions[int(copies.partition[copy])])
    row = copying.attempts.transaction[matched.attempt_of_copy[copy]]
    return (
        f"The transaction of operation {copying.transactions[int(row)].begin} sent "
        f"{int(copies.value[copy])}, which is at {where}@{int(copies.offset[copy])}."
    )


def _witness(copying: Copying, matched: Matched, copies: list[int]) -> list[int]:
    """Operations that show copies: their transactions and the reads that returned them."""
    rows = copying.attempts.transaction[matched.attempt_of_copy[copies]].tolist()
    transactions = {at for row in rows for at in copying.transactions[row].positions}
    return sorted({*transactions, *copying.copies.read[copies].tolist()})


def _time_ns(history: History, copying: Copying, copies: list[int]) -> int:
    return history.operations[int(copying.copies.read[copies].max())].time_ns


def _aborted(copying: Copying) -> int:
    """Number of attempts at copies whose transactions certainly were not committed."""
    failed = np.array([t.outcome is FAIL for t in copying.transactions], dtype=np.bool_)
    return int(failed[copying.attempts.transaction].sum())


def _doubt(history: History, copying: Copying) -> str | None:
    doubts = list(unassigned_damage(history))
    if copying.unread:
        unread = ", ".join(f"{topic}/{number}" for topic, number in copying.unread)
        doubts.append(f"no final read at read_committed came to the end of {unread}")
    return "; ".join(doubts) or None


ENTRY = Entry(CHECKER, check_copying, ANOMALIES, NEEDS)
