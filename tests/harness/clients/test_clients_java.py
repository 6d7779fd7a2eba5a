"""kafka-clients in its process: all its errors are known, its death is reported, it ends with its parent."""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checkers.history.operations import OperationType
from harness.clients import (
    ClientFailedError,
    ClientKind,
    ConsumerOptions,
    NotOfferedError,
    ProducerOptions,
    ProducerRecord,
    ReadError,
)
from harness.clients.administrator import AdminAnswer, AdministratorOptions
from harness.clients.administrator_opening import open_administrator
from harness.clients.errors import TABLE as COMMON
from harness.clients.errors import Appended, ErrorSource, ProduceErrorRule
from harness.clients.group import MemberOptions
from harness.clients.group_opening import join_group
from harness.clients.interface import JAVA_KINDS
from harness.clients.java import remote
from harness.clients.java.errors import CODES, COMMIT_CODES, REFUSALS, TABLE, classify, error_line
from harness.clients.java.messages import ClientCall, Raised, Returned
from harness.clients.java.process import CRASH_FILE, LOG_FILE, JavaDiedError, JavaProcess, java_missing
from harness.clients.opening import (
    open_consumer,
    open_member,
    open_producer,
    open_share_admin,
    open_share_consumer,
    open_transactional,
)
from harness.clients.share import ShareAdminOptions, ShareOptions
from harness.clients.transactional import GroupOptions, TransactionalOptions
from harness.clients.transactional_errors import classify_commit
from harness.errors import KrucibleError
from harness.vocabulary import LogWorkload
from harness.workloads.context import clients_for
from tests.harness import java
from tests.harness.fakes.broker import FakeBroker
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
STARTED_MS = 30_000
"""How long a request may take: a share consumer's constructor fails if its thread needs longer to start."""
REFLECTION = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from harness.clients.java import jvm
jars = sys.argv[1:]
jvm.start(jars, Path("crash"))
loader = jvm.java("org.apache.kafka.common.errors.ApiException").class_
codes = {}
for known in jvm.java("org.apache.kafka.common.protocol.Errors").values():
    if known.exception() is not None:
        codes[str(known.exception().getClass().getName())] = [int(known.code()), str(known.name())]
found = {}
(jar,) = [jar for jar in jars if "/kafka-clients-" in jar]
for entry in jvm.java("java.util.jar.JarFile")(jar).stream().toArray():
    name = str(entry.getName())
    if not name.startswith("org/apache/kafka/") or not name.endswith(".class"):
        continue
    name = name.removesuffix(".class").replace("/", ".")
    try:
        kind = jvm.java("java.lang.Class").forName(name, False, loader.getClassLoader())
    except jvm.JavaError:
        continue  # a class of an optional dependency
    if loader.isAssignableFrom(kind):
        found[str(kind.getSimpleName())] = codes.get(name)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def exceptions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str] | None]:
    """Every subclass of ApiException in the jar; Kafka's code and name where brokers answer it."""
    done = subprocess.run(
        [sys.executable, "-c", REFLECTION, *map(str, java.jars())],
        cwd=tmp_path_factory.mktemp("reflection"),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=True,
    )
    return {name: found and tuple(found) for name, found in json.loads(done.stdout).items()}


def test_every_error_of_the_library_is_in_the_table(
    exceptions: dict[str, tuple[int, str] | None],
) -> None:
    assert len(exceptions) > 100
    assert sorted(exceptions.keys() - {row.key for row in TABLE}) == []


def test_the_library_and_the_table_agree_on_what_brokers_answer(
    exceptions: dict[str, tuple[int, str] | None],
) -> None:
    by_class = {row.key: row for row in TABLE}
    for name, code in COMMIT_CODES.items():
        known = exceptions[name]
        assert known is not None
        assert known[0] == code
    for name in CODES:
        known = exceptions[name]
        assert known is not None
        assert by_class[name].name == known[1]
    answered = {row.key for row in COMMON if row.source is ErrorSource.BROKER}
    assert answered - set(CODES.values()) == {7}, "a broker's timeout and the library's have one class"


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.key)
def test_an_error_fails_a_record_only_where_the_table_says_so(row: ProduceErrorRule) -> None:
    name = str(row.key)
    assert classify(name, only_attempt=False, acks="all").outcome is INFO
    only = classify(name, only_attempt=True, acks="all")
    assert (only.outcome is FAIL) == (row.appended is Appended.NO)
    assert only.reason == row.reason


def test_every_error_has_a_reason_and_one_row() -> None:
    assert all(row.reason for row in TABLE)
    assert len({row.key for row in TABLE}) == len(TABLE)
    assert {row.source for row in TABLE} == {ErrorSource.JAVA}
    assert classify("Unheard", only_attempt=True, acks="1").outcome is INFO


def test_what_is_refused_before_it_is_queued_is_in_the_table_where_kafka_has_it(
    exceptions: dict[str, tuple[int, str] | None],
) -> None:
    assert REFUSALS - exceptions.keys() == {"SerializationException", "IllegalArgumentException"}


def test_no_commit_of_the_library_is_known_to_have_failed() -> None:
    for code in COMMIT_CODES.values():
        assert classify_commit(ErrorSource.BROKER, code, only_attempt=False).outcome is INFO
    for name in ("TimeoutException", "KafkaException", "Unheard"):
        assert classify_commit(ErrorSource.JAVA, name, only_attempt=False).outcome is INFO


def test_an_error_is_reported_by_kafkas_name() -> None:
    assert error_line("OutOfOrderSequenceException", "a; b\n c") == "OUT_OF_ORDER_SEQUENCE_NUMBER: a, b c"
    assert error_line("Unheard", "") == "Unheard"


def made(folder: Path) -> JavaProcess:
    return JavaProcess(java.jars(), folder)


def test_a_process_that_dies_is_reported_by_every_client(tmp_path: Path) -> None:
    process = made(tmp_path)
    with FakeBroker() as broker:
        producer = open_producer(ClientKind.JAVA, ProducerOptions((broker.bootstrap,), "log-0"), process)
        consumer = open_consumer(ClientKind.JAVA, ConsumerOptions((broker.bootstrap,), "log-0"), process)
        os.kill(process.pid, signal.SIGSEGV)
        with pytest.raises(JavaDiedError, match="SIGABRT") as caught:
            producer.send([ProducerRecord(0, b"a")])
        with pytest.raises(JavaDiedError):
            consumer.poll(0)
        for client in (producer, consumer):
            with pytest.raises(JavaDiedError):
                client.close(BOUND_S)
        with pytest.raises(JavaDiedError):
            open_producer(ClientKind.JAVA, ProducerOptions((broker.bootstrap,), "log-0"), process)
    process.close()
    assert caught.value.where == str(tmp_path / LOG_FILE.format(ClientKind.JAVA))
    assert (tmp_path / CRASH_FILE.format(ClientKind.JAVA)).exists()
    assert "SLF4J" not in caught.value.got


def test_clients_of_share_groups_report_what_fails(tmp_path: Path) -> None:
    process = made(tmp_path)
    with FakeBroker() as broker:
        where = (broker.bootstrap,)
        member = open_share_consumer(ShareOptions(where, "share-0", "log-0", STARTED_MS, 5), process)
        admin = open_share_admin(ShareAdminOptions(where, 300), process)
        with pytest.raises(ReadError):
            admin.configure("share-0", {"share.auto.offset.reset": "earliest"})
        with pytest.raises(ReadError):
            admin.starts("share-0", "log-0", [0])
        assert member.poll(0.1) == []
        for client in (member, admin):
            client.close(BOUND_S)
        with pytest.raises(ClientFailedError):
            open_share_consumer(ShareOptions(("nowhere",), "share-0", "log-0", STARTED_MS, 5), process)
        with pytest.raises(ClientFailedError):
            open_share_admin(ShareAdminOptions(("nowhere",), 300), process)
    process.close()


def test_clients_of_share_groups_need_the_process() -> None:
    with pytest.raises(NotOfferedError):
        open_share_consumer(ShareOptions(("localhost:1",), "share-0", "log-0", 300, 5), None)
    with pytest.raises(NotOfferedError):
        open_share_admin(ShareAdminOptions(("localhost:1",), 300), None)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_ends_with_its_parent(tmp_path: Path, how: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), *map(str, java.jars())],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert Path(f"/proc/{child}").exists()
        parent.send_signal(how)
        parent.wait(BOUND_S)
    wait_until(lambda: is_gone(child))


PARENT = """
import sys, threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from harness.clients.java.process import JavaProcess
process = JavaProcess([Path(jar) for jar in sys.argv[2:]], Path(sys.argv[1]))
print(process.pid, flush=True)
threading.Event().wait()
"""


def is_gone(pid: int) -> bool:
    """Whether a process has ended, be it that nobody has asked for its exit code yet."""
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"


def test_closing_does_not_wait_for_what_clients_do(tmp_path: Path) -> None:
    process = made(tmp_path)
    with FakeBroker() as broker:
        broker.produce_error = None
        options = ProducerOptions((broker.bootstrap,), "log-0", delivery_ms=600_000, request_ms=500_000)
        client = open_producer(ClientKind.JAVA, options, process)
        died: list[BaseException] = []

        def send() -> None:
            try:
                client.send([ProducerRecord(0, b"a")])
            except JavaDiedError as error:
                died.append(error)

        sending = threading.Thread(target=send)
        sending.start()
        wait_until(lambda: any(key == 0 for key, _ in broker.asked))
        process.close()
        sending.join(BOUND_S)
    assert len(died) == 1


def test_a_jvm_that_does_not_start_is_reported(tmp_path: Path) -> None:
    java.jars()
    with pytest.raises(KrucibleError, match="did not start") as caught:
        JavaProcess([tmp_path / "none.jar"], tmp_path)
    assert "ended with 1" in caught.value.got
    assert not (tmp_path / CRASH_FILE.format(ClientKind.JAVA)).exists()


def test_a_host_without_java_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert java_missing() == "java is not installed"
    monkeypatch.setenv("JAVA_HOME", "/anywhere")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert java_missing() == "the Python package JPype1 is not installed"


@pytest.mark.parametrize("kind", JAVA_KINDS)
def test_without_its_process_no_client_is_made(kind: ClientKind) -> None:
    makes: tuple[Callable[[], object], ...] = (
        lambda: open_producer(kind, ProducerOptions((), "log-0")),
        lambda: open_consumer(kind, ConsumerOptions((), "log-0")),
        lambda: open_transactional(kind, TransactionalOptions((), "name", 1_000)),
        lambda: open_member(kind, GroupOptions((), "group-0", "log-0")),
        lambda: join_group(kind, MemberOptions((), "group-0", "log-0")),
        lambda: open_administrator(kind, AdministratorOptions(())),
    )
    for make in makes:
        with pytest.raises(NotOfferedError):
            make()


def test_each_version_has_its_own_process() -> None:
    made: list[Any] = []
    processes: dict[ClientKind, Any] = {
        kind: SimpleNamespace(connect=lambda kind=kind: made.append(kind)) for kind in JAVA_KINDS
    }
    clients = clients_for(LogWorkload(), ("localhost:1",), processes)
    for kind in JAVA_KINDS:
        with pytest.raises(AttributeError):  # there is no connection
            clients.producer(kind, "log-0")
    assert made == list(JAVA_KINDS)


def test_an_administrator_of_a_silent_process_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_GRACE_S", 0.05)
    asked: tuple[tuple[Callable[[remote.RemoteAdministrator], AdminAnswer], OperationType], ...] = (
        (lambda one: one.commit_offset("group-0", "log-0", 0, 1), INFO),
        (lambda one: one.committed_offset("group-0", "log-0", 0), FAIL),
        (lambda one: one.alter_config("log-0", "flush.ms", 1), INFO),
        (lambda one: one.config("log-0", "flush.ms"), FAIL),
        (lambda one: one.create_topic("made-0", 1, 1), INFO),
        (lambda one: one.delete_topic("made-0"), INFO),
    )
    for ask, outcome in asked:
        deaf = Deaf(Returned(None))
        administrator = remote.RemoteAdministrator(deaf, AdministratorOptions((), operation_ms=10))  # type: ignore[arg-type]
        assert not administrator.spent
        assert ask(administrator).outcome is outcome
        assert administrator.spent
        with pytest.raises(ClientFailedError):
            administrator.close(0.05)
        deaf.end()


class Deaf:
    """A process whose client answers once, that it was made, and never again."""

    kind = ClientKind.JAVA

    def __init__(self, first: Returned | Raised) -> None:
        ours, theirs = socket.socketpair()
        self._ours, self._theirs = Connection(ours.detach()), Connection(theirs.detach())
        self._theirs.send(first)

    def connect(self) -> "Connection[ClientCall, Returned]":
        return self._ours

    def end(self) -> None:
        self._theirs.close()


def test_a_process_that_makes_no_client_any_more_ends_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_MAKE_S", 0.05)
    monkeypatch.setattr(remote, "_GRACE_S", 0.0)
    ours, theirs = socket.socketpair()
    ended: list[str] = []

    def hung(why: str) -> JavaDiedError:
        ended.append(why)
        return JavaDiedError("the client kafka-clients hangs")

    connect = lambda: Connection(ours.detach())  # noqa: E731
    process: Any = SimpleNamespace(kind=ClientKind.JAVA, connect=connect, hung=hung)
    with pytest.raises(JavaDiedError, match="hangs"):
        remote.RemoteProducer(process, ProducerOptions((), "log-0"))
    assert len(ended) == 1
    theirs.close()


def test_silence_of_the_process_is_open_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_GRACE_S", 0.05)
    deaf = Deaf(Returned(None))
    producer = remote.RemoteProducer(deaf, ProducerOptions((), "log-0", delivery_ms=50))  # type: ignore[arg-type]
    (sent,) = producer.send([ProducerRecord(0, b"a")])
    assert (sent.outcome, "did not return within" in (sent.error or "")) == (INFO, True)
    assert producer.send([ProducerRecord(0, b"b")])[0].outcome is INFO
    with pytest.raises(ClientFailedError, match="has not since"):
        producer.close(0.05)
    deaf.end()

    deaf = Deaf(Returned(None))
    consumer = remote.RemoteConsumer(deaf, ConsumerOptions((), "log-0", request_ms=10))  # type: ignore[arg-type]
    with pytest.raises(ReadError, match="poll did not return"):
        consumer.poll(0.01)
    with pytest.raises(ClientFailedError):
        consumer.close(0.05)
    deaf.end()


def test_a_member_of_a_silent_process_owns_nothing_and_its_commit_may_have_happened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote, "_GRACE_S", 0.05)
    deaf = Deaf(Returned(None))
    options = MemberOptions((), "group-0", "log-0", request_ms=10, commit_ms=10)
    member = remote.RemoteMember(deaf, options)  # type: ignore[arg-type]
    answer = member.commit({0: 1})
    assert (answer.outcome, "commit did not return" in (answer.error or "")) == (INFO, True)
    with pytest.raises(ReadError):
        member.poll(0.01)
    assert member.owned == frozenset()
    with pytest.raises(ClientFailedError):
        member.close(0.05)
    deaf.end()


def test_a_client_that_java_does_not_make_is_reported_as_such() -> None:
    deaf = Deaf(Raised(ClientFailedError("no such setting")))
    with pytest.raises(ClientFailedError, match="no such setting"):
        remote.RemoteProducer(deaf, ProducerOptions((), "log-0"))  # type: ignore[arg-type]
    deaf.end()
