"""The arguments and the result of an operation, from its invocation and completion."""

from collections.abc import Hashable

from checkers.history.operations import OK, Operation
from checkers.registers.linearizability.canonical import UnreadableError, canonical, shown


def is_ok(completion: Operation | None) -> bool:
    """Whether the operation certainly happened."""
    return completion is not None and completion.type is OK


def argument_of(invoke: Operation, completion: Operation | None) -> object:
    """The argument of an operation: the invocation's value, or that of the ok if the invocation has none.

    Raises:
        UnreadableError: if an ok reports another argument than its invocation.
    """
    if completion is None or completion.type is not OK or completion.value is None:
        return invoke.value
    if invoke.value is not None and canonical(invoke.value) != canonical(completion.value):
        asked, answered = shown(canonical(invoke.value)), shown(canonical(completion.value))
        raise UnreadableError(f"{invoke.f} was invoked with {asked} and completed with {answered}")
    return completion.value


def elements(value: object) -> list[Hashable]:
    """The canonical items of a list.

    Raises:
        UnreadableError: if the value is not a list.
    """
    if not isinstance(value, list | tuple | set | frozenset):
        raise UnreadableError(f"a list is expected, not {shown(canonical(value))}")
    return [canonical(item) for item in value]


def pair(f: str, value: object) -> tuple[object, object]:
    """The two items of an operand.

    Raises:
        UnreadableError: if it has another shape.
    """
    if not isinstance(value, list | tuple) or len(value) != 2:  # noqa: PLR2004 - a pair has two
        raise UnreadableError(f"{f} takes a pair, not {shown(canonical(value))}")
    return value[0], value[1]


def unknown_operation(invoke: Operation, model: str) -> UnreadableError:
    """The error for an operation that a model does not have."""
    return UnreadableError(f"a {model} has no operation {invoke.f!r}")
