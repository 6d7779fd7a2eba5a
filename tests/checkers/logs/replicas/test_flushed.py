"""Recovery points on disks that lost power, and where the logs end that are left there."""

from collections import Counter
from collections.abc import Sequence

import pytest

from checkers.history.operations import OperationType
from checkers.logs.replicas.flushed import find_flushed_lost
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import Anomaly
from tests.checkers.admin_histories import AdminStory

Row = tuple[str, int, int, int]


def judged(*flushed: Row, kind: str = "power-loss") -> tuple[list[Anomaly], int]:
    """What is found where n2 lost power, and how many recovery points were read."""
    return found_in(story_of(flushed, kind))


def story_of(flushed: Sequence[Row] | None, kind: str = "power-loss") -> AdminStory:
    """The story of a node that lost power."""
    story = AdminStory()
    story.created()
    story.fault(10_000, 15_000, kind, "n2", flushed=flushed)
    return story


def found_in(story: AdminStory) -> tuple[list[Anomaly], int]:
    """What is found in a story, and how many recovery points were read."""
    figures: Counter[str] = Counter()
    found = list(find_flushed_lost(story.history(), figures))
    return found, figures["recovery_points"]


def test_a_log_that_ends_below_its_recovery_point_has_lost_what_was_flushed() -> None:
    (one,), read = judged(("log-0", 0, 12, 12), ("log-0", 1, 12, 11))
    assert (one.id, one.illegal, one.subject, read) == ("flushed-lost", True, "log-0/1@11", 2)
    assert one.summary == (
        "log-0/1 on n2: after a loss of power the log ends at 11, below its recovery point 12"
    )
    assert one.explanation[0] == "f1: n2 lost power, and what was not synced."


@pytest.mark.parametrize("end", [12, 13, 500])
def test_a_log_that_reaches_its_recovery_point_has_lost_nothing_that_was_flushed(end: int) -> None:
    assert judged(("log-0", 1, 12, end)) == ([], 1)


def test_each_loss_of_power_is_judged() -> None:
    story = story_of([("log-0", 0, 12, 11)])
    story.fault(20_000, 25_000, "power-loss", "n3", flushed=[("log-0", 0, 30, 29)])
    found, read = found_in(story)
    assert [one.subject for one in found] == ["log-0/0@11", "log-0/0@29"]
    assert read == 2


@pytest.mark.parametrize("kind", ["kill", "power-loss"])
def test_faults_whose_probes_read_no_recovery_points_are_passed_over(kind: str) -> None:
    assert found_in(story_of(None, kind)) == ([], 0)


def test_a_loss_of_power_that_was_not_confirmed_is_passed_over() -> None:
    story = AdminStory()
    story.created()
    story.add(10_000, "nemesis", OperationType.INVOKE, "inject", key="f1", value={"kind": "power-loss"})
    story.add(11_000, "nemesis", OperationType.INFO, "inject", key="f1", value={"kind": "power-loss"})
    assert found_in(story) == ([], 0)


def test_the_checker_of_replicas_judges_them() -> None:
    result = check_replicas(story_of([("log-0", 0, 12, 11)]).history())
    assert result.counts == {"flushed-lost": 1}
    assert result.figures["recovery_points"] == 1
