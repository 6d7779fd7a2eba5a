"""Fault windows: pairs of the nemesis's injections and heals, with their targets and times."""

from operator import attrgetter

import msgspec

from checkers.history.faults import FaultRecorded, PlannedFault, recorded_fault
from checkers.history.operations import FAIL, INVOKE, OK, History, Operation, OperationType, once

FOREVER_NS = 2**63 - 1
"""The end of a window whose end was not recorded; it is later than the end of any run."""
_DOWN = frozenset({"kill", "stop", "torn-write", "wipe-disk", "power-loss"})
_ENDING = _DOWN | {"dead-disk"}
"""Kinds that end processes, for histories whose injections do not state this."""
_SILENT = _DOWN | {"pause"}
"""Kinds that silence nodes, for those histories."""
_CLEAN = frozenset({"stop"})
"""Kinds whose processes end cleanly, for those histories."""
_HARD = _DOWN - _CLEAN
"""Kinds whose processes leave no clean-shutdown file, for those histories."""
_TEARING = frozenset({"torn-write"})
"""Kinds that may leave half a batch in logs, for those histories."""
_UNSYNCED = frozenset({"power-loss", "dead-disk"})
"""Kinds after which a disk may lack data that was not synced, for those histories."""
_WIPING = frozenset({"wipe-disk"})
"""Kinds that remove the data of a disk, for those histories."""
_OF_NETWORK = ("partition", "packet-loss", "lost-answers", "held-requests", "held-reports", "hold")
_KNOWN = _ENDING.union(_SILENT, _OF_NETWORK)
"""All kinds that existed when those histories were recorded."""


class FaultWindow(msgspec.Struct, frozen=True):
    """One fault that was injected, or may have been.

    Attributes:
        id: the fault's id, e.g. ``f1``.
        kind: as docs/histories.md names it, such as ``partition`` or ``kill``.
        targets: names of the nodes it was resolved to; empty if that was not recorded.
        cut: directed pairs of nodes, sender first, between which nothing passed.
        invoked_ns: when injecting began.
        effective_ns: when a probe had confirmed it; None if none did.
        heal_invoked_ns: when healing began; None if it never did.
        healed_ns: when a probe had confirmed the heal; None if none did.
        operations: indices of all its operations in the history, in order.
        gambit: id of the gambit that it belongs to; None for other faults.
        blink: whether it is one of the short faults that are injected in addition to all others.
        ends_processes: whether it ends one process of its targets: at once, or between the inject and the end
            of the heal.
        silences: whether its targets can't answer any request until the heal.
        ends_cleanly: whether a process that it ends records that it ended cleanly; None if unknown.
        tears_writes: whether logs of its targets may end with half a batch.
        loses_unsynced: whether a disk of its targets may lack data that was not synced.
        wipes: whether data on a disk of its targets may be removed.
    """

    id: str
    kind: str
    targets: tuple[str, ...]
    cut: tuple[tuple[str, str], ...]
    invoked_ns: int
    effective_ns: int | None
    heal_invoked_ns: int | None
    healed_ns: int | None
    operations: tuple[int, ...]
    gambit: str | None = None
    blink: bool = False
    ends_processes: bool = False
    silences: bool = False
    ends_cleanly: bool | None = None
    tears_writes: bool = False
    loses_unsynced: bool = False
    wipes: bool = False

    @property
    def stops(self) -> bool:
        """Whether it ends a process that certainly has time to write its data before it ends."""
        return self.ends_processes and self.ends_cleanly is True

    @property
    def kills(self) -> bool:
        """Whether it ends a process that certainly leaves no clean-shutdown file."""
        return self.ends_processes and self.ends_cleanly is False

    @property
    def may_kill(self) -> bool:
        """Whether it may end a process without leaving it time to write anything."""
        return self.ends_processes and self.ends_cleanly is not True

    @property
    def hits_disks(self) -> bool:
        """Whether a disk of its targets may lack data that it had before."""
        return self.loses_unsynced or self.wipes

    @property
    def fails_disk(self) -> bool:
        """Whether a disk may fail under a process that keeps running."""
        return self.hits_disks and not self.silences

    @property
    def freezes(self) -> bool:
        """Whether a process of its targets is suspended and continues after the heal."""
        return self.silences and not self.ends_processes

    @property
    def down(self) -> bool:
        """Whether its targets have no process until the heal starts them again."""
        return self.ends_processes and self.silences

    @property
    def alone(self) -> bool:
        """Whether it is neither a part of a gambit nor a blink."""
        return self.gambit is None and not self.blink

    @property
    def proven(self) -> bool:
        """Whether a probe confirmed that it took effect."""
        return self.effective_ns is not None

    @property
    def end_ns(self) -> int:
        """When it certainly had ended; `FOREVER_NS` if that was not observed."""
        return FOREVER_NS if self.healed_ns is None else self.healed_ns

    @property
    def held_ns(self) -> int:
        """How long it certainly was in force: from its confirmation until healing began, else 0."""
        if self.effective_ns is None or self.heal_invoked_ns is None:
            return 0
        return self.heal_invoked_ns - self.effective_ns

    def overlaps(self, start_ns: int, end_ns: int) -> bool:
        """Whether it may have been in force at some time from start to end, both included."""
        return self.invoked_ns <= end_ns and start_ns <= self.end_ns

    def concerns(self, node: str) -> bool:
        """Whether the node was a target, or may have been one because the targets were not recorded."""
        return node in self.targets or not self.targets


@once
def fault_windows(history: History) -> tuple[FaultWindow, ...]:
    """Pair the injections and heals of a history, in order of injection.

    An injection that failed was not attempted and has no window.  One without a completion (the harness
    was killed meanwhile) or with ``info`` has a window that is not proven.

    Raises:
        msgspec.ValidationError: a value is not as docs/histories.md says.
    """
    by_fault: dict[object, list[Operation]] = {}
    for operation in sorted((*history.of("inject"), *history.of("heal")), key=attrgetter("index")):
        by_fault.setdefault(operation.key, []).append(operation)
    windows = [_window(str(fault), operations) for fault, operations in by_fault.items()]
    return tuple(sorted((w for w in windows if w is not None), key=lambda w: (w.invoked_ns, w.id)))


def _window(fault: str, operations: list[Operation]) -> FaultWindow | None:
    begun = _first(operations, "inject", INVOKE)
    if begun is None or _first(operations, "inject", FAIL) is not None:
        return None
    planned = msgspec.convert(begun.value, PlannedFault)
    aimed = next((each for each in map(recorded_fault, operations) if each and each.targets), FaultRecorded())
    return FaultWindow(
        id=fault,
        kind=planned.kind,
        targets=aimed.targets,
        cut=aimed.cut,
        invoked_ns=begun.time_ns,
        effective_ns=_time(_first(operations, "inject", OK)),
        heal_invoked_ns=_time(_first(operations, "heal", INVOKE)),
        healed_ns=_time(_first(operations, "heal", OK)),
        operations=tuple(operation.index for operation in operations),
        gambit=planned.gambit,
        blink=planned.blink,
        ends_processes=planned.kind in _ENDING if planned.ends_processes is None else planned.ends_processes,
        silences=planned.kind in _SILENT if planned.silences is None else planned.silences,
        ends_cleanly=_cleanly(planned),
        tears_writes=_may(planned, _TEARING, stated=planned.tears_writes),
        loses_unsynced=_may(planned, _UNSYNCED, stated=planned.loses_unsynced),
        wipes=_may(planned, _WIPING, stated=planned.wipes),
    )


def recorded_faults(history: History, window: FaultWindow) -> list[FaultRecorded]:
    """The values of a fault's operations, its invocation first.

    Raises:
        msgspec.ValidationError: a value is not as docs/histories.md says.
    """
    values = (recorded_fault(history.operations[index]) for index in window.operations)
    return [each for each in values if each is not None]


def _cleanly(planned: PlannedFault) -> bool | None:
    """Whether a fault lets processes end cleanly; None if neither the operation nor the kind states it.

    An injection that states what the fault does to disks leaves this out only if it is unknown.
    """
    if planned.ends_cleanly is not None or planned.wipes is not None or planned.kind not in _CLEAN | _HARD:
        return planned.ends_cleanly
    return planned.kind in _CLEAN


def _may(planned: PlannedFault, kinds: frozenset[str], *, stated: bool | None) -> bool:
    """Whether a fault may have an effect that its injection does not rule out.

    A fault of an unknown kind is assumed to have the effect, so losses after it are permitted.  A fault that
    ends no process leaves disks unchanged.
    """
    if stated is not None:
        return stated
    return planned.kind in kinds or (planned.kind not in _KNOWN and planned.ends_processes is not False)


def _first(operations: list[Operation], f: str, kind: OperationType) -> Operation | None:
    return next((o for o in operations if o.f == f and o.type is kind), None)


def _time(operation: Operation | None) -> int | None:
    return None if operation is None else operation.time_ns
