"""The identity of a run: what ran, with which options and on which host, collected at its beginning."""

import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from checkers.history.identity import (
    HostIdentity,
    ImageIdentity,
    NodeFileIdentity,
    RunIdentity,
)
from harness.clients.interface import ClientKind
from harness.clients.versions import version_of
from harness.cluster.images import KafkaImage
from harness.plan.planning import RunPlan
from harness.run.own_identity import commit
from harness.workloads.context import uses


def identify(
    plan: RunPlan, run: str, began_at: str, images: Sequence[KafkaImage], engine: str
) -> RunIdentity:
    """The identity of a run that is about to start.

    Args:
        plan: plan of the run.
        run: id of the run.
        began_at: wall-clock time, ISO 8601 in UTC.
        images: images of Kafka; first of the run's version, then of other versions of nodes or clients.
        engine: version of the engine.
    """
    topology, workload = plan.scenario.topology, plan.scenario.workload
    image, *others = images
    return RunIdentity(
        run=run,
        scenario=plan.options.scenario,
        seed=plan.options.seed,
        kafka_version=plan.version,
        began_at=began_at,
        reproduce=plan.reproduce,
        argv=(Path(sys.argv[0]).name, *sys.argv[1:]),  # not where it is installed
        krucible_commit=commit(),
        image=_image(image),
        other_images={other.version: _image(other) for other in others},
        clients={
            kind: version_of(kind, plan.version, workload.java_version)
            for kind in ClientKind
            if uses(workload, kind)
        },
        features=topology.features,
        host=_host(engine),
        config=topology.config,
        jvm_options=topology.jvm_options,
        node_files=tuple(
            NodeFileIdentity(source=f.source, destination=f.destination) for f in topology.node_files
        ),
        options=msgspec.to_builtins(plan.options),
        replay_of=plan.replay_of,
        seeded_bug=plan.options.seeded_bug or "",
    )


def _image(image: KafkaImage) -> ImageIdentity:
    return ImageIdentity(
        reference=image.reference,
        source=image.source,
        digest=image.digest,
        checksums={"jars": image.checksums, **({"upstream": image.upstream} if image.upstream else {})},
        tools=image.tools,
    )


def _host(engine: str) -> HostIdentity:
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return HostIdentity(
        kernel=platform.release(),
        cpus=len(os.sched_getaffinity(0)),
        memory_mib=memory_bytes >> 20,
        engine=engine,
    )
