"""Starts a cluster, up to three times, each time with new disks.

The evidence of a failed start is kept in the run's folder, ``starts/1`` and so on, and in the history, where
it is judged.  The harness fails only if the cause is on the host.
"""

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from checkers.history.runner import START, StartSeen
from harness.cluster.cluster import DESCRIPTION_FILE, Cluster, Plan, remove_run, start_cluster
from harness.cluster.composing import COMPOSE_FILE
from harness.cluster.engine import Engine
from harness.cluster.logs import save_logs
from harness.errors import KrucibleError
from harness.observers.quorum_state import QUORUM_STATE
from harness.record.journal import Recorder
from harness.run.diagnosis import Diagnosis, diagnose
from harness.run.readiness import NotReadyError, Readiness, await_ready

STARTS_MAX = 3
STARTS_FOLDER = "starts"
DIAGNOSIS_FILE = "diagnosis.json"


class ClusterNotReadyError(KrucibleError):
    """No start became ready, and the causes are not on the host; the history reports each start.

    Attributes:
        folder: folder of the run.
    """

    def __init__(self, folder: Path, last: Diagnosis) -> None:
        super().__init__(
            "the cluster did not become ready",
            got="; ".join(last.sentences),
            where=str(folder / STARTS_FOLDER),
            next_step=f"read {DIAGNOSIS_FILE} and the nodes' logs there",
        )
        self.folder = folder


class ReportingStage(Protocol):
    """The part of a run's stage that a start needs."""

    recorder: Recorder

    def report(self, phase: str, detail: str = "", limit_s: float | None = None) -> None:
        """Report something about a phase, without recording it."""
        ...


class Started(NamedTuple):
    """A cluster that is ready, and when each step to this was complete."""

    cluster: Cluster
    ready: Readiness


def start_ready(
    stage: ReportingStage, client: Engine, plan: Plan, binary: tuple[str, ...], cancelled: threading.Event
) -> Started:
    """Start a cluster and wait until it is ready; if it is not, start it again with new disks.

    Args:
        stage: stage of the run.
        client: the engine.
        plan: description of the cluster.
        binary: the compose command.
        cancelled: when set, no further start is tried.

    Raises:
        ClusterNotReadyError: no start became ready.
        KrucibleError: the cause is on the host, or the engine refuses.
    """
    for number in range(1, STARTS_MAX + 1):
        cluster = start_cluster(client, plan, binary)
        began_s = time.monotonic()
        try:
            ready = await_ready(cluster)
        except NotReadyError as error:
            last = _given_up(stage, cluster, error, number)
            remove_run(client, plan.run, plan.folder)
            _set_aside(plan.folder, number)
            if cancelled.is_set() or number == STARTS_MAX:
                raise ClusterNotReadyError(plan.folder, last) from error
            stage.report("start", f"start {number} did not become ready: {last.sentences[0]}; trying again")
        else:
            took_s = round(time.monotonic() - began_s, 1)
            stage.recorder.observe(START, str(number), StartSeen(ready=True, took_s=took_s))
            return Started(cluster, ready)
    raise AssertionError("unreachable")


def _given_up(stage: ReportingStage, cluster: Cluster, error: NotReadyError, number: int) -> Diagnosis:
    """Record why a start failed, and keep the evidence.

    Raises:
        NotReadyError: the cause is on the host.
    """
    logs = save_logs(cluster.containers, cluster.folder)
    for complaint in logs.complaints():
        stage.report("start", complaint)
    found = diagnose(cluster, error, {name: log.decode(errors="replace") for name, log in logs.texts.items()})
    if found.host is not None:
        error.got = f"{found.host}\n{error.got}"
        raise error
    folder = cluster.folder / STARTS_FOLDER / str(number)
    folder.mkdir(parents=True)
    (folder / DIAGNOSIS_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2))
    for node in cluster.nodes:
        state = cluster.disk(node) / QUORUM_STATE
        _if_there(state, lambda path, node=node: shutil.copy(path, cluster.home(node).folder / path.name))  # type: ignore[misc]  # bound at once
    stage.recorder.observe(START, str(number), found.as_observation())
    return found


def _set_aside(folder: Path, number: int) -> None:
    """Move the description of a removed cluster to its evidence, so that another one can be started."""
    kept = folder / STARTS_FOLDER / str(number)
    for name in ("nodes", DESCRIPTION_FILE, COMPOSE_FILE):
        _if_there(folder / name, lambda path: shutil.move(path, kept / path.name))


def _if_there(path: Path, act: Callable[[Path], object]) -> None:
    if path.exists():
        act(path)
