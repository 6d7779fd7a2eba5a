"""The interface of a model: a small frozen value of pure functions that specify an object."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from checkers.history.operations import Operation
from checkers.registers.linearizability.canonical import shown

State = Hashable
"""A state of an object: any immutable value; equal states are equal values."""


class Mark(Enum):
    """Values that can't occur in a history."""

    INCONSISTENT = "inconsistent"
    UNKNOWN = "unknown"


INCONSISTENT = Mark.INCONSISTENT
"""The result of a step if the action is impossible in the state."""
UNKNOWN = Mark.UNKNOWN
"""A result that no client received."""


class Action(NamedTuple):
    """The effect of one operation on the object: a name, its argument, and the result that its caller saw.

    Both values are canonical; equal actions are interchangeable.
    """

    f: str
    argument: Hashable = None
    result: Hashable = UNKNOWN


def one_group(actions: Sequence[Action]) -> Sequence[Hashable]:
    """The partition into a single group, for models whose operations may all affect each other."""
    return [None] * len(actions)


@dataclass(frozen=True, slots=True)
class Model:
    """An object's sequential specification.

    Attributes:
        name: stable name, e.g. ``cas-register``.
        initial: its state before the first operation.
        step: the state after an action, or `INCONSISTENT` if the action could not happen in that state.
        action_of: the action of an invocation and its completion, which is ok or info, or None if there is
            none.  Returns None if the pair constrains nothing.  Raises `UnreadableError` for a shape that it
            does not know.
        observes: whether an action only reads and can't change any state.
        refusal: why an action is inconsistent in a state, as a short text.
        text_of: a readable text of a state.
        partition: a group per action; operations of different groups must not affect each other
            (P-compositionality: Horn and Kroening, FORTE 2015).  Operations of different keys are always
            different groups.
    """

    name: str
    initial: State
    step: Callable[[State, Action], State]
    action_of: Callable[[Operation, Operation | None], Action | None]
    observes: Callable[[Action], bool]
    refusal: Callable[[State, Action], str]
    text_of: Callable[[State], str] = shown
    partition: Callable[[Sequence[Action]], Sequence[Hashable]] = one_group
