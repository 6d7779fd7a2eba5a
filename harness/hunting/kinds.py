"""The kinds of runs that a hunt chooses from, and the run that one of them is."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from harness.catalogue import load_scenario, scenario_names
from harness.errors import UsageError
from harness.hunting.choosing import Path
from harness.planning import RunOptions, plan_run
from harness.qualification import PRESETS, Job, Role, expected_ms
from harness.vocabulary.scenario import RandomSchedule

ALL = "all"
"""In place of a kind of faults: whatever the scenario has."""
_EXPLORATORY = "exploratory/*"


class Kind(msgspec.Struct, frozen=True):
    """What a run is but for its seed.

    Attributes:
        options: what is asked for.
        path: whether its schedule is drawn or scripted, its scenario, mode and faults.
        expected_ms: about how long such a run takes, from its command to its verdict.
    """

    options: RunOptions
    path: Path
    expected_ms: int


def kinds_of(patterns: Sequence[str], duration_s: int, given: dict[str, Any]) -> tuple[Kind, ...]:
    """Every kind of run of some scenarios.

    A scenario whose schedule is drawn is run with whatever faults it draws, with those of one kind alone, or
    with one of its gambits, and in the modes in which a nightly runs it; another one only as it is written.
    What a version can't bear is left out.

    Args:
        patterns: names of scenarios, ``*`` stands for anything; none: those that a nightly runs, and
            the exploratory ones, all of which a correct Kafka is expected to bear.
        duration_s: of drawn schedules, but for those that a nightly leaves as they are.
        given: run options that all of them share, Kafka's version among them.

    Raises:
        UsageError: a pattern that fits no scenario, or nothing can be run.
    """
    kinds = tuple(
        Kind(options, path_of(options), expected_ms(Job(Role.CANDIDATE, options)))
        for name in _chosen(patterns)
        for options in _variants(name, duration_s, given)
        if _can_be_run(options)
    )
    if not kinds:
        raise UsageError(
            "none of these scenarios can be run like this",
            got=", ".join(patterns) or "the nightly's scenarios, and exploratory ones",
            next_step="krucible list --scenarios",
        )
    return kinds


def path_of(options: RunOptions) -> Path:
    """Where a run stands in the tree of kinds, from what it has in common with many to its own.

    Raises:
        UsageError: there is no such scenario.
    """
    scenario = load_scenario(options.scenario)
    how = "drawn" if isinstance(scenario.schedule, RandomSchedule) else "scripted"
    return (
        how,
        options.scenario,
        str(options.mode or scenario.topology.mode),
        "+".join(options.fault + options.gambit) or ALL,
    )


def _chosen(patterns: Sequence[str]) -> tuple[str, ...]:
    names = scenario_names()
    if not patterns:
        nightly = {entry.scenario for entry in PRESETS["nightly"].entries}
        return tuple(name for name in names if name in nightly or fnmatchcase(name, _EXPLORATORY))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(
                "no scenario goes by that name",
                got=pattern,
                expected="a scenario's name, or a pattern such as 'exploratory/*'",
                next_step="krucible list --scenarios",
            )
    return tuple(name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns))


def _variants(name: str, duration_s: int, given: dict[str, Any]) -> Iterator[RunOptions]:
    schedule = load_scenario(name).schedule
    if not isinstance(schedule, RandomSchedule):
        yield RunOptions(scenario=name, seed=0, **given)
        return
    nightly = next((entry for entry in PRESETS["nightly"].entries if entry.scenario == name), None)
    modes = nightly.modes if nightly else (None,)
    lasting = duration_s if nightly is None or nightly.duration_s else None
    alone = [*(((kind,), ()) for kind in schedule.kinds), *(((), (kind,)) for kind in schedule.gambits)]
    for mode in modes:
        for fault, gambit in [((), ()), *alone]:
            yield RunOptions(
                scenario=name, seed=0, mode=mode, fault=fault, gambit=gambit, duration_s=lasting, **given
            )


def _can_be_run(options: RunOptions) -> bool:
    try:
        plan_run(options)
    except UsageError:
        return False
    return True
