"""Names in a schedule that do not exist: nodes that the topology lacks, times after the end of the load.

A fault at such a node would never be injected, and a step after the end would never begin.  A step that is
longer than the load is no misfit: its fault is healed when the load ends.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from harness.plan.schedule import Planned
from harness.vocabulary.administration import Member, Reassign
from harness.vocabulary.scenario import FixedSchedule
from harness.vocabulary.topology import Topology


class Misfit(NamedTuple):
    """Something that a schedule names and that does not exist.

    Attributes:
        problem: what does not exist, and what exists instead.
        calls: names of the calls in the scenario's source that may contain the error.
        number: the argument of that call.
    """

    problem: str
    calls: tuple[str, ...]
    number: int


def misfits_of(schedule: Planned, topology: Topology) -> Iterator[Misfit]:
    """All misfits, in the order of the schedule."""
    if isinstance(schedule, FixedSchedule):
        yield from _late(schedule)
        groups: tuple[tuple[str, tuple[msgspec.Struct, ...]], ...] = (
            ("step", schedule.steps),
            ("act", schedule.acts),
            ("gambit", schedule.gambits),
            ("blink", schedule.blinks),
        )
    else:
        groups = (("move", schedule.moves),)
    for noun, parts in groups:
        for place, part in enumerate(parts, start=1):
            for found in _strangers(part, topology):
                yield found._replace(problem=f"{noun} {place} names {found.problem}")


def located(misfit: Misfit, path: Path) -> str:
    """The problem, prefixed with the file and the line; the line is left out if it is ambiguous."""
    try:
        calls = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)]
    except (OSError, SyntaxError, ValueError):
        return f"{path}: {misfit.problem}"  # it was loaded before; it may be removed, or not be source
    lines = [
        call.lineno for call in calls if _called(call) in misfit.calls and _number_of(call) == misfit.number
    ]
    line = f":{lines[0]}" if len(lines) == 1 else ""
    return f"{path}{line}: {misfit.problem}"


def _late(schedule: FixedSchedule) -> Iterator[Misfit]:
    """Times outside the load, which lasts as long as the schedule."""
    lasts = f"the load lasts {_seconds(schedule.duration_ms)}"
    for place, step in enumerate(schedule.steps, start=1):
        if not 0 <= step.at_ms < schedule.duration_ms:
            yield Misfit(f"step {place} begins at {_seconds(step.at_ms)}; {lasts}", ("Step",), step.at_ms)
    for place, blink in enumerate(schedule.blinks, start=1):
        ends_ms = blink.at_ms + blink.hold_ms
        if blink.at_ms < 0 or ends_ms > schedule.duration_ms:
            when = f"begins at {_seconds(blink.at_ms)} and ends at {_seconds(ends_ms)}"
            yield Misfit(f"blink {place} {when}; {lasts}", ("Step",), blink.at_ms)
    for place, act in enumerate(schedule.acts, start=1):
        if not 0 <= act.at_ms < schedule.duration_ms:
            text = f"act {place} is asked for at {_seconds(act.at_ms)}; {lasts}"
            yield Misfit(text, ("TimedOperation",), act.at_ms)
    for place, gambit in enumerate(schedule.gambits, start=1):
        if not 0 <= gambit.at_ms < schedule.duration_ms:
            yield Misfit(
                f"gambit {place} begins at {_seconds(gambit.at_ms)}; {lasts}", ("Gambit",), gambit.at_ms
            )


def _strangers(value: object, topology: Topology) -> Iterator[Misfit]:
    """Nodes that a value names, at any depth, and that the topology does not have."""
    match value:
        case Member(role=role, number=number):
            if value.of(topology.nodes()) is None:
                there = sum(role in node.roles for node in topology.nodes())
                yield Misfit(f"{role} {number}; the topology has {there}", (role.value, "Member"), number)
        case Reassign(targets=targets):
            ids = {node.id for node in topology.nodes() if node.is_broker}
            for number in sorted({one for _, _, wanted in targets for one in wanted or ()} - ids):
                yield Misfit(f"broker {number}; the topology has {len(ids)}", (), number)
        case _:
            for part in parts_of(value):
                yield from _strangers(part, topology)


def parts_of(value: object) -> Iterator[object]:
    """Components of a value of the vocabulary; none for a number or a text."""
    match value:
        case msgspec.Struct():
            yield from (getattr(value, name) for name in value.__struct_fields__)
        case tuple():
            yield from value
        case dict():
            yield from value.values()
        case _:
            pass


def _called(call: ast.Call) -> str:
    function = call.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _number_of(call: ast.Call) -> object:
    """The argument of a call that is the number of a node or a time, if it is a constant.

    This is the first argument, except for a ``Member``, whose first argument is the role.
    """
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    place = 1 if _called(call) == "Member" else 0
    by_place = call.args[place] if len(call.args) > place else None
    value = named.get("at_ms", named.get("number", by_place))
    return value.value if isinstance(value, ast.Constant) else None


def _seconds(ms: int) -> str:
    return f"{ms / 1000:g} s"
