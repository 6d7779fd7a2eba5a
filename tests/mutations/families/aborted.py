"""Replicas' indexes of aborted transactions at the end, beside their logs."""

from collections.abc import Callable
from typing import Any

from checkers.history.operations import Operation
from checkers.history.replicas import ABORTED, EVIDENCE_ABORTED
from tests.mutations.edits import Edit
from tests.mutations.looking import OK, columns_of
from tests.mutations.suite import VALID, Must, invalid, mutation, unknown

RUNS = ("txn", "copy")
_LACKS: Must = invalid("abort-not-indexed")
_EXCEEDS: Must = invalid("indexed-in-error")
_TRANSACTIONAL, _ABORT = 1 << 4, 0
Entry = list[int]
"""Producer id, first offset, offset of the marker, last stable offset."""


def _indexed(replica: Operation) -> list[Entry]:
    """What a broker writes to its index when it appends the batches of a log one by one."""
    found, begun = [], dict[int, int]()
    columns = columns_of(replica)
    rows = zip(*(columns[name].tolist() for name in _COLUMNS), strict=True)
    for producer, base, control, attributes in rows:
        if control < 0 and attributes & _TRANSACTIONAL:
            begun.setdefault(producer, base)
        elif control >= 0:
            first = begun.pop(producer, None)
            if control == _ABORT and first is not None:
                found.append([producer, first, base, min([base + 1, *begun.values()])])
    return found


_COLUMNS = ("producer_id", "base_offset", "control", "attributes")


def _tell(
    edit: Edit,
    change: Callable[[list[Entry], int], object] | None = None,
    *,
    problem: str | None = None,
    without: bool = False,
) -> None:
    """Let every replica have its index; `change` gets one index and the row of an entry in it.

    Args:
        edit: the history.
        change: changes one of the indexes in place.
        problem: what follows the entries of that index.
        without: whether that index is not recorded.
    """
    replicas = [o for o in edit.original.observed("replica") if o.value["error"] is None]
    indexes = [_indexed(replica) for replica in replicas]
    at, row = edit.chosen([(n, i) for n, entries in enumerate(indexes) for i in range(len(entries))])
    if change is not None:
        change(indexes[at], row)
    last_ns = max(replica.time_ns for replica in replicas)
    for number, (replica, entries) in enumerate(zip(replicas, indexes, strict=True)):
        if not (without and number == at):
            _observe(edit, replica, entries, last_ns, problem if number == at else None)


def _observe(edit: Edit, replica: Operation, entries: list[Entry], at_ns: int, problem: str | None) -> None:
    value: dict[str, Any] = {"began_ns": at_ns, "segments": [[0, entries, problem]], "error": None}
    value |= {name: replica.value[name] for name in ("topic", "partition")}
    edit.add(replica, at_ns + 1_000, type=OK, key=ABORTED, value=value)


def _without(entries: list[Entry], row: int) -> None:
    del entries[row]


def _from(place: int, by: int) -> Callable[[list[Entry], int], None]:
    """Moves one offset of an entry by some records."""

    def moved(entries: list[Entry], row: int) -> None:
        entries[row][place] += by

    return moved


@mutation("aborted", VALID, RUNS, 1)
def all_aborted_transactions_are_indexed(edit: Edit) -> None:
    """Every replica has the aborted transactions of its log in its index."""
    _tell(edit)


@mutation("aborted", _LACKS, RUNS, 3)
def one_aborted_transaction_is_not_indexed(edit: Edit) -> None:
    """The index of one replica lacks an aborted transaction of its log."""
    _tell(edit, _without)


@mutation("aborted", _LACKS, RUNS, 2)
def an_aborted_transaction_is_indexed_from_a_later_record_on(edit: Edit) -> None:
    """The index of one replica has an aborted transaction from its second offset on."""
    _tell(edit, _from(1, 1))


@mutation("aborted", _EXCEEDS, RUNS, 2)
def an_aborted_transaction_is_indexed_from_an_earlier_record_on(edit: Edit) -> None:
    """The index of one replica has an aborted transaction from before its first record on."""
    _tell(edit, _from(1, -1))


@mutation("aborted", _EXCEEDS, RUNS, 2)
def an_aborted_transaction_is_indexed_that_is_not_there(edit: Edit) -> None:
    """The index of one replica has an aborted transaction of a producer that its log does not have."""
    _tell(edit, lambda entries, row: entries.append([2**40, *entries[row][1:]]))


@mutation("aborted", VALID, RUNS, 1)
def an_index_is_torn_behind_all_entries(edit: Edit) -> None:
    """The index of one replica ends with a part of an entry."""
    _tell(edit, problem="entry 10 is incomplete or damaged (bytes from there on: 6)")


@mutation("aborted", unknown("index of aborted transactions of .* is damaged"), RUNS, 1)
def an_index_is_torn_before_an_entry(edit: Edit) -> None:
    """The index of one replica lacks an aborted transaction and ends with a part of an entry."""
    _tell(edit, _without, problem="entry 10 is incomplete or damaged (bytes from there on: 6)")


@mutation("aborted", unknown("index of aborted transactions of .* was not recorded"), RUNS, 1)
def an_index_is_not_there(edit: Edit) -> None:
    """The run had to gather all indexes, and one of a log with aborted transactions is not there."""
    edit.change(0, lambda setup: setup | {"evidence": [*setup["evidence"], EVIDENCE_ABORTED]})
    _tell(edit, without=True)
