"""Members of Kafka Streams for real, without a cluster: they count, start, are closed, killed, cancelled."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from harness.clients import ClientFailedError, NotOfferedError, ReadError
from harness.clients.java import process, remote
from harness.clients.java.messages import ClientCall, Raised, Returned
from harness.clients.java.process import JavaDiedError, JavaProcess, StartCancelledError
from harness.clients.opening import open_streams
from harness.clients.streams import StreamsOptions
from harness.cluster.folders import cache_folder
from harness.vocabulary import StreamsWorkload
from harness.vocabulary.version import DEFAULT_VERSION
from harness.workloads.context import clients_for
from tests.harness import java
from tests.harness.waiting import BOUND_S, wait_until

OPTIONS = StreamsOptions(("127.0.0.1:9",), "app-0", "member-1", "in-0", "out-0", 2_000, 6_000)
COUNTING = """
import json, sys
from pathlib import Path
from harness.clients.java import jvm, streaming
from harness.clients.streams import StreamsOptions

jvm.start(sys.argv[1:], Path("crash"))
streams = streaming.JavaStreams.__new__(streaming.JavaStreams)
streams._options = StreamsOptions(("127.0.0.1:9",), "app-0", "member-1", "in-0", "out-0", 2_000, 6_000)
streams._processed, streams._error, streams._failure = 0, None, None
described = str(streams._topology().describe())

class Context:
    def __init__(self):
        self.store = jvm.java("java.util.HashMap")()
        self.out = []

    def getStateStore(self, name):
        return self.store

    def recordMetadata(self):
        headers = jvm.java("org.apache.kafka.common.header.internals.RecordHeaders")()
        context = jvm.java("org.apache.kafka.streams.processor.internals.ProcessorRecordContext")
        return jvm.java("java.util.Optional").of(context(1, 2 + len(self.out), 3, "in-0", headers))

    def forward(self, record):
        self.out.append([bytes(record.key()).decode(), json.loads(bytes(record.value()))])

context = Context()
failures = []
counting = streaming._Counting("member-1", streams._add, failures.append)
counting.init(context)
record = jvm.java("org.apache.kafka.streams.processor.api.Record")
for key, value in ((b"5", b"run:12"), (b"5", b"run:13"), (b"6", b"run:14")):
    counting.process(record(jvm.to_java(key), jvm.to_java(value), 0))
counting._store = None
try:
    counting.process(record(jvm.to_java(b"5"), jvm.to_java(b"run:15"), 0))
except AttributeError:
    pass
where = streaming._same_partition("out-0", jvm.to_java(b"3"), None, 4)
print(json.dumps([described, context.out, streams._processed, len(failures), str(where.get())]))
"""


def streams_jars() -> list[Path]:
    """The jars of a member; skips the test where it can't have them."""
    name = f"kafka-streams-{DEFAULT_VERSION}"
    jar = cache_folder() / "jars" / name / f"{name}.jar"
    jars = java.jars()
    if not jar.is_file():
        pytest.skip(f"{jar.name} is not here; a run of exploratory/streams gets it")
    return [*jars, jar]


def start(folder: Path) -> JavaProcess:
    return JavaProcess(streams_jars(), folder, name=OPTIONS.member)


def test_records_are_counted_and_go_to_the_partition_of_the_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, *map(str, streams_jars())],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=True,
    )
    described, out, processed, failures, where = json.loads(done.stdout)
    assert "stores: [counts]" in described
    assert [key for key, _ in out] == ["3", "3", "3"]
    assert [(one["offset"], one["key"], one["count"], one["value"]) for _, one in out] == [
        (2, "5", 1, "run:12"),
        (3, "5", 2, "run:13"),
        (4, "6", 1, "run:14"),
    ]
    assert out[0][1]["member"] == "member-1"
    assert (processed, failures, where) == (3, 1, "[3]")


def test_a_member_starts_without_its_cluster_and_is_closed_with_its_process(tmp_path: Path) -> None:
    started = start(tmp_path)
    member = remote.RemoteStreams(started, OPTIONS)
    wait_until(lambda: member.status().state == "REBALANCING")
    assert member.status().processed == 0
    with contextlib.suppress(ClientFailedError):  # without a cluster its thread may not end in time
        member.close(BOUND_S)
    with pytest.raises(ProcessLookupError):
        os.kill(started.pid, 0)
    assert (tmp_path / "member-1.log").exists()


def test_a_member_that_is_killed_is_gone(tmp_path: Path) -> None:
    started = start(tmp_path)
    member = remote.RemoteStreams(started, OPTIONS)
    member.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(started.pid, 0)
    with pytest.raises(JavaDiedError):
        member.status()
    started.close()


def test_the_start_of_a_process_is_no_longer_awaited_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cancelled = threading.Event()
    cancelled.set()
    monkeypatch.setattr(process, "_LOOK_S", 0.01)
    with pytest.raises(StartCancelledError):
        JavaProcess(java.jars(), tmp_path, name="late", cancelled=cancelled)


class Deaf:
    """A process whose client answers nothing but its making."""

    kind = "kafka-clients"

    def __init__(self, *answers: Any) -> None:
        self.answers = [*answers]
        self.killed = 0

    def connect(self) -> Any:
        return self

    def send(self, message: Any) -> None:
        assert isinstance(message, StreamsOptions | ClientCall)

    def poll(self, _timeout: float) -> bool:
        return bool(self.answers)

    def recv(self) -> Any:
        return self.answers.pop(0)

    def close(self) -> None:
        """Close the connection, which is this object."""

    def kill(self) -> None:
        self.killed += 1


def test_a_member_that_does_not_answer_is_killed_when_it_is_closed() -> None:
    deaf = Deaf(Returned(None))
    member = remote.RemoteStreams(deaf, OPTIONS)  # type: ignore[arg-type]
    with pytest.raises(ReadError, match="did not return"):
        member.status()
    with pytest.raises(ClientFailedError):
        member.close(1)
    assert deaf.killed == 1


def test_a_member_that_does_not_close_is_killed() -> None:
    deaf = Deaf(Returned(None), Raised(ClientFailedError("it did not close")))
    member = remote.RemoteStreams(deaf, OPTIONS)  # type: ignore[arg-type]
    with pytest.raises(ClientFailedError, match="did not close"):
        member.close(1)
    assert deaf.killed == 1


def test_a_load_without_members_offers_none() -> None:
    with pytest.raises(NotOfferedError):
        open_streams(OPTIONS, None, threading.Event())


def test_the_process_of_a_member_has_its_name() -> None:
    asked: list[str] = []

    def started(name: str, cancelled: threading.Event) -> Any:
        assert not cancelled.is_set()
        asked.append(name)
        return Deaf(Returned(None))

    clients = clients_for(StreamsWorkload(), ("localhost:1",), None, started)
    clients.streams_member(OPTIONS, threading.Event())
    assert asked == ["member-1"]
