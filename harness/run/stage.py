"""The stage of a run: folder, journals, ledger and a ready cluster; closed and removed at the end."""

import os
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from checkers.history.identity import IDENTITY_FILE, encode_identity
from checkers.history.phases import PHASE, Phase
from checkers.history.setup import SETUP
from harness.cluster.cluster import Cluster, Plan, make_mount_points, remove_run
from harness.cluster.containers import RunContainers
from harness.cluster.engine import Engine, compose_of_process, connect, engine_facts
from harness.cluster.images import KafkaImage, ensure_base, ensure_image
from harness.cluster.logs import LOG_FILE, save_logs
from harness.errors import KrucibleError
from harness.kafka.answers import TopicAnswer
from harness.kafka.sizes import TopicSizes
from harness.kafka.topics import create_topic
from harness.plan.planning import RunPlan
from harness.plan.schedule import encode
from harness.record.events import Event, Listener, PhaseBegan, RunBegan
from harness.record.folder import SCHEDULE_FILE, create_run_folder
from harness.record.journal import RUNNER, Clock, Journals, Recorder
from harness.record.ledger import Ledger, RunOpened, RunRemoved
from harness.record.ownership import this_process
from harness.record.tally import AcknowledgedCounter
from harness.run.identification import identify
from harness.run.setup_record import setup_of_run, wanted_topics
from harness.run.starting import start_ready
from harness.run.threads import already_done, in_thread
from harness.seeded_bugs.seeding import with_bug
from harness.vocabulary.topology import Topology


class Stage:
    """The objects that every part of a run needs.

    Attributes:
        sizes: numbers of partitions of the topics, including added partitions.
        removal: the removal of the cluster, in another thread after the stage is closed.
        images: the images of Kafka, by their version; the run's is among them.
    """

    def __init__(
        self,
        *,
        plan: RunPlan,
        folder: Path,
        journals: Journals,
        ledger: Ledger,
        listener: Listener,
        tally: AcknowledgedCounter,
    ) -> None:
        self.plan = plan
        self.folder = folder
        self.journals = journals
        self.ledger = ledger
        self.tally = tally
        self.recorder = Recorder(journals.open(RUNNER, RUNNER), "runner")
        self._listener = listener
        self.removal = already_done()
        self.sizes = TopicSizes()
        self.images: Mapping[str, KafkaImage]
        self.cluster: Cluster
        self.topics: tuple[TopicAnswer, ...]

    def report(self, phase: str, detail: str = "", limit_s: float | None = None) -> None:
        """Report that a phase began, without recording it."""
        self._listener(PhaseBegan(phase, detail, limit_s))

    def phase(self, phase: Phase, detail: str = "", limit_s: float | None = None) -> None:
        """Record and report that a phase began."""
        self.recorder.observe(PHASE, phase)
        self.report(phase, detail, limit_s)


class _Images(msgspec.Struct, frozen=True):
    """The images of a cluster: those of Kafka, and the reference of the holders' image."""

    kafka: KafkaImage
    others: tuple[KafkaImage, ...]
    holder: str


@contextmanager
def open_stage(
    plan: RunPlan, runs: Path, listener: Listener, cancelled: threading.Event, *, keep: bool
) -> Iterator[Stage]:
    """Get the images, make the folder, start the cluster, create the topics, record the setup.

    At the exit of the context the history ends.  The cluster and its disks are removed in another thread,
    unless they must be kept.

    Raises:
        ClusterNotReadyError: if no start became ready, and the cause is not on the host.
        KrucibleError: if anything else fails; only the folder is left, or nothing if the images are not
            available.
    """
    with ExitStack() as cleanup:
        client = connect()
        cleanup.callback(client.close)
        images = _images(plan, client, listener)
        folder = create_run_folder(runs, plan.options.scenario, plan.options.seed)
        listener(RunBegan(plan.options.scenario, plan.version, plan.options.seed, str(folder)))
        stage = _opened(plan, folder, listener, cleanup)
        stage.images = {**{one.version: one for one in images.others}, plan.version: images.kafka}
        _write_identity(stage, (images.kafka, *images.others), engine_facts(client).version)
        asked = _start_plan(stage, images, keep=keep)
        stage.ledger.write(RunOpened(run=asked.run, owner=this_process(os.getpid()), kept=keep))
        if not keep:
            cleanup.callback(_remove, client, asked, stage.ledger)
        stage.cluster, ready = start_ready(stage, client, asked, compose_of_process(), cancelled)
        stage.topics = _create_topics(stage)
        stage.recorder.observe(SETUP, None, setup_of_run(stage.plan, stage.topics, ready))
        yield stage
        stage.journals.close()
        stage.removal = in_thread(cleanup.pop_all().close, "removal")


def _images(plan: RunPlan, client: Engine, listener: Listener) -> _Images:
    """The images; missing ones are built or pulled."""

    def progress(line: str) -> None:
        listener(PhaseBegan("image", line))

    kafka, *rest = (
        ensure_image(asked.version, asked.source, progress, client, asked.given) for asked in plan.images
    )
    return _Images(kafka, tuple(rest), ensure_base(progress, client))


def _opened(plan: RunPlan, folder: Path, listener: Listener, cleanup: ExitStack) -> Stage:
    """The stage with open journals and ledger, which are closed at the end."""
    tally = AcknowledgedCounter()

    def report_to_both(event: Event) -> None:
        tally.hear(event)
        listener(event)

    journals = Journals(folder, secrets.token_hex(4), Clock(), report_to_both)
    cleanup.callback(journals.close)
    ledger = Ledger(folder)
    cleanup.callback(ledger.close)
    return Stage(plan=plan, folder=folder, journals=journals, ledger=ledger, listener=listener, tally=tally)


def _start_plan(stage: Stage, images: _Images, *, keep: bool) -> Plan:
    """The description of the cluster that must be started."""
    topology = _topology(stage)
    stage.report("start", f"{len(topology.nodes())} nodes, {topology.mode}, {topology.quorum} quorum")
    return Plan(
        run=stage.journals.run,
        folder=stage.folder,
        topology=topology,
        version=stage.plan.version,
        kafka_image=images.kafka.reference,
        holder_image=images.holder,
        kept=keep,
        images_by_version={image.version: image.reference for image in images.others},
    )


def _topology(stage: Stage) -> Topology:
    """The scenario's topology; if a seeded bug was requested, its nodes have it."""
    return with_bug(
        stage.plan.scenario.topology,
        stage.plan.options.seeded_bug or "",
        stage.plan.version,
        stage.folder,
        lambda line: stage.report("seed", line),
    )


def _remove(client: Engine, plan: Plan, ledger: Ledger) -> None:
    """Remove the cluster; if a run failed before its evidence was gathered, its nodes' logs are kept."""
    if not list(plan.folder.glob(f"nodes/*/{LOG_FILE}")):
        with suppress(KrucibleError, OSError):
            save_logs(RunContainers(client, plan.run).nodes(), plan.folder)
    remove_run(client, plan.run, plan.folder)
    with suppress(OSError):  # the same disk; only a start by hand would need them
        make_mount_points(plan.folder, plan.topology)
    with suppress(KrucibleError):  # the disk is full, which has been reported; nothing is left to heal
        ledger.write(RunRemoved())


def _write_identity(stage: Stage, images: Sequence[KafkaImage], engine: str) -> None:
    identity = identify(stage.plan, stage.journals.run, stage.journals.began_at, images, engine)
    (stage.folder / IDENTITY_FILE).write_bytes(encode_identity(identity))
    (stage.folder / SCHEDULE_FILE).write_bytes(encode(stage.plan.schedule))


def _create_topics(stage: Stage) -> tuple[TopicAnswer, ...]:
    brokers = list(stage.cluster.observe_listeners.values())
    return tuple(create_topic(brokers, topic) for topic in wanted_topics(stage.plan.scenario.workload))


def all_brokers_ended(stage: Stage) -> bool:
    """Whether every broker exited by itself.  They are not restarted, so the cluster can't recover."""
    brokers = set(stage.cluster.observe_listeners)
    return bool(brokers) and brokers <= set(stage.cluster.ended)
