"""Starts the cluster of the next run while the previous run is read, judged and reported.

A cluster is ready after about ten seconds, in which JVMs mostly load classes.  The final read and judgement
of a run take as long, and mostly wait.  In a series of runs both happen at the same time.  At most one
cluster waits, and only the current run's cluster is under load.  If there is not enough memory for two
clusters, the next one is started when the previous one is removed.
"""

import shutil
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from checkers.history.phases import Phase
from harness.errors import disk_errors_named
from harness.host.memory import lacks_for
from harness.plan.planning import RunPlan
from harness.record.events import Event, Listener, PhaseBegan
from harness.run.stage import Stage, open_stage
from harness.run.threads import in_thread

LOAD_IS_OFF = (Phase.FINAL_READ, Phase.EVIDENCE)
"""Phases in which the cluster is no longer under load; the next cluster starts at the first of them."""


class Standby:
    """Opens the stage of a run while the run before it ends; an unused stage is removed at the end.

    Args:
        runs: the store.
        cancelled: when set, no further stage is opened.
    """

    def __init__(self, runs: Path, cancelled: threading.Event) -> None:
        self._runs = runs
        self._cancelled = cancelled
        self._waiting: _Waiting | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not KeyboardInterrupt:  # after a second interrupt `krucible heal` removes the rest
            self._drop()

    def stage(
        self, plan: RunPlan, following: RunPlan | None, listener: Listener
    ) -> AbstractContextManager[Stage]:
        """The stage of a run: the waiting stage, if it has this plan.

        Args:
            plan: plan of the run.
            following: plan of the run that is expected next; another run may follow.
            listener: gets the events, also those that occurred while the stage waited.

        Raises:
            KrucibleError: as `open_stage`.
        """

        def hear(event: Event) -> None:
            listener(event)
            if isinstance(event, PhaseBegan) and event.phase in LOAD_IS_OFF:
                self._begin(following)

        if self._waiting is not None and self._waiting.plan != plan:
            self._drop()
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            return waiting.taken(hear)
        return open_stage(plan, self._runs, hear, self._cancelled, keep=False)

    def _begin(self, following: RunPlan | None) -> None:
        if following is None or self._waiting is not None or self._cancelled.is_set():
            return
        if not lacks_for(len(following.scenario.topology.nodes())):
            self._waiting = _Waiting(following, self._runs, self._cancelled)

    def _drop(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.drop()


class _Waiting:
    """A stage that is open, or is being opened in a separate thread."""

    def __init__(self, plan: RunPlan, runs: Path, cancelled: threading.Event) -> None:
        self.plan = plan
        self._open = ExitStack()
        self._events = _Events()
        opening = open_stage(plan, runs, self._events.hear, cancelled, keep=False)
        self._stage = in_thread(partial(self._open.enter_context, opening), "standby")

    @contextmanager
    def taken(self, listener: Listener) -> Iterator[Stage]:
        """The stage, once it is open, until the end of the block."""
        with self._open:
            try:
                self._events.hand_to(listener)
            finally:  # what is not open yet could not be closed
                stage = self._stage.result()
            yield stage

    def drop(self) -> None:
        """Remove the cluster once the stage is open; the folder of a run that never began is not kept.

        A stage that could not be opened has removed its cluster itself, and its folder has the evidence.
        """
        if self._stage.exception() is None:
            self._open.close()
            stage = self._stage.result()
            stage.removal.result()
            with disk_errors_named():
                shutil.rmtree(stage.folder)


class _Events:
    """Keeps events until there is a listener, and passes on later ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[Event] = []
        self._listener: Listener | None = None

    def hear(self, event: Event) -> None:
        """Receive an event, from any thread."""
        with self._lock:
            if self._listener is None:
                self._kept.append(event)
                return
        self._listener(event)

    def hand_to(self, listener: Listener) -> None:
        """Pass the kept events to a listener, in their order, and from then on all events."""
        with self._lock:
            for event in self._kept:
                listener(event)
            self._kept.clear()
            self._listener = listener
