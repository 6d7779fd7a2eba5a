"""Searches every group of a history within the budget, and reports the results."""

from collections.abc import Hashable, Sequence

from checkers.history.operations import History
from checkers.registers.anomalies import NONLINEARIZABLE
from checkers.registers.linearizability.calls import Group, groups_of, is_invocation_of_client
from checkers.registers.linearizability.canonical import UnreadableError, shown
from checkers.registers.linearizability.contract import Model
from checkers.registers.linearizability.problem import TooLargeError
from checkers.registers.linearizability.search import SearchAnswer, SearchBudget
from checkers.registers.linearizability.witness import UnlinearizableCalls, anomaly_of
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, CheckerResult, result_of

CHECKER = "linearizability"
DEFAULT = SearchBudget()


def check_linearizable(history: History, model: Model, *, budget: SearchBudget = DEFAULT) -> CheckerResult:
    """Decide whether some order of a history's operations agrees with real time and with the model.

    Operations of different keys are judged separately, and so are operations that the model's partition
    separates. Operations of the nemesis, the runner and observers are ignored.

    Args:
        history: any history of clients; the indices of its operations are their positions in it.
        model: the object's rules and its initial state.
        budget: the limits of the search; if they do not suffice, the result is unknown.

    Returns:
        A result with a finding ``nonlinearizable`` for each group without a linearization.  The result is
        unknown for a history that can't be read, has no client operation, or is damaged.
    """
    try:
        groups = groups_of(history, model)
    except UnreadableError as error:
        return result_of(CHECKER, [], unknown_because=str(error))
    searched = _Searched(model)
    undecided = searched.search(groups, budget.steps, budget)
    # The steps that one group did not use may decide another group.
    undecided = searched.search([group for group, _ in undecided], budget.steps - searched.steps, budget)
    return result_of(
        CHECKER,
        [anomaly_of(history.operations, model, *example, budget.memory_mb) for example in searched.examples],
        counts={NONLINEARIZABLE.id: searched.wrong} if searched.wrong else {},
        figures={
            "model": model.name,
            "calls": sum(len(group.calls) for group in groups),
            "groups": len(groups),
            "steps": searched.steps,
            "configurations": searched.configurations,
        },
        unknown_because=_doubt(history, undecided, budget),
    )


class _Searched:
    """The results of searching groups."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.examples: list[tuple[Hashable, UnlinearizableCalls]] = []
        self.wrong = 0
        self.steps = 0
        self.configurations = 0

    def search(
        self, groups: Sequence[Group], steps: int, budget: SearchBudget
    ) -> list[tuple[Group, SearchAnswer]]:
        """Search groups, each with its share of the remaining steps; return the undecided groups."""
        undecided: list[tuple[Group, SearchAnswer]] = []
        left = steps
        for number, group in enumerate(groups):
            share = SearchBudget(left // (len(groups) - number), budget.memory_mb)
            answer, steps = self._answer(group, share)
            left -= steps
            self.steps += steps
            if answer in (SearchAnswer.OUT_OF_STEPS, SearchAnswer.OUT_OF_MEMORY):
                undecided.append((group, answer))
        return undecided

    def _answer(self, group: Group, budget: SearchBudget) -> tuple[SearchAnswer, int]:
        """The answer of a group's search, and its steps.

        Keeps the first cases without a linearization.
        """
        try:
            case = UnlinearizableCalls.of(self._model, group.calls, budget)
        except TooLargeError:
            return SearchAnswer.OUT_OF_MEMORY, 0
        outcome = case.outcome
        self.configurations += outcome.configurations
        if outcome.answer is SearchAnswer.NONLINEARIZABLE:
            self.wrong += 1
            if len(self.examples) < EXAMPLES_PER_ANOMALY:
                self.examples.append((group.key, case))
        return outcome.answer, outcome.steps


def _doubt(
    history: History, undecided: Sequence[tuple[Group, SearchAnswer]], budget: SearchBudget
) -> str | None:
    """Why a history without a finding is not valid; None if it is valid."""
    if undecided:
        group, answer = undecided[0]
        limit = f"{budget.steps} steps" if answer is SearchAnswer.OUT_OF_STEPS else f"{budget.memory_mb} MB"
        which = "" if group.key is None else f" of {shown(group.key)}"
        rest = f" and {len(undecided) - 1} more groups" if len(undecided) > 1 else ""
        return f"the search of {len(group.calls)} calls{which}{rest} exhausted its budget of {limit}"
    if history.damage:
        return f"the history is damaged: {history.damage[0]}"
    if not any(map(is_invocation_of_client, history.operations)):
        return "the history has no operation of a client"
    return None
