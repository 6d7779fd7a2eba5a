"""Outcomes that are known beforehand: losses that nobody licensed, that somebody did, and none at all."""

from pathlib import Path

import pytest

from checkers.history.operations import OperationType
from checkers.history.reading import read_history
from checkers.verdict.verdict import Verdict
from harness.cli import invoke
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster
LAST_REPLICA = "regressions/kip-966-last-replica"
UNCLEAN = "kips/kip-460-unclean-election"


def judged(runs: Path, scenario: str, *options: str) -> tuple[Path, Verdict]:
    words = ["run", scenario, "--seed", "3", "--runs", str(runs), *options]
    code = invoke(words)
    folder = find_run(runs, scenario)
    verdict = load_verdict(folder)
    assert code == (0 if verdict.validity == "valid" else 1), verdict.reasons
    assert verdict.as_expected is True, verdict.reasons
    return folder, verdict


def found(verdict: Verdict, *, illegal: bool) -> set[str]:
    return {a.id for result in verdict.results for a in result.anomalies if a.illegal is illegal}


@pytest.mark.parametrize(
    ("level", "expected"), [(0, {"known-gap"}), pytest.param(1, set(), marks=pytest.mark.long)]
)
def test_the_last_replica_loses_its_disk(tmp_path: Path, level: int, expected: set[str]) -> None:
    feature = f"eligible.leader.replicas.version={level}"
    _, verdict = judged(tmp_path, LAST_REPLICA, "--feature", feature)
    assert found(verdict, illegal=True) == expected


def test_an_unclean_election_loses_what_it_may(tmp_path: Path) -> None:
    folder, verdict = judged(tmp_path, UNCLEAN)
    assert "lost-write" in found(verdict, illegal=False)
    assert found(verdict, illegal=True) == set()
    (elected,) = [
        operation
        for operation in read_history(folder).operations
        if operation.f == "elect-leaders"
        and operation.key == "unclean"
        and operation.type is OperationType.OK
        and [row[2] for row in operation.value["results"]] == [0]
    ]
    assert elected.process == "admin"
