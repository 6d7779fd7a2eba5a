"""Starts of real clusters that can't become ready: tried again, kept as evidence, and judged."""

from collections.abc import Callable
from pathlib import Path

import pytest

from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity
from harness.cli import invoke
from harness.cluster.cluster import Cluster
from harness.run import starting
from harness.run.readiness import Readiness, await_ready
from results.run.measures import load_measures
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster
HOPELESS_S = 12.0
Hinder = Callable[[int], None]


@pytest.fixture
def hinder(monkeypatch: pytest.MonkeyPatch) -> Hinder:
    """Freezes one of three nodes of the first so many starts, and waits for them no longer than 12 s."""

    def first(starts: int) -> None:
        left = [None] * starts

        def awaited(cluster: Cluster) -> Readiness:
            if not left:
                return await_ready(cluster)
            left.pop()
            cluster.containers["n2"].pause()
            return await_ready(cluster, HOPELESS_S)

        monkeypatch.setattr(starting, "await_ready", awaited)

    return first


@pytest.mark.usefixtures("one_fault")
def test_a_start_that_can_not_become_ready_is_kept_and_the_next_one_is_the_run(
    tmp_path: Path, hinder: Hinder, capsys: pytest.CaptureFixture[str]
) -> None:
    hinder(1)
    assert invoke(["run", "smoke/partition", "--seed", "7", "--runs", str(tmp_path)]) == 0
    folder = find_run(tmp_path, "smoke/partition")
    assert "2 starts of the cluster" in capsys.readouterr().out
    assert [o.value["ready"] for o in read_history(folder).of("start")] == [False, True]
    (anomaly,) = (a for result in load_verdict(folder).results for a in result.anomalies if not a.illegal)
    assert anomaly.id == "cluster-not-ready"
    assert load_measures(folder).starts == 2
    # The log of n2 is there as well, and empty where it was frozen before it logged anything.
    assert (folder / "starts" / "1" / "nodes" / "n2" / "server.log").exists()
    for name in ("diagnosis.json", "cluster.json", "compose.yaml", "nodes/n1/server.log"):
        assert (folder / "starts" / "1" / name).stat().st_size > 0
        assert not (folder / "starts" / "2").exists()
    assert not [path for path in (folder / "disks").rglob("*") if path.is_file()]


def test_where_no_start_becomes_ready_the_run_is_judged_by_what_the_nodes_say(
    tmp_path: Path, hinder: Hinder, capsys: pytest.CaptureFixture[str]
) -> None:
    hinder(3)
    assert invoke(["run", "smoke/partition", "--seed", "7", "--runs", str(tmp_path)]) == 2
    folder = find_run(tmp_path, "smoke/partition")
    verdict = load_verdict(folder)
    assert verdict.validity is Validity.UNKNOWN
    assert any(reason.startswith("starts: none of 3 starts became ready") for reason in verdict.reasons)
    assert "none of 3 starts became ready" in capsys.readouterr().out
    assert (folder / "report.html").exists()
    assert sorted(path.name for path in (folder / "starts").iterdir()) == ["1", "2", "3"]
