"""The guide for beginners, followed command by command, as in tests/test_docs.py; its runs are real ones."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from checkers.columns.tables import PartitionName
from checkers.evidence.replicas import batches_of
from checkers.history.operations import OperationType
from checkers.history.reading import read_history
from checkers.history.replicas import MetadataLogSeen
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import Validity
from harness.cli import invoke
from harness.plan.catalogue import load_scenario
from results.store.runs import find_run, load_identity, load_verdict
from tests.guides import blocks, checkout, ended, lines_of

pytestmark = pytest.mark.cluster
DEMO = "krucible run smoke/partition --seed 7"


class Followed(NamedTuple):
    """What came of a guide's commands: where they were given, and what each of them printed."""

    place: Path
    outputs: dict[str, str]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Followed:
    """Every command but the first block's, which made this environment; a slow machine may doubt."""
    place = checkout(tmp_path_factory.mktemp("guide"))
    first, *_ = blocks("getting-started.md", "sh")
    outputs = {}
    for command, exits in lines_of("getting-started.md"):
        if command not in first:
            done = ended(place, command)
            doubted = "verdict    UNKNOWN (valid was expected)" in done.stdout
            assert doubted or done.returncode == exits, (
                f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
            )
            outputs[command] = done.stdout
    return Followed(place, outputs)


def test_the_guide_for_beginners(followed: Followed) -> None:
    output = "".join(followed.outputs.values())
    assert "reproduce  krucible run smoke/partition --seed 7" in output


def test_pytest_runs_a_scenario_with_one_kind_of_fault(tmp_path: Path) -> None:
    shown = "".join(blocks("ci.md", "console"))
    (command,) = (line for line in shown.splitlines() if line.startswith("pytest") and "-k kill" in line)
    done = ended(checkout(tmp_path), command)
    doubted = done.returncode == 1 and "UNKNOWN" in done.stdout + done.stderr
    assert doubted or done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "1 passed" in done.stdout or doubted


def test_the_demo_is_valid_and_leaves_a_report(
    followed: Followed, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = find_run(followed.place / "runs", "smoke/partition")
    verdict = load_verdict(folder)
    assert verdict.validity is Validity.VALID, verdict.reasons
    assert verdict.as_expected is True
    assert "VALID" in followed.outputs[DEMO]
    assert load_identity(folder).features == {}
    assert (folder / "report.html").stat().st_size < 1_500_000
    assert not [path for path in (folder / "disks").rglob("*") if path.is_file()]
    for name in ("compose.yaml", "schedule.json", "nodes/n1/server.log", "nodes/n1/server.properties"):
        assert (folder / name).stat().st_size > 0
    assert_evidence_is_complete(folder)
    # The stored run is judged the same without the engine.
    assert invoke(["check", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["validity"] == "valid"


def assert_evidence_is_complete(folder: Path) -> None:
    """Every replica and metadata log was read and compared, and holds what the final reads returned."""
    history = read_history(folder)
    batches = batches_of(history)
    nodes = ("n1", "n2", "n3")
    assert {batches.readable(partition) for partition in batches.partitions} == {nodes}
    assert len(batches.partitions) == load_scenario("smoke/partition").workload.partitions
    reads = [o for o in history.operations if o.f == "final-read" and o.type is OperationType.OK]
    for read in reads:
        partition = PartitionName(read.key, read.value["partition"])
        assert batches.ranges(partition) == {node: [(0, read.value["end"] - 1)] for node in nodes}
    figures = check_replicas(history).figures
    assert figures["batches_read"] > figures["batches_compared"] > 1_000
    assert figures["metadata_batches_compared"] > 100
    for log in batches.metadata_logs:
        assert isinstance(log.seen, MetadataLogSeen)
        kinds = {kind for _, _, kind, _ in log.seen.records}
        assert kinds >= {"LEADER_CHANGE", "KRAFT_VOTERS", "TOPIC_RECORD", "PARTITION_CHANGE_RECORD"}
        assert (folder / "nodes" / log.node / "metadata-log.txt").stat().st_size > 0
