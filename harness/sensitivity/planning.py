"""Which runs measure what is found: every bug under drawn runs of a preset, and a control for each of them.

Pure: the same bugs, budget, preset, version and seed give the same plan, byte for byte.  What is drawn for
one bug does not depend on the others, so that a catalogue that grows leaves the runs in a store as they are.
"""

import functools
import random
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from harness.catalogue import load_scenario
from harness.chance import DISKS, OPERATIONS
from harness.gambits import GAMBITS, drawn_gambit
from harness.planning import RunOptions
from harness.qualification import Preset
from harness.seeded_bugs.header import SeededBug, loads_of
from harness.vocabulary.administration import AlterTopic, CancelSome, ElectLeaders, Reassign
from harness.vocabulary.gambits import AlterThere, Ask, AskThere, ElectThere, GambitMove, MoveThere, Strike
from harness.vocabulary.scenario import RandomSchedule
from harness.vocabulary.topology import Mode, Topology
from harness.vocabulary.version import parse_version

_SEEDS = 1_000_000_000
"""Seeds of runs are below this one: so many that no two controls are the same run."""
_SCRIPTS = 64
"""So many scripts of a gambit show everything that it may do."""


class Budget(NamedTuple):
    """So many runs of so many seconds for each bug, as long as it was not seen."""

    runs: int
    duration_s: int

    def __str__(self) -> str:
        return f"{self.runs}x{self.duration_s}"


class Controls(StrEnum):
    """When the runs without a bug are made."""

    BETWEEN = "between"
    """Each before or after the run whose control it is, as is drawn."""
    AFTER = "after"
    """Once every run with a bug has been made."""
    NONE = "none"
    """Not now; those that were made before count all the same."""


class Drawn(NamedTuple):
    """One run of a preset whose schedule is drawn."""

    scenario: str
    mode: Mode


class Slot(NamedTuple):
    """One try to see a bug, and its control: the same run without it.

    Attributes:
        bug: which one.
        number: of the try, from 1 on.
        seeded: the run with the bug.
        control: the run without it.
        control_first: whether the control is run before the other.
        fitting: whether the scenario has the load that the bug takes and draws a fault that it takes.
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


def slots(
    bugs: Iterable[SeededBug], budget: Budget, preset: Preset, version: str, seed: int
) -> tuple[Slot, ...]:
    """Every try in the order in which they are made: the first of all bugs, then the second, and so on.

    Args:
        bugs: those to look for; each fits the version.
        budget: of each.
        preset: whose drawn runs are the pool, one of each mode as often as the preset has seeds of it.
        version: Kafka's.
        seed: fixes scenarios, their seeds and the order.
    """
    pool = list(drawn_runs(preset, version))
    planned = [slot for bug in bugs for slot in _of_bug(bug, budget, pool, version, seed)]
    return tuple(sorted(planned, key=lambda slot: (slot.number, _source(seed, slot, "order").random())))


def in_order(some: Sequence[Slot], controls: Controls) -> Iterator[tuple[Slot, RunOptions]]:
    """Every run of some tries in the order in which they are made, each with the try that it is of."""
    if controls is Controls.BETWEEN:
        yield from ((slot, options) for slot in some for options in slot.both)
        return
    yield from ((slot, slot.seeded) for slot in some)
    if controls is Controls.AFTER:
        yield from ((slot, slot.control) for slot in some)


def drawn_runs(preset: Preset, version: str) -> Iterator[Drawn]:
    """The runs of a preset whose schedules are drawn, as far as a version can bear them."""
    for entry in preset.entries:
        scenario = load_scenario(entry.scenario)
        old = parse_version(version) < parse_version(scenario.versions_min)
        if isinstance(scenario.schedule, RandomSchedule) and not old:
            for mode in entry.modes:
                yield from [Drawn(entry.scenario, mode or scenario.topology.mode)] * entry.seeds


def fits(bug: SeededBug, scenario: str) -> bool:
    """Whether a scenario, by its name, has a load that a bug takes, and draws something that it takes."""
    return _loaded(bug, scenario) and (not bug.faults or not draws_of(scenario).isdisjoint(bug.faults))


@functools.cache
def draws_of(name: str) -> frozenset[str]:
    """Kinds of faults and of admin operations that a scenario's random schedule may draw, by gambits too.

    Args:
        name: the scenario's.
    """
    scenario = load_scenario(name)
    schedule = scenario.schedule
    if not isinstance(schedule, RandomSchedule):
        return frozenset()
    disks = (_tag(DISKS[name]) for name in schedule.disks)
    operations = (_tag(OPERATIONS[name]) for name in (*schedule.operations, *schedule.changes))
    played = (_draws_of_gambit(kind, scenario.topology) for kind in schedule.gambits)
    return frozenset((*schedule.kinds, *disks, *operations)).union(*played)


def _draws_of_gambit(kind: str, topology: Topology) -> frozenset[str]:
    """What is in the first scripts of a gambit; nothing where the topology lacks what it takes."""
    if not GAMBITS[kind].fits(topology):
        return frozenset()
    scripts = (drawn_gambit(kind, topology, random.Random(seed))[0] for seed in range(_SCRIPTS))
    return frozenset(tag for script in scripts for move in script for tag in _draws_of_move(move))


def _draws_of_move(move: GambitMove) -> Iterator[str]:
    match move:
        case Strike(blows):
            yield from (_tag(blow.fault) for blow in blows)
        case Ask(operation):
            yield _tag(operation)
        case AskThere(ElectThere()):
            yield _tag(ElectLeaders)
        case AskThere(AlterThere()):
            yield _tag(AlterTopic)
        case AskThere(MoveThere(wanted)):
            yield _tag(Reassign if wanted else CancelSome)


def _tag(kind: msgspec.Struct | type[msgspec.Struct]) -> str:
    return str(kind.__struct_config__.tag)


def _loaded(bug: SeededBug, scenario: str) -> bool:
    return not loads_of(load_scenario(scenario).workload).isdisjoint(bug.workloads)


def _of_bug(bug: SeededBug, budget: Budget, pool: Sequence[Drawn], version: str, seed: int) -> Iterator[Slot]:
    fitting = [run for run in pool if fits(bug, run.scenario)]
    loaded = [run for run in pool if _loaded(bug, run.scenario)]
    chosen = sorted(fitting or loaded or pool)
    random.Random(f"{seed} {bug.name} runs").shuffle(chosen)
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


def _source(seed: int, slot: Slot, what: str) -> random.Random:
    return random.Random(f"{seed} {slot.bug.name} {slot.number} {what}")
