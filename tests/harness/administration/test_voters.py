"""Voters added and removed: what goes over the wire, and what an answer means."""

from collections.abc import Iterator
from typing import Any

import pytest

from checkers.history.operations import OperationType
from harness.administration.schemas import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from harness.administration.voters import (
    TABLE,
    Done,
    VoterAnswer,
    VoterKey,
    add_voter,
    directory_uuid,
    meaning_of,
    outcome_of,
    remove_voter,
)
from harness.kafka.answers import kafka_uuid
from harness.kafka.wire import WireError
from tests.harness.fakes.node import METADATA, FakeNode

ADD, REMOVE = 80, 81
DIRECTORY = "pl2yURLxReyXmuf8pnFOsg"
KEY = VoterKey(104, DIRECTORY)
PLACE = ("CONTROLLER", "10.0.0.4", 49_093)
OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as made:
        made.versions |= {ADD: 1, REMOVE: 0}
        made.requests |= {ADD: AddRaftVoterRequest, REMOVE: RemoveRaftVoterRequest}
        yield made


@pytest.mark.parametrize("version", [0, 1])
def test_adding_a_voter_sends_its_id_directory_and_endpoints(node: FakeNode, version: int) -> None:
    asked: list[Any] = []
    node.versions[ADD] = version

    def answered(request: Any) -> Any:
        asked.append(request)
        return AddRaftVoterResponse(throttle_time_ms=0, error_code=0, error_message=None)

    node.answers[ADD] = answered

    answer = add_voter(node.address, "cluster", KEY, [PLACE], 60_000)

    (request,) = asked
    (listener,) = request.listeners
    assert (request.cluster_id, request.voter_id, request.timeout_ms) == ("cluster", 104, 60_000)
    assert kafka_uuid(request.voter_directory_id) == DIRECTORY
    assert (listener.name, listener.host, listener.port) == PLACE
    assert node.asked[-1] == (ADD, version)
    assert (answer.code, answer.message, answer.forwarded) == (0, None, True)
    assert 0 <= answer.took_ms < 60_000


def test_a_voter_is_removed_by_both_its_ids(node: FakeNode) -> None:
    asked: list[Any] = []
    del node.versions[METADATA]  # as on a controller's listener

    def answered(request: Any) -> Any:
        asked.append(request)
        return RemoveRaftVoterResponse(throttle_time_ms=0, error_code=127, error_message="no such voter")

    node.answers[REMOVE] = answered

    answer = remove_voter(node.address, None, KEY, 60_000)

    (request,) = asked
    assert (request.cluster_id, request.voter_id) == (None, 104)
    assert kafka_uuid(request.voter_directory_id) == DIRECTORY
    assert (answer.code, answer.message, answer.forwarded) == (127, "no such voter", False)


def test_silence_is_no_answer(node: FakeNode) -> None:
    node.answers[REMOVE] = lambda _request: None
    with pytest.raises(WireError, match="timed out"):
        remove_voter(node.address, None, KEY, 200)


def test_a_node_that_lacks_the_request_is_reported(node: FakeNode) -> None:
    del node.versions[ADD]
    with pytest.raises(WireError, match="no version in common"):
        add_voter(node.address, None, KEY, [PLACE], 60_000)


@pytest.mark.parametrize("text", ["", "short", DIRECTORY + "A", "pl2yURLxReyXmuf8pnFO!!"])
def test_what_is_no_directory_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="22 characters"):
        directory_uuid(text)


def test_directory_ids_are_kafkas_base64() -> None:
    assert kafka_uuid(directory_uuid("-_2yURLxReyXmuf8pnFOsg")) == "-_2yURLxReyXmuf8pnFOsg"
    assert directory_uuid("A" * 22).int == 0


@pytest.mark.parametrize(
    ("code", "message", "straight", "by_broker"),
    [
        (0, None, OK, OK),
        (0, "NONE", OK, OK),
        (-1, "The server experienced an unexpected error", INFO, INFO),
        (6, None, FAIL, INFO),
        (6, "For requests intended only for the leader, this error indicates …", INFO, INFO),
        (7, "Request timed out waiting for leader to handle previous add voter request", FAIL, INFO),
        (7, "Request timed out waiting for leader to handle previous voter change request", FAIL, INFO),
        (7, "Request timed out waiting for leader to establish HWM…", FAIL, INFO),
        (7, "Request timed out waiting for voters to commit the latest voter change …", FAIL, INFO),
        (7, "New voter ReplicaKey(id=104) is not ready to receive requests", FAIL, INFO),
        (7, "Aborted … since API_VERSIONS returned an error BROKER_NOT_AVAILABLE", FAIL, INFO),
        (7, "Aborted add voter operation for ReplicaKey(id=104) since it is lagging behind", FAIL, INFO),
        (7, "The request timed out.", INFO, INFO),
        (7, None, INFO, INFO),
        (35, None, FAIL, FAIL),
        (42, "Add voter request didn't include a valid voter", FAIL, FAIL),
        (104, None, FAIL, FAIL),
        (126, None, FAIL, INFO),
        (127, None, FAIL, INFO),
        (999, None, INFO, INFO),
    ],
)  # fmt: skip
def test_what_an_answer_means(
    code: int, message: str | None, straight: OperationType, by_broker: OperationType
) -> None:
    assert outcome_of(VoterAnswer(code, message, 1)) is straight
    assert outcome_of(VoterAnswer(code, message, 1, forwarded=True)) is by_broker


def test_every_row_has_a_reason_and_its_turn() -> None:
    for row in TABLE:
        message = "anything else" if row.message_part is None else row.message_part
        meaning = meaning_of(VoterAnswer(row.code, message, 1))
        assert meaning.reason == row.reason
        assert (meaning.outcome is OK) == (row.done is Done.YES)
