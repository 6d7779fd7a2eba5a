"""Cuts a recorded schedule at the time of an anomaly: what began later did not cause it; pure."""

from collections.abc import Iterator

from msgspec.structs import replace

from checkers.history.operations import History
from checkers.history.phases import Phase, phase_began_ns
from checkers.history.units import NS_PER_MS
from harness.campaigns.minimising.pieces import end_ms_of
from harness.plan.random_schedules import TAIL_MS
from harness.plan.schedule import Planned, agenda, blinks_of
from harness.vocabulary.gambits import Gambit
from harness.vocabulary.scenario import FixedSchedule, Step


def schedule_until(schedule: Planned, recorded: History, moment_ns: int) -> FixedSchedule | None:
    """The pieces of a schedule that had begun before a moment of the recorded run.

    Args:
        schedule: the planned schedule of the run.
        recorded: history of the processes that carried it out, with the phases of the run.
        moment_ns: time of the anomaly, nanoseconds since the run began.

    Returns:
        the schedule, which ends soon after that moment; None for a script, for a run without load, and if
        it would not be shorter.
    """
    loaded_ns = phase_began_ns(recorded, Phase.LOAD)
    if not isinstance(schedule, FixedSchedule) or loaded_ns is None:
        return None
    begun = {o.key for o in recorded.operations if isinstance(o.key, str) and o.time_ns <= moment_ns}
    moment_ms = (moment_ns - loaded_ns) // NS_PER_MS
    kept = replace(
        schedule,
        steps=tuple(_begun_steps(schedule, begun)),
        gambits=tuple(each for name, each in agenda(schedule) if isinstance(each, Gambit) and name in begun),
        blinks=tuple(blink for name, blink in blinks_of(schedule) if name in begun),
        acts=tuple(act for act in schedule.acts if act.at_ms <= moment_ms),
    )
    ends_ms = max(end_ms_of(kept), moment_ms) + TAIL_MS
    kept = replace(kept, duration_ms=min(ends_ms, schedule.duration_ms))
    return kept if kept.duration_ms < schedule.duration_ms else None


def _begun_steps(schedule: FixedSchedule, begun: set[str]) -> Iterator[Step]:
    for name, each in agenda(schedule):
        if isinstance(each, Step) and name in begun:
            yield each
