"""What is assumed of blinks: enough are proven, all are healed, none stands for a fault that was planned."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from checkers.evidence.faults import fault_windows
from checkers.history.journals import missing_journals
from checkers.history.operations import History, Operation
from checkers.runs.assumptions import check_assumptions
from checkers.verdict.verdict import CheckerResult

Story = Callable[..., History]

BEFORE = "2 send log-0/0 x100 ok\n"
AFTER = "30 send log-0/0 x100 ok\n31 phase done\n"
ALONE = "5 f1 kill c1 ok\n6 send log-0/0 x20 info\n11 f1 heal ok\n"


def blink(number: int, kind: str = "ok", healed: str = "ok") -> str:
    """A blink of 200 ms."""
    at_s = 12 + number / 2
    if kind == "fail":
        return f"{at_s} f{90 + number} pause c2 fail\n"
    return f"{at_s} f{90 + number} pause c2 {kind}\n{at_s + 0.2} f{90 + number} heal {healed}\n"


def history_and_assumptions(
    text: str, story: Story, **setup: int
) -> tuple[History, dict[str, tuple[bool, str]]]:
    history = as_blinks(story(BEFORE + text + AFTER, setup={"planned_faults": 0} | setup))
    return history, by_name(check_assumptions(history))


def as_blinks(history: History) -> History:
    """The history, with the faults from f90 on as blinks."""
    return msgspec.structs.replace(history, operations=tuple(map(_as_blink, history.operations)))


def _as_blink(operation: Operation) -> Operation:
    if operation.f not in {"inject", "heal"} or not str(operation.key).startswith("f9"):
        return operation
    refused: dict[str, Any] = {"refused": "held"} if operation.type == "fail" else {}
    return msgspec.structs.replace(operation, value=operation.value | {"blink": True} | refused)


def by_name(result: CheckerResult) -> dict[str, tuple[bool, str]]:
    return {one.name: (one.met, one.observed) for one in result.assumptions}


def test_blinks_count_by_their_probes_however_short(story: Story) -> None:
    history, found = history_and_assumptions(blink(1) + blink(2), story, planned_blinks=2)
    assert all(met for met, _ in found.values()), found
    assert found["blinks-proven"] == (True, "2 proven")
    assert not {"fault-held", "invoked-during"} & found.keys()
    assert [(w.blink, w.alone, w.gambit) for w in fault_windows(history)] == [(True, False, None)] * 2
    assert check_assumptions(history).figures["blinks"] == 2
    assert missing_journals(history) == frozenset()


def test_they_are_none_of_the_faults_that_were_planned(story: Story) -> None:
    history, found = history_and_assumptions(
        blink(1) + blink(2, "fail"), story, planned_faults=1, planned_blinks=2
    )
    assert found["faults-injected"] == (False, "0 proven faults")
    assert missing_journals(history) == {"nemesis"}
    history, found = history_and_assumptions(ALONE + blink(1), story, planned_faults=1, planned_blinks=1)
    assert all(met for met, _ in found.values()), found
    assert found["fault-held"] == (True, "lowest: 5900 ms (f1), of 1 fault")
    assert missing_journals(history) == frozenset()


def test_one_that_was_not_proven_is_no_reason_for_unknown_and_one_that_was_not_healed_is(
    story: Story,
) -> None:
    _, found = history_and_assumptions(blink(1) + blink(2, "info"), story, planned_blinks=2)
    assert all(met for met, _ in found.values()), found
    assert found["blinks-proven"] == (True, "1 proven")
    _, found = history_and_assumptions(blink(1) + blink(2, healed="info"), story, planned_blinks=2)
    assert [name for name, (met, _) in found.items() if not met] == ["fault-healed", "acked-after"]


@pytest.mark.parametrize(
    ("proven", "refused", "planned", "met"),
    [
        (0, 0, 1, False),
        (0, 1, 1, False),
        (1, 3, 4, True),
        (1, 5, 6, False),
        (2, 6, 8, True),
        (1, 9, 10, False),
    ],
)
def test_a_quarter_of_them_is_proven(
    story: Story, proven: int, refused: int, planned: int, *, met: bool
) -> None:
    text = "".join(blink(n) for n in range(proven)) + "".join(
        blink(n, "fail") for n in range(proven, proven + refused)
    )
    _, found = history_and_assumptions(text, story, planned_blinks=planned)
    assert found["blinks-proven"] == (
        met,
        f"{proven} proven" + (f"; {refused} refused: held" if refused else ""),
    )


def test_one_that_lacks_is_missed(story: Story) -> None:
    history, _ = history_and_assumptions(blink(1), story, planned_blinks=2)
    assert missing_journals(history) == {"nemesis"}


def test_nothing_is_assumed_of_runs_without(story: Story) -> None:
    history, found = history_and_assumptions(ALONE, story, planned_faults=1)
    assert "blinks-proven" not in found
    assert "blinks" not in check_assumptions(history).figures
