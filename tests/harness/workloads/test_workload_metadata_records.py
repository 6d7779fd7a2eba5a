"""Records of topics that come and go: what is asked for on the wire, and what is recorded of the answers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.consumer import FetchResponse

from checkers.history.operations import FAIL, INFO, OK, Operation, OperationType
from harness.clients.raw_records import fetch_records, leader_of
from harness.kafka.wire import Connection, WireError
from harness.record.journal import Clock, Journals, Recorder
from harness.workloads.metadata_records import RecordsOfTopics
from harness.workloads.values import ValueCodec
from tests.harness.fakes.broker import FETCH, PRODUCE, FakeBroker
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
NAME = "log-0"


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as made:
        made.versions |= {FETCH: 18, PRODUCE: 13}
        yield made


def touched(folder: Path, *listeners: tuple[str, int]) -> list[Operation]:
    """What is recorded of one record that is appended and fetched."""
    folder.mkdir(exist_ok=True)
    journals = Journals(folder, "run", Clock())
    recorder = Recorder(journals.open("worker-2"), 2, 4)
    RecordsOfTopics(recorder, 2, ValueCodec("run"), listeners).touch(NAME, TOPIC_ID)
    journals.close()
    return [o for o in recorded(folder) if o.type is not OperationType.INVOKE and o.f != "end"]


def test_a_record_is_appended_and_fetched(broker: FakeBroker, tmp_path: Path) -> None:
    broker.records[0] = [b"run:2000000001", b"other"]
    appended, fetched = touched(tmp_path, broker.address)
    asked = {"topic_id": TOPIC_ID, "value": 2_000_000_001}
    assert (appended.f, appended.key, appended.type) == ("append-record", NAME, OK)
    assert appended.value == asked | {"offset": 40}
    assert (fetched.f, fetched.type) == ("fetch-records", OK)
    answer = {"log_start": 0, "records": [[0, 2_000_000_001], [1, "other"]]}
    assert fetched.value == {"topic_id": TOPIC_ID, **answer}
    assert (FETCH, 16) in broker.asked


@pytest.mark.parametrize(("error", "outcome"), [(3, INFO), (19, FAIL), (100, FAIL), (6, INFO), (20, INFO)])
def test_an_append_that_is_refused(
    broker: FakeBroker, tmp_path: Path, error: int, outcome: OperationType
) -> None:
    broker.produce_error, broker.fetch_error = error, error
    appended, fetched = touched(tmp_path, broker.address)
    assert appended.type is outcome
    assert (fetched.type, fetched.error) == (FAIL, f"error {error}")


def test_an_append_without_an_answer(broker: FakeBroker, tmp_path: Path) -> None:
    broker.produce_error = None
    assert [o.type for o in touched(tmp_path, broker.address)] == [INFO, OK]


def test_a_closed_broker_fails_and_an_unknown_one_records_nothing(broker: FakeBroker, tmp_path: Path) -> None:
    address = broker.address
    broker.close()
    appended, fetched = touched(tmp_path / "closed", address)
    assert (appended.type, fetched.type) == (FAIL, FAIL)
    assert "nothing sent" in (appended.error or "")
    assert touched(tmp_path / "nobody") == []


def test_a_topic_without_a_leader_and_a_broker_that_is_too_old(broker: FakeBroker) -> None:
    answers = broker.answers

    def leaderless(request: Any) -> Any:
        answer = metadata(request)
        answer.topics[0].partitions[0].leader_id = -1
        return answer

    metadata = answers[3]
    answers[3] = leaderless
    broker.versions[FETCH] = 12
    with Connection(*broker.address, BOUND_S) as connection:
        with pytest.raises(WireError, match="no leader"):
            leader_of(connection, NAME)
        with pytest.raises(WireError, match="names alone"):
            fetch_records(connection, TOPIC_ID)


def test_a_fetch_that_is_refused_as_a_whole(broker: FakeBroker) -> None:
    refused = FetchResponse(throttle_time_ms=0, error_code=70, session_id=0, responses=[])
    broker.answers[FETCH] = lambda _request: refused
    with Connection(*broker.address, BOUND_S) as connection:
        found = fetch_records(connection, TOPIC_ID)
    assert (found.error, found.records) == (70, [])
