"""Watches the nodes' containers and records when a process ends or pauses."""

import threading
from contextlib import suppress

from checkers.history.observed import NODE, NodeSeen
from harness.cluster.cluster import Cluster
from harness.errors import EngineError
from harness.record.journal import Journal, Recorder

POLL_S = 2.0
"""Time between two looks if the engine reports no event meanwhile."""
STOP_BOUND_S = 30.0


class NodeWatcher:
    """Records the status of every node's container whenever it changes.

    One thread reads the engine's events, and another looks at the containers after each event.  Asking about
    every node several times a second took a fifth of the harness's CPU.  The second thread also looks every
    `POLL_S`, because a node with a new version gets its new container after the event of its start.
    """

    def __init__(self, cluster: Cluster, journal: Journal) -> None:
        self._cluster = cluster
        self._recorder = Recorder(journal, "observer-nodes")
        self._events = cluster.changes()
        self._changed = threading.Event()
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._seen: dict[str, NodeSeen] = {}
        self._listener = threading.Thread(target=self._listen, name="events-nodes", daemon=True)
        self._thread = threading.Thread(target=self._watch, name="observer-nodes", daemon=True)

    def start(self) -> None:
        """Begin to watch the containers."""
        self._changed.set()
        self._listener.start()
        self._thread.start()

    def stop(self) -> None:
        """Look once more, stop, and raise an error that happened meanwhile.

        Raises:
            EngineError: if the engine stopped answering while the cluster was being watched.
        """
        self._stopping.set()
        with suppress(OSError):  # the engine closed it, and the last look has the error to report
            self._events.close()
        self._listener.join(timeout=STOP_BOUND_S)
        self._changed.set()
        self._thread.join(timeout=STOP_BOUND_S)
        if self._failure is not None:
            raise self._failure
        if self._thread.is_alive():
            raise EngineError(
                "the engine no longer reports the state of the nodes",
                got=f"no answer within {STOP_BOUND_S:.0f} s",
                next_step="krucible doctor",
            )

    def _listen(self) -> None:
        """Until the stream is closed, or the engine ends it: then a look has an error to report."""
        for _ in self._events:
            self._changed.set()

    def _watch(self) -> None:
        try:
            while not self._stopping.is_set():
                self._changed.wait(POLL_S)
                self._changed.clear()
                self._look()
            self._look()
        except BaseException as error:  # noqa: BLE001 - raised again by stop(), in the runner's thread
            self._failure = error

    def _look(self) -> None:
        for name, containers in self._cluster.containers.items():
            state = containers.state()
            value = NodeSeen(state["Status"], state["ExitCode"], state["OOMKilled"], state["StartedAt"])
            if self._seen.get(name) != value:
                self._seen[name] = value
                self._recorder.observe("observe", NODE, value, node=name)
