"""Whether each process runs one operation at a time, and completes the operations that it invoked."""

from collections.abc import Iterable, Iterator, Mapping

from checkers.history.operations import INVOKE, OK, Operation
from checkers.history.runner import OBSERVATIONS
from checkers.history.sends import SendRead, is_answered
from checkers.history.transactions import sends_of


def out_of_turn(operations: Iterable[Operation]) -> Iterator[tuple[Operation, str]]:
    """Find completions without an invocation or of another operation, and invocations during another one.

    Args:
        operations: operations of several processes, in the order of time.

    Yields:
        The operation, and the rule that it violates.
    """
    outstanding: dict[int | str, Operation] = {}
    for operation in operations:
        if operation.f in OBSERVATIONS:
            continue
        problem = _out_of_turn(outstanding.pop(operation.process, None), operation)
        if problem is not None:
            yield operation, problem
        if operation.type is INVOKE:
            outstanding[operation.process] = operation


def _out_of_turn(invoked: Operation | None, operation: Operation) -> str | None:
    """Why an operation may not follow the outstanding one of its process; None if it may."""
    if operation.type is INVOKE:
        return None if invoked is None else f"invokes {operation.f} while {invoked.f} is outstanding"
    if invoked is None:
        return f"completes {operation.f} without an invocation"
    if (operation.f, operation.key) != (invoked.f, invoked.key):
        return f"completes {operation.f} {operation.key} while {invoked.f} {invoked.key} is outstanding"
    if operation.f == "send":
        return _answers_another(invoked, operation)
    transaction = operation.f == "txn" and operation.value is not None
    if transaction and _records_of(operation) != _records_of(invoked):
        return "answers other records than the transaction sent"
    return None


def _answers_another(invoked: Operation, operation: Operation) -> str | None:
    """Why a completion does not answer its send; None if it does."""
    if is_answered(operation.value):
        if not _is_same(invoked.value, operation.value):
            return "answers other records than were sent"
    elif operation.type is OK and invoked.value:
        return "answers no record of those that were sent"
    return None


def _is_same(asked: SendRead, answered: SendRead) -> bool:
    """Whether an answer is about the requested records, in the same order."""
    if isinstance(asked, dict) and isinstance(answered, dict):
        return _extent_of(asked) == _extent_of(answered)
    listed = _listed(answered) if isinstance(answered, dict) else [entry[:2] for entry in answered]
    return listed == (_listed(asked) if isinstance(asked, dict) else asked)


def _extent_of(run: Mapping[str, int]) -> tuple[int, int, int]:
    return run["partition"], run["first"], run["count"]


def _listed(run: Mapping[str, int]) -> list[list[int]]:
    """Partition and value of each record of a run."""
    first = run["first"]
    return [[run["partition"], number] for number in range(first, first + run["count"])]


def _records_of(transaction: Operation) -> list[list[object]]:
    """Topic, partition and value of each record that a transaction sends."""
    return [mop[1:4] for mop in sends_of(transaction)]
