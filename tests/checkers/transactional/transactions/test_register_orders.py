"""Versions of registers in the order of processes, and in the order that somebody declares."""

import pytest

from checkers.transactional.transactions import ConsistencyModel, Declared, check_rw_register
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.transactional.transactions.transaction_histories import history_of, registers

_M = ConsistencyModel
SEQUENTIAL = Declared(sequential=True)
LINEARIZABLE = Declared(linearizable=True)
FOLLOWING = Declared(writes_follow_reads=True)

BACKWARDS = "0 > wx1\n 1 > wx2\n 2 rx1\n 2 rx2\n 3 rx2\n 3 rx{}\n 0 < wx1\n 1 < wx2"
"""Process 2 meets 1 and then 2; process 3 meets 2 and then what comes last."""
ALONE = "0 wx1\n 1 > rx ry\n 0 wx2\n 2 > wy1 rx\n 2 < wy1 rx2\n 1 < rx1 ry1"
"""Only the process of the writes shows that who read 1 missed 2, and that of another who saw 2."""


def declared(text: str, what: Declared, model: ConsistencyModel = _M.STRICT_SERIALIZABLE) -> CheckerResult:
    return check_rw_register(history_of(text, registers=True), model, what)


def test_versions_follow_each_other_as_a_process_meets_them() -> None:
    assert registers(BACKWARDS.format(2), _M.STRONG_SESSION_SERIALIZABLE).counts == {}
    result = registers(BACKWARDS.format(1), _M.STRONG_SESSION_SERIALIZABLE)
    assert result.counts == {"G0-process": 1}
    assert result.validity is Validity.INVALID
    lines = "\n".join(result.anomalies[0].explanation)
    assert "wrote 2 later, in the order in which one process met them" in lines
    assert registers(BACKWARDS.format(1), _M.SERIALIZABLE).validity is Validity.VALID


def test_versions_follow_each_other_as_a_process_writes_them() -> None:
    result = registers(ALONE, _M.STRONG_SESSION_SERIALIZABLE)
    assert set(result.counts) == {"G-single-process"}
    assert any(
        "in the order in which one process met them" in line for line in result.anomalies[0].explanation
    )
    assert registers(ALONE, _M.SERIALIZABLE).validity is Validity.VALID
    assert registers(ALONE.replace("0 wx2", "3 wx2"), _M.STRONG_SESSION_SERIALIZABLE).counts == {
        "G-single-realtime": 1
    }


@pytest.mark.parametrize(
    ("text", "what", "model", "found"),
    [
        (ALONE, SEQUENTIAL, _M.SNAPSHOT_ISOLATION, "G-single"),
        (ALONE, LINEARIZABLE, _M.SNAPSHOT_ISOLATION, "G-single"),
        (ALONE.replace("0 wx2", "3 wx2"), LINEARIZABLE, _M.SNAPSHOT_ISOLATION, "G-single"),
        (BACKWARDS.format(1), SEQUENTIAL, _M.READ_UNCOMMITTED, "cyclic-versions"),
        (BACKWARDS.format(1), LINEARIZABLE, _M.READ_UNCOMMITTED, "G0"),
        (
            "0 > rx wx1\n 1 > rx wx2\n 0 < rx2 wx1\n 1 < rx1 wx2",
            FOLLOWING,
            _M.READ_UNCOMMITTED,
            "cyclic-versions",
        ),
    ],
)
def test_what_is_declared_of_keys_holds_at_every_level(
    text: str, what: Declared, model: ConsistencyModel, found: str
) -> None:
    assert registers(text, model).validity is Validity.VALID
    result = declared(text, what, model)
    assert found in result.counts
    assert result.validity is Validity.INVALID


def test_why_a_declared_order_holds_is_explained() -> None:
    result = declared(BACKWARDS.format(1), LINEARIZABLE, _M.READ_UNCOMMITTED)
    lines = [line for anomaly in result.anomalies if anomaly.id == "G0" for line in anomaly.explanation]
    assert any("wrote 2 later, as the order of its versions is declared to be" in line for line in lines)


@pytest.mark.parametrize("what", [SEQUENTIAL, LINEARIZABLE, FOLLOWING])
@pytest.mark.parametrize(
    "text", ["0 wx1\n 0 rx1 wx2\n 1 rx2\n 1 rx2", "0 rx_", "0 rx_\n 1 wx1\n 0 rx1\n 0 wx2"]
)
def test_what_keeps_to_the_declared_order_is_valid(text: str, what: Declared) -> None:
    result = declared(text, what)
    assert (result.counts, result.validity) == ({}, Validity.VALID)
