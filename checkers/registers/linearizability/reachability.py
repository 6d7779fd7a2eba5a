"""A fast check before the search: calls that are impossible in every reachable state.

The usual case is a read of a value that was never written, for which the search would try all orders of the
open calls.
"""

from checkers.registers.linearizability.problem import Problem
from checkers.registers.linearizability.transitions import INITIAL, REFUSED, Transitions

_STEPS_MAX = 2_000


def sees_all_states(problem: Problem, transitions: Transitions) -> bool:
    """Take all steps.

    Returns False if there may be more states than a quick check can visit.
    """
    actions = range(len(problem.actions))
    state = INITIAL
    while state < len(transitions.states):
        if (state + 1) * len(actions) > _STEPS_MAX:
            return False
        for action in actions:
            if action not in transitions.rows[state]:
                transitions.step(state, action)
        state += 1
    return True


def first_impossible(problem: Problem, transitions: Transitions) -> int | None:
    """The first completion of a certain call that no state allows.

    None if there is none, or if there may be more states than a quick check can visit.
    """
    if not sees_all_states(problem, transitions):
        return None
    allowed = {action for row in transitions.rows for action, after in row.items() if after != REFUSED}
    return next((at for at, here in enumerate(problem.options) if here[0][1] not in allowed), None)
