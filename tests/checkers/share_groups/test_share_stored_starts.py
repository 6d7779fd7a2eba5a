"""The start offset in the log of a share coordinator does not go back until the state is begun again."""

from typing import Any

import pytest

from checkers.history.operations import OperationType
from checkers.history.share_states import Kind
from checkers.share_groups.stored_starts import stored_starts_back
from tests.checkers.share_groups.share_histories import GROUP, OK, TOPIC, ShareStory
from tests.checkers.share_groups.share_state_histories import MADE, Record, done, states

SNAPSHOT = Record(kind=Kind.SNAPSHOT, snapshot=1, state=0)
UNSET = MADE._replace(start=-1)
BEGUN = MADE._replace(leader=0)
"""A state that is initialised, as Kafka writes it."""


def backs(*records: Record, **changes: Any) -> list[str]:
    """Subjects of the findings in a log; the start offset was set to 4, and perhaps to 2."""
    recording = ShareStory()
    recording.setup(GROUP)
    recording.alters(4)
    recording.alters(2, OperationType.INFO)
    recording.add("observer-replicas", OK, "observe", "share-states", states(*records, **changes))
    return [str(anomaly.subject) for _, anomaly, _ in stored_starts_back(recording.history())]


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([UNSET, Record(start=0), Record(start=3), Record(start=3)], id="forward"),
        pytest.param([MADE, Record(start=3), Record(start=-1), Record(start=3)], id="kept as it is"),
        pytest.param([Record(start=-1), Record(start=3)], id="kept as it was before what was read"),
        pytest.param([MADE, Record(start=3), SNAPSHOT._replace(start=5)], id="a snapshot"),
        pytest.param(
            [MADE, Record(start=3), SNAPSHOT._replace(state=1, start=0)], id="set by an administrator"
        ),
        pytest.param(
            [UNSET, UNSET._replace(snapshot=1), Record(start=0)], id="initialised twice before its use"
        ),
        pytest.param(
            [BEGUN._replace(start=9), BEGUN._replace(snapshot=1, start=4)], id="set twice without a member"
        ),
        pytest.param(
            [BEGUN, Record(start=9), BEGUN._replace(snapshot=1, start=2)], id="set late, without an answer"
        ),
        pytest.param([MADE, Record(start=3), Record(kind=Kind.REMOVED, snapshot=-1), MADE], id="deleted"),
        pytest.param([MADE, Record(start=3)._replace(offset=5), MADE._replace(offset=7)], id="a gap"),
    ],
)
def test_a_start_offset_that_a_coordinator_may_write(records: list[Record]) -> None:
    assert backs(*records) == []


@pytest.mark.parametrize(
    ("records", "subjects"),
    [
        pytest.param([MADE, Record(start=9), done(9)._replace(start=4)], [4], id="a delayed write"),
        pytest.param([MADE, Record(start=9), SNAPSHOT._replace(start=4)], [4], id="a snapshot"),
        pytest.param([MADE, Record(start=9), UNSET._replace(snapshot=1)], [0], id="initialised again"),
        pytest.param(
            [BEGUN._replace(start=9), BEGUN._replace(snapshot=1, start=3)], [3], id="not as it was set"
        ),
        pytest.param(
            [BEGUN, Record(start=9), BEGUN._replace(snapshot=1, start=4)], [4], id="set late, after its use"
        ),
        pytest.param(
            [BEGUN._replace(start=9), Record(start=-1), BEGUN._replace(snapshot=1, start=4)],
            [4],
            id="set late, after states were stored",
        ),
        pytest.param([MADE, Record(start=9), Record(start=4), Record(start=6)], [4], id="once for each"),
        pytest.param([MADE, Record(start=9), Record(start=4), Record(start=3)], [4, 3], id="back twice"),
    ],
)
def test_a_start_offset_that_went_back(records: list[Record], subjects: list[int]) -> None:
    assert backs(*records) == [f"{GROUP}: {TOPIC}/0@{subject}" for subject in subjects]


def test_start_offsets_of_another_share_partition_are_not_compared() -> None:
    other = MADE._replace(topic_id="AgMEBQYHCAkKCwwNDg8QEQ")
    assert backs(MADE, Record(start=3), other) == []


def test_a_topic_that_the_run_did_not_create_has_its_id() -> None:
    other = "AgMEBQYHCAkKCwwNDg8QEQ"
    records = (each._replace(topic_id=other) for each in (MADE, Record(start=9), Record(start=4)))
    assert backs(*records) == [f"{GROUP}: {other}/0@4"]
