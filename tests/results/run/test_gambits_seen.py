"""Gambits stand in the report: with whom each was played, how far it came, and why it ended."""

import pytest

from checkers.history.operations import History, Operation, OperationType
from results.report.page import render_report
from results.report.size_limits import STEPS
from results.report.tables.gambits import gambit_rows
from results.run.gambits import GambitSeen
from results.run.observation import observe
from tests.results.story import S, build

OK, INFO, FAIL, INVOKE = (OperationType(name) for name in ("ok", "info", "fail", "invoke"))


def history_of(*operations: tuple[int, OperationType, str, str, object, str | None]) -> History:
    return History(
        "abc",
        "",
        tuple(
            Operation(index, time_ns, "gambits", kind, f, key, value, error)
            for index, (time_ns, kind, f, key, value, error) in enumerate(operations)
        ),
    )


def ended(made: int) -> dict[str, object]:
    return {"kind": "all-copies", "planned": 5, "made": made, "faults": ["g1f1"]}


HISTORY = history_of(
    (3 * S, INVOKE, "choose", "g1", {}, None),
    (4 * S, OK, "choose", "g1", {"parts": {"leader": "b1"}, "where": ["log-0", 3]}, None),
    (5 * S, INVOKE, "choose", "g1", {}, None),
    (5 * S, OK, "choose", "g1", {"parts": {"controller": "c2"}, "where": None}, None),
    (9 * S, INVOKE, "gambit", "g1", {"kind": "all-copies"}, None),
    (9 * S, OK, "gambit", "g1", ended(5), None),
    (10 * S, INVOKE, "choose", "g2", {}, None),
    (11 * S, INFO, "choose", "g2", {}, "nothing fits"),
    (12 * S, INFO, "gambit", "g2", ended(0), "move 1, choose-copies: nothing fits"),
    (13 * S, FAIL, "gambit", "g3", ended(0), "the schedule is over"),
    (14 * S, INVOKE, "choose", "g4", {}, None),
)


def test_with_whom_and_how_far() -> None:
    first, second, third, fourth = observe(HISTORY).gambits
    assert first == GambitSeen(
        id="g1",
        kind="all-copies",
        invoked_ns=3 * S,
        parts={"leader": "b1", "controller": "c2"},
        where="log-0/3",
        outcome="ok",
        planned=5,
        made=5,
    )
    assert (second.outcome, second.error) == ("info", "move 1, choose-copies: nothing fits")
    assert (third.outcome, third.invoked_ns) == ("fail", None)
    assert (fourth.outcome, fourth.kind) == ("", "")


def test_what_has_another_shape_is_left_out() -> None:
    odd = observe(
        history_of((1, OK, "choose", "g1", {"parts": 3}, None), (2, OK, "gambit", "g1", None, None))
    )
    assert odd.misfits == 2


def test_rows_of_the_report() -> None:
    rows = gambit_rows(observe(HISTORY), STEPS[0])
    assert [(row.id, row.outcome, row.played, row.moves) for row in rows] == [
        ("g1", "played", True, "5 of 5"),
        ("g2", "ended early", False, "0 of 5"),
        ("g3", "not begun", False, "0 of 5"),
        ("g4", "cut short", False, "0 of 0"),
    ]
    assert rows[0].parts == "log-0/3: b1 is leader, c2 is controller"
    assert rows[2].begun == ""


@pytest.mark.parametrize("there", [True, False])
def test_the_page_has_the_table_where_there_are_gambits(*, there: bool) -> None:
    run = build(red=False)
    operations = (*run.history.operations, *(HISTORY.operations if there else ()))
    page = render_report(History("abc", "", operations), run.verdict, run.identity)
    assert ("<h3>Gambits</h3>" in page) is there
    assert ("move 1, choose-copies: nothing fits" in page) is there
