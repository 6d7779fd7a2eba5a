"""The common steps of injecting and healing a fault: do it, prove it, record it."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec.structs import asdict

from checkers.history.faults import FaultInjected, FaultProbed, FaultRefused, PlannedFault
from checkers.history.operations import OperationType
from harness.cluster.containers import NotRunningError
from harness.faults.activate import as_value
from harness.faults.contract import ActiveFault, NotConfirmedError
from harness.faults.partition import takes_part
from harness.faults.refused_faults import DEAD, Refused
from harness.faults.targets import Resolved, roles_of
from harness.kafka.snapshot import ClusterSnapshot
from harness.record.journal import OperationOutcome
from harness.vocabulary.faults import Fault, PacketLoss, Partition


class Held(msgspec.Struct):
    """A fault that is in force."""

    fault: str
    spec: Fault
    active: ActiveFault
    until_ns: int


class TargetedFault(NamedTuple):
    """A fault that is about to be injected, its entry in the ledger, and how its target was found."""

    held: Held
    resolved: Resolved
    snapshot: ClusterSnapshot


def plan_of(spec: Fault, *, gambit: str | None = None, blink: bool = False) -> PlannedFault:
    """The record of a fault before it has a target."""
    value = as_value(spec)
    return PlannedFault(
        str(value["kind"]),
        value,
        ends_processes=spec.ends_processes,
        silences=spec.silences,
        ends_cleanly=spec.exits_cleanly,
        tears_writes=spec.tears_writes,
        loses_unsynced=spec.loses_unsynced,
        wipes=spec.wipes,
        glyph=spec.glyph,
        gambit=gambit,
        blink=blink,
    )


def among(spec: Fault, snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The snapshot with only those nodes that such a fault may affect."""
    match spec:
        case Partition() | PacketLoss():
            nodes = tuple(node for node in snapshot.nodes if takes_part(spec, node))
        case _ if spec.at_brokers:
            nodes = tuple(node for node in snapshot.nodes if node.is_broker)
        case _:
            return snapshot
    return msgspec.structs.replace(snapshot, nodes=nodes)


def refuse(outcome: OperationOutcome, plan: PlannedFault, refused: Refused) -> None:
    """Record that a fault hits no target."""
    outcome.end(OperationType.FAIL, FaultRefused(**asdict(plan), refused=refused.kind), refused.why)


def inject(
    aimed: TargetedFault, plan: PlannedFault, outcome: OperationOutcome, over: Callable[[], None]
) -> OperationType:
    """Inject a fault, and record the result; a fault whose target has just died counts as not injected.

    Args:
        aimed: the fault and its target.
        plan: the planned fault.
        outcome: outcome of the injection.
        over: called if nothing was done.
    """
    held, resolved, snapshot = aimed
    try:
        held.active.inject()
    except NotRunningError:
        over()
        refuse(outcome, plan, DEAD)
        return OperationType.FAIL
    kind, probe, error = _probed(held.active.took_effect)
    seen = FaultInjected(
        **asdict(plan),
        targets=held.active.targets,
        cut=held.active.cut,
        resolved_by=resolved.by,
        roles=roles_of(resolved.node, held.spec.draw, snapshot),
        probe=probe,
    )
    outcome.end(kind, seen, error)
    return kind


def heal(
    active: ActiveFault, plan: PlannedFault, outcome: OperationOutcome, over: Callable[[], None]
) -> OperationType:
    """Heal a fault, and record the observations of the probe.

    Args:
        active: the fault in force.
        plan: the planned fault.
        outcome: outcome of the heal.
        over: called once the fault is undone, before this is proven.
    """
    active.heal()
    over()
    kind, probe, error = _probed(active.healed)
    outcome.end(kind, FaultProbed(**asdict(plan), targets=active.targets, cut=active.cut, probe=probe), error)
    return kind


class _Probed(NamedTuple):
    """The type of a completion, what the probe saw, and why it did not confirm."""

    kind: OperationType
    seen: dict[str, object]
    error: str | None


def _probed(probe: Callable[[], dict[str, object]]) -> _Probed:
    try:
        return _Probed(OperationType.OK, probe(), None)
    except NotConfirmedError as error:
        return _Probed(OperationType.INFO, {}, str(error))
