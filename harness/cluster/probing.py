"""Trying out on this host what faults need, in a container that is thrown away."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

from docker import DockerClient
from docker.errors import DockerException
from docker.models.containers import Container
from requests.exceptions import RequestException

from harness.cluster.images.base import base_if_cached

PROBE_LABEL = "krucible.probe"
KILLED = 137
ANSWER_LIMIT_S = 20
POLL_S = 0.02
RULES = (
    "iptables -N krucible-probe",
    "iptables -I INPUT -j krucible-probe",
    "iptables -A krucible-probe -s 192.0.2.1 -j DROP",
    "iptables -A krucible-probe -p tcp -s 192.0.2.1 --dport 9 -j REJECT --reject-with tcp-reset",
    "iptables -A krucible-probe -s 192.0.2.2 -m statistic --mode random --probability 0.5 -j DROP",
)
"""What partitions put into a node's namespace; the addresses are for documentation (RFC 5737)."""
IGNORES_TERM = "trap : TERM; echo ready; while :; do sleep 0.1; done"
ENDS_AT_TERM = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.1; done"


class NotPossibleError(Exception):
    """The host can't do it; the text says why."""


def probe_faults(client: DockerClient) -> dict[str, str | None]:
    """For each kind of fault why this host can't have it, or None; takes about two seconds."""
    base = base_if_cached(client)
    if base is None:
        reason = "not tried: the base image is not built yet (krucible setup)"
        return dict.fromkeys(PROBES, reason)
    return {kind: _try(client, base, probe) for kind, probe in PROBES.items()}


def _try(client: DockerClient, base: str, probe: Callable[[DockerClient, str], None]) -> str | None:
    try:
        probe(client, base)
    except (NotPossibleError, DockerException, RequestException) as error:
        return str(error)
    return None


@contextmanager
def _container(client: DockerClient, base: str, script: str) -> Iterator[Container]:
    container = client.containers.run(
        base,
        ["/bin/bash", "-c", script],
        cap_add=["NET_ADMIN"],
        detach=True,
        labels={PROBE_LABEL: "doctor"},
        network_mode="none",
    )
    try:
        _wait_until_ready(container)
        yield container
    finally:
        container.remove(force=True)


def _wait_until_ready(container: Container) -> None:
    """Signals that come before the script has its trap are lost."""
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
                said = cast("bytes", output).decode(errors="replace").strip().splitlines()
                raise NotPossibleError(f"{rule}: {said[-1] if said else f'exit {code}'}")


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


def _expect_exit(container: Container, expected: int) -> None:
    code = container.wait(timeout=ANSWER_LIMIT_S)["StatusCode"]
    if code != expected:
        raise NotPossibleError(f"the container ended with {code}, expected {expected}")


PROBES: dict[str, Callable[[DockerClient, str], None]] = {
    "partition": _partition,
    "kill": _kill,
    "pause": _pause,
    "stop": _stop,
}
