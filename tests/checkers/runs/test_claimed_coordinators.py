"""One broker coordinates a group, or a transactional id: two that tell so for long are found."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.runs.recovery import check_recovery
from tests.checkers.conftest import ns

Story = Callable[..., History]

RECOVERED = "30 recover ok 900/60000 log-0/0:1:1,2:acked log-0/1:2:2,1:acked\n"
Answer = tuple[float, str, Sequence[str] | None, Sequence[str] | None]


def found(story: Story, *answers: Answer, recovered: str = RECOVERED) -> list[Any]:
    history = story(recovered)
    first = len(history.operations)
    seen = [
        Operation(
            first + place,
            ns(at_s),
            "runner",
            OperationType.OK,
            "observe",
            "coordinators",
            {"began_ns": ns(at_s - 0.1), "groups": groups, "transactional_ids": ids},
            node=node,
        )
        for place, (at_s, node, groups, ids) in enumerate(answers)
    ]
    result = check_recovery(msgspec.structs.replace(history, operations=(*history.operations, *seen)))
    return [each for each in result.anomalies if each.id == "two-coordinators"]


def each_second(node: str, groups: Sequence[str], ids: Sequence[str] = (), *, last: int = 52) -> list[Answer]:
    return [(at_s, node, groups, ids) for at_s in range(40, last)]


def test_two_that_tell_it_for_long(story: Story) -> None:
    (anomaly,) = found(story, *each_second("b1", ["g", "h"]), *each_second("b2", ["g"]))
    assert anomaly.summary == "b1 and b2 answered as coordinator of group g"
    assert anomaly.explanation[0] == "b1 gave this answer from 40.000 s to 50.900 s."
    assert len(anomaly.witness) == 4


def test_transactional_ids_too(story: Story) -> None:
    (anomaly,) = found(story, *each_second("b1", ["t"], ["t"]), *each_second("b2", [], ["t"]))
    assert anomaly.subject == "transactional id t"


BOTH = [*each_second("b1", ["g"]), *each_second("b2", ["g"])]


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(each_second("b1", ["g"]), id="one alone"),
        pytest.param([*each_second("b1", ["g"]), *each_second("b2", ["h"])], id="one each"),
        pytest.param([*each_second("b1", ["g"]), *each_second("b2", ["g"], last=51)], id="not for long"),
        pytest.param([*BOTH, (52, "b2", [], [])], id="let go of at last"),
        pytest.param(
            [
                *each_second("b1", ["g"]),
                *each_second("b2", ["g"]),
                (52, "b2", None, None),
                (53, "b2", ["g"], []),
            ],
            id="interrupted",
        ),
    ],
)
def test_what_is_no_second_coordinator(story: Story, answers: list[Answer]) -> None:
    assert found(story, *answers) == []


@pytest.mark.parametrize("recovered", ["", RECOVERED.replace("ok", "info")])
def test_without_a_recovery_nothing_is_reported(story: Story, recovered: str) -> None:
    assert found(story, *each_second("b1", ["g"]), *each_second("b2", ["g"]), recovered=recovered) == []
