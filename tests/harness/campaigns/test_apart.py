"""A run whose process dies is healed and judged, and the next one is made; all of it without a cluster."""

import faulthandler
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkers.verdict.verdict import Validity, Verdict
from harness import cli
from harness.campaigns import series
from harness.campaigns.apart import aftermath, child, process
from harness.campaigns.campaign import Campaign
from harness.campaigns.sensitivity.stored_runs import StoredRuns
from harness.campaigns.series import TOGETHER
from harness.cluster import leftovers
from harness.cluster.logs import SavedLogs
from harness.errors import EngineError
from harness.plan.planning import RunPlan
from harness.record.deaths import is_noted
from harness.record.harness_failures import FAILURES_FILE
from harness.record.ledger import pending_undos, read_ledger
from harness.run import healing
from harness.run.run_host import Host
from results.store.runs import find_run, list_runs, load_identity, load_verdict
from tests.harness.campaigns.dying_child import ASSERTION
from tests.harness.recorded_run import a_verdict, store_run
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.slow  # each starts processes that import all of krucible
SCENARIO = "smoke/partition"
KEPT = {"abort": (ASSERTION, "dying_child.py"), "segv": ("Fatal Python error", "dying_child.py"), "exit": ()}
"""By how a process ends: words of what is kept of its last, the stack of each thread included."""
LAUNCHED = """
import sys
from harness import cli
from harness.campaigns.apart import process
process.CHILD = "tests.harness.campaigns.dying_child"
cli.main(sys.argv[1:])
"""


class Engine:
    """In the place of the engine: knows nothing of containers, and remembers what was removed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.removed: list[str] = []
        self.refuses = False
        monkeypatch.setattr(aftermath, "connect", self._connect)
        monkeypatch.setattr(leftovers, "labelled_runs", lambda _client: {})
        monkeypatch.setattr(healing, "save_logs", lambda *_: SavedLogs({}, {}))
        monkeypatch.setattr(healing, "RunContainers", lambda _client, _run: self)
        monkeypatch.setattr(healing, "remove_run", lambda _client, run, _folder: self.removed.append(run))

    def close(self) -> None:
        """Do nothing, because nothing is open."""

    def nodes(self) -> dict[str, object]:
        """No nodes are running."""
        return {}

    def _connect(self) -> "Engine":
        if self.refuses:
            raise EngineError("the engine is away")
        return self


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.delenv(TOGETHER, raising=False)
    monkeypatch.setattr(process, "CHILD", "tests.harness.campaigns.dying_child")
    return Engine(monkeypatch)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> "Run":
    return Run(monkeypatch, tmp_path)


class Run:
    """Calls ``krucible run``, with ends for its seeds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, runs: Path) -> None:
        self._monkeypatch = monkeypatch
        self.runs = runs

    def __call__(self, ends: str, *words: str) -> int:
        self._monkeypatch.setenv("DYING", ends)
        seeds = words or ("--seed", "7")
        return cli.invoke(["run", SCENARIO, *seeds, "--runs", str(self.runs)])

    @property
    def folder(self) -> Path:
        """Of the only run."""
        return find_run(self.runs, SCENARIO)


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (
            "abort",
            f"it last said: %3|FAIL|rdkafka#producer-1 / {ASSERTION}",
        ),
        ("segv", "ended by SIGSEGV (a defect in a library); it last said: Fatal Python error"),
        ("exit", "the harness ended with 0"),
    ],
)
def test_a_run_whose_process_dies_is_healed_and_unknown(
    engine: Engine, run: Run, capfd: pytest.CaptureFixture[str], end: str, expected: str
) -> None:
    assert run(f"7={end}") == 2
    output = capfd.readouterr()
    assert "UNKNOWN" in output.out
    assert "why        assumptions: harness-lasted: " in output.out
    assert expected in output.err
    assert "Traceback" not in output.out + output.err
    verdict = load_verdict(run.folder)
    (reason,) = (reason for reason in verdict.reasons if "harness-lasted" in reason)
    assert "during load: the harness " in reason
    assert expected in reason
    assert engine.removed == ["run7"]
    assert (run.folder / "report.html").exists()
    # What the process printed is kept, and what each of its threads did.
    saved = (run.folder / FAILURES_FILE).read_text()
    assert [words for words in KEPT[end] if words not in saved] == []
    # Judged again it is what it was.
    assert cli.invoke(["check", SCENARIO, "--runs", str(run.runs)]) == 2
    assert load_verdict(run.folder) == verdict


def test_an_anomaly_that_is_certain_stays_one(
    engine: Engine, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("7=red") == 1
    assert "node-died-at-start" in capfd.readouterr().out
    assert load_verdict(run.folder).validity is Validity.INVALID
    engine.refuses = True
    assert run("8=red", "--seed", "8") == 1


def test_what_can_not_be_cleaned_up_is_judged_and_a_failure(
    engine: Engine, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    engine.refuses = True
    assert run("7=abort") == 3
    output = capfd.readouterr()
    assert "UNKNOWN" in output.out
    assert "krucible heal removes what is left" in output.err


def test_a_campaign_goes_on_and_counts_the_run(
    engine: Engine, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    run("8=abort", "--seeds", "7..9")
    output = capfd.readouterr()
    assert output.out.count("--- seed") == 3
    assert "missing" not in output.out
    found = {one.seed: one for one in list_runs(run.runs) if one.seed != 99}
    assert set(found) == {7, 8, 9}
    assert [seed for seed, one in found.items() if is_noted(one.folder)] == [8]
    assert [one.problems for one in found.values()] == [()] * 3
    stored = StoredRuns(run.runs)
    stored.look()
    commands = [load_identity(one.folder).reproduce for one in found.values()]
    counted = [seed for seed, command in zip(found, commands, strict=True) if any(stored.of(command))]
    assert counted == [8], "its death is its end; the others have none, and would be made again"
    assert "run8" in engine.removed


@pytest.mark.usefixtures("engine")
def test_a_run_that_was_lost_is_made_again_and_nothing_else_is(
    run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    run("", "--seeds", "7..8")
    kept, lost = (next(run.runs.glob(f"{SCENARIO}/2*-{seed}")) for seed in (7, 8))
    shutil.rmtree(lost)
    capfd.readouterr()
    run("", "--seeds", "7..8")
    output = capfd.readouterr().out
    assert "resuming: 1 of 2 seeds are done already" in output
    assert "seed 8 (1 of 1)" in output
    assert list(run.runs.glob(f"{SCENARIO}/2*-7")) == [kept]
    assert len(list(run.runs.glob(f"{SCENARIO}/2*-8"))) == 1


def test_a_cluster_that_waits_for_its_turn_goes_with_its_folder(engine: Engine, run: Run) -> None:
    run("8=abort", "--seeds", "7..8")
    assert {one.seed for one in list_runs(run.runs)} == {7, 8}
    assert sorted(engine.removed) == ["run7", "run8", "run9"]


def test_a_run_that_dies_before_it_has_a_folder_is_a_failure(
    engine: Engine, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("7=before it began") == 3
    assert "a run could not begin" in capfd.readouterr().err
    assert list_runs(run.runs) == ()
    assert run("7=before it began", "--seeds", "7..8") == 3
    assert {one.seed for one in list_runs(run.runs)} == {8}
    assert not engine.removed


@pytest.mark.parametrize(
    ("end", "expected"), [("refused", "start it"), ("defect", "ZeroDivisionError: a defect")]
)
@pytest.mark.usefixtures("engine")
def test_an_error_in_the_process_is_reported_as_one_of_the_command(
    run: Run, capfd: pytest.CaptureFixture[str], end: str, expected: str
) -> None:
    assert run(f"7={end}") == 3
    stderr = capfd.readouterr().err
    assert expected in stderr
    if end == "defect":
        where = next(line for line in stderr.splitlines() if "where:" in line).split()[-1]
        assert "dying_child.py" in Path(where).read_text()
        Path(where).unlink()


def test_a_process_that_dies_between_two_runs_is_replaced(
    engine: Engine, run: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    answered = Campaign.record

    def record(campaign: Campaign, seed: int, folder: Path) -> None:
        answered(campaign, seed, folder)
        if seed == 7:
            os.kill(of_run(folder), signal.SIGSEGV)
            os.waitid(os.P_PID, of_run(folder), os.WEXITED | os.WNOWAIT)

    monkeypatch.setattr(Campaign, "record", record)
    run("", "--seeds", "7..8")
    output = capfd.readouterr()
    assert "between two runs the harness was ended by SIGSEGV" in output.err
    assert {one.seed for one in list_runs(run.runs)} == {7, 8}
    assert not any(is_noted(one.folder) for one in list_runs(run.runs)), "both had their verdicts"
    assert "run9" in engine.removed, "the cluster that waited"


def test_runs_of_one_process_know_the_same(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[tuple[int, bool]] = []
    verdict = a_verdict(Validity.VALID)

    def perform(plan: RunPlan, host: Host, *_: object) -> tuple[Path, Verdict]:
        made.append((plan.options.seed, host.following is not None))
        plan_folder = tmp_path / SCENARIO / f"20261122T010000Z-{plan.options.seed}"
        return store_run(plan_folder, plan, verdict, []), verdict

    monkeypatch.setenv(TOGETHER, "1")
    monkeypatch.setattr(series, "perform", perform)
    assert run("", "--seeds", "7..8") == 0
    assert made == [(7, True), (8, False)]


def test_judging_that_dies_is_reported(
    engine: Engine, run: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(aftermath, "JUDGING", "tests.harness.campaigns.dying_judge")
    assert run("7=abort") == 3
    stderr = capfd.readouterr().err
    assert "judging ended with SIGKILL; before that the harness was ended by SIGABRT" in stderr
    assert "krucible check" in stderr
    assert engine.removed == ["run7"]


@pytest.fixture
def launched(
    run: Run, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator["subprocess.Popen[str]"]:
    """A run in a command of its own that waits to be interrupted."""
    monkeypatch.delenv(TOGETHER, raising=False)
    ends = getattr(request, "param", "wait")
    monkeypatch.setenv("DYING", f"7={ends}")
    words = ["run", SCENARIO, "--seed", "7", "--runs", str(run.runs)]
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCHED, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as command:
        yield command
        command.kill()


def until(command: "subprocess.Popen[str]", line: str) -> None:
    assert command.stdout is not None
    assert any(printed.strip() == line for printed in command.stdout)


def of_run(folder: Path) -> int:
    """The process of a run."""
    (owner,) = (entry.owner for entry in read_ledger(folder) if hasattr(entry, "owner"))
    return owner.pid


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_a_run_early(launched: "subprocess.Popen[str]", run: Run, number: int) -> None:
    until(launched, "waiting")
    os.kill(launched.pid, number)
    output, _ = launched.communicate()
    assert launched.returncode == 2, output
    assert output.count("interrupted: healing and cleaning up") == 1
    assert not is_noted(run.folder)


@pytest.mark.parametrize("launched", ["hang"], indirect=True)
def test_two_signals_end_it_at_once(launched: "subprocess.Popen[str]", run: Run) -> None:
    until(launched, "waiting")
    os.kill(launched.pid, signal.SIGINT)
    until(launched, "going on")
    os.kill(launched.pid, signal.SIGINT)
    output, _ = launched.communicate()
    assert launched.returncode == 130, output
    assert "interrupted" in output
    assert not is_noted(run.folder), "somebody asked for it"
    assert pending_undos(read_ledger(run.folder)), "krucible heal is for that"


def test_a_command_that_is_killed_takes_its_run_along(launched: "subprocess.Popen[str]", run: Run) -> None:
    until(launched, "waiting")
    child = of_run(run.folder)
    os.kill(launched.pid, signal.SIGKILL)
    launched.communicate()
    wait_until(lambda: not Path(f"/proc/{child}/cmdline").exists())
    assert not is_noted(run.folder)


def test_a_run_records_the_command_that_a_user_entered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ours, theirs = socket.socketpair()
    ours.close()
    monkeypatch.setattr(sys, "argv", ["child.py"])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(faulthandler, "enable", lambda **_: None)
    child.main([str(theirs.detach()), str(tmp_path), "krucible", "run", SCENARIO])
    assert sys.argv == ["krucible", "run", SCENARIO]
