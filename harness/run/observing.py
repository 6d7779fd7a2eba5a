"""Observes the cluster from before the load begins until the final read has ended."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from checkers.evidence.coordinators import OFFSETS_TOPIC
from harness.cluster.watching import NodeWatcher
from harness.observers import Observers
from harness.observers.commits import COMMITTING
from harness.plan.schedule import changes_features, moves_replicas
from harness.run.setup_record import OBSERVE_INTERVAL_MS
from harness.run.stage import Stage
from harness.vocabulary import LogWorkload, RandomSchedule, Workload
from harness.workloads.context import WorkloadContext


@contextmanager
def observed(stage: Stage, context: WorkloadContext[Workload]) -> Iterator[Observers]:
    """Observers that run until the end of the block."""
    moving = moves_replicas(stage.plan.schedule)
    workload = stage.plan.scenario.workload
    loaded = tuple(topic.name for topic in workload.topics if topic.loaded)
    committing = isinstance(workload, COMMITTING)
    deleting = isinstance(workload, LogWorkload) and workload.deletions_interval_ms > 0
    observers = Observers(
        stage.cluster,
        context.topics,
        stage.journals,
        OBSERVE_INTERVAL_MS,
        reassignments=moving,
        features=changes_features(stage.plan.schedule),
        offsets=bool(loaded) and isinstance(stage.plan.scenario.schedule, RandomSchedule),
        ends=(*loaded, OFFSETS_TOPIC) if committing else loaded,
        commits=committing,
        deletions=context.deletions if deleting else None,
    )
    watcher = NodeWatcher(stage.cluster, stage.journals.open("nodes", "observer"))
    with ExitStack() as ending:
        for observer in (observers, watcher):
            observer.start()
            ending.callback(observer.stop)
        yield observers
