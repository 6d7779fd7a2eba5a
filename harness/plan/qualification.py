"""The runs of a qualification: the matrix of candidate and baseline, and its shards."""

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from harness.errors import UsageError
from harness.plan.catalogue import known_outcomes, load_scenario
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.planning import RunOptions, reproduce_line
from harness.plan.presets import Preset, PresetScenario
from harness.vocabulary.known import KnownOutcome, Side
from harness.vocabulary.scenario import RandomSchedule, Scenario
from harness.vocabulary.topology import Mode
from harness.vocabulary.version import parse_version

START_MS = {Mode.COMBINED: 9_000, Mode.ISOLATED: 12_000}
"""Time from the command to the beginning of the load, on two idle cores (docs/benchmarks.md)."""
END_MS = 8_000
"""Time for final read, evidence, judgement, and removal of the cluster."""
RECOVERY_MS = 4_000
"""Time under load after the schedule: recovery and the traffic after it."""
SEEDS_A_NIGHT = 100
"""The difference between the seeds of one night and the next; no preset has more seeds."""


class QualificationRole(StrEnum):
    """The role of a run in a qualification."""

    CANDIDATE = "candidate"
    BASELINE = "baseline"
    CONTROL = "control"


class Control(NamedTuple):
    """One side of a known outcome."""

    known: KnownOutcome
    side: Side


class Job(msgspec.Struct, frozen=True):
    """One run of the matrix.

    Attributes:
        role: its role.
        options: the options of the run.
        control: the side of the control that it belongs to; None if it is no control.
    """

    role: QualificationRole
    options: RunOptions
    control: Control | None = None

    @property
    def pair(self) -> str:
        """A key that the runs of candidate and baseline share; a control has its own."""
        if self.control is not None:
            return reproduce_line(self.options)
        return pair_of(self.options)


class Build(NamedTuple):
    """One build of Kafka.

    Attributes:
        name: its name in reports.
        version: the version of Kafka.
        kafka: the options that select it, in runs.
    """

    name: str
    version: str
    kafka: KafkaChoice


class Matrix(NamedTuple):
    """All runs in their order, and what is left out, one sentence each."""

    jobs: tuple[Job, ...]
    withheld: tuple[str, ...]


def pair_of(options: RunOptions) -> str:
    """The command of a run without the options that select a build of Kafka."""
    anywhere = msgspec.structs.replace(
        options, kafka_version=None, image_source="auto", kafka_tarball=None, kafka_image=None
    )
    return reproduce_line(anywhere)


def matrix(
    preset: Preset,
    candidate: Build,
    baseline: Build | None,
    seeds: range | None = None,
    night: int = 0,
    *,
    java_missing: str | None = None,
) -> Matrix:
    """Every run of a preset: controls first, then candidate and baseline in turns, seed by seed.

    They alternate, because a machine that becomes slower must not make one version look worse.

    Args:
        preset: the scenarios and seeds.
        candidate: the build to qualify.
        baseline: the build that it is compared with, if any.
        seeds: seeds to use instead of the preset's.
        night: number of the block of `SEEDS_A_NIGHT` seeds from which the preset's are taken. Those of the
            controls stay the same, because a control must have the same outcome every night.
        java_missing: why this host does not offer kafka-clients; None if it does.

    Raises:
        UsageError: if both builds are the same.
    """
    builds = {QualificationRole.CANDIDATE: candidate} | (
        {} if baseline is None else {QualificationRole.BASELINE: baseline}
    )
    _require_two(candidate, baseline)
    jobs = list(control_jobs(preset.controls, preset.control_seeds))
    needy = {job.options.scenario for job in jobs if java_missing and needs_java(job.options.scenario)}
    jobs = [job for job in jobs if job.options.scenario not in needy]
    entries = (*preset.entries, *preset.java_entries)
    needy.update(entry.scenario for entry in preset.java_entries if java_missing)
    withheld = [
        f"{name} needs kafka-clients, which this host does not offer ({java_missing}), so it is not run"
        for name in sorted(needy)
    ]
    for entry in (one for one in entries if one.scenario not in needy):
        for begins in entry.begins(night):
            able, unable = _able(entry.scenario, begins, builds)
            withheld += unable
            jobs += _runs_of(entry, begins, able, seeds or _seeds_of(entry, night))
    return Matrix(tuple(jobs), tuple(withheld))


def _require_two(candidate: Build, baseline: Build | None) -> None:
    if baseline is not None and candidate.kafka == baseline.kafka:
        raise UsageError(
            "the candidate and the baseline are the same build",
            got=f"{candidate.name} twice",
            expected="--candidate and --baseline that differ",
            next_step="drop --baseline, or name another one",
        )


def needs_java(scenario: str) -> bool:
    """Whether the load of a scenario, given by name, needs kafka-clients."""
    return _scenario(scenario).workload.needs_java


def _seeds_of(entry: PresetScenario, night: int) -> range:
    first = 1 + night * SEEDS_A_NIGHT
    return range(first, first + entry.seeds)


def control_jobs(tickets: Collection[str] | None, seeds: int) -> Iterator[Job]:
    """Runs of both sides of known outcomes, for the given tickets; None: for all of them that are no race."""
    for known in known_outcomes():
        if known.tries == 1 and (tickets is None or known.ticket in tickets):
            for side in known.sides:
                for seed in range(1, seeds + 1):
                    yield Job(
                        QualificationRole.CONTROL, _control_options(known, side, seed), Control(known, side)
                    )


def expected_ms(job: Job) -> int:
    """The approximate duration of a run on two idle cores, from its command to its report."""
    return START_MS[_mode(job.options)] + load_ms(job) + END_MS


def load_ms(job: Job) -> int:
    """The part of this duration that is under load, including faults and recovery."""
    schedule = _scenario(job.options.scenario).schedule
    chosen_s = job.options.duration_s
    random = chosen_s is not None and isinstance(schedule, RandomSchedule)
    return (chosen_s * 1000 if random and chosen_s else schedule.duration_ms) + RECOVERY_MS


def shard(jobs: Sequence[Job], number: int, count: int) -> tuple[Job, ...]:
    """The runs of one of several machines, in their order; each run is in exactly one shard.

    Both runs of a pair are in one shard, so that compared runs are made on one machine.  Pairs are assigned
    in order of duration, the longest first, each to the shard with the least work.

    Args:
        jobs: all jobs.
        number: number of the shard, from 1.
        count: number of shards.
    """
    costs: dict[str, int] = {}
    for job in jobs:
        costs[job.pair] = costs.get(job.pair, 0) + expected_ms(job)
    loads = [0] * count
    place: dict[str, int] = {}
    for pair in sorted(costs, key=lambda pair: (-costs[pair], pair)):
        place[pair] = loads.index(min(loads))
        loads[place[pair]] += costs[pair]
    return tuple(job for job in jobs if place[job.pair] == number - 1)


@functools.cache
def _scenario(name: str) -> Scenario:
    """A scenario by name; cached, because a matrix needs each one many times."""
    return load_scenario(name)


def _mode(options: RunOptions) -> Mode:
    return options.mode or _scenario(options.scenario).topology.mode


def _control_options(known: KnownOutcome, side: Side, seed: int) -> RunOptions:
    return RunOptions(
        scenario=known.scenario,
        seed=seed,
        kafka_version=side.version,
        feature=side.features,
        config=side.config,
    )


def _able(
    scenario: str, from_version: str | None, builds: Mapping[QualificationRole, Build]
) -> tuple[dict[QualificationRole, Build], list[str]]:
    """The builds that can run a scenario, and a sentence for each build that can't."""
    least, own = _scenario(scenario).versions_min, _scenario(scenario).topology.start_version
    begins = from_version or own
    able: dict[QualificationRole, Build] = {}
    unable: list[str] = []
    for role, build in builds.items():
        if parse_version(build.version) < parse_version(least):
            unable.append(f"{scenario} needs Kafka {least}, so it is not run on the {role}")
        elif begins and parse_version(build.version) <= parse_version(begins):
            unable.append(f"{scenario} upgrades from Kafka {begins}, so it is not run on the {role}")
        else:
            able[role] = build
    return able, unable


def _runs_of(
    entry: PresetScenario,
    begins: str | None,
    builds: Mapping[QualificationRole, Build],
    seeds: range,
) -> Iterator[Job]:
    for mode in entry.modes:
        for seed in seeds:
            for role, build in builds.items():
                options = RunOptions(
                    scenario=entry.scenario,
                    seed=seed,
                    mode=mode,
                    duration_s=entry.duration_s,
                    from_version=begins,
                    kafka_version=build.kafka.kafka_version,
                    image_source=build.kafka.image_source,
                    kafka_tarball=build.kafka.kafka_tarball,
                    kafka_image=build.kafka.kafka_image,
                )
                yield Job(role, options)
