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
