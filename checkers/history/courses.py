"""The types of what scripts and gambits report about their moves, except faults and admin operations.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from checkers.history.fields import written

CHOOSE, AWAIT, PERFORM, MOVES = "choose", "await", "perform", "moves"
"""Functions of these operations."""
Planned = dict[str, object]
"""A value of a scenario's vocabulary, as a schedule has it; unchecked."""


class ConditionAwaited(msgspec.Struct, frozen=True, kw_only=True):
    """What is waited for.

    Attributes:
        move: unset in gambits.
        condition: that is awaited.
        within_ms: in which time.
    """

    move: Literal["await"] | UnsetType = UNSET
    condition: Planned
    within_ms: int


class ConditionSeen(ConditionAwaited, frozen=True, kw_only=True):
    """What became of it.

    Attributes:
        saw: what the cluster showed in the end; its shape depends on the condition.
    """

    saw: object


class ChoiceRequested(msgspec.Struct, frozen=True):
    """A choice that a gambit is to make."""

    choice: Planned = written({})


class ChoiceMade(ChoiceRequested, frozen=True, kw_only=True):
    """The nodes and the partition that a gambit chose.

    Attributes:
        parts: names of nodes by part, such as ``leader``.
        where: topic and number of the partition; None where none was chosen.
        as_then: in a replay, whether the chosen nodes lead now as they did then; unset otherwise.
    """

    parts: dict[str, str]
    where: tuple[str, int] | None = None
    as_then: bool | UnsetType = UNSET


class OperationRequested(msgspec.Struct, frozen=True, kw_only=True):
    """An admin operation that a script performs.

    Attributes:
        move: its kind of move.
        operation: what is requested.
        expect: Kafka's error codes of which each answer must be one; empty: any.
        timeout_ms: how long a request may take.
        background: whether the script continues meanwhile.
        until_ms: for how long it is requested again until an expected code comes.
    """

    move: Literal["perform"] = "perform"
    operation: Planned
    expect: tuple[int, ...]
    timeout_ms: int
    background: bool
    until_ms: int


class OperationPerformed(OperationRequested, frozen=True, kw_only=True):
    """And the codes of its last answer."""

    codes: tuple[int, ...]


class ScriptPlanned(msgspec.Struct, frozen=True):
    """How many moves a script has."""

    planned: int


class ScriptEnded(ScriptPlanned, frozen=True):
    """The end of a script, and how many of its moves succeeded."""

    made: int
