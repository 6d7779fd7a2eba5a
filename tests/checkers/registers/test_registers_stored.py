"""Registers that Kafka keeps: staleness is legal, lost values and values that come back are not."""

import msgspec
import pytest

from checkers.history.operations import History
from checkers.registers import check_registers
from checkers.registers.anomalies import NEEDS
from checkers.registers.stored_registers import LAGS_NS
from checkers.verdict.verdict import CheckerResult, Validity
from checkers.verdict.withholding import missing_parts_of, withheld
from tests.checkers.registers.register_histories import history_from

VALID, INVALID, UNKNOWN = Validity.VALID, Validity.INVALID, Validity.UNKNOWN
HEALED = "phase heal\nrecover began\nrecover ok\n"
FINAL = "phase final-read\n"


def judged(text: str, workload: str = "offsets") -> CheckerResult:
    return check_registers(history_from(f"setup {workload}\n{text}"))


@pytest.mark.parametrize("workload", ["offsets", "metadata"])
def test_a_stale_read_is_reported_and_legal(workload: str) -> None:
    result = judged(f"0 w x 1\n0 w x 2\n0 r x 1\n{HEALED}{FINAL}0 r x 2", workload)
    (anomaly,) = result.anomalies
    assert result.validity is VALID
    assert result.counts == {"nonlinearizable": 1}
    assert not anomaly.illegal
    assert result.figures["strict_linearizable"] is False
    assert result.figures["stale_reads"] == 1


@pytest.mark.parametrize("workload", ["log", "groups"])
def test_elsewhere_a_stale_read_is_illegal(workload: str) -> None:
    assert judged("0 w x 1\n0 w x 2\n0 r x 1", workload).validity is INVALID


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0 r x 7\n0 w x 1", "phantom"),
        ("1 > w x 7\n1 fail\n0 r x 7\n0 w x 1", "G1a"),
        ("0 r x 1\n0 w x 1", "nonlinearizable"),
    ],
)
def test_values_out_of_nowhere_are_illegal_here_too(text: str, found: str) -> None:
    result = judged(f"{text}\n{HEALED}{FINAL}0 r x 1")
    assert result.validity is INVALID
    assert [a.id for a in result.anomalies if a.illegal] == [found]


def test_an_acknowledged_value_that_is_gone_at_the_end_is_lost() -> None:
    result = judged(f"0 w x 1\n0 w x 2\n{FINAL}0 r x 1\n1 r x 1")
    assert result.validity is INVALID
    assert result.counts["lost-value"] == 1
    (lost,) = (a for a in result.anomalies if a.id == "lost-value")
    assert lost.summary == "x lost 2: afterwards a read returned 1."
    assert lost.subject == "x"
    assert lost.witness == (2, 3, 4, 6)
    assert lost.explanation == (
        "operation 2 (0.002 s): the write of 1 by process 0 ended.",
        "operation 3 (0.003 s): the write of 2 by process 0 began.",
        "operation 4 (0.004 s): the write of 2 by process 0 ended.",
        "operation 6 (0.006 s): the read of 1 by process 0 began.",
    )


def test_the_initial_value_at_the_end_loses_every_acknowledged_one() -> None:
    result = judged(f"0 w x 1\n{FINAL}0 r x null")
    (lost,) = (a for a in result.anomalies if a.illegal)
    assert (lost.id, lost.witness) == ("lost-value", (1, 2, 4))


def test_each_register_that_lost_counts_once() -> None:
    text = f"0 w x 1\n0 w x 2\n0 w y 1\n0 w y 2\n0 w z 1\n{FINAL}0 r y 1\n0 r x 1\n0 r x 1\n0 r z 1"
    assert judged(text).counts["lost-value"] == 2


@pytest.mark.parametrize(
    "text",
    [
        f"0 w x 1\n0 w x 2\n{FINAL}0 r x 2",
        f"0 w x 1\n1 > w x 2\n1 info\n{FINAL}0 r x 2",
        f"0 w x 1\n1 > w x 2\n1 info\n{FINAL}0 r x 1",
        f"1 > w x 2\n1 info\n0 w x 1\n{FINAL}0 r x 2",
        f"1 > w x 2\n0 w x 1\n1 ok\n{FINAL}0 r x 1",
        f"1 > w x 2\n0 w x 1\n1 ok\n{FINAL}0 r x 2",
        f"1 > w x 2\n1 fail\n{FINAL}0 r x null",
        f"0 r x null\n{FINAL}",
    ],
)
def test_what_may_stand_in_the_end(text: str) -> None:
    result = judged(text)
    assert [a for a in result.anomalies if a.illegal] == []
    assert result.validity is VALID


def test_what_is_lost_is_judged_in_the_final_phase_alone() -> None:
    assert judged(f"0 w x 1\n0 w x 2\n0 r x 1\n{FINAL}0 r x 2").validity is VALID


def test_a_read_going_on_as_the_final_phase_begins_is_none_of_its_reads() -> None:
    result = judged(f"0 w x 1\n0 w x 2\n1 > r x\n{FINAL}1 ok 1\n0 r x 2")
    assert result.validity is VALID


def test_a_register_that_nobody_read_in_the_end_is_undecided() -> None:
    result = judged(f"0 w x 1\n0 w y 1\n{FINAL}0 r y 1")
    assert (result.validity, result.unknown_because) == (UNKNOWN, "the final phase has no read of x")


def test_of_many_unread_registers_a_few_are_named() -> None:
    result = judged("\n".join(f"0 w r{number} 1" for number in range(9)) + f"\n{FINAL}")
    assert result.unknown_because == "the final phase has no read of r0, r1, r2 and 6 more"


@pytest.mark.parametrize("end", ["1 info", "1 fail", ""])
def test_a_final_read_that_returned_nothing_decides_nothing(end: str) -> None:
    text = f"0 w x 1\n{FINAL}1 > r x\n{end}\n"
    assert judged(text).validity is UNKNOWN
    assert judged(text + "2 r x 1").validity is VALID


def test_without_a_final_phase_it_is_undecided() -> None:
    result = judged("0 w x 1\n0 r x 1")
    assert result.validity is UNKNOWN
    assert result.unknown_because == "phase final-read did not begin, so no register's last value was read"


def test_an_overwritten_value_that_is_back_after_recovery() -> None:
    result = judged(f"0 w x 1\n0 w x 2\n{HEALED}0 r x 1\n{FINAL}0 r x 2")
    (back,) = (a for a in result.anomalies if a.illegal)
    assert result.validity is INVALID
    assert back.id == "nonmonotonic-after-heal"
    assert back.summary == "x went back from 2: afterwards a read returned 1."
    assert back.witness == (2, 3, 4, 8)


def test_a_value_overwritten_by_one_that_was_only_read() -> None:
    text = f"0 w x 1\n1 > w x 2\n1 info\n0 r x 2\n{HEALED}0 r x 1\n{FINAL}0 r x 2"
    assert judged(text).counts["nonmonotonic-after-heal"] == 1
    assert judged(text.replace("0 r x 2\nphase heal", "phase heal")).validity is VALID


def test_a_value_that_is_back_in_the_final_phase_counts_as_lost_or_as_gone_back() -> None:
    acknowledged = judged(f"0 w x 1\n0 w x 2\n{HEALED}{FINAL}0 r x 1")
    assert set(acknowledged.counts) == {"lost-value", "nonlinearizable"}
    read = judged(f"0 w x 1\n1 > w x 2\n1 info\n0 r x 2\n{HEALED}{FINAL}0 r x 1")
    assert set(read.counts) == {"nonmonotonic-after-heal", "nonlinearizable"}


@pytest.mark.parametrize(
    "text",
    [
        f"0 w x 1\n0 w x 2\n1 > r x\n{HEALED}1 ok 1\n",
        "0 w x 1\n0 w x 2\nphase heal\nrecover began\n0 r x 1\nrecover ok\n",
        f"0 w x 1\n{HEALED}0 w x 2\n0 r x 1\n",
        "0 w x 1\nphase heal\nrecover began\n0 w x 2\nrecover ok\n0 r x 1\n",
        f"1 > w x 1\n0 r x 1\n0 w x 2\n1 info\n{HEALED}0 r x 1\n",
        "0 w x 1\n0 w x 2\nphase heal\nrecover began\nrecover info\n0 r x 1\n",
    ],
    ids=[
        "a read that began before",
        "a read while recovery went on",
        "a write after recovery, of which a cache has not heard",
        "a write during recovery, of which a cache has not heard",
        "a write of unknown fate may take effect late",
        "recovery that did not succeed",
    ],
)
def test_what_does_not_go_back(text: str) -> None:
    result = judged(f"{text}{FINAL}0 r x 2")
    assert "nonmonotonic-after-heal" not in result.counts
    assert result.validity is VALID


def test_without_a_recovery_the_final_phase_takes_its_place() -> None:
    text = f"0 w x 1\n1 > w x 2\n1 info\n0 r x 2\nphase recover\n{FINAL}0 r x 1"
    assert judged(text).counts["nonmonotonic-after-heal"] == 1


def test_registers_whose_values_repeat_are_left_out() -> None:
    result = judged(f"0 w x 1\n0 w x 2\n0 w x 1\n{HEALED}0 r x 2\n{FINAL}0 r x 2")
    assert (result.validity, result.counts) == (UNKNOWN, {})
    assert (result.unknown_because or "").startswith("x: 1 was written 2 times")


@pytest.mark.parametrize(
    ("value", "lacking", "counts"),
    [
        pytest.param(2_000_000_001, (), {"phantom": 1}, id="nothing is lacking"),
        pytest.param(2_000_000_001, ("worker-2",), {}, id="its own writer's journal"),
        pytest.param(2_000_000_001, ("worker-1", "nodes"), {"phantom": 1}, id="others' journals"),
        pytest.param("garbage", ("worker-2",), {"phantom": 1}, id="nobody's value"),
        pytest.param(2**63, ("worker-2",), {"phantom": 1}, id="more than any value"),
    ],
)
def test_a_value_is_a_phantom_where_its_writers_journal_is_there(
    value: object, lacking: tuple[str, ...], counts: dict[str, int]
) -> None:
    history = history_from(f"setup offsets\n0 w x 1\n0 r x 1\n{HEALED}{FINAL}0 r x 1")
    first = next(o for o in history.operations if o.f == "read" and o.type == "ok")
    operations = [msgspec.structs.replace(o, value=value) if o is first else o for o in history.operations]
    changed = msgspec.structs.replace(history, operations=tuple(operations), lacking=frozenset(lacking))
    result = withheld(check_registers(changed), NEEDS, missing_parts_of(changed))
    assert result.counts == counts
    assert (result.validity is INVALID) is bool(counts)
    if lacking and not counts:
        assert result.validity is UNKNOWN


LAG_MS = LAGS_NS["metadata"] // 1_000_000


@pytest.mark.parametrize(
    ("workload", "later_ms", "lost"),
    [
        ("metadata", 0, False),
        ("metadata", LAG_MS - 50, False),
        ("metadata", LAG_MS + 50, True),
        ("offsets", 0, True),
    ],
)
def test_a_cache_may_be_behind_for_a_while(workload: str, later_ms: int, *, lost: bool) -> None:
    history = history_from(f"setup {workload}\n0 w x 1\n0 w x 2\n{FINAL}0 r x 1")
    result = check_registers(_later(history, 6, later_ms))
    assert [a.id for a in result.anomalies if a.illegal] == (["lost-value"] if lost else [])


@pytest.mark.parametrize(
    ("workload", "later_ms", "back"),
    [("metadata", 0, False), ("metadata", LAG_MS + 50, True), ("offsets", 0, True)],
)
def test_a_cache_may_be_behind_after_recovery_too(workload: str, later_ms: int, *, back: bool) -> None:
    history = history_from(f"setup {workload}\n0 w x 1\n0 w x 2\n{HEALED}0 r x 1\n{FINAL}0 r x 2")
    result = check_registers(_later(history, 8, later_ms))
    assert [a.id for a in result.anomalies if a.illegal] == (["nonmonotonic-after-heal"] if back else [])


def _later(history: History, index: int, ms: int) -> History:
    """Let all from an operation on happen later."""
    moved = [
        msgspec.structs.replace(o, time_ns=o.time_ns + (ms * 1_000_000 if o.index >= index else 0))
        for o in history.operations
    ]
    return msgspec.structs.replace(history, operations=moved)
