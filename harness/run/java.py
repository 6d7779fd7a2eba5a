"""The processes of kafka-clients in a run whose workload uses that library."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from harness.clients.interface import JAVA_KINDS, ClientKind
from harness.clients.java.process import JAVA_MEND, JavaProcess, java_missing
from harness.clients.versions import version_of
from harness.cluster.engine import connect
from harness.cluster.images.files import jars_from
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from harness.run.stage import Stage
from harness.workloads.context import uses

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
def java_clients(stage: Stage) -> Iterator[Mapping[ClientKind, JavaProcess]]:
    """The processes of kafka-clients until the end of the block, one for each version that the load uses.

    Each has the jars of the image of its version.  That of the run may be of a build that no repository has.

    Raises:
        KrucibleError: jars can't be copied, or a process did not start.
    """
    with ExitStack() as running:
        processes: dict[ClientKind, JavaProcess] = {}
        for kind in JAVA_KINDS:
            if uses(stage.plan.scenario.workload, kind):
                processes[kind] = JavaProcess(_jars(stage, kind), stage.folder, kind)
                running.callback(processes[kind].close)
        yield processes


def _jars(stage: Stage, kind: ClientKind) -> list[Path]:
    """The jars of a version of kafka-clients, from the image of that version."""
    plan = stage.plan
    image = stage.images[version_of(kind, plan.version, plan.scenario.workload.java_version)]
    with closing(connect()) as client:
        return jars_from(client, image, JARS, lambda line: stage.report("start", line))
