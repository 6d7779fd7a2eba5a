"""The types of reports of scripts and gambits about their moves, except faults and admin operations.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from checkers.history.fields import written

CHOOSE, AWAIT, PERFORM, MOVES = "choose", "await", "perform", "moves"
"""Functions of these operations."""
Planned = dict[str, object]
"""A value of a scenario's vocabulary, as in a schedule; it is not checked."""


class ConditionAwaited(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that is awaited.

    Attributes:
        move: unset in gambits.
        condition: the awaited condition.
        within_ms: time limit, milliseconds.
    """

    move: Literal["await"] | UnsetType = UNSET
    condition: Planned
    within_ms: int


class ConditionSeen(ConditionAwaited, frozen=True, kw_only=True):
    """The result of awaiting a condition.

    Attributes:
        saw: the last observation of the cluster; its shape depends on the condition.
    """

    saw: object


class ChoiceRequested(msgspec.Struct, frozen=True):
    """A choice that a gambit should make."""

    choice: Planned = written({})


class ChoiceMade(ChoiceRequested, frozen=True, kw_only=True):
    """The nodes and the partition that a gambit chose.

    Attributes:
        parts: names of nodes by part, such as ``leader``.
        where: topic and number of the partition; None if none was chosen.
        as_then: in a replay, whether the chosen nodes lead as they did in the original run; unset otherwise.
    """

    parts: dict[str, str]
    where: tuple[str, int] | None = None
    as_then: bool | UnsetType = UNSET


class OperationRequested(msgspec.Struct, frozen=True, kw_only=True):
    """An admin operation that a script performs.

    Attributes:
        move: the kind of move.
        operation: the requested operation.
        expect: Kafka's error codes that each answer may have; empty for any code.
        timeout_ms: how long a request may take.
        background: whether the script continues during the request.
        until_ms: how long the request is repeated until an expected code is returned.
    """

    move: Literal["perform"] = "perform"
    operation: Planned
    expect: tuple[int, ...]
    timeout_ms: int
    background: bool
    until_ms: int


class OperationPerformed(OperationRequested, frozen=True, kw_only=True):
    """A performed admin operation, with the codes of its last answer."""

    codes: tuple[int, ...]


class ScriptPlanned(msgspec.Struct, frozen=True):
    """The number of moves of a script."""

    planned: int


class ScriptEnded(ScriptPlanned, frozen=True):
    """The end of a script, and how many of its moves succeeded."""

    made: int
