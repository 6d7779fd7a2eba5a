"""When a leader is undisputed: far from faults, and from changes of that partition's leader."""

import numpy as np
import pytest

from checkers.columns.tables import PartitionName
from checkers.history.operations import OK
from checkers.share_groups.calm import Calm
from tests.checkers.admin_histories import TOPIC, AdminStory

HERE = PartitionName(TOPIC, 0)
SPANS_MS = [(100, 200), (9_000, 9_900), (10_500, 10_600), (40_000, 41_000)]


def calm(story: AdminStory, partition: PartitionName = HERE, **how: bool) -> list[bool]:
    """Which of some spans are calm."""
    for span in SPANS_MS:
        for at_ms in span:
            story.add(at_ms, "x", OK, "phase", key="load")
    history = story.history(**how)
    places = [o.index for o in history.operations if o.process == "x"]
    begin, end = np.array(places, np.int64).reshape(-1, 2).T
    found: list[bool] = Calm(history).between(partition, begin, end).tolist()
    return found


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"leader": 2}, [True, False, False, True], id="another leader"),
        pytest.param({"isr": [1, 2]}, [True, True, True, True], id="the same leader"),
    ],
)
def test_the_metadata_log_shows_changes_of_the_leader(
    fields: dict[str, object], expected: list[bool]
) -> None:
    story = AdminStory()
    story.created()
    story.changed(550, **fields)
    assert calm(story) == expected


def test_reports_of_brokers_show_them_if_there_is_no_metadata_log() -> None:
    def recording() -> AdminStory:
        story = AdminStory()
        for at_ms, epoch in ((500, 1), (600, 2)):
            state = [0, 1, epoch, [1, 2, 3], [1, 2, 3], None]
            value = {"began_ns": at_ms * 1_000_000, "topics": {TOPIC: [state]}}
            story.observe(at_ms, "partitions", value)
        return story

    assert calm(recording(), metadata_log=False) == [True, False, False, True]
    assert calm(recording(), PartitionName(TOPIC, 1), metadata_log=False) == [True] * 4


def test_faults_concern_all_partitions() -> None:
    story = AdminStory()
    story.fault(300, 500, "pause", "n1")
    assert calm(story) == [True, False, False, True]


def views(story: AdminStory, epochs: dict[str, int], *, at_ms: int) -> None:
    """Brokers report the leader epoch that they know."""
    for node, epoch in epochs.items():
        state = [0, 2, epoch, [1, 2, 3], [1, 2, 3], None]
        value = {"began_ns": at_ms * 1_000_000, "topics": {TOPIC: [state]}}
        story.observe(at_ms, "partitions", value, node=node)


def moved(*reports: tuple[int, dict[str, int]], to_ms: int | None = None) -> AdminStory:
    """Broker 2 leads from 550 ms on, in epoch 1, and perhaps 3 later, in epoch 2, while a fault lasts."""
    story = AdminStory()
    story.created()
    story.changed(550, leader=2)
    if to_ms is not None:
        story.changed(to_ms, leader=3)
    story.fault(10, 60_000, "pause", "n1")
    for at_ms, epochs in reports:
        views(story, epochs, at_ms=at_ms)
    return story


ALL = {"n1": 1, "n2": 1, "n3": 1}


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param(moved((700, ALL)), [False, True, True, True], id="all report the new epoch"),
        pytest.param(moved((9_600, ALL)), [False, False, False, True], id="they report it late"),
        pytest.param(moved((700, {"n1": 1, "n2": 1})), [False] * 4, id="one does not report it"),
        pytest.param(
            moved((700, {"n1": 1, "n2": 1, "n3": 0}), (20_000, {"n3": 1})),
            [False, False, False, True],
            id="late",
        ),
        pytest.param(moved((700, ALL), to_ms=10_550), [False, True, False, False], id="it moves once more"),
        pytest.param(
            moved((700, ALL), (11_000, {"n1": 2, "n2": 2, "n3": 2}), to_ms=10_550),
            [False, True, False, True],
            id="and all report that as well",
        ),
    ],
)
def test_a_leader_that_all_replicas_know_is_undisputed_during_faults(
    story: AdminStory, expected: list[bool]
) -> None:
    assert calm(story) == expected


def test_reports_alone_do_not_show_when_a_leader_epoch_began() -> None:
    assert calm(moved((700, ALL)), metadata_log=False) == [False] * 4
