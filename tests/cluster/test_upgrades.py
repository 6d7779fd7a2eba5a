"""A real cluster is upgraded from 3.9.0 node by node, and what starts a node later starts the new version."""

import re
from pathlib import Path

import pytest

from checkers.evidence.faults import fault_windows
from checkers.history.identity import IDENTITY_FILE, decode_identity
from checkers.history.operations import OperationType
from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity
from harness.cli import invoke
from harness.cluster.logs import LOG_FILE
from harness.vocabulary.version import DEFAULT_VERSION
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster
OLD_FILE = "regressions/kafka-19192-old-bootstrap-file"
REMOVED_CONFIG = "regressions/kafka-19851-removed-config"
NODES = ("c1", "c2", "c3", "b1", "b2", "b3")
NUMBER = re.compile(r"Kafka version: (\S+)")


def versions_logged(folder: Path, node: str) -> list[str]:
    return NUMBER.findall((folder / "nodes" / node / LOG_FILE).read_text())


def run(runs: Path, scenario: str) -> Path:
    code = invoke(["run", scenario, "--seed", "3", "--runs", str(runs)])
    folder = find_run(runs, scenario)
    verdict = load_verdict(folder)
    assert (verdict.validity, code) == (Validity.VALID, 0), verdict.reasons
    return folder


def test_a_rolling_upgrade_under_load_keeps_what_kafka_promised(tmp_path: Path) -> None:
    folder = run(tmp_path, "upgrades/rolling")
    history = read_history(folder)
    upgraded = [window for window in fault_windows(history) if window.kind == "upgrade"]
    assert [window.targets for window in upgraded] == [(name,) for name in NODES]
    assert all(window.proven and window.healed_ns is not None for window in upgraded)
    for name in NODES:
        logged = versions_logged(folder, name)
        assert list(dict.fromkeys(logged)) == ["3.9.0", DEFAULT_VERSION]
        assert logged[-1] == DEFAULT_VERSION, "killed after its upgrade or not"
    raised = [o for o in history.of("update-feature") if o.type is OperationType.OK]
    assert [operation.value["code"] for operation in raised] == [0]

    identity = decode_identity((folder / IDENTITY_FILE).read_bytes())
    assert identity.image is not None
    assert identity.image.digest != identity.other_images["3.9.0"].digest


@pytest.mark.long
def test_an_upgrade_can_be_undone_as_long_as_no_feature_was_raised(tmp_path: Path) -> None:
    folder = run(tmp_path, "upgrades/rolled-back")
    for name in ("c1", "b1"):
        logged = versions_logged(folder, name)
        assert list(dict.fromkeys(logged)) == ["3.9.0", DEFAULT_VERSION]
        assert logged[-1] == "3.9.0"
    assert set(versions_logged(folder, "b2")) == {"3.9.0"}


@pytest.mark.parametrize(
    ("scenario", "version", "expected"),
    [
        pytest.param(OLD_FILE, "4.0.0", "node-died", marks=pytest.mark.long),
        (REMOVED_CONFIG, "4.2.0", "config-change-blocked"),
    ],
)
def test_a_bug_of_an_upgrade_is_red_where_kafka_has_it(
    tmp_path: Path, scenario: str, version: str, expected: str
) -> None:
    words = ["run", scenario, "--kafka-version", version, "--seed", "1", "--runs", str(tmp_path)]
    assert invoke(words) == 1
    folder = find_run(tmp_path, scenario)
    verdict = load_verdict(folder)
    found = {a.id for result in verdict.results for a in result.anomalies if a.illegal}
    assert expected in found
    assert verdict.as_expected is True, verdict.reasons
    upgrades = [window for window in fault_windows(read_history(folder)) if window.kind == "upgrade"]
    assert upgrades
    assert all(window.proven for window in upgrades)
