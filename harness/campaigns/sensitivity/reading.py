"""The outcome of one run of a measurement, from its folder."""

from pathlib import Path

from msgspec.structs import replace

from harness.plan.catalogue import expectation_for, load_scenario, scenario_names
from harness.seeded_bugs.header import SeededBug
from harness.seeded_bugs.reach import stage_in
from results.campaigns.summary import Outcome, outcome_of
from results.run.measures import load_measures
from results.sensitivity import Accepted, BugReach, BugRun, ControlRun, ending_of, found_in
from results.sensitivity.outcomes import OutcomeLine
from results.store.runs import RunUnreadableError, load_verdict


def read_trial(planned: BugRun, bug: str, folder: Path) -> BugRun:
    """The outcome of a run with a bug, from its folder."""
    ended = outcome_of(folder)
    stage = stage_in(folder, bug)
    reach = None if stage is None else BugReach(stage.value)
    return replace(
        planned,
        ending=ending_of(ended.outcome, reach),
        reach=reach,
        folder=folder.name,
        found=() if ended.outcome is Outcome.FAILED else found_in(load_verdict(folder)),
        run_ms=_run_ms(folder),
        why="" if ended.outcome is Outcome.INVALID else "; ".join(ended.why),
    )


def seen_in(line: OutcomeLine, bug: SeededBug, version: str) -> BugRun:
    """A run with a bug, as the catalogues of bugs and scenarios judge it now.

    A scenario that is in no catalogue, such as one of an earlier krucible, accepts nothing.
    """
    accepted = Accepted()
    if line.scenario in scenario_names():
        scenario = load_scenario(line.scenario)
        expected = expectation_for(scenario, version, scenario.topology.features)
        accepted = Accepted(expected.alone, expected.following)
    return line.as_trial(bug.anomalies, accepted)


def read_control(planned: ControlRun, folder: Path) -> ControlRun:
    """The outcome of a run without a bug, from its folder."""
    ended = outcome_of(folder)
    return replace(
        planned,
        outcome=Outcome.UNKNOWN if ended.undecided else ended.outcome,
        anomalies=ended.illegal,
        allowed=ended.as_expected is True
        and (ended.outcome is Outcome.INVALID or bool(ended.open_anomalies)),
        folder=folder.name,
        why="; ".join(ended.why),
    )


def _run_ms(folder: Path) -> int:
    """Duration of the run; 0 if its measures were not stored."""
    try:
        return load_measures(folder).duration_ms
    except RunUnreadableError:
        return 0
