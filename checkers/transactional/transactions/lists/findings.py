"""Anomalies that single reads and transactions of a list-append history show, without any cycle."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers, SendOutcome
from checkers.transactional.transactions.lists.edges import ListStory, taking_part
from checkers.transactional.transactions.lists.versions import Lists
from checkers.transactional.transactions.models.consistency import ConsistencyModel
from checkers.transactional.transactions.operations.coding import frozen
from checkers.transactional.transactions.operations.touches import Touches, touches_of
from checkers.transactional.transactions.proofs.findings import Example, TransactionFinding, anomalies_of
from checkers.transactional.transactions.proofs.words import shown
from checkers.verdict.verdict import Anomaly

_END = np.iinfo(np.int64).max
"""Position of an element that comes after everything that was read."""
_NOWHERE = -9
"""Position of an element that no read shows; no other operation begins or ends there."""


def find_in_lists(
    lists: Lists, story: ListStory, model: ConsistencyModel
) -> tuple[list[Anomaly], dict[str, int]]:
    """All anomalies that need no graph: examples, and the exact number of each id."""
    touches = touches_of(lists.operations)
    found = (
        _phantoms(lists),
        _aborted(lists),
        _dirty_updates(lists),
        _duplicates(lists),
        _incompatible(lists),
        _intermediate(lists),
        _lost_updates(lists, touches),
        *_within(lists, touches),
    )
    return anomalies_of(found, story, model)


class ReadElement(NamedTuple):
    """An element of a list as it was read: row of the read, position in it, and row of the append."""

    read: int
    place: int
    append: int


class _Sightings:
    """Elements that reads should not contain, each with the first read that shows it.

    Args:
        lists: the lists.
        wrong: reports for rows of `Appends`, or `NONE`, whether reads should not contain them.
    """

    def __init__(self, lists: Lists, wrong: Callable[[Integers], Booleans]) -> None:
        self._lists = lists
        self._rows = np.flatnonzero(wrong(lists.elements.append))
        self._strays = np.flatnonzero(wrong(lists.strays[1]))
        self.count = len(self._rows) + len(self._strays)

    def at(self, index: int) -> ReadElement:
        """Where the i-th element was read."""
        lists = self._lists
        if index >= len(self._rows):
            row = int(self._strays[index - len(self._rows)])
            read = int(lists.strays[0][row])
            return ReadElement(read, row - int(np.argmax(lists.strays[0] == read)), int(lists.strays[1][row]))
        row = int(self._rows[index])
        key = int(lists.elements.key[row])
        place = row - int(lists.elements.base[key])
        reads = lists.reads
        shows = (reads.key == key) & (reads.length > place) & reads.agrees
        return ReadElement(int(np.argmax(shows)), place, int(lists.elements.append[row]))

    def element(self, index: int) -> object:
        """The element of an index, as it was read."""
        found = self.at(index)
        return self._lists.contents(found.read)[found.place]

    def key(self, index: int) -> str:
        """The key of the read that returned the i-th element."""
        return _key(self._lists, self.at(index).read)


def _key(lists: Lists, read: int) -> str:
    return shown(lists.key_of(int(lists.reads.key[read])))


def _failed(lists: Lists) -> Booleans:
    failed: Booleans = lists.transactions.outcome == SendOutcome.FAIL
    return failed


def _phantoms(lists: Lists) -> TransactionFinding:
    seen = _Sightings(lists, lambda append: append == NONE)

    def example(index: int) -> Example:
        reader = int(lists.reads.transaction[seen.at(index).read])
        key, element = seen.key(index), shown(seen.element(index))
        return Example(f"T1 read {element} of {key}, which was never appended", (reader,), key)

    return TransactionFinding("phantom", seen.count, example)


def _aborted(lists: Lists) -> TransactionFinding:
    failed = _failed(lists)[lists.appends.transaction]
    seen = _Sightings(lists, lambda append: (append >= 0) & failed[append] if len(failed) else append >= 0)

    def example(index: int) -> Example:
        read, _, append = seen.at(index)
        both = (int(lists.reads.transaction[read]), int(lists.appends.transaction[append]))
        key, element = seen.key(index), shown(seen.element(index))
        return Example(f"T1 read {element} of {key}, which T2 appended, but T2 failed", both, key)

    return TransactionFinding("G1a", seen.count, example)


def _dirty_updates(lists: Lists) -> TransactionFinding:
    elements, appends = lists.elements, lists.appends
    dirty = elements.append >= 0
    dirty[dirty] = _failed(lists)[appends.transaction[elements.append[dirty]]]
    rows = np.flatnonzero(dirty[:-1] & elements.good[1:] & (elements.key[:-1] == elements.key[1:]))

    def example(index: int) -> Example:
        one, other = (int(elements.append[rows[index] + more]) for more in (0, 1))
        key = shown(lists.key_of(int(elements.key[rows[index]])))
        text = f"T1 appended {shown(lists.element(one))} to {key} and failed"
        text = f"{text}, and T2 appended {shown(lists.element(other))} right after it"
        both = (int(appends.transaction[one]), int(appends.transaction[other]))
        return Example(text, both, key)

    return TransactionFinding("dirty-update", len(rows), example)


def _duplicates(lists: Lists) -> TransactionFinding:
    shown_rows = lists.elements.append[lists.elements.append >= 0]
    appends = np.flatnonzero(np.bincount(shown_rows) > 1)

    def example(index: int) -> Example:
        append = int(appends[index])
        code = int(lists.appends.key[append])
        read = int(lists.elements.reader[code])
        contents, key = shown(lists.contents(read)), shown(lists.key_of(code))
        text = f"T1 read {contents} of {key}, with {shown(lists.element(append))} more than once"
        return Example(f"{text}, which was appended once", (int(lists.reads.transaction[read]),), key)

    return TransactionFinding("duplicate-elements", len(appends), example)


def _incompatible(lists: Lists) -> TransactionFinding:
    reads = np.flatnonzero(~lists.reads.agrees)

    def example(index: int) -> Example:
        read = int(reads[index])
        other = int(lists.elements.reader[lists.reads.key[read]])
        one, two = shown(lists.contents(read)), shown(lists.contents(other))
        key = _key(lists, read)
        both = (int(lists.reads.transaction[read]), int(lists.reads.transaction[other]))
        if both[0] == both[1]:
            return Example(f"T1 read {one} and {two} of {key}: neither begins with the other", both[:1], key)
        text = f"T1 read {one} of {key}, and T2 read {two} of it: neither begins with the other"
        return Example(text, both, key)

    return TransactionFinding("incompatible-order", len(reads), example)


def _intermediate(lists: Lists) -> TransactionFinding:
    elements, reads, appends = lists.elements, lists.reads, lists.appends
    rows = np.flatnonzero(reads.agrees & (reads.length > 0))
    last = elements.base[reads.key[rows]] + reads.length[rows] - 1
    rows, last = rows[elements.good[last]], last[elements.good[last]]
    append = elements.append[last]
    wrong = ~appends.final[append] & (appends.transaction[append] != reads.transaction[rows])
    rows, append = rows[wrong], append[wrong]

    def example(index: int) -> Example:
        read, one = int(rows[index]), int(append[index])
        key = _key(lists, read)
        text = f"T1 read {shown(lists.contents(read))} of {key}, and T2 appended its last element"
        both = (int(reads.transaction[read]), int(appends.transaction[one]))
        return Example(f"{text} {shown(lists.element(one))}, but more to {key} after it", both, key)

    return TransactionFinding("G1b", len(rows), example)


def _lost_updates(lists: Lists, touches: Touches) -> TransactionFinding:
    """Groups of committed transactions that first read the same version and later appended to the key."""
    reads = lists.reads
    read = _reads_by_row(lists)[touches.updates(lists.operations, _ok(lists))]
    read = read[reads.agrees[read]]
    version = lists.elements.base[reads.key[read]] + reads.key[read] + reads.length[read]
    order = np.argsort(version, kind="stable")
    read, version = read[order], version[order]
    begins = np.flatnonzero(np.diff(version, prepend=NONE))
    begins = begins[np.diff(np.append(begins, len(version))) > 1]

    def example(index: int) -> Example:
        one, other = int(read[begins[index]]), int(read[begins[index] + 1])
        key = _key(lists, one)
        text = f"T1 and T2 both read {shown(lists.contents(one))} of {key}, and both appended to it"
        return Example(text, (int(reads.transaction[one]), int(reads.transaction[other])), key)

    return TransactionFinding("lost-update", len(begins), example)


def _reads_by_row(lists: Lists) -> Integers:
    """Row of `ListReads` of each micro-operation, `NONE` for an append."""
    read = np.full(len(lists.operations.key), NONE, dtype=np.int64)
    read[lists.reads.row] = np.arange(len(lists.reads.row))
    return read


def _ok(lists: Lists) -> Booleans:
    ok: Booleans = lists.transactions.outcome == SendOutcome.OK
    return ok


def _within(lists: Lists, touches: Touches) -> tuple[TransactionFinding, TransactionFinding]:
    """Transactions that read elements that they appended only later, or that contradict themselves.

    If the reads agree, each micro-operation ends at one position of its key's order, and the transaction's
    next one must begin there: a read ends after its last element, and an append after its own element.
    """
    operations, reads, appends = lists.operations, lists.reads, lists.appends
    begin = np.empty(len(operations.key), dtype=np.int64)
    begin[reads.row] = reads.length
    begin[appends.row] = np.where(appends.place == NONE, _NOWHERE, appends.place)
    end = begin + operations.write
    odd = np.zeros(len(begin), dtype=np.bool_)
    odd[reads.row], odd[appends.row] = ~reads.agrees, ~appends.clear
    due = touches.before_reads(operations)
    wrong = due[1:] & (begin[touches.order][1:] != end[touches.order][:-1])
    of = operations.transaction
    disordered = _disordered(lists, touches)
    suspects = np.union1d(of[touches.order[1:][wrong]], of[odd])
    # If a transaction reads an element and appends it later, it appends before its own read, or reads
    # fewer elements in between.
    suspects = np.union1d(suspects, appends.transaction[disordered]).tolist()
    early = [number for number in suspects if _future_reads(lists, number)]
    slipped = [number for number in suspects if _slips(lists, number)]
    disordered = disordered[~np.isin(appends.transaction[disordered], [*early, *slipped])]
    return _future(lists, early), _internal(lists, slipped, disordered)


def _future(lists: Lists, early: list[int]) -> TransactionFinding:
    """Transactions that read their own later appends, which is a cycle of one and no edge of the graph."""

    def example(index: int) -> Example:
        key, element, seen = _future_reads(lists, early[index])[0]
        text = f"T1 read {shown(seen)} of {shown(key)} before it appended {shown(element)} itself"
        return Example(f"{text} (a future read)", (early[index],), shown(key))

    return TransactionFinding("G1c", len(early), example)


def _internal(lists: Lists, slipped: list[int], disordered: Integers) -> TransactionFinding:
    """Transactions whose reads or appends contradict their earlier reads and appends."""

    def example(index: int) -> Example:
        if index >= len(slipped):
            return _disorder(lists, int(disordered[index - len(slipped)]))
        key, expected, seen = _slips(lists, slipped[index])[0]
        text = f"T1 read {shown(seen)} of {shown(key)} where by its own operations it must be {expected}"
        return Example(text, (slipped[index],), shown(key))

    return TransactionFinding("internal", len(slipped) + len(disordered), example)


class _FutureRead(NamedTuple):
    """An element that a transaction read before it appended it, and the list that it read."""

    key: object
    element: object
    seen: list[object]


def _future_reads(lists: Lists, transaction: int) -> list[_FutureRead]:
    """Elements that a committed transaction read before it appended them."""
    if lists.transactions.outcome[transaction] != SendOutcome.OK:
        return []
    read: dict[tuple[Hashable, Hashable], list[object]] = {}
    found = []
    for word, key, argument in lists.transactions.values[transaction]:
        if word == "r":
            for element in argument or ():
                read.setdefault((frozen(key), frozen(element)), argument)
        elif (frozen(key), frozen(argument)) in read:
            found.append(_FutureRead(key, argument, read[frozen(key), frozen(argument)]))
    return found


def _disordered(lists: Lists, touches: Touches) -> Integers:
    """Rows of appends that come before elements which their own transaction read or appended earlier."""
    operations, reads, appends = lists.operations, lists.reads, lists.appends
    least = np.full(len(operations.key), NONE, dtype=np.int64)
    least[reads.row] = np.where(reads.agrees, reads.length, 0)
    # An append that no read shows, followed by one that a read shows, is missing in the middle.
    least[appends.row] = np.where(appends.place == NONE, _END, appends.place + 1)
    least[appends.row[~appends.clear]] = 0
    before = np.roll(least[touches.order], 1)
    before[touches.first] = 0
    place = np.full(len(operations.key), _END, dtype=np.int64)
    place[appends.row] = np.where((appends.place == NONE) | ~appends.clear, _END, appends.place)
    rows = touches.order[place[touches.order] < before]
    wrong = np.zeros(len(operations.key), dtype=np.bool_)
    wrong[rows] = True
    return np.flatnonzero(wrong[appends.row] & taking_part(lists)[appends.transaction])


def _disorder(lists: Lists, append: int) -> Example:
    key = shown(lists.key_of(int(lists.appends.key[append])))
    text = f"T1 appended {shown(lists.element(append))} to {key}, where it is before what T1 read or"
    transaction = int(lists.appends.transaction[append])
    return Example(f"{text} appended there earlier, or that is missing", (transaction,), key)


class _Slip(NamedTuple):
    """A read that contradicts earlier operations of its transaction: what it must return, and returned."""

    key: object
    expected: str
    seen: list[object]


def _slips(lists: Lists, transaction: int) -> list[_Slip]:
    """Reads that contradict a transaction's earlier operations."""
    ok = lists.transactions.outcome[transaction] == SendOutcome.OK
    return list(_walk(lists.transactions.values[transaction])) if ok else []


def _walk(value: Iterable[tuple[str, object, Iterable[object] | None]]) -> Iterator[_Slip]:
    known: dict[str, tuple[bool, list[object]]] = {}
    for word, key, argument in value:
        whole, content = known.get(repr(key), (False, []))
        if word == "append":
            known[repr(key)] = (whole, [*content, argument])
            continue
        seen = list(argument or ())
        if whole and seen != content:
            yield _Slip(key, shown(content), seen)
        elif not whole and seen[len(seen) - len(content) :] != content:
            yield _Slip(key, f"a list that ends with {shown(content)}", seen)
        known[repr(key)] = (True, seen)
