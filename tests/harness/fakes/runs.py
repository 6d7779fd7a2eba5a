"""In the place of the runs that ``krucible replay`` has carried out: no cluster, any verdict."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from checkers.history.identity import ImageIdentity
from checkers.verdict.verdict import Validity, Verdict
from harness.campaigns.series import Venue
from harness.cli.runs import replay
from harness.plan.planning import RunPlan
from harness.plan.schedule import faults_of
from tests.harness.recorded_run import Recording, a_verdict, planned, store_run

ZOMBIE = "regressions/kafka-15489-zombie-leader"
RED = a_verdict(Validity.INVALID, "zombie-leader")
GREEN = a_verdict(Validity.VALID)
UNKNOWN = a_verdict(Validity.UNKNOWN)


class FakeRuns:
    """In the place of a single run: leaves what a run leaves, each with the next verdict."""

    def __init__(self, *ends: Verdict | Exception) -> None:
        self.ends = list(ends)
        self.plans: list[RunPlan] = []
        self.venues: list[Venue] = []
        self.roles = ["active-controller"]
        self.jars = "1"
        self.interrupt_after = 1_000

    def __call__(self, plan: RunPlan, venue: Venue, cancelled: threading.Event) -> tuple[Path, Verdict]:
        click.echo("chatter of a run")
        self.plans.append(plan)
        self.venues.append(venue)
        end = self.ends.pop(0)
        if isinstance(end, Exception):
            raise end
        nemesis = Recording("nemesis")
        (fault,) = faults_of(plan.schedule)
        nemesis.fault("f1", fault, "c2", (5_000, 5_100, 30_100), by="name", roles=self.roles)
        number = sum(1 for _ in (venue.runs / plan.options.scenario).glob("2026*Z-7"))
        folder = venue.runs / plan.options.scenario / f"20261122T02000{number}Z-7"
        image = ImageIdentity(reference="krucible/kafka:new", checksums={"jars": self.jars})
        store_run(folder, plan, end, [nemesis], run="new", image=image)
        if len(self.plans) == self.interrupt_after:
            cancelled.set()
        return folder, end


Having = Callable[..., FakeRuns]


def having_runs(monkeypatch: pytest.MonkeyPatch) -> Having:
    """What lets the next runs end like this."""

    def have(*ends: Verdict | Exception) -> FakeRuns:
        made = FakeRuns(*ends)
        monkeypatch.setattr(replay, "run_one", made)
        return made

    return have


def stored(runs: Path, verdict: Verdict | None, **more: Any) -> Path:
    """A run whose fault hit c2 a second late."""
    plan = planned(ZOMBIE, kafka_version="3.6.2")
    nemesis = Recording("nemesis")
    (fault,) = faults_of(plan.schedule)
    nemesis.fault("f1", fault, "c2", (5_000, 5_200, 30_300))
    image = ImageIdentity(reference="krucible/kafka:old", checksums={"jars": "1"})
    return store_run(runs / ZOMBIE / "20261122T010000Z-7", plan, verdict, [nemesis], image=image, **more)
