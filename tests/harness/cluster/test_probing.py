"""Probes of what faults need: each failure becomes a reason, and no container stays."""

import os
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError, NotFound

from harness.cluster import probing
from harness.cluster.containers import OWNER_LABEL
from harness.cluster.images.base import base_reference
from harness.errors import EngineError, KrucibleError
from harness.record.ownership import Owner, this_process
from tests.harness.fakes.engine import FakeEngine

HERE = this_process(os.getpid())
GONE = Owner(HERE.pid, HERE.start_ticks - 1)
OF_THE_NETWORK = ("partition", "packet-loss", "lost-answers", "held-requests", "held-reports")


class FakeContainer:
    """A container that works as asked, unless the test says otherwise."""

    def __init__(self, **manners: Any) -> None:
        self.manners = manners
        self.status = "running"
        self.code = 0
        self.removed = False
        self.labels: dict[str, str] = {}

    def logs(self) -> bytes:
        return b"" if self.manners.get("mute") else b"ready\n"

    def exec_run(self, command: list[str]) -> tuple[int, bytes]:
        if command[0] == "/bin/touch":
            return int(not self.manners.get("immortal")), b""
        output = self.manners.get("iptables")
        return (0, b"") if output is None or "statistic" not in command[-1] else (2, output)

    def pause(self) -> None:
        self.status = self.manners.get("paused", "paused")

    def reload(self) -> None:
        pass

    def unpause(self) -> None:
        pass

    def kill(self, signal: str) -> None:
        assert signal == "SIGKILL"
        self.code = probing.KILLED

    def stop(self, timeout: int) -> None:
        assert timeout == probing.ANSWER_LIMIT_S
        self.code = self.manners.get("stop_code", 0)

    def wait(self, timeout: int) -> dict[str, int]:
        assert timeout == probing.ANSWER_LIMIT_S
        return {"StatusCode": self.code}

    def remove(self, *, force: bool) -> None:
        if refusal := self.manners.get("refusal"):
            raise refusal
        self.removed = force


class FakeHost(FakeEngine):
    """An engine that has the base image and runs fake containers."""

    def __init__(self, **manners: Any) -> None:
        super().__init__()
        self.add(base_reference())
        self.manners = manners
        self.started: list[FakeContainer] = []
        self.left: list[FakeContainer] = []

    @property
    def containers(self) -> Any:
        return self

    def run(self, image: str, _command: list[str], **options: Any) -> FakeContainer:
        assert image == base_reference()
        assert options["labels"] == {probing.PROBE_LABEL: "doctor", OWNER_LABEL: HERE.label()}
        if error := self.manners.get("error"):
            raise error
        for disk in options["volumes"]:
            if not self.manners.get("remote"):
                (Path(disk) / probing.WRITTEN).touch()
        self.started.append(FakeContainer(**self.manners))
        return self.started[-1]

    def leave(self, owner: Owner, **manners: Any) -> FakeContainer:
        """A container of an earlier probe."""
        self.left.append(FakeContainer(**manners))
        self.left[-1].labels = {probing.PROBE_LABEL: "doctor", OWNER_LABEL: owner.label()}
        return self.left[-1]

    def list(self, **asked: Any) -> list[FakeContainer]:
        filters = {"label": [probing.PROBE_LABEL, OWNER_LABEL]}
        assert asked == {"all": True, "filters": filters, "ignore_removed": True}
        return self.left


class FakeLoop:
    """Loop devices that make folders look like disks, and forget all when they are mounted anew."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lack: str | None = None
        self.busy = False
        self.kept = False
        self.refusal: Exception | None = None
        monkeypatch.setattr(probing, "lacking", lambda _: self.lack)
        monkeypatch.setattr(probing, "make_disk", self.make_disk)
        monkeypatch.setattr(probing, "shut_down", lambda _: None)
        monkeypatch.setattr(probing, "unmount", lambda _: not self.busy)
        monkeypatch.setattr(probing, "mount", self.mount)

    def make_disk(self, *_: object) -> None:
        if self.refusal:
            raise self.refusal

    def mount(self, disk: Path) -> None:
        if not self.kept:
            (disk / probing.WRITTEN).unlink()


@pytest.fixture(autouse=True)
def loop(monkeypatch: pytest.MonkeyPatch) -> FakeLoop:
    return FakeLoop(monkeypatch)


def reasons(host: FakeHost) -> dict[str, str | None]:
    found = probing.probe_faults(host.client)
    assert all(container.removed for container in host.started)
    return {kind: reason for kind, reason in found.items() if reason}


def test_a_host_that_can_do_everything_has_no_reasons() -> None:
    host = FakeHost()
    assert reasons(host) == {}
    assert len(host.started) == len(probing.PROBES)


@pytest.mark.parametrize(
    ("manners", "expected"),
    [
        (
            {"iptables": b"x\nno such match"},
            dict.fromkeys(
                OF_THE_NETWORK,
                f"{probing.RULES[-1]}: no such match",
            ),
        ),
        (
            {"iptables": b""},
            dict.fromkeys(OF_THE_NETWORK, f"{probing.RULES[-1]}: exit 2"),
        ),
        ({"paused": "running"}, {"pause": "a paused container is running"}),
        ({"stop_code": 137}, {"stop": "the container ended with 137, expected 0"}),
        ({"immortal": True}, {"dead-disk": "a failed disk accepts writes"}),
        (
            {"remote": True},
            {
                "wipe-disk": "a folder of this host does not reach the engine's containers",
                "torn-write": "a folder of this host does not reach the engine's containers",
                "power-loss": "a file system mounted on this host does not reach the engine's containers",
            },
        ),
    ],
)
def test_what_a_host_cannot_do_is_reported(manners: dict[str, Any], expected: dict[str, str]) -> None:
    assert reasons(FakeHost(**manners)) == expected


def test_what_loop_devices_can_not_do_is_reported(loop: FakeLoop) -> None:
    loop.kept = True
    assert reasons(FakeHost()) == {"power-loss": "data that was not synced survived a power loss"}
    loop.busy = True
    assert reasons(FakeHost()) == {"power-loss": "a disk that a container used can't be unmounted"}
    for refusal in (KrucibleError("no loop"), OSError("no loop")):
        loop.refusal = refusal
        assert reasons(FakeHost()) == {"power-loss": "no loop", "dead-disk": "no loop"}
    loop.lack = "only root may"
    assert reasons(FakeHost()) == {"power-loss": "only root may", "dead-disk": "only root may"}


def test_an_engine_that_refuses_is_a_reason() -> None:
    assert set(reasons(FakeHost(error=APIError("no NET_ADMIN"))).values()) == {"no NET_ADMIN"}


def test_a_container_that_does_not_come_up_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "ANSWER_LIMIT_S", 0.01)
    assert set(reasons(FakeHost(mute=True)).values()) == {"a container did not run within 0.01 s"}


def test_without_the_base_image_nothing_is_tried() -> None:
    found = probing.probe_faults(FakeEngine().client)
    assert set(found) == set(probing.PROBES)
    assert all("krucible setup" in str(reason) for reason in found.values())


def test_the_container_of_a_probe_that_was_killed_is_removed() -> None:
    host = FakeHost()
    left, probed_now = host.leave(GONE), host.leave(HERE)
    assert reasons(host) == {}
    assert (left.removed, probed_now.removed) == (True, False)


def test_a_container_that_another_probe_removes_at_the_same_time_is_no_trouble() -> None:
    host = FakeHost()
    host.leave(GONE, refusal=NotFound("no such container"))
    assert reasons(host) == {}


def test_a_container_that_can_not_be_removed_is_an_error() -> None:
    host = FakeHost()
    host.leave(GONE, refusal=APIError("device busy"))
    with pytest.raises(EngineError, match="refused a removal"):
        reasons(host)
