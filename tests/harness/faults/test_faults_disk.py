"""Faults of disks: what goes and what stays, how the disk is formatted next, and what the probes believe."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from checkers.history.faults import LogFlushed, ResolvedBy
from harness.cluster.containers import NodeContainers
from harness.cluster.homes import NodeHome
from harness.errors import KrucibleError
from harness.faults import disk as module
from harness.faults import process
from harness.faults.activate import activate
from harness.faults.contract import ActiveFault, Bench, NotConfirmedError
from harness.faults.targets import Resolved
from harness.record.ledger import Undo
from harness.vocabulary.faults import DeadDisk, Fault, PowerLoss, Scope, WipeDisk
from harness.vocabulary.topology import DiskKind, Topology

FILES = (
    "meta.properties",
    "bootstrap.checkpoint",
    "recovery-point-offset-checkpoint",
    "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
    "__cluster_metadata-0/00000000000000000000.log",
    "__cluster_metadata-0/quorum-state",
    "log-0-0/00000000000000000000.log",
    "log-0-1.0f3a-future/00000000000000000000.log",
    "log-0-x-3/00000000000000000000.log",
    "__consumer_offsets-2/00000000000000000000.log",
)
VOTERS = "1@h:9093:old,2@h:9093:other"


class Node:
    """A node that formats its disk when it starts, as run-node does."""

    def __init__(self, home: NodeHome) -> None:
        self.home = home
        self.running = True
        self.done: list[str] = []
        self.draws = "drawn"

    def kill(self) -> None:
        self.done.append("kill")
        self.running = False

    def stop(self, _timeout_s: int) -> None:
        self.done.append("stop")
        self.running = False

    def start(self) -> None:
        self.done.append("start")
        self.running = True
        papers = self.home.disk / "meta.properties"
        wanted = self.home.folder / "directory-ids"
        if not papers.exists() and self.draws:
            directory_id = wanted.read_text().strip() if wanted.exists() else self.draws
            papers.write_text(f"directory.id={directory_id}\n")

    def state(self) -> dict[str, Any]:
        return {"Running": self.running, "ExitCode": 137}


class Rig:
    """One node, its disk full of files."""

    def __init__(self, folder: Path) -> None:
        self.home = NodeHome(folder / "home", folder / "disk")
        self.home.folder.mkdir()
        for name in FILES:
            path = self.home.disk / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("something")
        (self.home.disk / "meta.properties").write_text("directory.id=old\n")
        self.home.set_format_arguments(["--initial-controllers", VOTERS])
        self.node = Node(self.home)

    def fault(self, spec: Fault) -> ActiveFault:
        (node, *_) = Topology().nodes()
        containers = {"n1": cast("NodeContainers", self.node)}
        bench = Bench((node,), containers, {"n1": "10.0.0.1"}, {"n1": self.home})
        return activate(spec, "f1", Resolved(node, ResolvedBy.NAME), bench)

    @property
    def left(self) -> set[str]:
        paths = (path for path in self.home.disk.rglob("*") if path.is_file())
        return {str(path.relative_to(self.home.disk)) for path in paths}


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    rig = Rig(tmp_path)
    monkeypatch.setattr(process, "answers", lambda *_, **__: rig.node.running)
    monkeypatch.setattr(process, "PROBE_BOUND_S", 0.0)
    monkeypatch.setattr(module, "PROBE_BOUND_S", 0.0)
    return rig


def test_a_new_disk_has_a_new_directory_id_and_no_vote(rig: Rig) -> None:
    fault = rig.fault(WipeDisk())
    fault.inject()
    assert rig.left == set()
    seen: dict[str, Any] = fault.took_effect()
    assert (seen["directory_id_before"], seen["hard"]) == ("old", True)
    assert set(seen["removed"]) == {name.partition("/")[0] for name in FILES}
    assert rig.home.format_arguments() == ["--no-initial-controllers"]

    fault.heal()
    healed = fault.healed()
    assert (healed["directory_id_before"], healed["directory_id_after"]) == ("old", "drawn")
    assert rig.node.done == ["kill", "start"]


def test_a_new_disk_may_be_given_the_old_directory_id(rig: Rig) -> None:
    rig.home.set_format_arguments(["--standalone"])
    fault = rig.fault(WipeDisk(new_directory_id=False, by="stop"))
    fault.inject()
    assert rig.home.format_arguments() == ["--initial-controllers", "1@10.0.0.1:9093:old"]
    fault.heal()
    assert fault.healed()["directory_id_after"] == "old"
    assert rig.node.done == ["stop", "start"]


@pytest.mark.parametrize(
    ("spec", "going"),
    [
        (WipeDisk(scope=Scope.KEEP_META), set(FILES) - {*FILES[:2], FILES[3]}),
        (WipeDisk(scope=Scope.TOPIC, topic="log-0"), set(FILES[6:8])),
        (WipeDisk(scope=Scope.TOPIC), set(FILES[6:])),
    ],
)
def test_a_part_of_the_disk_goes_and_the_node_keeps_its_identity(
    rig: Rig, spec: WipeDisk, going: set[str]
) -> None:
    fault = rig.fault(spec)
    fault.inject()
    assert rig.left == set(FILES) - going
    assert fault.took_effect()["removed"]
    assert rig.home.format_arguments() == ["--initial-controllers", VOTERS]
    fault.heal()
    assert fault.healed()["directory_id_after"] == "old"


def test_a_disk_without_directory_ids_is_new_all_the_same(rig: Rig) -> None:
    (rig.home.disk / "meta.properties").write_text("version=1\n")
    fault = rig.fault(WipeDisk(new_directory_id=False))
    fault.inject()
    fault.heal()
    assert fault.healed()["directory_id_before"] is None


def test_one_disk_of_several_goes(rig: Rig) -> None:
    second = rig.home.disk.with_name("disk-2")
    (second / "log-0-5").mkdir(parents=True)
    (second / "meta.properties").write_text("directory.id=second\n")
    rig.home = rig.node.home = NodeHome(rig.home.folder, rig.home.disk, (second,))
    fault = rig.fault(WipeDisk(log_dir=2, new_directory_id=False))
    fault.inject()
    assert rig.left == set(FILES)
    seen = fault.took_effect()
    assert seen["removed"] == ("disk-2/log-0-5", "disk-2/meta.properties")
    assert seen["directory_id_before"] == "second"
    assert rig.home.format_arguments() == ["--initial-controllers", VOTERS]
    assert (rig.home.folder / "directory-ids").read_text() == "old\nsecond\n"


def test_a_wipe_that_leaves_a_folder_is_not_confirmed(rig: Rig) -> None:
    fault = rig.fault(WipeDisk(scope=Scope.TOPIC, topic="log-0"))
    fault.inject()
    (rig.home.disk / "log-0-0").mkdir()
    with pytest.raises(NotConfirmedError, match="log-0-0"):
        fault.took_effect()


@pytest.mark.parametrize("draws", ["old", ""])
def test_a_directory_id_other_than_the_requested_one_is_reported(rig: Rig, draws: str) -> None:
    rig.node.draws = draws
    fault = rig.fault(WipeDisk())
    fault.inject()
    fault.heal()
    with pytest.raises(NotConfirmedError, match="directory id was old and is"):
        fault.healed()


class Loop:
    """A file system that loses the canary, or does not."""

    def __init__(self, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        self.loses = True
        self.keeps_name = False
        self.busy = False
        for name in ("shut_down", "mount", "unmount"):
            monkeypatch.setattr(module, name, getattr(self, name))
        self.rig = rig

    def shut_down(self, disk: Path) -> None:
        assert not self.rig.node.running or self.rig.node.done == []
        self.done.append("shut down")
        canary = disk / "krucible-canary"
        if self.keeps_name:
            canary.write_bytes(b"")
        elif self.loses:
            canary.unlink(missing_ok=True)

    def mount(self, _disk: Path) -> None:
        self.done.append("mount")

    def unmount(self, _disk: Path) -> bool:
        self.done.append("unmount")
        return not self.busy


@pytest.fixture
def loop(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(rig, monkeypatch)


def test_without_power_a_node_is_down_and_what_was_not_synced_is_gone(rig: Rig, loop: Loop) -> None:
    fault = rig.fault(PowerLoss())
    fault.inject()
    assert loop.done == ["shut down", "unmount", "mount"]
    assert fault.took_effect()["unsynced_lost"] is True
    fault.heal()
    assert fault.healed()["answers"] is True
    assert rig.node.done == ["kill", "start"]


def test_what_is_left_of_flushed_logs_is_read_from_the_disk_that_is_mounted_again(
    rig: Rig, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(disk: Path) -> list[LogFlushed]:
        assert loop.done == ["shut down", "unmount", "mount"]
        assert disk == rig.home.disk
        return [LogFlushed("log-0", 0, 12, 10)]

    monkeypatch.setattr(module, "flushed_logs", look)
    fault = rig.fault(PowerLoss())
    fault.inject()
    assert fault.took_effect()["flushed"] == [LogFlushed("log-0", 0, 12, 10)]


def test_a_name_that_a_journal_committed_in_time_is_not_what_was_written(rig: Rig, loop: Loop) -> None:
    loop.keeps_name = True
    fault = rig.fault(PowerLoss())
    fault.inject()
    assert fault.took_effect()["unsynced_lost"] is True


def test_power_that_lost_nothing_is_not_believed(rig: Rig, loop: Loop) -> None:
    loop.loses = False
    fault = rig.fault(PowerLoss())
    fault.inject()
    with pytest.raises(NotConfirmedError, match="was not synced, and is still on"):
        fault.took_effect()


@pytest.mark.usefixtures("rig")
def test_a_disk_that_stays_in_use_is_an_error(rig: Rig, loop: Loop) -> None:
    loop.busy = True
    with pytest.raises(KrucibleError, match="can't be unmounted"):
        rig.fault(PowerLoss()).inject()


def test_a_dead_disk_fails_writes_while_the_node_runs(
    rig: Rig, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = rig.fault(DeadDisk())
    fault.inject()
    assert (loop.done, rig.node.done) == (["shut down"], [])
    with pytest.raises(NotConfirmedError, match="still accepts writes"):
        fault.took_effect()

    with (
        writes_failing(monkeypatch, errno.ENOSPC),
        pytest.raises(NotConfirmedError, match="not as on a dead"),
    ):
        fault.took_effect()
    with writes_failing(monkeypatch, errno.EIO):
        assert fault.took_effect() == {
            "error": f"[Errno {errno.EIO}] no",
            "running": True,
            "directory_ids": ["old"],
        }
    fault.heal()
    assert fault.healed()["answers"] is True
    assert loop.done[1:] == ["unmount", "mount"]
    assert rig.node.done == ["kill", "start"]


@contextmanager
def writes_failing(monkeypatch: pytest.MonkeyPatch, code: int) -> Iterator[None]:
    def fail(*_: object) -> None:
        raise OSError(code, "no")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", fail)
        yield


def test_a_file_system_that_somebody_else_held_is_mounted_once_more(
    rig: Rig, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_takes_writes", lambda _disk: loop.done.count("mount") > 1)
    rig.fault(PowerLoss()).inject()
    assert loop.done == ["shut down", *["unmount", "mount"] * 2]


@pytest.mark.usefixtures("loop")
def test_a_file_system_that_somebody_else_holds_is_an_error(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_takes_writes", lambda _disk: False)
    with pytest.raises(KrucibleError, match="mounted again still fails"):
        rig.fault(PowerLoss()).inject()


def test_only_a_failed_access_shows_that_a_file_system_was_shut_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module._takes_writes(tmp_path)
    assert not list(tmp_path.iterdir())
    with writes_failing(monkeypatch, errno.EIO):
        assert not module._takes_writes(tmp_path)
    with writes_failing(monkeypatch, errno.ENOSPC), pytest.raises(OSError, match="no"):
        module._takes_writes(tmp_path)


def test_faults_of_disks_hold_their_node_and_say_what_they_need(rig: Rig) -> None:
    for spec in (PowerLoss(), DeadDisk()):
        assert "loop-ext4" in str(spec.unavailable_because(Topology()))
        assert spec.unavailable_because(Topology(disk=DiskKind.LOOP_XFS)) is None
    assert WipeDisk().unavailable_because(Topology()) is None
    assert WipeDisk(log_dir=2).unavailable_because(Topology(log_dirs=2)) is None
    assert "no log directory 2" in str(WipeDisk(log_dir=2).unavailable_because(Topology()))
    for each in (PowerLoss(), DeadDisk(), WipeDisk()):
        assert each.takes_process
        assert rig.fault(each).undo == (Undo(action="start", node="n1"),)
