"""One seeded bug under one drawn run: its traces in nodes' logs are distinguished, whatever the verdict."""

import json
from pathlib import Path

import pytest

from harness.campaigns.sensitivity.reading import read_trial
from harness.cli import invoke
from harness.seeded_bugs.catalogue import BUGS_VERSION
from results.sensitivity import BugOutcome, BugReach, BugRun

pytestmark = pytest.mark.cluster
BUG = "commit-not-applied"


def test_a_bug_that_was_put_into_kafka_is_distinguished_from_one_that_was_not(tmp_path: Path) -> None:
    ran = ["run", "exploratory/offsets", "--seed", "1", "--duration-s", "20", "--seeded-bug", BUG]
    assert invoke([*ran, "--kafka-version", BUGS_VERSION, "--runs", str(tmp_path)]) in (0, 1, 2)
    (verdict,) = tmp_path.glob("exploratory/offsets/2*/verdict.json")
    planned = BugRun(number=1, scenario="exploratory/offsets", mode="combined", command="")
    trial = read_trial(planned, BUG, verdict.parent)
    assert trial.reach in (BugReach.TRIGGERED, BugReach.NEVER_TRIGGERED, BugReach.NEVER_REACHED)
    invalid = json.loads(verdict.read_text())["validity"] == "invalid"
    assert (trial.ending in (BugOutcome.SEEN, BugOutcome.UNEXPLAINED)) is invalid
    assert bool(trial.found) is invalid
    other = read_trial(planned, "min-isr-ignored", verdict.parent)
    assert other.reach is BugReach.NOT_INJECTED
