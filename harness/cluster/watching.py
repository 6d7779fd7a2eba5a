"""Watches the nodes' containers and records when a process ends or pauses."""

import threading
from contextlib import suppress

from docker.errors import DockerException
from docker.types.daemon import CancellableStream

from checkers.history.observed import NODE, NodeSeen
from harness.cluster.cluster import Cluster
from harness.errors import EngineError
from harness.record.journal import Journal, Recorder

POLL_S = 1.0
"""Poll interval while Docker's stream of events is open."""
EVENTLESS_POLL_S = 0.4
"""Poll interval while there is no stream of events."""
STOP_BOUND_S = 30.0


class NodeWatcher:
    """Records the status of every node's container whenever it changes.

    One thread reads the engine's events, and another looks at the containers after each event.  Asking about
    every node several times a second took a fifth of the harness's CPU.  The second thread also looks from
    time to time, because a node with a new version gets its new container after the event of its start, and
    because an engine may refuse to report events, or stop reporting them.
    """

    def __init__(self, cluster: Cluster, journal: Journal) -> None:
        self._cluster = cluster
        self._recorder = Recorder(journal, "observer-nodes")
        self._events: CancellableStream[str] | None = None
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
        self._stop_listening()
        self._changed.set()
        self._thread.join(timeout=STOP_BOUND_S)
        self._listener.join(timeout=STOP_BOUND_S)
        if self._failure is not None:
            raise self._failure
        if self._thread.is_alive():
            raise EngineError(
                "the engine no longer reports the state of the nodes",
                got=f"no answer within {STOP_BOUND_S:.0f} s",
                next_step="krucible doctor",
            )

    def _listen(self) -> None:
        """Report events until the stream ends.  `_look` notices if the engine can't be reached."""
        with suppress(EngineError):
            events = self._cluster.changes()
            self._events = events
            if self._stopping.is_set():
                self._stop_listening()
            self._changed.set()
            try:
                for _ in events:
                    self._changed.set()
            finally:
                self._events = None

    def _stop_listening(self) -> None:
        events = self._events
        if events is not None:
            # The library's stream lacks what it closes if the engine has just ended it.
            with suppress(OSError, AttributeError, DockerException):
                events.close()

    def _watch(self) -> None:
        try:
            while not self._stopping.is_set():
                self._changed.wait(EVENTLESS_POLL_S if self._events is None else POLL_S)
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
