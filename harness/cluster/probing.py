"""Tests in a temporary container whether this host supports what faults need."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from docker import DockerClient
from docker.errors import DockerException
from docker.models.containers import Container
from requests.exceptions import RequestException

from harness.cluster.containers import OWNER_LABEL, ignoring_absence
from harness.cluster.engine import engine_errors_named
from harness.cluster.images.base import base_if_cached
from harness.cluster.loop_disks import lacking, make_disk, mount, shut_down, unmount, unmount_below
from harness.errors import KrucibleError
from harness.record.ownership import owner_from_label, this_process
from harness.vocabulary.topology import DiskKind

PROBE_LABEL = "krucible.probe"
KILLED = 137
ANSWER_LIMIT_S = 20
POLL_S = 0.02
RULES = (
    "iptables -N krucible-probe",
    "iptables -I INPUT -j krucible-probe",
    "iptables -A krucible-probe -s 192.0.2.1 -j DROP",
    "iptables -A krucible-probe -p tcp -s 192.0.2.1 --dport 9 -j REJECT --reject-with tcp-reset",
    "iptables -I OUTPUT 1 -p tcp -s 192.0.2.1 --sport 9 -j DROP",
    "iptables -A krucible-probe -s 192.0.2.2 -m statistic --mode random --probability 0.5 -j DROP",
)
"""Rules like those of network faults in a node's namespace; with documentation addresses (RFC 5737)."""
IGNORES_TERM = "trap : TERM; echo ready; while :; do sleep 0.1; done"
ENDS_AT_TERM = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.1; done"
DISK_AT = "/disk"
WRITTEN = "written"
WRITES = f"echo something > {DISK_AT}/{WRITTEN}; {IGNORES_TERM}"


class NotPossibleError(Exception):
    """This host does not support it; the message has the reason."""


def probe_faults(client: DockerClient) -> dict[str, str | None]:
    """The reason why this host does not support each kind of fault, or None; takes about two seconds.

    Raises:
        EngineError: if Docker refuses to remove the container of an earlier probe.
    """
    _remove_leftovers(client)
    base = base_if_cached(client)
    if base is None:
        reason = "not tried: the base image is not built yet (krucible setup)"
        return dict.fromkeys(PROBES, reason)
    return {kind: _try(client, base, probe) for kind, probe in PROBES.items()}


@engine_errors_named()
def _remove_leftovers(client: DockerClient) -> None:
    """Remove the containers of probes whose process was killed before it could remove them."""
    filters: dict[str, str | list[str] | bool] = {"label": [PROBE_LABEL, OWNER_LABEL]}
    for container in client.containers.list(all=True, filters=filters, ignore_removed=True):
        if not owner_from_label(container.labels[OWNER_LABEL]).is_alive:
            ignoring_absence(partial(container.remove, force=True))


def _try(client: DockerClient, base: str, probe: Callable[[DockerClient, str], None]) -> str | None:
    try:
        probe(client, base)
    except (NotPossibleError, DockerException, RequestException) as error:
        return str(error)
    return None


@contextmanager
def _container(client: DockerClient, base: str, script: str, disk: Path | None = None) -> Iterator[Container]:
    """A container that runs a script, as this user, and with a folder of the host if one is given."""
    volumes = {str(disk): {"bind": DISK_AT, "mode": "rw"}} if disk else {}
    container = client.containers.run(
        base,
        ["/bin/bash", "-c", script],
        cap_add=["NET_ADMIN"],
        detach=True,
        labels={PROBE_LABEL: "doctor", OWNER_LABEL: this_process(os.getpid()).label()},
        network_mode="none",
        user=f"{os.getuid()}:{os.getgid()}" if disk else None,
        volumes=volumes,
    )
    try:
        _wait_until_ready(container)
        yield container
    finally:
        container.remove(force=True)


def _wait_until_ready(container: Container) -> None:
    """Wait until the script has its trap, because earlier signals are lost."""
    deadline = time.monotonic() + ANSWER_LIMIT_S
    while b"ready" not in container.logs():
        if time.monotonic() > deadline:
            raise NotPossibleError(f"a container did not run within {ANSWER_LIMIT_S} s")
        time.sleep(POLL_S)


def _partition(client: DockerClient, base: str) -> None:
    with _container(client, base, ENDS_AT_TERM) as container:
        for rule in RULES:
            code, output = container.exec_run(["/bin/bash", "-c", rule])
            if code != 0:
                lines = cast("bytes", output).decode(errors="replace").strip().splitlines()
                raise NotPossibleError(f"{rule}: {lines[-1] if lines else f'exit {code}'}")


def _pause(client: DockerClient, base: str) -> None:
    with _container(client, base, ENDS_AT_TERM) as container:
        container.pause()
        container.reload()
        paused = container.status
        container.unpause()
        if paused != "paused":
            raise NotPossibleError(f"a paused container is {paused}")


def _kill(client: DockerClient, base: str) -> None:
    with _container(client, base, IGNORES_TERM) as container:
        container.kill("SIGKILL")
        _expect_exit(container, KILLED)


def _stop(client: DockerClient, base: str) -> None:
    with _container(client, base, ENDS_AT_TERM) as container:
        container.stop(timeout=ANSWER_LIMIT_S)
        _expect_exit(container, 0)


def _wipe_disk(client: DockerClient, base: str) -> None:
    with TemporaryDirectory() as folder:
        disk = Path(folder)
        with _container(client, base, WRITES, disk):
            if not (disk / WRITTEN).exists():
                raise NotPossibleError("a folder of this host does not reach the engine's containers")
            (disk / WRITTEN).unlink()


def _power_loss(client: DockerClient, base: str) -> None:
    with _loop_disk() as disk:
        with _container(client, base, WRITES, disk) as container:
            container.kill("SIGKILL")
            container.wait(timeout=ANSWER_LIMIT_S)
        if not (disk / WRITTEN).exists():
            raise NotPossibleError(
                "a file system mounted on this host does not reach the engine's containers"
            )
        shut_down(disk)
        if not unmount(disk):
            raise NotPossibleError("a disk that a container used can't be unmounted")
        mount(disk)
        if (disk / WRITTEN).exists():
            raise NotPossibleError("data that was not synced survived a power loss")


def _dead_disk(client: DockerClient, base: str) -> None:
    with _loop_disk() as disk, _container(client, base, WRITES, disk) as container:
        shut_down(disk)
        if container.exec_run(["/bin/touch", f"{DISK_AT}/more"])[0] == 0:
            raise NotPossibleError("a failed disk accepts writes")


@contextmanager
def _loop_disk() -> Iterator[Path]:
    """Make a disk that can fail, and remove it at the end."""
    lack = lacking(DiskKind.LOOP_EXT4)
    if lack:
        raise NotPossibleError(lack)
    with TemporaryDirectory() as folder:
        disk = Path(folder) / "disk"
        disk.mkdir()
        try:
            make_disk(disk, DiskKind.LOOP_EXT4)
            yield disk
        except (KrucibleError, OSError) as error:
            raise NotPossibleError(str(error)) from error
        finally:
            unmount_below(Path(folder))


def _expect_exit(container: Container, expected: int) -> None:
    code = container.wait(timeout=ANSWER_LIMIT_S)["StatusCode"]
    if code != expected:
        raise NotPossibleError(f"the container ended with {code}, expected {expected}")


PROBES: dict[str, Callable[[DockerClient, str], None]] = {
    "partition": _partition,
    "packet-loss": _partition,
    "lost-answers": _partition,
    "held-requests": _partition,
    "held-reports": _partition,
    "kill": _kill,
    "pause": _pause,
    "stop": _stop,
    "torn-write": _wipe_disk,
    "wipe-disk": _wipe_disk,
    "power-loss": _power_loss,
    "dead-disk": _dead_disk,
}
"""Probes by kind of fault; power loss and dead disks are tested on ext4."""
