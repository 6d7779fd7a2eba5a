"""The runs of a measurement of sensitivity: those that are missing are run, those of a store are read."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from harness.cli.campaigns import Campaign
from harness.cli.provisions import require_images
from harness.cli.qualifying_runs import Stores
from harness.cli.running import run_missing
from harness.planning import RunOptions, plan_run, reproduce_line
from harness.seeded_bugs.reach import stage_in
from harness.sensitivity.planning import Slot
from results.markdown import number
from results.measures import load_measures
from results.sensitivity import Control, Ending, Reach, Sought, Trial, ending_of, first_of
from results.store import RunUnreadableError, load_verdict
from results.summary import Outcome, outcome_of


class Measuring:
    """A plan and what a store holds of it.

    Args:
        slots: the plan, in its order.
        stores: where runs are looked up.
        runs: the store that new runs go to.
    """

    def __init__(self, slots: Sequence[Slot], stores: Stores, runs: Path) -> None:
        self._slots = tuple(slots)
        self._stores = stores
        self._runs = runs

    def plan_text(self) -> str:
        """Every run that there would be if no bug were seen, a line each, then how many."""
        lines = [reproduce_line(options) for slot in self._slots for options in slot.both]
        bugs = len({slot.bug.name for slot in self._slots})
        lines.append(f"at most {number(len(lines), 'run')} for {number(bugs, 'bug')}")
        return "\n".join(lines) + "\n"

    def run_all(self, cancelled: threading.Event) -> None:
        """Run what is missing, in order, until that is cancelled; a bug that was seen is not run again.

        Each run is a campaign of its own, so that the same command goes on after an interruption.
        """
        plans = [plan_run(options) for slot in self._slots for options in slot.both]
        require_images(plan for plan in plans if self._stores.folder_of(plan) is None)
        for place, slot in enumerate(self._slots, start=1):
            for options in slot.both if self._still_sought(slot) else ():
                if cancelled.is_set():
                    return
                self._run(options, f"{place} of {len(self._slots)}, {slot.bug.name}", cancelled)

    def sought(self) -> tuple[Sought, ...]:
        """Every bug with its runs, up to the one in which it was seen; by area and name."""
        bugs = {slot.bug.name: slot.bug for slot in self._slots}
        return tuple(
            Sought(
                name=name,
                area=bug.area,
                anomalies=bug.anomalies,
                fitting=all(slot.fitting for slot in self._slots_of(name)),
                trials=tuple(trial for _slot, trial in self._trials(name)),
            )
            for name, bug in sorted(bugs.items(), key=lambda item: (item[1].area, item[0]))
        )

    def controls(self) -> tuple[Control, ...]:
        """The control of every such run, in the order of the plan."""
        needed = {(name, slot.number) for name in self._names() for slot, _trial in self._trials(name)}
        slots = (slot for slot in self._slots if (slot.bug.name, slot.number) in needed)
        return tuple(self._control(slot) for slot in slots)

    def _names(self) -> frozenset[str]:
        return frozenset(slot.bug.name for slot in self._slots)

    def _slots_of(self, name: str) -> list[Slot]:
        return sorted((one for one in self._slots if one.bug.name == name), key=lambda one: one.number)

    def _still_sought(self, slot: Slot) -> bool:
        """Whether no try before this one saw the bug; the control of the one that did may be missing yet."""
        before = (trial for one, trial in self._trials(slot.bug.name) if one.number < slot.number)
        return all(trial.ending is not Ending.SEEN for trial in before)

    def _trials(self, name: str) -> Iterator[tuple[Slot, Trial]]:
        for slot in self._slots_of(name):
            trial = self._trial(slot)
            yield slot, trial
            if trial.ending is Ending.SEEN:
                return

    def _run(self, options: RunOptions, place: str, cancelled: threading.Event) -> None:
        plan = plan_run(options)
        if self._stores.folder_of(plan) is not None:
            return
        role = "with the bug" if options.seeded_bug else "control"
        click.echo(f"=== {place}, {role}: {plan.reproduce}")
        plans = {options.seed: plan}
        campaign = Campaign(
            self._runs, options.scenario, plans, keep_complete=True, contents=self._stores.contents
        )
        run_missing(campaign, plans, self._runs, cancelled)

    def _trial(self, slot: Slot) -> Trial:
        plan = plan_run(slot.seeded)
        planned = Trial(
            number=slot.number,
            scenario=slot.seeded.scenario,
            mode=plan.scenario.topology.mode,
            command=plan.reproduce,
        )
        folder = self._stores.folder_of(plan)
        if folder is not None:
            return read_trial(planned, slot.bug.name, folder)
        why = self._stores.failure_of(plan)
        return planned if why is None else replace(planned, ending=Ending.FAILED, why=why)

    def _control(self, slot: Slot) -> Control:
        plan = plan_run(slot.control)
        planned = Control(
            scenario=slot.control.scenario, mode=plan.scenario.topology.mode, command=plan.reproduce
        )
        folder = self._stores.folder_of(plan)
        if folder is None:
            why = self._stores.failure_of(plan)
            return planned if why is None else replace(planned, outcome=Outcome.FAILED, why=why)
        ended = outcome_of(folder)
        return replace(
            planned,
            outcome=ended.outcome,
            anomalies=ended.illegal,
            folder=folder.name,
            why="; ".join(ended.reasons),
        )


def read_trial(planned: Trial, bug: str, folder: Path) -> Trial:
    """What became of a run with a bug, by its folder."""
    ended = outcome_of(folder)
    stage = stage_in(folder, bug)
    reach = None if stage is None else Reach(stage.value)
    return replace(
        planned,
        ending=ending_of(ended.outcome, reach),
        reach=reach,
        folder=folder.name,
        first=None if ended.outcome is Outcome.FAILED else first_of(load_verdict(folder)),
        run_ms=_run_ms(folder),
        why="" if ended.outcome is Outcome.INVALID else "; ".join(ended.reasons),
    )


def _run_ms(folder: Path) -> int:
    """How long the run took; 0 where its numbers were not kept."""
    try:
        return load_measures(folder).duration_ms
    except RunUnreadableError:
        return 0
