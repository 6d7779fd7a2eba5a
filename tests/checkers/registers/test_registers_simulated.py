"""Simulated registers: correct ones are valid, each defect and each mutation is found for what it is."""

from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checkers.history.operations import History, Operation, OperationType
from checkers.registers import check_registers
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.registers.register_histories import history_of
from tests.checkers.registers.register_oracle import linearizable
from tests.checkers.registers.register_simulator import Defects, Simulation

SEEDS = st.integers(0, 2**32)
SOME = settings(max_examples=100)
Type = OperationType


def illegal(result: CheckerResult) -> set[str]:
    return {anomaly.id for anomaly in result.anomalies if anomaly.illegal}


SOUND = {Validity.VALID, Validity.NOT_EXERCISED}


@SOME
@given(SEEDS, st.integers(1, 4), st.integers(0, 300))
def test_linearizable_registers_are_valid(seed: int, registers: int, steps: int) -> None:
    result = check_registers(Simulation(seed, registers, steps).history())
    assert (result.validity in SOUND, result.counts) == (True, {})


@SOME
@given(SEEDS, st.integers(1, 4), st.integers(0, 300))
def test_runs_with_linearizable_registers_are_valid(seed: int, registers: int, steps: int) -> None:
    result = check_registers(Simulation(seed, registers, steps).run())
    assert (result.validity in SOUND, result.counts) == (True, {})


@SOME
@given(SEEDS, st.integers(1, 3), st.integers(0, 25))
def test_stale_reads_are_judged_as_by_all_linearizations(seed: int, registers: int, steps: int) -> None:
    history = Simulation(seed, registers, steps, Defects(stale_reads=True)).history()
    result = check_registers(history)
    assert (result.validity in SOUND) is linearizable(history)
    assert set(result.counts) <= {"nonlinearizable"}


@SOME
@given(SEEDS, st.integers(1, 3), st.integers(0, 25))
def test_lost_writes_are_judged_as_by_all_linearizations(seed: int, registers: int, steps: int) -> None:
    history = Simulation(seed, registers, steps, Defects(lost_writes=True)).history()
    assert (check_registers(history).validity in SOUND) is linearizable(history)


def test_each_defect_is_found_sooner_or_later() -> None:
    found = {
        name: check_registers(Simulation(1, 2, 3000, Defects(**{name: True})).history()).counts
        for name in Defects._fields
    }
    assert set(found["stale_reads"]) == {"nonlinearizable"}
    assert set(found["lost_writes"]) == {"nonlinearizable"}
    assert "G1a" in found["failed_writes_happen"]


@SOME
@given(SEEDS, st.integers(1, 3), st.integers(0, 200))
def test_stale_reads_before_healing_are_legal_where_kafka_keeps_registers(
    seed: int, registers: int, steps: int
) -> None:
    history = Simulation(seed, registers, steps, Defects(stale_reads=True)).run()
    result, strict = check_registers(history), check_registers(history_of(list(history.operations[1:])))
    assert result.validity is Validity.VALID
    assert result.counts == strict.counts
    assert illegal(strict) == set(strict.counts)


@SOME
@given(SEEDS, st.integers(1, 3), st.integers(0, 200))
def test_lost_writes_are_lost_exactly_where_the_last_value_is_too_old(
    seed: int, registers: int, steps: int
) -> None:
    history = Simulation(seed, registers, steps, Defects(lost_writes=True)).run()
    result = check_registers(history)
    assert result.counts.get("lost-value", 0) == lost_by_definition(history)


def lost_by_definition(history: History) -> int:
    """Registers finally read to hold what ended before an acknowledged write began."""
    operations = history.operations
    final = next(i for i, o in enumerate(operations) if o.f == "phase" and o.key == "final-read")
    writes: dict[Any, list[tuple[Any, int, float, bool]]] = {}
    for index, begun in enumerate(operations):
        if begun.f != "write" or begun.type is not Type.INVOKE:
            continue
        end = next(i for i, o in enumerate(operations) if i > index and o.process == begun.process)
        if operations[end].type is not Type.FAIL:
            acknowledged = operations[end].type is Type.OK
            entry = (begun.value, index, end if acknowledged else float("inf"), acknowledged)
            writes.setdefault(begun.key, []).append(entry)
    lost = 0
    for read in operations[final:]:
        if read.f == "read" and read.type is Type.OK:
            some = writes.get(read.key, [])
            ended = next((end for value, _, end, _ in some if value == read.value), -1)
            lost += any(begin > ended for _, begin, _, acknowledged in some if acknowledged)
    return lost


def changed(history: History, change: Callable[[list[Operation]], None]) -> CheckerResult:
    operations = list(history.operations)
    change(operations)
    return check_registers(history_of(operations))


def sequential(seed: int) -> History:
    """A history of one process and one register in which every value is written, then read."""
    operations: list[Operation] = []
    for value in range(3 + seed % 5):
        for f in ("write", "read"):
            operations += [
                Operation(0, 0, 0, Type.INVOKE, f, "x", value if f == "write" else None),
                Operation(0, 0, 0, Type.OK, f, "x", value),
            ]
    return history_of(operations)


def reads_of(operations: list[Operation]) -> list[int]:
    return [i for i, o in enumerate(operations) if o.f == "read" and o.type is Type.OK]


def put(operations: list[Operation], index: int, value: Any) -> None:
    operations[index] = msgspec.structs.replace(operations[index], value=value)


@SOME
@given(SEEDS, st.data())
def test_two_values_swapped_are_found(seed: int, data: st.DataObject) -> None:
    def swap(operations: list[Operation]) -> None:
        reads = st.sampled_from(reads_of(operations))
        pairs = st.lists(reads, min_size=2, max_size=2, unique=True)
        one, other = data.draw(pairs)
        value = operations[one].value
        put(operations, one, operations[other].value)
        put(operations, other, value)

    assert illegal(changed(sequential(seed), swap)) == {"nonlinearizable"}


@SOME
@given(SEEDS, st.data())
def test_a_value_changed_to_one_that_nobody_wrote_is_found(seed: int, data: st.DataObject) -> None:
    history = Simulation(seed, 2, 200).history()
    assume(reads_of(list(history.operations)))

    def change(operations: list[Operation]) -> None:
        put(operations, data.draw(st.sampled_from(reads_of(operations))), "ghost")

    assert "phantom" in illegal(changed(history, change))


@SOME
@given(SEEDS, st.data())
def test_a_read_delayed_behind_the_next_write_is_found(seed: int, data: st.DataObject) -> None:
    def delay(operations: list[Operation]) -> None:
        end = data.draw(st.sampled_from(reads_of(operations)[:-1]))
        pair = operations[end - 1 : end + 1]
        operations[end + 1 : end + 3] = [*operations[end + 1 : end + 3], *pair]
        del operations[end - 1 : end + 1]

    assert illegal(changed(sequential(seed), delay)) == {"nonlinearizable"}


@SOME
@given(SEEDS, st.data())
def test_a_write_dropped_or_failed_is_found(seed: int, data: st.DataObject) -> None:
    history = sequential(seed)
    write = data.draw(st.integers(0, len(history.operations) // 4 - 1)) * 4

    def drop(operations: list[Operation]) -> None:
        del operations[write : write + 2]

    def fail(operations: list[Operation]) -> None:
        operations[write + 1] = msgspec.structs.replace(operations[write + 1], type=Type.FAIL)

    assert illegal(changed(history, drop)) == {"phantom"}
    assert illegal(changed(history, fail)) == {"G1a"}


@SOME
@given(SEEDS, st.integers(1, 4))
def test_the_same_history_is_judged_the_same(seed: int, registers: int) -> None:
    history = Simulation(seed, registers, 200, Defects(True, True, True)).run()  # noqa: FBT003 - all defects
    encode = msgspec.json.encode
    assert encode(check_registers(history)) == encode(check_registers(history))


@SOME
@given(SEEDS)
def test_the_witness_alone_shows_the_anomaly(seed: int) -> None:
    """The operations of a witness, whole and by themselves, are not linearizable either."""
    history = Simulation(seed, 1, 120, Defects(stale_reads=True)).history()
    for anomaly in check_registers(history).anomalies:
        processes = {history.operations[index].process for index in anomaly.witness}
        calls = {
            place
            for index in anomaly.witness
            for place in call_of(history, index)
            if history.operations[index].process in processes
        }
        written = {history.operations[place].value for place in calls}
        calls |= {
            place
            for index, o in enumerate(history.operations)
            if o.f == "write" and o.type is Type.INVOKE and o.value in written
            for place in call_of(history, index)
        }
        assert len(anomaly.witness) <= 4
        assert not linearizable(history_of([history.operations[place] for place in sorted(calls)]))


def call_of(history: History, index: int) -> list[int]:
    """Places of an operation's invocation and of its completion, if it has one."""
    of_process = [
        i for i, o in enumerate(history.operations) if o.process == history.operations[index].process
    ]
    at = of_process.index(index)
    if history.operations[index].type is Type.INVOKE:
        return of_process[at : at + 2]
    return of_process[at - 1 : at + 1]
