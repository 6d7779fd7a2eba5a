"""A hole in a log that was recovered after a loss of power explains what is missing, and permits nothing."""

from typing import Any

import pytest

from checkers.evidence.holes import recovered_holes
from checkers.logs.log import check_log
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import Anomaly, CheckerResult, Validity
from tests.checkers.admin_histories import AdminStory
from tests.checkers.evidence.hole_histories import HOLED, WHOLE, told

DIVERGED = "replica-divergence"
NAMED = (
    "findings/roll-before-power-loss of docs/findings.md leaves such a hole: recovery accepts it. "
    "Another defect could leave it too."
)
CITED = (
    "n1 lacks offsets 1 to 2 of log-0/0, and has a segment that begins at 3. It lost power before (f1). "
    "Line 9 of n1's log, at then, says that it loaded this log up to offset 3."
)


def holes(story: AdminStory) -> list[tuple[str, int, int]]:
    return [(hole.log.node, hole.first, hole.end) for hole in recovered_holes(story.history())]


def test_a_hole_before_a_segment_of_a_log_that_was_recovered() -> None:
    (hole,) = recovered_holes(told().history())
    assert (hole.log.node, hole.first, hole.end, hole.faults) == ("n1", 1, 3, ("f1",))
    assert hole.explanation == (CITED, NAMED)


def test_a_hole_at_the_start_of_the_log() -> None:
    assert holes(told(held=WHOLE[2:], segments=(0, 2), loaded=6)) == [("n1", 0, 2)]
    (hole,) = recovered_holes(told(held=[WHOLE[0], *WHOLE[2:]], segments=(0, 2)).history())
    assert hole.explanation[0].startswith("n1 lacks offset 1 of log-0/0, and has a segment that begins at 2.")


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"fault": None}, id="no fault"),
        pytest.param({"fault": "kill"}, id="a fault that loses nothing"),
        pytest.param({"hit": "n2"}, id="another node lost power"),
        pytest.param({"loaded": None}, id="nothing was loaded"),
        pytest.param({"loaded": 1}, id="the log that was loaded ended at the hole"),
        pytest.param({"segments": None}, id="the segments are not known"),
        pytest.param({"segments": (0, 1, 2, 4)}, id="the hole ends within a segment"),
        pytest.param({"segments": (3,)}, id="no segment begins before the hole"),
        pytest.param({"held": WHOLE[2:], "log_start": 2}, id="the log begins there"),
        pytest.param({"held": WHOLE[:4]}, id="only the end is missing"),
        pytest.param({"config": {"log.cleanup.policy": "compact"}}, id="compaction leaves holes"),
    ],
)
def test_what_is_no_such_hole(given: dict[str, Any]) -> None:
    assert holes(told(**given)) == []


def found(result: CheckerResult, name: str) -> Anomaly:
    """The first anomaly of this name, which is illegal."""
    one = next(anomaly for anomaly in result.anomalies if anomaly.id == name)
    assert one.illegal
    assert result.validity is Validity.INVALID
    return one


def test_it_explains_lost_writes_if_the_last_leader_has_it() -> None:
    lost = found(check_log(told().history()), "lost-write")
    assert lost.explanation[-2:] == (CITED, NAMED)
    assert lost.licence is None


def test_it_explains_no_lost_write_if_another_broker_leads() -> None:
    assert NAMED not in found(check_log(told(leader=2).history()), "lost-write").explanation


@pytest.mark.parametrize("leader", [1, 2])
@pytest.mark.parametrize("name", [DIVERGED, "sequence-gap"])
def test_it_explains_what_is_found_in_that_log(name: str, leader: int) -> None:
    result = check_replicas(told(leader=leader).history())
    assert found(result, name).explanation[-2:] == (CITED, NAMED)
    assert NAMED not in found(check_replicas(told(fault="kill").history()), name).explanation


def test_it_explains_no_difference_at_another_offset() -> None:
    held = [WHOLE[0]._replace(crc=9), *HOLED[1:]]
    divergence = found(check_replicas(told(held=held).history()), DIVERGED)
    assert divergence.subject == "log-0/0@0"
    assert NAMED not in divergence.explanation


def test_without_a_hole_a_lost_write_stays_as_it_is() -> None:
    assert NAMED not in found(check_log(told(fault="kill").history()), "lost-write").explanation
