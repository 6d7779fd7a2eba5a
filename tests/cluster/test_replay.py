"""A recorded run carried out again on a real cluster, which is kept, and started once more by hand."""

import subprocess
from pathlib import Path

import docker
import pytest

from checkers.history.operations import OperationType
from checkers.verdict.verdict import Validity
from harness.cli import invoke
from harness.cluster.cluster import find_cluster
from harness.cluster.containers import RunContainers
from harness.cluster.engine import compose_binary
from harness.cluster.leftovers import leftovers
from harness.run.readiness import await_ready
from harness.vocabulary import FixedSchedule, Pause, Step, Target
from results.store.runs import find_run, load_identity
from tests.harness.recorded import recorded
from tests.harness.recorded_run import Recording, a_verdict, planned, store_run

pytestmark = pytest.mark.cluster
SMOKE = "smoke/partition"


def stored(runs: Path) -> Path:
    """A run whose one fault hit the active controller, n2."""
    plan = planned(SMOKE)
    fault = Pause(Target.ACTIVE_CONTROLLER, draw=4)
    plan = type(plan)(
        plan.options,
        plan.scenario,
        plan.version,
        FixedSchedule((Step(2_000, 6_000, fault),), 10_000),
        plan.expectation,
        plan.reproduce,
    )
    nemesis = Recording("nemesis")
    nemesis.fault("f1", fault, "n2", (2_000, 2_100, 8_100))
    return store_run(runs / SMOKE / "20261122T010000Z-7", plan, a_verdict(Validity.VALID), [nemesis])


def test_the_same_node_is_hit_and_the_cluster_can_be_worked_with(
    tmp_path: Path, engine: docker.DockerClient, capsys: pytest.CaptureFixture[str]
) -> None:
    then = stored(tmp_path)
    try:
        assert invoke(["replay", str(then), "--keep", "--runs", str(tmp_path)]) == 0
        output = capsys.readouterr().out
        assert "the verdict valid came back in 1 of 1" in output
        folder = find_run(tmp_path, "latest")
        assert find_run(tmp_path, "latest", originals=True) == then.resolve()
        assert load_identity(folder).replay_of == "abc"
        (injected,) = (
            o for o in recorded(folder, "nemesis") if (o.type, o.f) == (OperationType.OK, "inject")
        )
        assert (injected.value["targets"], injected.value["resolved_by"]) == (["n2"], "name")
        assert {"voter", "broker", "random"} <= set(injected.value["roles"])

        run = find_cluster(engine, folder).description.run
        topics = next(
            line.split(maxsplit=1)[1] for line in output.splitlines() if line.startswith("  topics")
        )
        done = subprocess.run(["bash", "-c", topics], capture_output=True, text=True, timeout=120, check=True)
        assert "Topic: log-0" in done.stdout
        assert invoke(["cluster", "down", run]) == 0
        assert RunContainers(engine, run).leftovers() == []

        # By hand, from anywhere, as the run's folder says; its disks begin empty.
        by_hand = [*compose_binary(), "-f", str(folder / "compose.yaml"), "up", "-d"]
        subprocess.run(by_hand, cwd=tmp_path, capture_output=True, timeout=120, check=True)
        again = find_cluster(engine, folder)
        assert await_ready(again).features
        assert invoke(["cluster", "down", run]) == 0
        assert again.leftovers() == []
    finally:
        for left in leftovers(engine):
            if left.folder.is_relative_to(tmp_path):
                RunContainers(engine, left.run).remove()
