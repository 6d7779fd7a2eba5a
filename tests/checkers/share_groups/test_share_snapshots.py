"""A snapshot of a share coordinator has the final states of all records from the start offset on."""

from typing import Any

import pytest

from checkers.history.operations import OperationType
from checkers.history.share_states import Kind
from checkers.share_groups.snapshots import incomplete_snapshots
from tests.checkers.share_groups.share_histories import GROUP, OK, TOPIC, ShareStory
from tests.checkers.share_groups.share_state_histories import DONE, FREE, GONE, MADE, Record, done, states

SNAPSHOT = Record(kind=Kind.SNAPSHOT, snapshot=1, state=0)
ALL = SNAPSHOT._replace(batches=[(0, 3, DONE, 1)])


def lacking(*records: Record, **changes: Any) -> list[str]:
    """Subjects of the findings in a log; the start offset was set to 0, and perhaps to 1."""
    recording = ShareStory()
    recording.setup(GROUP)
    recording.alters(0)
    recording.alters(1, OperationType.INFO)
    recording.add("observer-replicas", OK, "observe", "share-states", states(*records, **changes))
    return [str(anomaly.subject) for _, anomaly, _ in incomplete_snapshots(recording.history())]


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([MADE, done(0, 1), done(2, 3, state=GONE), ALL], id="all are there"),
        pytest.param(
            [MADE, done(0, 1), SNAPSHOT._replace(batches=[(0, 1, GONE, 2)])], id="another final state"
        ),
        pytest.param([MADE, done(0, 1), SNAPSHOT._replace(batches=[(0, 1, FREE, 2)])], id="a later delivery"),
        pytest.param([MADE, done(0), done(0, state=FREE, count=2), SNAPSHOT], id="available again"),
        pytest.param([MADE, done(0, 1), SNAPSHOT._replace(start=2)], id="below the start offset"),
        pytest.param([MADE, done(0), SNAPSHOT._replace(state=1)], id="initialised again"),
        pytest.param(
            [MADE, done(0, 1, 2), SNAPSHOT._replace(start=1)], id="set late, by a request without an answer"
        ),
        pytest.param([MADE, Record(start=3), done(3, 4), SNAPSHOT], id="an earlier start offset"),
        pytest.param([MADE, done(0), Record(kind=Kind.REMOVED, snapshot=-1), MADE], id="deleted"),
        pytest.param([MADE, done(0)._replace(offset=5), SNAPSHOT._replace(offset=7)], id="a gap"),
        pytest.param([ALL, ALL._replace(snapshot=2)], id="one snapshot after the other"),
        pytest.param([SNAPSHOT], id="a snapshot alone"),
    ],
)
def test_a_snapshot_that_a_coordinator_may_write(records: list[Record]) -> None:
    assert lacking(*records) == []


@pytest.mark.parametrize(
    ("records", "subject"),
    [
        ([MADE, done(0, 1), done(2, 3), SNAPSHOT._replace(batches=[(2, 3, DONE, 1)])], 0),
        ([MADE, done(0, 1, state=GONE), SNAPSHOT._replace(start=1, leader=1)], 1),
        ([MADE, done(0, 1), SNAPSHOT._replace(start=0)], 0),
        ([MADE, Record([(0, 9, DONE, 1)]), ALL], 4),
        ([ALL, SNAPSHOT._replace(snapshot=2)], 0),
    ],
)
def test_a_snapshot_without_a_final_state(records: list[Record], subject: int) -> None:
    assert lacking(*records) == [f"{GROUP}: {TOPIC}/0@{subject}"]


def test_a_snapshot_of_another_share_partition_needs_no_states_of_this_one() -> None:
    other = SNAPSHOT._replace(topic_id="AgMEBQYHCAkKCwwNDg8QEQ")
    assert lacking(MADE, done(0, 1), other) == []


def test_a_topic_that_the_run_did_not_create_has_its_id() -> None:
    other = "AgMEBQYHCAkKCwwNDg8QEQ"
    made, record, snapshot = (each._replace(topic_id=other) for each in (MADE, done(0), SNAPSHOT))
    assert lacking(made, record, snapshot) == [f"{GROUP}: {other}/0@0"]
