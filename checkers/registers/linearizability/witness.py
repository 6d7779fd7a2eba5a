"""The smallest set of operations that shows that a group has no linearization, and the proof as text.

Operations are weakened one after the other, as long as no linearization appears: a read-only operation is
left out, and any other operation may take effect at any time, or never.  A weakened history has every
linearization of the complete one, so the remaining operations prove that the complete one has none.

If that takes too long, only the operations since some time are considered, starting from every possible state
of the object, because the earlier operations can only have led to one of these states.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from checkers.history.operations import OK, Operation
from checkers.registers.anomalies import NONLINEARIZABLE
from checkers.registers.linearizability.calls import ObjectCall
from checkers.registers.linearizability.canonical import canonical, shown
from checkers.registers.linearizability.contract import INCONSISTENT, Model
from checkers.registers.linearizability.problem import Problem, problem_of
from checkers.registers.linearizability.reachability import first_impossible, sees_all_states
from checkers.registers.linearizability.search import (
    Path,
    SearchAnswer,
    SearchBudget,
    SearchResult,
    Stuck,
    search,
)
from checkers.registers.linearizability.transitions import INITIAL, Transitions
from checkers.verdict.verdict import Anomaly

_STEPS = 200_000
_STEPS_EACH = 20_000
_SHOWN_MAX = 8
_LISTED_MAX = 20
_WITNESS_MAX = 500
_ALWAYS = -1
"""A position before every operation."""
_WITHOUT_VALUE = ("acquire", "release")


@dataclass(frozen=True, slots=True)
class UnlinearizableCalls:
    """Calls, and the search that found no linearization for them."""

    calls: Sequence[ObjectCall]
    problem: Problem
    transitions: Transitions
    outcome: SearchResult

    @classmethod
    def of(cls, model: Model, calls: Sequence[ObjectCall], budget: SearchBudget) -> "UnlinearizableCalls":
        """Search calls, unless a quick check decides.

        Raises:
            TooLargeError: if the memory does not suffice to start.
        """
        problem = problem_of(model, calls, budget.memory_bytes)
        transitions = Transitions(model, problem.actions)
        hopeless = first_impossible(problem, transitions)
        if hopeless is None:
            return cls(calls, problem, transitions, search(problem, transitions, budget))
        outcome = SearchResult(SearchAnswer.NONLINEARIZABLE, hopeless, (Stuck(None, 0, 0),), 0, 0)
        return cls(calls, problem, transitions, outcome)

    @property
    def is_hopeless(self) -> bool:
        """Whether the blocked call is impossible in every state, so that other calls do not matter."""
        return self.outcome.configurations == 0

    @property
    def blocked(self) -> ObjectCall:
        """The call whose completion no order can pass."""
        return self.calls[self.problem.options[self.outcome.completions][0][2]]


@dataclass(frozen=True, slots=True)
class Proof:
    """Calls that have no linearization.

    Attributes:
        kept: the calls.
        fewest: whether the budget sufficed to try to leave out each call.
        since: operation before which no other matters; None if the proof starts from the initial state.
    """

    kept: Sequence[ObjectCall]
    fewest: bool
    since: int | None = None


@dataclass(slots=True)
class Effort:
    """The remaining budget for making witnesses small."""

    steps: int
    steps_each: int
    memory_mb: int
    case: UnlinearizableCalls
    starts: Sequence[int] = (INITIAL,)

    def shows(self, model: Model, calls: Sequence[ObjectCall]) -> bool:
        """Whether calls certainly have no linearization; also False if the budget does not suffice."""
        budget = SearchBudget(min(self.steps, self.steps_each), self.memory_mb)
        problem = problem_of(model, calls, budget.memory_bytes, self.case.problem.actions)
        outcome = search(problem, self.case.transitions, budget, self.starts)
        self.steps -= outcome.steps + len(calls)
        return outcome.answer is SearchAnswer.NONLINEARIZABLE


def anomaly_of(
    operations: Sequence[Operation], model: Model, key: Hashable, case: UnlinearizableCalls, memory_mb: int
) -> Anomaly:
    """The finding for a case without a linearization."""
    proof = _proof(model, case, memory_mb)
    kept = proof.kept
    texts = _Texts(operations, model, case)
    where = "" if key is None else f"{shown(key)}: "
    return NONLINEARIZABLE.found(
        f"{where}{texts.named(case.blocked)} cannot take effect between its invocation and its "
        f"completion: {texts.refusals()[0][1]}.",
        subject=None if key is None else shown(key),
        time_ns=operations[case.blocked.end].time_ns,
        witness=sorted(
            {
                index
                for call in _last(kept, _WITNESS_MAX)
                for index in (call.invoked, call.end)[: 1 + call.certain]
            }
        ),
        explanation=texts.proof(proof),
    )


def _proof(model: Model, case: UnlinearizableCalls, memory_mb: int) -> Proof:
    """Calls that have no linearization, as few as possible."""
    if case.is_hopeless:
        return Proof([case.blocked], fewest=True)
    effort = Effort(_STEPS, _STEPS_EACH, memory_mb, case)
    kept = _needed(model, _prefix(model, case), effort)
    if effort.steps > 0:
        return Proof(kept, fewest=True)
    recent = recent_proof(model, case, memory_mb)
    return Proof(kept, fewest=False) if recent is None else recent


def recent_proof(model: Model, case: UnlinearizableCalls, memory_mb: int) -> Proof | None:
    """A proof from the last calls only, for any state before them; None if none is found."""
    if not sees_all_states(case.problem, case.transitions):
        return None
    effort = Effort(_STEPS, _STEPS_EACH, memory_mb, case, range(len(case.transitions.states)))
    prefix = _prefix(model, case)
    size = 1
    while size < len(prefix) and effort.steps > 0:
        since = prefix[-size].invoked
        calls = [_since(call, since) for call in prefix if not _is_over(model, call, since)]
        if effort.shows(model, calls):
            return Proof(_needed(model, calls, effort), fewest=effort.steps > 0, since=since)
        size *= 2
    return None


def _is_over(model: Model, call: ObjectCall, since: int) -> bool:
    """Whether a call constrains nothing after an operation, because it had ended or only observes."""
    began_before = call.invoked < since
    return began_before and call.certain and (call.end < since or model.observes(call.action))


def _since(call: ObjectCall, since: int) -> ObjectCall:
    """The call as it constrains the states after an operation.

    A call that began before the operation may have taken effect before it, so it need not take effect later.
    """
    return _freed(call) if call.invoked < since else call


def _last(calls: Sequence[ObjectCall], count: int) -> list[ObjectCall]:
    """The last calls to be completed."""
    return sorted(calls, key=lambda call: call.end)[-count:]


def _prefix(model: Model, case: UnlinearizableCalls) -> list[ObjectCall]:
    """The calls up to the first completion that no order passes.

    Calls that were open then may have happened.
    """
    end = case.blocked.end
    prefix = []
    for call in case.calls:
        if call.certain and call.end <= end:
            prefix.append(call)
        elif call.invoked < end and not model.observes(call.action):
            prefix.append(msgspec.structs.replace(call, certain=False))
    return prefix


def _needed(model: Model, calls: list[ObjectCall], effort: Effort) -> list[ObjectCall]:
    """The calls that can't be weakened; smaller and smaller series of calls are tried, the oldest first."""
    kept, others = calls, list[ObjectCall]()
    size = len(kept) // 2
    while size:
        begin = 0
        while begin < len(kept) and effort.steps > 0:
            free = [_freed(call) for call in kept[begin : begin + size] if not model.observes(call.action)]
            rest = kept[:begin] + kept[begin + size :]
            if rest and effort.shows(model, [*others, *free, *rest]):
                kept, others = rest, others + free
            else:
                begin += size
        size //= 2
    return kept


def _freed(call: ObjectCall) -> ObjectCall:
    return msgspec.structs.replace(call, certain=False, since=_ALWAYS)


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts about calls and configurations."""

    operations: Sequence[Operation]
    model: Model
    case: UnlinearizableCalls

    def named(self, call: ObjectCall) -> str:
        """A call with its value, process and position."""
        process = self.operations[call.invoked].process
        until = "" if call.completed is None else f" to {call.end}"
        return f"{self._briefly(call)} of process {process} (operation {call.invoked}{until})"

    def refusals(self) -> list[tuple[Stuck, str]]:
        """Why the blocked call is impossible, once for each state that was reached."""
        first: dict[int, Stuck] = {}
        for stuck in self.case.outcome.stuck:
            first.setdefault(stuck.state, stuck)
        return [(stuck, self._refusal(stuck, self.case.blocked)) for stuck in first.values()]

    def proof(self, proof: Proof) -> Iterator[str]:
        """The proof, line by line."""
        blocked, kept = self.case.blocked, proof.kept
        if proof.since is not None:
            yield (
                f"Whatever operations took effect before operation {proof.since}, and whatever state "
                "they led to:"
            )
        if len(kept) > _LISTED_MAX:
            yield f"{len(kept) - _LISTED_MAX} operations of the witness happened, and after them:"
        yield from (self._happened(call) for call in _last(kept, _LISTED_MAX))
        if not proof.fewest:
            yield "Fewer operations may be enough, but there are too many to try them all."
        if len(kept) > _WITNESS_MAX:
            yield f"The witness lists the last {_WITNESS_MAX} of {len(kept)} operations."
        yield (
            f"No other operation that was invoked before operation {blocked.end} changes that, "
            "whenever it takes effect, or if it never does."
        )
        if self.case.is_hopeless:
            yield "No state that operations can lead to allows it, and so not the initial one."
        for stuck, refusal in self.refusals():
            state = self.model.text_of(self.case.transitions.states[stuck.state])
            yield f"After {self._order(stuck)} the state is {state}: {refusal}."
            yield from self._also_open(stuck)
        yield f"So {self._briefly(blocked)} can't take effect before its completion, whatever the order."

    def _order(self, stuck: Stuck) -> str:
        taken = [self._briefly(self.case.calls[number]) for number in _taken(stuck.path)]
        cut = ["…"] if len(taken) > _SHOWN_MAX else []
        return ", ".join([*cut, *taken[-_SHOWN_MAX:]]) or "nothing"

    def _also_open(self, stuck: Stuck) -> Iterator[str]:
        for bit, _, number, _ in self.case.problem.options[self.case.outcome.completions][1:]:
            call = self.case.calls[number]
            refusal = "" if stuck.linearized & bit else self._refusal(stuck, call)
            if refusal:
                yield f"Nor can {self._briefly(call)}, which is open too, be next: {refusal}."

    def _refusal(self, stuck: Stuck, call: ObjectCall) -> str:
        """Why a call is impossible in a configuration; empty if it is possible."""
        state = self.case.transitions.states[stuck.state]
        if self.model.step(state, call.action) is not INCONSISTENT:
            return ""
        return self.model.refusal(state, call.action)

    def _happened(self, call: ObjectCall) -> str:
        if call.certain:
            return f"{self.named(call)} happened."
        return f"{self.named(call)} may have happened, not before its invocation."

    def _briefly(self, call: ObjectCall) -> str:
        invoke, last = self.operations[call.invoked], self.operations[call.end]
        known = last.type is OK and last.value is not None
        value = last.value if known else invoke.value
        if value is None and (invoke.f in _WITHOUT_VALUE or last.type is not OK):
            return invoke.f
        return f"{invoke.f} {shown(canonical(value))}"


def _taken(path: Path) -> list[int]:
    """The calls of a path, from the first one."""
    taken = []
    while path is not None:
        call, path = path
        taken.append(call)
    return taken[::-1]
