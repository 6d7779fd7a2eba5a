"""Whole runs as their users start them: the regression, a campaign, chaos, a harness that is killed."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from checkers.history.operations import OperationType
from checkers.verdict.verdict import Validity, Verdict
from harness.campaigns.series import TOGETHER
from harness.cli import invoke
from harness.cluster.containers import RunContainers
from harness.cluster.leftovers import leftovers
from harness.record.deaths import is_noted
from harness.record.ledger import RunOpened, pending_undos, read_ledger
from results.store.runs import find_run, list_runs, load_verdict
from tests.harness.recorded import recorded
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.cluster
REGRESSION = "regressions/kafka-15489-zombie-leader"
START_BOUND_S = 180.0
END_BOUND_S = 400.0
WITH_ONE_FAULT = """
import sys
from harness.cli import main
from harness.plan import planning
from tests.harness.one_fault import load_scenario
planning.load_scenario = load_scenario
main(sys.argv[1:])
"""


def ids(verdict: Verdict) -> set[str]:
    return {anomaly.id for result in verdict.results for anomaly in result.anomalies if anomaly.illegal}


@pytest.fixture(autouse=True)
def nothing_left(engine: docker.DockerClient, tmp_path: Path) -> Iterator[None]:
    """Whatever the test does, none of its containers and networks outlives it; others' are theirs."""
    yield
    left = [each.run for each in leftovers(engine) if each.folder.is_relative_to(tmp_path)]
    for run in left:
        RunContainers(engine, run).remove()
    assert not left


@pytest.mark.parametrize(
    ("version", "validity", "anomalies"),
    [("3.6.2", Validity.INVALID, {"zombie-leader"}), ("3.7.1", Validity.VALID, set())],
)
def test_the_zombie_leader_is_red_where_kafka_had_it_and_green_where_it_was_fixed(
    tmp_path: Path, version: str, validity: Validity, anomalies: set[str]
) -> None:
    words = ["run", REGRESSION, "--kafka-version", version, "--seed", "7", "--runs", str(tmp_path)]
    code = invoke(words)

    verdict = load_verdict(find_run(tmp_path, REGRESSION))
    assert verdict.validity is validity, verdict.reasons
    assert verdict.as_expected is True
    assert ids(verdict) == anomalies
    assert code == (1 if anomalies else 0)


def test_chaos_is_valid_or_says_that_a_fault_left_nobody_to_send_to(tmp_path: Path) -> None:
    """A drawn fault may stop every producer for as long as it lasts; nothing else is an excuse."""
    words = ["run", "exploratory/chaos", "--mode", "isolated", "--duration-s", "30", "--seed", "4"]
    code = invoke([*words, "--runs", str(tmp_path)])
    verdict = load_verdict(find_run(tmp_path, "exploratory/chaos"))
    unmet = {one.name for result in verdict.results for one in result.assumptions if not one.met}
    assert (code, verdict.validity, unmet) in (
        (0, Validity.VALID, set()),
        (2, Validity.UNKNOWN, {"invoked-during"}),
    ), verdict.reasons


class Started:
    """A run, or a campaign, in a process of its own."""

    def __init__(self, runs: Path, *seeds: str) -> None:
        self.runs = runs
        words = ["run", "smoke/partition", *(seeds or ("--seed", "7")), "--runs", str(runs)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", WITH_ONE_FAULT, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={name: value for name, value in os.environ.items() if name != TOGETHER},
        )

    def await_fault(self) -> None:
        wait_until(self._has_a_fault, START_BOUND_S)

    def end(self, number: int) -> tuple[int, str]:
        os.kill(self.process.pid, number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Wait for its end; returns the exit code and what it printed."""
        output, _ = self.process.communicate(timeout=END_BOUND_S)
        return self.process.returncode, output

    def _has_a_fault(self) -> bool:
        if self.process.poll() is not None:
            pytest.fail(self.process.communicate()[0])
        operations = (
            o for folder in self.runs.glob("smoke/partition/*") for o in recorded(folder, "nemesis")
        )
        return any((o.type, o.f) == (OperationType.OK, "inject") for o in operations)


def test_a_harness_killed_in_mid_fault_leaves_a_history_to_judge_and_a_mess_that_heals(
    tmp_path: Path,
    engine: docker.DockerClient,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bystander = engine.networks.create("krucible-bystander", internal=True)
    try:
        run = Started(tmp_path)
        run.await_fault()
        assert run.end(signal.SIGKILL)[0] == -signal.SIGKILL

        assert invoke(["check", "smoke/partition", "--runs", str(tmp_path)]) == 2
        output = capsys.readouterr()
        assert "UNKNOWN" in output.out
        assert not ids(load_verdict(find_run(tmp_path, "smoke/partition")))
        assert "Traceback" not in output.out + output.err

        (left,) = [left for left in leftovers(engine) if left.folder.is_relative_to(tmp_path)]
        assert not left.live
        assert invoke(["heal"]) == 0
        assert "undid f1" in capsys.readouterr().out
        assert RunContainers(engine, left.run).leftovers() == []
        assert not (left.folder / "disks").exists()
        assert (left.folder / "history-nemesis.jsonl").exists()
        assert bystander.id in {network.id for network in engine.networks.list()}
    finally:
        bystander.remove()


def test_a_run_whose_process_dies_in_mid_fault_is_healed_judged_and_followed_by_the_next(
    tmp_path: Path, engine: docker.DockerClient
) -> None:
    run = Started(tmp_path, "--seeds", "7..8")
    run.await_fault()
    (first,) = tmp_path.glob("smoke/partition/2*-7")
    (process,) = {entry.owner.pid for entry in read_ledger(first) if isinstance(entry, RunOpened)}
    assert process != run.process.pid
    os.kill(process, signal.SIGABRT)
    code, output = run.ended()

    assert code == 2, output
    assert "the harness was ended by SIGABRT" in output
    assert "undid f1" in output
    assert is_noted(first)
    assert pending_undos(read_ledger(first)) == ()
    assert load_verdict(first).validity is Validity.UNKNOWN
    assert (first / "nodes" / "n1" / "server.log").stat().st_size > 0
    assert not (first / "disks").exists()
    (second,) = tmp_path.glob("smoke/partition/2*-8")
    assert load_verdict(second).validity is Validity.VALID, output
    assert [left for left in leftovers(engine) if left.folder.is_relative_to(tmp_path)] == []
    (summary,) = tmp_path.glob("smoke/partition/campaigns/*/summary.md")
    assert "1 unknown, 1 valid" in summary.read_text()

    # One of the runs is lost: the same command does that one again and nothing else.
    second.rename(tmp_path / "lost")
    code, output = Started(tmp_path, "--seeds", "7..8").ended()
    assert code == 2, output
    assert "1 of 2 seeds are done already" in output
    assert "seed 8 (1 of 1)" in output
    (second,) = tmp_path.glob("smoke/partition/2*-8")
    assert load_verdict(second).validity is Validity.VALID, output


def test_an_interrupted_run_heals_cleans_up_and_is_unknown(tmp_path: Path) -> None:
    run = Started(tmp_path)
    run.await_fault()
    code, output = run.end(signal.SIGINT)

    assert code == 2, output
    assert "UNKNOWN" in output
    assert "Traceback" not in output
    assert "heal f1" in output


def test_an_interrupted_campaign_takes_down_the_cluster_that_waits(
    tmp_path: Path, engine: docker.DockerClient
) -> None:
    run = Started(tmp_path, "--seeds", "7..8")
    run.await_fault()
    wait_until(lambda: list(tmp_path.glob("smoke/partition/*-8/compose.yaml")) != [], START_BOUND_S)
    code, output = run.end(signal.SIGINT)

    assert code == 2, output
    assert "2 seeds; the same command continues" in output
    assert "Traceback" not in output
    assert [left for left in leftovers(engine) if left.folder.is_relative_to(tmp_path)] == []
    (left,) = tmp_path.glob("smoke/partition/2*")
    assert left.name.endswith("-7")
    assert (tmp_path / "latest").resolve() == left


def test_heal_leaves_live_and_kept_clusters_alone_unless_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    up = ["cluster", "up", "--controllers", "1", "--brokers", "1", "--runs", str(tmp_path)]
    assert invoke(up) == 0
    (name,) = re.findall(r"cluster (\w+) is ready", capsys.readouterr().out)
    assert (list_runs(tmp_path), (tmp_path / "latest").is_symlink()) == ((), False)

    assert invoke(["heal"]) == 0
    assert f"run {name}: left alone, " in capsys.readouterr().out
    assert invoke(["cluster", "status"]) == 0
    assert name in capsys.readouterr().out
    assert invoke(["heal", "no-such-run"]) == 64
    assert invoke(["cluster", "down", name]) == 0
    assert invoke(["cluster", "down"]) == 64
    capsys.readouterr()
    assert invoke(["cluster", "status"]) == 0
    assert name not in capsys.readouterr().out
