"""By definition, for tiny histories: does a consistency model allow what was read?

Nothing here knows of our graphs.  A model is one of two kinds, and so is its definition:

- **Orders.**  Serializable: some order of the transactions in which each reads what is there when it is its
  turn.  Snapshot isolation: some order of commits, and for each transaction a beginning of that order which
  is its snapshot, such that it reads its snapshot and its own writes, and nobody who commits between its
  snapshot and itself writes a key that it writes (Berenson and others, 1995).  Session and strong forms: a
  transaction stands, or is in the snapshot, where its process or real time demands it.  Repeatable read is
  Adya's PL-2.99, in which only predicates may miss something: of single items it is serializable.
- **Phenomena** (Adya, 1999).  Read committed, PL-2: nobody reads what was aborted or is no final write of its
  transaction, and in some order each writer comes before its readers, and before whoever overwrites it.  Read
  uncommitted, PL-1: the same of overwriting alone.  A transaction that does not see its own writes is not
  looked for here; Adya's histories have none, and Elle judges it from snapshots on.

A transaction of unknown fate may have happened or not.  A list's reads show the order of its appends, where
they don't contradict each other; every append and write of a committed transaction took effect once.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from checkers.history.operations import History, OperationType
from checkers.transactional.transactions import ConsistencyModel

_M = ConsistencyModel
_SESSIONS = {_M.STRONG_SESSION_SNAPSHOT_ISOLATION, _M.STRONG_SESSION_SERIALIZABLE}
_STRONG = {_M.STRONG_SNAPSHOT_ISOLATION, _M.STRICT_SERIALIZABLE}
_SNAPSHOTS = {_M.SNAPSHOT_ISOLATION, _M.STRONG_SESSION_SNAPSHOT_ISOLATION, _M.STRONG_SNAPSHOT_ISOLATION}
_PHENOMENA = {_M.READ_UNCOMMITTED, _M.READ_COMMITTED}

Before = Callable[["Done", "Done"], bool]
State = dict[Any, Any]


class Done(NamedTuple):
    """A transaction that may have happened; `end` is None if it is not known to have."""

    number: int
    process: int | str
    begin: int
    end: int | None
    value: list[list[Any]]

    def writes(self, key: Any) -> list[Any]:
        """What it wrote to a key, in its order."""
        return [mop[2] for mop in self.value if mop[0] != "r" and mop[1] == key]

    @property
    def written(self) -> set[Any]:
        """The keys that it wrote."""
        return {mop[1] for mop in self.value if mop[0] != "r"}


def allows(model: ConsistencyModel, history: History, begin: Any = None) -> bool:
    """Whether a model allows a small history of lists or of registers, whose writes are unique.

    Args:
        model: the model.
        history: the history.
        begin: what every register holds before it is written; written by nobody else.
    """
    done, failed = _transactions(history)
    certain = [each for each in done if each.end is not None]
    doubtful = [each for each in done if each.end is None]
    judge = _phenomena if model in _PHENOMENA else _orders
    return any(
        judge(model, [*certain, *some], failed, begin)
        for size in range(len(doubtful) + 1)
        for some in combinations(doubtful, size)
    )


def _transactions(history: History) -> tuple[list[Done], list[Done]]:
    """Those that may have happened, and those that failed."""
    begun: dict[int | str, tuple[int, Any]] = {}
    done: list[Done] = []
    failed: list[Done] = []
    for position, operation in enumerate(history.operations):
        if operation.type is OperationType.INVOKE:
            begun[operation.process] = position, operation.value
            continue
        begin, asked = begun.pop(operation.process)
        writes = [mop for mop in asked if mop[0] != "r"]
        ok = operation.type is OperationType.OK
        one = Done(
            begin,
            operation.process,
            begin,
            position if ok else None,
            operation.value if ok else writes,
        )
        (failed if operation.type is OperationType.FAIL else done).append(one)
    for process, (begin, asked) in begun.items():
        done.append(Done(begin, process, begin, None, [mop for mop in asked if mop[0] != "r"]))
    return done, failed


def _before(model: ConsistencyModel) -> Before:
    """Whether one transaction must come before another, whatever they did."""
    if model in _STRONG:
        return lambda one, other: one.end is not None and one.end < other.begin
    if model in _SESSIONS:
        return lambda one, other: (
            one.process == other.process and one.end is not None and one.end < other.begin
        )
    return lambda _one, _other: False


def _orders(model: ConsistencyModel, done: list[Done], _: list[Done], begin: Any) -> bool:
    before = _before(model)
    state = {mop[1]: begin for each in done for mop in each.value}
    if model in _SNAPSHOTS:
        return _commits(done, [(state, None)], before)
    return _turns(done, state, before)


def _turns(rest: list[Done], state: State, before: Before) -> bool:
    """Whether the rest can come in some order after a state."""
    for each in rest:
        others = [other for other in rest if other is not each]
        if any(before(other, each) for other in others):
            continue
        after = _after(each, state, state)
        if after is not None and _turns(others, after, before):
            return True
    return not rest


def _commits(rest: list[Done], states: list[tuple[State, Done | None]], before: Before) -> bool:
    """Whether the rest can commit after others: the state after each of these, and who it was."""
    for each in rest:
        others = [other for other in rest if other is not each]
        if any(before(other, each) for other in others):
            continue
        for snapshot in range(len(states)):
            concurrent = [one for _, one in states[snapshot + 1 :] if one is not None]
            if any(one.written & each.written or before(one, each) for one in concurrent):
                continue
            after = _after(each, states[snapshot][0], states[-1][0])
            if after is not None and _commits(others, [*states, (after, each)], before):
                return True
    return not rest


def _after(each: Done, snapshot: State, latest: State) -> State | None:
    """The state after a transaction that reads a snapshot, None if it read something else."""
    seen = dict(snapshot)
    for word, key, argument in each.value:
        if word == "append":
            seen[key] = [*(seen.get(key) or []), argument]
        elif word == "w":
            seen[key] = argument
        elif (seen.get(key) or None) != (argument or None):
            return None
    # Nobody wrote these keys since the snapshot was taken.
    return latest | {key: seen[key] for key in each.written}


def _phenomena(model: ConsistencyModel, done: list[Done], failed: list[Done], begin: Any) -> bool:
    committed = model is _M.READ_COMMITTED
    known = {(mop[1], mop[2]) for each in [*done, *failed] for mop in each.value if mop[0] != "r"}
    reads = [(each, key, shown) for each in done for key, shown in _reads(each) if shown != [begin]]
    if any((key, value) not in known for _, key, shown in reads for value in shown):
        return False
    if any(len(set(shown)) < len(shown) for _, _, shown in reads):
        return False
    if committed and any(not _is_clean(read, done) for read in reads):
        return False
    orders = {key: _order_of(key, reads, done) for key in {key for _, key, _ in reads}}
    if committed and None in orders.values():
        return False
    pairs = [pair for key, order in orders.items() if order for pair in _overwritings(key, order, done)]
    if committed:
        pairs += [(one, each) for each, key, shown in reads for one in done if _wrote(one, key, shown)]
    return _has_order(done, [(one.number, other.number) for one, other in pairs if one is not other])


def _reads(each: Done) -> Iterator[tuple[Any, list[Any]]]:
    """Keys and values of its reads; a register's value is the one element of a list."""
    for word, key, argument in each.value:
        if word == "r":
            yield key, argument if isinstance(argument, list) else [argument]


def _is_clean(read: tuple[Done, Any, list[Any]], done: list[Done]) -> bool:
    """Whether a read shows nothing aborted or still to come, and ends with a final write or the reader's."""
    reader, key, shown = read
    writers = {(each.number, value): each for each in done for value in each.writes(key)}
    by_value = {value: each for (_, value), each in writers.items()}
    if not all(value in by_value for value in shown):
        return False
    if not shown:
        return True
    last = by_value[shown[-1]]
    if last is not reader and last.writes(key)[-1] != shown[-1]:
        return False
    return not any(_is_early(reader, key, value) for value in shown)


def _is_early(reader: Done, key: Any, value: Any) -> bool:
    """Whether a transaction read a value before it wrote it."""
    seen = False
    for word, of, argument in reader.value:
        if word == "r" and of == key:
            seen |= value in (argument if isinstance(argument, list) else [argument])
        elif word != "r" and of == key and argument == value and seen:
            return True
    return False


def _order_of(key: Any, reads: list[tuple[Any, Any, list[Any]]], done: list[Done]) -> list[Done] | None:
    """Who wrote each element of a list, in its order; empty for a register, None where reads contradict."""
    if not any(mop[0] == "append" for each in done for mop in each.value):
        return []
    writers = {value: each for each in done for value in each.writes(key)}
    contents = [shown for _, of, shown in reads if of == key]
    longest = max(contents, key=len)
    if any(longest[: len(content)] != content for content in contents):
        return None
    return [writers[value] for value in longest if value in writers]


def _wrote(one: Done, key: Any, shown: list[Any]) -> bool:
    return any(value in shown for value in one.writes(key))


def _overwritings(key: Any, order: list[Done], done: list[Done]) -> Iterator[tuple[Done, Done]]:
    """Who appended before whom; elements that nobody saw stand behind those that were seen."""
    yield from pairwise(order)
    for each in done:
        if len(each.writes(key)) > sum(one is each for one in order):
            yield from ((one, each) for one in order)


def _has_order(rest: list[Done], pairs: list[tuple[int, int]]) -> bool:
    """Whether the rest can come in some order that keeps to the pairs."""
    left = {each.number for each in rest}
    free = [each for each in rest if not any(two == each.number and one in left for one, two in pairs)]
    others = [each for each in rest if each not in free]
    return not rest or (bool(free) and _has_order(others, pairs))
