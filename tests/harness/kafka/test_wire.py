"""One question to one node: an answer within the deadline, or an error that says why not."""

import socket
import struct
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
from kafka.protocol.metadata import ApiVersionsResponse, MetadataRequest, MetadataResponse

from checkers.history.observed import PartitionAnswer
from checkers.history.quorum import ReplicaState
from harness.kafka import endpoint as endpoint_module
from harness.kafka import wire
from harness.kafka.answers import kafka_uuid
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import Connection, WireError, answers
from tests.harness.fakes.node import (
    ELR,
    METADATA,
    QUORUM,
    VERSIONS,
    FakeNode,
    elr_answer,
    encoded,
    metadata_answer,
    quorum_answer,
)
from tests.harness.waiting import BOUND_S, StandingTime, wait_until


@pytest.fixture(autouse=True, scope="module")
def patience() -> None:
    """Nobody is more patient than usual: these tests are about the limits of time."""


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as made:
        yield made


@pytest.fixture
def endpoint(node: FakeNode) -> Iterator[Endpoint]:
    made = Endpoint(*node.address, timeout_s=60.0)
    yield made
    made.close()


def test_a_leading_controller_reports_its_quorum(node: FakeNode, endpoint: Endpoint) -> None:
    node.answers[QUORUM] = lambda _request: quorum_answer(2, 7, 40, {1: 39, 2: 41})
    answer = endpoint.quorum()
    assert (answer.error, answer.leader_id, answer.leader_epoch, answer.high_watermark) == (0, 2, 7, 40)
    assert answer.voters == (ReplicaState(1, None, 39, 5, 6), ReplicaState(2, None, 41, 5, 6))


def test_another_controller_says_that_it_does_not_lead(node: FakeNode, endpoint: Endpoint) -> None:
    node.answers[QUORUM] = lambda _request: quorum_answer(0, 0, 0, {}, error=6)
    assert endpoint.quorum().error == 6


@pytest.mark.parametrize(("top_level", "error"), [(31, 31), (0, -1)])
def test_an_answer_without_a_partition_is_an_error(
    node: FakeNode, endpoint: Endpoint, top_level: int, error: int
) -> None:
    def empty(_request: object) -> object:
        answer = quorum_answer(0, 0, 0, {})
        answer.topics = []
        answer.error_code = top_level
        return answer

    node.answers[QUORUM] = empty
    assert endpoint.quorum().error == error


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_newest_common_version_is_spoken(node: FakeNode, endpoint: Endpoint, version: int) -> None:
    node.versions[QUORUM] = version
    node.answers[QUORUM] = lambda _request: quorum_answer(1, 1, 1, {1: 1})
    endpoint.quorum()
    endpoint.quorum()
    assert node.asked == [(VERSIONS, 3), (QUORUM, version), (QUORUM, version)]


def test_a_node_without_a_common_version_is_reported(node: FakeNode, endpoint: Endpoint) -> None:
    del node.versions[QUORUM]
    with pytest.raises(WireError, match="no version in common"):
        endpoint.quorum()


def test_a_broker_reports_the_cluster(node: FakeNode, endpoint: Endpoint) -> None:
    node.answers[METADATA] = lambda _request: metadata_answer([1, 2, 3], [(2, 4), (-1, 5)])
    node.answers[ELR] = lambda _request: elr_answer({0: [], 1: [3]})
    answer = endpoint.cluster(["log-0"], elr=True)
    assert answer.brokers == {1, 2, 3}
    assert answer.topics["log-0"].partitions == (
        PartitionAnswer(0, 2, 4, (1, 2, 3), (1, 2), ()),
        PartitionAnswer(1, -1, 5, (1, 2, 3), (1, 2), (3,)),
    )


def test_only_the_topics_asked_for_are_asked_for(node: FakeNode, endpoint: Endpoint) -> None:
    wanted = []

    def answer(request: MetadataRequest) -> MetadataResponse:
        wanted.append(None if request.topics is None else [topic.name for topic in request.topics])
        return metadata_answer([1], [])

    node.answers[METADATA] = answer
    endpoint.cluster(["a", "b"])
    endpoint.cluster([])
    endpoint.cluster()
    assert wanted == [["a", "b"], [], None]


def test_a_cursor_is_followed(node: FakeNode, endpoint: Endpoint) -> None:
    pages = [elr_answer({0: [1]}, cursor=1), elr_answer({1: [2]})]
    node.answers[METADATA] = lambda _request: metadata_answer([1, 2], [(1, 0), (2, 0)])
    node.answers[ELR] = lambda _request: pages.pop(0)
    partitions = endpoint.cluster(["log-0"], elr=True).topics["log-0"].partitions
    assert [state.elr for state in partitions] == [(1,), (2,)]


def test_an_old_broker_knows_no_eligible_replicas(node: FakeNode, endpoint: Endpoint) -> None:
    del node.versions[ELR]
    node.answers[METADATA] = lambda _request: metadata_answer([1], [(1, 0)])
    assert endpoint.cluster(["log-0"], elr=True).topics["log-0"].partitions[0].elr is None


def test_an_unknown_topic_is_not_asked_about_further(node: FakeNode, endpoint: Endpoint) -> None:
    node.answers[METADATA] = lambda _request: metadata_answer([1], [], error=3)
    assert endpoint.cluster(["log-0"], elr=True).topics["log-0"].error == 3
    assert [key for key, _ in node.asked] == [VERSIONS, METADATA]


def test_features_are_asked_for_anew(node: FakeNode, endpoint: Endpoint) -> None:
    node.features = {"kraft.version": 0}
    assert endpoint.features() == {"kraft.version": 0}
    node.features = {"kraft.version": 1}
    assert endpoint.features() == {"kraft.version": 1}


def test_a_connection_is_kept(node: FakeNode, endpoint: Endpoint) -> None:
    node.answers[QUORUM] = lambda _request: quorum_answer(1, 1, 1, {1: 1})
    for _ in range(5):
        endpoint.quorum()
    assert node.connections == 1


def test_a_node_that_was_restarted_is_asked_again(node: FakeNode, endpoint: Endpoint) -> None:
    node.answers[QUORUM] = lambda _request: quorum_answer(1, 1, 1, {1: 1})
    endpoint.quorum()
    node.hang_up()
    assert endpoint.quorum().leader_id == 1
    assert node.connections == 2


def test_a_silent_node_is_not_waited_for_longer_than_allowed(node: FakeNode) -> None:
    node.answers[QUORUM] = lambda _request: None
    endpoint = Endpoint(*node.address, timeout_s=0.2)
    with pytest.raises(WireError, match="timed out"):
        endpoint.quorum()
    endpoint.close()


def test_a_connection_that_falls_silent_is_not_asked_twice(node: FakeNode) -> None:
    replies = [quorum_answer(1, 1, 1, {1: 1})]
    node.answers[QUORUM] = lambda _request: replies.pop() if replies else None
    endpoint = Endpoint(*node.address, timeout_s=BOUND_S)
    endpoint.quorum()
    endpoint.timeout_s = 0.2
    with pytest.raises(WireError):
        endpoint.quorum()
    assert node.connections == 1
    endpoint.close()


@pytest.mark.parametrize(("each_s", "in_time"), [(20.0, True), (40.0, False)])
def test_all_questions_together_keep_the_deadline(
    node: FakeNode, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, each_s: float, *, in_time: bool
) -> None:
    standing = StandingTime()
    for module in (wire, endpoint_module):
        monkeypatch.setattr(module, "time", standing)

    def answering(answer: object) -> Callable[[object], object]:
        def answered(_request: object) -> object:
            standing.go_on(each_s)
            return answer

        return answered

    node.answers[METADATA] = answering(metadata_answer([1], [(1, 0)]))
    node.answers[ELR] = answering(elr_answer({0: []}))
    with nullcontext() if in_time else pytest.raises(WireError, match="timed out"):
        endpoint.cluster(["log-0"], elr=True)


FRAME = struct.Struct(">ii")


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (FRAME.pack(-5, 0), "a frame of -5 bytes"),
        (FRAME.pack(2**30, 0), "a frame of"),
        (FRAME.pack(4, 99), "decoded"),
        (FRAME.pack(6, 99) + b"\xff\xff", "decoded"),
    ],
)
def test_an_answer_nobody_understands_is_an_error(
    node: FakeNode, endpoint: Endpoint, reply: bytes, message: str
) -> None:
    node.answers[QUORUM] = lambda _request: reply
    with pytest.raises(WireError, match=message):
        endpoint.quorum()


def test_an_answer_to_another_question_is_an_error(node: FakeNode, endpoint: Endpoint) -> None:
    def mixed_up(_request: object) -> bytes:
        return encoded(quorum_answer(1, 1, 1, {}), 2, correlation=77)

    node.answers[QUORUM] = mixed_up
    with pytest.raises(WireError, match="answer 77 to request 2"):
        endpoint.quorum()


def test_a_node_that_hangs_up_in_mid_answer_is_reported(node: FakeNode) -> None:
    def cut_short(_request: object) -> bytes:
        node.hang_up()
        return b"\0"

    node.answers[METADATA] = cut_short
    with Connection(*node.address, BOUND_S) as connection, pytest.raises(WireError):
        connection.ask(MetadataRequest(topics=[]), MetadataResponse)


def test_alive_is_who_answers(node: FakeNode) -> None:
    assert answers(*node.address, BOUND_S)


def test_a_paused_node_accepts_and_is_not_alive() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        assert not answers(host, port, 0.1)


def test_where_nobody_listens_nobody_is_alive() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
    assert not answers(host, port, 0.5)


def test_a_node_that_refuses_apiversions_is_not_alive(node: FakeNode) -> None:
    node.answers[VERSIONS] = lambda _request: ApiVersionsResponse(error_code=35, api_keys=[])
    assert not answers(*node.address, 1.0)


def test_uuids_are_written_as_kafka_writes_them() -> None:
    assert kafka_uuid(uuid.UUID("4d1df7b4-34d3-4d71-9d38-d3b7d4db4e38")) == "TR33tDTTTXGdONO31NtOOA"
    assert kafka_uuid(uuid.UUID(int=0)) is None
    assert kafka_uuid(None) is None


def test_a_request_that_waits_ends_when_its_connection_is_closed(node: FakeNode) -> None:
    node.answers[METADATA] = lambda _request: None
    connection = Connection(*node.address, timeout_s=10 * BOUND_S)
    with ThreadPoolExecutor(1) as aside:
        asked = aside.submit(connection.ask, MetadataRequest(topics=[]), MetadataResponse)
        wait_until(lambda: (METADATA, 12) in node.asked)
        connection.close()
        with pytest.raises(WireError):
            asked.result(BOUND_S)
    connection.close()
