"""A state that is in use is initialised again only if an administrator sets its start offset."""

from typing import Any

import pytest

from checkers.history.operations import History, OperationType
from checkers.history.share_states import Kind
from checkers.share_groups import check_share_groups
from checkers.share_groups.repeats import repeated_initialisations
from tests.checkers.share_groups.share_histories import GROUP, OK, TOPIC, ShareStory, ended
from tests.checkers.share_groups.share_state_histories import DONE, FREE, MADE, Record, done, states

FIRST = MADE._replace(leader=0, start=-1, state=2)
"""A state that is initialised, as Kafka writes it."""
AGAIN = FIRST._replace(snapshot=1, state=5)
OTHER_TOPIC = "AgMEBQYHCAkKCwwNDg8QEQ"


def history(*records: Record, asked: tuple[tuple[int, OperationType], ...] = (), **changes: Any) -> History:
    """A run with a log and with requests to set the start offset."""
    recording = ShareStory()
    recording.setup(GROUP)
    for begin, outcome in asked:
        recording.alters(begin, outcome)
    recording.add("observer-replicas", OK, "observe", "share-states", states(*records, **changes))
    return recording.history()


def again(*records: Record, asked: tuple[tuple[int, OperationType], ...] = (), **changes: Any) -> list[str]:
    """Subjects of the findings, without the name of the share partition."""
    found = repeated_initialisations(history(*records, asked=asked, **changes))
    return [str(anomaly.subject).removeprefix(f"{GROUP}: {TOPIC}/0@") for _, anomaly, _ in found]


@pytest.mark.parametrize(
    ("records", "subjects"),
    [
        pytest.param([FIRST, done(3, 4), AGAIN], ["3"], id="acceptances are lost"),
        pytest.param([FIRST, done(0, state=FREE), AGAIN], ["0"], id="a release is lost"),
        pytest.param([FIRST, Record(start=4), AGAIN], ["0"], id="the position is lost"),
        pytest.param([FIRST, done(1), AGAIN._replace(start=0)], ["1"], id="with the start offset 0"),
        pytest.param(
            [FIRST, done(1), AGAIN, done(1), AGAIN._replace(snapshot=2, state=9)], ["1", "1"], id="twice"
        ),
        pytest.param(
            [FIRST, Record([(2, 6, DONE, 1)], Kind.SNAPSHOT, 1, 2), AGAIN._replace(snapshot=2)],
            ["2"],
            id="states in a snapshot are lost",
        ),
        pytest.param([FIRST, AGAIN, done(1), AGAIN._replace(snapshot=2, state=6)], ["1"], id="third time"),
    ],
)
def test_a_state_in_use_that_is_initialised_again(records: list[Record], subjects: list[str]) -> None:
    assert again(*records) == subjects


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([FIRST, AGAIN, done(0)], id="before its use"),
        pytest.param([FIRST, Record(start=0), AGAIN], id="before anything was delivered"),
        pytest.param([FIRST, done(0), Record(kind=Kind.REMOVED, snapshot=-1), AGAIN], id="after a deletion"),
        pytest.param([FIRST, done(0)._replace(offset=5), AGAIN._replace(offset=7)], id="after a gap"),
        pytest.param([FIRST, done(0), Record(kind=Kind.SNAPSHOT, snapshot=1, state=2)], id="a snapshot"),
        pytest.param([FIRST, done(0), AGAIN._replace(leader=1)], id="a leader wrote it"),
        pytest.param([FIRST, done(0), AGAIN._replace(topic_id=OTHER_TOPIC)], id="another share partition"),
        pytest.param(
            [each._replace(topic_id=OTHER_TOPIC) for each in (FIRST, done(0), AGAIN)], id="an unknown topic"
        ),
        pytest.param([FIRST, done(0), AGAIN._replace(start=4)], id="nothing from there on"),
    ],
)
def test_a_state_that_may_begin(records: list[Record]) -> None:
    assert again(*records) == []


@pytest.mark.parametrize(
    ("asked", "subjects"),
    [
        pytest.param(((0, OK),), [], id="set"),
        pytest.param(((0, OperationType.INFO),), [], id="perhaps set"),
        pytest.param(((0, OperationType.FAIL),), ["1"], id="refused, because the group had members"),
        pytest.param(((7, OK),), ["1"], id="set elsewhere"),
    ],
)
def test_a_request_permits_a_state_that_begins_at_its_offset(
    asked: tuple[tuple[int, OperationType], ...], subjects: list[str]
) -> None:
    assert again(FIRST, done(1), AGAIN._replace(start=0), asked=asked) == subjects


def test_each_request_permits_one() -> None:
    log = [FIRST, done(1), AGAIN._replace(start=0), done(2), AGAIN._replace(start=0, snapshot=2, state=8)]
    assert again(*log, asked=((0, OK), (0, OK))) == []
    (found,) = repeated_initialisations(history(*log, asked=((0, OK),)))
    assert found.anomaly.summary.endswith("administrators asked for 1 of the 2 states that begin there")


def test_what_is_reported() -> None:
    recording = ShareStory()
    recording.setup(GROUP)
    recording.sends(*range(12))
    for offset in range(12):
        recording.polls(1, {offset: 1})
        recording.acknowledges(1, [offset])
    log = states(FIRST, *map(done, range(12)), AGAIN)
    recording.add("observer-replicas", OK, "observe", "share-states", log)
    result = check_share_groups(ended(recording, 12))
    assert result.counts == {"share-state-initialised-again": 1}
    (anomaly,) = result.anomalies
    assert anomaly.illegal
    assert anomaly.summary == (
        f"__share_group_state/0@13: the state of {GROUP}: {TOPIC}/0 begins again at start offset -1, with "
        "state epoch 5 after 2; no administrator asked for that"
    )
    assert anomaly.explanation == ("What was stored about 12 records, from offset 0 on, is lost.",)
