"""Counts runs with seeded bugs that another command made, on this machine or another."""

from collections.abc import Iterable, Iterator

import click
import msgspec

from checkers.history.identity import RunIdentity
from harness.campaigns.sensitivity.planning import fits
from harness.campaigns.sensitivity.reading import read_control, read_trial, seen_in
from harness.campaigns.sensitivity.stored_runs import StoredRun, StoredRuns
from harness.errors import KrucibleError
from harness.plan.catalogue import load_scenario, scenario_names
from harness.plan.planning import RunOptions, reproduce_line
from harness.seeded_bugs.header import SeededBug
from results.sensitivity import BugOutcome, BugRun, ControlRun
from results.sensitivity.outcomes import MeasurementOptions, OutcomeLine, line_of_control, line_of_trial


def adopted(store: StoredRuns, bugs: Iterable[SeededBug], asked: MeasurementOptions) -> Iterator[OutcomeLine]:
    """The tries of each bug in the order of their beginning, up to the one that found it.

    Runs with another version, duration or form of the bug, and repetitions of a command, are left out with a
    message on stderr.  Runs without a verdict do not count.

    Args:
        store: the runs of the store.
        bugs: bugs whose runs are used.
        asked: maximum number of runs for each bug, their version and duration.
    """
    for bug in bugs:
        for number, (run, options) in enumerate(_tries(store, bug, asked), start=1):
            trial = read_trial(_trial(number, run.identity, options), bug.name, run.folder)
            line = line_of_trial(bug.name, trial, run.origin, fitting=_fits(bug, options))
            yield line
            yield from _controls(store, bug, number, options)
            if seen_in(line, bug, asked.kafka_version).ending is BugOutcome.SEEN or number == asked.runs:
                break


def _tries(
    store: StoredRuns, bug: SeededBug, asked: MeasurementOptions
) -> Iterator[tuple[StoredRun, RunOptions]]:
    commands: set[str] = set()
    for run in store.with_bug(bug.name):
        options = _options(run)
        why = _misfit(run, options, asked) or (
            "repeats another one" if run.identity.reproduce in commands else ""
        )
        if why:
            click.echo(f"left out: {run.folder} {why}", err=True)
            continue
        commands.add(run.identity.reproduce)
        yield run, msgspec.structs.replace(options, kafka_version=run.identity.kafka_version)


def _misfit(run: StoredRun, options: RunOptions, asked: MeasurementOptions) -> str:
    """The reason why a run does not count as a try; empty if it counts."""
    if run.identity.kafka_version != asked.kafka_version:
        return f"is of Kafka {run.identity.kafka_version}"
    if options.duration_s != asked.duration_s:
        return "is of another duration"
    return "" if run.origin.bug else "is of a bug whose file has changed since"


def _options(run: StoredRun) -> RunOptions:
    try:
        return msgspec.convert(run.identity.options, RunOptions)
    except msgspec.ValidationError as error:
        raise KrucibleError(
            "a run was made with options that this krucible does not have",
            got=str(error),
            where=str(run.folder),
            next_step="use the krucible that made it, or move the run out of the store",
        ) from error


def _trial(number: int, identity: RunIdentity, options: RunOptions) -> BugRun:
    return BugRun(number=number, scenario=identity.scenario, mode=_mode(options), command=identity.reproduce)


def _controls(store: StoredRuns, bug: SeededBug, number: int, options: RunOptions) -> Iterator[OutcomeLine]:
    """The oldest run of the same command without the bug, if there is one."""
    command = reproduce_line(msgspec.structs.replace(options, seeded_bug=None))
    for run in store.of(command):
        planned = ControlRun(scenario=options.scenario, mode=_mode(options), command=command)
        yield line_of_control(bug.name, number, read_control(planned, run.folder), run.origin)
        return


def _mode(options: RunOptions) -> str:
    """The mode of the cluster; empty if only a scenario that no longer exists defines it."""
    if options.mode is not None:
        return options.mode
    return load_scenario(options.scenario).topology.mode if options.scenario in scenario_names() else ""


def _fits(bug: SeededBug, options: RunOptions) -> bool:
    """Whether the scenario draws what the bug needs; True if the scenario no longer exists."""
    return options.scenario not in scenario_names() or fits(bug, options.scenario)
