"""The process of kafka-clients in a run whose workload uses that library."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.clients.interface import ClientKind
from harness.clients.java.process import JAVA_MEND, JavaProcess, java_missing
from harness.cluster.images import Progress, maven
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from harness.run.stage import Stage
from harness.workloads.context import uses

_JARS = ("kafka-clients-", "lz4-java-", "snappy-java-", "zstd-jni-", "slf4j-api-")
"""The jars of the library and its dependencies; without a logging backend it logs nothing."""


def require_java(plan: RunPlan, say: Progress) -> None:
    """Check, before anything is started, that a run that needs kafka-clients can have it.

    Raises:
        KrucibleError: there is no Java on this host, or there are no jars of the run's version.
    """
    if not uses(plan.scenario.workload, ClientKind.JAVA):
        return
    if reason := java_missing():
        raise KrucibleError(
            f"the scenario asks for the client {ClientKind.JAVA}, which this host can't run",
            got=reason,
            expected="Java 11 or newer",
            next_step=f"{JAVA_MEND}; or leave it out of the scenario's libraries",
        )
    maven.resolve(plan.version, say)


@contextmanager
def java_clients(stage: Stage) -> Iterator[JavaProcess | None]:
    """The process of kafka-clients of the run's version until the end of the block; None if not needed.

    Raises:
        KrucibleError: its jars can't be resolved, or it did not start.
    """
    if not uses(stage.plan.scenario.workload, ClientKind.JAVA):
        yield None
        return
    folder = maven.resolve(stage.plan.version, lambda line: stage.report("start", line))
    process = JavaProcess(jars_of_client(folder), stage.folder)
    try:
        yield process
    finally:
        process.close()


def jars_of_client(folder: Path) -> list[Path]:
    """The jars of kafka-clients and its dependencies, out of all jars of a version of Kafka."""
    return sorted(jar for jar in folder.glob("*.jar") if jar.name.startswith(_JARS))
