"""A disk for each node: a file system in a file of the run's folder, mounted through a loop device.

The mounted file is next to the node's data directory, so any process that finds the folder can unmount and
remove it.
"""

import fcntl
import os
import re
import shutil
import struct
import subprocess
from contextlib import suppress
from pathlib import Path

from harness.errors import KrucibleError
from harness.vocabulary.topology import DiskKind

SIZE_BYTES = 1 << 30
"""Size of each file system; its file is sparse."""
LIMIT_S = 60.0
"""Time limit of each command; making a file system of this size takes less than a second."""
MOUNTS = Path("/proc/self/mountinfo")
CONTROL = Path("/dev/loop-control")
_SHUT_DOWN = 0x8004587D
"""The ioctl for ext4 (EXT4_IOC_SHUTDOWN) and XFS (XFS_IOC_GOINGDOWN), which share the number."""
_WITHOUT_LOG_FLUSH = 2
_KILL_GRACE_S = 1.0
_MAKERS = {
    DiskKind.LOOP_EXT4: ("mkfs.ext4", "-q", "-F"),
    DiskKind.LOOP_XFS: ("mkfs.xfs", "-q", "-f"),
}


def lacking(kind: DiskKind) -> str | None:
    """The reason why this host can't have such disks, without trying it; None if nothing is missing."""
    if kind is DiskKind.FOLDER:
        return None
    if os.geteuid() != 0:
        return "only root may mount loop devices"
    if not CONTROL.exists():
        return f"there is no {CONTROL}"
    missing = [tool for tool in (_MAKERS[kind][0], "mount", "umount") if not shutil.which(tool)]
    return f"{', '.join(missing)} not found" if missing else None


def make_disk(disk: Path, kind: DiskKind) -> None:
    """Make a file system and mount it.

    Args:
        disk: an existing folder; the file with the file system is created next to it.
        kind: ext4 or XFS.

    Raises:
        KrucibleError: if the host can't.
    """
    image = _image(disk)
    with image.open("wb") as file:
        file.truncate(SIZE_BYTES)
    _run(*_MAKERS[kind], str(image))
    mount(disk)
    lost_and_found = disk / "lost+found"
    if lost_and_found.exists():
        lost_and_found.rmdir()  # Kafka treats every folder in a log directory as a partition's


def mount(disk: Path) -> None:
    """Mount an existing disk.

    Raises:
        KrucibleError: if the host can't.
    """
    _run("mount", "-o", "loop", str(_image(disk)), str(disk))


def unmount(disk: Path) -> bool:
    """Unmount a disk; False if it is in use.

    Raises:
        KrucibleError: if it takes longer than `LIMIT_S`.
    """
    return _ended("umount", str(disk)).returncode == 0


def unmount_below(folder: Path) -> None:
    """Unmount every disk in a folder; a disk in use is unmounted once it is no longer used.

    Raises:
        KrucibleError: if one can't be unmounted.
    """
    for disk in _mounted_below(folder.resolve()):
        _run("umount", "--lazy", str(disk))


def shut_down(disk: Path) -> None:
    """Make a disk fail every access until it is mounted again; unsynced data is lost.

    Raises:
        OSError: if the file system can't do that, or this process may not.
    """
    handle = os.open(disk, os.O_RDONLY)
    try:
        fcntl.ioctl(handle, _SHUT_DOWN, struct.pack("I", _WITHOUT_LOG_FLUSH))
    finally:
        os.close(handle)


def _image(disk: Path) -> Path:
    return disk.with_name(f"{disk.name}.img")


def _mounted_below(folder: Path) -> list[Path]:
    """Mount points below a folder: the fifth field of each line, with blanks as octal escapes."""
    if not MOUNTS.exists():
        return []
    points = (line.split()[4] for line in MOUNTS.read_text().splitlines())
    paths = [Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), point)) for point in points]
    return [path for path in paths if folder in path.parents]


def _run(*command: str) -> None:
    done = _ended(*command)
    if done.returncode:
        raise KrucibleError(
            f"{command[0]} failed, so a node has no disk of its own",
            got=done.stderr.strip()[-500:],
            where=command[-1],
            next_step="krucible doctor, or a topology with disks that are folders",
        )


def _ended(*command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, for `LIMIT_S` at most."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, error_text = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired as error:
        process.kill()
        # A process that waits for a device in the kernel survives the signal, and must not block us too.
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_KILL_GRACE_S)
        raise KrucibleError(
            f"{command[0]} does not end",
            got=f"it ran for {LIMIT_S:g} s",
            where=command[-1],
            next_step="look at the host's loop devices (losetup --all, dmesg)",
        ) from error
    return subprocess.CompletedProcess(command, process.returncode, stderr=error_text)
