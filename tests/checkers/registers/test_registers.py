"""Every anomaly of registers in its smallest form, and beside it what is none."""

import math
from typing import Any

import msgspec
import pytest

from checkers.registers import applies, check_registers, obstacle_of
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Anomaly, CheckerResult, Validity
from tests.checkers.registers.register_histories import history_from, history_of

VALID, INVALID, UNKNOWN = Validity.VALID, Validity.INVALID, Validity.UNKNOWN


def judged(text: str) -> CheckerResult:
    return check_registers(history_from(text))


def only(text: str) -> Anomaly:
    """The only anomaly of a story that is invalid."""
    result = judged(text)
    (anomaly,) = result.anomalies
    assert result.validity is INVALID
    assert result.counts == {anomaly.id: 1}
    assert anomaly.illegal
    assert result.figures["strict_linearizable"] is False
    return anomaly


LINEARIZABLE = {
    "one after the other": "0 w x 1\n0 r x 1\n0 w x 2\n0 r x 2",
    "the initial value before any write": "0 r x null\n0 w x 1",
    "the initial value while it is overwritten": "1 > r x\n0 w x 1\n1 ok null",
    "an open write that was read": "0 > w x 1\n1 r x 1",
    "an open write that was read late": "0 > w x 1\n1 w x 2\n1 r x 2\n1 r x 1",
    "an open write that was never read": "0 > w x 1\n1 w x 2\n1 r x 2",
    "an indeterminate write that was never read": "0 > w x 1\n0 info\n1 r x null",
    "an indeterminate write that was read": "0 > w x 1\n0 info\n1 r x null\n1 r x 1",
    "a failed write that was not read": "0 > w x 1\n0 fail\n1 r x null",
    "a value of which one write failed": "0 > w x 1\n0 fail\n0 w x 1\n0 r x 1",
    "reads that returned nothing": "0 w x 1\n1 > r x\n1 fail\n2 > r x\n2 info\n3 > r x",
    "overlapping writes in either order": "0 > w x 1\n1 > w x 2\n0 ok\n1 ok\n0 r x 1",
    "a backward zone across the end of a forward one": "0 w x 1\n1 > w x 2\n0 r x 1\n1 ok\n0 r x 2",
    "a backward zone across the beginning of a forward one": "1 > w x 2\n0 w x 1\n1 ok\n0 r x 1",
    "two backward zones, one in the other": "0 > w x 1\n1 w x 2\n0 ok",
    "forward zones that touch": "0 w x 1\n0 > r x\n1 > w x 2\n0 ok 1\n1 ok\n1 r x 2",
    "the same values in two registers": "0 w x 1\n0 w x 2\n0 w y 2\n0 w y 1\n0 r x 2\n0 r y 1",
    "values that only look alike": '0 w x 1\n0 w x true\n0 w x 1.0\n0 w x "1"\n0 w x [1]\n0 r x [1]',
    "names that only look alike": '0 w 1 1\n0 w "1" 2\n0 w true 3\n0 r 1 1\n0 r "1" 2\n0 r true 3',
    "integers beyond 64 bits": f"0 w x {2**70}\n0 w x {2**70 + 1}\n0 r x {2**70 + 1}",
    "integers of all 64 bits": f"0 w x {2**63 - 1}\n0 w y {-(2**63)}\n0 r x {2**63 - 1}\n0 r y {-(2**63)}",
}


@pytest.mark.parametrize("text", LINEARIZABLE.values(), ids=LINEARIZABLE.keys())
def test_linearizable(text: str) -> None:
    result = judged(text)
    assert (result.validity, result.counts) == (VALID, {})
    assert result.figures["strict_linearizable"] is True
    assert result.figures["stale_reads"] == 0


def test_values_so_far_apart_that_codes_and_rows_do_not_fit_one_integer() -> None:
    lines = [f"0 w {key} {value}\n0 r {key} {value}" for value in range(2**60, 2**60 + 9) for key in "xy"]
    text = "\n".join(["0 w x 1", *lines, "0 r x 1"])
    assert judged("\n".join(["0 w x 1", *lines])).validity is VALID
    assert judged(text).counts == {"nonlinearizable": 9}


CONFLICTS = {
    "a stale read": ("0 w x 1\n0 w x 2\n0 r x 1", 1),
    "the initial value after a write": ("0 w x 1\n0 r x null", 1),
    "two readers that disagree about the order": (
        "0 > w x 1\n1 > w x 2\n2 r x 1\n2 r x 2\n3 r x 1\n0 ok\n1 ok",
        0,
    ),
    "forward zones that overlap": ("0 w x 1\n1 w x 2\n0 r x 1\n1 r x 2", 2),
    "a forward zone within another": ("0 w x 1\n1 w x 2\n1 r x 2\n0 r x 1", 2),
    "a backward zone within a forward one": ("0 w x 1\n1 > w x 2\n2 r x 2\n1 ok\n0 r x 1", 1),
    "an indeterminate write read, and then the older value": (
        "0 w x 1\n1 > w x 2\n0 r x 2\n0 r x 1\n1 info",
        0,
    ),
}


@pytest.mark.parametrize(("text", "_"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_zones_that_conflict(text: str, _: int) -> None:
    anomaly = only(text)
    assert anomaly.id == "nonlinearizable"
    assert anomaly.subject == "x"
    assert 2 <= len(anomaly.witness) <= 4
    assert anomaly.time_ns is not None


def test_the_proof_of_overlapping_forward_zones() -> None:
    anomaly = only("0 w x 1\n1 w x 2\n0 r x 1\n1 r x 2")
    assert anomaly.summary == "x must have held 1 and 2 at one time."
    assert anomaly.witness == (1, 3, 4, 6)
    assert anomaly.explanation == (
        "operation 1 (0.001 s): the write of 1 by process 0 ended.",
        "operation 4 (0.004 s): the read of 1 by process 0 began.",
        "So x held 1 from the first of these to the second.",
        "operation 3 (0.003 s): the write of 2 by process 1 ended.",
        "operation 6 (0.006 s): the read of 2 by process 1 began.",
        "So it held 2 from the first of these to the second, and both at one time between.",
    )


def test_the_proof_of_a_backward_zone_within_a_forward_one() -> None:
    anomaly = only("0 w x 1\n0 w x 2\n0 r x 1")
    assert anomaly.summary == "x must have held 2 at a time at which it held 1 throughout."
    assert anomaly.witness == (1, 2, 3, 4)
    assert anomaly.explanation == (
        "operation 1 (0.001 s): the write of 1 by process 0 ended.",
        "operation 4 (0.004 s): the read of 1 by process 0 began.",
        "So x held 1 from the first of these to the second.",
        "operation 2 (0.002 s): the write of 2 by process 0 began.",
        "operation 3 (0.003 s): the write of 2 by process 0 ended.",
        "So it held 2 at some time between these two, where it held 1 throughout.",
    )


def test_the_initial_value_is_a_write_before_the_history() -> None:
    anomaly = only("0 w x 1\n0 r x null")
    assert anomaly.witness == (0, 1, 2)
    assert anomaly.explanation[0] == "x held null before the history."


def test_a_read_that_ended_before_its_write_began() -> None:
    anomaly = only("0 r x 1\n0 w x 1\n0 r x 1")
    assert anomaly.id == "nonlinearizable"
    assert anomaly.summary == "x was read with the value 1 before the write of that value began."
    assert anomaly.witness == (1, 2)


def test_a_read_that_overlaps_its_write_is_not_early() -> None:
    assert judged("0 > r x\n1 w x 1\n0 ok 1").validity is VALID


def test_a_value_that_nobody_wrote() -> None:
    anomaly = only('0 w x 1\n0 r x "ghost"\n0 r x "ghost"')
    assert (anomaly.id, anomaly.witness) == ("phantom", (3,))
    assert anomaly.summary == 'x had the value "ghost", which was never written.'


def test_a_value_written_to_another_register_is_a_phantom() -> None:
    assert only("0 w y 1\n0 r x 1").id == "phantom"


def test_a_value_whose_write_failed() -> None:
    anomaly = only("0 > w x 1\n0 fail\n0 r x 1")
    assert (anomaly.id, anomaly.witness) == ("G1a", (0, 3))
    assert anomaly.summary == "x had the value 1, whose write had failed."
    assert "certainly did not take effect" in anomaly.explanation[0]


def test_the_initial_value_may_be_given() -> None:
    assert check_registers(history_from("0 r x 0\n0 w x 1"), initial=0).validity is VALID
    assert check_registers(history_from("0 r x null\n0 w x 1"), initial=0).counts == {"phantom": 1}
    assert check_registers(history_from('0 r x ["a"]\n0 w x 1'), initial=["a"]).validity is VALID
    assert check_registers(history_from("0 r x 7\n0 w x 1"), initial=2**70).counts == {"phantom": 1}


def test_stale_reads_are_counted() -> None:
    assert judged("0 w x 1\n0 w x 2\n0 r x 1\n0 r x 1\n0 r x 2\n0 r y null").figures["stale_reads"] == 2


def test_a_value_counts_once_however_often_it_is_read() -> None:
    stale = "0 w x 1\n0 w x 2\n0 w x 3\n0 r x 1\n0 r x 1\n"
    assert judged(stale).counts == {"nonlinearizable": 2}
    assert judged(stale + "0 r y 7").counts == {"nonlinearizable": 2, "phantom": 1}


def test_counts_are_exact_and_examples_bounded() -> None:
    lines = [f"0 r x {value}\n0 w y{value} 1\n0 w y{value} 2\n0 r y{value} 1" for value in range(30)]
    result = judged("\n".join(lines))
    assert result.counts == {"nonlinearizable": 30, "phantom": 30}
    assert len(result.anomalies) == 2 * EXAMPLES_PER_ANOMALY
    assert [a.subject for a in result.anomalies if a.id == "nonlinearizable"][:2] == ["y0", "y1"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0 w x 1\n0 w x 1\n0 r x 1", "x: 1 was written 2 times; zones need unique values"),
        (
            "0 r x null\n0 w x null\n0 r x null",
            "x: null was written 2 times (before the history, too); zones need unique values",
        ),
        ("0 w x 1\n0 > cas x 1 2\n0 ok", '"x" is changed by compare-and-set'),
        ("0 > cas x 1 2\n0 ok", '"x" is changed by compare-and-set'),
        ("0 > w x 1\n0 > w x 2", "operation 1 begins while another is outstanding"),
    ],
)
def test_where_zones_do_not_apply_it_is_unknown(text: str, reason: str) -> None:
    result = judged(text)
    assert (result.validity, result.unknown_because) == (UNKNOWN, reason)
    assert obstacle_of(history_from(text)) == reason
    assert not applies(history_from(text))


@pytest.mark.parametrize("text", ["", "phase done", "0 w x 1", "0 > r x"])
def test_where_zones_apply(text: str) -> None:
    assert applies(history_from(text))


def test_completions_out_of_turn_are_unknown() -> None:
    whole = history_from("0 w x 1\n1 w x 2").operations
    for operations in (
        [whole[1]],
        [whole[0], whole[1], whole[1]],
        [whole[0], history_from("0 r x 1").operations[1]],
    ):
        result = check_registers(history_of(list(operations)))
        assert result.validity is UNKNOWN
        assert "completes what was not begun" in (result.unknown_because or "")


def test_another_register_may_decide_nevertheless() -> None:
    result = judged("0 w x 1\n0 w x 1\n0 w y 1\n0 w y 2\n0 r y 1")
    assert (result.validity, result.counts) == (INVALID, {"nonlinearizable": 1})
    assert result.figures["strict_linearizable"] is False


def test_doubt_is_no_proof_of_linearizability() -> None:
    assert judged("0 w x 1\n0 w x 1").figures["strict_linearizable"] is None
    assert judged("0 > cas x 1 2\n0 ok").figures["strict_linearizable"] is None


def test_a_phantom_is_one_even_where_values_repeat() -> None:
    assert judged("0 w x 1\n0 w x 1\n0 r x 3").counts == {"phantom": 1}


def test_what_compare_and_set_wrote_is_no_phantom() -> None:
    assert judged("0 w x 1\n0 > cas x 1 2\n0 ok\n0 r x 2").validity is UNKNOWN


def test_damage_makes_it_unknown() -> None:
    result = check_registers(history_from("0 w x 1", damage=("history.jsonl, line 3: cut short",)))
    assert (result.validity, result.unknown_because) == (UNKNOWN, "history.jsonl, line 3: cut short")


@pytest.mark.parametrize("text", ["", "phase done", "setup log", "0 > r x", "0 > w x 1\n0 fail"])
def test_without_anything_to_judge_it_is_not_exercised(text: str) -> None:
    result = judged(text)
    assert (result.validity, result.counts) == (Validity.NOT_EXERCISED, {})
    assert set(result.figures) == {
        "registers",
        "operations",
        "stale_reads",
        "offset_reads_compared",
        "strict_linearizable",
    }
    assert result.figures["strict_linearizable"] is True


def test_figures_count_registers_and_operations() -> None:
    figures = judged("0 w x 1\n0 r x 1\n0 w y 1\n1 > r y").figures
    assert (figures["registers"], figures["operations"]) == (2, 4)


def test_registers_without_a_name_and_long_values_are_shown_readably() -> None:
    assert only('0 r null "a"').subject == "the register"
    assert only("0 r [1,2] 3").subject == "[1, 2]"
    summary = only(f'0 r x "{"a" * 5000}"').summary
    assert len(summary) < 200
    assert "(5002 characters)" in summary


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [nested(100_000), {1: 2, "a": 3}, {b"a"}], ids=["deep", "mixed", "a set"])
@pytest.mark.parametrize("field", ["key", "value"])
def test_what_can_not_be_compared_is_unknown(value: Any, field: str) -> None:
    (asked,) = history_from("0 > w x 1").operations
    result = check_registers(history_of([msgspec.structs.replace(asked, **{field: value})]))
    assert result.validity is UNKNOWN
    assert (result.unknown_because or "").startswith("a key or a value can't be compared with others: ")


@pytest.mark.parametrize("value", [math.nan, 10**400, "x" * 10**7, {"b": [1.5, None], "a": {}}])
def test_odd_values_are_values(value: Any) -> None:
    operations = list(history_from("0 w x 1\n0 r x 1").operations)
    odd = [msgspec.structs.replace(operation, value=value) for operation in operations]
    odd[2] = operations[2]
    assert check_registers(history_of(odd)).validity is VALID
    assert check_registers(history_of([*odd[2:], *odd[:2]])).counts == {"nonlinearizable": 1}
