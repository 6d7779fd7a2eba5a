"""The place of a run: the store of its folder, and the stage that it gets."""

import threading
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from harness.plan.planning import RunPlan
from harness.record.events import Event, Listener, RunBegan
from harness.record.folder import RUNS, point_latest
from harness.run.stage import Stage, open_stage
from harness.run.standby import Standby


class Host(msgspec.Struct, frozen=True):
    """Where a run is made.

    Attributes:
        runs: the store that gets the run's folder.
        keep: whether the cluster is kept after the run.
        standby: opens the stage of the following run while this one ends, in a series of runs.
        following: plan of the following run, if it is known.
    """

    runs: Path = RUNS
    keep: bool = False
    standby: Standby | None = None
    following: RunPlan | None = None

    def stage(
        self, plan: RunPlan, listener: Listener, cancelled: threading.Event
    ) -> AbstractContextManager[Stage]:
        """The stage of a run; the ``latest`` links point to its folder from the beginning.

        Raises:
            KrucibleError: as `open_stage`.
        """

        def hear(event: Event) -> None:
            if isinstance(event, RunBegan):
                point_latest(self.runs, Path(event.folder))
            listener(event)

        if self.standby is not None and not self.keep:
            return self.standby.stage(plan, self.following, hear)
        return open_stage(plan, self.runs, hear, cancelled, keep=self.keep)
