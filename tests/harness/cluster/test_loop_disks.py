"""Disks on loop devices: what is run to make, mount and unmount them, and what a host must have."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.cluster import loop_disks
from harness.cluster.cluster import Plan, start_cluster
from harness.errors import KrucibleError, UsageError
from harness.vocabulary.topology import DiskKind, Topology


class Shell:
    """What was run, all of which works unless the test says otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.commands: list[list[str]] = []
        self.failing = ""
        monkeypatch.setattr(loop_disks, "_ended", self.run)

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        words = list(command)
        self.commands.append(words)
        if words[0] == "mount":
            (Path(words[-1]) / "lost+found").mkdir()
        failed = words[0] == self.failing
        return subprocess.CompletedProcess(
            words, int(failed), stdout="", stderr="it is odd" if failed else ""
        )


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(monkeypatch)


@pytest.mark.parametrize(
    ("kind", "maker"), [(DiskKind.LOOP_EXT4, "mkfs.ext4"), (DiskKind.LOOP_XFS, "mkfs.xfs")]
)
def test_a_disk_is_made_beside_its_folder_and_holds_nothing(
    shell: Shell, tmp_path: Path, kind: DiskKind, maker: str
) -> None:
    disk = tmp_path / "n1"
    disk.mkdir()
    loop_disks.make_disk(disk, kind)
    image = tmp_path / "n1.img"
    assert [command[0] for command in shell.commands] == [maker, "mount"]
    assert shell.commands[1][1:] == ["-o", "loop", str(image), str(disk)]
    assert image.stat().st_size == loop_disks.SIZE_BYTES
    assert image.stat().st_blocks == 0
    assert list(disk.iterdir()) == []


def test_what_fails_is_reported(shell: Shell, tmp_path: Path) -> None:
    shell.failing = "mkfs.ext4"
    with pytest.raises(KrucibleError) as caught:
        loop_disks.make_disk(tmp_path / "n1", DiskKind.LOOP_EXT4)
    assert caught.value.got == "it is odd"
    assert caught.value.where == str(tmp_path / "n1.img")


@pytest.mark.parametrize("ask", [loop_disks.mount, loop_disks.unmount])
def test_a_command_that_hangs_is_ended_and_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ask: Callable[[Path], object]
) -> None:
    for tool in ("mount", "umount"):
        (tmp_path / tool).write_text("#!/bin/sh\nexec sleep 600\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(loop_disks, "LIMIT_S", 0.05)
    with pytest.raises(KrucibleError, match="does not end") as caught:
        ask(tmp_path / "n1")
    assert caught.value.where == str(tmp_path / "n1")


def test_whether_a_disk_is_in_use_is_known(shell: Shell, tmp_path: Path) -> None:
    assert loop_disks.unmount(tmp_path)
    shell.failing = "umount"
    assert not loop_disks.unmount(tmp_path)


def test_all_below_a_folder_is_unmounted_and_nothing_else(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mountinfo"
    monkeypatch.setattr(loop_disks, "MOUNTS", mounts)
    loop_disks.unmount_below(tmp_path)
    assert shell.commands == []

    folder = tmp_path / "a run" / "disks"
    written = str(folder).replace(" ", "\\040")
    points = [f"{written}/n1", str(tmp_path), "/", f"{written}-2/n1"]
    mounts.write_text("".join(f"36 35 98:0 / {point} rw - ext4 /dev/loop0 rw\n" for point in points))
    loop_disks.unmount_below(folder)
    assert shell.commands == [["umount", "--lazy", f"{folder}/n1"]]


def test_what_is_no_file_system_can_not_be_shut_down() -> None:
    with pytest.raises(OSError, match="Inappropriate ioctl"):
        loop_disks.shut_down(Path("/dev/null"))


def test_what_a_host_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    control = tmp_path / "loop-control"
    monkeypatch.setattr(loop_disks, "CONTROL", control)
    monkeypatch.setattr(loop_disks, "os", SimpleNamespace(geteuid=lambda: 7))
    assert loop_disks.lacking(DiskKind.FOLDER) is None
    assert loop_disks.lacking(DiskKind.LOOP_EXT4) == "only root may mount loop devices"
    monkeypatch.setattr(loop_disks, "os", SimpleNamespace(geteuid=lambda: 0))
    assert loop_disks.lacking(DiskKind.LOOP_EXT4) == f"there is no {control}"
    control.touch()
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "mkfs.xfs" else tool)
    assert loop_disks.lacking(DiskKind.LOOP_EXT4) is None
    assert loop_disks.lacking(DiskKind.LOOP_XFS) == "mkfs.xfs not found"


def test_a_cluster_whose_disks_the_host_can_not_have_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(loop_disks, "CONTROL", tmp_path / "none")
    topology = Topology(disk=DiskKind.LOOP_EXT4)
    plan = Plan("abc", tmp_path, topology, "4.3.1", kafka_image="kafka", holder_image="holder")
    with pytest.raises(UsageError) as caught:
        start_cluster(None, plan, ())  # type: ignore[arg-type]  # refused before the engine is asked
    assert "disks of kind loop-ext4 are not available" in caught.value.got
