"""The load of a run ends its workers in their order."""

import time

import pytest

from harness.workloads import worker
from harness.workloads.load import ALONE_S, Load
from harness.workloads.worker import Worker, WorkloadError
from tests.harness.waiting import BOUND_S, StandingTime


class Waiting(Worker):
    """A worker that waits until it is stopped, and then for another one if it has one."""

    def __init__(self, name: str, ended: list[str], *, first: bool = False) -> None:
        super().__init__(name)
        self.ends_first = first
        self._ended = ended

    def work(self) -> None:
        self.stopping.wait()
        self._ended.append(self.name)


class Stuck(Worker):
    """A worker that does not end when it is stopped; who waits for it uses all the time that there is."""

    ends_first = True

    def __init__(self, standing: StandingTime) -> None:
        super().__init__("stuck")
        self._standing = standing
        self.released = False

    def work(self) -> None:
        while not self.released:
            self.stopping.wait(0.01)
            self.stopping.clear()

    def join(self, timeout: float | None = None) -> None:
        assert timeout is not None
        self._standing.go_on(timeout)


def test_workers_that_end_first_have_ended_before_others_are_stopped() -> None:
    ended: list[str] = []
    load = Load([Waiting("producer", ended), Waiting("member", ended, first=True)])
    load.start()
    began_s = time.monotonic()
    assert load.stop() == []
    assert ended == ["member", "producer"]
    assert time.monotonic() - began_s >= ALONE_S, "the producer went on alone"


def test_a_worker_that_does_not_end_does_not_keep_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    standing = StandingTime()
    monkeypatch.setattr(worker, "time", standing)
    ended: list[str] = []
    stuck, producer = Stuck(standing), Waiting("producer", ended)
    load = Load([producer, stuck])
    load.start()
    with pytest.raises(WorkloadError, match="workers did not stop") as raised:
        load.stop(BOUND_S)
    stuck.released = True
    assert (raised.value.got, ended) == ("stuck", ["producer"])
