"""The order of a register's versions: pairs that are certain, or that the caller declares to be certain.

- *Writes follow reads*: the version that a transaction wrote follows the version that it read before.
  Otherwise information would flow in a cycle (G1c), so this is certain for models that forbid G1c.
- *One process*: the version that a transaction first saw of a key follows the version with which the
  process's last transaction on that key ended.  This is certain if sessions keep their order, or if keys are
  declared sequential.
- *Real time* has no pairs, because there would be too many (`registers.zones`).
"""

from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers
from checkers.transactional.transactions.cycles.version_orders import Contested, Version
from checkers.transactional.transactions.graph.components import components_of
from checkers.transactional.transactions.registers.versions import RegisterTransactions


class Declared(NamedTuple):
    """The declared properties of each key, independent of the model of transactions (Elle's options).

    Attributes:
        sequential: whether each process sees the versions of a key in their order.
        linearizable: whether a version comes before another one if it was seen before the transaction that
            first saw the other one began.
        writes_follow_reads: whether the version that a transaction wrote to a key follows the version that it
            read.
    """

    sequential: bool = False
    linearizable: bool = False
    writes_follow_reads: bool = False


NOTHING_DECLARED = Declared()


class Pairs(NamedTuple):
    """Pairs of a version and a following version, which a transaction wrote; one row each.

    Attributes:
        earlier: version.
        later: version.
    """

    earlier: Integers
    later: Integers

    def of(self, chosen: Booleans) -> "Pairs":
        """The pairs at the chosen rows."""
        return Pairs(self.earlier[chosen], self.later[chosen])


def succession_of(registers: RegisterTransactions) -> Pairs:
    """The version that a transaction read first, and the version with which it replaced it."""
    operations, touches = registers.operations, registers.touches
    read = touches.updates(operations, registers.ok)
    finals = np.flatnonzero(registers.final)
    codes = operations.transaction * len(operations.keys) + operations.key
    order = finals[np.argsort(codes[finals], kind="stable")]
    later = order[np.searchsorted(codes[order], codes[read])] if len(order) else read
    known = (registers.version[read] >= 0) & (registers.version[later] >= 0)
    return Pairs(registers.version[read[known]], later[known])


def process_pairs(registers: RegisterTransactions) -> Pairs:
    """The version with which a process's transaction left a key, and the next version that it saw there."""
    operations, touches, transactions = registers.operations, registers.touches, registers.transactions
    last = np.append(touches.first[1:], True)[: len(touches.first)]
    opening, closing = touches.order[touches.first], touches.order[last]
    part = registers.taking_part[operations.transaction[opening]]
    opening, closing = opening[part], closing[part]
    of = operations.transaction[opening]
    codes = transactions.process[of] * len(operations.keys) + operations.key[opening]
    # Transactions are in the order of invocation, and so are the operations of each process on each key.
    order = np.argsort(codes, kind="stable")
    opening, closing, of, codes = opening[order], closing[order], of[order], codes[order]
    same = (codes[1:] == codes[:-1]) & (transactions.end[of[:-1]] != NONE)
    earlier, later = registers.version[closing[:-1][same]], registers.version[opening[1:][same]]
    # Nothing comes before the initial version; if it is read again, other edges show that.
    known = (earlier >= 0) & (later >= 0) & (later < registers.initial) & (earlier != later)
    return Pairs(earlier[known], later[known]).of(_is_installed(registers, later[known]))


def _is_installed(registers: RegisterTransactions, version: Integers) -> Booleans:
    """Whether versions are final writes of transactions that committed."""
    writer = registers.writer(version)
    installed: Booleans = registers.final[version] & registers.taking_part[writer]
    return installed


class Certain(NamedTuple):
    """The certain order of versions, without the order of sessions.

    Attributes:
        pairs: versions and their successors, cycles included.
        circular: keys whose versions form a cycle.
    """

    pairs: Pairs
    circular: Integers

    def straight(self, registers: RegisterTransactions) -> Pairs:
        """The pairs of keys without a cycle."""
        if not len(self.circular):
            return self.pairs
        return self.pairs.of(~np.isin(registers.operations.key[self.pairs.later], self.circular))


def certain_order(registers: RegisterTransactions, declared: Declared) -> Certain:
    """Find the pairs that hold without the order of sessions."""
    some = [succession_of(registers)] if declared.writes_follow_reads else []
    some += [process_pairs(registers)] if declared.sequential else []
    nothing = np.zeros(0, dtype=np.int64)
    pairs = Pairs(
        np.concatenate([nothing, *(pairs.earlier for pairs in some)]),
        np.concatenate([nothing, *(pairs.later for pairs in some)]),
    )
    return Certain(pairs, _circular_keys(registers, pairs))


def _circular_keys(registers: RegisterTransactions, pairs: Pairs) -> Integers:
    """Keys whose versions form a cycle."""
    pairs = pairs.of(pairs.earlier != pairs.later)
    nodes = registers.initial + len(registers.operations.keys)
    ends = pairs.earlier.astype(np.int32), pairs.later.astype(np.int32)
    components = components_of(*ends, nodes)
    label = components.label[ends[0]]
    within = components.cyclic[label] & (label == components.label[ends[1]])
    return np.unique(registers.operations.key[ends[1][within]])


def contested_versions(registers: RegisterTransactions) -> list[Contested]:
    """Versions of committed transactions, of each key that has several, with their readers."""
    operations = registers.operations
    rows = np.flatnonzero(
        registers.final & (registers.version >= 0) & registers.taking_part[operations.transaction]
    )
    readers: dict[int, list[int]] = {}
    good = registers.good_reads()
    for version, reader in zip(
        registers.version[good].tolist(), operations.transaction[good].tolist(), strict=True
    ):
        readers.setdefault(version, []).append(reader)
    by_key: dict[int, list[Version]] = {}
    for row in rows.tolist():
        version = Version(int(operations.transaction[row]), tuple(readers.get(row, ())))
        by_key.setdefault(int(operations.key[row]), []).append(version)
    return [Contested(key, tuple(some)) for key, some in by_key.items() if len(some) > 1]
