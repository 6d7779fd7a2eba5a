"""The process of kafka-clients in a run whose workload uses that library."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from harness.clients.interface import ClientKind
from harness.clients.java.process import JAVA_MEND, JavaProcess, java_missing
from harness.cluster.engine import connect
from harness.cluster.images.files import jars_from
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from harness.run.stage import Stage

JARS = ("kafka-clients-", "lz4-java-", "snappy-java-", "zstd-jni-", "slf4j-api-")
"""The jars of the library and its dependencies; without a logging backend it logs nothing."""


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
def java_clients(stage: Stage) -> Iterator[JavaProcess | None]:
    """The process of kafka-clients until the end of the block; None if not needed.

    It has the jars of the run's image, which may be of a build that no repository has.

    Raises:
        KrucibleError: its jars can't be copied, or it did not start.
    """
    if not stage.plan.scenario.workload.needs_java:
        yield None
        return
    with closing(connect()) as client:
        jars = jars_from(client, stage.image, JARS, lambda line: stage.report("start", line))
    process = JavaProcess(jars, stage.folder)
    try:
        yield process
    finally:
        process.close()
