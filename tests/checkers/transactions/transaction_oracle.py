"""By definition, for tiny histories: is there an order of transactions that explains every read?"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

from checkers.history import History, OperationType


class Done(NamedTuple):
    """A transaction that may have happened; `end` is None if it is not known to have."""

    begin: int
    end: int | None
    value: list[list[Any]]


def is_strictly_serializable(history: History, initial: Any, step: Any) -> bool:
    """Whether some order that respects real time explains every read of every committed transaction.

    Args:
        history: a small history.
        initial: the state of a key before all writes.
        step: the state after a write, from the state before and what was written.
    """
    done = list(_transactions(history))
    certain = [each for each in done if each.end is not None]
    doubtful = [each for each in done if each.end is None]
    return any(
        _ordered([*certain, *some], {}, initial, step)
        for size in range(len(doubtful) + 1)
        for some in combinations(doubtful, size)
    )


def _transactions(history: History) -> Iterator[Done]:
    begun: dict[int | str, tuple[int, Any]] = {}
    for position, operation in enumerate(history.operations):
        if operation.type is OperationType.INVOKE:
            begun[operation.process] = position, operation.value
            continue
        begin, asked = begun.pop(operation.process)
        if operation.type is OperationType.OK:
            yield Done(begin, position, operation.value)
        elif operation.type is OperationType.INFO:
            yield Done(begin, None, [mop for mop in asked if mop[0] != "r"])
    for begin, asked in begun.values():
        yield Done(begin, None, [mop for mop in asked if mop[0] != "r"])


def _ordered(rest: list[Done], state: dict[Any, Any], initial: Any, step: Any) -> bool:
    """Whether the rest can come in some order after a state."""
    if not rest:
        return True
    for each in rest:
        others = [other for other in rest if other is not each]
        if any(other.end is not None and other.end < each.begin for other in others):
            continue
        after = _after(each, state, initial, step)
        if after is not None and _ordered(others, after, initial, step):
            return True
    return False


def _after(each: Done, state: dict[Any, Any], initial: Any, step: Any) -> dict[Any, Any] | None:
    """The state after a transaction, None if it reads something else."""
    after = dict(state)
    for word, key, argument in each.value:
        now = after.get(key, initial)
        if word != "r":
            after[key] = step(now, argument)
        elif now != argument:
            return None
    return after
