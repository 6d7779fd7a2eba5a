"""Plans a measurement: runs of a preset with each bug, and a control without it for each of them.

Pure: the same bugs, budget, preset, version and seed give the same plan, byte for byte.  The draws for one
bug do not depend on other bugs, so a larger catalogue does not invalidate the runs in a store.
"""

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from harness.plan.catalogue import load_scenario
from harness.plan.planning import RunOptions
from harness.plan.presets import Preset, PresetScenario
from harness.plan.qualification import needs_java
from harness.plan.schedule import Planned, faults_alone, gambits_of, operations_of, plan
from harness.seeded_bugs.header import JAVA_LOADS, Area, SeededBug, loads_of
from harness.vocabulary.administration import (
    AddVoter,
    AlterTopic,
    CancelSome,
    ElectLeaders,
    Member,
    Reassign,
    RemoveVoter,
)
from harness.vocabulary.faults import Fault, PacketLoss, Partition, Target
from harness.vocabulary.gambits import (
    AddPart,
    AlterChosen,
    ChosenOperation,
    ElectChosen,
    InjectAll,
    Part,
    ReassignChosen,
    RemovePart,
    RequestForChosen,
)
from harness.vocabulary.scenario import RandomSchedule
from harness.vocabulary.topology import Among, Mode, Role
from harness.vocabulary.version import parse_version

_SEEDS = 1_000_000_000
"""Upper bound of runs' seeds, large enough that no two controls are the same run."""
_CONTROLLERS = frozenset({Target.ACTIVE_CONTROLLER, Target.VOTER, Target.QUORUM_FOLLOWER})
_BROKERS = frozenset({Target.PARTITION_LEADER, Target.BROKER})
_ALONE = {Among.CONTROLLERS: Role.CONTROLLER, Among.BROKERS: Role.BROKER}
_OF_THE_QUORUM = frozenset({Area.KRAFT, Area.VOTERS})
"""Areas of bugs in the votes and the replication of controllers: no fault of a broker affects them."""
_PARTS_OF_QUORUM = ("controller", "voter-")
"""Prefix of the parts that a choice of the quorum gives; see `ChooseQuorum`."""
_SCHEDULES = 24
"""Number of schedules of a scenario from which frequencies of faults are estimated."""


class RunsPerBug(NamedTuple):
    """Maximum number and length of the runs for each bug."""

    runs: int
    duration_s: int

    def __str__(self) -> str:
        return f"{self.runs}x{self.duration_s}"


class Controls(StrEnum):
    """When the runs without a bug are made."""

    BETWEEN = "between"
    """Each control is made before or after the run that it belongs to, at random."""
    AFTER = "after"
    """Controls are made once every run with a bug has been made."""
    ONLY = "only"
    """Only controls are made, no run with a bug; such runs that were made before still count."""
    NONE = "none"
    """No controls are made; controls that were made before still count."""


class Drawn(NamedTuple):
    """One run of a preset with a random schedule."""

    scenario: str
    mode: Mode


class Slot(NamedTuple):
    """One try to find a bug, and its control: the same run without the bug.

    Attributes:
        bug: the bug.
        number: number of the try, from 1.
        seeded: the run with the bug.
        control: the run without it.
        control_first: whether the control is run first.
        fitting: whether the scenario has the load, and draws a fault, that the bug needs.
    """

    bug: SeededBug
    number: int
    seeded: RunOptions
    control: RunOptions
    control_first: bool
    fitting: bool

    @property
    def both(self) -> tuple[RunOptions, RunOptions]:
        """Both runs in their order."""
        return (self.control, self.seeded) if self.control_first else (self.seeded, self.control)

    @property
    def needs_java(self) -> bool:
        """Whether both runs need kafka-clients."""
        return needs_java(self.control.scenario)


def slots(
    bugs: Iterable[SeededBug], budget: RunsPerBug, preset: Preset, version: str, seed: int
) -> tuple[Slot, ...]:
    """All tries in their order: the first try of every bug, then the second of every bug, and so on.

    Args:
        bugs: bugs to search for; each fits the version.
        budget: budget of each bug.
        preset: preset whose random runs are the pool; each mode occurs once per seed that the preset has.
            Its runs that need kafka-clients are in the pool of a bug that names a load of `JAVA_LOADS`, as
            far as they have that load.
        version: the version of Kafka.
        seed: determines scenarios, their seeds and the order.
    """
    pool = list(drawn_runs(preset, version))
    java = list(_drawn_in_entries(preset.java_entries, version))
    planned = [
        slot for bug in bugs for slot in _of_bug(bug, budget, [*pool, *_java_runs(bug, java)], version, seed)
    ]
    return tuple(sorted(planned, key=lambda slot: (slot.number, _source(seed, slot, "order").random())))


def in_order(some: Sequence[Slot], controls: Controls) -> Iterator[tuple[Slot, RunOptions]]:
    """Every run of some tries in their order, each with its try."""
    if controls is Controls.BETWEEN:
        yield from ((slot, options) for slot in some for options in slot.both)
        return
    if controls is not Controls.ONLY:
        yield from ((slot, slot.seeded) for slot in some)
    if controls in (Controls.AFTER, Controls.ONLY):
        yield from ((slot, slot.control) for slot in some)


def drawn_runs(preset: Preset, version: str) -> Iterator[Drawn]:
    """The runs of a preset with random schedules that every host can make, if a version supports them."""
    return _drawn_in_entries(preset.entries, version)


def _drawn_in_entries(entries: Iterable[PresetScenario], version: str) -> Iterator[Drawn]:
    for entry in entries:
        scenario = load_scenario(entry.scenario)
        old = parse_version(version) < parse_version(scenario.versions_min)
        if isinstance(scenario.schedule, RandomSchedule) and not old:
            for mode in entry.modes:
                yield from [Drawn(entry.scenario, mode or scenario.topology.mode)] * entry.seeds


def _java_runs(bug: SeededBug, java: Iterable[Drawn]) -> list[Drawn]:
    """The runs with a load that a bug names and that only kafka-clients can make.

    Its other words do not count: a bug that needs a log has enough runs that every host can make.
    """
    words = JAVA_LOADS.intersection(bug.workloads)
    return [run for run in java if words & loads_of(load_scenario(run.scenario).workload)]


def fits(bug: SeededBug, scenario: str) -> bool:
    """Whether the scenario of that name has a load, and draws a fault or operation, that a bug needs."""
    return _loaded(bug, scenario) and (not bug.faults or _often(bug, scenario) > 0)


def draws_of(name: str, whom: Role | None = None) -> Mapping[str, float]:
    """How often a scenario's random schedule draws each fault and admin operation, by gambits too.

    Blinks are left out, because every exploratory schedule has them.  So any schedule can find a bug that
    only needs a blink.

    Args:
        name: name of the scenario.
        whom: role of the nodes; faults that only hit the other role are left out, unless nodes have both.

    Returns:
        Mean numbers per schedule of the scenario's length; kinds that do not occur in its first schedules
            are left out.
    """
    combined = load_scenario(name).topology.mode is Mode.COMBINED
    totals: Counter[str] = Counter()
    for (role, tag), count in _drawn_in(name).items():
        if combined or whom is None or role in (whom, None):
            totals[tag] += count
    return {tag: count / _SCHEDULES for tag, count in totals.items()}


@functools.cache
def _drawn_in(name: str) -> Mapping[tuple[Role | None, str], int]:
    """Faults and operations in the first schedules of a scenario, with their targets' role (`_hit_by`)."""
    scenario = load_scenario(name)
    schedule = scenario.schedule
    if not isinstance(schedule, RandomSchedule):
        return {}
    drawn = (plan(schedule, scenario.topology, seed) for seed in range(_SCHEDULES))
    return Counter(each for one in drawn for each in _draws_of(one))


def _draws_of(planned: Planned) -> Iterator[tuple[Role | None, str]]:
    alone = ((fault.target, fault) for fault in faults_alone(planned))
    moves = tuple(move for gambit in gambits_of(planned) for move in gambit.moves)
    of_gambits = (
        (aimed.at, aimed.fault) for move in moves if isinstance(move, InjectAll) for aimed in move.faults
    )
    yield from ((_hit_by(at, fault), _tag(fault)) for at, fault in (*alone, *of_gambits))
    yield from ((None, _tag(operation)) for operation in operations_of(planned))
    # A request that follows its equal is a repetition.
    requests = (move for move, last in zip(moves, (None, *moves), strict=False) if move != last)
    yield from ((None, _tag_of_chosen(move.what)) for move in requests if isinstance(move, RequestForChosen))


def _hit_by(at: Part | Target, fault: Fault) -> Role | None:
    """The only role that a fault can hit; None if it can hit both."""
    if isinstance(fault, Partition | PacketLoss) and fault.among in _ALONE:
        return _ALONE[fault.among]
    if isinstance(at, Member):
        return at.role
    if isinstance(at, Target):
        return Role.CONTROLLER if at in _CONTROLLERS else Role.BROKER if at in _BROKERS else None
    return Role.CONTROLLER if at.startswith(_PARTS_OF_QUORUM) else Role.BROKER


def _tag_of_chosen(what: ChosenOperation) -> str:
    match what:
        case AddPart():
            return _tag(AddVoter)
        case RemovePart():
            return _tag(RemoveVoter)
        case ElectChosen():
            return _tag(ElectLeaders)
        case AlterChosen():
            return _tag(AlterTopic)
        case ReassignChosen(wanted):
            return _tag(Reassign if wanted else CancelSome)


def _tag(kind: msgspec.Struct | type[msgspec.Struct]) -> str:
    return str(kind.__struct_config__.tag)


def _loaded(bug: SeededBug, scenario: str) -> bool:
    return not loads_of(load_scenario(scenario).workload).isdisjoint(bug.workloads)


def _of_bug(
    bug: SeededBug, budget: RunsPerBug, pool: Sequence[Drawn], version: str, seed: int
) -> Iterator[Slot]:
    fitting = _of_scenarios(pool, lambda name: fits(bug, name))
    loaded = _of_scenarios(pool, lambda name: _loaded(bug, name))
    chosen = _in_drawn_order(bug, sorted(fitting or loaded or pool), random.Random(f"{seed} {bug.name} runs"))
    for number in range(1, budget.runs + 1):
        source = random.Random(f"{seed} {bug.name} {number}")
        run = chosen[(number - 1) % len(chosen)]
        control = RunOptions(
            scenario=run.scenario,
            seed=source.randrange(_SEEDS),
            mode=run.mode,
            duration_s=budget.duration_s,
            kafka_version=version,
        )
        seeded = msgspec.structs.replace(control, seeded_bug=bug.name)
        yield Slot(bug, number, seeded, control, source.random() < 1 / 2, bool(fitting))


def _of_scenarios(pool: Sequence[Drawn], suits: Callable[[str], bool]) -> list[Drawn]:
    """The runs whose scenario suits; a scenario with many runs is looked at once."""
    looked_at: dict[str, bool] = {}
    for run in pool:
        if run.scenario not in looked_at:
            looked_at[run.scenario] = suits(run.scenario)
    return [run for run in pool if looked_at[run.scenario]]


def _in_drawn_order(bug: SeededBug, runs: Sequence[Drawn], source: random.Random) -> list[Drawn]:
    """Runs in a random order; runs that draw more of the faults that the bug needs tend to come first.

    Weighted random sampling without replacement: Efraimidis and Spirakis, Information Processing Letters
    97(5), 2006.
    """
    often = {name: _often(bug, name) for name in {run.scenario for run in runs}}
    keyed = ((source.random() ** (1 / (often[run.scenario] or 1)), run) for run in runs)
    return [run for _key, run in sorted(keyed, key=lambda one: one[0], reverse=True)]


def _often(bug: SeededBug, scenario: str) -> float:
    """Mean number of faults and operations that a bug needs in a schedule of a scenario.

    Faults of controllers do not affect a bug of brokers.  Faults of brokers do not affect
    votes and the log of the quorum, but they do affect other bugs of controllers: when a broker ends,
    controllers change ISRs and leaders.
    """
    drawn = draws_of(scenario, _near(bug))
    return sum(drawn.get(fault, 0) for fault in bug.faults)


def _near(bug: SeededBug) -> Role | None:
    if bug.area in _OF_THE_QUORUM:
        return Role.CONTROLLER
    return Role.BROKER if bug.nodes == (Role.BROKER,) else None


def _source(seed: int, slot: Slot, what: str) -> random.Random:
    return random.Random(f"{seed} {slot.bug.name} {slot.number} {what}")
