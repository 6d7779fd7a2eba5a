"""Scripts that fail: the control says so, and what they had begun is ended."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checkers.history.operations import Operation, OperationType
from checkers.history.reading import read_history
from checkers.history.transactions import ScriptPlayed
from harness.clients.administrator import AdminAnswer
from harness.clients.interface import ClientFailedError
from harness.clients.raw_batches import ProduceAnswer
from harness.clients.raw_transactions import EndTxnAnswer, ProducerState
from harness.clients.transaction_views import TransactionView
from harness.kafka.answers import TopicAnswer
from harness.kafka.wire import WireError
from harness.record.journal import Clock, Journals
from harness.vocabulary import Script, ScriptedTransactions
from harness.workloads import script, scripted
from harness.workloads.context import WorkloadContext, clients_for
from harness.workloads.script import ScriptClient
from harness.workloads.script_transaction import OpenTransaction, ScriptedSend, ScriptError
from harness.workloads.scripted import ScriptWorker
from tests.harness.waiting import BOUND_S

WORKLOAD = ScriptedTransactions(script=Script.DELAYED_END_TXN)


class FakeScriptClient:
    """Counts how often it was asked to end what was begun."""

    def __init__(self, fails: bool) -> None:  # noqa: FBT001 - one question, asked by name of the test
        self.abandoned = 0
        self._fails = fails

    def abandon(self) -> None:
        self.abandoned += 1
        if self._fails:
            raise ScriptError("InitProducerId was answered [42]")


def played(
    folder: Path, monkeypatch: pytest.MonkeyPatch, play: Any, *, fails: bool = False
) -> tuple[ScriptWorker, FakeScriptClient, Operation]:
    client = FakeScriptClient(fails)
    monkeypatch.setattr(scripted, "_LEAD_S", 0.0)
    monkeypatch.setattr(scripted, "ScriptClient", lambda _context, _cleanup, _stopping: client)
    monkeypatch.setattr(scripted, "SCRIPTS", {Script.DELAYED_END_TXN: play})
    journals = Journals(folder, "run", Clock())
    worker = ScriptWorker(WorkloadContext(WORKLOAD, journals, clients_for(WORKLOAD, ())))
    worker.work()
    journals.close()
    return worker, client, read_history(folder).operations[-1]


def failing(_stagehand: Any, _worker: ScriptWorker) -> ScriptPlayed:
    raise ScriptError("EndTxn was answered [90]")


def test_a_script_that_is_played_records_what_brokers_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, client, control = played(tmp_path, monkeypatch, lambda *_: ScriptPlayed(1, late_end_error=90))
    assert (control.f, control.key, control.type) == ("control", "delayed-end-txn", OperationType.OK)
    assert control.value == {"transaction_version": 1, "late_end_error": 90}
    assert client.abandoned == 0


def test_a_script_that_fails_is_reported_and_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, client, control = played(tmp_path, monkeypatch, failing)
    assert (control.type, control.error) == (OperationType.INFO, "ScriptError: EndTxn was answered [90]")
    assert (client.abandoned, worker.complaints) == (1, [])


def test_what_could_not_be_ended_is_complained_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, _, control = played(tmp_path, monkeypatch, failing, fails=True)
    assert control.type is OperationType.INFO
    assert worker.complaints == ["script: InitProducerId was answered [42]"]


def test_a_defect_of_a_script_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyError):
        played(tmp_path, monkeypatch, lambda *_: SimpleNamespace().__dict__["no such step"])


class CalmClient:
    """Grants everything; partition 0 and 1 have these leaders, and broker 1 coordinates the first id only."""

    def __init__(self, *leaders: int, other: int = 47) -> None:
        self.leaders = leaders
        self.answers = {0: ProduceAnswer(48, None), 1: ProduceAnswer(other, None)}
        self.protocol = 1
        self.values = SimpleNamespace(draw=iter(range(9)).__next__)
        self.calls: list[str] = []

    def leader(self, partition: int) -> int:
        return self.leaders[partition]

    def coordinator(self, name: str) -> int:
        return 1 if name == "timed-out-0" else 2

    def begin_producer(self, name: str, timeout_ms: int) -> str:
        assert timeout_ms == 5_000
        return name

    @contextmanager
    def transaction(self, producer: str, sends: list[ScriptedSend], end: str) -> Iterator[OpenTransaction]:
        opened = OpenTransaction(sends)
        yield opened
        self.calls.append(f"{producer} {end} {opened.offsets}")

    def add(self, _producer: str, partitions: list[int]) -> None:
        self.calls.append(f"add {partitions}")

    def append(self, _producer: str, send: ScriptedSend, sequence: int, opened: OpenTransaction) -> None:
        opened.offsets[send.value] = sequence

    def end(self, _producer: str, *, commit: bool) -> None:
        assert commit

    def await_stable(self, partition: int) -> None:
        self.calls.append(f"stable {partition}")

    def produce_both(self, _: Any, producer: str, sends: dict[ScriptedSend, int]) -> dict[int, ProduceAnswer]:
        assert producer == "timed-out-1"
        assert sends == {ScriptedSend(0, 2): 2, ScriptedSend(1, 3): 0}
        return self.answers


def held_up(client: CalmClient, leader: int, coordinator: int, late: Any, meanwhile: Any) -> Any:
    assert (leader, coordinator) == (1, 2)
    client.calls.append("held")
    meanwhile()
    return late(None)


def test_a_producer_whose_transaction_times_out_while_the_leader_waits() -> None:
    client, worker = CalmClient(1, 1), SimpleNamespace(held_up=held_up)
    played = scripted.timed_out_producer(client, worker)  # type: ignore[arg-type]
    assert played == ScriptPlayed(1, timed_out_errors=(48, 47))
    assert client.calls == [
        "add [0]",
        "stable 0",
        "timed-out-1 commit {0: 0}",
        "add [0, 1]",
        "held",
        "stable 0",
        "timed-out-1 abort {1: 1}",
    ]


def test_a_late_record_that_was_appended_is_recorded() -> None:
    client, worker = CalmClient(1, 1), SimpleNamespace(held_up=held_up)
    client.answers[0] = ProduceAnswer(0, 7)
    scripted.timed_out_producer(client, worker)  # type: ignore[arg-type]
    assert client.calls[-1] == "timed-out-1 abort {1: 1, 2: 7}"


@pytest.mark.parametrize("other", [0, 19, 48])
def test_without_an_old_epoch_it_proves_nothing(other: int) -> None:
    client, worker = CalmClient(1, 1, other=other), SimpleNamespace(held_up=held_up)
    with pytest.raises(ScriptError, match=f"epoch was not old: partition 1 answered {other}"):
        scripted.timed_out_producer(client, worker)  # type: ignore[arg-type]
    assert client.calls[-1] == "stable 0"


def test_it_needs_one_leader_that_does_not_coordinate(monkeypatch: pytest.MonkeyPatch) -> None:
    worker: Any = SimpleNamespace(held_up=held_up)
    two: Any = CalmClient(1, 2)
    with pytest.raises(ScriptError, match="different leaders"):
        scripted.timed_out_producer(two, worker)
    monkeypatch.setattr(scripted, "_NAMES", 1)
    one: Any = CalmClient(1, 1)
    with pytest.raises(ScriptError, match="all transactional ids"):
        scripted.timed_out_producer(one, worker)


class LateClient:
    """Its transaction is aborted with a newer epoch, and its late commit gets one answer."""

    def __init__(self) -> None:
        self.protocol, self.values = 2, SimpleNamespace(draw=lambda: 7)
        self.calls: list[str] = []

    def begin_producer(self, name: str, timeout_ms: int) -> ProducerState:
        assert timeout_ms == 5_000
        return ProducerState(name, 17, 3)

    def coordinator(self, name: str) -> int:
        assert name == "late-commit-0"
        return 2

    @contextmanager
    def transaction(self, _: Any, sends: list[ScriptedSend], end: str) -> Iterator[OpenTransaction]:
        opened = OpenTransaction(sends)
        yield opened
        self.calls.append(f"{end} {opened.offsets}")

    def add(self, _producer: Any, partitions: list[int]) -> None:
        self.calls.append(f"add {partitions}")

    def append(self, _producer: Any, send: ScriptedSend, sequence: int, opened: OpenTransaction) -> None:
        opened.offsets[send.value] = sequence

    def await_aborted(self, producer: ProducerState) -> int:
        self.calls.append("aborted")
        return producer.epoch + 1

    def held(self, client: Any, broker: int, late: Any, meanwhile: Any) -> Any:
        assert (client, broker) == (self, 2)
        meanwhile()
        return late("connection")


@pytest.mark.parametrize("error", [47, 48, 90])
def test_a_commit_that_arrives_after_its_transaction_timed_out(
    monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def end(_: Any, producer: ProducerState, *, commit: bool, protocol: int) -> EndTxnAnswer:
        assert (commit, protocol) == (True, 2)
        return EndTxnAnswer(error, producer)

    monkeypatch.setattr(scripted, "end_transaction", end)
    client: Any = LateClient()
    played = scripted.late_commit(client, client)
    assert played == ScriptPlayed(2, late_commit_error=error, newer_by=1)
    assert client.calls == ["add [0]", "aborted", "abort {7: 0}"]


@pytest.mark.parametrize("error", [0, 16, 51])
def test_a_late_commit_that_is_not_refused_for_its_state_or_epoch_proves_nothing(
    monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    monkeypatch.setattr(scripted, "end_transaction", lambda _, producer, **__: EndTxnAnswer(error, producer))
    client: Any = LateClient()
    with pytest.raises(ScriptError, match=f"late commit was answered {error}"):
        scripted.late_commit(client, client)


ABORTED = TransactionView(0, "CompleteAbort", 17, 4, [])


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client that asks the coordinator for nothing but its view of the transaction."""
    monkeypatch.setattr(script, "_PAUSE_S", 0.0)
    client: Any = ScriptClient.__new__(ScriptClient)
    client._stopping = threading.Event()
    client.coordinator = lambda name: f"coordinator of {name}"
    client.connect = lambda broker: f"connection to {broker}"
    return client


def test_the_coordinator_is_asked_until_it_has_aborted(asking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    views = [
        TransactionView(16, "", -1, -1, []),
        TransactionView(0, "Ongoing", 17, 3, [("txn-0", 0)]),
        TransactionView(0, "PrepareAbort", 17, 4, [("txn-0", 0)]),
        ABORTED,
    ]

    def describe(connection: str, name: str) -> TransactionView:
        assert (connection, name) == ("connection to coordinator of t", "t")
        return views.pop(0)

    monkeypatch.setattr(script, "describe_transaction", describe)
    assert asking.await_aborted(ProducerState("t", 17, 3)) == 4
    assert views == []


def test_an_abort_that_changes_the_producer_id_has_no_epoch_to_compare(
    asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "describe_transaction", lambda *_: ABORTED)
    with pytest.raises(ScriptError, match="another id"):
        asking.await_aborted(ProducerState("t", 16, 3))


class GroupsClient:
    """Groups have a coordinator by their number; after the renewal all but some have the next broker."""

    def __init__(self, staying: int) -> None:
        self.protocol, self.renewed, self.staying = 1, False, staying
        self.committed: list[tuple[str, int]] = []

    def group_coordinator(self, group: str) -> int:
        number = int(group.removeprefix("deleted-"))
        return number % 3 + 1 + (self.renewed and number >= self.staying)

    def commit_offset(self, group: str) -> int:
        self.committed.append((group, self.group_coordinator(group)))
        return self.group_coordinator(group)

    def renew_offsets_topic(self, group: str) -> None:
        assert (group, len(self.committed)) == ("deleted-0", 12)
        self.renewed = True


def test_groups_commit_again_after_their_offsets_were_deleted() -> None:
    client: Any = GroupsClient(10)
    assert scripted.deleted_offsets(client, client) == ScriptPlayed(1, moved_groups=2)
    assert client.committed[12:] == [("deleted-10", 3), ("deleted-11", 4)]


def test_if_all_groups_have_their_old_coordinators_it_proves_nothing() -> None:
    client: Any = GroupsClient(12)
    with pytest.raises(ScriptError, match="every group has its old coordinator"):
        scripted.deleted_offsets(client, client)


def test_a_commit_is_repeated_at_the_coordinator_that_is_found(
    asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int | WireError] = [WireError("loading"), 1, 2]
    codes = {"connection to 1": 16, "connection to 2": 0}

    def find(_connection: Any, group: str) -> int:
        assert group == "g"
        one = found.pop(0)
        if isinstance(one, WireError):
            raise one
        return one

    monkeypatch.setattr(script, "Connection", lambda *_: nullcontext())
    monkeypatch.setattr(script, "find_group", find)
    monkeypatch.setattr(script, "commit_offset", lambda connection, *_: codes[connection])
    asking.context = SimpleNamespace(bootstrap=("host:9092",))
    assert asking.commit_offset("g") == 2
    assert found == []


class Deleting:
    """An administrator whose deletion has this outcome."""

    def __init__(self, outcome: OperationType) -> None:
        self.outcome = outcome
        self.closed = False

    def delete_topic(self, topic: str) -> AdminAnswer:
        assert topic == "__consumer_offsets"
        return AdminAnswer(self.outcome, error="why")

    def close(self, _timeout_s: float) -> None:
        self.closed = True


def topic(topic_id: str, error: int = 0) -> TopicAnswer:
    return TopicAnswer("__consumer_offsets", topic_id, error, ())


def test_the_topic_is_renewed_when_another_id_is_seen(asking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = Deleting(OperationType.OK)
    seen = [topic("old"), topic("old"), topic("", 3), topic("new")]
    asked: list[str] = []
    monkeypatch.setattr(script, "open_administrator", lambda *_: admin)
    asking.context = SimpleNamespace(bootstrap=("host:9092",))
    asking._look = lambda _name: seen.pop(0)
    asking.group_coordinator = asked.append
    asking.renew_offsets_topic("g")
    assert (seen, asked, admin.closed) == ([], ["g"] * 3, True)


def test_without_a_deletion_nothing_is_renewed(asking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = Deleting(OperationType.INFO)
    asking.context = SimpleNamespace(bootstrap=("host:9092",))
    asking._look = lambda _name: topic("old")
    monkeypatch.setattr(script, "open_administrator", lambda *_: admin)
    with pytest.raises(ScriptError, match="not acknowledged: why"):
        asking.renew_offsets_topic("g")
    assert admin.closed

    def refuse(*_: Any) -> None:
        raise ClientFailedError("nobody answers")

    monkeypatch.setattr(script, "open_administrator", refuse)
    with pytest.raises(ScriptError, match="nobody answers"):
        asking.renew_offsets_topic("g")


class OpenHolds:
    """Delays nothing: calls `send` and is over."""

    @contextmanager
    def hold_broker(
        self, _fault: str, _broker: int, _sender: int, send: Callable[[], None]
    ) -> Iterator[None]:
        send()
        yield


class DeafClient:
    """Its request gets an answer only after the connection is closed, or at once if `answers`."""

    def __init__(self, *, answers: bool = False) -> None:
        self.context = SimpleNamespace(holds=OpenHolds())
        self.closed = threading.Event()
        if answers:
            self.closed.set()

    def connect(self, _broker: int) -> SimpleNamespace:
        return SimpleNamespace(close=self.closed.set)

    def late(self, _connection: Any) -> int:
        assert self.closed.wait(BOUND_S)
        return 5


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[ScriptWorker]:
    journals = Journals(tmp_path, "run", Clock())
    yield ScriptWorker(WorkloadContext(WORKLOAD, journals, clients_for(WORKLOAD, ())))
    journals.close()


def test_an_answer_is_awaited_after_the_release(
    worker: ScriptWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted, "HOLD_S", 0.0)
    client: Any = DeafClient(answers=True)
    assert worker.held_up(client, 1, 2, client.late, lambda: None) == 5


def test_no_answer_is_awaited_once_the_load_is_stopped(worker: ScriptWorker) -> None:
    client: Any = DeafClient()
    with pytest.raises(ScriptError, match="before the load was stopped"):
        worker.held_up(client, 1, 2, client.late, worker.stopping.set)


def test_an_answer_that_never_comes_is_not_awaited_for_ever(
    worker: ScriptWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted, "HOLD_S", 0.0)
    monkeypatch.setattr(scripted, "_LATE_ANSWER_S", 0.0)
    client: Any = DeafClient()
    with pytest.raises(ScriptError, match="within 0 s"):
        worker.held_up(client, 1, 2, client.late, lambda: None)


def script_client(stopping: threading.Event, monkeypatch: pytest.MonkeyPatch) -> ScriptClient:
    monkeypatch.setattr(ScriptClient, "_look", lambda _self: None)
    context: Any = SimpleNamespace(workload=WORKLOAD, recorder=lambda _number, _role: None)
    return ScriptClient(context, ExitStack(), stopping)


def test_a_request_is_repeated_while_it_is_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = iter([14, 51, 0])
    client = script_client(threading.Event(), monkeypatch)
    assert client.insist(lambda: next(codes), lambda code: [code], "EndTxn") == 0
    with pytest.raises(ScriptError, match=r"EndTxn was answered \[48\]"):
        client.insist(lambda: 48, lambda code: [code], "EndTxn")


def test_a_request_is_not_repeated_once_the_load_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, stopping = iter([14, 0]), threading.Event()
    stopping.set()
    client = script_client(stopping, monkeypatch)
    with pytest.raises(ScriptError, match="EndTxn: not before the load was stopped"):
        client.insist(lambda: next(codes), lambda code: [code], "EndTxn")
    assert next(codes) == 0
    assert client.insist(lambda: 0, lambda code: [code], "EndTxn") == 0


def test_a_request_without_an_answer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent() -> int:
        raise WireError("timed out")

    client = script_client(threading.Event(), monkeypatch)
    with pytest.raises(ScriptError, match="EndTxn: timed out"):
        client.insist(silent, lambda code: [code], "EndTxn")
    monkeypatch.setattr("harness.workloads.script._INSIST_S", -1.0)
    with pytest.raises(ScriptError, match="not within"):
        client.insist(lambda: 14, lambda code: [code], "EndTxn")
