"""Watches the nodes' containers and records when a process ends or pauses."""

import threading
from collections.abc import Mapping

from checkers.history.observed import NODE, NodeSeen
from harness.cluster.containers import NodeContainers
from harness.errors import EngineError
from harness.record.journal import Journal, Recorder

POLL_S = 0.4
STOP_BOUND_S = 30.0


class NodeWatcher:
    """A thread that records the status of every node's container whenever it changes."""

    def __init__(self, containers: Mapping[str, NodeContainers], journal: Journal) -> None:
        self._containers = containers
        self._recorder = Recorder(journal, "observer-nodes")
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._seen: dict[str, NodeSeen] = {}
        self._thread = threading.Thread(target=self._watch, name="observer-nodes", daemon=True)

    def start(self) -> None:
        """Begin to watch the containers."""
        self._thread.start()

    def stop(self) -> None:
        """Look once more, stop, and raise an error that happened meanwhile.

        Raises:
            EngineError: if the engine stopped answering while the cluster was being watched.
        """
        self._stopping.set()
        self._thread.join(timeout=STOP_BOUND_S)
        if self._failure is not None:
            raise self._failure
        if self._thread.is_alive():
            raise EngineError(
                "the engine no longer reports the state of the nodes",
                got=f"no answer within {STOP_BOUND_S:.0f} s",
                next_step="krucible doctor",
            )

    def _watch(self) -> None:
        try:
            while not self._stopping.wait(POLL_S):
                self._look()
            self._look()
        except BaseException as error:  # noqa: BLE001 - raised again by stop(), in the runner's thread
            self._failure = error

    def _look(self) -> None:
        for name, containers in self._containers.items():
            state = containers.state()
            value = NodeSeen(state["Status"], state["ExitCode"], state["OOMKilled"], state["StartedAt"])
            if self._seen.get(name) != value:
                self._seen[name] = value
                self._recorder.observe("observe", NODE, value, node=name)
