"""The runs of a measurement of sensitivity: makes missing ones, and reads others from the store."""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
from msgspec.structs import replace

from harness.campaigns.campaign import Campaign
from harness.campaigns.making import run_missing
from harness.campaigns.provisions import require_images
from harness.campaigns.qualifying_runs import Stores
from harness.campaigns.sensitivity.identity import bug_digest
from harness.campaigns.sensitivity.planning import Controls, Slot, in_order
from harness.campaigns.sensitivity.reading import read_control, read_trial, seen_in
from harness.campaigns.sensitivity.stored_runs import StoredRun, StoredRuns
from harness.campaigns.series import Series, Venue
from harness.plan.digest import digest_of
from harness.plan.planning import RunPlan, plan_run
from results.campaigns.summary import Outcome
from results.markup.markdown import number
from results.sensitivity import BugOutcome, BugRun, ControlRun, LeftOut, MeasuredBug
from results.sensitivity.outcomes import Origin, OutcomeLine, Place, line_of_control, line_of_trial


class Planned(NamedTuple):
    """One run of a measurement.

    Attributes:
        slot: the try that it belongs to.
        control: whether it is the run without the bug.
        plan: its plan.
        bug: digest of the bug's file; empty for a control.
        schedule: digest of its plan.
    """

    slot: Slot
    control: bool
    plan: RunPlan
    bug: str
    schedule: str

    @property
    def place(self) -> Place:
        """The key of the run in a file of outcomes."""
        return self.slot.bug.name, self.slot.number, self.control

    def misfit(self, command: str, origin: Origin) -> str:
        """The reason why a stored run differs from this plan; empty if it does not differ."""
        if command != self.plan.reproduce:
            return "the plan has another run here now"
        if origin.bug != self.bug:
            return "the bug's file has changed since"
        return "" if origin.schedule == self.schedule else "the scenario plans other faults now"

    def read(self, run: StoredRun) -> OutcomeLine:
        """The outcome of this run, from a store."""
        bug = self.slot.bug.name
        if self.control:
            control = read_control(self.as_control(), run.folder)
            return line_of_control(bug, self.slot.number, control, run.origin)
        trial = read_trial(self.as_trial(), bug, run.folder)
        return line_of_trial(bug, trial, run.origin, fitting=self.slot.fitting)

    def failed(self, why: str) -> OutcomeLine:
        """The outcome of a run in which the harness failed."""
        bug, origin = self.slot.bug.name, Origin(bug=self.bug, schedule=self.schedule)
        if self.control:
            control = replace(self.as_control(), outcome=Outcome.FAILED, why=why)
            return line_of_control(bug, self.slot.number, control, origin)
        trial = replace(self.as_trial(), ending=BugOutcome.FAILED, why=why)
        return line_of_trial(bug, trial, origin, fitting=self.slot.fitting)

    def as_trial(self) -> BugRun:
        """The outcome of a run with a bug that was not made."""
        scenario, mode = self.plan.options.scenario, self.plan.scenario.topology.mode
        return BugRun(number=self.slot.number, scenario=scenario, mode=mode, command=self.plan.reproduce)

    def as_control(self) -> ControlRun:
        """The outcome of a run without a bug that was not made."""
        scenario, mode = self.plan.options.scenario, self.plan.scenario.topology.mode
        return ControlRun(scenario=scenario, mode=mode, command=self.plan.reproduce)


class Measuring:
    """A plan, with its outcomes in a store and in files; those in the store take precedence.

    Args:
        slots: the plan, in its order.
        runs: the store.
        controls: when runs without a bug are made.
        kept: outcomes that are known from files.
        java_missing: why this host does not offer kafka-clients; None if it does.  Runs that need it are not
            made then, but their known outcomes count.

    Attributes:
        runs: the store.
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        runs: Path,
        controls: Controls,
        kept: Mapping[Place, OutcomeLine],
        java_missing: str | None = None,
    ) -> None:
        self._java_missing = java_missing
        self._slots = tuple(slots)
        planned = [_planned(slot, control=control) for slot in slots for control in (False, True)]
        self._planned = {one.place: one for one in planned}
        self._ordered = tuple(
            self._planned[slot.bug.name, slot.number, options is slot.control]
            for slot, options in in_order(slots, controls)
        )
        self.runs = runs
        self._campaigns = Stores((runs,))
        self._stored = StoredRuns(runs)
        self._stored.look()
        self._kept = kept
        self._lines: dict[Place, OutcomeLine | None] = {}

    def plan_text(self) -> str:
        """One line for each run that would be made if no bug were found, then their number."""
        missing = self._missing()
        bugs = len({one.slot.bug.name for one in missing})
        total = f"at most {number(len(missing), 'run')} for {number(bugs, 'bug')}"
        return "".join(f"{line}\n" for line in (*(one.plan.reproduce for one in missing), total))

    @property
    def java_missing(self) -> str:
        """Why this host can't make some of the missing runs; empty if it can make all of them."""
        return self._java_missing or "" if self.needing_java() else ""

    def needing_java(self) -> tuple[str, ...]:
        """Names of bugs with missing runs that this host can't make, because it lacks kafka-clients."""
        return tuple(sorted({one.slot.bug.name for one in self._missing() if not self._can_make(one)}))

    def _can_make(self, one: Planned) -> bool:
        return self._java_missing is None or not one.slot.needs_java

    def _missing(self) -> list[Planned]:
        return [one for one in self._ordered if not self._is_done(one) and self._is_needed(one.slot)]

    def run_all(self, cancelled: threading.Event, limit_s: float | None, over: Callable[[], None]) -> None:
        """Make the missing runs, in order; a bug that was found is not run again.

        Each run is a separate campaign; an error of the harness is in the state of that campaign.

        Args:
            cancelled: when set, the current run is the last one.
            limit_s: no run begins later than that, seconds from now; None: there is no such limit.
            over: called after each run.
        """
        began = time.monotonic()
        require_images(self.plans())
        tried: set[Place] = set()
        with Series(self.runs, cancelled) as series:
            while not cancelled.is_set() and (one := self.next_missing(tried)) is not None:
                if limit_s is not None and time.monotonic() - began >= limit_s:
                    click.echo("the time is used up; the same command continues with what is missing")
                    return
                tried.add(one.place)
                then = self.next_missing(tried)  # unless this run finds the same bug
                venue = Venue(self.runs, series=series, following=then.plan if then else None)
                self._run(one, venue, cancelled)
                over()

    def plans(self) -> Iterator[RunPlan]:
        """The missing runs that this host can make; some of them may turn out not to be needed."""
        return (one.plan for one in self._missing() if self._can_make(one))

    def next_missing(
        self, tried: Collection[Place], under_way: Collection[Place] = frozenset()
    ) -> Planned | None:
        """The first missing run; None if there is none, or if another run must end first.

        Args:
            tried: runs that are not to be made again, whatever their result.
            under_way: runs in progress; while one may find a bug, the next tries of that bug wait.
        """
        awaited = {(bug, tries) for bug, tries, control in under_way if not control}
        for one in self._ordered:
            if one.place in tried or not self._can_make(one):
                continue
            if self._is_done(one) or not self._is_needed(one.slot):
                continue
            bug, tries, _control = one.place
            if not any(bug == other and before < tries for other, before in awaited):
                return one
        return None

    def title(self, one: Planned) -> str:
        """A text that describes a run among the others."""
        role = "control" if one.control else "with the bug"
        return f"{self._ordered.index(one) + 1} of {len(self._ordered)}, {one.slot.bug.name}, {role}"

    def campaign(self, one: Planned) -> Campaign:
        """The campaign of a run; a complete one begins again: its run had another bug or other faults."""
        plans = {one.plan.options.seed: one.plan}
        return Campaign(self.runs, one.plan.options.scenario, plans, contents=self._campaigns.contents)

    def look(self) -> None:
        """Read the store again for new runs."""
        self._stored.look()
        self._lines.clear()

    def measured_bugs(self) -> tuple[MeasuredBug, ...]:
        """Every bug with its runs, up to the one that found it; by area and name."""
        bugs = {slot.bug.name: slot.bug for slot in self._slots}
        return tuple(
            MeasuredBug(
                name=name,
                area=bug.area,
                anomalies=bug.anomalies,
                fitting=all(slot.fitting for slot in self._slots if slot.bug.name == name),
                trials=tuple(self._trial(slot) for slot in self._tried(name)),
            )
            for name, bug in sorted(bugs.items(), key=lambda item: (item[1].area, item[0]))
        )

    def controls(self) -> tuple[ControlRun, ...]:
        """The control of every such run, in the order of the plan."""
        return tuple(self._control(slot) for slot in self._slots if self._is_needed(slot))

    def lines(self) -> Iterator[OutcomeLine]:
        """The outcome of every run that was made."""
        return (line for one in self._planned.values() if (line := self._line(one)) is not None)

    def commits(self) -> tuple[str, ...]:
        """Commits of krucible by which its runs were made, each once."""
        return tuple(sorted({line.origin.commit for line in self.lines()} - {""}))

    def left_out(self) -> tuple[LeftOut, ...]:
        """Stored runs that do not count, because they have another bug or other faults."""
        found: list[LeftOut] = []
        for _place, one in sorted(self._planned.items()):
            command, kept = one.plan.reproduce, self._kept.get(one.place)
            whys = [one.misfit(command, run.origin) for run in self._stored.of(command)]
            whys += [one.misfit(kept.command, kept.origin)] if kept is not None else []
            found += [LeftOut(*one.place, why) for why in dict.fromkeys(whys) if why]
        return tuple(found)

    def _tried(self, name: str) -> Iterator[Slot]:
        """The tries of a bug, up to the first try that found the bug."""
        slots = (one for one in self._slots if one.bug.name == name)
        for slot in sorted(slots, key=lambda one: one.number):
            yield slot
            if self._trial(slot).ending is BugOutcome.SEEN:
                return

    def _is_needed(self, slot: Slot) -> bool:
        """Whether no earlier try found the bug; the control of the try that found it may be missing."""
        return any(one is slot for one in self._tried(slot.bug.name))

    def _is_done(self, one: Planned) -> bool:
        """Whether the run has a verdict; it has none if the harness failed."""
        line = self._line(one)
        return line is not None and not line.failed

    def _trial(self, slot: Slot) -> BugRun:
        one = self._planned[slot.bug.name, slot.number, False]
        line = self._line(one)
        return one.as_trial() if line is None else seen_in(line, slot.bug, one.plan.version)

    def _control(self, slot: Slot) -> ControlRun:
        one = self._planned[slot.bug.name, slot.number, True]
        line = self._line(one)
        return one.as_control() if line is None else line.as_control()

    def _line(self, one: Planned) -> OutcomeLine | None:
        """The outcome of a run: from the store or a file, or else the failure of the harness."""
        if one.place not in self._lines:
            self._lines[one.place] = self._looked_up(one)
        return self._lines[one.place]

    def _looked_up(self, one: Planned) -> OutcomeLine | None:
        command = one.plan.reproduce
        for run in self._stored.of(command):
            if not one.misfit(command, run.origin):
                return one.read(run).judged_as(self._kept.get(one.place))
        kept = self._kept.get(one.place)
        if kept is not None and one.misfit(kept.command, kept.origin):
            kept = None
        why = self._campaigns.failure_of(one.plan)
        return one.failed(why) if why is not None and (kept is None or kept.failed) else kept

    def _run(self, one: Planned, venue: Venue, cancelled: threading.Event) -> None:
        click.echo(f"=== {self.title(one)}: {one.plan.reproduce}")
        run_missing(self.campaign(one), {one.plan.options.seed: one.plan}, venue, cancelled)
        self.look()


def _planned(slot: Slot, *, control: bool) -> Planned:
    plan = plan_run(slot.control if control else slot.seeded)
    bug = "" if control else bug_digest(slot.bug, plan.version)
    return Planned(slot, control, plan, bug, digest_of(plan.schedule))
