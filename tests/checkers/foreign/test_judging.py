"""Which checker judges what, and what is asked for against what fits."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.foreign.judging import JudgingOptions, UnfitError, judge_foreign
from checkers.foreign.workloads import ForeignWorkload, workload_of
from checkers.history.reading import HistoryError
from checkers.transactional.transactions import Declared
from checkers.verdict.verdict import Validity
from tests.checkers.foreign.texts import counts, edn_of, foreign, judged

REGISTER = "0 invoke write 1\n0 ok write 1\n1 invoke read nil\n1 ok read {}"
CAS = "0 invoke cas [0 1]\n0 ok cas [0 1]\n1 invoke read nil\n1 ok read {}"
MUTEX = "0 invoke acquire nil\n0 ok acquire nil\n1 invoke {0} nil\n1 ok {0} nil"
SET = "0 invoke add 1\n0 ok add 1\n1 invoke read nil\n1 ok read #{{{}}}"
QUEUE = "0 invoke enqueue 1\n0 ok enqueue 1\n1 invoke dequeue nil\n1 ok dequeue {}"
APPEND = """0 invoke txn [[:append 1 1]]
0 ok txn [[:append 1 1]]
1 invoke txn [[:r 1 nil]]
1 ok txn [[:r 1 [{}]]]"""
MULTI = """0 invoke txn [[:write :x 1]]
0 ok txn [[:write :x 1]]
1 invoke txn [[:read :x nil]]
1 ok txn [[:read :x {}]]"""
RW = """0 invoke txn [[:w :x 1]]
0 ok txn [[:w :x 1]]
1 invoke txn [[:r :x nil]]
1 ok txn [[:r :x {}]]"""

PRELOADED = """0 invoke txn [[:r :x nil] [:w :x 1]]
0 ok txn [[:r :x 7] [:w :x 1]]
1 invoke txn [[:r :x nil]]
1 ok txn [[:r :x {}]]"""
SEQUENTIAL = Declared(sequential=True)


def checkers(lines: str, **asked: Any) -> list[str]:
    return [result.checker for result in judged(lines, **asked).verdict.results]


@pytest.mark.parametrize(
    ("lines", "values", "asked", "workload", "checker"),
    [
        (REGISTER, ("1", "2"), {}, "register", "registers"),
        (REGISTER, ("nil", "0"), {"initial": 0}, "register", "linearizability"),
        (CAS, ("1", "0"), {"initial": 0}, "cas-register", "linearizability"),
        (CAS, ("1", "0"), {"initial": 0, "model": "cas-register"}, "cas-register", "linearizability"),
        (MUTEX, ("release", "acquire"), {}, "mutex", "linearizability"),
        (SET, ("1", "2"), {"workload": "set"}, "set", "linearizability"),
        (QUEUE, ("1", "2"), {}, "fifo-queue", "linearizability"),
        (MULTI, ("1", "2"), {}, "multi-register", "linearizability"),
        (MULTI, ("nil", "0"), {"initial": {"x": 0}}, "multi-register", "linearizability"),
        (RW, ("1", "2"), {}, "rw-register", "rw-register"),
        (MULTI, ("1", "2"), {"model": "serializable"}, "multi-register", "rw-register"),
        (MULTI, ("1", "0"), {"initial": 0}, "multi-register", "linearizability"),
        (MULTI, ("1", "0"), {"initial": 0, "model": "strict-serializable"}, "multi-register", "rw-register"),
        (RW, ("1", "0"), {"initial": 0}, "rw-register", "rw-register"),
        (RW, ("1", "0"), {"initial": {"x": 0}, "declared": SEQUENTIAL}, "rw-register", "rw-register"),
        (APPEND, ("1", "2"), {}, "list-append", "list-append"),
        (APPEND, ("", "1 1"), {"model": "serializable"}, "list-append", "list-append"),
    ],
)
def test_each_workload_has_its_checker(
    lines: str, values: tuple[str, str], asked: dict[str, Any], workload: str, checker: str
) -> None:
    good, bad = values
    assert workload_of(foreign(edn_of(lines.format(good)))) == workload
    assert checkers(lines.format(good), **asked) == [checker, "reading"]
    assert judged(lines.format(good), **asked).verdict.validity is Validity.VALID
    assert judged(lines.format(bad), **asked).verdict.validity is Validity.INVALID


@pytest.mark.parametrize(
    ("lines", "workload"),
    [
        ("0 invoke read nil\n0 ok read 1", ForeignWorkload.REGISTER),
        ("0 invoke add 1\n0 ok add 1", ForeignWorkload.SET),
        ("0 invoke release nil", ForeignWorkload.MUTEX),
        ("0 invoke txn [[:w 1 1] [:r 2 nil]]\n0 ok txn [[:w 1 1] [:r 2 nil]]", ForeignWorkload.RW_REGISTER),
        ("0 invoke txn [[:r 2 nil]]\n0 ok txn [[:r 2 nil]]", ForeignWorkload.LIST_APPEND),
        ("0 invoke txn [[:r 2 nil]]\n0 ok txn [[:r 2 [1]]]", ForeignWorkload.LIST_APPEND),
        ("0 invoke txn [[:r 2 nil]]\n0 ok txn [[:r 2 5]]", ForeignWorkload.RW_REGISTER),
        ("0 invoke append [[:append 2 1]]", ForeignWorkload.LIST_APPEND),
        ("0 invoke poll [[:poll]]", ForeignWorkload.KAFKA),
        ("0 invoke txn [[:poll] [:send 1 2]]", ForeignWorkload.KAFKA),
        ("0 invoke subscribe [1]", ForeignWorkload.KAFKA),
    ],
)
def test_the_workload_is_recognized_by_what_was_done(lines: str, workload: ForeignWorkload) -> None:
    assert workload_of(foreign(edn_of(lines))) is workload


@pytest.mark.parametrize(
    "lines",
    [
        "0 invoke transfer 5",
        "0 invoke txn [[:inc 1 1]]",
        "0 invoke txn []",
        "0 invoke read nil\n1 invoke acquire nil",
    ],
)
def test_what_fits_no_workload_is_refused(lines: str) -> None:
    with pytest.raises(HistoryError, match="no workload has the operations"):
        judged(lines)


@pytest.mark.parametrize(
    ("lines", "asked", "problem"),
    [
        (REGISTER, {"model": "serializable"}, "serializable is not a model of register"),
        (REGISTER, {"model": "nonsense"}, "nonsense is not a model of register"),
        (REGISTER, {"workload": "nonsense"}, "nonsense is not a workload"),
        (REGISTER, {"workload": "cas-register", "model": "mutex"}, "mutex is not a model of cas-register"),
        (APPEND, {"model": "nonsense"}, "nonsense is not a model of list-append"),
        (APPEND, {"initial": 0}, "has no initial value"),
        (RW.format(1), {"initial": {"y": 0}}, "initial values of 'y', which no operation"),
        (APPEND, {"declared": SEQUENTIAL}, "list-append has no keys whose order can be declared"),
        (MULTI.format(1), {"declared": SEQUENTIAL}, "multi-register has no keys whose order"),
        ("0 invoke poll [[:poll]]", {"initial": 0}, "has no initial value"),
        ("0 invoke poll [[:poll]]", {"model": "serializable"}, "is not a model of kafka"),
        (MUTEX.format("release"), {"initial": 7}, "a mutex begins"),
        (SET.format(1), {"workload": "register"}, "register has no operation add"),
        (REGISTER.format(1), {"model": "mutex"}, "mutex has no operation read, write"),
        (REGISTER.format(1), {"workload": "kafka"}, "kafka has no operation read, write"),
        (MULTI.format(1), {"initial": {"y": 0, "z": 0}}, "initial values of 'y', 'z', which no operation"),
        (MULTI.format(1).replace(":x", "0"), {"initial": {"0": 5}}, "initial values of '0', which no"),
    ],
)
def test_what_does_not_fit_together_is_refused(lines: str, asked: dict[str, Any], problem: str) -> None:
    with pytest.raises(UnfitError, match=problem) as refused:
        judged(lines, **asked)
    assert refused.value.expected


@pytest.mark.parametrize(
    ("lines", "validity"),
    [
        ("0 invoke append [[:append 1 1]]", Validity.UNKNOWN),
        ("0 invoke txn [[:w 1 1]]\n0 info txn [[:w 1 1]]", Validity.UNKNOWN),
        ("0 invoke send [[:send 1 1]]\n0 fail send [[:send 1 1]]", Validity.UNKNOWN),
        ("0 invoke write 1\n0 info write 1\nnemesis info start nil", Validity.VALID),
    ],
)
def test_where_nothing_succeeded_an_object_alone_is_valid(lines: str, validity: Validity) -> None:
    judgement = judged(lines)
    assert judgement.verdict.validity is validity
    assert judgement.verdict.results[-1].figures["succeeded"] == 0


@pytest.mark.parametrize("initial", [7, {"x": 7}])
@pytest.mark.parametrize("model", [None, "snapshot-isolation", "strict-serializable"])
def test_registers_of_transactions_may_be_preloaded(initial: Any, model: str | None) -> None:
    for lines in (PRELOADED, PRELOADED.replace(":r ", ":read ").replace(":w ", ":write ")):
        asked = {"initial": initial, "model": model}
        assert judged(lines.format(1), **asked).verdict.validity is Validity.VALID
        stale = judged(lines.format(7), **asked).verdict.validity
        assert stale is (Validity.VALID if model == "snapshot-isolation" else Validity.INVALID)
        assert judged(lines.format(8), **asked).verdict.validity is Validity.INVALID
        assert judged(lines.format(1), model=model).verdict.validity is Validity.INVALID


def test_pairs_of_an_element_and_whether_it_is_there_are_no_keys() -> None:
    asked = "0 invoke contains [1 nil]\n0 ok contains [1 false]\n0 invoke contains [2 nil]"
    assert judged(asked).verdict.validity is Validity.VALID
    assert judged(f"{asked}\n0 ok contains [2 true]").verdict.validity is Validity.INVALID
    keyed = "0 invoke contains [:k [1 nil]]\n0 ok contains [:k [1 {}]]\n1 invoke contains [:k [1 nil]]"
    assert judged(keyed.format("false")).verdict.validity is Validity.VALID
    assert judged(keyed.format("true")).history.operations[0].key == "k"


@pytest.mark.parametrize("workload", ["list-append", "rw-register", "multi-register"])
def test_transactions_are_lists_of_micro_operations(workload: str) -> None:
    with pytest.raises(HistoryError, match="not a list of micro-operations"):
        judged("nemesis info start nil\n0 invoke read nil\n0 ok read 1", workload=workload)


def test_independent_keys_are_judged_apart() -> None:
    lines = """0 invoke cas [1 [0 5]]
    1 invoke read [2 nil]
    0 ok cas [1 [0 5]]
    1 ok read [2 0]
    0 invoke write [2 7]
    0 info write :timeout
    1 invoke read [1 nil]
    1 ok read [1 {}]"""
    judgement = judged(lines.format(5), initial=0)
    assert [o.key for o in judgement.history.operations] == [1, 2, 1, 2, 2, 2, 1, 1]
    assert judgement.verdict.validity is Validity.VALID
    assert judged(lines.format(0), initial=0).verdict.validity is Validity.INVALID


@pytest.mark.parametrize(
    "lines", ["0 invoke write 5\n0 ok write 7", "0 invoke cas [[1 2] [3 4]]\n0 ok cas [[1 2] [3 5]]"]
)
def test_what_was_written_is_reported_alike(lines: str) -> None:
    with pytest.raises(HistoryError, match="with another value"):
        judged(lines)
    unread_write = judged("0 invoke write 5\n0 ok write nil\n1 invoke read nil\n1 ok read 5")
    assert unread_write.verdict.validity is Validity.VALID


@pytest.mark.parametrize("answer", ["[2 5]", "5", "nil"])
def test_an_answer_for_another_key_is_refused(answer: str) -> None:
    with pytest.raises(HistoryError, match="with another key"):
        judged(f"0 invoke write [1 5]\n0 ok write [1 5]\n1 invoke read [1 nil]\n1 ok read {answer}")


def test_the_reason_of_an_unknown_outcome_is_no_value() -> None:
    history = judged("0 invoke write 5\n0 info write :timed-out\n1 invoke read nil\n1 ok read 5").history
    assert [o.value for o in history.operations] == [5, 5, None, 5]


def test_times_increase_in_the_order_of_the_operations() -> None:
    text = """{:process 0 :type :invoke :f :read :time 50} {:process 1 :type :invoke :f :read :time 40}
    {:process 0 :type :ok :f :read} {:process 1 :type :ok :f :read :time 90}"""
    assert [o.time_ns for o in judge_foreign(foreign(text)).history.operations] == [50, 51, 52, 90]


def test_what_was_cut_off_makes_it_unknown_unless_it_is_invalid_already() -> None:
    text = (
        '{"process":0,"type":"invoke","f":"read"}\n{"process":0,"type":"ok","f":"read","value":null}\n{"pro'
    )
    verdict = judge_foreign(foreign(text)).verdict
    assert verdict.validity is Validity.UNKNOWN
    assert "cut short" in verdict.reasons[-1]
    assert verdict.expected is None
    bad = judge_foreign(foreign(text.replace("null", "7"))).verdict
    assert bad.validity is Validity.INVALID


def test_the_reading_reports_what_was_read() -> None:
    result = judged('0 invoke send [[:send "a" 1]]\nnemesis info start nil').verdict.results[-1]
    assert result.figures == {
        "workload": "kafka",
        "operations": 1,
        "succeeded": 0,
        "without_completion": 1,
        "of_the_nemesis": 1,
        "keys": {"partition 0": "a"},
    }
    assert counts(judged(REGISTER.format(1))) == {}


def test_a_checker_that_cannot_read_a_value_answers_unknown() -> None:
    verdict = judged("0 invoke cas 5\n0 ok cas 5").verdict
    assert verdict.validity is Validity.UNKNOWN
    assert (
        judge_foreign(foreign(edn_of(REGISTER.format(1))), JudgingOptions()).verdict.validity
        is Validity.VALID
    )


WHOLE = [
    edn_of(lines)
    for lines in (
        REGISTER.format(1),
        CAS.format(1),
        MUTEX.format("release"),
        SET.format(1),
        QUEUE.format(1),
        APPEND.format(1),
        MULTI.format(1),
        RW.format(1),
        """1 invoke assign [1]
        1 ok assign [1]
        0 invoke txn [[:send 1 10] [:poll]]
        0 ok txn [[:send 1 [0 10]] [:poll {2 [[0 20]]}]]
        1 invoke poll [[:poll]]
        1 ok poll [[:poll {1 [[0 10]]}]]""",
    )
]


@settings(max_examples=300)
@given(st.sampled_from(WHOLE), st.data())
def test_whatever_is_done_to_a_history_it_is_judged_or_refused_and_no_checker_stumbles(
    text: str, data: st.DataObject
) -> None:
    begin = data.draw(st.integers(0, len(text)))
    end = begin + data.draw(st.integers(0, 12))
    other = data.draw(
        st.sampled_from(["", "nil", "1", " 7 ", "[]", "[1 2]", "{}", ":x", "true", "-1", text[begin:end] * 2])
    )
    try:
        verdict = judge_foreign(foreign(text[:begin] + other + text[end:])).verdict
    except HistoryError:
        return
    assert not [reason for reason in verdict.reasons if "the checker raised" in reason]
