"""Which worker gets which tests, simulated: two clusters at most, and nobody idle for long at the end."""

from itertools import pairwise
from types import SimpleNamespace

import pytest

from tests.sharing import BESIDE, LOADED_AT_A_TIME, TOGETHER, Sharing, group_of, loads_clusters

CLUSTERS = TOGETHER[0]


class Worker:
    """A worker of pytest-xdist that needs a given time for each test of a group, by a clock of our own."""

    def __init__(self, name: str, collection: list[str]) -> None:
        self.gateway, self.shutting_down = SimpleNamespace(id=name), False
        self._collection = collection
        self._queue: list[int] = []
        self.at: int | None = None
        self.until_s = 0

    def send_runtest_some(self, places: list[int]) -> None:
        self._queue += places

    def shutdown(self) -> None:
        self.shutting_down = True

    def crash(self) -> None:
        self._queue, self.at, self.shutting_down = [], None, True

    def begin(self, now_s: int) -> None:
        """Begin the next test, where the one after it is known or there is none."""
        if self.at is None and self._queue and (len(self._queue) > 1 or self.shutting_down):
            self.at = self._queue.pop(0)
            self.until_s = now_s + TAKES_S.get(self.group, 10)

    @property
    def group(self) -> str:
        return "" if self.at is None else group_of(self._collection[self.at])


TAKES_S = {CLUSTERS: 100, BESIDE[0]: 130, BESIDE[1]: 50, BESIDE[2]: 80, BESIDE[3]: 40}
"""Seconds of each test of a group; 10 for each of others."""


def simulated(
    workers: int,
    collection: list[str],
    monkeypatch: pytest.MonkeyPatch,
    crash_at: str = "",
) -> list[tuple[int, dict[str, str]]]:
    """When something changes, and which group each worker is at then, until all tests have ended.

    The first worker that is at the group `crash_at` crashes there, and another one takes its place.
    """
    monkeypatch.setattr("xdist.scheduler.loadscope.parse_tx_spec_config", lambda _: range(workers))
    config = SimpleNamespace(option=SimpleNamespace(loadscopereorder=False))
    sharing = Sharing(config, None)  # type: ignore[arg-type]
    there = [Worker(f"gw{number}", collection) for number in range(workers)]
    for worker in there:
        sharing.add_node(worker)
    for worker in there:
        sharing.add_node_collection(worker, collection)
    sharing.schedule()
    now_s, seen = 0, []
    while True:
        for worker in there:
            worker.begin(now_s)
        if crashing := [worker for worker in there if worker.group == crash_at != ""]:
            crash_at = ""
            there.remove(crashing[0])
            crashing[0].crash()
            sharing.remove_node(crashing[0])
            there.append(clone := Worker("clone", collection))
            sharing.add_node(clone)
            sharing.add_node_collection(clone, collection)
            sharing.schedule()
            continue
        busy = [worker for worker in there if worker.at is not None]
        seen.append((now_s, {worker.gateway.id: worker.group for worker in busy}))
        if not busy:
            assert not sharing.has_pending
            return seen
        ended = min(busy, key=lambda worker: worker.until_s)
        now_s, at, ended.at = ended.until_s, ended.at, None
        sharing.mark_test_complete(ended, at or 0)


def collected(small: int) -> list[str]:
    """Tests in their order: a file of clusters without others, small files, those that may be beside one."""
    files = [f"{CLUSTERS}test_one.py", *(f"tests/a/test_{number}.py" for number in range(small)), *BESIDE[:4]]
    return [f"{file}::test_{number}" for file in files for number in range(2)]


@pytest.mark.parametrize(("workers", "small"), [(1, 3), (2, 3), (2, 20), (2, 60), (3, 20), (4, 3), (4, 0)])
def test_two_clusters_are_loaded_at_most_and_none_beside_those_that_stay_alone(
    workers: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = simulated(workers, collected(small), monkeypatch)
    for _, groups in seen:
        loaded = [group for group in groups.values() if loads_clusters(group)]
        assert len(loaded) <= LOADED_AT_A_TIME
        assert CLUSTERS not in loaded or len(loaded) == 1
    assert {group for _, groups in seen for group in groups.values()} == set(map(group_of, collected(small)))
    at_once = [groups for _, groups in seen if sum(map(loads_clusters, groups.values())) > 1]
    assert bool(at_once) is (workers > 1 and small < 60)


@pytest.mark.parametrize("small", [3, 20, 30, 60])
def test_of_two_workers_none_is_idle_at_the_end_for_longer_than_a_file_takes(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = simulated(2, collected(small), monkeypatch)
    (end_s, _), idle_s = seen[-1], 0
    for (since_s, groups), (until_s, _) in pairwise(seen):
        alone = CLUSTERS in groups.values()
        idle_s += (until_s - since_s) * (len(groups) < 2 and not alone)
    assert idle_s <= 2 * max(TAKES_S.values()), f"of {end_s} s"


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
@pytest.mark.parametrize("group", [CLUSTERS, BESIDE[1], BESIDE[3], "tests/a/test_2.py"])
def test_after_a_crash_the_others_and_its_successor_run_what_is_left(
    workers: int, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = simulated(workers, collected(5), monkeypatch, crash_at=group)
    for _, groups in seen:
        loaded = [name for name in groups.values() if loads_clusters(name)]
        assert len(loaded) <= LOADED_AT_A_TIME
        assert CLUSTERS not in loaded or len(loaded) == 1
    assert {name for _, groups in seen for name in groups.values()} == set(map(group_of, collected(5)))


def test_those_that_stay_alone_come_first_in_whatever_order_tests_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = simulated(2, [*reversed(collected(3))], monkeypatch)
    for _, groups in seen:
        loaded = [name for name in groups.values() if loads_clusters(name)]
        assert CLUSTERS not in loaded or len(loaded) == 1
