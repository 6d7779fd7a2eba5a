"""The stage of a run: folder, journals, ledger and a cluster that is ready; all of it gone at the end."""

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from checkers.identity import IDENTITY_FILE, encode_identity
from harness.admin import NewTopic, create_topic
from harness.cluster.cluster import Cluster, Plan, remove_run, start_cluster
from harness.cluster.engine import compose_binary, connect, engine_facts
from harness.cluster.images import KafkaImage, ensure_base, ensure_image
from harness.events import Event, Listener, PhaseBegan, RunBegan
from harness.folder import SCHEDULE_FILE, create_run_folder
from harness.identification import identify
from harness.journal import Clock, Journals, Recorder
from harness.ledger import Ledger, RunOpened, RunRemoved
from harness.ownership import this_process
from harness.planning import RunPlan
from harness.readiness import Readiness, await_ready
from harness.schedule import encode
from harness.tally import Tally
from harness.wire import TopicAnswer

TOPIC = "log-0"
OBSERVE_INTERVAL_MS = 250
CONTROLLER_FETCH_TIMEOUT_KEY = "controller.quorum.fetch.timeout.ms"
CONTROLLER_FETCH_TIMEOUT_MS = 2_000
"""Kafka's default."""


class Stage:
    """What every part of a run needs."""

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
        self.recorder = Recorder(journals.open("runner"), "runner")
        self._listener = listener
        self.cluster: Cluster
        self.topic: TopicAnswer

    def tell(self, phase: str, detail: str = "", limit_s: float | None = None) -> None:
        """Say that a phase began, without recording it."""
        self._listener(PhaseBegan(phase, detail, limit_s))

    def phase(self, name: str, detail: str = "", limit_s: float | None = None) -> None:
        """Record that a phase began, and say so."""
        self.recorder.observe("phase", name)
        self.tell(name, detail, limit_s)


@contextmanager
def open_stage(plan: RunPlan, runs: Path, listener: Listener, *, keep: bool) -> Iterator[Stage]:
    """Make the folder, start the cluster, wait until it is ready, create the topic, record the setup.

    On the way out the cluster and its disks are removed, unless it is to be kept.

    Raises:
        KrucibleError: if any of it fails; nothing is left behind but the folder.
    """
    client = connect()
    folder = create_run_folder(runs, plan.options.scenario, plan.options.seed)
    listener(RunBegan(plan.options.scenario, plan.version, plan.options.seed, str(folder)))
    run = secrets.token_hex(4)
    with ExitStack() as cleanup:
        tally = Tally()

        def tell_both(event: Event) -> None:
            tally.hear(event)
            listener(event)

        journals = Journals(folder, run, Clock(), tell_both)
        cleanup.callback(journals.close)
        ledger = Ledger(folder)
        cleanup.callback(ledger.close)
        stage = Stage(
            plan=plan, folder=folder, journals=journals, ledger=ledger, listener=listener, tally=tally
        )
        stage.tell("image", f"Kafka {plan.version}")
        progress = lambda line: stage.tell("image", line)  # noqa: E731 - two callers, one thought
        image = ensure_image(plan.version, plan.options.image_source, progress, client)
        holder = ensure_base(progress, client)
        _write_identity(stage, run, image, engine_facts(client).version)
        ledger.write(RunOpened(run=run, owner=this_process(os.getpid()), kept=keep))
        topology = plan.scenario.topology
        stage.tell("start", f"{len(topology.nodes())} nodes, {topology.mode}, {topology.quorum} quorum")
        start = Plan(
            run=run,
            folder=folder,
            topology=topology,
            version=plan.version,
            kafka_image=image.reference,
            holder_image=holder,
            kept=keep,
        )
        if not keep:
            cleanup.callback(_remove, client, start, ledger)
        stage.cluster = start_cluster(client, start, compose_binary())
        ready = await_ready(stage.cluster)
        stage.topic = _create_topic(stage)
        stage.recorder.observe("setup", None, _setup(stage, ready))
        yield stage


def _remove(client: Any, plan: Plan, ledger: Ledger) -> None:
    remove_run(client, plan.run, plan.folder)
    ledger.write(RunRemoved())


def _write_identity(stage: Stage, run: str, image: KafkaImage, engine: str) -> None:
    identity = identify(stage.plan, run, stage.journals.began_at, image, engine)
    (stage.folder / IDENTITY_FILE).write_bytes(encode_identity(identity))
    (stage.folder / SCHEDULE_FILE).write_bytes(encode(stage.plan.schedule))


def _create_topic(stage: Stage) -> TopicAnswer:
    workload = stage.plan.scenario.workload
    topic = NewTopic(
        TOPIC,
        partitions=workload.partitions,
        replication_factor=workload.replication_factor,
        config={"min.insync.replicas": str(workload.min_insync_replicas)},
    )
    return create_topic(list(stage.cluster.observe_listeners.values()), topic)


def _setup(stage: Stage, ready: Readiness) -> dict[str, Any]:
    """The value of the ``setup`` operation; see docs/histories.md."""
    plan, topology, workload = stage.plan, stage.plan.scenario.topology, stage.plan.scenario.workload
    fetch_timeout = topology.config.get(CONTROLLER_FETCH_TIMEOUT_KEY, CONTROLLER_FETCH_TIMEOUT_MS)
    expected = plan.expectation
    topic = {
        "name": stage.topic.name,
        "topic_id": stage.topic.topic_id,
        "partitions": workload.partitions,
        "replication_factor": workload.replication_factor,
        "config": {"min.insync.replicas": str(workload.min_insync_replicas)},
    }
    return {
        "kafka_version": plan.version,
        "scenario": plan.options.scenario,
        "seed": plan.options.seed,
        "mode": topology.mode,
        "quorum": topology.quorum,
        "features": ready.features,
        "nodes": [{"name": node.name, "id": node.id, "roles": node.roles} for node in topology.nodes()],
        "topics": [topic],
        "config": topology.config,
        "workload": {"kind": "log", **msgspec.to_builtins(workload)},
        "controller_fetch_timeout_ms": int(fetch_timeout),
        "observe_interval_ms": OBSERVE_INTERVAL_MS,
        "assumptions": msgspec.to_builtins(plan.scenario.assumptions),
        "planned_faults": len(plan.schedule.steps),
        "ready": {name: value for name, value in msgspec.to_builtins(ready).items() if name != "features"},
        "expected": expected.validity,
        "expected_anomalies": expected.anomalies,
    }
