"""Anomalies that single reads and transactions of an rw-register history show, without any cycle."""

import numpy as np

from checkers.columns.tables import NONE, Integers, SendOutcome
from checkers.transactional.transactions.models.consistency import ConsistencyModel
from checkers.transactional.transactions.proofs.findings import Example, TransactionFinding, anomalies_of
from checkers.transactional.transactions.proofs.words import shown
from checkers.transactional.transactions.registers.edges import RegisterStory, overwritten
from checkers.transactional.transactions.registers.orders import Certain, succession_of
from checkers.transactional.transactions.registers.versions import UNCLEAR, RegisterTransactions
from checkers.verdict.verdict import Anomaly


def find_in_registers(
    registers: RegisterTransactions, story: RegisterStory, model: ConsistencyModel, certain: Certain
) -> tuple[list[Anomaly], dict[str, int]]:
    """All anomalies that need no graph: examples, and the exact number of each id."""
    found = (
        _phantoms(registers),
        _aborted(registers),
        _intermediate(registers),
        _future(registers),
        _internal(registers),
        _lost_updates(registers),
        _circles(registers, certain),
    )
    return anomalies_of(found, story, model)


def unclear_write(registers: RegisterTransactions) -> str | None:
    """Why the writer of some value is unknown; None if all writers are known."""
    operations = registers.operations
    rows = np.flatnonzero(operations.write & (registers.version == UNCLEAR))
    if not len(rows):
        return None
    row = int(rows[0])
    what = f"{shown(registers.value(row))} to {shown(registers.key_of(row))}"
    return f"a value is written twice, or is the initial value, so its writer is unknown: {what}"


def _read(registers: RegisterTransactions, row: int) -> str:
    return f"{shown(registers.value(row))} of {shown(registers.key_of(row))}"


def _of(registers: RegisterTransactions, row: int) -> int:
    return int(registers.operations.transaction[row])


def _phantoms(registers: RegisterTransactions) -> TransactionFinding:
    rows = np.flatnonzero(~registers.operations.write & (registers.version == NONE))

    def example(index: int) -> Example:
        row = int(rows[index])
        text = f"T1 read {_read(registers, row)}, which was never written"
        return Example(text, (_of(registers, row),), shown(registers.key_of(row)))

    return TransactionFinding("phantom", len(rows), example)


def _aborted(registers: RegisterTransactions) -> TransactionFinding:
    writer = registers.writer(registers.version)
    failed = (writer != NONE) & (registers.transactions.outcome[writer] == SendOutcome.FAIL)
    rows = np.flatnonzero(~registers.operations.write & failed)

    def example(index: int) -> Example:
        row = int(rows[index])
        text = f"T1 read {_read(registers, row)}, which T2 wrote, but T2 failed"
        return Example(text, (_of(registers, row), int(writer[row])), shown(registers.key_of(row)))

    return TransactionFinding("G1a", len(rows), example)


def _intermediate(registers: RegisterTransactions) -> TransactionFinding:
    version, operations = registers.version, registers.operations
    writer = registers.writer(version)
    replaced = np.append(overwritten(registers), np.zeros(len(operations.keys), dtype=np.bool_))
    wrong = ~operations.write & (writer != NONE) & replaced[np.maximum(version, 0)]
    rows = np.flatnonzero(wrong & (writer != operations.transaction))

    def example(index: int) -> Example:
        row = int(rows[index])
        text = f"T1 read {_read(registers, row)}, which T2 wrote and replaced before it committed"
        return Example(text, (_of(registers, row), int(writer[row])), shown(registers.key_of(row)))

    return TransactionFinding("G1b", len(rows), example)


def _future(registers: RegisterTransactions) -> TransactionFinding:
    """Reads of values that their own transaction wrote only later, which is a cycle of one and no edge."""
    operations, version = registers.operations, registers.version
    own = registers.writer(version) == operations.transaction
    # A version is the row of its write, and the rows of a transaction are in the order of its operations.
    rows = np.flatnonzero(~operations.write & own & (version > np.arange(len(version))))

    def example(index: int) -> Example:
        row = int(rows[index])
        text = f"T1 read {_read(registers, row)} before it wrote that itself (a future read)"
        return Example(text, (_of(registers, row),), shown(registers.key_of(row)))

    return TransactionFinding("G1c", len(rows), example)


def _internal(registers: RegisterTransactions) -> TransactionFinding:
    """Reads of another value than the last one that their transaction read or wrote at that key."""
    touches, operations = registers.touches, registers.operations
    version = registers.version[touches.order]
    reads = ~touches.first & ~operations.write[touches.order]
    places = np.flatnonzero(reads)
    same = (version[places] == version[places - 1]) & (version[places] >= 0)
    rows = [
        (int(touches.order[place - 1]), int(touches.order[place]))
        for place in places[~same].tolist()
        if _differ(registers, int(touches.order[place - 1]), int(touches.order[place]))
    ]

    def example(index: int) -> Example:
        before, row = rows[index]
        text = f"T1 read {_read(registers, row)} where by its own operations it must be"
        text = f"{text} {shown(registers.value(before))}"
        return Example(text, (_of(registers, row),), shown(registers.key_of(row)))

    return TransactionFinding("internal", len(rows), example)


def _differ(registers: RegisterTransactions, before: int, row: int) -> bool:
    """Whether two micro-operations have different values, even if their version is unknown."""
    one, other = registers.value(before), registers.value(row)
    return type(one) is not type(other) or repr(one) != repr(other)


def _lost_updates(registers: RegisterTransactions) -> TransactionFinding:
    earlier, later = succession_of(registers)
    order = np.lexsort((later, earlier))
    earlier, later = earlier[order], later[order]
    begins = np.flatnonzero(np.diff(earlier, prepend=NONE))
    begins = begins[np.diff(np.append(begins, len(earlier))) > 1]

    def example(index: int) -> Example:
        place = int(begins[index])
        one, other = int(later[place]), int(later[place + 1])
        key = shown(registers.key_of(one))
        text = (
            f"T1 and T2 both read {_version(registers, int(earlier[place]))} of {key}, and both replaced it"
        )
        return Example(text, (_of(registers, one), _of(registers, other)), key)

    return TransactionFinding("lost-update", len(begins), example)


def _version(registers: RegisterTransactions, version: int) -> str:
    first = version - registers.initial
    return shown(registers.value(version) if first < 0 else registers.begins[first])


def _circles(registers: RegisterTransactions, certain: Certain) -> TransactionFinding:
    pairs, keys = certain

    def example(index: int) -> Example:
        key = int(keys[index])
        rows = pairs.later[registers.operations.key[pairs.later] == key]
        name = shown(registers.operations.keys[key])
        text = f"the versions of {name} follow each other in a circle, as {_transactions(rows)} replaced them"
        return Example(text, tuple(_of(registers, row) for row in rows[:8].tolist()), name)

    return TransactionFinding("cyclic-versions", len(keys), example)


def _transactions(rows: Integers) -> str:
    return f"{len(rows)} transactions"
