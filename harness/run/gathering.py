"""Gathers evidence from the nodes once nobody writes: configs, coordinators, producers, disks, logs."""

import threading
from collections.abc import Mapping
from functools import partial

from checkers.history.phases import Phase
from harness.cluster.containers import in_parallel
from harness.evidence.claimed_coordinators import gather_coordinators
from harness.evidence.described_configs import gather_configs
from harness.evidence.disks import gather_disks
from harness.evidence.known_producers import gather_producers
from harness.evidence.node_logs import gather_logs
from harness.run.stage import Stage


def gather_evidence(stage: Stage, cancelled: threading.Event) -> None:
    """Collect configs and disks in parallel, because both mostly wait for Docker and its containers.

    Producers are collected before and after disks: what a broker knew before must be on its disk, and it must
    know what was on its disk after that.  Logs are collected last, so that they have every cleaning that may
    have changed the disks.
    """
    stage.phase(Phase.EVIDENCE)
    names = [topic.name for topic in stage.topics]
    ended, listeners = stage.cluster.ended, stage.cluster.observe_listeners
    living = {name: address for name, address in listeners.items() if name not in ended}
    gatherers = (
        partial(gather_configs, stage.recorder, living, names),
        partial(gather_coordinators, stage.recorder, living),
        partial(_gather_disks_and_logs, stage, living),
    )
    in_parallel(lambda gather: gather(), gatherers)
    if not cancelled.is_set():
        stage.phase(Phase.DONE)


def _gather_disks_and_logs(stage: Stage, living: Mapping[str, tuple[str, int]]) -> None:
    places = stage.sizes.places(stage.topics)
    try:
        gather_producers(stage.recorder, living, places)
        gather_disks(stage.cluster, places, stage.journals)
        gather_producers(stage.recorder, living, places)
    finally:
        gather_logs(stage.cluster.containers, stage.folder, stage.recorder)
