"""Faults of one node's disk: a wipe while the node is down, a loss of power, a failure while it runs."""

import errno
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from checkers.history.faults import LogFlushed
from harness.cluster.containers import NotRunningError
from harness.cluster.homes import META_PROPERTIES, NodeHome, as_initial, as_newcomer, directory_id_of
from harness.cluster.loop_disks import mount, shut_down, unmount
from harness.cluster.rendering import CONTROLLER_PORT
from harness.errors import KrucibleError, disk_errors_named
from harness.faults.activate import carries_out
from harness.faults.contract import Bench, NotConfirmedError
from harness.faults.process import PROBE_BOUND_S, STOP_BOUND_S, Restarting, within
from harness.faults.targets import Resolved
from harness.kafka.segments.recovery_points import flushed_logs
from harness.vocabulary.faults import DeadDisk, OfDisk, PowerLoss, Scope, WipeDisk

METADATA_FOLDER = "__cluster_metadata-0"
_FORMATTED = (META_PROPERTIES, "bootstrap.checkpoint")
_FORMATTED_VOTERS = "00000000000000000000-0000000000.checkpoint"
_PARTITION = re.compile(r"(.+)-\d+(\.[0-9a-f]+-(future|delete|stray))?")
"""Folders of partitions, also of those that are being moved or deleted, and of stray ones."""
_CANARY = "krucible-canary"
_WRITABLE = "krucible-writable"


class _OfDisk(Restarting):
    """A fault of a node's disk, after which the node is started again."""

    def __init__(self, spec: OfDisk, fault: str, resolved: Resolved, bench: Bench) -> None:
        super().__init__(spec, fault, resolved, bench)
        log_dir = None if isinstance(spec, PowerLoss) else spec.log_dir
        self._home: NodeHome = bench.homes[resolved.node.name]
        disks = self._home.disks
        self._disks = disks if log_dir is None else disks[log_dir - 1 : log_dir]


@carries_out(WipeDisk)
class ActiveWipe(_OfDisk):
    """A wipe: files of the disk are removed while the node is down."""

    def __init__(self, spec: WipeDisk, fault: str, resolved: Resolved, bench: Bench) -> None:
        super().__init__(spec, fault, resolved, bench)
        self._spec = spec
        self._id = resolved.node.id
        self._before: str | None = None
        self._removed: tuple[str, ...] = ()

    @disk_errors_named()
    def inject(self) -> None:
        """Stop the node, remove its files, and set how it is formatted when it starts."""
        if self._spec.by == "stop":
            self._containers.stop(STOP_BOUND_S)
        else:
            self._containers.kill()
        ids = [directory_id_of(disk) for disk in self._home.disks]
        self._before = directory_id_of(self._disks[0])
        going = self._going()
        for path in going:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        several = len(self._home.disks) > 1
        self._removed = tuple(
            str(path.relative_to(disk.parent if several else disk))
            for path in going
            for disk in self._disks
            if disk in path.parents
        )
        if self._spec.scope is Scope.ALL:
            self._plan_formatting([each for each in ids if each is not None])

    def _plan_formatting(self, ids: Sequence[str]) -> None:
        keeps = not self._spec.new_directory_id
        self._home.set_directory_ids(ids if keeps else ())
        if self._home.disk in self._disks:  # which has what there is of a set of voters
            arguments = self._home.format_arguments()
            voter = f"{self._id}@{self._address}:{CONTROLLER_PORT}:{self._before}"
            self._home.set_format_arguments(as_initial(arguments, voter) if keeps else as_newcomer(arguments))

    def _going(self) -> list[Path]:
        return sorted(path for disk in self._disks for path in _going(disk, self._spec))

    @disk_errors_named()
    def took_effect(self) -> dict[str, object]:
        """Check that the node is down, and that the files are gone."""
        ended = super().took_effect()
        left = [str(path) for path in self._going()]
        if left:
            raise NotConfirmedError(f"not removed: {', '.join(left)}")
        return ended | {"directory_id_before": self._before, "removed": self._removed}

    @disk_errors_named()
    def healed(self) -> dict[str, object]:
        """Check that the process runs on a disk with the requested directory id."""
        answered = super().healed()
        within(PROBE_BOUND_S, lambda: self._before is None or directory_id_of(self._disks[0]) is not None)
        after = directory_id_of(self._disks[0])
        replaced = self._spec.scope is Scope.ALL and self._spec.new_directory_id
        if self._before is not None and (after is None or (after != self._before) is not replaced):
            raise NotConfirmedError(f"the directory id was {self._before} and is {after}")
        return answered | {"directory_id_before": self._before, "directory_id_after": after}


@carries_out(PowerLoss)
class ActivePowerLoss(_OfDisk):
    """A loss of power: the node is killed, and its file system loses the data that was not synced."""

    def __init__(self, spec: PowerLoss, fault: str, resolved: Resolved, bench: Bench) -> None:
        super().__init__(spec, fault, resolved, bench)
        self._flushed: list[LogFlushed] = []

    @disk_errors_named()
    def inject(self) -> None:
        """Kill the node, write a file without a sync, cut the power, mount the disk again and inspect it."""
        self._containers.kill()
        for disk in self._disks:
            (disk / _CANARY).write_text("not synced\n")
            shut_down(disk)
            _mount_again(disk)
            self._flushed += flushed_logs(disk)

    @disk_errors_named()
    def took_effect(self) -> dict[str, object]:
        """Check that the node is down and the unsynced file is gone; reports the rest of the flushed logs."""
        ended = super().took_effect()
        kept = [str(disk) for disk in self._disks if _kept(disk / _CANARY)]
        if kept:
            raise NotConfirmedError(f"{_CANARY} was not synced, and is still on {', '.join(kept)}")
        return ended | {"unsynced_lost": True, "flushed": self._flushed}


@carries_out(DeadDisk)
class ActiveDeadDisk(_OfDisk):
    """Every access to the disk fails; sooner or later Kafka notices it, and exits if it has no other disk."""

    def __init__(self, spec: DeadDisk, fault: str, resolved: Resolved, bench: Bench) -> None:
        super().__init__(spec, fault, resolved, bench)
        self._ids: list[str | None] = []

    @disk_errors_named()
    def inject(self) -> None:
        """Make the disk fail while the node runs; its identity is read first, because later it can't be."""
        self._ids = [directory_id_of(disk) for disk in self._disks]
        for disk in self._disks:
            shut_down(disk)

    def took_effect(self) -> dict[str, object]:
        """Check that a write fails as on a removed drive."""
        errors = [_error_of_a_write(disk) for disk in self._disks]
        running = self._containers.state()["Running"]
        return {"error": errors[0], "running": running, "directory_ids": self._ids}

    @disk_errors_named()
    def heal(self) -> None:
        """Kill the node, mount the disk with its synced data, and start the node again."""
        with suppress(NotRunningError):  # it ends by itself where the disk was its only one
            self._containers.kill()
        for disk in self._disks:
            _mount_again(disk)
        super().heal()


def _kept(canary: Path) -> bool:
    """Whether the content of the unsynced file is still there.

    Its name alone may be there: ext4 commits its journal every five seconds, and content is written later.
    """
    return canary.exists() and canary.stat().st_size > 0


def _error_of_a_write(disk: Path) -> str:
    try:
        (disk / _CANARY).write_text("not written\n")
    except OSError as error:
        if error.errno == errno.EIO:
            return str(error)
        raise NotConfirmedError(f"a write fails, but not as on a dead disk: {error}") from error
    raise NotConfirmedError(f"{disk} still accepts writes")


def _mount_again(disk: Path) -> None:
    """Unmount and mount; retries while observers have a file open.

    If a mount namespace was created meanwhile, for example by `unshare` or `ip netns exec`, it has a copy of
    the mount.  While it exists, the file system stays active, and a mount returns the one that was shut down.
    """
    if not within(PROBE_BOUND_S, lambda: unmount(disk)):
        raise KrucibleError(
            "a disk can't be unmounted", got=f"it was in use for {PROBE_BOUND_S:.0f} s", where=str(disk)
        )
    mount(disk)
    if not within(PROBE_BOUND_S, lambda: _takes_writes(disk) or _mounted_once_more(disk)):
        raise KrucibleError(
            "a disk that was mounted again still fails",
            got=f"another process kept its file system in use for {PROBE_BOUND_S:.0f} s",
            where=str(disk),
            next_step="end processes in other mount namespaces (lsns --type mnt), then run it again",
        )


def _mounted_once_more(disk: Path) -> bool:
    if unmount(disk):
        mount(disk)
    return _takes_writes(disk)


def _takes_writes(disk: Path) -> bool:
    probe = disk / _WRITABLE
    try:
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        if error.errno == errno.EIO:
            return False
        raise
    return True


def _going(disk: Path, spec: WipeDisk) -> Iterator[Path]:
    """The files on a disk that the wipe has to remove."""
    for path in disk.iterdir():
        if spec.scope is Scope.ALL:
            yield path
        elif spec.scope is Scope.TOPIC:
            if path.is_dir() and _of_topic(path.name, spec.topic):
                yield path
        elif path.name == METADATA_FOLDER:
            yield from (each for each in path.iterdir() if each.name != _FORMATTED_VOTERS)
        elif path.name not in _FORMATTED:
            yield path


def _of_topic(name: str, topic: str | None) -> bool:
    matched = _PARTITION.fullmatch(name)
    if matched is None or name == METADATA_FOLDER:
        return False
    return topic is None or matched[1] == topic
