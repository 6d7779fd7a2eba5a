"""The stage of a run: folder, journals, ledger and a cluster that is ready; all of it gone at the end."""

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from checkers.history.identity import IDENTITY_FILE, encode_identity
from checkers.runs.told_coordinators import EVIDENCE_COORDINATORS
from harness.cluster.cluster import Cluster, Plan, make_mount_points, remove_run
from harness.cluster.containers import RunContainers
from harness.cluster.engine import Engine, compose_binary, connect, engine_facts
from harness.cluster.images import KafkaImage, ensure_base, ensure_image
from harness.cluster.logs import LOG_FILE, save_logs
from harness.errors import KrucibleError
from harness.evidence.disks import EVIDENCE
from harness.kafka.answers import TopicAnswer
from harness.kafka.sizes import TopicSizes
from harness.kafka.topics import NewTopic, create_topic
from harness.plan.chance import least_operations
from harness.plan.planning import RunPlan
from harness.plan.schedule import blinks_of, encode, faults_alone, gambits_of
from harness.record.events import Event, Listener, PhaseBegan, RunBegan
from harness.record.folder import SCHEDULE_FILE, create_run_folder
from harness.record.journal import RUNNER, Clock, Journals, Recorder
from harness.record.ledger import Ledger, RunOpened, RunRemoved
from harness.record.ownership import this_process
from harness.record.tally import Tally
from harness.run.beside import beside, nothing
from harness.run.identification import identify
from harness.run.readiness import Readiness
from harness.run.starting import start_ready
from harness.seeded_bugs.seeding import with_bug
from harness.vocabulary import Workload
from harness.vocabulary.scenario import FixedSchedule, RandomSchedule
from harness.vocabulary.topology import Topology
from harness.workloads.context import final_readers_of, workers_of

OBSERVE_INTERVAL_MS = 250
CONTROLLER_FETCH_TIMEOUT_KEY = "controller.quorum.fetch.timeout.ms"
CONTROLLER_FETCH_TIMEOUT_MS = 2_000
"""Kafka's default."""


class Stage:
    """What every part of a run needs.

    Attributes:
        sizes: how many partitions the topics have, as far as some were added to them.
        going: the cluster, which is taken away once the stage is closed; beside whatever comes then.
    """

    def __init__(
        self,
        *,
        plan: RunPlan,
        folder: Path,
        journals: Journals,
        ledger: Ledger,
        listener: Listener,
        tally: Tally,
    ) -> None:
        self.plan = plan
        self.folder = folder
        self.journals = journals
        self.ledger = ledger
        self.tally = tally
        self.recorder = Recorder(journals.open(RUNNER, RUNNER), "runner")
        self._listener = listener
        self.going = nothing()
        self.sizes = TopicSizes()
        self.cluster: Cluster
        self.topics: tuple[TopicAnswer, ...]

    def tell(self, phase: str, detail: str = "", limit_s: float | None = None) -> None:
        """Say that a phase began, without recording it."""
        self._listener(PhaseBegan(phase, detail, limit_s))

    def phase(self, name: str, detail: str = "", limit_s: float | None = None) -> None:
        """Record that a phase began, and say so."""
        self.recorder.observe("phase", name)
        self.tell(name, detail, limit_s)


class _Images(msgspec.Struct, frozen=True):
    """What a cluster is made of: Kafka's images, and the reference of the holders' one."""

    kafka: KafkaImage
    others: dict[str, str]
    holder: str


@contextmanager
def open_stage(
    plan: RunPlan, runs: Path, listener: Listener, cancelled: threading.Event, *, keep: bool
) -> Iterator[Stage]:
    """Have the images, make the folder, start the cluster, create the topics, record the setup.

    On the way out the history is ended.  The cluster and its disks go beside what comes then, unless it is to
    be kept.

    Raises:
        ClusterNotReadyError: if no start became ready, and not by the host's fault.
        KrucibleError: if anything else of it fails; nothing is left behind but the folder, and not even that
            where the images can't be had.
    """
    with ExitStack() as cleanup:
        client = connect()
        cleanup.callback(client.close)
        images = _images(plan, client, listener)
        folder = create_run_folder(runs, plan.options.scenario, plan.options.seed)
        listener(RunBegan(plan.options.scenario, plan.version, plan.options.seed, str(folder)))
        stage = _opened(plan, folder, listener, cleanup)
        _write_identity(stage, images.kafka, engine_facts(client).version)
        asked = _asked(stage, images, keep=keep)
        stage.ledger.write(RunOpened(run=asked.run, owner=this_process(os.getpid()), kept=keep))
        if not keep:
            cleanup.callback(_remove, client, asked, stage.ledger)
        stage.cluster, ready = start_ready(stage, client, asked, compose_binary(), cancelled)
        stage.topics = _create_topics(stage)
        stage.recorder.observe("setup", None, _setup(stage, ready))
        yield stage
        stage.journals.close()
        stage.going = beside(cleanup.pop_all().close, "removal")


def _images(plan: RunPlan, client: Engine, listener: Listener) -> _Images:
    """The images, built or pulled where they are not here yet."""

    def progress(line: str) -> None:
        listener(PhaseBegan("image", line))

    kafka, *rest = (
        ensure_image(asked.version, asked.source, progress, client, asked.given) for asked in plan.images
    )
    others = {image.version: image.reference for image in rest}
    return _Images(kafka, others, ensure_base(progress, client))


def _opened(plan: RunPlan, folder: Path, listener: Listener, cleanup: ExitStack) -> Stage:
    """Journals and ledger in the folder, closed at the end."""
    tally = Tally()

    def tell_both(event: Event) -> None:
        tally.hear(event)
        listener(event)

    journals = Journals(folder, secrets.token_hex(4), Clock(), tell_both)
    cleanup.callback(journals.close)
    ledger = Ledger(folder)
    cleanup.callback(ledger.close)
    return Stage(plan=plan, folder=folder, journals=journals, ledger=ledger, listener=listener, tally=tally)


def _asked(stage: Stage, images: _Images, *, keep: bool) -> Plan:
    """What is to be started."""
    topology = _topology(stage)
    stage.tell("start", f"{len(topology.nodes())} nodes, {topology.mode}, {topology.quorum} quorum")
    return Plan(
        run=stage.journals.run,
        folder=stage.folder,
        topology=topology,
        version=stage.plan.version,
        kafka_image=images.kafka.reference,
        holder_image=images.holder,
        kept=keep,
        images_by_version=images.others,
    )


def _topology(stage: Stage) -> Topology:
    """The scenario's, its nodes with a bug where one was asked for."""
    return with_bug(
        stage.plan.scenario.topology,
        stage.plan.options.seeded_bug or "",
        stage.plan.version,
        stage.folder,
        lambda line: stage.tell("seed", line),
    )


def _remove(client: Engine, plan: Plan, ledger: Ledger) -> None:
    """Take the cluster away; a run that failed before its evidence was gathered keeps its nodes' logs."""
    if not list(plan.folder.glob(f"nodes/*/{LOG_FILE}")):
        with suppress(KrucibleError, OSError):
            save_logs(RunContainers(client, plan.run).nodes(), plan.folder)
    remove_run(client, plan.run, plan.folder)
    with suppress(OSError):  # the same disk; only a start by hand would need them
        make_mount_points(plan.folder, plan.topology)
    with suppress(KrucibleError):  # the disk is full, which has been told; nothing is left to heal
        ledger.write(RunRemoved())


def _write_identity(stage: Stage, image: KafkaImage, engine: str) -> None:
    identity = identify(stage.plan, stage.journals.run, stage.journals.began_at, image, engine)
    (stage.folder / IDENTITY_FILE).write_bytes(encode_identity(identity))
    (stage.folder / SCHEDULE_FILE).write_bytes(encode(stage.plan.schedule))


def _create_topics(stage: Stage) -> tuple[TopicAnswer, ...]:
    brokers = list(stage.cluster.observe_listeners.values())
    return tuple(create_topic(brokers, topic) for topic in _wanted(stage.plan.scenario.workload))


def _wanted(workload: Workload) -> Iterator[NewTopic]:
    for topic in workload.topics:
        yield NewTopic(
            topic.name,
            partitions=workload.partitions,
            replication_factor=workload.replication_factor,
            assignments=workload.assignments,
            config={"min.insync.replicas": str(workload.min_insync_replicas), **topic.config},
        )


def _drawn(plan: RunPlan) -> dict[str, Any]:
    """What the setup says of a schedule that chance drew; nothing of others."""
    asked = plan.scenario.schedule
    if not isinstance(asked, RandomSchedule):
        return {}
    acts = plan.schedule.acts if isinstance(plan.schedule, FixedSchedule) else ()
    return {"drawn_faults": True, "operations_min": least_operations(asked, acts)}


def _setup(stage: Stage, ready: Readiness) -> dict[str, Any]:
    """The value of the ``setup`` operation; see docs/histories.md."""
    plan, topology, workload = stage.plan, stage.plan.scenario.topology, stage.plan.scenario.workload
    fetch_timeout = topology.config.get(CONTROLLER_FETCH_TIMEOUT_KEY, CONTROLLER_FETCH_TIMEOUT_MS)
    expected = plan.expectation
    topics = [
        {
            "name": made.name,
            "topic_id": made.topic_id,
            "partitions": new.partitions,
            "replication_factor": new.replication_factor,
            "config": new.config,
            "loaded": asked.loaded,
        }
        for made, new, asked in zip(stage.topics, _wanted(workload), workload.topics, strict=True)
    ]
    return {
        "kafka_version": plan.version,
        "scenario": plan.options.scenario,
        "seed": plan.options.seed,
        "mode": topology.mode,
        "quorum": topology.quorum,
        "features": ready.features,
        "nodes": [{"name": node.name, "id": node.id, "roles": node.roles} for node in topology.nodes()],
        "topics": topics,
        "config": topology.config,
        "node_config": topology.node_config,
        "node_versions": topology.node_versions,
        "promises": plan.scenario.promises,
        "workload": {
            "workers": workers_of(workload),
            "durable_processes": [workload.processes],
            **msgspec.to_builtins(workload),
        },
        "controller_fetch_timeout_ms": int(fetch_timeout),
        "observe_interval_ms": OBSERVE_INTERVAL_MS,
        "assumptions": msgspec.to_builtins(plan.scenario.assumptions),
        "planned_faults": len(faults_alone(plan.schedule)),
        **({"planned_gambits": len(gambits)} if (gambits := gambits_of(plan.schedule)) else {}),
        **({"planned_blinks": len(blinks)} if (blinks := blinks_of(plan.schedule)) else {}),
        **_drawn(plan),
        **({"seeded_bug": plan.options.seeded_bug} if plan.options.seeded_bug else {}),
        "controls": workload.controls,
        "final_readers": len(final_readers_of(workload)),
        "evidence": (*EVIDENCE, EVIDENCE_COORDINATORS),
        "ready": {name: value for name, value in msgspec.to_builtins(ready).items() if name != "features"},
        "expected": expected.validity,
        "expected_anomalies": expected.anomalies,
    }
