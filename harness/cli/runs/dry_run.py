"""``krucible run --dry-run``: shows what a run would do, from its plan only."""

from collections.abc import Iterator
from typing import Any

import msgspec

from checkers.verdict.verdict import Validity
from harness.cli.runs.catalogue_page import cluster_facts, load_facts
from harness.plan.misfits import parts_of
from harness.plan.planning import RunPlan
from harness.plan.schedule import agenda, blinks_of, gambits_of
from harness.vocabulary.administration import Member
from harness.vocabulary.faults import Target
from harness.vocabulary.gambits import FaultAt
from harness.vocabulary.injected import Injected
from harness.vocabulary.scenario import Assumptions, FixedSchedule, RandomSchedule, Step
from harness.vocabulary.topology import Topology
from results.markup.cleaning import clean

_TEXT_MAX = 4_096
_OF_CONTROLLERS = (Target.ACTIVE_CONTROLLER, Target.VOTER, Target.QUORUM_FOLLOWER)
_OF_BROKERS = (Target.BROKER, Target.PARTITION_LEADER)


def plan_text(plan: RunPlan, store: str = "") -> str:
    """Describe the schedule, targets, assumptions and expected verdict. No cluster is asked for any of them.

    Args:
        plan: the plan of the run.
        store: the option that names the store, for the command that makes the run.
    """
    topology, scenario = plan.scenario.topology, plan.scenario
    named = plan.options.scenario_file or plan.options.scenario
    nodes = ", ".join(node.name for node in topology.nodes())
    lines = [
        f"dry run    {named}, seed {plan.options.seed}, Kafka {plan.version}; nothing is started",
        f"cluster    {', '.join(cluster_facts(topology))}: {nodes}",
        f"load       {scenario.workload.__struct_config__.tag}, {', '.join(load_facts(scenario.workload))}",
        f"duration   {_seconds(plan.schedule.duration_ms)}",
        *_block("schedule", list(_rows(plan)) or ["no faults"]),
        *_block("targets", list(_targets(plan)) or ["none"]),
        *_block("assumed", list(_assumed(scenario.assumptions, answers_min(plan)))),
        f"expected   {_expected(plan)}",
        f"reproduce  {plan.reproduce}{store}",
    ]
    return "\n".join(clean(line.replace("`", ""), _TEXT_MAX) for line in lines)


def _block(title: str, rows: list[str]) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield f"{'' if number else title:<11}{row}"


def _rows(plan: RunPlan) -> Iterator[str]:
    """Yield a line for each fault, operation and gambit in order of time, or for each move of a script."""
    schedule, topology = plan.schedule, plan.scenario.topology
    if not isinstance(schedule, FixedSchedule):
        for number, move in enumerate(schedule.moves, start=1):
            yield f"{number:>3}.  {_words(move, topology)}"
        return
    timed: list[tuple[int, str]] = []
    for name, due in agenda(schedule):
        if isinstance(due, Step):
            timed.append((due.at_ms, _held(name, due, topology)))
            continue
        timed.append((due.at_ms, f"{name:<7} gambit {due.kind}, about {_seconds(due.lasts_ms)}"))
        timed += [(due.at_ms, f"{'':<7}   {_words(move, topology)}") for move in due.moves]
    timed += [(act.at_ms, f"{'request':<7} {_words(act.operation, topology)}") for act in schedule.acts]
    timed += [(blink.at_ms, _held(name, blink, topology)) for name, blink in blinks_of(schedule)]
    for at_ms, text in sorted(timed, key=lambda one: one[0]):
        yield f"{_seconds(at_ms):>9}  {text}"


def _held(name: str, step: Step, topology: Topology) -> str:
    return f"{name:<7} {_words(step.fault, topology)}, for {_seconds(step.hold_ms)}"


def _words(value: msgspec.Struct, topology: Topology) -> str:
    """Return the name of a fault, operation or move, and its fields that differ from their defaults."""
    given = [
        f"{field.name}={_value(each, topology)}"
        for field in msgspec.structs.fields(value)
        if field.name != "draw"
        and ((each := getattr(value, field.name)) != field.default or field.name == "target")
    ]
    return " ".join([str(value.__struct_config__.tag or type(value).__name__), *given])


def _value(value: Any, topology: Topology) -> str:
    match value:
        case Member(role=role, number=number):
            node = value.of(topology.nodes())
            return node.name if node else f"{role}-{number}"
        case msgspec.Struct():
            return f"({_words(value, topology)})"
        case tuple():
            return f"[{', '.join(_value(each, topology) for each in value)}]"
        case dict():
            return "{" + ", ".join(f"{key}: {_value(each, topology)}" for key, each in value.items()) + "}"
        case _:
            return str(value)


def targets_of(plan: RunPlan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each target with the nodes that it can be; no nodes if the scenario names the node itself."""
    topology = plan.scenario.topology
    for target in dict.fromkeys(_targets_in(plan.schedule)):
        if isinstance(target, Member):
            yield _value(target, topology), ()
        else:
            yield str(target), tuple(node.name for node in topology.nodes() if _may_be(target, node))


def _targets(plan: RunPlan) -> Iterator[str]:
    """Yield a line for each target: a named node, or a role that is given a node when the fault begins."""
    for target, nodes in targets_of(plan):
        if nodes:
            yield f"{target}: one of {', '.join(nodes)}, chosen when the fault begins"
        else:
            yield f"{target}: named by the scenario"
    if gambits_of(plan.schedule):
        yield "gambits: each chooses its nodes when it begins"


def _targets_in(value: Any) -> Iterator[Target | Member]:
    if isinstance(value, Injected) and (target := getattr(value, "target", None)) is not None:
        yield target
    elif isinstance(value, FaultAt):  # its own target replaces the target of its fault
        yield from (part for part in (value.at, value.to) if isinstance(part, Member))
    else:
        for part in parts_of(value):
            yield from _targets_in(part)


def _may_be(target: Target, node: Any) -> bool:
    if target in _OF_CONTROLLERS:
        return bool(node.is_controller)
    return bool(node.is_broker) if target in _OF_BROKERS else True


def _assumed(assumptions: Assumptions, answers: dict[str, int]) -> Iterator[str]:
    """Yield the conditions that a run must meet. If one is not met, the verdict is unknown."""
    yield f"at least {assumptions.acked_before} records acknowledged before each fault"
    yield f"at least {assumptions.invoked_during} records sent during each fault"
    yield f"at least {assumptions.acked_after} records acknowledged after each fault"
    yield f"each fault in force for at least {_seconds(assumptions.fault_held_ms)}"
    yield f"recovery within {_seconds(assumptions.recovery_ms)} after the faults"
    for kind, least in answers.items():
        if least:
            yield f"at least {least} {'answer' if least == 1 else 'answers'} to {kind}"
    if assumptions.why_lowered:
        yield f"lowered: {assumptions.why_lowered}"


def answers_min(plan: RunPlan) -> dict[str, int]:
    """Return the minimum number of answers that a run needs for each kind of admin operation."""
    schedule = plan.scenario.schedule
    return schedule.operations_min if isinstance(schedule, RandomSchedule) else {}


def _expected(plan: RunPlan) -> str:
    expectation = plan.expectation
    names, following = (" or ".join(ids) for ids in (expectation.alone, expectation.following))
    if not names:
        return expectation.validity.value
    if expectation.validity is Validity.INVALID:
        return f"invalid, with {names}"
    more = f", and with that {following}" if following else ""
    return f"{expectation.validity.value}, or invalid with nothing but {names}{more}"


def _seconds(ms: int) -> str:
    return f"{ms / 1000:g} s"
