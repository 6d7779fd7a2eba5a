"""How workers share the tests: clusters first, one after the other, and two at a time at the end."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.harness.waiting import wait_until
from tests.mutations.families import cases
from tests.sharing import (
    AUTOGROUP,
    BESIDE,
    NICENESS,
    SHARED,
    SHARED_CLUSTER,
    TOGETHER,
    group_of,
    loads_clusters,
    niceness_of_session,
)

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parent.parent
NICEST = 19
CLUSTERS = TOGETHER[0]
A_TEST = """
import os
import pathlib
import time
import pytest

@pytest.mark.parametrize("number", range(3))
def test_it(number, request, worker_id):
    with open("journal", "a") as journal:
        print(worker_id, os.nice(0), session_nice(), request.node.nodeid, file=journal)

def session_nice():
    path = pathlib.Path("/proc/self/autogroup")
    return ([0] + path.read_text().split())[-1] if path.exists() else 0
"""
A_TEST_BESIDE = (
    A_TEST
    + """
@pytest.fixture(autouse=True, scope="module")
def the_other_one_has_begun(request, worker_id):
    pathlib.Path(request.path.stem).touch()
    until = time.monotonic() + 60
    while not all(pathlib.Path(f"test_{name}").exists() for name in ("groups", "upgrades")):
        assert time.monotonic() < until
        time.sleep(0.01)
"""
)
A_TEST_THAT_WAITS = """
import pathlib
import subprocess

def test_it():
    with subprocess.Popen(["sleep", "3600"]) as child:
        pathlib.Path("child.new").write_text(str(child.pid))
        pathlib.Path("child.new").rename("child")
"""
HEARING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Starts Python so that SIGINT interrupts it: background jobs of a shell, and their children, ignore it."""
FILES = (
    "tests/a/test_it.py",
    "tests/b/test_it.py",
    "tests/cluster/test_elections.py",
    "tests/cluster/test_faults.py",
    "tests/cluster/test_groups.py",
    "tests/cluster/test_one.py",
    "tests/cluster/test_two.py",
    "tests/cluster/test_upgrades.py",
    "tests/results/pipeline/test_one.py",
    "tests/results/pipeline/test_two.py",
)

SMALL = {"tests/a/test_it.py", "tests/b/test_it.py"}


def let_share(pytester: pytest.Pytester) -> None:
    """Give a small suite the code by which the workers of this one share its tests."""
    for name in ("conftest.py", "sharing.py", "live_failures.py"):
        shutil.copy(ROOT / "tests" / name, pytester.path / "tests")


def listed_by_worker(pytester: pytest.Pytester) -> list[tuple[str, int, int, str]]:
    """Worker, niceness of it and of its session, and id of each test of a small suite, in order."""
    for name in FILES:
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(A_TEST_BESIDE if name in BESIDE else A_TEST)
    let_share(pytester)
    options = ("-n", "2", "--import-mode=importlib")
    pytester.runpytest_subprocess("tests", *options).assert_outcomes(passed=3 * len(FILES))
    lines = (pytester.path / "journal").read_text().splitlines()
    words = map(str.split, lines)
    return [(worker, int(nice), int(session), nodeid) for worker, nice, session, nodeid in words]


@pytest.mark.slow
def test_clusters_take_turns_until_nothing_else_is_left_and_whatever_loads_none_is_nice(
    pytester: pytest.Pytester,
) -> None:
    tests = listed_by_worker(pytester)
    workers: dict[str, set[str]] = {}
    for worker, nice, session, nodeid in tests:
        group = group_of(nodeid)
        workers.setdefault(group, set()).add(worker)
        ours, nicer = os.nice(0), min(os.nice(0) + NICENESS, NICEST)
        # Only root may be less nice again.
        assert nice in (
            [ours, nicer] if os.geteuid() and group in BESIDE else [ours if loads_clusters(group) else nicer]
        )
        its_session = NICENESS if AUTOGROUP.exists() and not loads_clusters(group) else niceness_of_session()
        assert session == its_session, nodeid
    assert set(map(len, workers.values())) == {1}, workers
    assert len(set.union(*(workers[file] for file in FILES if file in BESIDE))) == 2, "two at a time"
    (worker,) = workers[CLUSTERS]
    had = [nodeid.removeprefix(CLUSTERS) for one, _, _, nodeid in tests if one == worker]
    assert had[:6] == [f"test_{name}.py::test_it[{number}]" for name in ("one", "two") for number in range(3)]
    (sharer,) = workers[SHARED]
    order = [group_of(nodeid) for one, _, _, nodeid in tests if one == sharer]
    began = order.index(SHARED)
    assert order[began : began + 6] == [SHARED] * 6
    assert SMALL.isdisjoint(order[:began])


@pytest.mark.slow
def test_workers_begin_where_no_process_has_begun_a_session(pytester: pytest.Pytester) -> None:
    """Processes that init starts have an empty file until one of them begins a session; CI may be one."""
    path = pytester.path / "tests/a/test_it.py"
    path.parent.mkdir(parents=True)
    path.write_text(A_TEST)
    let_share(pytester)
    sharing, group = pytester.path / "tests/sharing.py", pytester.path / "autogroup"
    group.touch()
    sharing.write_text(sharing.read_text().replace(str(AUTOGROUP), str(group)))
    options = ("-n", "1", "--import-mode=importlib")
    pytester.runpytest_subprocess("tests", *options).assert_outcomes(passed=3)
    assert group.read_text() == str(NICENESS)


MARKED = """
import pytest

def test_quick(): pass

@pytest.mark.slow
def test_slow(): pass

@pytest.mark.browser
def test_page(): pass

@pytest.mark.cluster
def test_node(): pass

@pytest.mark.long
def test_more(): pass
"""
MARKERS = "[pytest]\nmarkers =\n slow\n browser\n cluster\n long\n no_cover\n"


@pytest.mark.slow
def test_the_quick_tests_are_those_that_are_not_slow_by_any_mark_or_folder(pytester: pytest.Pytester) -> None:
    for name, text in {"tests/a/test_it.py": MARKED, "tests/results/pipeline/test_one.py": A_TEST}.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    let_share(pytester)
    (pytester.path / "pytest.ini").write_text(MARKERS)
    words = re.findall(r"-m '([^']+)'", target("test-fast"))
    options = ("--collect-only", "-q", "--import-mode=importlib", "--strict-markers")
    listed = pytester.runpytest_subprocess("tests", "-m", *words, *options)
    assert [line for line in listed.outlines if "::" in line] == ["tests/a/test_it.py::test_quick"]


def target(name: str) -> str:
    """What a target of the Makefile runs."""
    lines = (ROOT / "Makefile").read_text().splitlines()
    return lines[next(n for n, line in enumerate(lines) if line.startswith(f"{name}:")) + 1]


def test_mutations_of_a_recorded_run_stay_together_and_others_may_go_elsewhere() -> None:
    groups = Counter[str]()
    of_runs: dict[str, set[str]] = {}
    for case in cases():
        group = group_of(f"tests/mutations/test_mutations.py::test_a_mutation_is_judged[{case.id}]")
        groups[group] += 1
        of_runs.setdefault(case.run, set()).add(group)
    assert set(map(len, of_runs.values())) == {1}
    assert groups.most_common(1)[0][1] < groups.total() / 4


@pytest.mark.slow
def test_what_a_test_has_started_ends_when_the_tests_are_interrupted(pytester: pytest.Pytester) -> None:
    path = pytester.path / "tests/a/test_it.py"
    path.parent.mkdir(parents=True)
    path.write_text(A_TEST_THAT_WAITS)
    let_share(pytester)
    words = [sys.executable, "-c", HEARING, "-m", "pytest", "tests", "-n", "1", "--import-mode=importlib"]
    with subprocess.Popen(
        words, cwd=pytester.path, stdout=subprocess.DEVNULL, start_new_session=True
    ) as tests:
        try:
            written = pytester.path / "child"
            wait_until(written.exists)
            child = int(written.read_text())
            os.killpg(tests.pid, signal.SIGINT)  # as a terminal does
            assert tests.wait() == pytest.ExitCode.INTERRUPTED
        finally:
            with suppress(ProcessLookupError):
                os.killpg(tests.pid, signal.SIGKILL)
    try:
        wait_until(lambda: not Path(f"/proc/{child}/cmdline").exists())
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def test_what_needs_a_cluster_stands_where_clusters_take_turns() -> None:
    marked = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"pytest\.mark\.cluster[\n,]", path.read_text()) and path != Path(__file__)
    }
    assert marked
    assert {group_of(path) for path in marked} == {CLUSTERS, SHARED, *BESIDE}
    assert marked == {path.relative_to(ROOT).as_posix() for path in (ROOT / CLUSTERS).rglob("test_*.py")}


def test_whatever_uses_the_shared_cluster_begins_with_it() -> None:
    files = {
        path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / CLUSTERS).glob("test_*.py")
    }
    assert {name for name, text in files.items() if "three_nodes: Cluster" in text} == set(SHARED_CLUSTER)


def test_every_folder_that_is_named_is_there() -> None:
    assert all((ROOT / folder).is_dir() for folder in TOGETHER)


def test_files_that_bear_another_cluster_are_there_and_the_shared_one_is_not_among_them() -> None:
    assert all((ROOT / file).is_file() for file in (*BESIDE, *SHARED_CLUSTER))
    assert set(BESIDE).isdisjoint(SHARED_CLUSTER)


def test_what_ends_processes_of_the_harness_has_no_loaded_cluster_beside_it() -> None:
    for file in BESIDE:
        assert not re.search(r"os\.kill|SIGKILL|SIGINT|\[\"heal\"\]", (ROOT / file).read_text()), file
