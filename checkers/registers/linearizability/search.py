"""The search for a linearization: depth first over configurations, each visited once.

The algorithm is Wing and Gong's (Testing and Verifying Concurrent Objects, 1993) with Lowe's memory of
visited configurations (Testing for Linearizability, 2017).  A configuration is the set of linearized calls
and a state.  The set is stored as the first completion whose call is not in it, together with the linearized
calls that are open at that completion.

Four rules keep the search small, without losing a linearization:

- A certain call that only observes, such as a read, is linearized as soon as it is possible: in any
  linearization of the rest it can be moved to the front.
- A call that may have happened is linearized only if it changes the state, and only if the following calls
  need it: a linearization in which the next call undoes it is also one without it.
- Of equal open calls, the one that completes first is linearized first.  If two are linearized in the other
  order, they can be exchanged.
- A configuration is skipped if a visited one differs only by using fewer of the calls that may have happened,
  because every continuation of this one is also one of the visited one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import msgspec

from checkers.registers.linearizability.problem import Problem
from checkers.registers.linearizability.transitions import INITIAL, REFUSED, Transitions

_CONFIGURATION_BYTES = 300
_ENTRY_BYTES = 200
_STUCK_MAX = 4
_NOTHING: dict[int, int] = {}


class SearchBudget(msgspec.Struct, frozen=True):
    """Limits of one check.

    The counted quantities do not depend on the machine or on time.

    Attributes:
        steps: number of possible next calls that are examined, over all groups.
        memory_mb: megabytes of remembered configurations, states and steps (by estimate) of one group.
    """

    steps: int = 100_000_000
    memory_mb: int = 1_000

    @property
    def memory_bytes(self) -> int:
        """The memory limit in bytes."""
        return self.memory_mb * 1_000_000


class SearchAnswer(Enum):
    """The answer of a search."""

    LINEARIZABLE = "linearizable"
    NONLINEARIZABLE = "nonlinearizable"
    OUT_OF_STEPS = "out of steps"
    OUT_OF_MEMORY = "out of memory"


Path = tuple[int, "Path"] | None
"""Linearized calls, the last one first."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """A configuration from which no linearization was found.

    Attributes:
        path: the calls that led there.
        linearized: the slots of the open calls that are linearized.
        state: the state's number.
    """

    path: Path
    linearized: int
    state: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search.

    Attributes:
        answer: whether there is a linearization.
        completions: the largest number of completions that some order of calls passed.
        stuck: some configurations that passed that many, if there is no linearization.
        steps: number of possible next calls that were examined.
        configurations: number of stored configurations.
    """

    answer: SearchAnswer
    completions: int
    stuck: tuple[Stuck, ...]
    steps: int
    configurations: int


def search(
    problem: Problem, transitions: Transitions, budget: SearchBudget, starts: Iterable[int] = (INITIAL,)
) -> SearchResult:
    """Search for a linearization within a budget, from any of some states (given by number)."""
    return _Search(problem, transitions, budget, starts).outcome()


_Entry = tuple[int, int, int, int, int, Path]
"""Completions passed; slots linearized; counters of the kinds; state; the state before the last call if that
call may have happened, otherwise `REFUSED`; the calls taken."""


class _Search:
    def __init__(
        self, problem: Problem, transitions: Transitions, budget: SearchBudget, starts: Iterable[int]
    ) -> None:
        self._problem = problem
        self._transitions = transitions
        self._steps_max = budget.steps
        self._memory_max = budget.memory_bytes - problem.size_bytes
        self._visited: dict[tuple[int, int, int], int | list[int]] = {}
        self._stack: list[_Entry] = [(0, 0, 0, start, REFUSED, None) for start in starts]
        self._steps = 0
        self._remembered = 0
        self._deepest = 0
        self._stuck: list[Stuck] = []

    def outcome(self) -> SearchResult:
        return SearchResult(self._answer(), self._deepest, tuple(self._stuck), self._steps, self._remembered)

    def _answer(self) -> SearchAnswer:
        stack, end = self._stack, len(self._problem.options)
        while stack:
            at, linearized, used, state, before, path = self._settled(stack.pop())
            if at == end:
                self._deepest = end
                return SearchAnswer.LINEARIZABLE
            if self._is_known((at, linearized, state), used):
                continue
            if at >= self._deepest:
                self._note(at, Stuck(path, linearized, state))
            self._push_next((at, linearized, used, state, before, path))
            if self._steps > self._steps_max:
                return SearchAnswer.OUT_OF_STEPS
            entries = self._remembered * _CONFIGURATION_BYTES + len(stack) * _ENTRY_BYTES
            if entries + self._transitions.bytes_used > self._memory_max:
                return SearchAnswer.OUT_OF_MEMORY
        return SearchAnswer.NONLINEARIZABLE

    def _settled(self, entry: _Entry) -> _Entry:
        """Linearize all possible calls that only observe, and pass the completions of linearized calls."""
        at, linearized, used, state, before, path = entry
        options, row, step = self._problem.options, self._transitions.rows[state], self._transitions.step
        end = len(options)
        while at < end:
            here = options[at]
            self._steps += len(here)
            for bit, action, call, observes in here:
                if observes and not linearized & bit:
                    after = row.get(action)
                    if after is None:
                        after = step(state, action)
                    if after == state:
                        linearized |= bit
                        before = REFUSED
                        path = (call, path)
            first = here[0][0]
            if not linearized & first:
                break
            linearized ^= first
            at += 1
        return at, linearized, used, state, before, path

    def _is_known(self, key: tuple[int, int, int], used: int) -> bool:
        """Whether this configuration, or one that used fewer calls, was visited; stores it if not."""
        visited, guards = self._visited, self._problem.guards
        fewer = visited.get(key)
        if fewer is None:
            visited[key] = used
        elif isinstance(fewer, int):
            if ((used | guards) - fewer) & guards == guards:
                return True
            visited[key] = [fewer, used]
        else:
            raised = used | guards
            self._steps += len(fewer)
            if any((raised - one) & guards == guards for one in fewer):
                return True
            fewer.append(used)
        self._remembered += 1
        return False

    def _push_next(self, entry: _Entry) -> None:
        """Push the possible next calls: the first to complete on top, uncertain calls at the bottom."""
        at, linearized, used, state, before, path = entry
        row, step = self._transitions.rows[state], self._transitions.step
        undone = self._transitions.rows[before] if before != REFUSED else _NOTHING
        tried: set[int] = set()
        certain: list[_Entry] = []
        for bit, action, call, observes in self._problem.options[at]:
            if observes or linearized & bit or action in tried:
                continue
            tried.add(action)
            after = row[action] if action in row else step(state, action)
            if after != REFUSED and undone.get(action) != after:
                certain.append((at, linearized | bit, used, after, REFUSED, (call, path)))
        if self._problem.kinds:
            self._push_possible(entry, tried, undone)
        self._stack.extend(reversed(certain))

    def _push_possible(self, entry: _Entry, tried: set[int], undone: dict[int, int]) -> None:
        """Push the calls that may have happened, without those that equal a certain call."""
        at, linearized, used, state, _, path = entry
        row, step = self._transitions.rows[state], self._transitions.step
        for kind in self._problem.kinds:
            action, since = kind.action, kind.since
            if since[0] > at:
                break
            self._steps += 1
            after = row[action] if action in row else step(state, action)
            if after in (REFUSED, state) or action in tried or undone.get(action) == after:
                continue
            taken = (used >> kind.shift) & kind.field
            if taken < len(since) and since[taken] <= at:
                more = used + (1 << kind.shift)
                self._stack.append((at, linearized, more, after, state, (kind.calls[taken], path)))

    def _note(self, at: int, stuck: Stuck) -> None:
        if at > self._deepest:
            self._deepest = at
            self._stuck = []
        if len(self._stuck) < _STUCK_MAX:
            self._stuck.append(stuck)
