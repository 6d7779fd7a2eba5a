"""Ways to make a scenario smaller: fewer pieces, less time, shorter holds, fewer nodes and clients.

Each is pure: it yields smaller scenarios, and the caller sends back whether each was kept.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TypeVar

from msgspec.structs import replace

from harness.campaigns.minimising.fitting import fits
from harness.campaigns.minimising.pieces import (
    FAULTS,
    GAMBITS,
    KINDS,
    begins_ms,
    end_ms_of,
    pieces_of,
    removable_moves,
    spans_of,
    with_moves,
    with_pieces,
)
from harness.campaigns.minimising.search import Pass, Trial
from harness.campaigns.minimising.subsets import needed
from harness.plan.random_schedules import LEAD_MS, TAIL_MS
from harness.plan.schedule import Planned
from harness.vocabulary.gambits import Gambit
from harness.vocabulary.scenario import FixedSchedule, Scenario, Step, TimedOperation
from harness.vocabulary.topology import Mode

_GAP_MS = 2_000
"""Remaining time between an event and the next fault, milliseconds."""
_WORTH_MS = 2_000
"""A candidate that shortens the schedule by less than this, in milliseconds, is not tried."""
_LATEST = (1, 2, 4)
"""How many of the last faults and gambits may be enough; each number that is not costs one run."""
_CLIENTS = ("producers", "consumers", "transactors", "clients", "creators", "viewers", "members", "writers")
_SMALLEST = 1
_QUORUM = 3
Trials = Generator[Trial, bool, None]
_Kept = TypeVar("_Kept")
_Timed = TypeVar("_Timed", Step, TimedOperation, Gambit)


def nothing(scenario: Scenario) -> Trials:
    """Leave out all pieces at once."""
    schedule = scenario.schedule
    if isinstance(schedule, FixedSchedule) and pieces_of(schedule):
        yield _with(scenario, with_pieces(schedule, ()), "no fault at all")


def latest(scenario: Scenario) -> Trials:
    """Leave out all but the last one, two or four faults and gambits.

    The cause of an anomaly is often the last fault before it.
    """
    schedule = scenario.schedule
    if not isinstance(schedule, FixedSchedule):
        return
    ordered = sorted(
        (piece for piece in pieces_of(schedule) if piece.kind in (FAULTS, GAMBITS)),
        key=lambda piece: begins_ms(schedule, piece),
    )
    for count in _LATEST:
        if 2 * count > len(ordered):
            return
        text = f"the last {count} of {len(ordered)} faults and gambits"
        if (yield _with(scenario, with_pieces(schedule, ordered[-count:]), text)):
            return


def groups(scenario: Scenario) -> Trials:
    """Leave out all pieces of a kind at once."""
    schedule = scenario.schedule
    if not isinstance(schedule, FixedSchedule):
        return
    for kind in KINDS:
        mine = pieces_of(schedule)
        rest = tuple(piece for piece in mine if piece.kind != kind)
        if 0 < len(rest) < len(mine):
            smaller = with_pieces(schedule, rest)
            if (yield _with(scenario, smaller, f"no {kind}")):
                schedule = smaller


def pieces(scenario: Scenario) -> Trials:
    """Leave out the faults, operations, gambits, blinks and moves of a script that are not needed."""
    schedule = planned_of(scenario)
    all_of_them = pieces_of(schedule)
    asking = needed(all_of_them)
    yield from _answered(
        asking,
        lambda kept: _with(
            scenario, with_pieces(schedule, kept), f"{len(kept)} of {len(all_of_them)} pieces of the schedule"
        ),
    )


def moves(scenario: Scenario) -> Trials:
    """Leave out the moves of each gambit that are not needed."""
    schedule = scenario.schedule
    if not isinstance(schedule, FixedSchedule):
        return
    gambits = list(schedule.gambits)
    for place, gambit in enumerate(gambits):
        all_of_them = removable_moves(gambit)

        def smaller(
            kept: tuple[int, ...], place: int = place, gambit: Gambit = gambit, whole: int = len(all_of_them)
        ) -> Trial:
            gambits[place] = with_moves(gambit, kept)
            text = f"{len(kept)} of {whole} moves of gambit {gambit.kind}"
            return _with(scenario, replace(schedule, gambits=tuple(gambits)), text)

        gambits[place] = with_moves(gambit, (yield from _answered(needed(all_of_them), smaller)))


def time(scenario: Scenario) -> Trials:
    """Leave out time in which nothing happens: all of it, or the time after the last fault."""
    schedule = scenario.schedule
    if not isinstance(schedule, FixedSchedule):
        return
    for shorter in (_without_gaps(schedule), replace(schedule, duration_ms=end_ms_of(schedule) + TAIL_MS)):
        if schedule.duration_ms - shorter.duration_ms >= _WORTH_MS and (
            yield _with(scenario, shorter, f"{shorter.duration_ms / 1_000:.0f} s")
        ):
            return


def holds(scenario: Scenario) -> Trials:
    """Hold each fault for the shortest time that the scenario's assumptions allow, or half as long."""
    schedule = scenario.schedule
    if not isinstance(schedule, FixedSchedule):
        return
    least_ms = scenario.assumptions.fault_held_ms
    steps = schedule.steps
    shortest = tuple(replace(step, hold_ms=min(step.hold_ms, least_ms)) for step in steps)
    if shortest == steps or (
        yield _with(scenario, replace(schedule, steps=shortest), f"faults held for {least_ms} ms")
    ):
        return
    for place, step in enumerate(steps):
        for hold_ms in (least_ms, step.hold_ms // 2):
            if not least_ms <= hold_ms < step.hold_ms:
                continue
            smaller = (*steps[:place], replace(step, hold_ms=hold_ms), *steps[place + 1 :])
            text = f"fault {place + 1} held for {hold_ms} ms"
            if (yield _with(scenario, replace(schedule, steps=smaller), text)):
                steps = smaller
                break


def nodes(scenario: Scenario) -> Trials:
    """Fewer controllers, and only as many brokers as a partition has replicas."""
    topology, copies = scenario.topology, max(scenario.workload.replication_factor, _SMALLEST)
    if topology.mode is Mode.COMBINED:
        ways: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...] = ((("controllers", "brokers"), (copies,)),)
    else:
        ways = ((("controllers",), (_QUORUM, _SMALLEST)), (("brokers",), (copies,)))
    for names, sizes in ways:
        for size in sizes:
            if any(size >= getattr(topology, name) for name in names):
                continue
            voters = topology.initial_voters
            smaller = replace(
                topology,
                initial_voters=min(voters, size) if voters is not None and "controllers" in names else voters,
                **dict.fromkeys(names, size),
            )
            trial = Trial(replace(scenario, topology=smaller), f"{size} {' and '.join(names)}")
            if not fits(trial.scenario) or not (yield trial):
                break
            scenario, topology = trial.scenario, smaller


def partitions(scenario: Scenario) -> Trials:
    """Topics with one partition, or half as many."""
    workload = scenario.workload
    if workload.assignments:
        return
    for count in dict.fromkeys((_SMALLEST, workload.partitions // 2)):
        smaller = replace(scenario, workload=replace(workload, partitions=count))
        text = f"{count} {'partition' if count == 1 else 'partitions'}"
        if 0 < count < workload.partitions and fits(smaller) and (yield Trial(smaller, text)):
            return


def clients(scenario: Scenario) -> Trials:
    """One client of each kind, or half as many."""
    workload = scenario.workload
    has = {name: getattr(workload, name) for name in _CLIENTS if hasattr(workload, name)}
    halves = {name: max(count // 2, _SMALLEST) for name, count in has.items()}
    ways = (("one client of each kind", dict.fromkeys(has, _SMALLEST)), ("half the clients", halves))
    for text, sizes in ways:
        fewer = {name: size for name, size in sizes.items() if size < has[name]}
        if not fewer:
            continue
        bounds = {"subscribed": "consumers", "lapsing": "transactors"}
        bounded = {
            name: min(getattr(workload, name), fewer[of])
            for name, of in bounds.items()
            if of in fewer and hasattr(workload, name)
        }
        if (yield Trial(replace(scenario, workload=replace(workload, **fewer, **bounded)), text)):
            return


PHASES: tuple[tuple[Pass, ...], ...] = (
    (nothing, latest, time, groups, time, pieces),
    (moves, time, holds, time),
    (nodes, partitions, clients),
)
"""The passes; those that remove most come first, so that later runs are shorter."""


def planned_of(scenario: Scenario) -> Planned:
    """The schedule of a scenario that was planned; see `Scenario.keeps_draws`.

    Raises:
        TypeError: its schedule is random and has not been drawn yet.
    """
    if not isinstance(scenario.schedule, Planned):
        raise TypeError("a random schedule is drawn before it is made smaller")
    return scenario.schedule


def _answered(
    asking: Generator[_Kept, bool, _Kept], smaller: Callable[[_Kept], Trial]
) -> Generator[Trial, bool, _Kept]:
    """Turn subsets of pieces into trials; a trial that can't be run is not kept."""
    try:
        kept = next(asking)
        while True:
            trial = smaller(kept)
            kept = asking.send((yield trial) if fits(trial.scenario) else False)
    except StopIteration as end:
        found: _Kept = end.value
        return found


def _with(scenario: Scenario, schedule: Planned, text: str) -> Trial:
    return Trial(replace(scenario, schedule=schedule), text)


def _without_gaps(schedule: FixedSchedule) -> FixedSchedule:
    """The schedule with earlier pieces in the same order; it ends soon after the last one."""
    sooner: dict[int, int] = {}
    end, saved = LEAD_MS - _GAP_MS, 0
    for begin, over in sorted(spans_of(schedule)):
        saved += max(begin - end - _GAP_MS, 0)
        sooner[begin] = saved
        end = max(end, over)
    shifted = replace(
        schedule,
        steps=tuple(_shifted(schedule.steps, sooner)),
        blinks=tuple(_shifted(schedule.blinks, sooner)),
        acts=tuple(_shifted(schedule.acts, sooner)),
        gambits=tuple(_shifted(schedule.gambits, sooner)),
    )
    return replace(shifted, duration_ms=end_ms_of(shifted) + TAIL_MS)


def _shifted(pieces: Iterable[_Timed], sooner: dict[int, int]) -> Iterator[_Timed]:
    return (replace(piece, at_ms=piece.at_ms - sooner[piece.at_ms]) for piece in pieces)
