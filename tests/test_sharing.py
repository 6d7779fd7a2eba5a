"""How workers share the tests: clusters come first; one worker has those under load, another the others."""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.sharing import CLUSTERS, LOADED, NICENESS, TOGETHER, group_of, workers_of

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parent.parent
NICEST = 19
LOADING = re.compile(r'"(run|replay|qualify|hunt)", |"up", ')
"""Words of commands that load a cluster, or start one that they keep, as the tests give them."""
A_TEST = """
import os
import pytest

@pytest.mark.parametrize("number", range(3))
def test_it(number, request, worker_id):
    with open("journal", "a") as journal:
        print(worker_id, os.nice(0), request.node.nodeid, file=journal)
"""
FILES = (
    "tests/a/test_it.py",
    "tests/b/test_it.py",
    "tests/cluster/loaded/test_one.py",
    "tests/cluster/loaded/test_two.py",
    "tests/cluster/test_one.py",
    "tests/cluster/test_two.py",
    "tests/results/pipeline/test_one.py",
    "tests/results/pipeline/test_two.py",
)


def told(pytester: pytest.Pytester) -> list[tuple[str, int, str]]:
    """Worker, niceness and id of each test of a small suite, in the order in which they were run."""
    for name in FILES:
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(A_TEST)
    for name in ("conftest.py", "sharing.py"):
        shutil.copy(ROOT / "tests" / name, pytester.path / "tests")
    options = ("-n", "2", "--import-mode=importlib")
    pytester.runpytest_subprocess("tests", *options).assert_outcomes(passed=3 * len(FILES))
    lines = (pytester.path / "journal").read_text().splitlines()
    return [(worker, int(nice), nodeid) for worker, nice, nodeid in map(str.split, lines)]


@pytest.mark.parametrize(("processors", "workers"), [(1, 3), (2, 3), (3, 3), (8, 8)])
def test_one_worker_at_least_has_tests_without_clusters_meanwhile(processors: int, workers: int) -> None:
    assert workers_of(processors) == workers


def test_clusters_take_turns_before_all_else_and_the_rest_is_nice(pytester: pytest.Pytester) -> None:
    tests = told(pytester)
    workers: dict[str, set[str]] = {}
    for worker, nice, nodeid in tests:
        group = group_of(nodeid)
        workers.setdefault(group, set()).add(worker)
        ours = os.nice(0)
        expected = ours if group in (LOADED, CLUSTERS) else min(ours + NICENESS, NICEST)
        assert nice == expected, nodeid
    assert set(map(len, workers.values())) == {1}, workers
    assert workers[LOADED] != workers[CLUSTERS], "one has loaded clusters, the other those without load"
    for folder in (LOADED, CLUSTERS):
        (worker,) = workers[folder]
        had = [nodeid.removeprefix(folder) for one, _, nodeid in tests if one == worker]
        first = [f"test_{name}.py::test_it[{number}]" for name in ("one", "two") for number in range(3)]
        assert had[:6] == first


def test_what_needs_a_cluster_stands_where_clusters_take_turns() -> None:
    marked = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if "pytest.mark.cluster\n" in path.read_text() and path != Path(__file__)
    }
    assert marked
    assert {group_of(path) for path in marked} == {LOADED, CLUSTERS}
    assert marked == {path.relative_to(ROOT).as_posix() for path in (ROOT / CLUSTERS).rglob("test_*.py")}


def test_what_loads_or_keeps_a_cluster_stands_beside_its_like() -> None:
    """Two loads at once are more than the processors have, and some commands take the only cluster kept."""
    loading = {path for path in (ROOT / CLUSTERS).rglob("*.py") if LOADING.search(path.read_text())}
    assert {path.parent for path in loading} == {ROOT / LOADED}


def test_every_folder_that_is_named_is_there() -> None:
    assert all((ROOT / folder).is_dir() for folder in TOGETHER)
