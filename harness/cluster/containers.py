"""The containers of one run, found by label: kills, stops, starts, pauses and removes them, runs commands."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypedDict, TypeVar

import docker
from docker.errors import APIError, NotFound
from docker.models.containers import Container
from docker.types.daemon import CancellableStream
from requests.exceptions import ConnectionError as ConnectionFailedError
from requests.exceptions import ReadTimeout

from harness.cluster.engine import engine_errors_named
from harness.cluster.shells import shell_of
from harness.cluster.successors import generation_of, make_successor
from harness.errors import EngineError

_Thing = TypeVar("_Thing")
_Made = TypeVar("_Made")

RUN_LABEL = "krucible.run"
OWNER_LABEL = "krucible.owner"
_FROZEN_WITHIN_S = 10
_KILLED_WITHIN_S = 30
FOLDER_LABEL = "krucible.folder"
KEPT_LABEL = "krucible.kept"
NODE_LABEL = "krucible.node"
PART_LABEL = "krucible.part"
_NOT_STARTED = "created"
_OURS = {RUN_LABEL, OWNER_LABEL, FOLDER_LABEL, KEPT_LABEL}

_ENDED = {"exited", "dead"}
_CHANGES = ("start", "die", "oom", "pause", "unpause")
"""Docker's events that change the state of a container."""

SIGKILLED = 137


class ContainerState(TypedDict):
    """The engine's view of a container; the fields have the engine's names."""

    Status: str
    Running: bool
    Paused: bool
    OOMKilled: bool
    ExitCode: int
    Pid: int
    StartedAt: str


class NotRunningError(EngineError):
    """A node has no process because it ended by itself; nothing was done to the node."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} does not run", got="its process ended by itself")


class NodeContainers:
    """One node: the holder of its network namespace, and the Kafka container.

    A node whose version of Kafka was changed has one container for each version.  The earlier ones are kept,
    because they hold Kafka's output.

    Args:
        name: name of the node.
        holder: the holder's container.
        kafka: Kafka's containers, the earliest first; the last one is current.
    """

    def __init__(self, name: str, holder: Container, *kafka: Container) -> None:
        self.name = name
        self._holder = holder
        *self._earlier, self._kafka = kafka
        self._next: Container | None = None
        self._shell = shell_of(holder)

    @property
    @engine_errors_named()
    def has_namespace(self) -> bool:
        """Whether the holder runs; without it, the node has no address and no network rules."""
        self._holder.reload()
        return bool(self._holder.attrs["State"]["Running"])

    def enter_holder(self, command: str) -> str:
        """Run a shell command in the node's network namespace and return its output.

        Raises:
            EngineError: if the command fails.
        """
        return _output(self._holder, command, *self._shell.run(command))

    def enter_kafka(self, command: str) -> str:
        """Run a shell command in Kafka's container, and return its output.

        Raises:
            EngineError: if the command fails, or Kafka does not run.
        """
        return _enter(self._kafka, command)

    def command_line(self) -> str:
        """The command line of Kafka's JVM, with arguments separated by blanks."""
        return self.enter_kafka("tr '\\0' ' ' </proc/1/cmdline")

    @engine_errors_named()
    def kill(self) -> None:
        """SIGKILL Kafka and wait until the process is gone.

        Raises:
            NotRunningError: it had ended before.
            EngineError: it is still there after `_KILLED_WITHIN_S`, or Docker refuses.
        """
        with self._of_a_process():
            self._kafka.kill(signal="KILL")
        try:
            ended = self._kafka.wait(timeout=_KILLED_WITHIN_S)
        except (ReadTimeout, ConnectionFailedError) as error:  # only the answer takes so long
            if not self.state()["Running"]:
                raise
            raise EngineError(
                f"the process of {self.name} did not end after SIGKILL",
                got=f"it still runs after {_KILLED_WITHIN_S} s",
                next_step="look for a disk that hangs: dmesg, and processes in state D",
            ) from error
        if ended["StatusCode"] != SIGKILLED:
            # The engine reports success for a signal to a process that has just ended.
            raise NotRunningError(self.name)

    @engine_errors_named()
    def stop(self, timeout_s: int) -> int:
        """SIGTERM Kafka, SIGKILL after `timeout_s`; returns the exit code, 137 after a SIGKILL.

        Raises:
            NotRunningError: it had ended before.
        """
        with self._of_a_process():
            # The engine accepts a stop of a container that does not run, but refuses to send a signal to it.
            self._kafka.kill(signal="TERM")
        self._kafka.stop(timeout=timeout_s)
        return int(self.state()["ExitCode"])

    @engine_errors_named()
    def start(self) -> None:
        """Start Kafka again on its disk and in its network namespace, from its new image if it has one."""
        if self._next is None:
            self._kafka.start()
            return
        self._next.start()
        self._earlier.append(self._kafka)
        self._kafka, self._next = self._next, None

    @engine_errors_named()
    def replace(self, image: str) -> None:
        """Replace Kafka's image from the next start on, with the same disks.

        Until then `state` reports the process that ended.

        Args:
            image: reference of the image.
        """
        if self._next is not None:
            self._next.remove()
        self._next = make_successor(self._kafka, image, len(self._earlier) + 1)

    @property
    @engine_errors_named()
    def image(self) -> str:
        """Reference of the image for Kafka's next start."""
        container = self._next or self._kafka
        container.reload()
        return str(container.attrs["Config"]["Image"])

    @engine_errors_named()
    def pause(self) -> None:
        """Freeze every thread of Kafka.

        runc fails, and thaws again, if a thread gets no CPU while runc waits for it to freeze
        (opencontainers/runc#4388: the caller should try again).  On a busy host this happens several times in
        a row, so the time of all attempts is limited, not their number.

        Raises:
            EngineError: no attempt succeeded within 10 s.
            NotRunningError: its process has ended.
        """
        until = time.monotonic() + _FROZEN_WITHIN_S
        with self._of_a_process():
            while True:
                try:
                    self._kafka.pause()
                except APIError as error:
                    if "unable to freeze" not in str(error) or time.monotonic() > until:
                        raise
                else:
                    return

    @engine_errors_named()
    def unpause(self) -> None:
        """Unfreeze Kafka; does nothing if it is not frozen, or if its process ended meanwhile."""
        if self.state()["Paused"]:
            try:
                self._kafka.unpause()
            except APIError:
                if self.state()["Paused"]:
                    raise

    @contextmanager
    def _of_a_process(self) -> Iterator[None]:
        """Convert a refusal of the engine in the block, if there is no process, to a `NotRunningError`."""
        try:
            yield
        except APIError as error:
            if self.state()["Running"]:
                raise
            raise NotRunningError(self.name) from error

    @engine_errors_named()
    def state(self) -> ContainerState:
        """The engine's view of Kafka's container."""
        kafka = self._kafka  # another thread may exchange it meanwhile
        kafka.reload()
        state: ContainerState = kafka.attrs["State"].copy()
        return state

    @engine_errors_named()
    def logs(self) -> bytes:
        """Kafka's whole output, including restarts and earlier versions."""
        return b"".join(bytes(each.logs(stdout=True, stderr=True)) for each in (*self._earlier, self._kafka))

    @engine_errors_named()
    def logs_of_version(self) -> bytes:
        """Kafka's output since the node has had its current image."""
        return bytes(self._kafka.logs(stdout=True, stderr=True))


class RunContainers:
    """All containers and networks of a run, by its label."""

    def __init__(self, client: docker.DockerClient, run: str) -> None:
        self._client = client
        self.run = run
        self._filter: dict[str, str | list[str] | bool] = {"label": f"{RUN_LABEL}={run}"}

    def nodes(self) -> dict[str, NodeContainers]:
        """Nodes whose holder and Kafka container both exist."""
        parts: dict[str, dict[str, list[Container]]] = {}
        for container in sorted(self._containers(), key=lambda each: generation_of(each.labels)):
            labels = container.labels
            if NODE_LABEL in labels:
                parts.setdefault(labels[NODE_LABEL], {}).setdefault(labels[PART_LABEL], []).append(container)
        return {
            name: NodeContainers(name, *found["holder"], *found["kafka"])
            for name, found in sorted(parts.items())
            if found.keys() >= {"holder", "kafka"}
        }

    @engine_errors_named()
    def ended(self) -> frozenset[str]:
        """Names of nodes whose Kafka has no process; one request covers all nodes."""
        listed = self._client.containers.list(
            all=True, filters=self._filter, ignore_removed=True, sparse=True
        )
        of_kafka = [each.attrs for each in listed if each.attrs["Labels"].get(PART_LABEL) == "kafka"]
        started = [each for each in of_kafka if each["State"] != _NOT_STARTED]
        last = {
            str(each["Labels"][NODE_LABEL]): each["State"]
            for each in sorted(started, key=lambda each: generation_of(each["Labels"]))
        }
        return frozenset(name for name, state in last.items() if state in _ENDED)

    @engine_errors_named()
    def changes(self) -> "CancellableStream[str]":
        """The engine's events of processes that start, end, pause or continue, until the stream is closed."""
        return self._client.events(filters={"type": "container", "event": list(_CHANGES), **self._filter})

    @engine_errors_named()
    def remove(self, before_network: Callable[[], object] = lambda: None) -> None:
        """Remove every container, volume and network of the run that still exists, in this order.

        Containers on a network are removed one after the other: Docker before 23.0 may hang forever if two
        leave the same network at once (moby/moby#42545).

        Args:
            before_network: called when no container uses the disks any more.  The network still exists, so
                the run can be found again if this is interrupted.

        Raises:
            EngineError: if Docker refuses; the other containers are removed nevertheless.
        """
        containers = self._containers()
        refusals = in_parallel(_refusal, (each for each in containers if not _is_holder(each)))
        refusals += map(_refusal, filter(_is_holder, containers))
        for refusal in filter(None, refusals):
            raise refusal
        before_network()
        for volume in self._client.volumes.list(filters=self._filter):
            ignoring_absence(volume.remove)
        for network in self._client.networks.list(filters=self._filter):
            ignoring_absence(network.remove)

    @engine_errors_named()
    def leftovers(self) -> list[str]:
        """Names of containers, networks and volumes that still exist."""
        networks = self._client.networks.list(filters=self._filter)
        volumes = self._client.volumes.list(filters=self._filter)
        names = [container.name for container in self._containers()]
        names += [network.name for network in networks] + [volume.name for volume in volumes]
        return [str(name) for name in names]

    @engine_errors_named()
    def _containers(self) -> list[Container]:
        return list(self._client.containers.list(all=True, filters=self._filter, ignore_removed=True))


@engine_errors_named()
def labelled_runs(client: docker.DockerClient) -> dict[str, dict[str, str]]:
    """Every run that still has a container or a network: run id to the labels of one of them."""
    found: dict[str, dict[str, str]] = {}
    filters: dict[str, str | list[str] | bool] = {"label": RUN_LABEL}
    for network in client.networks.list(filters=filters):
        labels = network.attrs["Labels"]
        if labels.keys() >= _OURS:
            found[labels[RUN_LABEL]] = labels
    for container in client.containers.list(all=True, filters=filters, ignore_removed=True):
        if container.labels.keys() >= _OURS:
            found[container.labels[RUN_LABEL]] = container.labels
    return found


@engine_errors_named()
def subnets_in_use(client: docker.DockerClient) -> list[str]:
    """Subnets of all networks that the engine has."""
    configs = (network.attrs["IPAM"]["Config"] or [] for network in client.networks.list())
    return [entry["Subnet"] for config in configs for entry in config if "Subnet" in entry]


def in_parallel(action: Callable[[_Thing], _Made], things: Iterable[_Thing]) -> list[_Made]:
    """Apply `action` to all things at once, because the engine takes much longer one by one."""
    listed = list(things)
    if not listed:
        return []
    with ThreadPoolExecutor(max_workers=min(16, len(listed))) as pool:
        return list(pool.map(action, listed))


@engine_errors_named()
def _enter(container: Container, command: str) -> str:
    code, output = container.exec_run(["/bin/bash", "-c", command])
    assert isinstance(output, bytes), "not asked to stream"  # noqa: S101 - narrows a union of the library
    return _output(container, command, int(code or 0), output)


def _output(container: Container, command: str, code: int, output: bytes) -> str:
    """Return a command's output.

    Raises:
        EngineError: if it failed.
    """
    text = output.decode(errors="replace")
    if code != 0:
        raise EngineError(
            f"a command in {container.name} failed with {code}",
            got=text.strip()[-500:],
            where=command[:200],
            next_step="krucible doctor",
        )
    return text


def _is_holder(container: Container) -> bool:
    return container.labels.get(PART_LABEL) == "holder"


def _refusal(container: Container) -> EngineError | None:
    """Remove a container; returns the engine's refusal, which must not prevent other removals."""
    try:
        ignoring_absence(lambda: container.remove(force=True, v=True))
    except EngineError as error:
        return error
    return None


def ignoring_absence(action: Callable[[], object]) -> None:
    """Carry out a removal; what is gone, or is being removed by another process, needs none.

    Raises:
        EngineError: if Docker refuses.
    """
    try:
        action()
    except NotFound:
        return
    except APIError as error:
        if error.status_code == 409 and "already in progress" in str(error):  # noqa: PLR2004 - HTTP's code for a conflict
            return
        raise EngineError("the engine refused a removal", got=str(error)) from error
