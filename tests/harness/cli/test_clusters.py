"""``krucible cluster up`` without a cluster: where its folder lies, and that nobody takes it for a run."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from checkers.verdict.verdict import Validity
from harness import cli
from harness.cli.clusters import cluster
from harness.cluster.cluster import Plan
from harness.errors import KrucibleError
from harness.record.ledger import Ledger, RunOpened, read_ledger
from tests.harness.recorded_run import a_verdict, planned, store_run


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a green run, and an engine that need not be there."""
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    engine = SimpleNamespace(close=lambda: None)
    monkeypatch.setattr(cluster, "connect", lambda: engine)
    monkeypatch.setattr(cluster, "compose_binary", lambda: ("docker-compose",))
    monkeypatch.setattr(cluster, "ensure_image", lambda *_: SimpleNamespace(reference="krucible/kafka:1"))
    monkeypatch.setattr(cluster, "ensure_base", lambda *_: "krucible/base:1")
    monkeypatch.setattr(cluster, "hands_on", lambda folder: f"  hands on {folder}")
    monkeypatch.setattr(cluster, "await_ready", lambda _: None)
    return tmp_path / "runs"


@pytest.fixture
def green(runs: Path) -> Path:
    plan = planned("smoke/partition")
    folder = store_run(runs / "smoke/partition" / "20261122T010000Z-7", plan, a_verdict(Validity.VALID), [])
    (runs / "latest").symlink_to(folder.relative_to(runs))
    return folder


def started(_client: object, plan: Plan, _binary: object) -> SimpleNamespace:
    (plan.folder / "cluster.json").write_text("{}")
    (plan.folder / "compose.yaml").write_text("")
    return SimpleNamespace(description=SimpleNamespace(run=plan.run), folder=plan.folder, nodes=())


def test_a_cluster_is_no_run_of_the_store(
    runs: Path, green: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "start_cluster", started)
    assert cli.invoke(["cluster", "up"]) == 0
    output = capsys.readouterr().out
    (folder,) = (runs / "clusters").iterdir()
    (run,) = re.findall(r"cluster (\w{8}) is ready", output)
    assert (folder.name, str(folder) in output) == (run, True)
    (opened,) = read_ledger(folder)
    assert isinstance(opened, RunOpened)
    assert (opened.run, opened.kept) == (run, True)

    assert (runs / "latest").resolve() == green
    assert cli.invoke(["summary", str(runs)]) == 0
    assert cli.invoke(["list"]) == 0
    assert "unjudged" not in capsys.readouterr().out
    assert cli.invoke(["check", "clusters"]) == 64


@pytest.mark.usefixtures("runs")
def test_the_environment_gives_options_of_every_nodes_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []

    def noted(client: object, plan: Plan, binary: object) -> SimpleNamespace:
        plans.append(plan)
        return started(client, plan, binary)

    monkeypatch.setattr(cluster, "start_cluster", noted)
    monkeypatch.setenv("KRUCIBLE_JVM_OPTIONS", "-Xmx300m -Dx=1")
    assert cli.invoke(["cluster", "up"]) == 0
    assert cli.invoke(["cluster", "up", "--jvm-option", "-Xss1m"]) == 0
    assert [plan.topology.jvm_options for plan in plans] == [("-Xmx300m", "-Dx=1"), ("-Xss1m",)]


@pytest.mark.usefixtures("green")
def test_a_cluster_that_does_not_start_is_no_run_either(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise KrucibleError("no subnet is free")

    removed: list[Path] = []
    monkeypatch.setattr(cluster, "start_cluster", refused)
    monkeypatch.setattr(cluster, "RunContainers", lambda *_: SimpleNamespace(nodes=dict))
    monkeypatch.setattr(cluster, "remove_run", lambda _client, _run, folder: removed.append(folder))
    assert cli.invoke(["cluster", "up"]) == 3
    assert removed == list((runs / "clusters").iterdir())
    assert cli.invoke(["summary", str(runs)]) == 0


def test_a_folder_of_a_cluster_of_before_is_none_either(
    runs: Path, green: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were named and linked as runs are."""
    before = runs / "clusters" / "20261122T020000Z-0"
    before.mkdir(parents=True)
    Ledger(before).close()
    (runs / "latest").unlink()
    (runs / "latest").symlink_to(before)
    assert cli.invoke(["summary", str(runs)]) == 0
    assert cli.invoke(["report", "latest"]) == 0
    assert str(green) in capsys.readouterr().out
