"""Heartbeats in a broker's name: what goes over the wire, what an answer means, whose epoch it has."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkers.history.operations import OperationType
from harness.administration.heartbeats import (
    Heartbeat,
    HeartbeatAnswer,
    registered_epoch,
    send_heartbeat,
)
from harness.administration.schemas import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from harness.kafka.wire import WireError
from tests.harness.fakes.node import METADATA, FakeNode
from tests.harness.fakes.segments import batch, registration

HEARTBEAT = 63
SENT = Heartbeat(broker=2, epoch=2**40 + 7, metadata_offset=2**40 + 9)
TOPIC = b"\x01\x02\x00" + b"\x06log-0" + bytes(16) + b"\x00"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as made:
        made.versions[HEARTBEAT] = 1
        made.requests[HEARTBEAT] = BrokerHeartbeatRequest
        del made.versions[METADATA]  # as on a controller's listener
        yield made


@pytest.mark.parametrize(("newest", "version"), [(0, 0), (1, 1), (2, 1)])
def test_a_heartbeat_is_that_of_a_healthy_broker(node: FakeNode, newest: int, version: int) -> None:
    asked: list[Any] = []
    node.versions[HEARTBEAT] = newest

    def answered(request: Any) -> Any:
        asked.append(request)
        return BrokerHeartbeatResponse(
            throttle_time_ms=0, error_code=0, is_caught_up=True, is_fenced=False, should_shut_down=False
        )

    node.answers[HEARTBEAT] = answered

    answer = send_heartbeat(node.address, SENT, 60_000)

    (request,) = asked
    assert (request.broker_id, request.broker_epoch, request.current_metadata_offset) == tuple(
        getattr(SENT, field) for field in SENT.__struct_fields__
    )
    assert (request.want_fence, request.want_shut_down) == (False, False)
    assert node.asked[-1] == (HEARTBEAT, version)
    assert answer == HeartbeatAnswer(0, is_caught_up=True, is_fenced=False, should_shut_down=False)


def test_a_heartbeat_of_version_0_is_laid_out_as_kip_631_has_it() -> None:
    request = BrokerHeartbeatRequest(
        broker_id=2, broker_epoch=7, current_metadata_offset=9, want_fence=False, want_shut_down=False
    )
    assert request.encode(version=0, header=False) == struct.pack(">iqq", 2, 7, 9) + b"\x00\x00\x00"


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (0, OperationType.OK),
        (31, OperationType.FAIL),
        (77, OperationType.FAIL),
        (102, OperationType.FAIL),
        (41, OperationType.INFO),
        (-1, OperationType.INFO),
    ],
)
def test_what_an_answer_means(code: int, outcome: OperationType) -> None:
    answer = HeartbeatAnswer(code, is_caught_up=False, is_fenced=True, should_shut_down=False)
    assert answer.outcome is outcome


def test_a_node_that_takes_no_heartbeats_is_not_sent_any(node: FakeNode) -> None:
    del node.versions[HEARTBEAT]
    with pytest.raises(WireError, match="no version in common"):
        send_heartbeat(node.address, SENT, 60_000)


def test_the_epoch_is_that_of_the_newest_registration(tmp_path: Path) -> None:
    first = batch(3, [registration(1, 3), TOPIC, registration(2, 5)])
    (tmp_path / f"{0:020}.log").write_bytes(first)
    (tmp_path / f"{6:020}.log").write_bytes(batch(6, [registration(2, 6), registration(1, 7)]))
    (tmp_path / f"{6:020}.index").write_bytes(b"no records")
    assert [registered_epoch(tmp_path, broker) for broker in (1, 2, 3)] == [7, 6, None]


def test_a_registration_may_be_in_a_snapshot_alone(tmp_path: Path) -> None:
    (tmp_path / f"{9:020}-{1:010}.checkpoint").write_bytes(batch(0, [registration(1, 3)]))
    (tmp_path / f"{9:020}.log").write_bytes(batch(9, [TOPIC]) + batch(10, [registration(1, 10)])[:-3])
    assert registered_epoch(tmp_path, 1) == 3


def test_a_missing_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        registered_epoch(tmp_path / "nowhere", 1)
