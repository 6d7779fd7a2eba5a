"""Guides are true: their commands run, their diffs apply, pass their own tests and are as short as stated.

Blocks of ``sh`` are executed here, in a folder of their own whose store holds a run; those of ``console`` are
parsed alone (tests/test_house.py), because each takes a cluster for minutes.  The guide for beginners, which
takes one as well, is followed in tests/cluster/test_guides.py.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from checkers.history.identity import IDENTITY_FILE, encode_identity
from checkers.history.reading import read_history
from checkers.judge import judge
from results.store.runs import save_verdict
from tests.guides import BOUND_S, LINES_MAX, ROOT, blocks, checkout, ended, lines_of
from tests.results.story import IDENTITY

pytestmark = pytest.mark.slow  # each starts processes
PACKAGES = ("checkers", "compose", "harness", "results", "scenarios")
NEEDS_CLUSTER = re.compile(r"krucible (run|doctor)\b|pytest (?!.*--collect-only)|make demo")


class Size(NamedTuple):
    """What a diff adds."""

    files: int
    lines: int
    test_lines: int


def run(folder: Path, command: str, expected: int) -> None:
    done = ended(folder, command)
    assert done.returncode == expected, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return checkout(tmp_path)


LOST = """\
{"krucible_history":1,"run":"9f2c61d0","journal":"a","began_at":"2026-11-20T21:56:57Z"}
{"index":0,"time_ns":10,"process":3,"type":"invoke","f":"send","key":"log-0","value":[[0,3000000001]]}
{"index":1,"time_ns":20,"process":3,"type":"ok","f":"send","key":"log-0","value":[[0,3000000001,0,"ok"]]}
{"index":2,"time_ns":30,"process":3,"type":"invoke","f":"send","key":"log-0","value":[[0,3000000002]]}
{"index":3,"time_ns":40,"process":3,"type":"ok","f":"send","key":"log-0","value":[[0,3000000002,1,"ok"]]}
{"index":4,"time_ns":50,"process":"r","type":"invoke","f":"final-read","key":"log-0","value":ASKED}
{"index":5,"time_ns":60,"process":"r","type":"ok","f":"final-read","key":"log-0","value":READ}
"""
ASKED = '{"client":"kafka-python","isolation":"read_committed","partition":0'
READ = ASKED + ',"start":0,"end":2,"position":2,"records":[[0,[1],[3000000002]]]}'


def store_red_run(folder: Path) -> None:
    """A run whose history shows that an acknowledged record is gone."""
    run_folder = folder / "runs/smoke/partition/20261120T215657Z-7"
    run_folder.mkdir(parents=True)
    history = LOST.replace("ASKED", ASKED + "}").replace("READ", READ)
    (run_folder / "history-a.jsonl").write_text(history)
    (run_folder / IDENTITY_FILE).write_bytes(encode_identity(IDENTITY))
    save_verdict(run_folder, judge(read_history(run_folder)))


@pytest.mark.parametrize("guide", ["reproduce-a-red-run.md", "ci.md"])
def test_commands_over_a_stored_run(guide: str, place: Path) -> None:
    store_red_run(place)
    found = list(lines_of(guide))
    assert found
    for command, exits in found:
        assert not NEEDS_CLUSTER.search(command), "too long for this test; make it a block of console"
        run(place, command, exits)
    folder = place / "runs/smoke/partition/20261120T215657Z-7"
    if guide.startswith("reproduce"):
        assert "lost-write" in (folder / "issue.md").read_text()
        assert "<failure" in (folder / "junit.xml").read_text()
    else:
        assert "❌ Failed" in (place / "step.md").read_text()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources that a guide may change."""
    folder = tmp_path_factory.mktemp("sources")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("faults/test_cuts.py", "fakes/filter.py"):
        (folder / "tests/harness" / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / "tests/harness" / name, folder / "tests/harness" / name)
    (folder / "tests/conftest.py").write_text(UNHURRIED)
    return folder


def applied(sources: Path, diff: str) -> Size:
    """Apply a diff, wherever its surroundings have moved to; its size."""
    for extra in ([], ["--numstat"]):
        done = subprocess.run(
            ["git", "apply", "-C1", *extra, "-"],
            cwd=sources,
            input=diff,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    ours = [int(added) for added, _, name in rows if not name.startswith("tests/")]
    return Size(len(ours), sum(ours), sum(int(added) for added, _, _ in rows) - sum(ours))


def in_copy(sources: Path, *words: str) -> None:
    """Run Python on the copy: what a test of a guide says goes for the code beside it."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=sources,
        env=os.environ | {"PYTHONPATH": str(sources)},
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND_S,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


UNHURRIED = """from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
"""
"""As tests/conftest.py has it: on a busy host an example may take long."""
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".")
LINT = ("-m", "ruff", "check", "--config", str(ROOT / "pyproject.toml"))
FORMAT = ("-m", "ruff", "format", "--check", "--config", str(ROOT / "pyproject.toml"))


def assert_short(sources: Path) -> None:
    """No file of the copy is longer than `tests/test_house.py` permits: who follows the guide passes it."""
    folders = [sources / name for name in ("harness", "checkers", "scenarios") if (sources / name).is_dir()]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert files
    assert not [path for path in files if len(path.read_text().splitlines()) > LINES_MAX]


def test_a_scenario_is_one_short_file(sources: Path) -> None:
    (diff,) = blocks("write-a-scenario.md", "diff")
    size = applied(sources, diff)
    guide = (ROOT / "docs/write-a-scenario.md").read_text()
    assert size.files == 1
    assert size.lines <= 30
    assert f"One file, {size.lines} lines" in guide
    planned = (
        "from harness.plan.planning import RunOptions, plan_run; from harness.plan.schedule import faults_of;"
        "plan = plan_run(RunOptions(scenario='smoke/rolling-bounce', seed=7));"
        "assert len(faults_of(plan.schedule)) == 3"
    )
    in_copy(sources, "-c", planned)
    in_copy(sources, *LINT, "scenarios/smoke/rolling_bounce.py")


def test_a_fault_is_as_long_as_the_guide_says(sources: Path) -> None:
    guide = (ROOT / "docs/add-a-fault.md").read_text()
    for diff in blocks("add-a-fault.md", "diff"):
        size = applied(sources, diff)
        assert size.files == 2
        assert size.lines + size.test_lines <= 60
        assert f"two files, {size.lines} lines, and {size.test_lines} lines of test" in guide
    changed = ("harness/faults", "harness/vocabulary", "tests/harness")
    assert_short(sources)
    in_copy(sources, *LINT, *changed)
    in_copy(sources, *FORMAT, *changed)
    in_copy(sources, *PYTEST, "tests/harness")
    written = (
        "from msgspec import json; from harness.vocabulary import FixedSchedule, RefusedConnections, Step;"
        "script = FixedSchedule((Step(1000, 2000, RefusedConnections()),), 3000);"
        "assert json.decode(json.encode(script), type=FixedSchedule) == script"
    )
    in_copy(sources, "-c", written)


def test_a_checker_is_one_short_module(sources: Path) -> None:
    (diff,) = blocks("add-a-checker.md", "diff")
    guide = (ROOT / "docs/add-a-checker.md").read_text()
    size = applied(sources, diff)
    assert size.files == 2
    assert size.lines <= 150
    assert f"One module, {size.lines - 2} lines, and two lines" in guide
    assert f"{size.test_lines} lines of test" in guide
    judged = (
        "from checkers.judge import CHECKERS, known_anomalies;"
        "assert 'overlaps' in CHECKERS and 'overlapping-operations' in known_anomalies()"
    )
    in_copy(sources, "-c", judged)
    assert_short(sources)
    in_copy(sources, *LINT, "checkers/runs/overlaps.py", "checkers/judge.py", "tests/checkers")
    in_copy(sources, *PYTEST, "tests/checkers/runs/test_overlaps.py")
