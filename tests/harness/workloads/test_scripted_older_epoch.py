"""The script of an older instance that asks to raise its epoch: its steps, and what is recorded of them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.producer import InitProducerIdResponse

from checkers.history.operations import Operation, OperationType
from checkers.history.reading import read_history
from checkers.history.transactions import ScriptPlayed
from harness.clients.raw_transactions import EndTxnAnswer, ProducerState, Protocol, init_producer
from harness.record.journal import Clock, Journals, Recorder
from harness.workloads import script, scripted
from harness.workloads.script import ScriptClient
from harness.workloads.script_transaction import OpenTransaction, ScriptedSend, ScriptError

OLDER, NEWEST = ProducerState("t", 17, 3), ProducerState("t", 17, 4)


class TwoInstances:
    """Two instances of one id.

    Args:
        raised: the answers to requests to raise the older one's epoch.
        commit: the answer to the newest one's commit.
        other_id: producer id of the newest one.
    """

    def __init__(self, *raised: int, commit: int = 90, other_id: int = 17) -> None:
        self.protocol, self.values = 1, SimpleNamespace(draw=lambda: 7)
        self.raised, self.commit, self.other_id = list(raised), commit, other_id
        self.calls: list[str] = []

    def begin_producer(self, name: str, process: int = 0) -> ProducerState:
        return ProducerState(name, self.other_id if process else 17, 3 + process)

    def raise_epoch(self, producer: ProducerState) -> int:
        self.calls.append(f"raise {producer.epoch}")
        return self.raised.pop(0)

    @contextmanager
    def transaction(
        self, producer: ProducerState, sends: list[ScriptedSend], end: str, process: int
    ) -> Iterator[OpenTransaction]:
        opened = OpenTransaction(sends)
        yield opened
        self.calls.append(f"{process} {producer.epoch} {end} {opened.offsets}")

    def add(self, producer: ProducerState, partitions: list[int]) -> None:
        self.calls.append(f"{producer.epoch} add {partitions}")

    def append(self, _: Any, send: ScriptedSend, sequence: int, opened: OpenTransaction) -> None:
        opened.offsets[send.value] = sequence

    def commit_if_permitted(self, producer: ProducerState, _: OpenTransaction) -> int:
        self.calls.append(f"{producer.epoch} commit")
        return self.commit

    def await_stable(self, partition: int) -> None:
        self.calls.append(f"stable {partition}")


@pytest.mark.parametrize("commit", [0, 48, 90])
@pytest.mark.parametrize("idle", [47, 90])
def test_an_older_instance_asks_to_raise_its_epoch(idle: int, commit: int) -> None:
    client: Any = TwoInstances(idle, 51, commit=commit)
    played = scripted.older_epoch(client, client)
    assert played == ScriptPlayed(1, older_epoch_errors=(idle, 51), newest_commit_error=commit)
    steps = ["raise 3", "4 add [0]", "raise 3", "4 commit", "1 4 commit {7: 0}", "stable 0"]
    assert client.calls == steps


@pytest.mark.parametrize("idle", [0, 16, 51])
def test_an_older_instance_that_is_not_fenced_without_a_transaction_proves_nothing(idle: int) -> None:
    client: Any = TwoInstances(idle)
    with pytest.raises(ScriptError, match=f"the older epoch was answered {idle}"):
        scripted.older_epoch(client, client)
    assert client.calls == ["raise 3"]


def test_instances_with_different_producer_ids_prove_nothing() -> None:
    client: Any = TwoInstances(other_id=18)
    with pytest.raises(ScriptError, match="not the first one with the next epoch"):
        scripted.older_epoch(client, client)
    assert client.calls == []


class Recording(ScriptClient):
    """A client with one recorder, whose requests go nowhere; the answers have these error codes."""

    def __init__(self, folder: Path, codes: list[int]) -> None:
        self._folder, self.codes = folder, codes
        self._journals = Journals(folder, "run", Clock())
        self._recorders = [Recorder(self._journals.open("worker-3", "script"), 3, 10)]
        self._stopping = threading.Event()
        self.protocol = Protocol.V2

    def coordinator(self, transactional_id: str) -> int:
        assert transactional_id == "t"
        return 2

    def connect(self, broker: int) -> Any:
        assert broker == 2
        return "connection"

    def init(
        self, connection: str, name: str, _ms: int, *, raising: ProducerState
    ) -> tuple[int, ProducerState]:
        assert (connection, name, raising) == ("connection", "t", OLDER)
        return self.codes.pop(0), ProducerState("t", 17, 5)

    def end_one(
        self, connection: str, producer: ProducerState, *, commit: bool, protocol: Protocol
    ) -> EndTxnAnswer:
        assert (connection, producer, commit, protocol) == ("connection", NEWEST, True, Protocol.V2)
        return EndTxnAnswer(self.codes.pop(0), producer)

    def last(self) -> Operation:
        """The last operation on disk."""
        self._journals.close()
        return read_history(self._folder).operations[-1]


@pytest.mark.parametrize(
    ("codes", "kind", "expected"),
    [
        ([51, 90], OperationType.FAIL, {"raises": [17, 3]}),
        ([14, 0], OperationType.OK, {"raises": [17, 3], "producer_id": 17, "epoch": 5}),
    ],
)
def test_a_request_to_raise_an_epoch_is_recorded_as_an_initialisation(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    codes: list[int],
    kind: OperationType,
    expected: dict[str, Any],
) -> None:
    client = Recording(tmp_path, list(codes))
    monkeypatch.setattr(script, "init_producer", client.init)
    assert client.raise_epoch(OLDER) == codes[-1]
    recorded = client.last()
    assert (recorded.f, recorded.key, recorded.type) == ("init-transactions", "t", kind)
    assert expected.items() <= recorded.value.items()
    assert recorded.error == (None if kind is OperationType.OK else f"InitProducerId was answered {codes}")


@pytest.mark.parametrize(
    ("codes", "kind"),
    [([51, 90], OperationType.FAIL), ([48], OperationType.INFO), ([16, 0], OperationType.OK)],
)
def test_a_commit_that_is_refused_is_recorded_with_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codes: list[int], kind: OperationType
) -> None:
    client = Recording(tmp_path, list(codes))
    monkeypatch.setattr(script, "end_transaction", client.end_one)
    with client.transaction(NEWEST, [ScriptedSend(0, 7)], "commit") as opened:
        opened.offsets[7] = 5
        assert client.commit_if_permitted(NEWEST, opened) == codes[-1]
    recorded = client.last()
    assert (recorded.f, recorded.type) == ("txn", kind)
    assert recorded.value["mops"] == [["send", "txn-0", 0, 7, 5]]
    assert recorded.value["ended"] == (None if codes[-1] else "commit")
    assert recorded.error == (f"EndTxn: [Error {codes[-1]}]" if codes[-1] else None)


@pytest.mark.parametrize(("raising", "asked"), [(None, (-1, -1)), (OLDER, (17, 3))])
def test_the_request_has_the_producer_whose_epoch_it_raises(
    raising: ProducerState | None, asked: tuple[int, int]
) -> None:
    sent: list[Any] = []

    def ask(request: Any, _response: Any, *, at_most: int) -> Any:
        sent.append((request, at_most))
        return InitProducerIdResponse(throttle_time_ms=0, error_code=90, producer_id=-1, producer_epoch=-1)

    connection: Any = SimpleNamespace(ask=ask)
    assert init_producer(connection, "t", 45_000, raising=raising) == (90, ProducerState("t", -1, -1))
    ((request, at_most),) = sent
    assert (request.producer_id, request.producer_epoch) == asked
    assert at_most >= 4, "a coordinator answers older versions INVALID_PRODUCER_EPOCH"
