"""The check against an oracle that tries every order, atomic objects with crashes, and mutations of them."""

import dataclasses
import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from checkers.history.operations import History, OperationType
from checkers.registers.linearizability import MODELS, SearchBudget, check_linearizable
from checkers.registers.linearizability.calls import groups_of
from checkers.registers.linearizability.search import SearchAnswer
from checkers.registers.linearizability.witness import UnlinearizableCalls, recent_proof
from checkers.verdict.verdict import Validity
from tests.checkers.registers.linearizability.object_histories import Atomic, fits, history, oracle, simulated

SEEDS = st.integers(0, 2**32)
VALUES = st.integers(0, 2)
KINDS = sorted(MODELS)
MANY = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
FEW = settings(max_examples=40)


def transactions(*, results: bool) -> st.SearchStrategy[list[Any]]:
    values = st.none() | VALUES
    part = st.tuples(st.just("r"), st.sampled_from("xy"), values if results else st.none())
    write = st.tuples(st.just("w"), st.sampled_from("xy"), VALUES)
    return st.lists(st.one_of(part, write).map(list), min_size=1, max_size=3)


def questions(kind: str) -> st.SearchStrategy[tuple[str, Any]]:
    """Names and arguments of operations."""
    read = st.tuples(st.just("read"), st.none())
    write = st.tuples(st.just("write"), VALUES)
    cas = st.tuples(st.just("cas"), st.lists(VALUES, min_size=2, max_size=2))
    return {
        "register": read | write,
        "cas-register": read | write | cas,
        "mutex": st.tuples(st.sampled_from(["acquire", "release"]), st.none()),
        "set": read | st.tuples(st.sampled_from(["add", "contains"]), VALUES),
        "fifo-queue": st.tuples(st.just("enqueue"), VALUES) | st.tuples(st.just("dequeue"), st.none()),
        "multi-register": st.tuples(st.just("txn"), transactions(results=False)),
    }[kind]


def answers(kind: str, f: str, asked: Any) -> st.SearchStrategy[Any]:
    """Results that an operation could tell, right or wrong."""
    if kind == "multi-register":
        results = [VALUES | st.none() if part[0] == "r" else st.just(part[2]) for part in asked]
        return st.tuples(*results).map(
            lambda values: [[*p[:2], v] for p, v in zip(asked, values, strict=True)]
        )
    if f == "read" and kind == "set":
        return st.lists(VALUES, unique=True)
    if f in ("read", "dequeue"):
        return VALUES | st.none()
    if f == "contains":
        return st.booleans().map(lambda found: [asked, found])
    return st.just(asked)


@st.composite
def tiny(draw: st.DrawFn, kind: str) -> History:
    """Any well-formed history of at most six operations, most of them wrong."""
    rows: list[Any] = []
    names = itertools.count()
    waiting: list[tuple[int, str, Any]] = []
    for _ in range(draw(st.integers(1, 6))):
        while bool(waiting) and draw(st.booleans()):
            process, f, asked = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
            end = draw(st.sampled_from(["ok", "ok", "ok", "fail", "info"]))
            rows.append((None, process, end, f, draw(answers(kind, f, asked)) if end == "ok" else asked))
        f, asked = draw(questions(kind))
        process = next(names)
        rows.append((None, process, "invoke", f, asked))
        waiting.append((process, f, asked))
    for process, f, asked in waiting:
        if draw(st.booleans()):
            rows.append((None, process, "ok", f, draw(answers(kind, f, asked))))
    return history(rows)


@pytest.mark.parametrize("kind", KINDS)
@MANY
@given(data=st.data())
def test_agrees_with_trying_every_order(kind: str, data: st.DataObject) -> None:
    story, model = data.draw(tiny(kind)), MODELS[kind]()
    result = check_linearizable(story, model)
    assert result.validity is (Validity.VALID if oracle(story, model) else Validity.INVALID)


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(data=st.data(), seed=SEEDS, crashes=st.sampled_from([0.0, 0.2, 0.6]))
def test_an_atomic_object_is_valid(kind: str, data: st.DataObject, seed: int, crashes: float) -> None:
    asked = data.draw(st.lists(st.tuples(st.sampled_from("ab"), questions(kind)), max_size=40))
    story = simulated([(key, f, value) for key, (f, value) in asked], Atomic(kind), seed, crashes=crashes)
    result = check_linearizable(story, MODELS[kind]())
    assert result.counts == {}
    assert result.validity is (Validity.VALID if asked else Validity.UNKNOWN)


@pytest.mark.slow
@pytest.mark.no_cover  # tracing takes as long as judging, and other tests reach every branch
@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(data=st.data(), seed=SEEDS)
def test_a_mutated_history_is_judged_as_by_trying_every_order(
    kind: str, data: st.DataObject, seed: int
) -> None:
    asked = data.draw(st.lists(questions(kind), min_size=1, max_size=6))
    story = simulated([(None, f, value) for f, value in asked], Atomic(kind), seed, processes=3)
    ends = [o for o in story.operations if o.type is OperationType.OK]
    assume(ends)
    end = data.draw(st.sampled_from(ends))
    question = next(o for o in reversed(story.operations[: end.index]) if o.process == end.process)
    other = msgspec.structs.replace(end, value=data.draw(answers(kind, end.f, question.value)))
    changed = [other if o.index == end.index else o for o in story.operations]
    mutated = msgspec.structs.replace(story, operations=tuple(changed))
    model = MODELS[kind]()
    assert check_linearizable(mutated, model).counts == (
        {} if oracle(mutated, model) else {"nonlinearizable": 1}
    )


@FEW
@given(SEEDS, st.integers(0, 60), st.integers(0, 2))
def test_a_smaller_budget_gives_the_same_or_unknown_and_always_the_same(
    seed: int, steps: int, memory_mb: int
) -> None:
    story = simulated([(None, "write", n % 3) for n in range(12)], Atomic("register"), seed, crashes=0.5)
    budget = SearchBudget(steps=steps, memory_mb=memory_mb)
    result = check_linearizable(story, MODELS["register"](), budget=budget)
    assert result.validity in (Validity.VALID, Validity.UNKNOWN)
    assert check_linearizable(story, MODELS["register"](), budget=budget) == result


@pytest.mark.slow
@pytest.mark.no_cover  # tracing takes as long as judging, and other tests reach every branch
@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(data=st.data())
def test_what_is_left_of_a_witness_is_wrong_by_itself(kind: str, data: st.DataObject) -> None:
    """Up to its end a witness has no order, even where all others may happen at any time or never."""
    story, model = data.draw(tiny(kind)), MODELS[kind]()
    result = check_linearizable(story, model)
    assume(len(result.anomalies) == 1)
    (anomaly,) = result.anomalies
    (group,) = [some for some in groups_of(story, model) if not fits(model, some.calls)]
    *_, end = anomaly.witness
    before = [call for call in group.calls if call.invoked < end]
    kept = [call for call in before if call.invoked in anomaly.witness]
    kept = [
        call if call.end in anomaly.witness else msgspec.structs.replace(call, certain=False) for call in kept
    ]
    others = [c for c in before if c.invoked not in anomaly.witness and not model.observes(c.action)]
    assert not fits(
        model, [*kept, *(msgspec.structs.replace(call, certain=False, since=-1) for call in others)]
    )
    assert anomaly.explanation


@pytest.mark.parametrize("kind", ["cas-register", "mutex", "register"])
@MANY
@given(data=st.data())
def test_a_proof_from_the_last_calls_holds_in_every_state(kind: str, data: st.DataObject) -> None:
    model = MODELS[kind]()
    for group in groups_of(data.draw(tiny(kind)), model):
        case = UnlinearizableCalls.of(model, group.calls, SearchBudget())
        if case.outcome.answer is not SearchAnswer.NONLINEARIZABLE or case.is_hopeless:
            continue
        proof = recent_proof(model, case, SearchBudget().memory_mb)
        if proof is None:
            continue
        for state in case.transitions.states:
            assert not fits(dataclasses.replace(model, initial=state), proof.kept)
