"""Each anomaly of rw-register histories: the fewest transactions that show it, and the fewest that do not."""

import pytest

from checkers.transactional.transactions import ConsistencyModel, check_rw_register
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.transactional.transactions.transaction_histories import history_of, only, registers


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0 wx1\n 1 rx1",
        "0 rx_\n 1 wx1\n 2 rx1",
        "0 > wx1\n 1 > rx\n 1 < rx_\n 0 < wx1",
        "0 wx1 rx1 wx2 rx2\n 1 rx2",
    ],
)
def test_what_one_order_explains_is_valid(text: str) -> None:
    result = registers(text)
    assert (result.counts, result.validity) == ({}, Validity.VALID)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0 > wx1 ry\n 1 > wy1 rx\n 0 < wx1 ry1\n 1 < wy1 rx1", "G1c"),
        ("0 > wx1 wy1\n 1 > rx ry\n 0 < wx1 wy1\n 1 < rx1 ry_", "G-single"),
        ("0 > wx1 ry\n 1 > wy1 rx\n 0 < wx1 ry_\n 1 < wy1 rx_", "G2-item"),
        (
            "0 > wx1\n 1 > wy1\n 2 > rx ry\n 3 > rx ry\n 0 < wx1\n 1 < wy1\n 2 < rx1 ry_\n 3 < rx_ ry1",
            "G-nonadjacent",
        ),
        ("0 wx1\n 1 rx_", "G-single-realtime"),
        ("0 rx1\n 1 wx1", "G1c-realtime"),
        ("0 wx1\n 1 wx2\n 2 rx1", "G-single-realtime"),
    ],
)
def test_a_circle_has_the_name_of_its_class(text: str, name: str) -> None:
    result = registers(text)
    assert result.counts == {name: 1}
    assert result.validity is Validity.INVALID


def test_new_and_then_old() -> None:
    """Writes at once; one reader saw 1 and a later one 2, so whoever sees 1 after that is late."""
    text = "0 > wx1\n 1 > wx2\n 2 rx1\n 3 rx2\n 4 {}\n 0 < wx1\n 1 < wx2"
    assert registers(text.format("rx2")).counts == {}
    result = registers(text.format("rx1"))
    assert result.counts == {"G-single-realtime": 1}
    assert any("later, in the order of real time" in line for line in only(result).explanation)


def test_order_by_real_time_breaks_no_weaker_model() -> None:
    text = "0 wx1\n 1 wx2\n 2 rx1"
    assert registers(text, ConsistencyModel.SERIALIZABLE).validity is Validity.VALID
    assert registers(text, ConsistencyModel.STRICT_SERIALIZABLE).validity is Validity.INVALID


def test_what_follows_a_read_replaces_what_was_read() -> None:
    text = "0 > wx1\n 1 > rx wx2 wy1\n 2 > rx ry\n 0 < wx1\n 1 < rx1 wx2 wy1\n 2 < {}"
    assert registers(text.format("rx2 ry1")).counts == {}
    result = registers(text.format("rx1 ry1"))
    assert result.counts == {"G-single": 1}
    assert any("wrote 2, which replaced it" in line for line in only(result).explanation)


def test_writes_in_a_circle() -> None:
    result = registers("0 > rx wx1\n 1 > rx wx2\n 0 < rx2 wx1\n 1 < rx1 wx2")
    assert result.counts == {"G1c": 1, "cyclic-versions": 1}


def test_a_write_that_follows_what_was_read() -> None:
    text = "0 > wx1 wy2\n 1 > rx wx2 ry wy1\n 0 < wx1 wy2\n 1 < rx1 wx2 ry_ wy1\n"
    assert registers(text).counts == {"G-single": 1}
    skew = "0 > wx1 ry wy2\n 1 > wy1 rx wx2\n 0 < wx1 ry1 wy2\n 1 < wy1 rx1 wx2"
    result = registers(skew)
    assert result.counts["G0"] == 1
    lines = next(a.explanation for a in result.anomalies if a.id == "G0")
    assert any("read what T1 had written to x, and replaced it by 2" in line for line in lines)


def test_an_aborted_read() -> None:
    assert registers("0 > wx1\n 0 ! wx1\n 1 rx1").counts == {"G1a": 1}
    assert registers("0 > wx1\n 0 ? wx1\n 1 rx1").counts == {}
    assert registers("0 > wx1\n 0 ? wx1\n 1 rx_").counts == {}


def test_an_intermediate_read() -> None:
    result = registers("0 > wx1 wx2\n 1 > rx\n 0 < wx1 wx2\n 1 < rx1")
    assert result.counts["G1b"] == 1


def test_a_value_from_nowhere() -> None:
    result = registers("0 wx1\n 1 rx7")
    assert result.counts == {"phantom": 1}
    assert only(result).summary == "T1 read 7 of x, which was never written"


@pytest.mark.parametrize(
    "text", ["0 wx1 rx_", "0 > wx1\n 1 > rx rx\n 0 < wx1\n 1 < rx_ rx1", "0 wx1 wx2 rx1"]
)
def test_a_transaction_that_contradicts_itself(text: str) -> None:
    assert registers(text).counts["internal"] == 1


def test_a_phantom_that_is_read_twice_is_no_change() -> None:
    assert registers("0 rx7 rx7").counts == {"phantom": 2}
    assert registers("0 rx7 rx8").counts == {"internal": 1, "phantom": 2}


def test_a_lost_update() -> None:
    result = registers("0 wy1\n 1 > ry wy2\n 2 > ry wy3\n 1 < ry1 wy2\n 2 < ry1 wy3")
    assert result.counts == {"G2-item": 1, "lost-update": 1}
    assert "T1 and T2 both read 1 of y" in next(a.summary for a in result.anomalies if a.id == "lost-update")
    first = registers("1 > ry wy2\n 2 > ry wy3\n 1 < ry_ wy2\n 2 < ry_ wy3")
    assert "both read nil of y" in next(a.summary for a in first.anomalies if a.id == "lost-update")


def test_a_value_that_is_written_twice_names_nobody() -> None:
    result = registers("0 wx1\n 1 wx1\n 2 rx1")
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == (
        "a value is written twice, or is the initial value, so its writer is unknown: 1 to x"
    )


@pytest.mark.parametrize("text", ["0 wx_", "0 ax1"])
def test_what_is_no_register_is_unknown(text: str) -> None:
    assert registers(text).validity is Validity.UNKNOWN


def test_many_readers_that_write_miss_each_other() -> None:
    begun = "\n".join(f"{n} > rx wx{n}" for n in range(6))
    done = "\n".join(f"{n} < rx_ wx{n}" for n in range(6))
    assert registers(f"{begun}\n{done}").counts == {"G2-item": 1, "lost-update": 1}


def preloaded(text: str, begin: object) -> CheckerResult:
    return check_rw_register(history_of(text, registers=True), begin=begin)


@pytest.mark.parametrize("begin", [0, {"x": 0}, {"x": 0, "z": 5}])
def test_registers_may_hold_something_from_the_beginning(begin: object) -> None:
    text = "0 rx0 wx1\n 1 rx{}"
    assert preloaded(text.format(1), begin).counts == {}
    assert set(preloaded(text.format(0), begin).counts) == {"G-single-realtime"}
    # There was something, so null was lost; and without --initial nobody wrote 0.
    assert preloaded("0 rx_", begin).counts == {"phantom": 1}
    assert registers("0 rx0").counts == {"phantom": 1}
    assert preloaded("0 ry0", {"x": 0}).counts == {"phantom": 1}


def test_a_lost_update_of_what_was_there_from_the_beginning() -> None:
    result = preloaded("1 > ry wy2\n 2 > ry wy3\n 1 < ry7 wy2\n 2 < ry7 wy3", 7)
    assert "both read 7 of y" in next(a.summary for a in result.anomalies if a.id == "lost-update")


def test_who_writes_what_was_there_already_is_not_known() -> None:
    result = preloaded("0 wx0\n 1 rx0", 0)
    assert result.validity is Validity.UNKNOWN
    assert "or is the initial value" in (result.unknown_because or "")
