"""``krucible run --dry-run --json``: one JSON document that describes what a run would do.

Its field names are stable. docs/write-a-scenario.md lists them, and a test compares them with these classes.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from harness.cli.runs.dry_run import answers_min, targets_of
from harness.plan.planning import RunPlan
from harness.plan.schedule import agenda, blinks_of
from harness.plan.upgrades import other_versions
from harness.vocabulary.faults import Fault
from harness.vocabulary.scenario import FixedSchedule, Step
from harness.vocabulary.topology import Topology


class PlannedCluster(msgspec.Struct, frozen=True):
    """The cluster that a run would have. Features and config hold only values that differ from the defaults.

    Attributes:
        first_versions: node name to the version of Kafka with which the node starts, if it is not the run's.
    """

    mode: str
    quorum: str
    controllers: tuple[str, ...]
    brokers: tuple[str, ...]
    features: dict[str, int]
    config: dict[str, str]
    node_config: dict[str, dict[str, str]]
    first_versions: dict[str, str]


class PlannedLoad(msgspec.Struct, frozen=True):
    """The load. ``acks`` is null if its producers can't choose it."""

    workload: str
    rate_per_s: int
    partitions: int
    replication_factor: int
    min_insync_replicas: int
    acks: str | None


class ScheduleEvent(msgspec.Struct, frozen=True):
    """One line of the schedule, in the order of time.

    Attributes:
        at_ms: the start, in milliseconds after the start of the load; null in a script, in which the moves
            follow one another.
        what: fault, blink, gambit, operation or move.
        name: its name in the history; null for operations and moves.
        kind: the kind of the fault, gambit, operation or move.
        hold_ms: how long a fault is held; null for others.
        lasts_ms: about how long a gambit takes; null for others.
        details: all fields, as in the run's ``schedule.json``.
    """

    at_ms: int | None
    what: str
    name: str | None
    kind: str
    hold_ms: int | None
    lasts_ms: int | None
    details: dict[str, Any]


class PossibleTarget(msgspec.Struct, frozen=True):
    """A target, and the nodes from which it is chosen. The list is empty if the scenario names the node."""

    target: str
    nodes: tuple[str, ...]


class Assumed(msgspec.Struct, frozen=True):
    """The conditions of a valid verdict. Those before ``fault_held_ms`` are numbers of records."""

    acked_before: int
    invoked_during: int
    acked_after: int
    fault_held_ms: int
    recovery_ms: int
    answers_min: dict[str, int]
    why_lowered: str


class Expected(msgspec.Struct, frozen=True):
    """The verdict that the scenario expects, and the anomalies that it may or must have."""

    verdict: str
    anomalies: tuple[str, ...]


class Document(msgspec.Struct, frozen=True):
    """Everything that a run would do."""

    scenario: str
    scenario_file: str | None
    seed: int
    kafka_version: str
    cluster: PlannedCluster
    load: PlannedLoad
    duration_ms: int
    schedule: tuple[ScheduleEvent, ...]
    targets: tuple[PossibleTarget, ...]
    assumptions: Assumed
    expected: Expected
    reproduce: str


def document_of(plan: RunPlan, store: str = "") -> str:
    """Return the document as JSON, on one line.

    Args:
        plan: the plan of the run.
        store: the option that names the store, for the command that makes the run.
    """
    scenario, workload, assumed = plan.scenario, plan.scenario.workload, plan.scenario.assumptions
    document = Document(
        scenario=plan.options.scenario,
        scenario_file=plan.options.scenario_file,
        seed=plan.options.seed,
        kafka_version=plan.version,
        cluster=_cluster(scenario.topology, plan.version),
        load=PlannedLoad(
            workload=str(workload.__struct_config__.tag),
            rate_per_s=workload.rate,
            partitions=workload.partitions,
            replication_factor=workload.replication_factor,
            min_insync_replicas=workload.min_insync_replicas,
            acks=getattr(workload, "acks", None),
        ),
        duration_ms=plan.schedule.duration_ms,
        schedule=tuple(_events(plan)),
        targets=tuple(PossibleTarget(*one) for one in targets_of(plan)),
        assumptions=Assumed(
            acked_before=assumed.acked_before,
            invoked_during=assumed.invoked_during,
            acked_after=assumed.acked_after,
            fault_held_ms=assumed.fault_held_ms,
            recovery_ms=assumed.recovery_ms,
            answers_min=answers_min(plan),
            why_lowered=assumed.why_lowered or "",
        ),
        expected=Expected(plan.expectation.validity.value, plan.expectation.accepted),
        reproduce=f"{plan.reproduce}{store}",
    )
    return msgspec.json.encode(document).decode()


def _cluster(topology: Topology, version: str) -> PlannedCluster:
    nodes = topology.nodes()
    return PlannedCluster(
        mode=topology.mode.value,
        quorum=topology.quorum.value,
        controllers=tuple(node.name for node in nodes if node.is_controller),
        brokers=tuple(node.name for node in nodes if node.is_broker),
        features=topology.features,
        config=topology.config,
        node_config=topology.node_config,
        first_versions=other_versions(topology, version),
    )


def _events(plan: RunPlan) -> Iterator[ScheduleEvent]:
    schedule = plan.schedule
    if not isinstance(schedule, FixedSchedule):
        for move in schedule.moves:
            yield _event(None, "move", move)
        return
    found = [
        _fault("fault", name, due)
        if isinstance(due, Step)
        else ScheduleEvent(due.at_ms, "gambit", name, due.kind, None, due.lasts_ms, msgspec.to_builtins(due))
        for name, due in agenda(schedule)
    ]
    found += [_event(act.at_ms, "operation", act.operation) for act in schedule.acts]
    found += [_fault("blink", name, blink) for name, blink in blinks_of(schedule)]
    yield from sorted(found, key=lambda event: event.at_ms or 0)


def _fault(what: str, name: str, step: Step) -> ScheduleEvent:
    fault: Fault = step.fault
    event = _event(step.at_ms, what, fault)
    return msgspec.structs.replace(event, name=name, hold_ms=step.hold_ms)


def _event(at_ms: int | None, what: str, value: msgspec.Struct) -> ScheduleEvent:
    kind = str(value.__struct_config__.tag)
    return ScheduleEvent(at_ms, what, None, kind, None, None, msgspec.to_builtins(value))
