"""Runs of a measurement of sensitivity that need no cluster: they leave what a run leaves."""

import threading
from pathlib import Path

import click
import msgspec

from checkers.history.identity import ImageIdentity, RunIdentity, encode_identity
from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from harness.campaigns.hosting.orders import Order, Report
from harness.campaigns.series import Venue
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan, plan_run
from harness.plan.schedule import encode
from harness.seeded_bugs.catalogue import bug_named
from harness.seeded_bugs.script import script_of
from results.run.measures import Measures, save_measures
from results.store.runs import save_verdict

LOST = Anomaly("lost-write", "17 is gone", "What is acknowledged stays.", "KIP-101", time_ns=12_000_000_000)


class FakeRuns:
    """In the place of a single run: leaves what a run leaves."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int]] = []
        self.reached = "installed reached"
        self.seen: set[str] = set()
        self.failing: set[str] = set()
        self.red_controls = False
        self.cancelled_at = 1_000
        self._turn = threading.Lock()

    def __call__(self, plan: RunPlan, venue: Venue, cancelled: threading.Event) -> tuple[Path, Verdict]:
        click.echo("chatter of a run")
        bug = plan.options.seeded_bug or ""
        if bug in self.failing:
            raise KrucibleError("no engine")
        self.done.append((bug, plan.options.seed))
        if len(self.done) == self.cancelled_at:
            cancelled.set()
        folder = venue.runs / plan.options.scenario / f"20261122T0100{len(self.done):02}Z-{plan.options.seed}"
        (folder / "nodes" / "n1").mkdir(parents=True)
        (folder / "run.json").write_bytes(encode_identity(identity(plan)))
        words = [*self.reached.split(), *(["triggered 1"] if bug in self.seen else [])] if bug else []
        logged = (f"krucible-bug {bug} {what} at 2026-11-22T10:00:00.1Z\n" for what in words)
        (folder / "nodes" / "n1" / "server.log").write_text("".join(logged))
        found = _shown_by(plan) if bug in self.seen else [LOST] if not bug and self.red_controls else []
        (folder / "schedule.json").write_bytes(encode(plan.schedule))
        if bug:
            (folder / "seeded-bug.btm").write_text(script_of(bug_named(bug, plan.version), plan.version))
        otherwise = Validity.UNKNOWN if cancelled.is_set() else Validity.VALID
        verdict = Verdict(Validity.INVALID if found else otherwise, (result_of("log", found),))
        save_verdict(folder, verdict)
        save_measures(folder, Measures(duration_ms=50_000, operations=1, sent_ok=1))
        return folder, verdict

    def on_host(self, order: Order) -> Report:
        """The same on a host."""
        with self._turn:
            try:
                venue, never = Venue(runs=order.site.store), threading.Event()
                folder, _verdict = self(plan_run(order.options), venue, never)
            except KrucibleError as error:
                return Report("h", failure=str(error))
        return Report("h", str(folder.relative_to(order.site.store)), "VALID after 20 s")


def _shown_by(plan: RunPlan) -> list[Anomaly]:
    """The first anomaly that the catalogue names of the run's bug."""
    bug = bug_named(plan.options.seeded_bug or "", plan.version)
    return [msgspec.structs.replace(LOST, id=bug.anomalies[0])]


def identity(plan: RunPlan) -> RunIdentity:
    return RunIdentity(
        run="r",
        scenario=plan.options.scenario,
        seed=plan.options.seed,
        kafka_version=plan.version,
        began_at="2026-11-22T01:00:00Z",
        reproduce=plan.reproduce,
        seeded_bug=plan.options.seeded_bug or "",
        options=msgspec.to_builtins(plan.options),
        krucible_commit="0123456789ab",
        image=ImageIdentity(reference="krucible/kafka", checksums={"jars": "c0ffee" * 8}),
    )
