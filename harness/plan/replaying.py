"""Makes a schedule from a recorded run: the same faults at the same nodes and times; pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.history.courses import CHOOSE, MOVES, PERFORM, ChoiceMade
from checkers.history.faults import ResolvedBy, recorded_fault
from checkers.history.operations import History, Operation, OperationType
from checkers.history.phases import PHASE, Phase
from checkers.history.units import NS_PER_MS
from harness.plan.replaying_blinks import replayed_blinks
from harness.plan.replaying_gambits import played_in, replayed
from harness.plan.replaying_operations import requested
from harness.plan.schedule import Planned, agenda, blinks_of
from harness.vocabulary.administration import (
    AddVoter,
    Drawn,
    Member,
    RemoveVoter,
)
from harness.vocabulary.faults import Fault, Target
from harness.vocabulary.gambits import Gambit
from harness.vocabulary.moves import Inject, Move, Perform, ScriptedSchedule
from harness.vocabulary.scenario import FixedSchedule, Step, TimedOperation
from harness.vocabulary.topology import Node, Role

_OPERATOR = "admin"


class Resolution(NamedTuple):
    """A recorded schedule whose symbolic targets and operations are replaced by the recorded ones.

    Attributes:
        schedule: the schedule to carry out.
        roles: name of a fault of that schedule to the role that its target had in the recorded run.
        notes: differences from the recorded schedule, one sentence each.
    """

    schedule: Planned
    roles: dict[str, Target]
    notes: tuple[str, ...]


class MisfitError(LookupError):
    """The history names a node that the topology does not have."""


def resolution_of(schedule: Planned, history: History, nodes: Sequence[Node]) -> Resolution:
    """Replace roles by nodes, and drawn admin operations by concrete ones.

    Args:
        schedule: the planned schedule.
        history: history of nemesis, operators and script in the recorded run, including its phases.
        nodes: nodes of the topology of the new run.

    Raises:
        MisfitError: the history names a node that the topology does not have.
    """
    recorded = _Recorded(history, nodes)
    if isinstance(schedule, ScriptedSchedule):
        return _script(schedule, recorded)
    return _timed(schedule, recorded)


class _Recorded:
    """The recorded actions of a run, and their targets.

    Args:
        history: history of nemesis, operators and script.
        nodes: nodes of the topology.
    """

    def __init__(self, history: History, nodes: Sequence[Node]) -> None:
        self.operations = history.operations
        self.windows = {window.id: window for window in fault_windows(history)}
        self.nodes = nodes
        faults = [(o, recorded_fault(o)) for o in self.operations if o.f == "inject"]
        injected = [(operation, fault) for operation, fault in faults if fault is not None]
        self.refused = {o.key: o.error or "" for o, _ in injected if o.type is OperationType.FAIL}
        self._resolved_by = {operation.key: fault.resolved_by for operation, fault in injected}

    def member(self, window: FaultWindow) -> Member | None:
        """The target; None if the run ended before it was recorded."""
        return _member(window.targets[0], "name", self.nodes) if window.targets else None

    def named(self, node: str) -> Member:
        """A node by its name."""
        return _member(node, "name", self.nodes)

    def numbered(self, node_id: int) -> Member:
        """A node by its id."""
        return _member(node_id, "id", self.nodes)

    def role(self, window: FaultWindow, fault: Fault) -> Target | None:
        """The role that the target had; None if the fault named a node."""
        had = self._resolved_by[window.id] == ResolvedBy.ROLE and fault.target is not Target.RANDOM
        return fault.target if had and isinstance(fault.target, Target) else None

    def invoked(self, process: str, f: str | None = None) -> list[Operation]:
        """The invocations of a process, in order."""
        return [
            o
            for o in self.operations
            if (o.type, o.process) == (OperationType.INVOKE, process) and f in (None, o.f)
        ]


def _member(wanted: str | int, by: str, nodes: Sequence[Node]) -> Member:
    for role in (Role.CONTROLLER, Role.BROKER):
        alike = [node for node in nodes if role in node.roles]
        for number, node in enumerate(alike, start=1):
            if getattr(node, by) == wanted:
                return Member(role, number)
    raise MisfitError(f"{wanted} is not among {', '.join(node.name for node in nodes)}")


def _named(fault: Fault, member: Member) -> Fault:
    return msgspec.structs.replace(fault, target=member)


def _script(schedule: ScriptedSchedule, recorded: _Recorded) -> Resolution:
    performs = _Performs(recorded)
    moves: list[Move] = []
    roles: dict[str, Target] = {}
    notes: list[str] = []
    for move in schedule.moves:
        if isinstance(move, Inject):
            moves.append(_injected(move, recorded, roles, notes))
        elif isinstance(move, Perform):
            moves.append(performs.next(move, notes))
        else:
            moves.append(move)
    return Resolution(msgspec.structs.replace(schedule, moves=tuple(moves)), roles, tuple(notes))


def _injected(move: Inject, recorded: _Recorded, roles: dict[str, Target], notes: list[str]) -> Inject:
    window = recorded.windows.get(move.name)
    member = recorded.member(window) if window is not None else None
    if window is None or member is None:
        notes.append(f"{move.name} was not injected in the recorded run: its target is resolved again")
        return move
    if role := recorded.role(window, move.fault):
        roles[move.name] = role
    return msgspec.structs.replace(move, fault=_named(move.fault, member))


class _Performs:
    """Matches the admin operations of a script with the requests of its operators."""

    def __init__(self, recorded: _Recorded) -> None:
        self._recorded = recorded
        self._made = iter(recorded.invoked(MOVES, PERFORM))
        self._background = 0

    def next(self, move: Perform, notes: list[str]) -> Perform:
        """The next move of its kind; a symbolic operation is replaced by the recorded request."""
        attempts = self._attempts(move)
        operation = move.operation
        symbolic = isinstance(operation, Drawn)
        symbolic |= isinstance(operation, AddVoter | RemoveVoter) and operation.member is None
        if not symbolic:
            return move
        if not attempts:
            notes.append(f"{_kind(operation)} was not requested in the recorded run: it is resolved again")
            return move
        return msgspec.structs.replace(move, operation=requested(attempts[-1], self._recorded.numbered))

    def _attempts(self, move: Perform) -> list[Operation]:
        if move.background:
            self._background += 1
            # The first operator belongs to the script itself, see `ScriptCourse`.
            return self._recorded.invoked(f"{_OPERATOR}-{self._background + 1}")
        made = next(self._made, None)
        if made is None:
            return []
        ended = [o for o in self._recorded.operations if o.process == "moves" and o.index > made.index]
        until_ns = ended[0].time_ns if ended else made.time_ns
        return [o for o in self._recorded.invoked(_OPERATOR) if made.time_ns <= o.time_ns <= until_ns]


def _kind(operation: msgspec.Struct) -> str:
    return str(msgspec.to_builtins(operation)["kind"])


class _Replayed(NamedTuple):
    """A step that is repeated.

    Attributes:
        step: the step with its recorded times and target.
        role: the role that its target had.
        within: whether the schedule waits for its end; otherwise it is in force when the schedule ends.
    """

    step: Step
    role: Target | None
    within: bool


def _timed(schedule: FixedSchedule, recorded: _Recorded) -> Resolution:
    began_ns = _began_ns(schedule, recorded)
    notes: list[str] = []
    gambits = tuple(_gambits(schedule, recorded, began_ns, notes))
    again: list[_Replayed] = []
    for name, step in _numbered(schedule):
        if name in recorded.refused:
            notes.append(f"{name} of the recorded run is left out: {recorded.refused[name]}")
            continue
        again.append(_again(step, recorded.windows.get(name), recorded, began_ns, schedule.duration_ms))
        if not isinstance(again[-1].step.fault.target, Member):
            notes.append(
                f"{name} was not injected in the recorded run: same time, its target is resolved again"
            )
    again.sort(key=lambda each: each.step.at_ms)
    blinks = tuple(replayed_blinks(schedule, recorded.windows, began_ns, recorded.nodes, recorded.named))
    if lacking := len(blinks_of(schedule)) - len(blinks):
        notes.append(
            f"{lacking} of {len(blinks_of(schedule))} blinks of the recorded run hit no node and are left out"
        )
    acts = _acts(recorded, began_ns)
    steps = (*(each.step for each in again if each.within), *blinks)
    # Steps that were late in the recorded run must be within the load; see `misfits_of`.
    ends = (step.at_ms + step.hold_ms for step in steps)
    begins = (at_ms + 1 for at_ms in (*(act.at_ms for act in acts), *(gambit.at_ms for gambit in gambits)))
    duration_ms = max([schedule.duration_ms, *ends, *begins])
    return Resolution(
        FixedSchedule(
            steps=tuple(_outlasting(each, duration_ms) for each in again),
            duration_ms=duration_ms,
            acts=acts,
            gambits=gambits,
            blinks=blinks,
        ),
        {f"f{number}": each.role for number, each in enumerate(again, start=1) if each.role is not None},
        tuple(notes),
    )


def _gambits(
    schedule: FixedSchedule, recorded: _Recorded, began_ns: int, notes: list[str]
) -> Iterator[Gambit]:
    for name, gambit in agenda(schedule):
        if not isinstance(gambit, Gambit):
            continue
        played = played_in(name, recorded.operations)
        if played is None or played.ended is OperationType.FAIL:
            notes.append(f"{name} of the recorded run is left out: it did not begin")
            continue
        again = replayed(name, gambit, played, began_ns, recorded.named)
        notes += again.notes
        yield again.gambit


def _numbered(schedule: FixedSchedule) -> list[tuple[str, Step]]:
    """The steps by the names that the nemesis gives to their faults."""
    ordered = sorted(schedule.steps, key=lambda step: step.at_ms)
    return [(f"f{number}", step) for number, step in enumerate(ordered, start=1)]


def _began_ns(schedule: FixedSchedule, recorded: _Recorded) -> int:
    """The time when the schedule began: no fault is early, and nothing delays the first one.

    If a gambit takes less time than estimated, later faults begin earlier.
    """
    for name, due in agenda(schedule) if schedule.gambits else ():
        if isinstance(due, Gambit):
            played = played_in(name, recorded.operations)
            found = None if played is None else played.began_ns
        else:
            found = recorded.windows[name].invoked_ns if name in recorded.windows else None
        if found is not None:
            return found - due.at_ms * NS_PER_MS
    beginnings = [
        recorded.windows[name].invoked_ns - step.at_ms * NS_PER_MS
        for name, step in _numbered(schedule)
        if name in recorded.windows
    ]
    loaded = (o.time_ns for o in recorded.operations if (o.f, o.key) == (PHASE, Phase.LOAD))
    return min(beginnings) if beginnings else next(loaded, 0)


def _again(
    step: Step, window: FaultWindow | None, recorded: _Recorded, began_ns: int, duration_ms: int
) -> _Replayed:
    within = step.at_ms + step.hold_ms <= duration_ms
    member = recorded.member(window) if window is not None else None
    if window is None or member is None:
        return _Replayed(step, None, within)
    held_ms = round(window.held_ns / NS_PER_MS) if within and window.proven else 0
    then = Step(
        at_ms=round((window.invoked_ns - began_ns) / NS_PER_MS),
        hold_ms=held_ms or step.hold_ms,
        fault=_named(step.fault, member),
    )
    return _Replayed(then, recorded.role(window, step.fault), within)


def _outlasting(each: _Replayed, duration_ms: int) -> Step:
    """A step whose fault was in force at the end, prolonged so that it is in force at the end again."""
    if each.within:
        return each.step
    at_least_ms = duration_ms - each.step.at_ms + 1
    return msgspec.structs.replace(each.step, hold_ms=max(each.step.hold_ms, at_least_ms))


def _acts(recorded: _Recorded, began_ns: int) -> tuple[TimedOperation, ...]:
    return tuple(
        TimedOperation(max(0, round((o.time_ns - began_ns) / NS_PER_MS)), requested(o, recorded.numbered))
        for o in recorded.invoked(_OPERATOR)
    )


def differences(roles: dict[str, Target], operations: Iterable[Operation]) -> tuple[str, ...]:
    """Differences between the recorded run and the new one, one sentence each.

    Args:
        roles: the roles of the resolution.
        operations: operations of the nemesis and of gambits in the new run.
    """
    found = []
    for operation in operations:
        if operation.f == CHOOSE and operation.type is OperationType.OK:
            if msgspec.convert(operation.value, ChoiceMade).as_then is False:
                found.append(f"{operation.key}: the leader of the recorded run does not lead now")
            continue
        if operation.f != "inject" or operation.type is OperationType.INVOKE:
            continue
        if operation.type is OperationType.FAIL:
            found.append(f"{operation.key} was not injected: {operation.error}")
            continue
        role = roles.get(str(operation.key))
        fault = recorded_fault(operation)
        if role is not None and fault is not None and fault.roles is not None and role not in fault.roles:
            target = ", ".join(fault.targets)
            found.append(f"{operation.key}: {target} had the role {role} in the recorded run, not now")
    return tuple(found)
