"""CI's workflows: whole, pinned, bounded, and made of commands that a person runs as well."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

import click
import pytest
import yaml

from harness.catalogue import load_scenario
from harness.cli.commands import krucible

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"
BUILD_BOUND_S = 300
NOT_TO_BE_HAD = re.compile(r'Get "|disabled by GOPROXY|40[34] |requires go|invalid go version')
"""What Go says where it reaches no proxy, or is too old for actionlint itself."""
GIVEN = {
    "matrix.shard": "1",
    "strategy.job-total": "2",
    "inputs.candidate": "4.3.1",
    "inputs.baseline": "4.1.1",
    "inputs.preset": "smoke",
    "inputs.scenario": "exploratory/chaos",
    "inputs.kafka_version": "4.3.1",
    "inputs.times": "20",
}
RUNNER = {"GITHUB_STEP_SUMMARY": "step.md"}
"""What the runner itself puts into every step's environment."""
Words = list[str]


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    return loaded


def expanded(text: Any) -> str:
    """A value of YAML with its expressions replaced by examples."""
    return re.sub(r"\$\{\{ *([a-z._-]+) *\}\}", lambda found: GIVEN[found[1]], str(text))


def steps() -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Every step of every job with the environment that it has."""
    for path in WORKFLOWS:
        workflow = load(path)
        for job in workflow["jobs"].values():
            for step in job.get("steps", ()):
                given = workflow.get("env", {}) | job.get("env", {}) | step.get("env", {})
                yield RUNNER | {name: expanded(value) for name, value in given.items()}, step


def commands() -> Iterator[Words]:
    """Every command that a job runs, as the shell would hand it over."""
    for environment, step in steps():
        for line in step.get("run", "").splitlines():
            assert "${{" not in line, "an expression in a script is an injection; hand it over by env"
            words = shlex.split(Template(line).substitute(environment))
            if words[0] == "sudo":
                words = [word for word in words[1:] if not word.startswith("--preserve-env=")]
            yield words


def test_there_are_those_that_are_documented() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "nightly.yml", "qualify.yml", "repeat.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_each_asks_for_little_and_ends(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert "uses" in job or 0 < job["timeout-minutes"] < 360


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_and_say_their_version(path: Path) -> None:
    for line in re.findall(r"uses: (.*)", path.read_text()):
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./\.github/workflows/\S+", line)


def test_an_action_is_the_same_everywhere() -> None:
    pins = {pin for path in WORKFLOWS for pin in re.findall(r"uses: (actions/.*)", path.read_text())}
    assert len({pin.partition("@")[0] for pin in pins}) == len(pins)


def test_checkouts_leave_no_credentials() -> None:
    checkouts = [step for _, step in steps() if "actions/checkout" in step.get("uses", "")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_the_nightly_hands_over_what_is_asked_for() -> None:
    given = load(ROOT / ".github/workflows/nightly.yml")["jobs"]["qualify"]["with"]
    # YAML 1.1 reads the key "on" as true.
    wanted = load(ROOT / ".github/workflows/qualify.yml")[True]["workflow_call"]["inputs"]
    assert given.keys() == wanted.keys()
    assert yaml.safe_load(given["shards"]) == list(range(1, 9))


def test_what_is_uploaded_is_there_once() -> None:
    for _, step in steps():
        if "upload-artifact" in step.get("uses", "") and "store" in step["with"]["path"].split():
            assert {"!store/latest/**", "!store/**/latest/**"} <= set(step["with"]["path"].split())


def test_commands_are_targets_of_make_or_of_krucible() -> None:
    found = list(commands())
    assert len(found) > 10
    assert {words[0] for words in found} == {"make", ".venv/bin/krucible"}
    for words in found:
        if words[0] == "make":
            planned = subprocess.run(
                ["make", "-C", ROOT, "-n", *words[1:]], capture_output=True, text=True, check=False
            )
            assert planned.returncode == 0, planned.stderr
        else:
            assert_parses(words[1:])


def assert_parses(words: Words) -> None:
    command = krucible.get_command(click.Context(krucible), words[0])
    assert command is not None, words
    with command.make_context(words[0], words[1:]) as context:
        scenario = context.params.get("scenario")
    assert scenario is None or load_scenario(scenario)


def test_a_command_that_does_not_exist_would_be_found() -> None:
    with pytest.raises(click.UsageError):
        assert_parses(["run", "smoke/partition", "--no-such-option"])


def test_actionlint_has_nothing_to_say(tmp_path: Path) -> None:
    lint = shutil.which("actionlint") or built(tmp_path)
    done = subprocess.run(
        [lint, "-no-color", *WORKFLOWS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def built(folder: Path) -> str:
    """Actionlint from the Go module proxy, whose checksums Go compares; skips where that can't be had."""
    if not shutil.which("go"):
        pytest.skip("neither actionlint nor go is here")
    environment = os.environ | {"GOBIN": str(folder), "GOFLAGS": ""}
    command = ["go", "install", ACTIONLINT]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=BUILD_BOUND_S
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"actionlint was not built within {BUILD_BOUND_S} s")
    if done.returncode and NOT_TO_BE_HAD.search(done.stderr):
        pytest.skip(f"actionlint can't be had: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return str(folder / "actionlint")
