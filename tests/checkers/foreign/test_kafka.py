"""Jepsen's kafka workload in our words: every fact kept, what does not fit refused."""

from typing import Any

import pytest

from checkers.foreign.kafka import kafka_history_of
from checkers.history.operations import Operation
from checkers.history.reading import HistoryError
from tests.checkers.foreign.texts import edn_of, foreign

READER = {"client": "jepsen", "isolation": "read_uncommitted"}
COMMITTED = {"client": "jepsen", "isolation": "read_committed"}


def operations(lines: str) -> tuple[Operation, ...]:
    return kafka_history_of(foreign(edn_of(lines))).history.operations


def values(lines: str) -> list[Any]:
    return [operation.value for operation in operations(lines)]


def test_sends_and_polls_are_ours() -> None:
    lines = """0 invoke send [[:send 3 10] [:send 5 11]]
    0 ok send [[:send 3 [7 10]] [:send 5 11]]
    1 invoke poll [[:poll] [:poll]]
    1 ok poll [[:poll {3 [[7 10]], 5 []}] [:poll {3 [[8 12]]}]]"""
    converted = operations(lines)
    assert [(o.f, o.key, o.index) for o in converted] == [
        ("send", "jepsen", 0),
        ("send", "jepsen", 1),
        ("poll", "jepsen", 2),
        ("poll", "jepsen", 3),
    ]
    assert [o.value for o in converted] == [
        [[3, 10], [5, 11]],
        [[3, 10, 7, "ok"], [5, 11, None, "ok"]],
        READER,
        READER | {"records": [[3, [7], [10]], [5, [], []], [3, [8], [12]]]},
    ]


@pytest.mark.parametrize(
    ("completion", "value"),
    [
        ("info send [[:send 3 [7 10]] [:send 5 11]]", [[3, 10, 7, "ok"], [5, 11, None, "info"]]),
        ("info send :timeout", [[3, 10, None, "info"], [5, 11, None, "info"]]),
        ("fail send [[:send 3 10] [:send 5 11]]", [[3, 10, None, "fail"], [5, 11, None, "fail"]]),
        ("fail send [[:send 3 [7 10]] [:send 5 11]]", [[3, 10, None, "fail"], [5, 11, None, "fail"]]),
        ("ok send [[:send 3 [nil 10]] [:send 5 [2 11]]]", [[3, 10, None, "ok"], [5, 11, 2, "ok"]]),
    ],
)
def test_each_record_has_its_own_outcome(completion: str, value: Any) -> None:
    assert values(f"0 invoke send [[:send 3 10] [:send 5 11]]\n0 {completion}")[1] == value


def test_values_may_be_lists() -> None:
    lines = "0 invoke send [[:send 3 [1 2]]]\n0 ok send [[:send 3 [7 [1 2]]]]\n"
    assert values(lines) == [[[3, [1, 2]]], [[3, [1, 2], 7, "ok"]]]
    assert values(lines.replace("[7 [1 2]]", "[1 2]"))[1] == [[3, [1, 2], None, "ok"]]


def test_what_a_poll_returned_was_returned_whatever_became_of_it() -> None:
    completed = operations("1 invoke poll [[:poll]]\n1 info poll [[:poll {3 [[7 10]]}]]")[1]
    assert completed.type == "ok"
    silent = operations("1 invoke poll [[:poll]]\n1 info poll :timeout")[1]
    assert (silent.type, silent.value) == ("info", READER)


def test_transactions_hold_what_they_sent_and_polled() -> None:
    lines = """0 invoke txn [[:send 3 10] [:poll]]
    0 ok txn [[:send 3 [7 10]] [:poll {3 [[6 9]]}]]
    1 invoke send [[:send 3 11]]
    1 info send [[:send 3 11]]
    2 invoke poll [[:poll]]
    2 ok poll [[:poll {}]]"""
    converted = operations(lines)
    assert [(o.f, o.key) for o in converted[::2]] == [
        ("txn", "process 0"),
        ("txn", "process 1"),
        ("poll", "jepsen"),
    ]
    assert [o.value for o in converted] == [
        COMMITTED | {"end": "commit", "mops": [["send", "jepsen", 3, 10], ["poll", "jepsen", []]]},
        COMMITTED
        | {
            "end": "commit",
            "ended": "commit",
            "mops": [["send", "jepsen", 3, 10, 7], ["poll", "jepsen", [[3, [6], [9]]]]],
        },
        COMMITTED | {"end": "commit", "mops": [["send", "jepsen", 3, 11]]},
        COMMITTED | {"end": "commit", "ended": None, "mops": [["send", "jepsen", 3, 11, None]]},
        COMMITTED,
        COMMITTED | {"records": []},
    ]


def test_assignments_say_where_reading_begins_only_where_they_seek() -> None:
    lines = """1 invoke assign [3 4]
    1 ok assign [3 4]
    1 invoke assign [3 4], :seek-to-beginning? true
    1 ok assign [3 4], :seek-to-beginning? true
    1 invoke subscribe [3]
    1 ok subscribe [3]
    1 invoke assign nil, :seek-to-beginning? true
    1 info assign nil, :seek-to-beginning? true"""
    assert [o.value for o in operations(lines) if o.type != "invoke"] == [[], [[3, 0], [4, 0]], [], []]


def poll(marks: str = "") -> str:
    return f"1 invoke poll [[:poll]]\n1 ok poll [[:poll {{3 []}}]]{marks}\n"


def reassigned(lines: str) -> list[bool]:
    """Whether each answer that may be is marked as unrelated to those before."""
    return ["assigned" in o.value for o in operations(lines) if o.type == "ok" and o.f in {"poll", "txn"}]


def test_a_subscriber_may_be_given_others_in_every_poll() -> None:
    subscribe = "1 invoke subscribe [3]\n1 ok subscribe [3]\n"
    assert reassigned(subscribe + poll() + poll()) == [True, True]
    assert reassigned(subscribe + poll(", :rebalance-log []") + poll(", :rebalance-log [{:keys [3]}]")) == [
        False,
        True,
    ]
    assert reassigned(subscribe + "1 invoke assign [3]\n1 ok assign [3]\n" + poll()) == [False]
    assert reassigned(subscribe.replace("ok sub", "fail sub") + poll()) == [False]


def test_a_failed_transaction_loses_positions_where_it_does_not_tell_what_it_polled() -> None:
    failed = "1 invoke txn [[:poll] [:send 3 1]]\n1 fail txn [[:poll] [:send 3 1]]\n"
    with_offsets = failed.replace("1 fail txn [[:poll]", "1 fail txn [[:poll {3 []}]")
    committed = "1 invoke txn [[:poll] [:send 3 2]]\n1 ok txn [[:poll {3 []}] [:send 3 [0 2]]]\n"
    assert reassigned(failed + poll() + poll()) == [True, False]
    assert reassigned(failed + committed + poll()) == [True, False]
    assert reassigned(with_offsets + committed + poll()) == [False, False]
    assert reassigned(committed + poll()) == [False, False]
    assert reassigned(committed + "1 invoke poll [[:poll]]\n1 fail poll [[:poll]]\n" + poll()) == [
        False,
        True,
    ]
    assert reassigned(failed + "1 invoke assign [3]\n1 ok assign [3]\n" + poll()) == [False]


@pytest.mark.parametrize(
    ("offset", "assigned"),
    [
        # behind what was polled, even where something is passed over: nothing shows that it went back
        (14, None),
        (12, None),
        # where the failed transaction began, or between there and its end, or before
        (10, [[3, 10]]),
        (11, [[3, 10]]),
        (7, [[3, 7]]),
    ],
)
def test_a_consumer_whose_transaction_failed_goes_on_from_where_it_may(
    offset: int, assigned: list[list[int]] | None
) -> None:
    lines = """1 invoke assign [3]
    1 ok assign [3]
    1 invoke poll [[:poll]]
    1 ok poll [[:poll {3 [[9 1]]}]]
    1 invoke txn [[:poll] [:send 4 1]]
    1 fail txn [[:poll {3 [[10 2] [11 3]]}] [:send 4 1]]
    1 invoke poll [[:poll]]
    1 ok poll [[:poll {3 [[OFFSET 4]]}]]
    1 invoke poll [[:poll]]
    1 ok poll [[:poll {3 [[1 5]]}]]"""
    answered = operations(lines.replace("OFFSET", str(offset)))
    assert [o.value.get("assigned") for o in (answered[-3], answered[-1])] == [assigned, None]


def test_a_transaction_of_unknown_fate_committed_if_somebody_saw_a_record_of_it() -> None:
    lines = """0 invoke txn [[:send 3 1] [:send 4 1]]
    0 info txn [[:send 3 [0 1]] [:send 4 1]]
    2 invoke txn [[:send 3 2] [:poll]]
    2 info txn [[:send 3 2] [:poll {3 [[4 2]]}]]
    5 invoke txn [[:send 3 3]]
    5 info txn [[:send 3 3]]
    6 invoke txn [[:send 3 3]]
    6 info txn [[:send 3 3]]
    7 invoke txn [[:send 3 9]]
    1 invoke poll [[:poll]]
    1 ok poll [[:poll {3 [[0 1] [6 3] [8 9]]}]]"""
    converted = kafka_history_of(foreign(edn_of(lines)))
    fates = [
        (o.process, str(o.type), o.value["ended"])
        for o in converted.history.operations
        if "ended" in (o.value or {})
    ]
    # The second saw its own record alone, and who sent the third's is not known.
    assert fates == [(0, "ok", "commit"), (2, "info", None), (5, "info", None), (6, "info", None)]
    assert converted.committed == 1


def test_keys_that_are_numbers_are_partitions_and_others_are_counted() -> None:
    converted = kafka_history_of(foreign(edn_of('0 invoke send [[:send "3" 1] [:send 4 2]]')))
    assert (converted.history.operations[0].value, converted.names) == ([[3, 1], [4, 2]], {})
    for key in ('"x"', "[1 2]"):
        named = kafka_history_of(foreign(edn_of(f"0 invoke send [[:send {key} 1] [:send 4 2]]")))
        assert named.history.operations[0].value == [[0, 1], [1, 2]]
        assert list(named.names) == [0, 1]
    assert kafka_history_of(foreign(edn_of('0 invoke send [[:send "03" 1]]'))).names == {0: "03"}
    assert kafka_history_of(foreign(edn_of("0 invoke send [[:send 4000000000 1]]"))).names == {
        0: "4000000000"
    }


def test_json_has_keys_as_texts_where_they_are_names() -> None:
    text = (
        '{"process":0,"type":"invoke","f":"send","value":[["send",3,10]]}\n'
        '{"process":0,"type":"ok","f":"send","value":[["send",3,[7,10]]]}\n'
        '{"process":1,"type":"invoke","f":"poll","value":[["poll"]]}\n'
        '{"process":1,"type":"ok","f":"poll","value":[["poll",{"3":[[7,10]]}]]}\n'
    )
    converted = kafka_history_of(foreign(text)).history.operations
    assert converted[3].value["records"] == [[3, [7], [10]]]
    assert converted[1].value == [[3, 10, 7, "ok"]]


def test_all_else_stays_what_it_is() -> None:
    converted = operations(
        "0 invoke crash nil\nnemesis info kill [1]\n0 info crash nil\n1 invoke send []\n1 ok send []"
    )
    assert [(o.process, o.f) for o in converted[:3]] == [(0, "crash"), ("nemesis", "nemesis"), (0, "crash")]
    assert [o.value for o in converted[3:]] == [[], []]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("0 invoke send 5", "not a list of sends and polls"),
        ("0 invoke send [[]]", "not a list of sends and polls"),
        ("0 invoke send [[:send 1]]", "not a list of sends and polls"),
        ("0 invoke poll [[:poll 1 2]]", "not a list of sends and polls"),
        ("0 invoke txn [[:append 1 2]]", "not a list of sends and polls"),
        ("0 invoke send [[:send 1 10]]\n0 ok send [[:poll {}]]", "other micro-operations"),
        ("0 invoke send [[:send 1 10]]\n0 ok send nil", "other micro-operations"),
        ("0 invoke send [[:send 1 10]]\n0 ok send [[:send 2 [0 10]]]", "answers a send to 2, one to 1"),
        (
            "0 invoke send [[:send 1 10]]\n0 ok send [[:send 1 [0 11]]]",
            "another value than it was invoked with",
        ),
        ("0 invoke send [[:send 1 10]]\n0 ok send [[:send 1 11]]", "another value than it was invoked with"),
        ("0 invoke send [[:send 1 10]]\n0 ok send [[:send 1 [-1 10]]]", "-1 is not an offset"),
        ("0 invoke send [[:send 1 10]]\n0 ok send [[:send 1 [1.5 10]]]", "1.5 is not an offset"),
        ("0 invoke send [[:send 1 10]]\n0 ok send [[:send 1 [true 10]]]", "true is not an offset"),
        ("0 invoke send [[:send 1 10]]\n0 ok send [[:send 1 [4611686018427387905 10]]]", "is not an offset"),
        ("0 invoke poll [[:poll]]\n0 ok poll [[:poll {1 [[-1 10]]}]]", "-1 is not an offset"),
        ("0 invoke poll [[:poll]]\n0 ok poll [[:poll {1 [[nil 10]]}]]", "null is not an offset"),
        ("0 invoke poll [[:poll]]\n0 ok poll [[:poll {1 [[1]]}]]", "are not pairs"),
        ("0 invoke poll [[:poll]]\n0 ok poll [[:poll {1 5}]]", "are not pairs"),
        ("0 invoke poll [[:poll]]\n0 ok poll [[:poll [1]]]", "is not a map"),
    ],
)
def test_what_does_not_fit_is_refused(lines: str, problem: str) -> None:
    with pytest.raises(HistoryError) as refused:
        operations(lines)
    assert problem in refused.value.problem
    assert refused.value.place == f"history, line {lines.count(chr(10)) + 1}, column 1"
