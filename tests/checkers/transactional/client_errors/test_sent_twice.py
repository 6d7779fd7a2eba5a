"""A batch that was sent twice in an earlier transaction may arrive last in a later one."""

import pytest

from checkers.history.operations import FAIL, INFO, OK
from tests.checkers.transactional.client_errors.test_client_errors import FENCED, LOST_NAMED, STATE, Story

MAPPING = "INVALID_PRODUCER_ID_MAPPING: The producer id is not assigned to its transactional id"
ERROR = f"{LOST_NAMED}; its commit was never asked for"


def story_of(client: str, *, took_s: float, pause_s: float = 0.0, again: bool = False) -> Story:
    """A transaction that took so long, and after a pause one whose batch is refused.

    Perhaps there is a new producer in between.
    """
    story = Story().initialise(7).transact(client=client, took_s=took_s)
    if again:
        story.initialise(7).transact(client=client)
    story.put("runner", OK, "phase", "load", None, after_s=pause_s)
    story.transact(7, FAIL, ERROR, offset=None, client=client)
    story.operations[0].value["features"] = {"transaction.version": 1}
    return story


@pytest.mark.parametrize("client", ["kafka-clients", "kafka-python"])
@pytest.mark.parametrize(
    ("took_s", "pause_s", "again", "illegal"),
    [
        (2.5, 0.0, False, False),
        (0.9, 0.0, False, True),
        (2.5, 19.0, False, False),
        (2.5, 21.0, False, True),
        (2.5, 0.0, True, True),
    ],
)
def test_earlier_transactions_count_too(
    client: str, took_s: float, pause_s: float, *, again: bool, illegal: bool
) -> None:
    anomaly = story_of(client, took_s=took_s, pause_s=pause_s, again=again).anomaly()
    assert anomaly is not None
    assert anomaly.illegal is illegal


@pytest.mark.parametrize(("partition", "illegal"), [(0, False), (1, True)])
def test_the_batch_was_sent_to_the_same_partition(partition: int, *, illegal: bool) -> None:
    story = Story().initialise(7).transact().transact(took_s=2.5)
    for operation in story.operations[-2:]:
        operation.value["mops"][0][2] = partition
    story.transact(7, FAIL, ERROR, offset=None)
    story.operations[0].value["features"] = {"transaction.version": 1}
    anomaly = story.anomaly()
    assert anomaly is not None
    assert anomaly.illegal is illegal


def test_without_an_initialisation_its_own_duration_decides() -> None:
    story = Story().transact(client="kafka-python", took_s=2.5)
    story.transact(7, FAIL, ERROR, offset=None, client="kafka-python")
    story.operations[0].value["features"] = {"transaction.version": 1}
    anomaly = story.anomaly()
    assert anomaly is not None
    assert anomaly.illegal


@pytest.mark.parametrize(
    ("error", "took_s", "pause_s", "version", "illegal"),
    [
        pytest.param(STATE, 2.5, 0.0, None, False, id="sent twice"),
        pytest.param(STATE, 2.5, 0.0, 1, False, id="sent twice, version 1"),
        pytest.param(STATE, 2.5, 0.0, 2, True, id="another epoch"),
        pytest.param(STATE, 0.9, 0.0, None, True, id="sent once"),
        pytest.param(STATE, 2.5, 21.0, None, True, id="long ago"),
        pytest.param(FENCED, 2.5, 0.0, None, True, id="which raises no epoch"),
        pytest.param(MAPPING, 2.5, 0.0, None, True, id="which forgets no producer"),
    ],
)
def test_an_abort_that_was_sent_twice_may_abort_the_next_transaction(
    error: str, took_s: float, pause_s: float, version: int | None, *, illegal: bool
) -> None:
    story = Story().initialise(7).transact(7, FAIL, took_s=took_s)
    story.put("runner", OK, "phase", "load", None, after_s=pause_s)
    story.transact(7, INFO, error)
    if version is not None:
        story.operations[-1].value["version"] = version
    anomaly = story.anomaly()
    assert anomaly is not None
    assert anomaly.illegal is illegal
    assert illegal or "KAFKA-17754" in (anomaly.licence or "")
