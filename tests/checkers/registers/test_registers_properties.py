"""The register checker against oracles by definition, on tiny histories of every kind."""

from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.history.operations import Operation, OperationType
from checkers.registers import applies, check_registers
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.registers.register_histories import history_of
from tests.checkers.registers.register_oracle import linearizable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.no_cover,  # tracing takes as long as judging, and other tests reach every branch
]

Type = OperationType
MANY = settings(max_examples=1500)
SOME = settings(max_examples=500)
_ENDS = [*([Type.OK] * 6), Type.INFO, Type.FAIL, None]


@st.composite
def few_operations(draw: st.DrawFn) -> list[Operation]:
    """At most seven operations on at most two registers, every value written at most once, in any overlap."""
    count = draw(st.integers(0, 7))
    in_turn = sorted([*range(count)] * 2)
    events = draw(st.permutations(in_turn) | st.just(in_turn))
    writes = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    keys: list[Any] = draw(st.sampled_from([["x"], ["x"], ["x", 1]]))
    values = [None, *(call for call in range(count) if writes[call])]
    operations: list[Operation] = []
    begun: dict[int, Any] = {}
    for call in events:
        f = "write" if writes[call] else "read"
        if call not in begun:
            begun[call] = draw(st.sampled_from(keys))
            value = call if writes[call] else None
            operations.append(Operation(0, 0, call, Type.INVOKE, f, begun[call], value))
            continue
        end = draw(st.sampled_from(_ENDS))
        value = call if writes[call] else draw(st.sampled_from(values))
        if end is not None:
            operations.append(Operation(0, 0, call, end, f, begun[call], value))
    return operations


@MANY
@given(few_operations())
def test_zones_agree_with_all_linearizations(operations: list[Operation]) -> None:
    history = history_of(operations)
    result = check_registers(history)
    assert applies(history)
    assert (result.validity is not Validity.INVALID) is linearizable(history)
    assert result.figures["strict_linearizable"] is (result.validity is not Validity.INVALID)
    assert result.validity is not Validity.UNKNOWN


class Call(NamedTuple):
    """An operation that counts: a write that did not fail, or a read that returned."""

    write: bool
    key: Any
    value: Any
    begin: int
    end: float


def calls_of(operations: list[Operation]) -> list[Call]:
    """All operations that count, and the write of null before the history to each register."""
    calls = [Call(write=True, key=key, value=None, begin=-2, end=-1) for key in ("x", 1)]
    for index, begun in enumerate(operations):
        if begun.f not in ("write", "read") or begun.type is not Type.INVOKE:
            continue
        after = [(i, o) for i, o in enumerate(operations) if i > index and o.process == begun.process]
        end, ended = after[0] if after else (0, begun)
        write, acknowledged = begun.f == "write", ended.type is Type.OK
        if acknowledged or (write and ended.type is not Type.FAIL):
            value = begun.value if write else ended.value
            calls.append(Call(write, begun.key, value, index, end if acknowledged else float("inf")))
    return calls


def certain_from(calls: list[Call], write: Call) -> float:
    """When it is first certain that a write happened."""
    return min(c.end for c in calls if (c.key, c.value) == (write.key, write.value))


def first(operations: list[Operation], f: str, kind: Type, key: str | None = None) -> int | None:
    places = (i for i, o in enumerate(operations) if (o.f, o.type, o.key) == (f, kind, key))
    return next(places, None)


@st.composite
def kept_histories(draw: st.DrawFn) -> list[Operation]:
    """Few operations of a run whose registers Kafka keeps, the runner's anywhere between them."""
    operations = [o for o in draw(few_operations()) if o.type is not Type.FAIL or o.f == "read"]
    marks = [
        Operation(0, 0, "runner", Type.INVOKE, "recover"),
        Operation(0, 0, "runner", draw(st.sampled_from([Type.OK, Type.INFO])), "recover"),
        Operation(0, 0, "runner", Type.OK, "phase", "final-read"),
    ]
    size = len(operations)
    places = sorted(draw(st.lists(st.integers(size // 3, size), min_size=len(marks), max_size=len(marks))))
    for place, mark in reversed(list(zip(places, marks, strict=True))):
        operations.insert(place, mark)
    setup = Operation(0, 0, "runner", Type.OK, "setup", None, {"workload": {"kind": "offsets"}})
    return [setup, *operations]


@SOME
@given(kept_histories())
def test_what_kafka_keeps_is_judged_by_definition(operations: list[Operation]) -> None:
    calls = calls_of(operations)
    writes = {(call.key, call.value): call for call in calls if call.write}
    reads = [(r, writes[r.key, r.value]) for r in calls if not r.write and (r.key, r.value) in writes]
    final = first(operations, "phase", Type.OK, "final-read")
    recovering = first(operations, "recover", Type.INVOKE)
    recovered = first(operations, "recover", Type.OK) or final
    assert final is not None
    assert recovering is not None
    assert recovered is not None
    pairs = [(r, old, new) for (r, old), new in product(reads, writes.values()) if new.key == r.key]
    stale = {
        r
        for r, old, new in pairs
        if certain_from(calls, old) < new.begin and certain_from(calls, new) < r.begin
    }
    lost = {r for r, old, new in pairs if old.end < new.begin and new.end < r.begin and r.begin > final}
    back = {
        r
        for r, old, new in pairs
        if old.end < new.begin and certain_from(calls, new) < min(r.begin, recovering) and r.begin > recovered
    }
    result = check_registers(history_of(operations))
    assert result.counts.get("lost-value", 0) == len({r.key for r in lost})
    assert result.counts.get("nonmonotonic-after-heal", 0) == len(back - lost)
    assert result.figures["stale_reads"] == len(stale)
    unread = {w.key for w in calls if w.write and w.begin >= 0} - {
        r.key for r in calls if not r.write and r.begin > final
    }
    assert (result.validity is Validity.UNKNOWN) is (not illegal(result) and bool(unread))


def illegal(result: CheckerResult) -> bool:
    return any(anomaly.illegal for anomaly in result.anomalies)
