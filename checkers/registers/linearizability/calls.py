"""Converts a history to calls: pairs of invocations and completions, in groups that are judged separately."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from checkers.history.operations import FAIL, INVOKE, History, Operation
from checkers.registers.linearizability.canonical import UnreadableError, canonical
from checkers.registers.linearizability.contract import Action, Model
from checkers.registers.linearizability.operands import is_ok

_OTHERS = ("nemesis", "runner")
"""Processes that are not clients; observers, identified by the prefix of their names, are a third kind."""


class ObjectCall(msgspec.Struct, frozen=True, gc=False):
    """One operation on the object.

    Attributes:
        action: the action of the operation.
        invoked: index of its invocation in the history.
        completed: index of its completion; None if it has none.
        certain: whether it happened; otherwise it may take effect at any time after `since`, or never.
        since: index of the operation before which it can't take effect: its invocation.
    """

    action: Action
    invoked: int
    completed: int | None
    certain: bool
    since: int

    @property
    def end(self) -> int:
        """Index of its last operation."""
        return self.invoked if self.completed is None else self.completed


@dataclass(frozen=True, slots=True)
class Group:
    """Calls that can affect each other, in the order of their invocations, and their common key."""

    key: Hashable
    calls: tuple[ObjectCall, ...]


def groups_of(history: History, model: Model) -> list[Group]:
    """The groups of a history, in the order of their first invocations.

    Raises:
        UnreadableError: for a process that invokes twice, a completion without an invocation, and an
            operation whose name or value the model does not know; it names the operation by its index.
    """
    by_key: dict[Hashable, list[ObjectCall]] = {}
    actions: dict[Action, Action] = {}
    for invoke, completion in sorted(_pairs(history.operations), key=lambda pair: pair[0].index):
        call = _call(invoke, completion, model, actions)
        if call is not None:
            by_key.setdefault(canonical(invoke.key), []).append(call)
    return [group for key, calls in by_key.items() for group in _split(key, calls, model)]


def _split(key: Hashable, calls: Sequence[ObjectCall], model: Model) -> Iterator[Group]:
    parts: dict[Hashable, list[ObjectCall]] = {}
    for name, call in zip(model.partition([call.action for call in calls]), calls, strict=True):
        parts.setdefault(name, []).append(call)
    return (Group(key, tuple(part)) for part in parts.values())


def _call(
    invoke: Operation, completion: Operation | None, model: Model, actions: dict[Action, Action]
) -> ObjectCall | None:
    """The call of a pair; None if it did not happen or constrains nothing.

    Equal actions become one object.
    """
    if completion is not None and completion.type is FAIL:
        return None
    try:
        action = model.action_of(invoke, completion)
    except UnreadableError as error:
        raise UnreadableError(f"operation {invoke.index}: {error}") from error
    certain = is_ok(completion)
    if action is None or (not certain and model.observes(action)):
        return None
    action = actions.setdefault(action, action)
    return ObjectCall(
        action, invoke.index, None if completion is None else completion.index, certain, invoke.index
    )


def _pairs(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Operation | None]]:
    """Every invocation with its completion, in the order of completions; those without one come last."""
    open_by_process: dict[int | str, Operation] = {}
    for operation in operations:
        if _is_no_client(operation.process):
            continue
        try:
            if operation.type is INVOKE:
                _begin(open_by_process, operation)
            else:
                yield _completed(open_by_process.pop(operation.process, None), operation), operation
        except UnreadableError as error:
            raise UnreadableError(f"operation {operation.index}: {error}") from error
    for invoke in open_by_process.values():
        yield invoke, None


def _begin(open_by_process: dict[int | str, Operation], invoke: Operation) -> None:
    if invoke.process in open_by_process:
        raise UnreadableError(f"process {invoke.process} invokes again before its operation is completed")
    open_by_process[invoke.process] = invoke


def _completed(invoke: Operation | None, completion: Operation) -> Operation:
    """The invocation that a completion completes."""
    if invoke is None:
        raise UnreadableError("completes an operation that was never invoked")
    if invoke.f != completion.f:
        raise UnreadableError(f"completes {invoke.f!r} as {completion.f!r}")
    if completion.key is not None and canonical(completion.key) != canonical(invoke.key):
        raise UnreadableError("completes with another key than it was invoked with")
    return invoke


def is_invocation_of_client(operation: Operation) -> bool:
    """Whether an operation is a client's invocation on the object."""
    return operation.type is INVOKE and not _is_no_client(operation.process)


def _is_no_client(process: int | str) -> bool:
    return isinstance(process, str) and (process in _OTHERS or process.startswith("observer-"))
