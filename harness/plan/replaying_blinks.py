"""Makes blinks from those of a recorded run, at the same nodes and times; pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from checkers.evidence.faults import FaultWindow
from checkers.history.units import NS_PER_MS
from harness.faults.partition import takes_part
from harness.plan.schedule import blinks_of
from harness.vocabulary.administration import Member
from harness.vocabulary.faults import Fault, Partition
from harness.vocabulary.scenario import FixedSchedule, Step
from harness.vocabulary.topology import Node


def replayed_blinks(
    schedule: FixedSchedule,
    windows: Mapping[str, FaultWindow],
    began_ns: int,
    nodes: Sequence[Node],
    member: Callable[[str], Member],
) -> Iterator[Step]:
    """The blinks that hit a node, each with its recorded time and duration; the others are left out.

    Args:
        schedule: the planned schedule.
        windows: recorded faults, by name.
        began_ns: when the schedule began.
        nodes: nodes of the topology.
        member: a node of the topology by its name.

    Raises:
        LookupError: the topology lacks a node of the recorded run.
    """
    for name, blink in blinks_of(schedule):
        window = windows.get(name)
        if window is None or not window.targets:
            continue
        yield Step(
            at_ms=max(0, round((window.invoked_ns - began_ns) / NS_PER_MS)),
            hold_ms=round(window.held_ns / NS_PER_MS) if window.proven else blink.hold_ms,
            fault=_at(blink.fault, window, nodes, member),
        )


def _at(fault: Fault, window: FaultWindow, nodes: Sequence[Node], member: Callable[[str], Member]) -> Fault:
    """The fault at its recorded node; a cut of a link also at its recorded other end."""
    (target, *_) = window.targets
    named = msgspec.structs.replace(fault, target=member(target))
    if not isinstance(named, Partition) or not named.pattern.of_link:
        return named
    others = [node.name for node in nodes if takes_part(named, node) and node.name != target]
    (end,) = {node for pair in window.cut for node in pair} - {target}
    member(end)
    return msgspec.structs.replace(named, draw=others.index(end))
