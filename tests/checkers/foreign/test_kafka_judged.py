"""Small histories of Jepsen's kafka workload, written by hand, and how they are judged.

Among them are those on which jepsen.tests.kafka itself fails; ours must not.
"""

import pytest

from checkers.verdict.verdict import Validity
from tests.checkers.foreign.texts import counts, judged

ONE_SENT = "0 invoke send [[:send 1 10]]\n0 ok send [[:send 1 [0 10]]]\n"
THREE_SENT = """0 invoke send [[:send 1 10] [:send 1 11] [:send 1 12]]
0 ok send [[:send 1 [0 10]] [:send 1 [1 11]] [:send 1 [2 12]]]
"""
OTHERS_SEE_ALL = "9 invoke poll [[:poll]]\n9 ok poll [[:poll {1 [[0 10] [1 11] [2 12]]}]]\n"


def polls(*records: str, by: str = "assign") -> str:
    """A consumer of key 1 that polls these records."""
    begin = f"1 invoke {by} [1]\n1 ok {by} [1]\n"
    return begin + "".join(f"1 invoke poll [[:poll]]\n1 ok poll [[:poll {{1 [{r}]}}]]\n" for r in records)


@pytest.mark.parametrize(
    "lines",
    [
        ONE_SENT + polls("[0 10]"),
        THREE_SENT + polls("[0 10]", "[1 11] [2 12]"),
        # the last operation is the first poll of its key
        ONE_SENT + "1 invoke poll [[:poll]]\n1 ok poll [[:poll {1 [[0 10]]}]]",
        # a key that is known from an empty poll alone
        ONE_SENT + polls("[0 10]") + "1 invoke poll [[:poll]]\n1 ok poll [[:poll {7 []}]]",
        # a rebalance may have moved a consumer that subscribed
        THREE_SENT + OTHERS_SEE_ALL + polls("[0 10]", "[2 12]", by="subscribe"),
        # a send of unknown fate was seen
        "0 invoke send [[:send 1 10]]\n0 info send [[:send 1 10]]\n" + polls("[0 10]"),
        "0 invoke send [[:send 1 10]]\n" + polls("[0 10]"),
        # a poll of unknown fate that returned nothing
        ONE_SENT + polls("[0 10]") + "2 invoke poll [[:poll]]\n2 info poll [[:poll]]",
        # the same value under two keys: Jepsen's values are unique for each key alone
        """0 invoke send [[:send 1 1] [:send 2 1]]
        0 ok send [[:send 1 [0 1]] [:send 2 [7 1]]]
        1 invoke poll [[:poll]]
        1 ok poll [[:poll {1 [[0 1]], 2 [[7 1]]}]]""",
        """0 invoke txn [[:send 1 1]]
        0 fail txn [[:send 1 1]]
        2 invoke txn [[:send 2 1]]
        2 ok txn [[:send 2 [0 1]]]
        1 invoke poll [[:poll]]
        1 ok poll [[:poll {2 [[0 1]]}]]""",
        # keys that are no numbers
        """0 invoke send [[:send "a" 1]]
        0 ok send [[:send "a" [5 1]]]
        2 invoke poll [[:poll]]
        2 ok poll [[:poll {"a" [[5 1]]}]]""",
    ],
)
def test_what_kafka_may_do_is_valid(lines: str) -> None:
    judgement = judged(lines)
    assert counts(judgement) == {}
    assert judgement.verdict.validity is Validity.VALID


@pytest.mark.parametrize(
    ("lines", "anomaly"),
    [
        # a value that nobody sent, and a key that nobody knows
        (ONE_SENT + polls("[0 10] [1 99]"), "phantom"),
        (ONE_SENT + "1 invoke poll [[:poll]]\n1 ok poll [[:poll {7 [[0 99]]}]]", "phantom"),
        (ONE_SENT + "1 invoke poll [[:poll]]\n1 ok poll [[:poll {2 [[0 10]]}]]", "phantom"),
        (THREE_SENT + polls("[1 11] [2 12]"), "lost-write"),
        (THREE_SENT + OTHERS_SEE_ALL + polls("[0 10]", "[2 12]"), "poll-skip"),
        (THREE_SENT + OTHERS_SEE_ALL + polls("[0 10] [2 12]"), "int-poll-skip"),
        (THREE_SENT + OTHERS_SEE_ALL + polls("[0 10] [2 12]", by="subscribe"), "int-poll-skip"),
        (THREE_SENT + OTHERS_SEE_ALL + polls("[2 12]", "[0 10]"), "nonmonotonic-poll"),
        (THREE_SENT + OTHERS_SEE_ALL + polls("[0 10] [1 12]"), "inconsistent-offsets"),
        (ONE_SENT + polls("[0 10] [1 10]"), "duplicate"),
        ("0 invoke send [[:send 1 10]]\n0 fail send [[:send 1 10]]\n" + polls("[0 10]"), "G1a"),
        # read by a poll of unknown fate
        (
            """0 invoke send [[:send 1 10]]
            0 fail send [[:send 1 10]]
            1 invoke poll [[:poll]]
            1 info poll [[:poll {1 [[0 10]]}]]""",
            "G1a",
        ),
    ],
)
def test_what_kafka_may_not_do_is_found(lines: str, anomaly: str) -> None:
    judgement = judged(lines)
    assert anomaly in counts(judgement)
    assert judgement.verdict.validity is Validity.INVALID


def test_reading_from_the_beginning_may_pass_nothing_over() -> None:
    seek = "1 invoke assign [1]\n1 ok assign [1], :seek-to-beginning? true\n"
    poll = "1 invoke poll [[:poll]]\n1 ok poll [[:poll {1 [[1 11] [2 12]]}]]"
    assert "poll-skip" in counts(judged(THREE_SENT + OTHERS_SEE_ALL + seek + poll))
    assert counts(judged(THREE_SENT + OTHERS_SEE_ALL + seek.replace("true", "false") + poll)) == {}


def test_what_nobody_saw_yet_is_reported_and_legal() -> None:
    judgement = judged(ONE_SENT)
    assert counts(judgement) == {"unseen": 1}
    assert judgement.verdict.validity is Validity.VALID


def test_nothing_is_made_for_offsets_below_the_first_one() -> None:
    base = 10**15  # neither memory nor time would suffice
    sent = "".join(
        f"0 invoke send [[:send 1 {n}]]\n0 ok send [[:send 1 [{base + n} {n}]]]\n" for n in range(50)
    )
    records = " ".join(f"[{base + n} {n}]" for n in range(50))
    assert judged(sent + polls(records)).verdict.validity is Validity.VALID


def test_an_offset_conflict_is_found_whichever_comes_first() -> None:
    one, other = "[0 10] [1 11]", "[0 11]"
    sent = "0 invoke send [[:send 1 10] [:send 1 11]]\n0 info send [[:send 1 10] [:send 1 11]]\n"
    for first, second in ((one, other), (other, one)):
        lines = sent + f"2 invoke poll [[:poll]]\n2 ok poll [[:poll {{1 [{first}]}}]]\n" + polls(second)
        assert "inconsistent-offsets" in counts(judged(lines))


COMMITTED = """0 invoke txn [[:send 1 10] [:send 2 20]]
0 ok txn [[:send 1 [0 10]] [:send 2 [0 20]]]
1 invoke txn [[:poll] [:send 1 11]]
1 ok txn [[:poll {1 [[0 10]] 2 [[0 20]]}] [:send 1 [2 11]]]
2 invoke poll [[:poll]]
2 ok poll [[:poll {1 [[0 10] [2 11]] 2 [[0 20]]}]]
"""


def test_transactions_that_poll_and_send_are_valid() -> None:
    judgement = judged(COMMITTED)
    assert [result.checker for result in judgement.verdict.results] == ["log", "transactions", "reading"]
    assert counts(judgement) == {}
    assert judgement.verdict.validity is Validity.VALID


@pytest.mark.parametrize(
    ("lines", "anomaly"),
    [
        (COMMITTED.replace("0 ok txn", "0 fail txn"), "G1a"),
        (
            COMMITTED.replace("[0 10] [2 11]", "[0 10]")
            + "2 invoke poll [[:poll]]\n2 ok poll [[:poll {1 [[4 9]]}]]",
            "phantom",
        ),
        (
            """0 invoke txn [[:send 1 10] [:poll]]
            1 invoke txn [[:send 2 20] [:poll]]
            0 ok txn [[:send 1 [0 10]] [:poll {2 [[0 20]]}]]
            1 ok txn [[:send 2 [0 20]] [:poll {1 [[0 10]]}]]""",
            "G1c",
        ),
        (
            COMMITTED
            + """0 invoke txn [[:send 1 12] [:send 1 13]]
            0 ok txn [[:send 1 [4 12]] [:send 1 [5 13]]]
            2 invoke txn [[:poll]]
            2 ok txn [[:poll {1 [[5 13]]}]]
            3 invoke poll [[:poll]]
            3 ok poll [[:poll {1 [[4 12] [5 13]]}]]""",
            "poll-skip",
        ),
    ],
)
def test_what_transactions_may_not_do_is_found(lines: str, anomaly: str) -> None:
    judgement = judged(lines)
    assert anomaly in counts(judgement)
    assert judgement.verdict.validity is Validity.INVALID


def test_a_transaction_of_unknown_fate_may_have_happened_or_not() -> None:
    unknown = COMMITTED.replace("0 ok txn [[:send 1 [0 10]] [:send 2 [0 20]]]", "0 info txn :timeout")
    assert judged(unknown).verdict.validity is Validity.VALID


@pytest.mark.parametrize(
    ("between", "first", "then", "found"),
    [
        ("assign [1]", "[0 10]", "[1 11] [2 12]", {}),
        ("assign [2 1]", "[0 10]", "[2 12]", {"poll-skip": 1}),
        ("assign [1]", "[0 10] [1 11]", "[0 10] [1 11]", {"nonmonotonic-poll": 1}),
        ("assign [2]", "[0 10] [1 11]", "[0 10] [1 11]", {}),
        ("subscribe [1]", "[0 10]", "[2 12]", {}),
    ],
)
def test_a_key_that_stays_assigned_goes_on_where_it_was(
    between: str, first: str, then: str, found: dict[str, int]
) -> None:
    again = f"1 invoke {between}\n1 ok {between}\n1 invoke assign [1]\n1 ok assign [1]\n"
    poll = f"1 invoke poll [[:poll]]\n1 ok poll [[:poll {{1 [{then}]}}]]\n"
    assert counts(judged(THREE_SENT + OTHERS_SEE_ALL + polls(first) + again + poll)) == found


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("[:send 1 10]", "[:send 1 11]", {"nonmonotonic-send": 1}),
        ("[:send 1 10] [:send 1 11]", "", {"int-nonmonotonic-send": 1}),
        # one value of two sends, and at two offsets, has no known place
        ("[:send 1 10]", "[:send 1 11] [:send 1 11]", {}),
        # another process
        ("[:send 1 10]", "[:send 2 5]]\n2 ok send [[:send 2 5]]\n3 invoke send [[:send 1 11]", {}),
    ],
)
def test_sends_out_of_order_are_found_by_what_was_polled(
    first: str, second: str, found: dict[str, int]
) -> None:
    """Acknowledgements that tell no offset; readers find 11 at offset 3 and 10 at 7."""
    lines = f"2 invoke send [{first}]\n2 ok send [{first}]\n"
    if second:
        lines += f"2 invoke send [{second}]\n"
    seen = counts(judged(lines + "1 invoke poll [[:poll]]\n1 ok poll [[:poll {1 [[3 11] [7 10]]}]]"))
    assert {name: count for name, count in seen.items() if "send" in name} == found


def test_why_sends_are_out_of_order_is_shown_by_readers() -> None:
    lines = "2 invoke send [[:send 1 10] [:send 1 11]]\n2 info send nil\n"
    judgement = judged(lines + "1 invoke poll [[:poll]]\n1 ok poll [[:poll {1 [[3 11] [7 10]]}]]")
    (anomaly,) = (a for result in judgement.verdict.results for a in result.anomalies)
    assert anomaly.illegal
    assert anomaly.witness == (0, 3)
    assert "is before it at jepsen/1@3" in anomaly.summary


AFTER_ABORT = (
    THREE_SENT.replace("send [[", "txn [[").replace("0 ok", "0 ok")
    + """9 invoke poll [[:poll]]
9 ok poll [[:poll {1 [[0 10] [1 11] [2 12]]}]]
1 invoke assign [1]
1 ok assign [1]
1 invoke poll [[:poll]]
1 ok poll [[:poll {1 [[0 10]]}]]
1 invoke txn [[:poll] [:send 2 5]]
1 fail txn [[:poll {1 [POLLED]}] [:send 2 5]]
1 invoke poll [[:poll]]
1 ok poll [[:poll {1 [THEN]}]]"""
)


@pytest.mark.parametrize(
    ("polled", "then", "found"),
    [
        ("[1 11]", "[2 12]", {}),
        ("[1 11]", "[1 11] [2 12]", {}),
        ("[1 11] [2 12]", "[0 10] [1 11]", {}),
        # neither where it was, nor where it began, nor before
        ("", "[2 12]", {"poll-skip": 1}),
        ("[1 11] [2 12]", "[2 12]", {"poll-skip": 1}),
    ],
)
def test_a_poll_after_an_aborted_transaction_skips_under_no_policy(
    polled: str, then: str, found: dict[str, int]
) -> None:
    seen = counts(judged(AFTER_ABORT.replace("POLLED", polled).replace("THEN", then)))
    assert {name: count for name, count in seen.items() if "poll" in name} == found


def test_a_commit_that_one_record_shows_holds_for_all_keys() -> None:
    """A transaction of unknown fate sent to both keys; the reader passed over its record of key 2."""
    lines = """0 invoke txn [[:send 1 10] [:send 2 20]]
    0 info txn [[:send 1 [0 10]] [:send 2 [0 20]]]
    2 invoke txn [[:send 2 21]]
    2 ok txn [[:send 2 [2 21]]]
    1 invoke assign [1 2], :seek-to-beginning? true
    1 ok assign [1 2], :seek-to-beginning? true
    1 invoke poll [[:poll]]
    1 ok poll [[:poll {SEEN 2 [[2 21]]}]]"""
    judgement = judged(lines.replace("SEEN", "1 [[0 10]]"))
    assert counts(judgement) == {"lost-write": 1, "poll-skip": 1}
    assert judgement.verdict.results[-1].figures["committed_after_all"] == 1
    # Nobody saw anything of it: it may have been aborted.
    assert judged(lines.replace("SEEN", "")).verdict.validity is Validity.VALID


def test_a_record_of_ones_own_before_the_commit_was_asked_for_is_circular() -> None:
    lines = """0 invoke txn [[:send 1 10] [:poll]]
    0 ok txn [[:send 1 [0 10]] [:poll {1 [[0 10]]}]]"""
    judgement = judged(lines)
    assert counts(judgement) == {"G1c": 1}
    assert judgement.verdict.validity is Validity.INVALID
    (anomaly,) = (a for result in judgement.verdict.results for a in result.anomalies)
    assert anomaly.witness == (0, 1)
