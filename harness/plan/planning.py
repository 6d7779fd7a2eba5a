"""Makes the plan of a run from a scenario and its overrides; all errors are reported at once."""

import shlex
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import msgspec

from checkers.verdict.verdict import Validity
from harness.cluster.rendering import problems_with
from harness.errors import UsageError
from harness.plan.blinks import BLINKS
from harness.plan.catalogue import expectation_for, file_of, load_scenario
from harness.plan.gambits import GAMBITS
from harness.plan.kafka_choice import KafkaChoice
from harness.plan.loads import problems_of_load
from harness.plan.misfits import located, misfits_of
from harness.plan.random_schedules import DISKS, KINDS, LEAD_MS, OPERATIONS, PACKET_LOSS, TAIL_MS
from harness.plan.scenario_files import load_file
from harness.plan.schedule import Planned, faults_of, plan, problems_of
from harness.plan.topologies import topology_of
from harness.plan.upgrades import later_versions, upgrade_problems, versions_of
from harness.seeded_bugs.catalogue import bug_named
from harness.vocabulary.scenario import Expectation, Majority, RandomSchedule, RollingSchedule, Scenario
from harness.vocabulary.topology import Mode, NodeFile, Quorum
from harness.vocabulary.version import VersionShapeError, parse_version
from harness.vocabulary.workloads import LogWorkload, Workload

DURATION_S_MIN = 20


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Options of a run; None means that the scenario decides.

    Every field except the first three is an option of ``krucible run`` with the same name.

    Attributes:
        scenario: the name of the scenario.
        scenario_file: the file of the scenario if it is not in the catalogue; commands then name the file.
    """

    scenario: str
    seed: int
    scenario_file: str | None = None
    kafka_version: str | None = None
    from_version: str | None = None
    duration_s: int | None = None
    fault: tuple[str, ...] = ()
    gambit: tuple[str, ...] = ()
    mode: Mode | None = None
    controllers: int | None = None
    brokers: int | None = None
    quorum: Quorum | None = None
    feature: dict[str, int] = {}
    config: dict[str, str] = {}
    jvm_option: tuple[str, ...] = ()
    node_file: tuple[NodeFile, ...] = ()
    acks: str | None = None
    idempotent: bool | None = None
    rate: int | None = None
    seeded_bug: str | None = None
    image_source: str = "auto"
    kafka_tarball: str | None = None
    kafka_image: str | None = None

    @property
    def image_from(self) -> tuple[str, str]:
        """The source of Kafka's image, and the file or image that was named; empty if none was."""
        return self.kafka.image_from

    @property
    def kafka(self) -> KafkaChoice:
        """The requested Kafka."""
        return KafkaChoice(
            kafka_version=self.kafka_version,
            image_source=self.image_source,
            kafka_tarball=self.kafka_tarball,
            kafka_image=self.kafka_image,
        )


class RequestedImage(NamedTuple):
    """One image that a run needs: its version, its source, and the file or image that was named."""

    version: str
    source: str
    given: str


class RunPlan(msgspec.Struct, frozen=True):
    """What a run will do.

    Attributes:
        options: what was requested.
        scenario: the scenario with the options applied.
        version: the version of Kafka.
        schedule: the schedule; its targets are symbolic.
        expectation: what the scenario expects of this version and these feature levels.
        reproduce: the command that plans the same run again.
        replay_of: id of the run that this one replays, runs again or makes smaller; empty if there is none.
    """

    options: RunOptions
    scenario: Scenario
    version: str
    schedule: Planned
    expectation: Expectation
    reproduce: str
    replay_of: str = ""

    @property
    def images(self) -> tuple[RequestedImage, ...]:
        """The images of its nodes and clients: that of the run's version, then those of other versions."""
        versions = versions_of(self.schedule, self.scenario.topology, self.version)
        of_client = self.scenario.workload.java_version
        others = sorted((versions | ({of_client} if of_client else set())) - {self.version})
        own = RequestedImage(self.version, *self.options.image_from)
        return own, *(RequestedImage(version, self.options.image_source, "") for version in others)


def plan_run(options: RunOptions) -> RunPlan:
    """Apply the options to the scenario and plan its schedule; pure, given the scenario.

    Raises:
        UsageError: if options, scenario and version do not fit together; it has all problems.
    """
    scenario = scenario_of(options)
    version = options.kafka_version or scenario.kafka_version
    problems = _version_problems(version, options.from_version, scenario)
    if problems:
        raise _misfit(options, problems)
    scenario = _with_options(scenario, options, version)
    problems = [*problems_with(scenario.topology, version), *_workload_problems(scenario, options)]
    problems += _schedule_problems(options, scenario)
    if problems:
        raise _misfit(options, problems)
    schedule = _planned(scenario, options.seed)
    problems = [located(misfit, source_of(options)) for misfit in misfits_of(schedule, scenario.topology)]
    since = scenario.workload.versions_min
    problems += upgrade_problems(schedule, scenario.topology, version, options.seeded_bug, since)
    if options.from_version is not None and not later_versions(schedule, version):
        problems.append(
            f"nodes begin on Kafka {options.from_version}, and no step of the schedule is an upgrade; to run "
            f"on that version alone: --kafka-version {options.from_version}"
        )
    if problems := [*problems_of(schedule), *problems]:
        raise _misfit(options, problems)
    reasons = {fault.unavailable_because(scenario.topology) for fault in faults_of(schedule)}
    if unavailable := sorted(reason for reason in reasons if reason):
        raise _misfit(options, unavailable)
    expectation = _expectation(scenario, options, version)
    # The version is named even if it was not requested: another krucible may have another default.
    reproduce = reproduce_line(msgspec.structs.replace(options, kafka_version=version))
    return RunPlan(options, scenario, version, schedule, expectation, reproduce)


def scenario_of(options: RunOptions) -> Scenario:
    """The scenario that was requested, without the options.

    Raises:
        UsageError: if there is no such scenario.
    """
    if options.scenario_file is not None:
        return load_file(Path(options.scenario_file))
    return load_scenario(options.scenario)


def source_of(options: RunOptions) -> Path:
    """The file that defines the scenario."""
    return Path(options.scenario_file) if options.scenario_file else file_of(options.scenario)


def _planned(scenario: Scenario, seed: int) -> Planned:
    """The schedule for a seed; with `keeps_draws` it is not changed."""
    schedule = scenario.schedule
    if scenario.keeps_draws and not isinstance(schedule, RandomSchedule | RollingSchedule):
        return schedule
    return plan(schedule, scenario.topology, seed)


def _expectation(scenario: Scenario, options: RunOptions, version: str) -> Expectation:
    """What the scenario expects; with a seeded bug, its anomalies, so that a missed bug is no success."""
    if options.seeded_bug is None:
        return expectation_for(scenario, version, scenario.topology.features)
    bug = bug_named(options.seeded_bug, version)
    return Expectation(Validity.INVALID, anomalies=bug.anomalies, why=bug.summary)


def reproduce_line(options: RunOptions, seeds: range | None = None) -> str:
    """The shell command that repeats a run, with every option that is not a default.

    Args:
        options: the options of the run.
        seeds: these seeds, instead of the one in the options.
    """
    chosen = ["--seed", str(options.seed)] if seeds is None else ["--seeds", f"{seeds[0]}..{seeds[-1]}"]
    words = ["krucible", "run", options.scenario_file or options.scenario, *chosen]
    unasked = RunOptions(scenario=options.scenario, seed=options.seed)
    given: dict[str, object] = msgspec.to_builtins(options)
    for name, value in given.items():
        # msgspec leaves out a default text only if it is the same object, not one that was read from a file.
        if name not in ("scenario", "seed", "scenario_file") and value != getattr(unasked, name):
            words += option_words(name, value)
    return shlex.join(words)


def option_words(field: str, value: object) -> list[str]:
    """A field of `RunOptions` as words of the command line."""
    name = field.replace("_", "-")
    match value:
        case bool():
            return [f"--{name}" if value else f"--no-{name}"]
        case dict():
            return [word for key, level in value.items() for word in (f"--{name}", f"{key}={level}")]
        case list() | tuple():
            texts = (f"{v['source']}:{v['destination']}" if isinstance(v, dict) else v for v in value)
            return [f"--{name}={text}" for text in texts]
        case _:
            return [f"--{name}", str(value)]


def _version_problems(version: str, from_version: str | None, scenario: Scenario) -> list[str]:
    try:
        numbers = parse_version(version)
        parse_version(from_version or version)
    except VersionShapeError as error:
        return [str(error)]
    if numbers < parse_version(scenario.versions_min):
        return [
            f"Kafka {version} is older than {scenario.versions_min}, the first that this scenario supports"
        ]
    return []


def _lasting(schedule: RandomSchedule, duration_ms: int) -> RandomSchedule:
    """The schedule with another duration, and a minimum of admin operations in proportion to it."""
    least = {
        kind: number * duration_ms // schedule.duration_ms for kind, number in schedule.operations_min.items()
    }
    return msgspec.structs.replace(schedule, duration_ms=duration_ms, operations_min=least)


def _with_options(scenario: Scenario, options: RunOptions, version: str) -> Scenario:
    replace = msgspec.structs.replace
    schedule = scenario.schedule
    if options.duration_s is not None and isinstance(schedule, RandomSchedule):
        schedule = _lasting(schedule, options.duration_s * 1000)
    if options.fault and isinstance(schedule, RandomSchedule):
        schedule = replace(schedule, kinds=options.fault, loss_share=0.0, disks={}, gambits={}, blinks={})
    if options.gambit and isinstance(schedule, RandomSchedule):
        schedule = replace(schedule, gambits=dict.fromkeys(options.gambit, 1))
    topology = topology_of(
        scenario.topology,
        version,
        mode=options.mode,
        controllers=options.controllers,
        brokers=options.brokers,
        quorum=options.quorum,
        feature=options.feature,
        config=options.config,
        jvm_option=options.jvm_option,
        node_file=options.node_file,
        from_version=options.from_version,
    )
    assigned = scenario.workload.assignments
    copies = min(len(assigned[0]) if assigned else scenario.workload.replication_factor, topology.brokers)
    workload = replace(
        scenario.workload,
        partitions=len(assigned) or scenario.workload.partitions,
        replication_factor=copies,
        min_insync_replicas=min(scenario.workload.min_insync_replicas, copies),
        **_workload_options(scenario.workload, options),
    )
    return replace(scenario, schedule=schedule, workload=workload, topology=topology)


def _workload_options(workload: Workload, options: RunOptions) -> dict[str, object]:
    """The workload's fields that options change; acks and idempotence only exist for the log workload."""
    chosen: dict[str, object] = {"rate": options.rate}
    if isinstance(workload, LogWorkload):
        chosen |= {"acks": options.acks, "idempotent": options.idempotent}
        if options.acks not in (None, "all") and options.idempotent is None:
            chosen["idempotent"] = False  # Kafka refuses idempotence without acks=all
    return {name: value for name, value in chosen.items() if value is not None}


def _workload_problems(scenario: Scenario, options: RunOptions) -> list[str]:
    chosen = options.acks is not None or options.idempotent is not None
    found = problems_of_load(scenario)
    if chosen and not isinstance(scenario.workload, LogWorkload):
        found.append("acks and idempotence can only be chosen for the log workload")
    return found


def _schedule_problems(options: RunOptions, scenario: Scenario) -> list[str]:
    schedule = scenario.schedule
    found = _drawing_problems(schedule) if isinstance(schedule, RandomSchedule) else []
    found += _rolling_problems(schedule) if isinstance(schedule, RollingSchedule) else []
    if options.fault and not isinstance(schedule, RandomSchedule):
        found.append(f"{options.scenario} has faults of its own; drop --fault")
    if scenario.keeps_draws and isinstance(schedule, RandomSchedule | RollingSchedule):
        found.append("a random schedule is drawn whole, so it has no draws to keep; drop keeps_draws")
    found += _gambit_problems(options)
    if options.duration_s is None:
        return found
    if not isinstance(schedule, RandomSchedule):
        found.append(
            f"{options.scenario} has a fixed schedule of {schedule.duration_ms} ms; drop --duration-s"
        )
    elif options.duration_s < DURATION_S_MIN:
        lead_s = (LEAD_MS + TAIL_MS) / 1000
        found.append(
            f"a duration of {options.duration_s} s has no room for a fault ({lead_s:.0f} s are load alone); "
            f"expected at least {DURATION_S_MIN}"
        )
    return found


def _gambit_problems(options: RunOptions) -> list[str]:
    """Requested gambits that the scenario does not draw: its topology, load and limits may not fit them."""
    schedule = scenario_of(options).schedule
    drawn = schedule.gambits if isinstance(schedule, RandomSchedule) else {}
    expected = ", ".join(drawn) or "none"
    odd = sorted(set(options.gambit) - drawn.keys())
    return [f"{options.scenario} draws no gambit called {name}; expected one of {expected}" for name in odd]


def _drawing_problems(schedule: RandomSchedule) -> list[str]:
    """Reasons why a random schedule can't be drawn."""
    found = _unknown_kinds(schedule.kinds)
    if odd := sorted((schedule.operations.keys() | schedule.changes.keys()) - OPERATIONS.keys()):
        found.append(f"no admin operation is called {odd[0]}; expected one of {', '.join(OPERATIONS)}")
    if odd := sorted(schedule.operations_min.keys() - schedule.operations.keys()):
        found.append(f"at least some of {odd[0]} are required, and none is drawn; add it to operations")
    if odd := sorted(schedule.disks.keys() - DISKS):
        found.append(f"no fault of a disk is called {odd[0]}; expected one of {', '.join(DISKS)}")
    if odd := sorted(schedule.gambits.keys() - GAMBITS.keys()):
        found.append(f"no gambit is called {odd[0]}; expected one of {', '.join(GAMBITS)}")
    if odd := sorted(schedule.blinks.keys() - BLINKS.keys()):
        found.append(f"no blink is called {odd[0]}; expected one of {', '.join(BLINKS)}")
    if PACKET_LOSS in schedule.kinds and schedule.majority is Majority.LOST:
        found.append("a loss of packets takes no majority away; drop packet-loss, or majority lost")
    if schedule.disks and schedule.majority is Majority.LOST:
        found.append("faults of disks need a majority that keeps its disks; drop disks, or majority lost")
    return found


def _rolling_problems(schedule: RollingSchedule) -> list[str]:
    """Reasons why a rolling upgrade can't be drawn."""
    found = _unknown_kinds(schedule.kinds)
    if PACKET_LOSS in schedule.kinds and schedule.away_chance:
        found.append("a loss of packets takes no node away; drop packet-loss, or away_chance")
    return found


def _unknown_kinds(kinds: Collection[str]) -> list[str]:
    odd = sorted({*kinds} - {*KINDS})
    return [f"no fault to draw is called {odd[0]}; expected one of {', '.join(KINDS)}"] if odd else []


def _misfit(options: RunOptions, problems: list[str]) -> UsageError:
    return UsageError(
        f"{options.scenario} can't be run like this",
        got="\n            ".join(problems),
        where=reproduce_line(options),
        next_step="krucible run --help",
    )
