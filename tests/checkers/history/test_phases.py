"""The phases of a run: the page of histories has the same ones; each begins where it is recorded first."""

import re
from pathlib import Path

from checkers.history.operations import History, Operation, OperationType
from checkers.history.phases import PHASE, Phase, phase_began_ns

PAGE = Path(__file__).parents[3] / "docs" / "histories.md"


def history_of(*phases: str) -> History:
    """A history with a phase in each millisecond."""
    operations = (
        Operation(index, index * 1_000_000, "runner", OperationType.OK, PHASE, phase)
        for index, phase in enumerate(phases)
    )
    return History(run="r", began_at="2026-11-20T21:56:57Z", operations=tuple(operations))


def test_the_page_of_histories_has_the_same_phases_in_the_same_order() -> None:
    table = PAGE.read_text().partition("| `key` | the phase begins |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE) == list(Phase)


def test_a_phase_begins_where_it_is_recorded_first() -> None:
    history = history_of("load", "heal", "load")
    assert phase_began_ns(history, Phase.LOAD) == 0
    assert phase_began_ns(history, Phase.HEAL) == 1_000_000


def test_a_phase_that_is_not_recorded_did_not_begin() -> None:
    assert phase_began_ns(history_of("load"), Phase.DONE) is None
