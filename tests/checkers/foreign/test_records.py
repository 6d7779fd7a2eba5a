"""Operations of others: fields, turns, times; what does not fit is refused with its line and column."""

import pytest

from checkers.foreign.judging import judge_foreign
from checkers.history.reading import HistoryError
from checkers.verdict.verdict import Validity
from tests.checkers.foreign.texts import edn_of, foreign


def pairs(lines: str) -> list[tuple[int, int | None]]:
    return [(call.invoked, call.completed) for call in foreign(edn_of(lines)).calls]


def test_operations_are_paired_by_their_process() -> None:
    assert pairs(
        """0 invoke write 1
        1 invoke read nil
        0 ok write 1
        1 info read nil
        2 invoke read nil"""
    ) == [(0, 2), (1, 3), (4, None)]


def test_the_nemesis_is_known_whatever_it_is_called() -> None:
    history = foreign(
        edn_of(
            """nemesis info start nil
            0 invoke read nil
            clock info bump nil
            0 ok read nil
            -1 invoke start nil"""
        )
    )
    assert [record.f for record in history.records] == ["nemesis", "read", "nemesis", "read", "nemesis"]
    assert [(call.invoked, call.completed) for call in history.calls] == [(1, 3)]
    assert history.functions == {"read"}
    assert history.faults == 3


def test_clients_may_have_names() -> None:
    assert foreign(edn_of("a invoke read nil\na ok read 1")).records[0].process == "a"


def test_clients_have_no_names_of_our_own_processes() -> None:
    history = foreign(edn_of("runner invoke read nil\nobserver-1 invoke read nil"))
    assert [record.process for record in history.records] == ["client runner", "client observer-1"]


def test_without_processes_order_alone_pairs() -> None:
    text = "{:type :invoke, :value [[:r 1 nil]]}{:type :ok, :value [[:r 1 nil]]}"
    history = foreign(text * 2)
    assert [(call.invoked, call.completed) for call in history.calls] == [(0, 1), (2, 3)]
    assert len({record.process for record in history.records}) == 2
    assert {record.f for record in history.records} == {"txn"}


def test_all_that_was_recorded_is_kept() -> None:
    (record, _) = foreign(
        '{:process 7 :type :invoke :f ":poll" :time 5 :poll-ms 3}{:process 7 :type ":info" :f :poll}'
    ).records
    assert (record.f, record.time_ns, record.extra) == ("poll", 5, {"poll-ms": 3})
    assert foreign(edn_of("0 invoke read nil")).records[0].error is None
    text = '{:process 7 :type :invoke :f :a}\n {:process 7 :type :info :f :a :error [:a "b"]}'
    second = foreign(text).records[1]
    assert (second.error, second.line, second.column) == ('["a","b"]', 2, 2)


def test_indices_and_times_that_jepsen_did_not_give_are_none() -> None:
    unset = ":type {} :process 0 :f :read :index -1 :time -1"
    records = foreign(f"{{{unset.format(':invoke')}}} {{{unset.format(':ok')}}}").records
    assert [record.time_ns for record in records] == [None, None]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ("{nil 1, true 2, 1.5 3}", '{"1.5":3,"null":1,"true":2}'),
        ('{2 #{{:b [1]} {1 2}}, "a" nil, [1] 4}', '{"2":[{"1":2},{"b":[1]}],"[1]":4,"a":null}'),
    ],
)
def test_an_error_may_be_any_value(error: str, text: str) -> None:
    lines = edn_of("0 invoke read nil\n0 info read nil").replace(":info", f":info :error {error}")
    assert foreign(lines).records[1].error == text


@pytest.mark.parametrize(
    ("lines", "line", "problem"),
    [
        ("0 ok read 1", 1, "completes read without an invocation"),
        ("0 invoke read nil\n0 ok read 1\n0 ok read 1", 3, "completes read without an invocation"),
        ("0 invoke read nil\n1 ok read 1", 2, "completes read without an invocation"),
        ("0 invoke read nil\n0 invoke write 1", 2, "invokes write while read is outstanding"),
        ("0 invoke read nil\n0 ok write 1", 2, "completes write while read is outstanding"),
        (
            "0 invoke read nil\n0 info read nil\n0 invoke read nil",
            3,
            "after an operation with an unknown outcome",
        ),
        ("0 invoke read nil\n0 okay read nil", 2, 'type "okay" is unknown'),
        ("0 invoke read nil\n1.5 ok read nil", 2, "1.5 is not a process"),
        ("0 invoke read nil\ntrue ok read nil", 2, "completes read without an invocation"),
        ("nemesis info start nil", 1, "no operation of a client"),
    ],
)
def test_what_is_out_of_turn_is_refused(lines: str, line: int, problem: str) -> None:
    with pytest.raises(HistoryError) as refused:
        foreign(edn_of(lines))
    assert problem in refused.value.problem
    assert refused.value.place == f"history, line {line}, column 1"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1 2]", "this is not an operation"),
        ('{"krucible_history":1,"run":"9f2c61d0"}', "a journal of krucible's own"),
        ("{:process 0 :f :read}", "type null is unknown"),
        ("{:process 0 :type 7 :f :read}", "type 7 is unknown"),
        ("{:process 0 :type :invoke :f 7}", "f 7 is not a function"),
        ('{:process 0 :type :invoke :f ""}', 'f "" is not a function'),
        ('{:process "" :type :invoke :f :a}', '"" is not a process'),
        ("{:process false :type :invoke :f :a}", "false is not a process"),
        (f"{{:process [{'1 ' * 99}] :type :invoke}}", "1,1… is not a process"),
        ("{:type :invoke :f :a} {:process 0 :type :ok :f :a}", "some operations have a process"),
        (
            "{:process 0 :type :invoke :f :a :index 1}{:process 0 :type :ok :f :a :index 1}",
            "index 1 does not follow 1",
        ),
        ("{:process 0 :type :invoke :f :a :index -2}", "index -2 does not follow -1"),
        ('{:process 0 :type :invoke :f :a :index "1"}', "does not follow"),
        ("{:process 0 :type :invoke :f :a :index true}", "does not follow"),
        ("{:process 0 :type :invoke :f :a :time -5}", "-5 is not a time"),
        ("{:process 0 :type :invoke :f :a :time 1.5}", "1.5 is not a time"),
        ("{:process 0 :type :invoke :f :a :time true}", "true is not a time"),
        ("{:process 0 :type :invoke :f :a :time 4611686018427387905}", "is not a time"),
    ],
)
def test_fields_that_do_not_fit_are_refused(text: str, problem: str) -> None:
    with pytest.raises(HistoryError) as refused:
        foreign(text)
    assert problem in refused.value.problem
    assert refused.value.place.startswith("history, line 1, column ")


def timed(*times: tuple[str, int, int]) -> str:
    return "".join(f"{{:process {who} :type :{kind} :f :read :time {time}}}" for kind, who, time in times)


def test_times_may_go_back_a_little_as_jepsens_do() -> None:
    history = foreign(timed(("invoke", 0, 500), ("invoke", 1, 400), ("ok", 0, 900), ("invoke", 2, 800)))
    assert len(history.records) == 4


def test_an_operation_that_begins_long_before_what_is_recorded_before_it_ended_is_refused() -> None:
    with pytest.raises(HistoryError, match="time goes back"):
        foreign(timed(("invoke", 0, 0), ("ok", 0, 2_000_000_000), ("invoke", 1, 900_000_000)))


LATE = """{:process 0 :type :invoke :f :write :value 1 :index 0 :time 0}
{:process 0 :type :ok :f :write :value 1 :index 1 :time 5000000000}
{:process 1 :type :invoke :f :read :index 2 :time 900000000}
{:process 1 :type :ok :f :read :value READ :index 3 :time 1000000000}"""


def test_where_indices_tell_the_order_times_may_contradict_it_with_a_warning() -> None:
    history = foreign(LATE)
    assert [record.time_ns for record in history.records] == [0, 5 * 10**9, 9 * 10**8, 10**9]
    (warning,) = history.warnings
    assert warning == (
        "2 operations are recorded more than 1 s behind later ones, first: history, line 3, column "
        "1; the order of the file is used"
    )


def test_the_order_of_indices_is_what_is_judged() -> None:
    good, stale = (judge_foreign(foreign(LATE.replace("READ", value))) for value in ("1", "nil"))
    assert good.verdict.validity is Validity.VALID
    assert good.verdict.results[-1].figures["warnings"] == list(foreign(LATE).warnings)
    assert stale.verdict.validity is Validity.INVALID


def test_a_completion_recorded_late_needs_no_index() -> None:
    history = foreign(timed(("invoke", 0, 0), ("invoke", 1, 3_000_000_000), ("ok", 0, 1_000_000_000)))
    assert len(history.warnings) == 1
    assert foreign(timed(("invoke", 0, 0), ("ok", 0, 5))).warnings == ()
