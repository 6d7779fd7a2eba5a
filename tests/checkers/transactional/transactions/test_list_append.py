"""Each anomaly of list-append histories: the fewest transactions that show it, and the fewest that do not."""

import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.transactional.transactions import ConsistencyModel, check_list_append
from checkers.verdict.verdict import Validity
from tests.checkers.transactional.transactions.transaction_histories import history_of, lists, only

STRONGER = (
    "serializable",
    "strong-session-snapshot-isolation",
    "strong-session-serializable",
    "strong-snapshot-isolation",
    "strict-serializable",
)
# Several transactions at once: their invocations come first, so that real time orders nothing.
G0 = """
    0 > ax1 ay1
    1 > ax2 ay2
    2 > rx ry
    0 < ax1 ay1
    1 < ax2 ay2
    2 < rx12 ry21
"""
G1C = """
    0 > ax1 ry
    1 > ay1 rx
    0 < ax1 ry1
    1 < ay1 rx1
"""
G_SINGLE = """
    0 > ax1 ay1
    1 > rx ry
    0 < ax1 ay1
    1 < rx1 ry
"""
G2 = """
    0 > ax1 ry
    1 > ay1 rx
    0 < ax1 ry
    1 < ay1 rx
"""
LONG_FORK = """
    0 > ax1
    1 > ay1
    2 > rx ry
    3 > rx ry
    0 < ax1
    1 < ay1
    2 < rx1 ry
    3 < rx ry1
"""


@pytest.mark.parametrize(
    ("text", "name"),
    [(G0, "G0"), (G1C, "G1c"), (G_SINGLE, "G-single"), (G2, "G2-item"), (LONG_FORK, "G-nonadjacent")],
)
def test_a_circle_of_data_has_the_name_of_its_strongest_class(text: str, name: str) -> None:
    result = lists(text)
    assert result.counts == {name: 1}
    assert result.validity is Validity.INVALID


@pytest.mark.parametrize(
    "text",
    [
        G0.replace("ry21", "ry12"),
        G1C.replace("rx1", "rx"),
        G_SINGLE.replace("rx1 ry", "rx1 ry1"),
        G_SINGLE.replace("rx1 ry", "rx ry"),
        G2.replace("ay1 rx\n", "ay1 rx1\n"),
        LONG_FORK.replace("rx ry1", "rx1 ry1"),
        "",
        "0 rx",
        "0 ax1 rx1",
    ],
)
def test_what_one_order_explains_is_valid(text: str) -> None:
    result = lists(text)
    assert (result.counts, result.validity) == ({}, Validity.VALID)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0 ax1\n 0 ax2\n 1 rx21", "G0-process"),
        ("0 ax1\n 1 ax2\n 2 rx21", "G0-realtime"),
        ("0 > rx\n 1 > ax1\n 0 < rx1\n 0 ry1\n 1 < ax1\n 0 ay1", "G1c-process"),
        ("0 rx1\n 1 ax1", "G1c-realtime"),
        ("0 ax1\n 0 rx", "G-single-process"),
        ("0 ax1\n 1 rx", "G-single-realtime"),
        ("0 ax1\n 0 ry\n 1 ay1\n 1 rx", "G-nonadjacent-process"),
    ],
)
def test_a_circle_that_needs_an_order_beside_the_data_is_reported_as_such(text: str, name: str) -> None:
    assert name in lists(text).counts


def test_a_session_anomaly_without_real_time() -> None:
    """Two sessions, each of which misses what the other wrote: real time is not needed for it."""
    text = """
        0 > ax1
        1 > ay1
        0 < ax1
        1 < ay1
        0 > ry
        1 > rx
        0 < ry
        1 < rx
    """
    assert list(lists(text).counts) == ["G-nonadjacent-process"]


def test_real_time_orders_only_what_was_complete() -> None:
    assert lists("0 > ax1\n 1 > rx\n 0 < ax1\n 1 < rx").counts == {}
    assert lists("0 > ax1\n 1 > rx\n 1 < rx\n 0 < ax1").counts == {}


def test_a_read_of_what_failed_is_an_aborted_read() -> None:
    result = lists("0 > ax1\n 0 ! ax1\n 1 rx1")
    assert result.counts == {"G1a": 1}
    anomaly = only(result)
    assert anomaly.summary == "T1 read 1 of x, which T2 appended, but T2 failed"
    assert anomaly.witness == (0, 1, 2, 3)
    assert anomaly.subject == "x"


def test_what_nobody_knows_may_have_happened_or_not() -> None:
    assert lists("0 > ax1\n 0 ? ax1\n 1 rx1").validity is Validity.VALID
    assert lists("0 > ax1\n 0 ? ax1\n 1 rx").validity is Validity.VALID
    assert lists("0 > ax1\n 1 rx").validity is Validity.VALID
    assert lists("0 > ax1\n 1 rx1").validity is Validity.VALID


def test_a_transaction_of_unknown_fate_that_was_read_has_its_place_in_the_order() -> None:
    text = "0 > ax1 ay1\n 0 ? ax1 ay1\n 1 > rx ry\n 1 < rx1 ry\n 2 ry1"
    assert lists(text).counts == {"G-single": 1}


def test_an_intermediate_read() -> None:
    result = lists("0 > ax1 ax2\n 1 > rx\n 0 < ax1 ax2\n 1 < rx1\n 2 rx12")
    assert result.counts["G1b"] == 1
    assert lists("0 ax1 rx1 ax2\n 2 rx12").counts == {}


def test_a_dirty_update() -> None:
    result = lists("0 > ax1\n 0 ! ax1\n 1 ax2\n 2 rx12")
    assert result.counts == {"G1a": 1, "dirty-update": 1}
    assert lists("0 > ax1\n 0 ! ax1\n 1 ax2\n 2 rx2").counts == {}


def test_a_lost_update() -> None:
    text = "0 > rx ax1\n 1 > rx ax2\n 0 < rx ax1\n 1 < rx ax2"
    result = lists(text)
    assert result.counts == {"G2-item": 1, "lost-update": 1}
    assert lists(text.replace("1 < rx ax2", "1 < rx1 ax2")).counts == {}


def test_an_element_that_stands_twice() -> None:
    assert lists("0 ax1\n 1 rx11").counts["duplicate-elements"] == 1
    assert lists("0 ax1\n 1 rx1\n 2 rx1").counts == {}


def test_reads_that_do_not_begin_alike() -> None:
    result = lists("0 > ax1\n 1 > ax2\n 0 < ax1\n 1 < ax2\n 2 rx12\n 3 rx2")
    assert result.counts["incompatible-order"] == 1
    assert lists("0 > ax1\n 1 > ax2\n 0 < ax1\n 2 rx1\n 1 < ax2\n 3 rx12").counts == {}


def test_two_orders_in_one_transaction() -> None:
    result = lists("0 > ax1\n 1 > ax2\n 0 < ax1\n 1 < ax2\n 2 rx12 rx2")
    assert result.counts["incompatible-order"] == 1
    assert result.counts["internal"] == 1
    assert "T1 read [2] and [1 2]" in next(
        a.summary for a in result.anomalies if a.id == "incompatible-order"
    )


def test_a_value_from_nowhere() -> None:
    result = lists("0 ax1\n 1 rx17")
    assert result.counts == {"phantom": 1}
    assert only(result).summary == "T1 read 7 of x, which was never appended"


def test_a_value_from_nowhere_in_a_read_that_does_not_agree() -> None:
    result = lists("0 > ax1\n 1 > ax2\n 0 < ax1\n 1 < ax2\n 2 rx12\n 3 rx7")
    assert result.counts["phantom"] == 1
    assert "T1 read 7 of x" in next(a.summary for a in result.anomalies if a.id == "phantom")


@pytest.mark.parametrize(
    "text",
    [
        "0 ax1 rx",
        "0 ax1 ax2 rx2",
        "0 ax1\n 1 rx1 ax2 rx2",
        "0 > ax1\n 1 > rx rx\n 0 < ax1\n 1 < rx rx1",
        "0 ax1 ax2 rx21",
    ],
)
def test_a_transaction_that_contradicts_itself(text: str) -> None:
    assert lists(text).counts["internal"] == 1


@pytest.mark.parametrize(
    "text", ["0 ax1 rx1 ax2 rx12", "0 ax1\n 1 rx1 ax2 rx12 rx12", "0 rx ax1 ry ay1 rx1 ry1"]
)
def test_a_transaction_that_sees_its_own_writes(text: str) -> None:
    assert lists(text).counts == {}


@pytest.mark.parametrize(
    "text", ["0 > ax1 ax2\n 1 rx21", "0 ax1 ax2\n 1 rx2", "0 > ax1 ax2\n 0 ? ax1\n 1 rx21"]
)
def test_a_transaction_whose_own_writes_are_out_of_order(text: str) -> None:
    result = lists(text)
    assert result.counts["internal"] == 1
    assert "where it is before" in next(a.summary for a in result.anomalies if a.id == "internal")


def test_unread_appends_stand_behind_everything_read() -> None:
    """The reader of [1] misses 2 and 3, wherever these stand."""
    text = "0 ax1\n 1 > ax2 ay1\n 2 > rx ry\n 3 > ax3\n 1 < ax2 ay1\n 3 < ax3\n 2 < rx1 ry1"
    result = lists(text)
    assert result.counts == {"G-single": 1}
    (anomaly,) = result.anomalies
    assert any("which is not in it" in line for line in anomaly.explanation)


def test_one_that_reads_and_appends_unread_does_not_miss_itself() -> None:
    assert lists("0 > rx ax1\n 1 > ax2\n 0 < rx ax1\n 1 < ax2").counts == {}


def test_many_that_read_and_append_unread_miss_each_other() -> None:
    begun = "\n".join(f"{n} > rx ax{n}" for n in range(5))
    done = "\n".join(f"{n} < rx ax{n}" for n in range(5))
    assert lists(f"{begun}\n{done}").counts == {"G2-item": 1, "lost-update": 1}


def test_the_model_decides_what_is_illegal() -> None:
    assert lists(G2, ConsistencyModel.SNAPSHOT_ISOLATION).validity is Validity.VALID
    assert lists(G2, ConsistencyModel.SNAPSHOT_ISOLATION).counts == {"G2-item": 1}
    assert lists(G2, ConsistencyModel.REPEATABLE_READ).validity is Validity.INVALID
    assert lists(G_SINGLE, ConsistencyModel.SNAPSHOT_ISOLATION).validity is Validity.INVALID
    assert lists(G_SINGLE, ConsistencyModel.READ_COMMITTED).validity is Validity.VALID
    assert lists(G1C, ConsistencyModel.READ_UNCOMMITTED).validity is Validity.VALID
    assert lists("0 ax1\n 1 rx", ConsistencyModel.SERIALIZABLE).validity is Validity.VALID
    assert lists("0 ax1\n 0 rx", ConsistencyModel.STRONG_SESSION_SERIALIZABLE).validity is Validity.INVALID


def test_a_legal_circle_does_not_hide_an_illegal_one() -> None:
    """Write skew on y and z joined to a stale read of x: only the latter breaks strong snapshot isolation."""
    text = f"{G2}\n 2 az1\n 3 rz rx1"
    result = lists(text, ConsistencyModel.STRONG_SNAPSHOT_ISOLATION)
    assert result.validity is Validity.INVALID


def test_the_proof_names_who_why_and_what_it_rules_out() -> None:
    anomaly = only(lists(G_SINGLE))
    assert anomaly.explanation == (
        "T1 = {append x 1, append y 1}",
        "T2 = {r x [1], r y []}",
        "T1 < T2, because T1 appended 1 to x, and T2 read [1] of it.",
        "However, T2 < T1, because T2 read y empty, and T1 appended 1, which is not in it: a contradiction!",
        "This rules out repeatable-read, snapshot-isolation.",
        f"It therefore also rules out {', '.join(STRONGER)}.",
    )
    assert anomaly.witness == (0, 1, 2, 3)
    assert anomaly.time_ns == 3_000_000


def test_figures() -> None:
    figures = lists(G_SINGLE).figures
    assert figures["transactions"] == 2
    assert figures["micro_operations"] == 4
    assert figures["keys"] == 2
    assert figures["edges"] == {"wr": 1, "rw": 1}
    assert figures["components"] == 1
    assert figures["largest_component"] == 2
    assert figures["models_ruled_out"][0] == "repeatable-read"
    assert figures["cycles"][0]["arcs"] == [[0, 1, "wr"], [1, 0, "rw"]]


def operations(*steps: tuple[int, str, object]) -> History:
    made = (
        Operation(n, n, p, OperationType(kind), "txn", None, value)
        for n, (p, kind, value) in enumerate(steps)
    )
    return History("run", "", tuple(made))


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "ax1",
        [7],
        [["append", "x"]],
        [["swap", "x", 1]],
        [[["r"], "x", 1]],
        [["r", "x", 5]],
        {"mops": []},
        [None],
    ],
)
def test_what_is_no_transaction_is_unknown(value: object) -> None:
    result = check_list_append(operations((0, "invoke", [["append", "x", 1]]), (0, "ok", value)))
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because


def test_a_completion_that_nothing_began_is_unknown_and_still_read() -> None:
    result = check_list_append(
        operations((0, "ok", [["append", "x", 1]]), (1, "invoke", []), (1, "invoke", []))
    )
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because is not None
    assert "operation 0" in result.unknown_because
    assert "operation 1" in result.unknown_because


def test_an_element_that_is_appended_twice_names_nobody() -> None:
    result = lists("0 > ax1\n 1 > ax1\n 0 < ax1\n 1 < ax1\n 2 rx1\n 3 rx11\n 4 > ax1 rx\n 4 < ax1 rx1")
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == "an element is appended twice, so its writer is unknown: 1 to x"


def test_a_damaged_history_is_never_valid() -> None:
    history = history_of("0 ax1")
    damaged = History(history.run, history.began_at, history.operations, ("a line is cut short",))
    assert check_list_append(damaged).unknown_because == "a line is cut short"


@pytest.mark.parametrize(
    ("one", "other"), [("a", "b"), (1.5, True), ([1], {"a": None}), (10**30, 3), (None, "")]
)
def test_keys_and_elements_may_be_any_json(one: object, other: object) -> None:
    history = operations(
        (0, "invoke", [["append", one, one]]),
        (0, "ok", [["append", one, one]]),
        (0, "invoke", [["append", one, other], ["r", other, None]]),
        (0, "ok", [["append", one, other], ["r", other, None]]),
        (1, "invoke", [["r", one, None], ["r", other, None]]),
        (1, "ok", [["r", one, [one, other]], ["r", other, []]]),
    )
    result = check_list_append(history)
    assert (result.counts, result.validity) == ({}, Validity.VALID)
    assert result.figures["keys"] == 2


def test_any_name_of_operations_that_hold_micro_operations() -> None:
    history = history_of(G_SINGLE)
    renamed = (
        Operation(o.index, o.time_ns, o.process, o.type, "t", None, o.value) for o in history.operations
    )
    noise = Operation(4, 9, "nemesis", OperationType.OK, "inject", "f1", {"kind": "kill"})
    result = check_list_append(History("run", "", (*renamed, noise)))
    assert result.counts == {"G-single": 1}


def test_tuples_and_nil_are_lists_too() -> None:
    history = operations(
        (0, "invoke", [("append", "x", 1)]),
        (0, "ok", [("append", "x", 1)]),
        (1, "invoke", [("r", "x", None), ("r", "y", None)]),
        (1, "ok", [("r", "x", (1,)), ("r", "y", None)]),
    )
    assert check_list_append(history).validity is Validity.VALID


def test_the_paper_s_example_of_read_skew() -> None:
    """Elle (2020), by its description: the last one appends behind what T2 saw, and misses what T2 saw."""
    result = lists("""
        0 > ax1 ax3 ax4 ay2 ay3 ay4 ay5 az1 az2
        1 > ay8 rx
        2 > az4 ry rz rx
        3 > aw9 rx ry az3
        0 < ax1 ax3 ax4 ay2 ay3 ay4 ay5 az1 az2
        1 < ay8 rx134
        2 < az4 ry23458 rz124 rx134
        3 < aw9 rx134 ry2345 az3
    """)
    assert result.counts == {"G-single": 1}
    assert only(result).summary == "3 transactions in a circle (G-single): T1 wr T2 ww T3 rw T1"


def test_four_that_keep_to_no_order_without_a_read_skew() -> None:
    """Two that miss each other's unread appends; nothing has a single anti-dependency."""
    result = lists("""
        2 > ax2
        4 > ay1 rx
        7 > rw ry ax5
        9 > aw2 rx
        2 < ax2
        4 < ay1 rx
        7 < rw ry ax5
        9 < aw2 rx2
    """)
    assert result.counts == {"G2-item": 1}
    assert lists("2 > ax2\n 4 > ay1 rx\n 2 < ax2\n 4 < ay1 rx").counts == {}


def test_an_unread_append_is_ordered_behind_its_own_key() -> None:
    """The same transaction also wrote to the key behind, which is none of the proof's."""
    result = lists("""
        0 > ax1 az9
        1 > ax2 rz
        2 > rx rz
        0 < ax1 az9
        1 < ax2 rz
        2 < rx1 rz9
    """)
    line = "T1 < T2, because T1 appended 1 to x, and T2 appended 2 after all elements of it that were read."
    assert line in only(result).explanation
