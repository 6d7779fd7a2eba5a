"""CI's workflows: whole, pinned, bounded, and made of commands that a person runs as well."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

import click
import pytest
import yaml

from harness.cli.campaigns.qualify import build_of
from harness.cli.commands import krucible
from harness.plan.catalogue import load_scenario
from harness.plan.planning import RunOptions, plan_run
from harness.plan.presets import PRESETS
from harness.plan.qualification import Job, QualificationRole, expected_ms, matrix, shard
from harness.vocabulary.version import DEFAULT_VERSION, parse_version

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"
BUILD_BOUND_S = 300
NOT_TO_BE_HAD = re.compile(r'Get "|disabled by GOPROXY|40[34] |requires go|invalid go version')
"""What Go prints where it reaches no proxy, or is too old for actionlint itself."""
NOT_LINTED = "the workflows were not linted; CONTRIBUTING.md says how to get actionlint"
"""What every reason to skip ends with."""
GIVEN = {
    "matrix.shard": "1",
    "strategy.job-total": "2",
    "inputs.candidate": "4.3.1",
    "inputs.baseline": "4.1.1",
    "inputs.preset": "smoke",
    "inputs.night": "0",
    "inputs.tarball_url": "https://localhost/kafka_2.13-4.4.0.tgz",
    "inputs.tarball_sha512": "a" * 128,
    "inputs.scenario": "exploratory/chaos",
    "inputs.kafka_version": "4.3.1",
    "inputs.times": "20",
    "github.token": "secret",
    "github.repository": "somebody/krucible",
}
SLOWER = 1.5
"""How much slower than two quiet cores a machine may be."""
SETUP_MIN = 30
"""Bound of what stands before and behind the runs: environment, images, upload."""
FETCH = ".github/fetch-candidate"
SCRIPTS = {
    FETCH: [["4.3.1", "https://localhost/kafka_2.13-4.4.0.tgz", "a" * 128]],
    ".github/images": [["load", "images/krucible.tar"], ["save", "images/krucible.tar"]],
    ".github/build-tarball": [["kafka", "trunk"]],
    ".github/file-issues": [["issues"]],
}
"""What is called with which words; tests/test_fetch_candidate.py and the like run them."""
QUALIFYING = ("qualify", "qualify-trunk")
"""Jobs of the nightly that call the other workflow."""
RUNNER = {"GITHUB_STEP_SUMMARY": "step.md"}
"""What the runner itself puts into every step's environment."""
Words = list[str]


def load(path: Path) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text())
    return loaded


def expanded(text: Any) -> str:
    """A value of YAML with its expressions replaced by examples."""
    return re.sub(r"\$\{\{ *([a-z0-9._-]+) *\}\}", lambda found: GIVEN[found[1]], str(text))


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
            yield bounded(words)[1]


def bounded(words: Words) -> tuple[int, Words]:
    """The minutes after which a command is interrupted, 0 without a bound, and the command itself."""
    if words[0] != "timeout":
        return 0, words
    assert {"--foreground", "--signal=INT"} <= set(words), "runs end by Ctrl-C, once"
    at = next(place for place, word in enumerate(words[1:], start=1) if not word.startswith("--"))
    return int(words[at].removesuffix("m")), words[at + 1 :]


def bound_min(workflow: str, job: str) -> tuple[int, int]:
    """Minutes after which the runs of a job are interrupted, and after which the job is killed."""
    loaded = load(ROOT / ".github/workflows" / workflow)["jobs"][job]
    runs = [shlex.split(step["run"]) for step in loaded["steps"] if "timeout " in step.get("run", "")]
    (found,) = (bounded(words[words.index("timeout") :])[0] for words in runs)
    return found, loaded["timeout-minutes"]


def machines() -> dict[str, list[int]]:
    """Shards of each preset, where nobody says how many."""
    workflow = load(ROOT / ".github/workflows/qualify.yml")
    expression = workflow["jobs"]["shard"]["strategy"]["matrix"]["shard"]
    by_preset = json.loads(re.search(r"fromJSON\('(\{.*\})'\)\[inputs\.preset\]", expression)[1])  # type: ignore[index]
    return {preset: json.loads(shards) for preset, shards in by_preset.items()}


def minutes(preset: str, shards: int) -> float:
    """Expected minutes of the longest shard, on two quiet cores."""
    inputs = load(ROOT / ".github/workflows/qualify.yml")[True]["workflow_dispatch"]["inputs"]
    candidate, baseline = (build_of(inputs[side]["default"]) for side in ("candidate", "baseline"))
    jobs = matrix(PRESETS[preset], candidate, baseline).jobs
    return max(sum(map(expected_ms, shard(jobs, n, shards))) for n in range(1, shards + 1)) / 60_000


def test_there_are_those_that_are_documented() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "nightly.yml", "qualify.yml", "repeat.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_each_asks_for_little_and_ends(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    for name, job in workflow["jobs"].items():
        wanted = {"contents": "read", "issues": "write"} if name == "compare" else None
        assert job.get("permissions") == wanted
        assert "uses" in job or 0 < job["timeout-minutes"] < 360


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_and_say_their_version(path: Path) -> None:
    for line in re.findall(r"uses: (.*)", path.read_text()):
        assert re.fullmatch(
            r"actions/[a-z-]+(?:/[a-z]+)?@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./\.github/workflows/\S+", line
        )


def test_an_action_is_the_same_everywhere() -> None:
    pins = {pin for path in WORKFLOWS for pin in re.findall(r"uses: (actions/.*)", path.read_text())}
    names = [pin.partition("@") for pin in pins]
    assert len({name for name, _, _ in names}) == len(pins)
    # Several actions of one repository, such as cache/restore and cache/save, are of one commit.
    assert len({(name.split("/")[1], commit) for name, _, commit in names}) == len(
        {name.split("/")[1] for name, _, _ in names}
    )


def test_checkouts_leave_no_credentials() -> None:
    checkouts = [step for _, step in steps() if "actions/checkout" in step.get("uses", "")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("job", QUALIFYING)
def test_the_nightly_hands_over_what_is_asked_for(job: str) -> None:
    given = load(ROOT / ".github/workflows/nightly.yml")["jobs"][job]["with"]
    # YAML 1.1 reads the key "on" as true.
    wanted = load(ROOT / ".github/workflows/qualify.yml")[True]["workflow_call"]["inputs"]
    assert {name for name, one in wanted.items() if one.get("required")} <= given.keys() <= wanted.keys()
    assert yaml.safe_load(given["shards"]) == list(range(1, 10))


def test_a_night_compares_the_default_version_with_one_before_and_trunk_with_it() -> None:
    release, trunk = (load(ROOT / ".github/workflows/nightly.yml")["jobs"][job]["with"] for job in QUALIFYING)
    assert release["candidate"] == trunk["baseline"] == DEFAULT_VERSION
    assert parse_version(release["baseline"]) < parse_version(release["candidate"])
    night = f"{DEFAULT_VERSION} compared with {release['baseline']}"
    sentence = f"{night}, and Kafka's trunk compared with {DEFAULT_VERSION}"
    assert sentence in (ROOT / "docs/ci.md").read_text()


def test_what_is_started_by_hand_proposes_the_versions_of_a_night() -> None:
    night = load(ROOT / ".github/workflows/nightly.yml")["jobs"]["qualify"]["with"]
    by_hand = load(ROOT / ".github/workflows/qualify.yml")[True]["workflow_dispatch"]["inputs"]
    proposed = {name: by_hand[name]["default"] for name in ("candidate", "baseline")}
    assert proposed == {name: night[name] for name in proposed}
    repeated = load(ROOT / ".github/workflows/repeat.yml")[True]["workflow_dispatch"]["inputs"]
    assert repeated["kafka_version"]["default"] == DEFAULT_VERSION


@pytest.mark.parametrize("job", QUALIFYING)
def test_every_night_has_seeds_of_its_own(job: str) -> None:
    """GitHub counts a workflow's runs, and gives a rerun of failed jobs the same number."""
    given = load(ROOT / ".github/workflows/nightly.yml")["jobs"][job]["with"]
    assert given["night"] == "${{ github.run_number }}"
    builds = (build_of("4.3.1"), build_of("4.1.1"))
    nights = [matrix(PRESETS[given["preset"]], *builds, night=night).jobs for night in (7, 8)]
    drawn = [
        {job.options.seed for job in jobs if job.role is not QualificationRole.CONTROL} for jobs in nights
    ]
    assert drawn[0].isdisjoint(drawn[1])
    assert len(nights[0]) == len(nights[1])


def test_shards_and_report_are_of_the_same_night() -> None:
    nights = [words[words.index("--night") + 1] for words in commands() if "qualify" in words]
    assert nights == [GIVEN["inputs.night"]] * 2


def test_reports_and_evidence_are_kept_equally_long() -> None:
    for path in WORKFLOWS:
        assert len(set(re.findall(r"retention-days: (\d+)", path.read_text()))) <= 1, path.name


def test_qualify_takes_the_same_by_hand_and_from_another_workflow() -> None:
    by_hand, called = load(ROOT / ".github/workflows/qualify.yml")[True].values()
    # Nobody has the artifacts of another workflow's run by hand.
    assert called["inputs"].keys() - by_hand["inputs"].keys() == {"tarball_artifact", "prefix"}
    assert by_hand["inputs"].keys() <= called["inputs"].keys()
    assert by_hand["inputs"]["preset"]["options"] == list(PRESETS) == list(machines())


@pytest.mark.parametrize("preset", PRESETS)
def test_a_shard_of_each_preset_ends_in_time(preset: str) -> None:
    shards = machines()[preset]
    assert shards == list(range(1, len(shards) + 1))
    runs_min, job_min = bound_min("qualify.yml", "shard")
    took_min = minutes(preset, len(shards))
    assert took_min < job_min
    assert took_min * SLOWER < runs_min <= job_min - SETUP_MIN


@pytest.mark.parametrize("preset", PRESETS)
def test_documents_say_how_many_machines_a_preset_needs(preset: str) -> None:
    shards = len(machines()[preset])
    row = f"| `{preset}` | {shards} | {minutes(preset, shards):.0f} minutes |"
    assert row in (ROOT / "docs/ci.md").read_text()


@pytest.mark.parametrize("job", QUALIFYING)
def test_the_nightly_ends_in_time_on_its_machines(job: str) -> None:
    given = load(ROOT / ".github/workflows/nightly.yml")["jobs"][job]["with"]
    assert minutes(given["preset"], len(yaml.safe_load(given["shards"]))) * SLOWER < 60


def test_as_many_repetitions_as_are_proposed_end_in_time() -> None:
    inputs = load(ROOT / ".github/workflows/repeat.yml")[True]["workflow_dispatch"]["inputs"]
    once = Job(QualificationRole.CANDIDATE, RunOptions(scenario=inputs["scenario"]["default"], seed=1))
    took_min = int(inputs["times"]["default"]) * expected_ms(once) / 60_000
    runs_min, job_min = bound_min("repeat.yml", "repeat")
    assert took_min * SLOWER < runs_min <= job_min - SETUP_MIN


def test_what_there_is_is_kept_even_of_a_job_that_was_cut_off() -> None:
    for _, step in steps():
        if "upload-artifact" in step.get("uses", ""):
            assert step["if"] == "${{ always() }}"
    for path in WORKFLOWS:
        assert "cancelled()" not in path.read_text(), "a job's own time limit cancels it"


def test_what_jobs_put_into_the_checkout_is_no_change_of_it(tmp_path: Path) -> None:
    """Otherwise every run would say that its krucible had uncommitted changes."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    ignored = ["store/run.json", "kafka_2.13-4.4.0.tgz", "images/krucible.tar", "nights/run.json"]
    subprocess.run(["git", "-C", tmp_path, "add", ".gitignore"], check=True)
    for name in ignored:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    done = subprocess.run(
        ["git", "-C", tmp_path, "status", "--porcelain"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["A", ".gitignore"]


def test_the_decision_reaches_the_page_of_the_job() -> None:
    (words,) = (words for words in commands() if "--no-run" in words)
    assert words[words.index("--step-summary") + 1] == RUNNER["GITHUB_STEP_SUMMARY"]


def test_two_qualifications_of_one_night_have_artifacts_of_their_own() -> None:
    nightly = load(ROOT / ".github/workflows/nightly.yml")["jobs"]
    prefixes = [nightly[job]["with"].get("prefix", "") for job in QUALIFYING]
    assert len(set(prefixes)) == len(prefixes)
    qualify = load(ROOT / ".github/workflows/qualify.yml")["jobs"]
    named = [step["with"] for job in qualify.values() for step in job["steps"] if "artifact" in str(step)]
    assert [one.get("name", one.get("pattern")) for one in named] == [
        "${{ inputs.tarball_artifact }}",
        "${{ inputs.prefix }}store-${{ matrix.shard }}",
        "${{ inputs.prefix }}store-*",
        "${{ inputs.tarball_artifact }}",
        "${{ inputs.prefix }}report",
    ]
    # A pattern matches whole names: "store-*" takes none of those that begin with a prefix.
    read = [step["with"] for step in nightly["compare"]["steps"] if "pattern" in step.get("with", ())]
    assert [one["pattern"] for one in read] == [f"{prefix}store-*" for prefix in prefixes]
    assert len({one["path"] for one in read}) == len(read)
    assert all(one["path"].startswith("store/") for one in read)


def test_the_tarball_of_trunk_is_the_one_that_was_built() -> None:
    nightly = load(ROOT / ".github/workflows/nightly.yml")["jobs"]
    given = nightly["qualify-trunk"]["with"]
    (uploaded,) = (step for step in nightly["trunk"]["steps"] if "upload-artifact" in step.get("uses", ""))
    assert uploaded["with"]["name"] == given["tarball_artifact"]
    (build,) = (step for step in nightly["trunk"]["steps"] if step.get("id") == "build")
    folder = build["run"].split()[-1]
    assert uploaded["with"]["path"] == folder
    (cached,) = (
        step["with"] for step in nightly["trunk"]["steps"] if "actions/cache" in step.get("uses", "")
    )
    assert (cached["path"], cached["key"]) == (folder, "trunk-${{ steps.kafka.outputs.commit }}")
    assert nightly["trunk"]["outputs"] == {"tarball": "${{ steps.build.outputs.tarball }}"}
    assert given["candidate"] == "${{ needs.trunk.outputs.tarball }}"


@pytest.mark.slow
def test_every_run_of_trunk_can_be_planned(tmp_path: Path) -> None:
    """Its version is no release's: scenarios must know it nevertheless."""
    tarball = tmp_path / "kafka_2.13-4.4.0-SNAPSHOT.tgz"
    with tarfile.open(tarball, "w:gz") as archive:
        top = tarfile.TarInfo("kafka_2.13-4.4.0-SNAPSHOT")
        top.type = tarfile.DIRTYPE
        archive.addfile(top)
    given = load(ROOT / ".github/workflows/nightly.yml")["jobs"]["qualify-trunk"]["with"]
    jobs = matrix(PRESETS[given["preset"]], build_of(str(tarball)), build_of(given["baseline"])).jobs
    versions = {
        job.role: plan_run(job.options).version for job in jobs if job.role is not QualificationRole.CONTROL
    }
    assert versions == {
        QualificationRole.CANDIDATE: "4.4.0-SNAPSHOT",
        QualificationRole.BASELINE: given["baseline"],
    }


def test_a_night_is_a_past_only_once_its_issues_are_there() -> None:
    """Otherwise a signature would be no longer new, and have no issue."""
    ordered = [str(step) for step in load(ROOT / ".github/workflows/nightly.yml")["jobs"]["compare"]["steps"]]
    places = [
        next(at for at, text in enumerate(ordered) if part in text)
        for part in ("actions/cache/restore", "krucible signatures", "file-issues", "actions/cache/save")
    ]
    assert places == sorted(places)
    assert all("always()" not in ordered[place] for place in places)


def test_a_night_is_compared_with_what_is_kept_of_those_before() -> None:
    (words,) = (words for words in commands() if "signatures" in words)
    steps_of = load(ROOT / ".github/workflows/nightly.yml")["jobs"]["compare"]["steps"]
    cached = [step["with"] for step in steps_of if "actions/cache" in step.get("uses", "")]
    past = words[words.index("--past") + 1]
    assert [one["path"] for one in cached] == [past, past]
    assert len({one["key"] for one in cached}) == 1
    assert cached[0]["key"].startswith(cached[0]["restore-keys"])
    (uploaded,) = (step["with"] for step in steps_of if "upload-artifact" in step.get("uses", ""))
    assert past in uploaded["path"].split()
    assert str(uploaded["retention-days"]) == words[words.index("--keep-days") + 1]


def test_images_are_cached_by_what_they_are_made_of() -> None:
    steps_of = load(ROOT / ".github/workflows/qualify.yml")["jobs"]["shard"]["steps"]
    restored, saved = (step["with"] for step in steps_of if "actions/cache" in step.get("uses", ""))
    assert restored["path"] == saved["path"]
    assert all(f"inputs.{side}" in restored["key"] for side in ("candidate", "baseline"))
    patterns = re.findall(r"'([^']+)'", restored["key"])
    assert patterns
    assert all(list(ROOT.glob(pattern)) for pattern in patterns)
    ran = [step.get("run", "") for step in steps_of]
    at = [
        next(i for i, text in enumerate(ran) if part in text) for part in ("load", "setup", "qualify", "save")
    ]
    assert at == sorted(at)


def test_what_is_uploaded_is_there_once() -> None:
    for _, step in steps():
        if "upload-artifact" in step.get("uses", "") and "store" in step["with"]["path"].split():
            assert {"!store/latest/**", "!store/**/latest/**"} <= set(step["with"]["path"].split())


def test_commands_are_targets_of_make_or_of_krucible() -> None:
    found = list(commands())
    assert len(found) > 10
    assert {words[0] for words in found} == {"make", ".venv/bin/krucible", *SCRIPTS}
    for words in found:
        if words[0] == "make":
            planned = subprocess.run(
                ["make", "-C", ROOT, "-n", *words[1:]], capture_output=True, text=True, check=False
            )
            assert planned.returncode == 0, planned.stderr
        elif words[0] in SCRIPTS:
            assert os.access(ROOT / words[0], os.X_OK)
            assert words[1:] in SCRIPTS[words[0]]
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


@pytest.mark.slow
def test_actionlint_has_nothing_to_say(tmp_path: Path) -> None:
    lint = shutil.which("actionlint") or built(tmp_path)
    done = subprocess.run(
        [lint, "-no-color", *WORKFLOWS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_skip_says_that_nothing_was_linted_and_how_to_get_the_linter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="neither actionlint nor go is on PATH") as skipped:
        test_actionlint_has_nothing_to_say(tmp_path)
    assert str(skipped.value).endswith(NOT_LINTED)
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho 'go: Get \"https://localhost\": no route' >&2\nexit 1\n")
    go.chmod(0o755)
    with pytest.raises(pytest.skip.Exception, match="no route") as skipped:
        test_actionlint_has_nothing_to_say(tmp_path)
    assert str(skipped.value).endswith(NOT_LINTED)
    assert f"go install {ACTIONLINT}" in (ROOT / "CONTRIBUTING.md").read_text()


def built(folder: Path) -> str:
    """Actionlint from the Go module proxy, whose checksums Go compares; skips where that can't be had."""
    if not shutil.which("go"):
        pytest.skip(f"neither actionlint nor go is on PATH: {NOT_LINTED}")
    environment = os.environ | {"GOBIN": str(folder), "GOFLAGS": ""}
    command = ["go", "install", ACTIONLINT]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=BUILD_BOUND_S
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"actionlint was not built within {BUILD_BOUND_S} s: {NOT_LINTED}")
    if done.returncode and NOT_TO_BE_HAD.search(done.stderr):
        pytest.skip(f"go can't build actionlint ({done.stderr.strip().splitlines()[-1]}): {NOT_LINTED}")
    assert done.returncode == 0, done.stderr
    return str(folder / "actionlint")
