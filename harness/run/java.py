"""The processes of kafka-clients in a run whose workload uses that library."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from harness.clients.interface import JAVA_KINDS, ClientKind
from harness.clients.java.process import JAVA_MEND, JavaProcess, StartProcess, java_missing
from harness.clients.versions import version_of
from harness.cluster.engine import connect
from harness.cluster.images.files import jars_from
from harness.cluster.images.maven import Coordinate, resolve_of_version
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from harness.run.stage import Stage
from harness.vocabulary import StreamsWorkload
from harness.vocabulary.version import parse_version
from harness.workloads.context import has_clients

JARS = ("kafka-clients-", "lz4-java-", "snappy-java-", "zstd-jni-", "slf4j-api-")
"""The jars of the library and its dependencies; without a logging backend it logs nothing."""
_GROUP, _STREAMS = "org.apache.kafka", "kafka-streams"


def require_java(plan: RunPlan) -> None:
    """Check, before anything is started, that a run that needs kafka-clients can have it.

    Raises:
        KrucibleError: there is no Java on this host.
    """
    if not plan.scenario.workload.needs_java:
        return
    if reason := java_missing():
        raise KrucibleError(
            f"the scenario asks for the client {ClientKind.JAVA}, which this host can't run",
            got=reason,
            expected="Java 11 or newer",
            next_step=f"{JAVA_MEND}; or leave it out of the scenario's libraries",
        )


@contextmanager
def java_clients(stage: Stage) -> Iterator[Mapping[ClientKind, JavaProcess]]:
    """The processes of kafka-clients until the end of the block, one for each version that the load uses.

    Each has the jars of the image of its version.  That of the run may be of a build that no repository has.

    Raises:
        KrucibleError: jars can't be copied, or a process did not start.
    """
    with ExitStack() as running:
        processes: dict[ClientKind, JavaProcess] = {}
        for kind in JAVA_KINDS:
            if has_clients(stage.plan.scenario.workload, kind):
                processes[kind] = JavaProcess(_jars(stage, kind), stage.folder, kind)
                running.callback(processes[kind].close)
        yield processes


@contextmanager
def streams_processes(stage: Stage) -> Iterator[StartProcess | None]:
    """What starts the process of a member of a streams group, until the end of the block; None if not needed.

    Raises:
        KrucibleError: jars can't be had.
    """
    if not isinstance(stage.plan.scenario.workload, StreamsWorkload):
        yield None
        return
    jars = [*_jars(stage, ClientKind.JAVA), _streams_jar(stage)]
    with ExitStack() as running:

        def start(name: str, cancelled: threading.Event) -> JavaProcess:
            process = JavaProcess(jars, stage.folder, name=name, cancelled=cancelled)
            running.callback(process.close)
            return process

        yield start


def _streams_jar(stage: Stage) -> Path:
    """The jar of Kafka Streams, from the image if it has one, as images of releases do, or else by Maven.

    It needs no other jar than the client's: RocksDB is for stores on disk, and has a jar of 70 MB.
    """

    def say(line: str) -> None:
        stage.report("start", line)

    version = stage.plan.version
    with closing(connect()) as client:
        found = jars_from(
            client, stage.images[version], (f"{_STREAMS}-{parse_version(version)[0]}.",), say, needed=False
        )
    return found[0] if found else resolve_of_version(Coordinate(_GROUP, _STREAMS, version, alone=True), say)


def _jars(stage: Stage, kind: ClientKind) -> list[Path]:
    """The jars of a version of kafka-clients, from the image of that version."""
    plan = stage.plan
    image = stage.images[version_of(kind, plan.version, plan.scenario.workload.java_version)]
    with closing(connect()) as client:
        return jars_from(client, image, JARS, lambda line: stage.report("start", line))
