"""Each model and each outcome in the smallest histories that show them."""

import json
from typing import Any

import pytest

from checkers.history.operations import OperationType
from checkers.judge import known_anomalies
from checkers.registers.anomalies import NONLINEARIZABLE
from checkers.registers.linearizability import MODELS, SearchBudget, check_linearizable, multi_register
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.registers.linearizability.object_histories import history, history_of

NAN = float("nan")


def judged(kind: str, text: str, initial: Any = None, **limits: int) -> CheckerResult:
    return check_linearizable(history_of(text), MODELS[kind](initial), budget=SearchBudget(**limits))


GOOD: list[tuple[str, Any, str]] = [
    ("register", None, "1 read null"),
    ("register", 0, "1 read 0"),
    ("register", 0, "1 read null"),
    ("register", None, "1 write 1 \n 2 write 2 \n 1 read 2"),
    ("register", None, "1 > write 1 \n 2 read 1 \n 2 > read \n 1 ok write 1 \n 2 ok read 1"),
    ("register", None, "1 > write 1 \n 1 info write 1 \n 2 read null \n 2 read 1"),
    ("register", None, "1 > write 1 \n 2 read null \n 2 read 1"),
    ("register", None, "1 > write 1 \n 1 fail write 1 \n 2 read null"),
    ("register", None, "1 > read \n 1 info read \n 2 > read \n 2 fail read"),
    ("register", None, "a/1 write 1 \n b/1 read null \n a/2 read 1"),
    ("register", None, "1 write null \n 1 read null"),
    ("register", None, "1 > write null \n 1 ok write 3 \n 1 read 3"),
    ("cas-register", None, "1 write 1 \n 1 cas [1,2] \n 2 read 2"),
    ("cas-register", 0, "1 > cas [1,2] \n 1 fail cas [1,2] \n 2 read 0"),
    ("cas-register", None, "1 write 1 \n 1 > cas [1,2] \n 1 info cas [1,2] \n 2 read 1 \n 2 read 2"),
    ("mutex", None, "1 acquire \n 1 release \n 2 acquire"),
    ("mutex", True, "1 release"),
    ("mutex", None, "1 acquire \n 2 > release \n 2 info release \n 3 acquire"),
    ("set", None, "1 add 1 \n 2 > add 2 \n 1 read [1] \n 1 read [2,1]"),
    ("set", [7], "1 contains [7,true] \n 1 contains [8,false] \n 1 > read \n 1 ok read null"),
    ("set", None, "1 add 1 \n 1 add 1 \n 1 read [1]"),
    ("fifo-queue", None, "1 enqueue 1 \n 1 enqueue 2 \n 2 dequeue 1 \n 2 dequeue 2 \n 2 dequeue null"),
    ("fifo-queue", [4], "1 dequeue 4"),
    ("fifo-queue", None, "1 enqueue 1 \n 1 enqueue 2 \n 2 > dequeue \n 2 info dequeue \n 3 dequeue 2"),
    ("fifo-queue", None, "1 > dequeue \n 2 dequeue null"),
    ("multi-register", None, '1 txn [["w","x",1],["w","y",1]] \n 2 txn [["r","x",1],["r","y",1]]'),
    ("multi-register", {"x": 0}, '1 txn [["read","x",0]] \n 1 txn [["read","x",null]] \n 1 txn []'),
    ("multi-register", None, '1 txn [["write","x",1],["read","x",1]] \n 1 txn [["read","y",null]]'),
    ("multi-register", None, '1 > txn [["w","x",1],["r","y",null]] \n 2 read [["r","x",1]]'),
    ("multi-register", None, '1 > txn [["w","x",1],["r","y",null]] \n 1 ok txn \n 2 read [["r","x",1]]'),
]

BAD: list[tuple[str, Any, str, str]] = [
    ("register", None, "1 read 1", "can't read 1 from register nil"),
    ("register", None, "1 write 1 \n 1 read null", "can't read nil from register 1"),
    ("register", None, "1 write 1 \n 1 write 2 \n 1 read 1", "can't read 1 from register 2"),
    ("register", None, "1 > write 1 \n 2 read 1 \n 2 read null \n 1 ok write 1", "can't read nil from"),
    ("register", None, "1 > write 1 \n 1 fail write 1 \n 2 read 1", "can't read 1 from register nil"),
    ("register", None, "2 read 1 \n 1 > write 1", "can't read 1 from register nil"),
    ("register", None, 'x/1 write 1 \n y/1 write 1 \n y/1 read "1"', "can't read '1' from register"),
    ("cas-register", 0, "1 cas [1,2]", "can't cas 1 to 2 in register 0"),
    ("cas-register", 0, "1 cas [0,1] \n 2 > write 0 \n 3 cas [0,2] \n 4 read 1", "can't read 1 from"),
    ("mutex", None, "1 acquire \n 2 acquire", "can't acquire a mutex that is held"),
    ("mutex", None, "1 release", "can't release a mutex that is free"),
    ("set", None, "1 add 1 \n 1 add 2 \n 1 read [2]", "can't read {2} from set {1, 2}"),
    ("set", None, "1 add 1 \n 1 contains [1,false]", "1 is in set {1}"),
    ("set", None, "1 contains [1,true]", "1 is not in set {}"),
    ("fifo-queue", None, "1 enqueue 1 \n 1 enqueue 2 \n 2 dequeue 2", "can't dequeue 2 from a queue whose"),
    ("fifo-queue", None, "1 dequeue 2", "can't dequeue 2 from an empty queue"),
    ("fifo-queue", None, "1 enqueue 2 \n 1 dequeue null", "can't dequeue nil from a queue whose head is 2"),
    (
        "multi-register",
        None,
        '1 txn [["w","x",1],["w","y",1]] \n 2 txn [["r","x",1],["r","y",null]]',
        "can't read 1 from 'x', which holds nil",
    ),
    (
        "multi-register",
        None,
        '1 txn [["w","x",1],["w","y",1]] \n 2 > txn [["w","x",2]] \n 3 txn [["r","x",1],["r","y",null]]',
        "can't read 1 from 'x', which holds nil",
    ),
    (
        "multi-register",
        None,
        '0 txn [["w","x",0]] \n 1 > txn [["w","x",1]] \n 2 txn [["r","x",1]] \n 2 txn [["r","x",0]]',
        "can't read 0 from 'x', which holds 1",
    ),
]

UNREADABLE: list[tuple[str, str, str]] = [
    ("register", "1 > write 1 \n 1 > write 2", "operation 1: process 1 invokes again"),
    ("register", "1 ok write 1", "operation 0: completes an operation that was never invoked"),
    (
        "register",
        "1 > write 1 \n 1 ok write 1 \n 1 ok write 1",
        "operation 2: completes an operation that was never",
    ),
    ("register", "1 > write 1 \n 1 ok read 1", "operation 1: completes 'write' as 'read'"),
    ("register", "a/1 > write 1 \n b/1 ok write 1", "operation 1: completes with another key"),
    ("register", "1 > write 1 \n 1 ok write 2", "operation 0: write was invoked with 1 and completed with 2"),
    ("register", "1 cas [1,2]", "operation 0: a register has no operation 'cas'"),
    ("cas-register", "1 cas 3", "operation 0: cas takes a pair, not 3"),
    ("mutex", "1 lock", "operation 0: a mutex has no operation 'lock'"),
    ("set", "1 remove 1", "operation 0: a set has no operation 'remove'"),
    ("set", "1 read 1", "operation 0: a list is expected, not 1"),
    ("set", "1 contains [1,2]", "operation 0: contains gives true or false, not 2"),
    ("fifo-queue", "1 push 1", "operation 0: a fifo-queue has no operation 'push'"),
    ("multi-register", "1 add 1", "operation 0: a multi-register has no operation 'add'"),
    ("multi-register", "1 txn 1", "operation 0: a transaction is a list, not 1"),
    ("multi-register", "1 txn [1]", "operation 0: a part of a transaction is [f key value], not 1"),
    ("multi-register", '1 txn [["a",1,2]]', "operation 0: a transaction reads or writes; it can't 'a'"),
    (
        "multi-register",
        '1 > txn [["r","x",null]] \n 1 ok txn [["r","y",null]]',
        "operation 0: completed with other reads and writes",
    ),
]


@pytest.mark.parametrize(("kind", "initial", "text"), GOOD)
def test_valid(kind: str, initial: Any, text: str) -> None:
    result = judged(kind, text, initial)
    assert (result.validity, result.counts) == (Validity.VALID, {})


@pytest.mark.parametrize(("kind", "initial", "text", "why"), BAD)
def test_invalid(kind: str, initial: Any, text: str, why: str) -> None:
    result = judged(kind, text, initial)
    assert (result.validity, result.counts) == (Validity.INVALID, {"nonlinearizable": 1})
    assert why in result.anomalies[0].summary


@pytest.mark.parametrize(("kind", "text", "why"), UNREADABLE)
def test_unreadable_is_unknown(kind: str, text: str, why: str) -> None:
    result = judged(kind, text)
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because is not None
    assert result.unknown_because.startswith(why)


@pytest.mark.parametrize(
    ("kind", "initial"), [("mutex", 1), ("set", 1), ("fifo-queue", "a"), ("multi-register", [1])]
)
def test_an_initial_value_of_another_shape_is_refused(kind: str, initial: Any) -> None:
    with pytest.raises(ValueError, match=r"begins|expected"):
        MODELS[kind](initial)


def test_the_witness_is_as_small_as_it_can_be_and_explained() -> None:
    text = """
        3 write 7
        3 read 7
        1 write 1
        2 > cas [9,8]
        2 info cas [9,8]
        1 > write 2
        4 read 2
        1 ok write 2
        4 > read
        5 > write 3
        4 ok read 1
        1 read 2
    """
    (anomaly,) = judged("cas-register", text).anomalies
    assert anomaly.summary == (
        "read 1 of process 4 (operation 12 to 14) cannot take effect between its invocation and "
        "its completion: can't read 1 from register 2."
    )
    assert anomaly.witness == (4, 5, 9, 10, 12, 14)
    assert anomaly.time_ns == 14_000
    nobody_else = "No other operation that was invoked before operation 14 changes that"
    last_order = "After write 7, read 7, write 1, write 2, read 2, write 3"
    assert anomaly.explanation == (
        "write 1 of process 1 (operation 4 to 5) happened.",
        "read 2 of process 4 (operation 9 to 10) happened.",
        "read 1 of process 4 (operation 12 to 14) happened.",
        f"{nobody_else}, whenever it takes effect, or if it never does.",
        "After write 7, read 7, write 1, write 2, read 2 the state is 2: can't read 1 from register 2.",
        f"{last_order} the state is 3: can't read 1 from register 3.",
        "So read 1 can't take effect before its completion, whatever the order.",
    )


def test_a_long_witness_is_not_shown_in_full() -> None:
    perhaps = "\n".join(f"{n} > release" for n in range(30))
    turns = "\n".join(f"{n} acquire" for n in range(100, 132))
    (anomaly,) = judged("mutex", f"{perhaps} \n {turns}").anomalies
    assert anomaly.witness == tuple(range(30, 94))
    assert anomaly.explanation[0] == "12 operations of the witness happened, and after them:"
    assert anomaly.explanation[1] == "acquire of process 112 (operation 54 to 55) happened."
    assert anomaly.explanation[20] == "acquire of process 131 (operation 92 to 93) happened."


def test_where_all_operations_are_too_many_the_last_ones_are_the_proof() -> None:
    text = "\n".join(f"1 write {n % 5} \n 1 read {n % 5}" for n in range(3000))
    (anomaly,) = judged("register", f"{text} \n 2 > read \n 1 read 4 \n 2 ok read 4 \n 1 read 3").anomalies
    assert anomaly.witness == (12_001, 12_002, 12_004, 12_005)
    assert anomaly.explanation[:3] == (
        "Whatever operations took effect before operation 12001, and whatever state they led to:",
        "read 4 of process 1 (operation 12001 to 12002) happened.",
        "read 3 of process 1 (operation 12004 to 12005) happened.",
    )


def test_figures_and_the_known_kind() -> None:
    result = judged("register", "x/1 write 1 \n y/1 write 1")
    assert result.figures["calls"] == 2
    assert result.figures["groups"] == 2
    assert known_anomalies()["nonlinearizable"] is NONLINEARIZABLE


def test_every_wrong_key_counts_and_twenty_are_reported() -> None:
    text = "\n".join(f"key{n}/1 read {n}" for n in range(25))
    result = judged("register", text)
    assert result.counts == {"nonlinearizable": 25}
    assert len(result.anomalies) == 20
    assert result.anomalies[0].subject == "'key0'"


def test_independent_parts_are_judged_alone() -> None:
    chain = '1 txn [["w","x",1],["w","y",1]] \n 1 txn [["w","y",2],["w","z",2]] \n 1 txn [["w","v",1]]'
    assert judged("multi-register", chain).figures["groups"] == 2
    assert judged("set", "1 add 1 \n 1 add 2 \n 1 contains [2,true]").figures["groups"] == 2
    assert judged("set", "1 add 1 \n 1 add 2 \n 1 read [1,2]").figures["groups"] == 1


def test_those_who_are_no_clients_are_not_looked_at() -> None:
    text = "nemesis > inject 1 \n runner ok setup 1 \n observer-1 ok observe 1"
    assert judged("register", text).unknown_because == "the history has no operation of a client"
    assert judged("register", f"{text} \n 1 write 1").validity is Validity.VALID


def test_a_damaged_history_is_never_valid() -> None:
    good, bad = "1 write 1", "1 read 1"
    model = MODELS["register"]()
    assert (
        check_linearizable(history_of(good, damage=("cut",)), model).unknown_because
        == "the history is damaged: cut"
    )
    assert check_linearizable(history_of(bad, damage=("cut",)), model).validity is Validity.INVALID


HARD = "\n".join(
    [*(f"{n} > write {n}" for n in range(12)), "99 > read", "99 ok read 3", "99 read 4", "99 read 3"]
)


def test_an_exhausted_budget_is_unknown() -> None:
    hard = HARD + "\n" + "\n".join(f"{n} ok write {n}" for n in range(12))
    assert judged("register", hard, steps=100).unknown_because == (
        "the search of 15 calls exhausted its budget of 100 steps"
    )
    assert judged("register", hard, memory_mb=1).unknown_because == (
        "the search of 15 calls exhausted its budget of 1 MB"
    )
    assert judged("register", hard).validity is Validity.INVALID


def test_a_read_of_what_nobody_wrote_needs_no_search() -> None:
    result = judged("register", HARD.replace("read 3", "read 99"), steps=0)
    assert result.anomalies[0].witness == (12, 13)
    assert result.anomalies[0].explanation[2:] == (
        "No state that operations can lead to allows it, and so not the initial one.",
        "After nothing the state is nil: can't read 99 from register nil.",
        "So read 99 can't take effect before its completion, whatever the order.",
    )


def test_a_witness_that_is_too_long_to_shorten_is_reported_as_such() -> None:
    text = "\n".join(f"1 write {n} \n 1 read {n}" for n in range(3000))
    result = judged("register", f"{text} \n 1 read 7")
    (anomaly,) = result.anomalies
    assert "Fewer operations may be enough, but there are too many to try them all." in anomaly.explanation
    assert "The witness lists the last 500 of 6001 operations." in anomaly.explanation
    assert anomaly.witness == tuple(range(12_002 - 1000, 12_002))


@pytest.mark.slow
def test_more_open_calls_than_memory_holds_are_unknown() -> None:
    """A thousand calls that are open at once, and each of their completions."""
    text = "\n".join([*(f"{n} > write 1" for n in range(1000)), *(f"{n} ok write 1" for n in range(1000))])
    assert judged("register", text, memory_mb=10).validity is Validity.VALID
    assert judged("register", text, memory_mb=3).unknown_because == (
        "the search of 1000 calls exhausted its budget of 3 MB"
    )


def test_calls_that_may_have_happened_are_not_used_without_need() -> None:
    """There are three ways to 9, and from there one back to it that is of no use."""
    ways = ["[0,1]", "[1,9]", "[0,2]", "[2,9]", "[0,3]", "[3,9]", "[9,8]", "[8,9]", "[1,4]", "[4,9]"]
    text = "\n".join(f"{n} > cas {way}" for n, way in enumerate(ways))
    result = judged("cas-register", f"{text} \n 99 read 7 \n 98 > write 7", 0)
    assert result.validity is Validity.INVALID
    assert judged("cas-register", f"{text} \n 99 read 9", 0).validity is Validity.VALID


def test_one_hard_key_does_not_keep_others_from_their_verdict() -> None:
    hard = "\n".join(f"h/{line}" for line in HARD.splitlines())
    hard += "\n" + "\n".join(f"h/{n} ok write {n}" for n in range(12))
    result = judged("register", f"{hard} \n x/1 read 1", steps=1000)
    assert result.validity is Validity.INVALID
    result = judged("register", f"{hard} \n x/1 write 1", steps=1000)
    assert result.unknown_because == "the search of 15 calls of 'h' exhausted its budget of 1000 steps"
    two = hard + "\n" + hard.replace("h/", "i/1")
    assert "and 1 more group" in (judged("register", two, steps=1000).unknown_because or "")


@pytest.mark.parametrize(
    "value",
    [NAN, 1.5, -0.0, 10**400, True, [1, [2]], {"a": [1]}, "x" * 10_000_000, b"\xff", {1, 2}, (1, 2), None],
    ids=lambda value: type(value).__name__,
)
def test_any_value_is_read_as_it_was_written(value: Any) -> None:
    other = {"a": 1}
    write = [(None, 1, "invoke", "write", value), (None, 1, "ok", "write", value)]
    read = [(None, 2, "invoke", "read", None), (None, 2, "ok", "read", value)]
    good = check_linearizable(history([*write, *read]), MODELS["register"]())
    assert good.validity is Validity.VALID
    written = [(None, 3, "invoke", "write", other), (None, 3, "ok", "write", other)]
    bad = check_linearizable(history([*write, *written, *read]), MODELS["register"]())
    assert bad.validity is Validity.INVALID
    assert len(bad.anomalies[0].summary) < 400


def test_a_number_or_word_of_a_library_is_read_as_what_it_is() -> None:
    rows = [
        (None, 1, "invoke", "write", OperationType.OK),
        (None, 1, "ok", "write", OperationType.OK),
        (None, 1, "invoke", "read", None),
        (None, 1, "ok", "read", "ok"),
    ]
    assert check_linearizable(history(rows), MODELS["register"]()).validity is Validity.VALID


@pytest.mark.parametrize(("written", "read"), [(1, 1.0), (1, True), (0, -0.0), (0.0, None), ("1", 1)])
def test_values_of_different_types_differ(written: Any, read: Any) -> None:
    rows = [
        (None, 1, "invoke", "write", written),
        (None, 1, "ok", "write", written),
        (None, 1, "invoke", "read", None),
        (None, 1, "ok", "read", read),
    ]
    assert check_linearizable(history(rows), MODELS["register"]()).validity is Validity.INVALID


def test_values_that_nobody_can_compare_are_unknown() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    rows = [(None, 1, "invoke", "write", deep), (None, 1, "ok", "write", deep)]
    assert "nested deeper" in str(check_linearizable(history(rows), MODELS["register"]()).unknown_because)
    rows = [(None, 1, "invoke", "write", object()), (None, 1, "ok", "write", 1)]
    assert "object" in str(check_linearizable(history(rows), MODELS["register"]()).unknown_because)


def test_the_same_history_gives_the_same_result() -> None:
    text = BAD[-1][2]
    assert check_linearizable(history_of(text), multi_register()) == check_linearizable(
        history_of(text), multi_register()
    )
    assert json.loads(json.dumps(judged("set", "1 add 1 \n 1 read []").anomalies[0].summary))
