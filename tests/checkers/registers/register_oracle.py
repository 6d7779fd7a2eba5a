"""Linearizability of registers by definition: tries every order of the operations that may have happened."""

from typing import Any, NamedTuple

from checkers.history.operations import History, Operation, OperationType


class Call(NamedTuple):
    """One operation: what, on which value, and when; one that never ended need not have happened."""

    begun: Operation
    value: Any
    begin: int
    end: float

    @property
    def write(self) -> bool:
        return self.begun.f == "write"

    @property
    def certain(self) -> bool:
        return self.end < float("inf")


def linearizable(history: History, initial: Any = None) -> bool:
    """Whether each register has an order of its operations that agrees with real time and what was read."""
    calls: dict[Any, list[Call]] = {}
    for key, call in _calls(history):
        calls.setdefault(key, []).append(call)
    return all(_explained(frozenset(), some, initial) for some in calls.values())


def _calls(history: History) -> list[tuple[Any, Call]]:
    """Operations that may have had an effect: no failed write, and no read that returned nothing."""
    found = []
    for index, begun in enumerate(history.operations):
        if begun.type is not OperationType.INVOKE:
            continue
        later = history.operations[index + 1 :]
        after = ((i, o) for i, o in enumerate(later, index + 1) if o.process == begun.process)
        end, ended = next(after, (0, None))
        certain = ended is not None and ended.type is OperationType.OK
        if begun.f == "write" and (ended is None or ended.type is not OperationType.FAIL):
            call = Call(begun, begun.value, index, end if certain else float("inf"))
            found.append((begun.key, call))
        elif begun.f == "read" and ended is not None and certain:
            found.append((begun.key, Call(begun, ended.value, index, end)))
    return found


def _explained(done: frozenset[int], calls: list[Call], held: Any) -> bool:
    """Whether the calls that are not done can follow in some order, where the register holds a value."""
    rest = [i for i in range(len(calls)) if i not in done]
    if not any(calls[i].certain for i in rest):
        return True
    first_end = min(calls[i].end for i in rest)
    return any(
        (calls[i].write or calls[i].value == held)
        and _explained(done | {i}, calls, calls[i].value if calls[i].write else held)
        for i in rest
        if calls[i].begin < first_end
    )
