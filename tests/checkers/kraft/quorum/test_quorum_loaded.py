"""Where voters' metadata logs ended when they were loaded, and what leaders had reported that they had."""

from collections.abc import Callable

import msgspec
import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.kraft.quorum import check_quorum
from checkers.verdict.verdict import Anomaly

Story = Callable[..., History]
TOLD = "1 c1 leads 2 hw=9 end=9 c2=0.9@9 c3=0.9@7\n"


def loading(
    history: History, node: str, end: int, *, at_s: int = 9, topic: str = "__cluster_metadata"
) -> History:
    """The history, in which a node loads a log at some second."""
    value = {
        "line": 5,
        "at": f"2023-11-14T22:13:{20 + at_s}.000Z",
        "topic": topic,
        "partition": 0,
        "end": end,
    }
    last = history.operations[-1]
    added = Operation(
        last.index + 1, last.time_ns, "runner", OperationType.OK, "observe", "loaded", value, node=node
    )
    return msgspec.structs.replace(history, operations=(*history.operations, added))


def found(history: History) -> list[Anomaly]:
    return [each for each in check_quorum(history).anomalies if each.id == "voter-end-regression"]


@pytest.mark.parametrize(
    ("node", "end", "lost"),
    [("c2", 9, False), ("c2", 8, True), ("c3", 7, False), ("c3", 6, True), ("c1", 8, True)],
)
def test_what_its_leader_had_reported_that_it_has(story: Story, node: str, end: int, *, lost: bool) -> None:
    assert bool(found(loading(story(TOLD), node, end))) is lost


def test_what_shows_it(story: Story) -> None:
    (anomaly,) = found(loading(story(TOLD), "c2", 8))
    assert (
        anomaly.summary
        == "The log of voter 2 ended at 8 when c2 loaded it, but had had committed records up "
        "to 9 in epoch 2."
    )
    assert len(anomaly.witness) == 2


def test_what_was_not_committed_may_go(story: Story) -> None:
    assert found(loading(story(TOLD.replace("hw=9", "hw=5")), "c2", 5)) == []


def test_what_may_have_been_reported_later_and_other_logs_and_nodes_say_nothing(story: Story) -> None:
    assert found(loading(story(TOLD), "c2", 0, at_s=2)) == []
    assert found(loading(story(TOLD), "c2", 0, topic="log-0")) == []
    assert found(loading(story(TOLD), "b7", 0)) == []


@pytest.mark.parametrize(
    ("fault", "node", "lost"),
    [
        ("kill c2", "c2", True),
        ("power-loss c2", "c2", True),  # it had flushed before it fetched on
        ("power-loss c1", "c1", False),  # the leader counts before it flushes
        ("dead-disk c2", "c2", False),
        ("wipe-disk c2", "c2", False),
        ("dead-disk c3", "c2", True),
    ],
)
def test_faults_of_its_disk(story: Story, fault: str, node: str, *, lost: bool) -> None:
    history = story(f"{TOLD}3 f1 {fault} ok\n5 f1 heal ok\n")
    assert bool([each for each in found(loading(history, node, 4)) if each.illegal]) is lost


def test_where_most_disks_were_emptied_it_may_be_undone(story: Story) -> None:
    history = story(f"{TOLD}3 f1 wipe-disk c1 c3 ok\n5 f1 heal ok\n")
    (anomaly,) = found(loading(history, "c2", 4))
    assert not anomaly.illegal
