"""States and actions as numbers; each step of a model is computed once and cached."""

from collections.abc import Sequence

from checkers.registers.linearizability.contract import INCONSISTENT, Action, Model, State

INITIAL = 0
"""Number of the initial state."""

REFUSED = -1
"""Stands for the next state if an action is impossible in a state."""

_STATE_BYTES = 400
_ITEM_BYTES = 50
_STEP_BYTES = 100


class Transitions:
    """The part of a model's state machine that a search has visited.

    Attributes:
        rows: per state, by the action's number: the number of the next state, or `REFUSED`; only for
            requested steps.
        bytes_used: estimated memory of the object.
    """

    def __init__(self, model: Model, actions: Sequence[Action]) -> None:
        self._model = model
        self._actions = actions
        self._numbers: dict[State, int] = {}
        self.states: list[State] = []
        self.rows: list[dict[int, int]] = []
        self.bytes_used = 0
        self._number(model.initial)

    def step(self, state: int, action: int) -> int:
        """Compute a step that `rows` does not have: the number of the next state, or `REFUSED`."""
        reached = self._model.step(self.states[state], self._actions[action])
        after = REFUSED if reached is INCONSISTENT else self._number(reached)
        self.rows[state][action] = after
        self.bytes_used += _STEP_BYTES
        return after

    def _number(self, state: State) -> int:
        number = self._numbers.get(state)
        if number is None:
            number = self._numbers[state] = len(self.states)
            self.states.append(state)
            self.rows.append({})
            items = len(state) if isinstance(state, tuple | frozenset) else 0
            self.bytes_used += _STATE_BYTES + _ITEM_BYTES * items
        return number
